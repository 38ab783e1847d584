"""Algorithms that backends use, one folder per method.

The package is private: backends and `gibbs_distribution` import from it. A folder imports only from
the folders on lines below its own:

    semidefinite
    presolve, branch_and_bound, mini_buckets, dual_ascent, cycle_cuts, clique_cover
    local_search, constrained_search
    elimination, max_flow, exhaustive
    precision
"""
