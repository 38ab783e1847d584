"""Read files of quadratic problems over bits."""
