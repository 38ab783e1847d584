"""Depth-first search bounded by an elimination whose wide tables are split.

This package uses precision; its backend passes it an elimination order. Backends may import it;
searches on its floor may not.
"""
