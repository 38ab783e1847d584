"""What is minimised: costs of latent states, the recipes that add a KL to them, losses of labels and of consistency.

Stands on posteriors; estimators and all above may import it.
"""
