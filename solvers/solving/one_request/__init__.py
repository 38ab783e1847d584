"""Solve one request: the search that its options ask for, for problems of every kind."""
