"""Estimators of scikit-learn for chains and graphs with linear scores.

Public. Stands on structures and `solvers.labels`; nothing imports it. Needs scikit-learn and scipy,
which are asked for when an estimator is made.
"""

from .chains import ChainCRF, ChainSSVM
from .decoding import Decoded
from .graphs import GraphCRF, GraphSSVM

__all__ = ["ChainCRF", "ChainSSVM", "Decoded", "GraphCRF", "GraphSSVM"]
