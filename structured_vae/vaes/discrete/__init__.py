"""VAEs whose latent variables are all discrete, with our networks or custom ones.

The package `runs` imports this one.
"""
