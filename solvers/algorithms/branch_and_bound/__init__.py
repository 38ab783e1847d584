"""Solve dense problems: depth first by a concave relaxation, best first by triangle inequalities.

This package uses local_search and precision. Backends may import it; searches on its floor may not.
"""
