"""A model as a folder: weights, configuration and model card.

Every model derives from `Pretrained`; this package imports no model.
"""

from .card import Figure, ModelCard
from .pretrained import OWN, Pretrained, pretrained_config

__all__ = ["OWN", "Figure", "ModelCard", "Pretrained", "pretrained_config"]
