"""What an enumeration of all states leaves for later draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import Scores


class RunningSums(NamedTuple):
    """The weights exp(score - reference) of all states, added up block by block.

    Attributes:
        coefficients: `[batch, n + e]`, unary and pairwise scores.
        references: `[batch]`, the score of weight 1.
        blocks: `[batch, 2^depth]`, of the weights up to the end of each block.
    """

    coefficients: np.ndarray
    references: Scores
    blocks: np.ndarray
