"""Good states fast, with no proof: tabu search, recombination, moves of subgraphs, and where other searches start.

May use elimination, exhaustive, max_flow and precision; the exact searches, presolve and backends
may import it.
"""
