"""Wrap solvers in the classes of other packages, one file per package.

Importing a file loads its package. The folder is public: it may use everything else of `solvers`,
and nothing imports it.
"""
