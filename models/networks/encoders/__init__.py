"""Encoders by name, one file for each."""
