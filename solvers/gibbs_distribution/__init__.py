"""p(z) = exp(score(z)) / Z: its log-partition, marginals, samples and covariances, by enumeration or elimination.

The face of the package hands on what is public of it. It stands on algorithms and the floors below
them; backends and it ignore each other.
"""
