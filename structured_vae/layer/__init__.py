"""The argmax as a layer of any network, and weights of what it chose.

Imports estimators, costs and what lies below them. Losses and other users of the layer import it.
"""

from .argmax_layer import ArgmaxLayer
from .routing import routing_weights

__all__ = ["ArgmaxLayer", "routing_weights"]
