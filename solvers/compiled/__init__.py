"""What compiled kernels share: bits, vectors, graphs, random numbers, threads.

Private. Algorithms, `gibbs_distribution` and backends import from it; it imports nothing of the
package but its errors.
"""
