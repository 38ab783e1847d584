"""A class with a continuous style: the mixture VAE.

Imported by runs.
"""
