from .explored_model import Explored, open_model
from .serve import explore

__all__ = [
    "Explored",
    "explore",
    "open_model",
]
