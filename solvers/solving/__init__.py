"""Solve problems: the call, the choice of a solver, many problems, and the best states of each.

Public through the face. Stands on the registry; backends know nothing of it.
"""
