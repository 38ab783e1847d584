"""Quantisers: the last step of an encoder, from features to a discrete code.

Each quantiser has its own file, and `models.vaes.quantised` imports them. They use potentials,
states and shapes.
"""

from .bsq import BSQ
from .fsq import FSQ
from .lfq import LFQ
from .quantiser import Quantised, Quantiser, codebook_use
from .vq import VQ

__all__ = ["BSQ", "FSQ", "LFQ", "VQ", "Quantised", "Quantiser", "codebook_use"]
