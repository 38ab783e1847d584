"""End a search before its certificate: by time, memory, Ctrl-C, or a callback that says stop.

All of `solvers` may import this package. It does not depend on problems.
"""
