"""Simplify an instance before an exact search: fix variables, take nodes out, split the rest.

This package uses max_flow and precision. It may use every algorithm but the searches on its own
floor. Backends may import it.
"""
