"""Label solvers, a file a registered name."""
