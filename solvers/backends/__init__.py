"""Registered solvers, one file per name.

A backend implements `ArgmaxSolver`, imports no other backend, and uses `algorithms`. Only the
registry imports it.
"""
