"""Several best states in order, for problems of every kind."""
