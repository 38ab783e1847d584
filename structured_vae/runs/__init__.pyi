from .folder import Run

__all__ = [
    "Run",
]
