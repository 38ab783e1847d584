"""Compute log Z, marginals, samples and covariances of the Gibbs distribution of a problem.

The distribution is p(z) = exp(score(z)) / Z. Its sums are exact, by enumeration or elimination.

The face of the package hands on what is public of it. It stands on algorithms and the floors below
them; backends and it ignore each other.
"""
