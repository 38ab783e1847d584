"""Check linear and quadratic terms in arrays, and fold them into a problem."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from ..arrays import as_array, check_integers, to_numpy
from ..errors import ProblemError, shortened
from ..limits.memory import check_memory
from ..options import is_whole
from ..problems.pairs import upright
from ..problems.problem import Problem
from .exact import as_float, separated

if TYPE_CHECKING:
    from jaxtyping import Int

Linear: TypeAlias = Annotated[np.ndarray, "float [n]"]
Pairs: TypeAlias = Annotated[np.ndarray, "int [e, 2]"]
Weights: TypeAlias = Annotated[np.ndarray, "float [e]"]

NUMBERS_A_VARIABLE = 8
"""Number of values per variable in memory at once while a problem is built."""


@np.errstate(over="ignore", invalid="ignore")  # overflow is reported by name later
def folded(unary: Linear, pairs: Pairs, weights: Weights) -> Problem[np.ndarray]:
    """Return the problem of terms: repeated pairs add up, and a pair (i, i) goes to unary[i].

    Pairs whose sum is zero are left out, since solvers are faster without them.

    Args:
        unary: `[n]`.
        pairs: `[e, 2]`, in any order.
        weights: `[e]`.

    Raises:
        ProblemError: a pair lies outside 0..n-1, or a sum is not finite.

    Example:
        >>> import numpy as np
        >>> pairs = np.array([[1, 0], [0, 1], [1, 1]])
        >>> problem = folded(np.zeros(2), pairs, np.array([1.0, 2.0, 5.0]))
        >>> problem.unary.tolist(), problem.pairwise.tolist(), problem.edges.tolist()
        ([[0.0, 5.0]], [[3.0]], [[0, 1]])
    """
    n = len(unary)
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
    if len(outside):
        raise ProblemError(
            f"the pair {tuple(pairs[outside[0]].tolist())} has an end outside 0..{n - 1}"
        )
    loops = pairs[:, 0] == pairs[:, 1]
    unary = unary + sums_at(n, pairs[loops, 0], weights[loops])
    low, high = np.sort(pairs[~loops], axis=1).T
    codes, places = np.unique(low * n + high, return_inverse=True)
    totals = sums_at(len(codes), places, weights[~loops])
    used = totals != 0
    edges = np.stack(np.divmod(codes[used], max(n, 1)), axis=-1)
    return Problem.from_arrays(unary + 0.0, totals[used], edges=edges)  # + 0.0: no negative zeros


def sums_at(n: int, places: Int[np.ndarray, "e"], weights: Weights) -> Linear:
    """Return the sum `[n]` of the weights at each of the places 0..n-1."""
    return np.bincount(places, weights=weights, minlength=n).astype(
        np.float64, copy=False
    )  # integers if empty


def real_array(name: str, values: Any, dimensions: int) -> np.ndarray:
    """Return `values` as a float64 array.

    Raises:
        ProblemError: they are not real numbers, or have another number of dimensions.
    """
    array = to_numpy(as_array(values, name))
    if array.size == 0:
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf" or array.ndim != dimensions:
        raise ProblemError(
            f"{name} must be real numbers in {dimensions} dimension(s); "
            f"got {array.dtype} {array.shape}"
        )
    check_integers(name, array)
    return array.astype(np.float64)


def finite_constant(name: str, value: Any) -> float:
    """Return a constant as a float.

    Raises:
        ProblemError: it is not a finite real number.
    """
    constant = float(real_array(name, as_float(value), 0))
    if not math.isfinite(constant):
        raise ProblemError(f"{name} must be a finite number; got {constant}")
    return constant


def edge_list(
    n: int, edges: Any, weights: Any, largest: float = sys.float_info.max
) -> tuple[Pairs, Weights, list[Fraction] | None]:
    """Check edges `[e, 2]` among 0..n-1 and their weights `[e]`, which are ones by default.

    The weights are also returned as fractions, if float64 rounds one of them.

    Args:
        n: number of variables.
        edges: `[e, 2]`.
        weights: `[e]`, or None.
        largest: the largest allowed weight, which may be infinity.

    Raises:
        ProblemError: the shapes or types are wrong, an end is outside 0..n-1, or a weight is not
            finite.
        ProblemTooLargeError: the variables do not fit into memory.
    """
    if not is_whole(n, 0, 2**62):
        raise ProblemError(f"n must be a whole number from 0 to 2^62; got {shortened(n)}")
    # A large n raises an error before any array of that size is made.
    check_memory(f"a problem of {n} variables", NUMBERS_A_VARIABLE * n)
    pairs = upright(to_numpy(as_array(edges, "edges")))
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ProblemError(f"edges must be integers [e, 2]; got {pairs.dtype} {pairs.shape}")
    weights, exact = separated(weights)
    if weights is None:
        values = np.ones(len(pairs))
    else:
        values = real_array("weights", weights, 1)
    if len(values) != len(pairs):
        raise ProblemError(f"{len(pairs)} edges came with {len(values)} weights")
    fits = np.isfinite(values) | (values == largest)
    if not fits.all():
        edge = int(np.flatnonzero(~fits)[0])
        raise ProblemError(f"the weight of edges[{edge}] is {values[edge]}; weights must be finite")
    if ((pairs < 0) | (pairs >= n)).any():
        raise ProblemError(f"edges must join 0..{n - 1}; they reach {pairs.min()}..{pairs.max()}")
    return pairs.astype(np.int64), values, exact
