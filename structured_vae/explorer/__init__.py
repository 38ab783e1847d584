"""An interactive page in the browser for a trained VAE; needs the extra `explorer`.

This package imports runs; only the commands import this package.
"""
