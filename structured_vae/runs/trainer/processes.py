"""Start processes that train together, within the machine's cores, and end them together."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

import torch
from lightning.pytorch.utilities import rank_zero_only

from ...errors import ConfigError
from ...vaes.config import TrainConfig
from ..folder import Run
from ..folder.lock import locked

LAUNCHER: Final = "STRUCTURED_VAE_LAUNCHER"
"""The environment variable with the number of the process that launches others."""

NODE_COUNTS: Final = ("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "GROUP_WORLD_SIZE")
"""Environment variables by which Slurm and torchrun say how many nodes there are."""

BY_HAND: Final = ("MASTER_ADDR", "NODE_RANK")
"""Environment variables that a user sets to start the process of each node."""

SECONDS: Final = 0.5
"""Seconds between two checks that the launcher is still the parent of this process."""


def check_room(processes: int, cuda: bool) -> None:
    """Raise if there are more processes than the machine has cores or GPUs.

    Raises:
        ConfigError: there are more.
    """
    # Count the cores of the machine: a scheduler may have bound this process to a single core.
    room = os.cpu_count() or 1
    what = "cores"
    if cuda:
        room = torch.cuda.device_count()
        what = "GPUs"
    if processes > room:
        raise ConfigError(
            f"processes is {processes:,} per node, and this node has {room} {what}: set processes "
            "to "
            f"at most {room}"
        )


def check_nodes(nodes: int) -> None:
    """Raise if there are several nodes but no launcher started that many.

    Lightning would wait for the missing nodes forever.

    Raises:
        ConfigError: this process was not started by a launcher for so many nodes.
    """
    if nodes == 1:
        return
    told = [os.environ[name] for name in NODE_COUNTS if name in os.environ]
    by_hand = all(name in os.environ for name in BY_HAND)
    if str(nodes) in told or (by_hand and not told):
        return
    started = "no launcher has started this process"
    if told:
        started = f"this process was started for {' or '.join(told)}"
    raise ConfigError(
        f"nodes is {nodes:,}, and {started}: set nodes to 1, or start the training on every node "
        "with srun or "
        f"torchrun --nnodes {nodes}, or with {' and '.join(BY_HAND)} in the environment"
    )


def is_launched_worker(processes: int) -> bool:
    """Return whether this is one of several processes that train together, but not the first."""
    return processes > 1 and getattr(rank_zero_only, "rank", 0) != 0


@contextmanager
def launching() -> Iterator[None]:
    """End the processes that Lightning launches in this context when this process ends."""
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
    """End this process when the process that launched it ends; otherwise do nothing."""
    launcher = os.environ.get(LAUNCHER, "")
    launched = launcher.isdecimal() and int(launcher) != os.getpid()
    if launched and os.name != "nt":  # where parents stay the same
        threading.Thread(
            target=_watch, args=(int(launcher),), name="watch-launcher", daemon=True
        ).start()


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(SECONDS)
    os._exit(1)  # the other threads wait for processes that will never answer


def alone(config: TrainConfig, run: Run) -> AbstractContextManager[None]:
    """Keep other trainings out of the folder.

    The processes of one training share the lock of the first.
    """
    if is_launched_worker(config.processes * config.nodes):
        return nullcontext()
    return locked(run)
