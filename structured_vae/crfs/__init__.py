"""Conditional random fields as torch modules: parameters for pairs of labels, over scores that a network gives.

Stands on structures and `solvers.labels`; nothing of losses or training.
"""

from .linear_chain import LinearChainCRF
from .pairwise import PairwiseCRF

__all__ = ["LinearChainCRF", "PairwiseCRF"]
