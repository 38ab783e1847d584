"""Networks that the caller gives in Python, trained and evaluated as those of `discrete`."""
