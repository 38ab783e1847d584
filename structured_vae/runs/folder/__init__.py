"""A run folder: its files, who writes in it, and how they are read, which trusts none of them."""

from .run import Run, Which

__all__ = ["Run", "Which"]
