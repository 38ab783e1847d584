"""Find minimum cuts of supermodular problems: in one machine word, on matrices, on lists of arcs.

This package uses precision only. Local search and the floors above may import it.
"""
