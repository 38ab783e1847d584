"""A VAE whose latent variables are discrete alone: bits or categories, ours or networks of your own.

Imported by runs.
"""
