"""The semidefinite relaxation of a maximum cut with odd-cycle inequalities, for large problems.

`quasi_newton` moves the vectors of low rank in `vectors`, and `relaxation` updates the multipliers.
`certificate` proves a bound by a Cholesky factor. `search` alternates the bound with a local
search.
"""
