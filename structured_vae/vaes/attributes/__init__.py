"""The VAE of faces: attributes with a continuous code.

The package `runs` imports this one.
"""
