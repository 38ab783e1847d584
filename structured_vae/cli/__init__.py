"""The command `structured-vae`: each file or folder holds the options and the work of a command.

This package may import everything, and no other package imports it. Imports that load torch or
Matplotlib are inside the functions that need them, so that the other commands start at once.
"""

from .commands import main

__all__ = ["main"]
