"""The semidefinite relaxation of a maximum cut with odd-cycle inequalities, for large problems.

`quasi_newton` moves the vectors of low rank in `vectors`, `relaxation` updates the multipliers,
`certificate` proves a bound by a Cholesky factor, and `search` alternates all this with a local
search.
"""
