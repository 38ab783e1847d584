"""What ends a search before its proof: time, memory, Ctrl-C, or the word of a callback, which hears what is known.

All of `solvers` may import it; it knows nothing of problems.
"""
