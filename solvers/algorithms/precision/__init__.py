"""Scores as whole numbers, and as floats of a scale that a tolerance fits, each with the error that this brings.

The lowest floor of the algorithms: all of them may import it, and it imports none of them.
"""
