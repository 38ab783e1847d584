"""Estimators in the style of scikit-learn for chains and graphs with linear scores.

Public. Imports structures and `solvers.labels`; no other package imports it. The estimators need
scikit-learn and scipy, and say so when `fit` is called without them.
"""

from .chains import ChainCRF, ChainSSVM
from .decoding import Decoded
from .graphs import GraphCRF, GraphSSVM

__all__ = ["ChainCRF", "ChainSSVM", "Decoded", "GraphCRF", "GraphSSVM"]
