"""Shared code of compiled kernels: bits, vectors, graphs, random numbers, threads.

The package is private: algorithms, `gibbs_distribution` and backends import from it; it imports
nothing of `solvers` but the errors and limits.
"""
