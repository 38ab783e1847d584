"""Read texts, JSON and tables of numbers within limits, and name the line of a fault."""
