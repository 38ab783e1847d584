"""Searches for pairs that exclude each other, bounded by cliques of such pairs.

One is depth first, with greedy weights of cliques; the other is best first, with linear programs.

This package uses precision. Backends may import it; searches on its floor may not.
"""
