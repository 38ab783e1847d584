"""Every one of the 2^n states, tried: compiled on the host, as matrix products on a device.

Of the other algorithms it may use precision alone; local search and what is above it may import it.
"""
