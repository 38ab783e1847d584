"""Depth-first search for pairs that exclude each other, bounded by cliques of such pairs.

This package uses precision. Backends may import it; searches on its floor may not.
"""
