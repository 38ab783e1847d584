"""Registered solvers, one file per name: the listing of this folder is the table of backends.

A backend implements `ArgmaxSolver`, imports no other backend, and uses `algorithms`. Only the
registry imports it.
"""
