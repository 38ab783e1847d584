"""Where compiled kernels are kept on disk: beside their source, in the user's cache, or in a temporary folder."""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from functools import cache
from pathlib import Path

import numba

LOGGER = logging.getLogger(__name__)


@cache
def keeps_kernels() -> bool:
    """Whether `njit` may be asked to keep what it compiles, `cache=keeps_kernels()`; it may nearly always.

    Where neither the folder of the source nor the user's cache can be written to, as in a container with a read-only
    installation and no home, numba would refuse to take a function at all. Then it is given a temporary folder, which
    later processes of the same user find again and those that this one starts inherit.
    """
    if _can_keep():
        return True
    try:
        folder = _temporary_folder()
    except OSError as error:
        LOGGER.warning(
            "kernels are compiled anew in every process, as no folder can be written to (%s)", error
        )
        return False
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    numba.config.reload_config()
    LOGGER.warning(
        "compiled kernels are kept in %s, as neither the installation nor the home can be written to; "
        "NUMBA_CACHE_DIR names another folder",
        folder,
    )
    return _can_keep()


def _can_keep() -> bool:
    """Whether numba finds a folder to write to; it looks for one when it takes a function."""
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:
        return False
    return True


def _nothing() -> None:
    pass


def _temporary_folder() -> Path:
    """A folder that no other user can write to: numba unpickles what lies there."""
    if hasattr(os, "getuid"):
        folder = Path(tempfile.gettempdir()) / f"structured-vae-kernels-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return folder
    return Path(tempfile.mkdtemp(prefix="structured-vae-kernels-"))
