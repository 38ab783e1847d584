"""Branch and cut over odd-cycle inequalities of the maximum cut, and a sweep over its frontier that closes the gap.

Stands on local search and precision. Backends may import it, the searches beside it may not.
"""
