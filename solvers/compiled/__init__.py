"""Shared code of compiled kernels: bits, vectors, graphs, random numbers, threads.

The package is private: algorithms, `gibbs_distribution` and backends import from it; of `solvers`,
    it only imports errors and limits.
"""
