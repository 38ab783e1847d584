"""Algorithms that backends are made of, one folder per method.

The package is private: backends and `gibbs_distribution` import from it. A folder may import only
from the floors below it. On the top floor is semidefinite; then presolve, branch_and_bound,
mini_buckets, dual_ascent and cycle_cuts; then local_search and constrained_search; then elimination,
max_flow and exhaustive; and precision at the bottom.
"""
