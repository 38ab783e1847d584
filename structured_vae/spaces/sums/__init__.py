"""Sum over the states of spaces: log Z, marginals and samples."""
