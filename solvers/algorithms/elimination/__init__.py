"""Eliminate variables one by one: orders, treewidth, plans for a topology, and max-sum on plans.

This package uses precision only. Local search, the searches above it, `gibbs_distribution` and
backends may import it.
"""
