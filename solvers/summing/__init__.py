"""Compute sums over states for bits, labels and conversions: `gibbs` and `marginal_map`.

`solvers` exports its public names. It depends on the sums of bits (`gibbs_distribution`) and of
labels, and only adapters may import it.
"""
