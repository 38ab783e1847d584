"""The kinds of VAE, a folder each: what is trained, and what is known of it on images.

Stands on training, evaluation and all below; runs put a kind together. A kind imports no other.
"""
