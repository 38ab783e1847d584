"""What a training can do without: a picture or a log that fails is a warning, and the training continues."""

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
"""Seconds that a logger has to end with a training that was interrupted or failed."""

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
    """Runs parts that a training can do without, and warns once for each kind that fails.

    Args:
        consequence: what the user has to know of the training, at the end of each warning.
    """

    def __init__(self, consequence: str = "The training continues without it"):
        self.consequence = consequence
        self._warned: set[str] = set()

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Turn an exception into a warning. Interrupts and other exits are passed on.

        Args:
            what: the kind that is tried, such as "the picture samples".
        """
        try:
            yield
        except Exception as error:
            if what not in self._warned:
                self._warned.add(what)
                reason = _in_words(_cause(error))
                message = f"{what} failed ({reason}). {self.consequence}"
                warnings.warn(message, SkippedWarning, stacklevel=4)


def _cause(error: BaseException) -> BaseException:
    """The first error of a chain; loggers raise errors of their own from it that do not name it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


@contextmanager
def forgiving_loggers(loggers: Sequence[Logger]) -> Iterator[None]:
    """Inside it a logger that fails is a warning, once for each of its methods.

    Args:
        loggers: of a trainer, also those that the user made; afterwards they are as before.
    """
    forgiving = Forgiving()
    with ExitStack() as restored:
        for logger in loggers:
            for name in CALLED:
                restored.enter_context(_replaced(logger, name, forgiving))
        yield


@contextmanager
def _replaced(logger: Logger, name: str, forgiving: Forgiving) -> Iterator[None]:
    """Put a method of one object behind `forgiving`."""
    own = vars(logger).get(name)
    setattr(
        logger, name, _tried(getattr(logger, name), f"{type(logger).__name__}.{name}", forgiving)
    )
    try:
        yield
    finally:
        if own is None:
            delattr(logger, name)
        else:
            setattr(logger, name, own)


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
    """Run a call in a thread of its own, and wait for it that long at most.

    After an interrupt a logger may wait for a thread of its own that waits for it: the interrupt
    can fall between the entry in its queue and the signal that there is one.

    Raises:
        Exception: what the call raised.
        TimeoutError: it has not ended. The thread does not keep the process alive.
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
