"""Conditional random fields as torch modules: a network's unary scores, learnt pairwise scores.

Imports structures and `solvers.labels`, but neither losses nor training.
"""

from .linear_chain import LinearChainCRF
from .pairwise import PairwiseCRF
from .tag_rules import TagRules, tag_rules

__all__ = ["LinearChainCRF", "PairwiseCRF", "TagRules", "tag_rules"]
