"""Ratios measured side by side, which write JSON records at the top of `results/`.

What can be run says how in its first lines; `interleaved`, `known_optima`, `peers` and `tasks` are what the others
share.
"""
