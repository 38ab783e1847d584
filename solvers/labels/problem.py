"""Define the pairwise problem over variables of several values for label solvers.

Every label solver takes this description.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from ..arrays import (
    Array,
    ArrayLike,
    ArrayOf,
    ArrayT,
    Edges,
    GivenT,
    Home,
    Scores,
    States,
    as_array,
    as_float64,
    beside,
    check_room,
    home_of,
    namespace_of,
    to_numpy,
)
from ..errors import ProblemError, shortened
from ..kept import kept
from ..limits.memory import check_memory
from ..problems import pairs
from ..problems.any_problem import AnyProblem, units_of
from ..problems.problem import (
    BLOCK,
    EPSILON,
    LARGEST_MAGNITUDE,
    as_floats,
    with_batch,
)
from ..problems.topology import Topology, ends

if TYPE_CHECKING:
    from jaxtyping import Float, Int

MOST_EQUAL = 128
"""Maximum number of values for which scores of equal values become a table.

Beyond it the table's zeros would take more memory than all else.
"""

COPIES = 4
"""Number of copies of the tables that a solver holds at once."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Checked pairs, with their original directions.

    Attributes:
        topology: the pairs, each in the order i < j.
        swapped: `[e]`, bool: whether the caller wrote the pair as (j, i).
    """

    topology: Topology
    swapped: np.ndarray

    @classmethod
    def of(cls, edges: Any, n: int, leading: tuple[int, ...] = (), k: int = 1) -> Pairs:
        """Check the pairs of n variables; None for none.

        Args:
            edges: the pairs, `[e, 2]` or `[2, e]`.
            n: number of variables.
            leading: the dimensions of the unary scores before n, for messages.
            k: their number of values, for messages.

        Raises:
            ProblemError: edges repeat, loop or lie outside 0..n-1.
        """
        if edges is None:
            return cls(Topology(n, np.empty((0, 2), np.int64)), np.zeros(0, bool))
        upright = pairs.upright(to_numpy(as_array(edges, "edges")))
        topology = pairs.topology_of(upright, n, leading, (k,))
        if not topology.e:
            return cls(topology, np.zeros(0, bool))
        return cls(topology, upright[:, 0] > upright[:, 1])


@dataclass(frozen=True, eq=False, repr=False)
class LabelProblem(AnyProblem[ArrayT]):
    """Checked batch of pairwise problems over the same variables and edges.

    score(x) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j],  x_i in {0, ..., sizes[i]
    - 1},  maximised.

    A score of minus infinity forbids the value or pair of values. Build one with
    `LabelProblem.from_arrays`.

    Attributes:
        unary: `[batch, n, k]`, float32 or float64; minus infinity beyond `sizes`.
        tables: `[1 or batch, t, k, k]`, of the same type: the different tables; zero beyond
            `sizes`. There are no tables (t = 0) if they would waste memory: with `edge_tables`, and
            for scores of equal values if k is more than 128. `dense` returns the problem with
            tables.
        table_of: `[e]`, numpy int64: the table of each edge, whose rows are values of the edge's
            lower variable.
        weights: `[1 or batch, e]`, factors of the tables of the edges; None for ones.
        sizes: `[n]`, numpy int64: the number of values of each variable.
        topology: the pairs, each in the order i < j.
        leading: the caller's leading dimensions; their product is `batch`.
        home: the kind of arrays and the device to which answers go back.
        edge_tables: `[e]` of `[sizes[i], sizes[j]]`, float64: a table for each edge, if sizes
            differ so much that tables of k x k would be much larger; otherwise None.

    Example:
        >>> unary = [[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]
        >>> problem = LabelProblem.from_arrays(unary, potts=[3.0], edges=[[0, 1]])
        >>> float(problem.score([0, 0]))
        5.0
    """

    kind: ClassVar[str] = "labels"

    unary: Float[np.ndarray | ArrayT, "batch n k"]
    tables: Float[np.ndarray | ArrayT, "shared t k k"]
    table_of: Int[np.ndarray, "e"]
    weights: Float[np.ndarray | ArrayT, "shared e"] | None
    sizes: Int[np.ndarray, "n"]
    topology: Topology
    leading: tuple[int, ...]
    home: Home[ArrayT]
    edge_tables: tuple[np.ndarray, ...] | None = None

    @overload
    @classmethod
    def from_arrays(
        cls,
        unary: ArrayLike,
        pairwise: ArrayLike | None = None,
        *,
        edges: Any = None,
        sizes: Any = None,
        potts: Any = None,
    ) -> LabelProblem[np.ndarray]: ...

    @overload
    @classmethod
    def from_arrays(
        cls,
        unary: ArrayOf[GivenT],
        pairwise: ArrayOf[GivenT] | None = None,
        *,
        edges: Any = None,
        sizes: Any = None,
        potts: Any = None,
    ) -> LabelProblem[GivenT]: ...

    @classmethod
    def from_arrays(
        cls,
        unary: Any,
        pairwise: Any = None,
        *,
        edges: Any = None,
        sizes: Any = None,
        potts: Any = None,
    ) -> LabelProblem:
        """Check the caller's arrays, and return them as a problem.

        Args:
            unary: `[..., n, k]`, the score of each value of each variable; minus infinity forbids
                one.
            pairwise: None; `[..., e, k, k]`, the scores of the values of each pair, whose rows are
                values of the edge's first variable; `[..., 1, k, k]` or `[k, k]`, the same for all
                pairs. Leading dimensions broadcast against those of `unary`.
            edges: `[e, 2]` or `[2, e]` integers, shared by the batch.
            sizes: `[n]` integers from 1 to k, if variables have different numbers of values; scores
                beyond them are ignored. None for k values each.
            potts: in place of `pairwise`, the score of equal values: a number, or `[..., e]`.

        Raises:
            ProblemError: shapes do not match, a score is nan or plus infinity, edges repeat, loop
                or lie outside 0..n-1, or sizes lie outside 1..k.
            ProblemTooLargeError: the scores do not fit into memory.
        """
        _check_choice(pairwise, potts, edges)
        return cls._checked(unary, pairwise, potts, sizes, partial(Pairs.of, edges))

    @classmethod
    def over(
        cls, pairs: Pairs, unary: Any, pairwise: Any = None, *, sizes: Any = None, potts: Any = None
    ) -> LabelProblem:
        """Return the problem of `from_arrays` for pairs that are already checked.

        Args:
            pairs: pairs of as many variables as `unary` has.
            unary: `[..., n, k]`.
            pairwise: as `from_arrays` takes it.
            sizes: as `from_arrays` takes it.
            potts: as `from_arrays` takes it.

        Raises:
            ProblemError: shapes do not match, or a score is nan or plus infinity.
            ProblemTooLargeError: the scores do not fit into memory.
        """
        n = pairs.topology.n

        def of(variables: int, leading: tuple[int, ...], k: int) -> Pairs:
            if variables != n:
                raise ProblemError(
                    f"unary must be [..., {n}, k], for {n} variables; it has {variables}"
                )
            return pairs

        if pairs.topology.e or pairwise is not None or potts is not None:
            _check_choice(pairwise, potts, pairs)
        return cls._checked(unary, pairwise, potts, sizes, of)

    @classmethod
    def _checked(
        cls,
        unary: Any,
        pairwise: Any,
        potts: Any,
        sizes: Any,
        pairs_of: Callable[[int, tuple[int, ...], int], Pairs],
    ) -> LabelProblem:
        """Check the arrays, and return them as a problem.

        `pairs_of` returns the pairs for n, the leading dimensions and k.
        """
        arrays = {"unary": as_array(unary, "unary")}
        for name, array in (("pairwise", pairwise), ("potts", potts)):
            if array is not None:
                arrays[name] = as_array(array, name)
        alone = "potts" in arrays and arrays["potts"].ndim == 0
        if alone:
            number = to_numpy(arrays["potts"])  # not an array
            if number.dtype.kind not in "biuf":
                raise ProblemError(f"potts must be a number, or [..., e]; got {shortened(potts)}")
            arrays["potts"] = beside(arrays["unary"], number[None])
        home = home_of(*arrays.values())
        scores = as_floats(arrays, home)
        n, k = _shape_of(scores["unary"])
        if not k:  # there are no variables, either
            scores["unary"] = _with_a_value(scores["unary"])
            k = 1
        checked = pairs_of(n, tuple(scores["unary"].shape[:-2]), k)
        size = _sizes(sizes, n, k)
        topology = checked.topology
        if "potts" in scores:
            parts = _of_potts(scores["potts"], topology.e, k, shared=alone)
        else:
            parts = _of_tables(scores.get("pairwise"), scores["unary"], topology, checked.swapped)
        problem = _flatten(cls, scores["unary"], *parts, sizes=size, topology=topology, home=home)
        _check_finite(problem)
        return problem

    @staticmethod
    def from_tables(
        unary: np.ndarray, tables: Sequence[np.ndarray], edges: Edges, sizes: np.ndarray
    ) -> LabelProblem[np.ndarray]:
        """Return one instance with a table of the right size for each edge.

        Args:
            unary: `[n, k]`, float64; minus infinity beyond `sizes`.
            tables: `[e]` of `[sizes[i], sizes[j]]`, float64.
            edges: `[e, 2]`, i < j.
            sizes: `[n]`.

        Raises:
            ProblemError: as `from_arrays`.
        """
        k = unary.shape[1]
        none = np.zeros((1, 0, k, k))
        topology = pairs.topology_of(edges, len(unary))
        home = home_of(unary)
        which = np.arange(len(tables))
        arrays = tuple(tables)
        problem: LabelProblem[np.ndarray] = LabelProblem(
            unary[None], none, which, None, sizes, topology, (), home, arrays
        )
        _check_finite(problem)
        return problem

    @property
    def is_potts(self) -> bool:
        """Whether pairs score only equal values, by `weights` and without tables."""
        return bool(self.e) and self.edge_tables is None and int(self.tables.shape[1]) == 0

    def dense(self) -> LabelProblem[ArrayT]:
        """Return this problem with tables of k x k.

        Raises:
            ProblemTooLargeError: the tables and their copies in solvers do not fit into memory.
        """
        if self.edge_tables is None and not self.is_potts:
            return self
        if self.edge_tables is None:
            check_memory(f"a table of {self.k} x {self.k} values", COPIES * self.k**2)
            eye = np.eye(self.k, dtype=to_numpy(self.unary[:0]).dtype)
            return replace(self, tables=beside(self.unary, eye[None, None]))
        check_memory(f"{self.e} tables of {self.k} x {self.k} values", COPIES * self.e * self.k**2)
        tables = np.zeros((1, self.e, self.k, self.k))
        for edge, table in enumerate(self.edge_tables):
            tables[0, edge, : table.shape[0], : table.shape[1]] = table
        return replace(self, tables=tables, edge_tables=None)

    @property
    def batch(self) -> int:
        """Number of instances."""
        return int(self.unary.shape[0])

    @property
    def n(self) -> int:
        """Number of variables of an instance."""
        return int(self.unary.shape[1])

    @property
    def k(self) -> int:
        """Maximum number of values of a variable."""
        return int(self.unary.shape[2])

    @kept
    def magnitude(self) -> Scores:
        """Return a limit `[batch]` on the absolute value of all finite scores.

        It is the sum of the largest absolute scores of each variable and edge.
        """
        xp = namespace_of(self.unary)
        total = xp.sum(_largest(self.unary), axis=-1)
        if not self.e:
            return total
        if self.edge_tables is not None:
            return total + sum(_largest(np.ravel(table)) for table in self.edge_tables)
        if self.is_potts:
            return total + xp.sum(xp.abs(as_float64(self.weights)), axis=-1)
        largest = _largest(xp.reshape(self.tables, (*self.tables.shape[:2], self.k**2)))
        of_edges = xp.take(largest, beside(self.unary, self.table_of), axis=-1)
        if self.weights is not None:
            of_edges = of_edges * xp.abs(as_float64(self.weights))
        return total + xp.sum(of_edges, axis=-1)

    @property
    def rounding_of_sums(self) -> Scores:
        """Maximum rounding error `[batch]` of sums of real numbers of this size."""
        return 2 * EPSILON * (self.n + self.e + 1) * self.magnitude

    @kept
    def _units(self) -> np.ndarray | None:
        """The units that `resolutions` returns."""
        if self.is_empty:
            return None
        if self.weights is None:
            tables = self.tables
        else:
            tables = self.weights
        if self.edge_tables is not None:
            tables = np.concatenate([np.ravel(table) for table in self.edge_tables])[None]
        parts = self.unary, tables
        if (
            not isinstance(self.unary, np.ndarray)
            and sum(math.prod(array.shape) for array in parts) > BLOCK
        ):
            return None  # these would be copied from a device
        first, second = (to_numpy(array).reshape(array.shape[0], -1) for array in parts)
        return units_of(
            first, second, to_numpy(self.magnitude), 2 * EPSILON * (self.n + self.e + 1)
        )

    @kept
    def trivial_bound(self) -> Scores:
        """Return an upper bound `[batch]` on all scores.

        It is the sum of the highest scores of each variable and edge.
        """
        xp = namespace_of(self.unary)
        total = xp.sum(as_float64(xp.max(self.unary, axis=-1)), axis=-1)
        if not self.e:
            return total
        if self.edge_tables is not None:
            return total + sum(float(np.max(table)) for table in self.edge_tables)
        if self.is_potts:
            weights = as_float64(self.weights)
            return total + xp.sum(xp.where(weights > 0, weights, 0 * weights), axis=-1)
        tables = as_float64(xp.reshape(self.tables, (*self.tables.shape[:2], self.k**2)))
        of_edges = beside(self.unary, self.table_of)
        highest = xp.take(xp.max(tables, axis=-1), of_edges, axis=-1)
        if self.weights is not None:
            lowest = xp.take(xp.min(tables, axis=-1), of_edges, axis=-1)
            weights = as_float64(self.weights)
            highest = xp.where(weights < 0, lowest * weights, highest * weights)
        return total + xp.sum(highest, axis=-1)

    @kept
    def states(self) -> int:
        """Number of assignments of an instance."""
        return math.prod(self.sizes.tolist())

    def pairwise(self, edge: int) -> Float[Array, "shared ki kj"]:
        """Return the float64 table of an edge, `[1 or batch, sizes[i], sizes[j]]`."""
        i, j = self.topology.pairs[edge]
        if self.edge_tables is not None:
            return self.edge_tables[edge][None]
        if self.is_potts:
            equal = np.eye(int(self.sizes[i]), int(self.sizes[j]))
            return (
                beside(self.unary, equal[None]) * as_float64(self.weights)[:, edge][:, None, None]
            )
        table = as_float64(
            self.tables[:, int(self.table_of[edge]), : int(self.sizes[i]), : int(self.sizes[j])]
        )
        if self.weights is None:
            return table
        return table * as_float64(self.weights[:, edge])[:, None, None]

    def all_pairwise(self) -> Float[np.ndarray, "shared e k k"]:
        """Return the float64 tables `[1 or batch, e, k, k]` of all edges of a host problem.

        Raises:
            ProblemTooLargeError: they do not fit into memory.
        """
        (tables,) = (tables for _, tables in self.pairwise_blocks(self.e * self.k**2))
        return tables

    def pairwise_blocks(
        self, entries: int
    ) -> Iterator[tuple[slice, Float[np.ndarray, "shared block k k"]]]:
        """Yield some edges of a host problem with their tables, as in `all_pairwise`, until all.

        Args:
            entries: how many numbers the tables of a block have in each instance, about.

        Raises:
            ProblemTooLargeError: the tables of all edges do not fit into memory.
        """
        shared = self.tables.shape[0]
        if self.weights is not None:
            shared = max(shared, self.weights.shape[0])
        check_room("a table for every edge", self.unary, shared * self.e * self.k**2)
        different = self.dense().tables
        count = max(1, entries // self.k**2)
        for start in range(0, max(1, self.e), count):
            block = slice(start, start + count)
            tables = np.asarray(different[:, self.table_of[block]], np.float64)
            if self.weights is not None:
                tables = tables * np.asarray(self.weights)[:, block, None, None]
            yield block, tables

    def score(self, labels: Any) -> ArrayT:
        """Return the score of each assignment, summed in float64.

        Args:
            labels: `[..., n]` integers, with this problem's leading dimensions.

        Returns:
            `[...]`, float64, of the caller's kind; minus infinity for a forbidden assignment.

        Raises:
            ProblemError: `labels` has another shape, or values that a variable does not have.
        """
        states = to_numpy(as_array(labels, "labels"))
        expected = (*self.leading, self.n)
        if states.shape != expected:
            raise ProblemError(
                f"labels must have the shape {expected}; their shape is {states.shape}"
            )
        flat = states.reshape(self.batch, self.n)
        if fault := self.fault_of(flat):
            raise ProblemError(f"labels {fault}")
        return self.restore(self.score_flat(beside(self.unary, flat.astype(np.int64))))

    def fault_of(self, labels: np.ndarray) -> str:
        """Describe what is wrong with labels `[batch, n]`; return an empty string if valid."""
        if labels.dtype.kind not in "iu":
            return f"must be integers; their type is {labels.dtype}"
        outside = np.argwhere((labels < 0) | (labels >= self.sizes))
        if not len(outside):
            return ""
        instance, i = outside[0].tolist()
        return f"of variable {i} are 0 to {self.sizes[i] - 1}; got {labels[instance, i]}"

    def score_flat(self, labels: States) -> Scores:
        """Return the float64 scores `[batch]` of labels `[batch, n]` on the problem's device."""
        xp = namespace_of(self.unary)
        rows = beside(self.unary, np.arange(self.batch)[:, None])
        variables = beside(self.unary, np.arange(self.n)[None, :])
        total = xp.sum(_at(self.unary, (rows * self.n + variables) * self.k + labels), axis=-1)
        if not self.e:
            return total
        first, second = (beside(self.unary, end) for end in self.topology.recall(ends))
        if self.edge_tables is not None:
            return total + _edge_scores(self.edge_tables, self.topology.pairs, labels)
        if self.is_potts:
            equal = xp.take(labels, first, axis=-1) == xp.take(labels, second, axis=-1)
            return total + xp.sum(as_float64(self.weights) * as_float64(equal), axis=-1)
        pair = xp.take(labels, first, axis=-1) * self.k + xp.take(labels, second, axis=-1)
        table = beside(self.unary, self.table_of)[None, :]
        if self.tables.shape[0] > 1:
            table = table + rows * self.tables.shape[1]
        scores = _at(self.tables, table * self.k**2 + pair)
        if self.weights is not None:
            scores = scores * as_float64(self.weights)
        return total + xp.sum(scores, axis=-1)

    def columns(self, labels: States) -> np.ndarray:
        """Return indicators `[batch, n * k]`: 1 if a variable has a value, else 0.

        Linear constraints are over these columns, on the host.
        """
        has: np.ndarray = labels[:, :, None] == np.arange(self.k)
        return has.reshape(len(labels), self.n * self.k).astype(np.int8)

    def instances(self, rows: slice | np.ndarray) -> LabelProblem[ArrayT]:
        """Return a selection of the instances as a batch with one leading dimension.

        `rows` is a slice or, on the host, the numbers of the instances.
        """
        unary = self.unary[rows, ...]
        if self.tables.shape[0] == 1:
            tables = self.tables
        else:
            tables = self.tables[rows, ...]
        weights = self.weights
        if weights is not None and weights.shape[0] > 1:
            weights = weights[rows, :]
        return replace(self, unary=unary, tables=tables, weights=weights, leading=(unary.shape[0],))

    def copied(self) -> LabelProblem[ArrayT]:
        """Return this problem with copied scores, independent of the caller's arrays."""
        xp = namespace_of(self.unary)
        unary, tables = (xp.asarray(array, copy=True) for array in (self.unary, self.tables))
        weights = self.weights
        if weights is not None:
            weights = xp.asarray(weights, copy=True)
        return replace(self, unary=unary, tables=tables, weights=weights)

    def with_scores(self, unary: Array, pairwise: Array) -> LabelProblem[ArrayT]:
        """Return the problem of the same pairs with a separate table for each edge.

        Args:
            unary: `[batch, n, k]`.
            pairwise: `[batch, e, k, k]`.
        """
        table_of = np.arange(self.e)
        return replace(
            self, unary=unary, tables=pairwise, table_of=table_of, weights=None, edge_tables=None
        )

    def to_host(self) -> LabelProblem[ArrayT]:
        """Return this problem with numpy scores; answers still go back to the caller's device."""
        if isinstance(self.unary, np.ndarray):
            return self
        weights = None
        if self.weights is not None:
            weights = to_numpy(self.weights)
        return replace(
            self, unary=to_numpy(self.unary), tables=to_numpy(self.tables), weights=weights
        )


def _edge_scores(
    edge_tables: tuple[np.ndarray, ...], edges: Edges, labels: np.ndarray
) -> np.ndarray:
    """Return the sum `[batch]` of entries of `edge_tables` at labels `[batch, n]`."""
    total = np.zeros(len(labels))
    for table, (i, j) in zip(edge_tables, edges.tolist(), strict=True):
        total += table[labels[:, i], labels[:, j]]
    return total


def _at(scores: Array, places: Array) -> Array:
    """Return the float64 scores at places `[batch, m]` of the flattened array."""
    xp = namespace_of(scores)
    taken = xp.take(xp.reshape(scores, (-1,)), xp.reshape(places, (-1,)), axis=0)
    return as_float64(xp.reshape(taken, places.shape))


def _largest(scores: Array) -> Array:
    """Return the largest absolute scores `[...]` of `[..., m]`, with 0 for forbidden ones."""
    xp = namespace_of(scores)
    least = xp.min(scores, axis=-1)
    if bool(xp.any(xp.isinf(least))):
        scores = xp.where(xp.isinf(scores), xp.zeros_like(scores), scores)
        least = xp.min(scores, axis=-1)
    return as_float64(xp.maximum(xp.max(scores, axis=-1), -least))


def _check_choice(pairwise: Any, potts: Any, edges: Any) -> None:
    if pairwise is not None and potts is not None:
        raise ProblemError(
            "pass pairwise or potts, not both; add potts to the diagonals of pairwise"
        )
    if (pairwise is None and potts is None) != (edges is None):
        raise ProblemError(
            "pairwise, or potts, and edges go together; pass edges [e, 2] with the scores of pairs"
        )


def _shape_of(unary: Array) -> tuple[int, int]:
    shape = tuple(unary.shape)
    if len(shape) < 2:
        raise ProblemError(f"unary must be [..., n, k]; its shape is {shape}")
    n = int(shape[-2])
    k = int(shape[-1])
    if n and not k:
        raise ProblemError(f"the {n} variables have no values; unary is [..., n, k] with k >= 1")
    return n, k


def _with_a_value(unary: Array) -> Array:
    """Return scores `[..., 0, 1]` in place of `[..., 0, 0]`."""
    xp = namespace_of(unary)
    return xp.zeros((*unary.shape[:-1], 1), dtype=unary.dtype, device=unary.device)


def _sizes(sizes: Any, n: int, k: int) -> np.ndarray:
    if sizes is None:
        return np.full(n, k, np.int64)
    array = to_numpy(as_array(sizes, "sizes"))
    if array.shape == (n,) == (0,):  # an empty list has no type
        return np.zeros(0, np.int64)
    if (
        array.shape != (n,)
        or array.dtype.kind not in "iu"
        or not ((array >= 1) & (array <= k)).all()
    ):
        raise ProblemError(f"sizes must be integers [{n}] from 1 to {k}; got {shortened(sizes)}")
    return array.astype(np.int64)


def _of_potts(weights: Array, e: int, k: int, *, shared: bool) -> tuple[Array, np.ndarray, Array]:
    """Return tables, the table of each edge, and weights, from scores of equal values."""
    xp = namespace_of(weights)
    if shared:
        weights = xp.broadcast_to(weights, (*weights.shape[:-1], e))
    if weights.shape[-1] != e:
        raise ProblemError(
            f"potts must be a number or [..., {e}] for {e} edges; "
            f"its shape is {tuple(weights.shape)}"
        )
    if not bool(xp.all(xp.isfinite(weights))):
        raise ProblemError("potts must be finite")
    if k > MOST_EQUAL:
        none = np.zeros((0, k, k), to_numpy(weights[..., :0]).dtype)
        return beside(weights, none), np.zeros(e, np.int64), weights
    table = beside(weights, np.eye(k, dtype=to_numpy(weights[..., :0]).dtype))
    return table[None, :, :], np.zeros(e, np.int64), weights


def _check_tables(shape: tuple[int, ...], k: int, topology: Topology) -> None:
    """Raise unless the shape is that of one table per edge, or of one table for all edges.

    Raises:
        ProblemError: the shape is another one.
    """
    e = topology.e
    if len(shape) < 3 or shape[-2:] != (k, k) or shape[-3] not in (1, e):
        raise ProblemError(
            f"pairwise must be [..., {e}, {k}, {k}] for {e} edges "
            f"and unary [..., {topology.n}, {k}], or [{k}, {k}] for all edges; its shape is {shape}"
        )


def _of_tables(
    pairwise: Array | None, unary: Array, topology: Topology, swapped: np.ndarray
) -> tuple[Array, np.ndarray, None]:
    """Return tables `[..., t, k, k]`, and the number of the table of each edge.

    The rows of a table are the values of the edge's lower variable.
    """
    xp = namespace_of(unary)
    k = int(unary.shape[-1])
    e = topology.e
    if pairwise is None or (not e and 0 in pairwise.shape):  # an empty list has no other dimensions
        return (
            xp.zeros((0, k, k), dtype=unary.dtype, device=unary.device),
            np.zeros(0, np.int64),
            None,
        )
    if pairwise.ndim == 2:
        pairwise = pairwise[None, ...]
    _check_tables(tuple(pairwise.shape), k, topology)
    if hasattr(xp, "swapaxes"):
        turned = xp.swapaxes(pairwise, -1, -2)
    else:
        turned = xp.matrix_transpose(pairwise)
    if pairwise.shape[-3] == 1 != e:
        if not swapped.any():
            return pairwise, np.zeros(e, np.int64), None
        return xp.concat([pairwise, turned], axis=-3), swapped.astype(np.int64), None
    if swapped.any():
        pairwise = xp.where(beside(unary, swapped)[:, None, None], turned, pairwise)
    return pairwise, np.arange(e), None


def _flatten(
    cls: type[LabelProblem],
    unary: Array,
    tables: Array,
    table_of: np.ndarray,
    weights: Array | None,
    *,
    sizes: np.ndarray,
    topology: Topology,
    home: Home,
) -> LabelProblem:
    leads = [tuple(unary.shape[:-2]), tuple(tables.shape[:-3])]
    if weights is not None:
        leads.append(tuple(weights.shape[:-1]))
    try:
        leading = np.broadcast_shapes(*leads)
    except ValueError as error:
        raise ProblemError(
            f"the leading dimensions of unary and of the scores of pairs do not broadcast: {leads}"
        ) from error
    except RuntimeError as error:  # numpy allows only 32 or 64 dimensions
        raise ProblemError(
            f"unary has {unary.ndim} dimensions, and tables {tables.ndim}: {error}"
        ) from error
    batch = math.prod(leading)
    check_room(f"the batch {leading}", unary, batch * math.prod(unary.shape[-2:]))
    xp = namespace_of(unary)
    variables, values = unary.shape[-2:]
    flat = with_batch(xp.reshape(unary, (*unary.shape[:-2], variables * values)), leading)
    unary = xp.reshape(flat, (batch, *unary.shape[-2:]))
    tables = _once_or_batch(tables, 3, leading)
    if weights is not None:
        weights = _once_or_batch(weights, 1, leading)
    return cls(
        *_padded(unary, tables, table_of, sizes, topology),
        table_of,
        weights,
        sizes,
        topology,
        leading,
        home,
    )


def _once_or_batch(array: Array, axes: int, leading: tuple[int, ...]) -> Array:
    """Return `[1, ...]` if all instances share the array, else `[batch, ...]`."""
    xp = namespace_of(array)
    before = array.shape[:-axes]
    if math.prod(before) == 1 and math.prod(leading):
        return xp.reshape(array, (1, *array.shape[-axes:]))
    check_room(f"the batch {leading}", array, math.prod(leading) * math.prod(array.shape[-axes:]))
    array = xp.broadcast_to(array, (*leading, *array.shape[-axes:]))
    return xp.reshape(array, (math.prod(leading), *array.shape[-axes:]))


def _padded(
    unary: Array, tables: Array, table_of: np.ndarray, sizes: np.ndarray, topology: Topology
) -> tuple[Array, Array]:
    """Clear the scores of values that variables do not have.

    Values beyond a variable's size get minus infinity. Entries that no edge can use become zero in
    tables.

    Entries that are never scored must not count in `magnitude`, which determines the rounding and
    units of proofs.
    """
    k = int(unary.shape[-1])
    xp = namespace_of(unary)
    if len(table_of) and not tables.shape[1]:  # equal values, which have no tables
        table_of = table_of[:0]
    has = np.arange(k) < sizes[:, None]
    if not has.all():
        unary = xp.where(beside(unary, has), unary, xp.full_like(unary, -math.inf))
    if len(table_of):
        has &= to_numpy(xp.any(unary != -math.inf, axis=0))
    if len(table_of) and not has.all():
        i, j = topology.pairs.T
        within = np.zeros((tables.shape[1], k, k), bool)
        np.logical_or.at(within, table_of, has[i][:, :, None] & has[j][:, None, :])
        used = xp.where(beside(unary, within), tables, xp.zeros_like(tables))
        largest = _largest(xp.reshape(used, (*used.shape[:2], k**2)))
        # A table that several edges share, such as a metric, stays as it is, unless its unused
        # entries are large.
        if len(table_of) == tables.shape[1] or not bool(
            xp.all(xp.abs(tables) <= largest[..., None, None])
        ):
            tables = used
    return unary, tables


def _check_finite(problem: LabelProblem) -> None:
    """Raise if a score is nan or plus infinity, or if sums of scores might overflow.

    A variable without an allowed value is an error, too.
    """
    if problem.is_empty:
        return
    xp = namespace_of(problem.unary)
    named = [("unary", problem.unary), ("pairwise", problem.tables)]
    named += [(f"pairwise {edge}", table) for edge, table in enumerate(problem.edge_tables or ())]
    for name, array in named:
        if array.shape[1] and bool(xp.any(~(array < math.inf))):
            where = np.argwhere(~(to_numpy(array) < math.inf))[0].tolist()
            raise ProblemError(
                f"{name} {where} is nan or plus infinity; scores are finite, or minus infinity"
            )
    if bool(xp.any(xp.max(problem.unary, axis=-1) == -math.inf)):
        instance, i = np.argwhere(to_numpy(xp.max(problem.unary, axis=-1)) == -math.inf)[0].tolist()
        raise ProblemError(f"all values of variable {i} are forbidden in instance {instance}")
    with np.errstate(over="ignore"):  # the check below finds this
        largest = float(xp.max(problem.magnitude))
    if not largest <= LARGEST_MAGNITUDE:
        raise ProblemError(
            f"the absolute scores of an instance add up to {largest:.3g}, "
            f"more than {LARGEST_MAGNITUDE:.3g}: sums "
            "could overflow float64; divide all scores by a constant"
        )
