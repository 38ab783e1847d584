from .export import exported_training
from .folder import Run

__all__ = [
    "Run",
    "exported_training",
]
