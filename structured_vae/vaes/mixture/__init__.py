"""The mixture VAE: a class with a continuous style.

The package `runs` imports this one.
"""
