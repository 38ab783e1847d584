"""One file a registered name, nothing else: the listing of this folder is the table of backends.

A backend implements `ArgmaxSolver`, knows no other backend, and stands on `algorithms`. Only the
registry imports it.
"""
