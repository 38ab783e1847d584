"""Depth-first search for dense problems, bounded by a concave relaxation.

Stands on local_search and precision; backends may import it, the searches beside it may not.
"""
