"""What comes before an exact search: variables that are fixed for certain, what is left of a problem, one by one.

Stands on max_flow and precision; it may use all algorithms but the searches beside it. Backends may import it.
"""
