"""Raise a Ctrl-C that Python loses, where it only prints exceptions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import lightning.pytorch as pl

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class HeardInterrupts(pl.Callback):
    """Raise a lost `KeyboardInterrupt` again, at the next batch.

    Python runs some functions in the midst of others: the callback of a weak reference when its
    object dies, finalisers, and calls from compiled code. It prints their exceptions and continues.
    Ctrl-C interrupts the function that runs at that moment, so one of these functions can lose it.
    A training with a Gibbs posterior or a learnt prior calls a weak reference in every step.
    """

    def __init__(self) -> None:
        self._lost = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep an interrupt that would only be printed for the next batch."""
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
        """Raise a lost interrupt after a training step."""
        self._raise()

    def on_validation_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        """Raise a lost interrupt after a batch of an evaluation."""
        self._raise()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Raise a lost interrupt before the checkpoint of an epoch."""
        self._raise()
