"""A page in the browser on which a trained VAE can be played with; needs the extra `explorer`.

Stands on runs; the commands alone import it.
"""
