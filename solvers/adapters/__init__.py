"""Solvers in the classes of other packages, a file a package; who imports a file has its package loaded.

Public. Stands on everything else of `solvers`, and nothing imports it.
"""
