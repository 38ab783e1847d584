"""Run Lightning's fit once, with signals, errors and global state handled around it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import lightning.pytorch as pl
import torch

from ...errors import RunError, TerminatedError
from ...training.base import Training
from ...training.batches import ImageData
from ...training.forgiving import forgiving_loggers
from ...training.quiet import quiet
from ...vaes.config import TrainConfig
from ..folder import Run
from .allocator import keep_freed_buffers
from .interrupt import HeardInterrupts
from .loggers import ended
from .presence import require_present
from .processes import launching


def fit(
    trainer: pl.Trainer,
    run: Run,
    config: TrainConfig,
    data: ImageData,
    training: Training,
    checkpoint: Path | None,
) -> None:
    """Train until the last epoch.

    Args:
        trainer: the trainer of the run.
        run: the run's folder.
        config: what to train.
        data: batches.
        training: the module to train.
        checkpoint: to start from; None for the beginning.

    Raises:
        KeyboardInterrupt: the user stopped the training.
        TerminatedError: the training was asked to end, by SIGTERM.
        RunError: the folder is removed or cannot be written to.
    """
    keep_freed_buffers()
    with (
        quiet(),
        _told_once(),
        _handlers_restored(),
        ended(trainer),
        forgiving_loggers(trainer.loggers),
        _heard(trainer),
        launching(),
        _global_generator_restored(),
    ):
        try:
            # Nothing in a checkpoint may name code to run, hence `weights_only`.
            trainer.fit(training, data, ckpt_path=checkpoint, weights_only=True)
        except SystemExit as stop:  # Lightning's answer to both signals
            if not trainer.received_sigterm:
                raise KeyboardInterrupt(
                    "stopped; to resume from the last complete epoch, if there is one: "
                    + _how_to_resume(run, config)
                ) from stop
        except OSError as error:
            require_present(run)
            raise RunError(
                f"{run.folder} cannot be written to ({error}). Files saved before are complete. "
                f"When there is room, resume with: {_how_to_resume(run, config)}"
            ) from error
    if trainer.received_sigterm:
        raise TerminatedError(
            "training was terminated; to resume from the last complete epoch, if there is one: "
            + _how_to_resume(run, config)
        )


def _how_to_resume(run: Run, config: TrainConfig) -> str:
    """Return the command that works with the checkpoints that the run has written."""
    if run.checkpoint("best").exists() and not run.checkpoint("last").exists():
        return run.how_to_resume(config, start="best")
    return run.how_to_resume(config)


def _heard(trainer: pl.Trainer) -> AbstractContextManager[None]:
    """Listen for interrupts that Python would lose."""
    (callback,) = [
        one for one in getattr(trainer, "callbacks", ()) if isinstance(one, HeardInterrupts)
    ]
    return callback.listening()


@contextmanager
def _global_generator_restored() -> Iterator[None]:
    """Restore torch's global generator, which each epoch seeds for layers such as dropout."""
    devices = []
    if torch.cuda.is_available():
        devices.append(torch.cuda.current_device())
    with torch.random.fork_rng(devices=devices):
        yield


@contextmanager
def _told_once() -> Iterator[None]:
    """Keep TensorBoard's thread from printing a write error that the training raises itself.

    The training raises it at its next call.
    """
    plain = threading.excepthook

    def print_others(thread: threading.ExceptHookArgs) -> None:
        # Errors of other kinds, and from other threads, are printed as before.
        if not isinstance(thread.exc_value, OSError):
            plain(thread)

    threading.excepthook = print_others
    try:
        yield
    finally:
        threading.excepthook = plain


@contextmanager
def _handlers_restored() -> Iterator[None]:
    """Restore the signal handlers that Lightning leaves behind if a logger fails."""
    numbers = signal.SIGINT, signal.SIGTERM
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        # Python allows signal handlers to be set in the main thread only.
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)
