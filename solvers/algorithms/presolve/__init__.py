"""What comes before an exact search: variables that are fixed for certain, what is left of a problem, one by one.

Stands on all algorithms but the searches beside it; backends may import it.
"""
