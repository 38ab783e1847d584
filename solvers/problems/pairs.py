"""Read pairwise scores from a matrix or a list of edges, and check the edges."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..arrays import Array, Edges, as_array, beside, namespace_of, to_numpy
from ..errors import ProblemError
from .topology import Topology

Shape: TypeAlias = tuple[int, ...]
"""Some dimensions of an array."""

KEPT = 1 << 16
"""Largest number of pairs, a mebibyte, whose topologies are cached between calls."""

NO_PAIRS = np.empty((0, 2), np.int64)
"""The pairs of a problem without any."""


def from_matrix(matrix: Array, n: int, leading: Shape = ()) -> tuple[Array, Topology]:
    """Return the upper triangle of `[..., n, n]`, without pairs that are zero everywhere.

    Args:
        matrix: `[..., n, n]`.
        n: number of variables.
        leading: the dimensions of the unary scores before n, for messages.

    Raises:
        ProblemError: the matrix has another shape, entries on its diagonal, or is not symmetric.
    """
    check_square(tuple(matrix.shape), n, leading)
    if not n:
        return namespace_of(matrix).reshape(matrix, matrix.shape[:-1]), _topology(NO_PAIRS, 0)
    # Small triangles are kept between calls; large ones would occupy the memory.
    if n * n <= KEPT:
        triangle = _triangle(n)
    else:
        triangle = _triangle.__wrapped__(n)
    if isinstance(matrix, np.ndarray):
        return _from_host(matrix, triangle)
    upper = _checked_upper(matrix, triangle)
    size = triangle.topology.e
    if not size:
        return upper, triangle.topology
    xp = namespace_of(matrix)
    # All instances share the edges, so a pair is only dropped if it is zero in every instance.
    used = to_numpy(xp.any(xp.reshape(upper != 0, (-1, size)), axis=0))
    if used.all():
        return upper, triangle.topology
    places = np.flatnonzero(used)
    return xp.take(upper, beside(matrix, places), axis=-1), _some_of(triangle, places)


def check_square(shape: Shape, n: int, leading: Shape) -> None:
    """Raise unless a matrix of pairwise scores has a row and a column for each of n variables.

    Args:
        shape: that of the matrix, `[..., n, n]`.
        n: number of variables.
        leading: the dimensions of the unary scores before n, for messages.

    Raises:
        ProblemError: it has another shape.
    """
    if shape[-2:] == (n, n):
        return
    advice = ""
    if len(shape) > 1 and shape[-2] == shape[-1]:
        size = shape[-1]
        advice = _of_one_problem(lambda variables: variables == size, n, leading, ())
    raise ProblemError(
        f"pairwise must be [..., {n}, {n}] for unary [..., {n}]; its shape is {shape}. "
        + (advice or "For a list of pairs pass edges [e, 2] too")
    )


def from_sparse(matrix: Any) -> tuple[np.ndarray, Edges]:
    """Return the pairwise scores `[e]` and edges `[e, 2]` of a sparse matrix of scipy.

    It is upper triangular, or symmetric, with a zero diagonal, as for `from_matrix`.

    Raises:
        ProblemError: it has another form.
    """
    entries = matrix.tocoo()
    ends = np.stack([np.asarray(entries.row), np.asarray(entries.col)], axis=-1).astype(np.int64)
    stored = as_array(np.asarray(entries.data), "pairwise")
    places, inverse = np.unique(ends, axis=0, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=stored, minlength=len(places))
    places = places[sums != 0]
    sums = sums[sums != 0]
    if (places[:, 0] == places[:, 1]).any():
        i = int(places[places[:, 0] == places[:, 1]][0, 0])
        raise ProblemError(
            f"pairwise has a non-zero diagonal, at ({i}, {i}); add it to unary, since z_i z_i = z_i"
        )
    upper = places[:, 0] < places[:, 1]
    scores = _by_place(places[upper], sums[upper])
    mirrored = _by_place(places[~upper][:, ::-1], sums[~upper])
    if mirrored and mirrored != scores:
        raise ProblemError(
            "pairwise must be upper triangular or symmetric; fold it with "
            "scipy.sparse.triu(pairwise + pairwise.T, 1)"
        )
    return sums[upper], places[upper]


def _by_place(places: np.ndarray, scores: np.ndarray) -> dict[tuple[int, int], float]:
    """Return {(i, j): score} of places `[e, 2]`."""
    return dict(zip(map(tuple, places.tolist()), scores.tolist(), strict=True))


def _from_host(matrix: np.ndarray, triangle: _Triangle) -> tuple[np.ndarray, Topology]:
    """Return the result of `from_matrix` by one pass of a kernel, for arrays on the host."""
    leading = matrix.shape[:-2]
    n = matrix.shape[-1]
    upper, used, pairs, fault = _checks().triangle_of(matrix.reshape(math.prod(leading), n, n))
    if fault:  # the slower check names it
        _checked_upper(matrix, triangle)
    topology = triangle.topology
    if pairs < topology.e:
        places = np.flatnonzero(used)
        upper = upper.take(places, axis=-1)
        topology = _some_of(triangle, places)
    return upper.reshape(*leading, pairs), topology


def _checked_upper(matrix: Array, triangle: _Triangle) -> Array:
    """Return the entries above the diagonal of `[..., n, n]`, row by row.

    Raises:
        ProblemError: an entry is nonzero at a forbidden place; the message names the first one.
    """
    _check_diagonal(matrix, triangle.diagonal)
    upper = _entries(matrix, triangle.upper)
    _check_triangles(upper, _entries(matrix, triangle.lower), triangle.topology)
    return upper


def _some_of(triangle: _Triangle, places: np.ndarray) -> Topology:
    """Return the topology of the pairs at some places among all pairs."""
    return _topology(triangle.topology.pairs[places], triangle.topology.n)


@cache
def _checks() -> Any:
    """Return the module of compiled checks, which formats and conversions do not load."""
    return importlib.import_module("..compiled.problem_checks", __package__)


class _Triangle(NamedTuple):
    """The places of the entries in a flattened matrix, and the topology of all pairs."""

    upper: np.ndarray
    lower: np.ndarray
    diagonal: np.ndarray
    topology: Topology


@lru_cache(maxsize=16)
def _triangle(n: int) -> _Triangle:
    rows, columns = np.triu_indices(n, 1)
    pairs = np.stack([rows, columns], axis=-1)
    return _Triangle(
        rows * n + columns, columns * n + rows, np.arange(n) * (n + 1), Topology(n, pairs)
    )


def from_edges(weights: Array, edges: Any, n: int, leading: Shape = ()) -> tuple[Array, Topology]:
    """Return the scores `[..., e]` unchanged, with every pair checked and ordered to i < j."""
    pairs = _integers(edges)
    check_length(weights, len(pairs))
    return weights, topology_of(pairs, n, leading)


def topology_of(edges: Any, n: int, leading: Shape = (), trailing: Shape = ()) -> Topology:
    """Return the checked topology of `edges [e, 2]` of n variables, pairs ordered to i < j.

    The same edges give the same object.

    Args:
        edges: `[e, 2]`, or `[2, e]`.
        n: number of variables.
        leading: the dimensions of the unary scores before n, for messages.
        trailing: their dimensions after n.

    Raises:
        ProblemError: edges repeat, loop or lie outside 0..n-1, or are not integers `[e, 2]`.
    """
    pairs = _integers(edges)
    try:
        return _topology(pairs, n)
    except ProblemError as error:
        largest = int(pairs.max(initial=0))
        advice = _of_one_problem(lambda variables: largest < variables, n, leading, trailing)
        if advice:
            raise ProblemError(f"{error}. {advice}") from None
        raise


def _of_one_problem(fits: Callable[[int], bool], n: int, leading: Shape, trailing: Shape) -> str:
    """Return the advice for pairs over several dimensions of the unary scores; empty for others.

    An image `[height, width]` of scores is read as a batch of its rows.

    Args:
        fits: whether the pairs are those of so many variables.
        n: number of variables of a row.
        leading: the dimensions of the unary scores before n.
        trailing: their dimensions after n.
    """
    variables = n
    if fits(n):
        return ""
    for place in reversed(range(len(leading))):
        variables *= leading[place]
        if fits(variables):
            flat = ", ".join(map(str, (*leading[:place], -1, *trailing)))
            return (
                f"unary {[*leading, n, *trailing]} is read as a batch of {math.prod(leading)} "
                f"problems of {n} variables; for problems of {variables} variables, pass "
                f"unary.reshape({flat})"
            )
    return ""


def check_length(weights: Array, e: int) -> None:
    """Raise unless there is one pairwise score for each pair."""
    if weights.ndim == 0 or weights.shape[-1] != e:
        raise ProblemError(
            f"pairwise must be [..., {e}] for {e} edges; its shape is {tuple(weights.shape)}"
        )


def _topology(pairs: Edges, n: int) -> Topology:
    if len(pairs) > KEPT:
        return _checked(pairs, n)
    return _kept(pairs.tobytes(), pairs.dtype, n)


@lru_cache(maxsize=64)
def _kept(pairs: bytes, kind: np.dtype, n: int) -> Topology:
    return _checked(np.frombuffer(pairs, kind).reshape(-1, 2), n)


def _integers(edges: Any) -> Edges:
    """Return edges `[e, 2]` of any integer type, also from an empty list or from `[2, e]`."""
    array = as_array(edges, "edges")
    pairs = to_numpy(array)
    if pairs.shape[1:] != (2,):
        pairs = upright(pairs)
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ProblemError(f"edges must be integers [e, 2]; got {array.dtype} {pairs.shape}")
    return pairs


def upright(edges: np.ndarray) -> np.ndarray:
    """Return edges `[e, 2]` from such edges or from `[2, e]`, PyTorch Geometric's `edge_index`.

    A 2 x 2 array counts as `[e, 2]`.
    """
    transposed = edges.ndim == 2 and edges.shape[0] == 2 != edges.shape[1]
    if transposed:
        return np.ascontiguousarray(edges.T)
    return edges


def _checked(pairs: Edges, n: int) -> Topology:
    pairs = pairs.astype(np.int64)
    if not (pairs[:, 0] < pairs[:, 1]).all():
        pairs = np.stack([np.minimum(*pairs.T), np.maximum(*pairs.T)], axis=1)
        _check_loops(pairs)
    _check_range(pairs, n)
    _check_repeats(pairs, n)
    return Topology(n, pairs)


def _entries(matrix: Array, positions: np.ndarray) -> Array:
    xp = namespace_of(matrix)
    flat = xp.reshape(matrix, (*matrix.shape[:-2], -1))
    return xp.take(flat, beside(matrix, positions), axis=-1)


def _check_diagonal(matrix: Array, positions: np.ndarray) -> None:
    diagonal = _entries(matrix, positions) != 0
    if not bool(namespace_of(matrix).any(diagonal)):
        return
    i = np.argwhere(to_numpy(diagonal))[0, -1]
    raise ProblemError(
        f"pairwise has a non-zero diagonal, at ({i}, {i}); since z_i^2 = z_i, add the diagonal to "
        "unary and set it to zero"
    )


def _check_triangles(upper: Array, lower: Array, topology: Topology) -> None:
    xp = namespace_of(upper)
    if not bool(xp.any(lower != 0)) or bool(xp.all(lower == upper)):
        return
    above = to_numpy(upper)
    below = to_numpy(lower)
    where = tuple(np.argwhere(above != below)[0])
    i, j = topology.edges()[where[-1]]
    raise ProblemError(
        f"pairwise is neither upper triangular nor symmetric: entry ({i}, {j}) is {above[where]} "
        f"and ({j}, {i}) is {below[where]}; if both count, fold them: "
        "numpy.triu(pairwise + pairwise.swapaxes(-1, -2), 1)"
    )


def _check_range(pairs: Edges, n: int) -> None:
    outside = np.flatnonzero((pairs[:, 0] < 0) | (pairs[:, 1] >= n))
    if len(outside):
        pair = tuple(pairs[outside[0]].tolist())
        raise ProblemError(f"edges[{outside[0]}] is the pair {pair}; variables are 0..{n - 1}")


def _check_loops(pairs: Edges) -> None:
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        i = pairs[loops[0], 0]
        raise ProblemError(
            f"edges[{loops[0]}] joins {i} to itself; since z_i^2 = z_i, add its score to unary[{i}]"
        )


def _check_repeats(pairs: Edges, n: int) -> None:
    codes = pairs[:, 0] * n + pairs[:, 1]
    # A stable sort is the fastest for long ordered runs, which most edges form.
    codes.sort(kind="stable")
    repeats = codes[1:][codes[1:] == codes[:-1]]
    if len(repeats):
        codes = pairs[:, 0] * n + pairs[:, 1]
        first, second = np.flatnonzero(codes == repeats[0])[:2]
        raise ProblemError(
            f"edges[{first}] and edges[{second}] are the same pair {tuple(pairs[first].tolist())}; "
            "add their scores and keep one"
        )
