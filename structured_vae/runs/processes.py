"""Processes that train together: as many as there is room for, and none that outlives the one that launched it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

from ..errors import ConfigError

LAUNCHER: Final = "STRUCTURED_VAE_LAUNCHER"
"""The environment variable with the number of the process that launches others."""

SECONDS: Final = 0.5
"""Between two looks at whether it lives."""


def check_room(processes: int, cuda: bool) -> None:
    """Refuses more processes than a machine has cores, or GPUs, for.

    Raises:
        ConfigError: there are more.
    """
    # Cores of the machine: a scheduler may have bound this process to the one that is its own.
    room, what = (torch.cuda.device_count(), "GPUs") if cuda else (os.cpu_count() or 1, "cores")
    if processes > room:
        raise ConfigError(
            f"processes is {processes:,}, those of a node, and this one has {room} {what}: give at most so many"
        )


@contextmanager
def launching() -> Iterator[None]:
    """Processes that Lightning launches in here end when this one does, however it ends."""
    before = os.environ.get(LAUNCHER)
    os.environ[LAUNCHER] = str(os.getpid())
    try:
        yield
    finally:
        if before is None:
            del os.environ[LAUNCHER]
        else:
            os.environ[LAUNCHER] = before


def end_with_launcher() -> None:
    """From now on this process ends when the one that launched it is gone; one that was not launched goes on."""
    launcher = os.environ.get(LAUNCHER, "")
    launched = launcher.isdecimal() and int(launcher) != os.getpid()
    if launched and os.name != "nt":  # where parents stay the same
        threading.Thread(target=_watch, args=(int(launcher),), name="watch-launcher", daemon=True).start()


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(SECONDS)
    os._exit(1)  # the other threads wait for processes that will never answer
