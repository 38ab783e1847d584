"""Variables eliminated one by one: orders, the treewidth they show, plans kept for a topology, and max-sum over plans.

Of the other algorithms it may use precision alone; local search, the searches above it,
`gibbs_distribution` and backends may import it.
"""
