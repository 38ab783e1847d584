"""Problems over bits: their checked form, their pairs, and states to start from."""
