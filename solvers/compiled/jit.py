"""How kernels are compiled: a decorator for every meaning that their arithmetic may have.

All are compiled on their first call, run without the interpreter's lock and are kept on disk beside their source.
A division by zero gives what it gives in numpy and raises nothing: the test for it would keep loops from whole vectors.

Numba compiles a kernel again when its own file has changed. After a change of the options here, or of a kernel that
others call, `find solvers -name '*.nb[ci]' -delete` makes that happen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core import event

from ..limits.deadline import compilation_begins, compilation_ends, loading_begins, loading_ends
from .cache import keeps_kernels

KernelT = TypeVar("KernelT", bound=Callable[..., Any])


class _Loading(event.Listener):
    """Stops the clock of time limits while numba compiles, reads compiled kernels from disk, or waits for either."""

    def on_start(self, event: event.Event) -> None:
        loading_begins()

    def on_end(self, event: event.Event) -> None:
        loading_ends()


class _Compilation(event.Listener):
    """The same while numba compiles what is not on disk, which the log may say."""

    def on_start(self, event: event.Event) -> None:
        compilation_begins()

    def on_end(self, event: event.Event) -> None:
        compilation_ends()


event.register("numba:compiler_lock", _Loading())
event.register("numba:compile", _Compilation())


def _variant(**options: object) -> Callable[[KernelT], KernelT]:
    wrapper: Callable[[KernelT], KernelT] = njit(  # type: ignore[call-overload]  # options that numba's types lack
        cache=keeps_kernels(), nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options
    )
    return wrapper


strict = _variant()
"""Arithmetic as it is written: every operation is rounded by itself, in the order of the source."""

borrowing = _variant(_nrt=False)
"""As `strict`, for kernels that make no arrays and return none, nor call what does.

References to the arrays that they are given are not counted, which at every call, and for every field of a tuple of
arrays, takes longer than a short loop.
"""

inlined = _variant(inline="always")
"""As `strict`, and copied into its callers: for steps of a hot loop that would stay calls otherwise."""

fused = _variant(fastmath={"contract"})
"""A product and the sum that takes it may be rounded once instead of twice, which is never less exact."""

reordered = _variant(fastmath={"reassoc", "contract"})
"""As `fused`, and sums may be taken in any order, so that they fill vectors; infinities and nan keep their meaning.

Safe where sums are exact in any order (whole numbers below 2^53), or where a bound of their rounding, which holds for
every order, is added to what is proved with them.
"""

reduction = _variant(fastmath={"reassoc", "nnan", "nsz"})
"""Sums and maxima of a table in any order. There is no nan in it, and no one asks for the sign of a zero.

Maxima fill vectors only with these two promises. Safe where the rounding of a sum is bounded for every order.
"""

strict_inner = _variant(no_cpython_wrapper=True)
"""As `strict`, for what kernels alone call: it compiles faster, and Python cannot call it."""

reordered_inner = _variant(no_cpython_wrapper=True, fastmath={"reassoc", "contract"})
"""As `reordered`, for what kernels alone call."""
