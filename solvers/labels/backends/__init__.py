"""Label solvers, one file for each registered name."""
