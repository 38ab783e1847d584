"""Depth-first search bounded by an elimination whose tables are split where they grow too wide.

Stands on elimination and precision; backends may import it, the searches beside it may not.
"""
