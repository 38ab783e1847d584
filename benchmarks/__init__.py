"""Ratios measured side by side, which write JSON records at the top of `results/`.

What can be run says how in its first lines; `families`, `interleaved`, `known_optima`,
`linear_programs`, `outside_*`, `peers`, `structured_data`, `tasks` and `validation` are what the
others share.
"""
