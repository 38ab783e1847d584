"""The objectives of training: costs of latent states, recipes for the KL, and label losses.

The consistency loss is here too. This package imports posteriors; estimators and all packages above
them may import it.
"""
