"""Search depth first, with bounds from integer messages along the edges.

The problems have variables of several values.
"""
