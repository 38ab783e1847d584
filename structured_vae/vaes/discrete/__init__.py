"""VAEs whose latent variables are all discrete, with our networks or custom ones.

Imported by runs.
"""
