"""Files of problems with constraints: linear programs, clauses, assignments and tours."""
