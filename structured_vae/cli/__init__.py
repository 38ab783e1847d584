"""The command `structured-vae`: a file or folder for a command or a pair, what it takes beside what it does.

Stands on everything, and nothing imports it. Imports that load torch or Matplotlib are inside the
functions that need them, so that the other commands start at once.
"""

from .commands import main

__all__ = ["main"]
