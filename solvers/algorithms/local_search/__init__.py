"""Good states fast, with no proof: tabu search, recombination, moves of subgraphs, and where other searches start.

Stands on elimination, exhaustive and precision; the exact searches and presolve may import it.
"""
