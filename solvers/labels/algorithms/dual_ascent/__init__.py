"""Depth-first search bounded by integer messages along the edges, for variables of several values."""
