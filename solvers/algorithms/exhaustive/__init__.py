"""Try every one of the 2^n states: compiled on the host, as matrix products on a device.

This package uses precision only. Local search and the floors above may import it.
"""
