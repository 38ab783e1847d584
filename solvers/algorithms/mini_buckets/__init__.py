"""Depth-first search bounded by an elimination whose tables are split where they grow too wide.

Stands on precision; its backend hands it an elimination order. Backends may import it, the searches
beside it may not.
"""
