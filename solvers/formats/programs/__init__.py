"""Read files of problems with constraints: linear programs, clauses, assignments, tours."""
