"""Algorithms of the label solvers."""
