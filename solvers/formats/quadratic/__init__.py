"""Files of quadratic problems over bits."""
