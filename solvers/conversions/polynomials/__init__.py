"""Convert polynomials of any degree to quadratic problems or to labels."""
