"""A run folder: its files, the lock for its one writer, and readers that check every file."""

from .run import Run, Which

__all__ = ["Run", "Which"]
