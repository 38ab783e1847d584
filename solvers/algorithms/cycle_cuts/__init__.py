"""Branch and cut over odd-cycle inequalities of the maximum cut, and a sweep to close the gap.

This package uses local_search and precision. Backends may import it; searches on its floor may not.
"""
