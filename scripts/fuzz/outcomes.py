"""The kinds of outcome of a call, and calls in a process of their own, which may crash or hang."""

from __future__ import annotations

import multiprocessing
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from models.errors import ModelsError
from solvers import SolverError
from structured_vae import StructuredVAEError

from .values import shown

OURS: Final = (SolverError, StructuredVAEError, ModelsError)
ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("solvers", "models", "structured_vae")

PRELOADED: Final = ("special", "checkpoint", "signal")
"""Files whose calls run in processes of their own."""

LONGEST = 2000
"""Maximum length of an error message, in characters; a longer one counts as a fault."""


class FalseClaim(Exception):  # noqa: N818  # no error of a call, but what the fuzz finds wrong with its answer
    """Raised by a call whose answer is wrong; the message says what enumeration finds instead."""


class Decided(Exception):  # noqa: N818  # likewise
    """Raised by a call that another process made, with the outcome there."""

    def __init__(self, kind: str, group: str):
        self.kind = kind
        self.group = group
        super().__init__(f"{kind}: {group}")


def claim(true: bool, message: str) -> None:
    """Raise a `FalseClaim` unless something is true."""
    if not true:
        raise FalseClaim(message)


def outcome_of(error: BaseException) -> tuple[str, str]:
    """Return the kind of an error that a call raised, and the text by which a report groups it."""
    if isinstance(error, Decided):
        return error.kind, error.group
    if isinstance(error, FalseClaim):
        return "false", str(error)
    if isinstance(error, OURS):
        kind = "ours" if len(str(error)) <= LONGEST else "long"
        return kind, type(error).__name__
    return "foreign", f"{type(error).__name__} at {_place(error.__traceback__)}: {shown(error)}"


def _place(found: TracebackType | None) -> str:
    """Return the innermost line of ours."""
    frames = [
        (Path(frame.filename).relative_to(ROOT), frame)
        for frame in traceback.extract_tb(found)
        if Path(frame.filename).is_relative_to(ROOT)
    ]
    ours = [
        f"{file}:{frame.lineno} {frame.name}" for file, frame in frames if file.parts[0] in PACKAGES
    ]
    return ours[-1] if ours else "no line of ours"


def in_child(function: Callable[..., None], arguments: tuple[Any, ...], seconds: float) -> None:
    """Call a function in a process of its own, so that a crash or a hang ends that process alone.

    The process is a fork of one without threads: a fork of this one would wait for locks that
    others held.

    Args:
        function: at the top of a module; what it raises counts.
        arguments: of the function, which are pickled.
        seconds: of wall-clock time, after which the process is killed.

    Raises:
        Decided: the function raised something, crashed the process, or did not end.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"scripts.fuzz.{name}_calls" for name in PRELOADED])
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(function, arguments, writing))
    process.start()
    writing.close()
    try:
        if not reading.poll(seconds):
            raise Decided(
                "foreign", f"no end in time: {function.__name__}, {seconds:g} s of wall-clock time"
            )
        kind, group = reading.recv()
    except EOFError:
        process.join()
        raise Decided("foreign", f"the process crashed: exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        reading.close()
    if kind != "fine":
        raise Decided(kind, group)


def _answer(function: Callable[..., None], arguments: tuple[Any, ...], writing: Connection) -> None:
    """Send the outcome of a call."""
    warnings.simplefilter("error")
    try:
        function(*arguments)
        outcome = ("fine", "")
    except BaseException as error:
        outcome = outcome_of(error)
    writing.send(outcome)
