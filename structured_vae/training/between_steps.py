"""Callbacks without hooks for single steps, and a profiler that measures nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Final

import lightning.pytorch as pl
from lightning.pytorch.profilers import PassThroughProfiler

NOTHING: Final = nullcontext()
"""The context of every action that is not measured; it does nothing."""


class BetweenSteps(pl.Callback):
    """The base class of callbacks with hooks for epochs and evaluations, not for single steps.

    Lightning opens a context and builds a name for each hook of each callback, also where the hook
    is empty. It skips a hook that cannot be called. So the hooks of a step are None here.
    """

    # Lightning asks whether a hook is callable, but its types say that it always is.
    on_train_batch_start: ClassVar[Any] = None
    on_train_batch_end: ClassVar[Any] = None
    on_before_zero_grad: ClassVar[Any] = None
    on_before_backward: ClassVar[Any] = None
    on_after_backward: ClassVar[Any] = None
    on_before_optimizer_step: ClassVar[Any] = None
    on_validation_batch_start: ClassVar[Any] = None
    on_validation_batch_end: ClassVar[Any] = None


class NoProfiler(PassThroughProfiler):
    """A profiler that measures nothing, and makes no context for each of the 20 hooks of a step."""

    def profile(self, action_name: str) -> AbstractContextManager[None]:  # type: ignore[override]
        """Return a context that does nothing; the base class is a generator."""
        return NOTHING
