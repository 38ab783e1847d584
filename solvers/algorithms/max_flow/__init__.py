"""Minimum cuts of supermodular problems: in one machine word, on matrices, on lists of arcs.

Of the other algorithms it may use precision alone; local search and what is above it may import it.
"""
