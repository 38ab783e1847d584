"""Bits as a kind of problem: their solvers, their portfolio, fixed variables and regions.

Mirrors the files of `solvers.labels`, which serve labels. Only `kinds` and the calls open it.
"""
