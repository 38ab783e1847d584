"""What backends are made of, a folder a method.

Private. Backends and `gibbs_distribution` import from it. A folder may use those below it alone:
presolve, branch_and_bound, mini_buckets, dual_ascent and cycle_cuts may stand on local_search, that
on elimination, max_flow and exhaustive, and all on precision.
"""
