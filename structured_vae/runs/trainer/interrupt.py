"""Ctrl-C that Python loses: an interrupt raised where exceptions are only printed ends the training all the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import lightning.pytorch as pl

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class HeardInterrupts(pl.Callback):
    """Raises a lost `KeyboardInterrupt` again, at the next batch.

    Python runs some functions in the midst of others: those that a weak reference calls when its
    object dies, finalisers, calls from compiled code. It prints what they raise and continues.
    Ctrl-C reaches whatever function runs, so that one of these can lose it. A training with a Gibbs
    posterior or a learnt prior calls a weak reference in every step.
    """

    def __init__(self) -> None:
        self._lost = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Inside it, an interrupt that would only be printed is kept for the next batch."""
        before = sys.unraisablehook

        def hear(unraisable: UnraisableHookArgs) -> None:
            if issubclass(unraisable.exc_type, KeyboardInterrupt):
                self._lost = True
            else:
                before(unraisable)

        sys.unraisablehook = hear
        try:
            yield
        finally:
            sys.unraisablehook = before
            self._lost = False

    def _raise(self) -> None:
        if self._lost:
            self._lost = False
            raise KeyboardInterrupt

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        """After a training step."""
        self._raise()

    def on_validation_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        """After a batch of an evaluation."""
        self._raise()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Before the checkpoint of an epoch."""
        self._raise()
