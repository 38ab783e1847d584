"""The VAE with the codes of a quantiser: VQ, FSQ, LFQ or BSQ.

The package `runs` imports this one.
"""
