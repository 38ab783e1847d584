"""The VAE with a Gaussian latent space, the baseline for the discrete ones.

The package `runs` imports this one.
"""
