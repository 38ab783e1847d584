"""Compute log Z, marginals, samples and covariances of the Gibbs distribution of a problem.

The distribution is p(z) = exp(score(z)) / Z. Its sums are exact, by enumeration or elimination.

`solvers` exports its public names. It depends on `algorithms` and on the packages below; it does
not use backends, and backends do not use it.
"""
