"""Turn failures of pictures and logs into warnings, so that the training continues."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from threading import Thread
from typing import Any, Final

from lightning.pytorch.loggers import Logger

from ..errors import SkippedWarning

LAST_SECONDS: Final = 10.0
"""Seconds that a logger has to finish after a training that was interrupted or failed."""

CALLED: Final = (
    "log_metrics",
    "log_hyperparams",
    "log_graph",
    "save",
    "finalize",
    "after_save_checkpoint",
)
"""The methods of a logger that Lightning calls during a training."""


class Forgiving:
    """A context for optional actions of a training, which warns once for each kind that fails.

    Args:
        consequence: the consequence for the training, at the end of each warning.
    """

    def __init__(self, consequence: str = "The training continues without it"):
        self.consequence = consequence
        self._warned: set[str] = set()

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Turn an exception into a warning. Interrupts and other exits are passed on.

        Args:
            what: the kind of action, such as "the picture samples".
        """
        try:
            yield
        except Exception as error:
            # One warning for each kind: a disk that stays full would warn in every epoch.
            if what not in self._warned:
                self._warned.add(what)
                reason = _in_words(_cause(error))
                message = f"{what} failed ({reason}). {self.consequence}"
                warnings.warn(message, SkippedWarning, stacklevel=4)


def _cause(error: BaseException) -> BaseException:
    """Return the first error of a chain; the errors that loggers raise from it do not name it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


@contextmanager
def forgiving_loggers(loggers: Sequence[Logger]) -> Iterator[None]:
    """Warn where a logger fails inside the block, once for each of its methods.

    Args:
        loggers: the loggers of a trainer, also those of the user; afterwards they are as before.
    """
    forgiving = Forgiving()
    with ExitStack() as restored:
        for logger in loggers:
            for name in CALLED:
                restored.enter_context(_replaced(logger, name, forgiving))
        yield


@contextmanager
def _replaced(logger: Logger, name: str, forgiving: Forgiving) -> Iterator[None]:
    """Replace a method of one object by one that calls it inside `forgiving`."""
    before = vars(logger).get(name)  # the method, if the object itself has it
    what = f"{type(logger).__name__}.{name}"
    setattr(logger, name, _tried(getattr(logger, name), what, forgiving))
    try:
        yield
    finally:
        if before is None:
            delattr(logger, name)
        else:
            setattr(logger, name, before)


def _tried(method: Callable[..., Any], what: str, forgiving: Forgiving) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        answer = None
        with forgiving(what):
            if method.__name__ == "finalize" and arguments == ("failed",):
                _within(partial(method, *arguments, **named), LAST_SECONDS)
            else:
                answer = method(*arguments, **named)
        return answer

    return call


def _within(call: Callable[[], object], seconds: float) -> None:
    """Run a call in a separate thread, and wait at most so many seconds for it.

    After an interrupt a logger may wait for its thread, which waits for the logger: the interrupt
    can come between the entry in its queue and the signal for that entry.

    Raises:
        Exception: the call raised it.
        TimeoutError: the call has not ended. The thread does not keep the process alive.
    """
    errors: list[Exception] = []

    def work() -> None:
        try:
            call()
        except Exception as error:  # raised again by the caller
            errors.append(error)

    thread = Thread(target=work, name="finalize-logger", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if thread.is_alive():
        raise TimeoutError(f"it has not ended after {seconds:g} s")
