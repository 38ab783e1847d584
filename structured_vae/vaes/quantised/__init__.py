"""Codes of a quantiser: VQ, FSQ, LFQ, BSQ.

Imported by runs.
"""
