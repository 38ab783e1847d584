"""Depth-first search for sparse problems, bounded by integer messages along the edges.

This package uses precision. Backends may import it; searches on its floor may not.
"""
