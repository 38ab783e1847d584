"""A model as a folder: weights, configuration and card. Every model stands on it; it knows none of them."""

from .card import Figure, ModelCard
from .pretrained import OWN, Pretrained, pretrained_config

__all__ = ["OWN", "Figure", "ModelCard", "Pretrained", "pretrained_config"]
