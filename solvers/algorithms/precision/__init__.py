"""Convert scores to whole numbers, or to floats that suit a tolerance, with an error bound.

This is the lowest floor of the algorithms: all of them may import it, and it imports none of them.
"""
