"""Attributes with a continuous code: the VAE of faces.

Imported by runs.
"""
