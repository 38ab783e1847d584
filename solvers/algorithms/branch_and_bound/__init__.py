"""Searches for dense problems: depth first by a concave relaxation, best first by triangle inequalities.

Stands on local_search and precision; backends may import it, the searches beside it may not.
"""
