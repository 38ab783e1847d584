"""What all evaluations share: quantities, the bound, a tighter bound by search, gradients.

This package imports estimators, objectives and posteriors; training and the kinds of VAE use it.
"""
