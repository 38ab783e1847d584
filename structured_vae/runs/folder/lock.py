"""Allow one training at a time in a run folder."""

from __future__ import annotations

import errno
import json
import os
import shlex
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from ...atomic import whole_file
from ...errors import RunError
from .run import Run
from .small_files import read_small_text

LOCK: Final = ".structured-vae.lock"
HOLDER: Final = ".structured-vae.holder"
"""The file that names the process with the lock.

It is separate, because older versions of filelock empty the lock file.
"""

NO_LOCKS: Final = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Error codes of file systems without locks."""


@contextmanager
def locked(run: Run) -> Iterator[None]:
    """Keep other processes from training in a run folder.

    The system releases the lock when the process ends, however it ends. The lock lies with the
    checkpoints, so that it also excludes a second run that shares them by a symbolic link.

    Raises:
        RunError: another process is training there, or the folder cannot be written to.
    """
    lock = run.checkpoints / LOCK
    holder = run.checkpoints / HOLDER
    try:
        run.checkpoints.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(lock) and (lock.is_symlink() or not lock.is_file()):
            raise RunError(f"{lock} is not a regular file: remove it")
        file_lock = FileLock(lock)
        # Waiting for another training could take days: fail at once.
        file_lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(
            f"{_named(holder)} is training in {run.folder}. Wait until it ends, or end it; then: "
            f"structured-vae resume {shlex.quote(str(run.folder))}, or "
            "structured_vae.resume(folder, ...) in Python"
        ) from error
    except (OSError, NotImplementedError) as error:
        # Any other error would come back at the first write.
        if isinstance(error, OSError) and error.errno not in NO_LOCKS:
            raise RunError(
                f"{run.folder} cannot be written to: {error}. No run was changed: make room, "
                "or allow writing, and repeat the call"
            ) from error
        warnings.warn(
            f"{run.folder} is on a file system without locks: train there once at a time",
            stacklevel=3,
        )
        yield
        return
    try:
        # On a full disk, a later write raises a clearer error.
        with suppress(OSError), whole_file(holder) as unfinished:
            unfinished.write_text(
                json.dumps({"process": os.getpid(), "host": socket.gethostname()})
            )
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        file_lock.release()


def _named(holder: Path) -> str:
    """Return the process that has a lock, in words."""
    try:
        facts = json.loads(read_small_text(holder, 1000))
        return f"process {int(facts['process'])} on {str(facts['host'])[:100]}"
    except (OSError, ValueError, TypeError, LookupError):
        return "another process"
