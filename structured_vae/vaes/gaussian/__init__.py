"""A Gaussian latent space: the reference beside the discrete ones.

Imported by runs.
"""
