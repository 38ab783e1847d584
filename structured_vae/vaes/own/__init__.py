"""Custom networks passed from Python, trained and evaluated like those of `discrete`."""
