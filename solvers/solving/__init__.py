"""From what a caller gives to the answer: the call itself, the choice of a solver, many problems, the best states.

Public through the face. Stands on the registry; backends know nothing of it.
"""
