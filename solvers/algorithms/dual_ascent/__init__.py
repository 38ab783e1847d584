"""Depth-first search for sparse problems, bounded by integer messages along the edges.

Stands on precision; backends may import it, the searches beside it may not.
"""
