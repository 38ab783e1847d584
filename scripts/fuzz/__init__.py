"""Hostile calls of everything public: what they raise has to be ours, and what they claim has to be true.

Run from the repository root; CONTRIBUTING.md says how.
"""
