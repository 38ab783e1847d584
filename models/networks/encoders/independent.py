"""The encoder of independent bits."""

from .encoder import Encoder


class IndependentEncoder(Encoder):
    """An encoder without pairwise scores: bits are independent given the image."""
