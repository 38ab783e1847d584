"""Define a batch of pairwise binary problems, the form that every solver takes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from ..arrays import (
    NUMPY,
    Array,
    ArrayLike,
    ArrayOf,
    ArrayT,
    GivenT,
    Home,
    Pairwise,
    Scores,
    States,
    Unary,
    as_array,
    as_float64,
    beside,
    check_integers,
    check_room,
    home_of,
    is_sparse,
    namespace_of,
    to_numpy,
)
from ..errors import ProblemError, SolverError, shortened
from ..kept import kept
from . import pairs
from .any_problem import AnyProblem, units_of
from .topology import Topology, ends

if TYPE_CHECKING:
    from jaxtyping import Float

DOUBLE = np.dtype(np.float64)

BLOCK = 1 << 18
"""Pairwise scores that are summed at a time on the host: 2 MiB in double precision."""

EPSILON = float(np.finfo(np.float64).eps)
"""The distance from 1 to the next larger float64."""

LARGEST_MAGNITUDE = float(np.finfo(np.float64).max) / 4
"""Largest sum of magnitudes, since solvers add up twice the scores and some capacities."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Problem(AnyProblem[ArrayT]):
    """Checked batch of pairwise binary problems over the same edges.

    score(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j,  z in {0,1}^n,  maximised.

    Build one with `Problem.from_arrays`; `solvers.conversions` makes one from other conventions.
    The coefficients are numpy arrays if the caller's are on the host; otherwise they are arrays on
    the caller's device. They may share memory with the caller's arrays, which must not change while
    the problem is in use.

    Attributes:
        unary: `[batch, n]`, float32 or float64.
        pairwise: `[batch, e]`, of the same type.
        topology: the pairs, in the order of `pairwise`.
        leading: the caller's leading dimensions; their product is `batch`.
        home: the library and device that answers go back to.

    Example:
        >>> problem = Problem.from_arrays([1.0, -2.0], [[0.0, 3.0], [0.0, 0.0]])
        >>> float(problem.score([1, 1]))
        2.0
    """

    kind: ClassVar[str] = "bits"

    unary: Float[np.ndarray | ArrayT, "batch n"]
    pairwise: Float[np.ndarray | ArrayT, "batch e"]
    topology: Topology
    leading: tuple[int, ...]
    home: Home[ArrayT]

    def __init__(
        self,
        unary: Any,
        pairwise: Any,
        topology: Topology,
        leading: tuple[int, ...],
        home: Home[ArrayT],
    ) -> None:
        """Store checked arrays; see `from_arrays`."""
        # Assigning through __dict__ takes a third of the time of a frozen dataclass.
        fields = self.__dict__
        fields["unary"] = unary
        fields["pairwise"] = pairwise
        fields["topology"] = topology
        fields["leading"] = leading
        fields["home"] = home
        fields["batch"], fields["n"] = unary.shape  # these are read many times in a call
        fields["e"] = topology.e

    @overload
    @classmethod
    def from_arrays(
        cls, unary: ArrayLike, pairwise: ArrayLike | None = None, *, edges: Any = None
    ) -> Problem[np.ndarray]: ...

    @overload
    @classmethod
    def from_arrays(
        cls, unary: ArrayOf[GivenT], pairwise: ArrayOf[GivenT] | None = None, *, edges: Any = None
    ) -> Problem[GivenT]: ...

    @classmethod
    def from_arrays(cls, unary: Any, pairwise: Any = None, *, edges: Any = None) -> Problem:
        """Check and flatten the caller's arrays.

        Args:
            unary: `[..., n]`, the score of each variable if it is 1.
            pairwise: None; or `[..., n, n]`, upper triangular or symmetric with a zero diagonal
                (entry (i, j) is the score if both variables are 1, counted once); or a sparse
                matrix of scipy, `[n, n]`, of the same form; or, with `edges`, `[..., e]`. Leading
                dimensions broadcast against those of `unary`.
            edges: `[e, 2]` integers, the pair of each pairwise score; shared by the batch.

        Raises:
            ProblemError: shapes do not match, arrays are empty or not finite, a pairwise matrix has
                another form, or edges repeat, loop or lie outside 0..n-1.
            ProblemTooLargeError: the scores do not fit into memory.
        """
        if pairwise is None and edges is not None:
            as_array(unary, "unary")
            raise ProblemError("edges were passed without pairwise; pass pairwise [..., e] too")
        if is_sparse(pairwise) and edges is None:
            unary = as_array(unary, "unary")
            _check_unary(unary)
            n = unary.shape[-1]
            pairs.check_square(tuple(pairwise.shape), n, tuple(unary.shape[:-1]))
            pairwise, edges = pairs.from_sparse(pairwise)
        return cls._checked(unary, pairwise, partial(_weights, edges=edges))

    @classmethod
    def over(cls, topology: Topology, unary: Any, pairwise: Any) -> Problem:
        """Return the problem of `from_arrays` for these scores and the edges of `topology`.

        Args:
            topology: the pairs of as many variables as `unary` has.
            unary: `[..., n]`.
            pairwise: `[..., e]`; leading dimensions broadcast.

        Raises:
            ProblemError: shapes do not match, or arrays are empty or not finite.
            ProblemTooLargeError: the scores do not fit into memory.
        """
        return cls._checked(unary, pairwise, partial(_weights_over, topology=topology))

    @classmethod
    def _checked(
        cls, unary: Any, pairwise: Any, weights: Callable[..., tuple[Array, Topology]]
    ) -> Problem:
        """Check and flatten; `weights` reads pairwise scores `[..., e]` and pairs from arrays."""
        _check_models(unary)
        _check_names(unary, pairwise)
        arrays = {"unary": as_array(unary, "unary")}
        if pairwise is not None:
            arrays["pairwise"] = as_array(pairwise, "pairwise")
        home = home_of(*arrays.values())
        scores = as_floats(arrays, home)
        _check_unary(scores["unary"])
        try:
            problem = cls(*_flatten(scores["unary"], *weights(scores)), home)
            _check_magnitude(problem)
        except SolverError:
            if fault := _not_finite(scores):  # this fault is reported before all others
                raise fault from None
            raise
        return problem

    @kept
    def batch(self) -> int:
        """Number of instances."""
        return int(self.unary.shape[0])

    @kept
    def n(self) -> int:
        """Number of binary variables of an instance."""
        return int(self.unary.shape[1])

    @kept
    def sizes(self) -> np.ndarray:
        """Number of values of each variable, `[n]`: 2, as for a `LabelProblem` over bits."""
        return np.full(self.n, 2)

    @kept
    def magnitude(self) -> Float[np.ndarray | ArrayT, "batch"]:
        """The sums of absolute coefficients `[batch]`, float64, upper bounds on the scores."""
        if isinstance(self.unary, np.ndarray):
            magnitude: np.ndarray = self._survey[0][0]
            return magnitude
        total: np.ndarray | ArrayT = _absolute_sum(self.unary)
        if self.e:
            total = total + _absolute_sum(self.pairwise)
        return total

    @kept
    def positive_part(self) -> Scores:
        """The sums of the positive coefficients `[batch]`, float64, upper bounds on the scores."""
        xp = namespace_of(self.unary)
        if isinstance(self.unary, np.ndarray) and self.batch * self.e > BLOCK:
            unary = np.maximum(as_float64(self.unary), 0.0).sum(axis=-1)
            return unary + self._in_blocks(lambda weights, *_: np.maximum(weights, 0.0))
        parts = [xp.where(a > 0, a, a * 0) for a in map(as_float64, (self.unary, self.pairwise))]
        return xp.sum(parts[0], axis=-1) + xp.sum(parts[1], axis=-1)

    @kept
    def rounding_of_sums(self) -> Scores:
        """Maximum rounding error of sums of real numbers of this size, `[batch]`."""
        if isinstance(self.unary, np.ndarray):
            return self._survey[0][1]
        return self._share_of_rounding * self.magnitude

    @property
    def _share_of_rounding(self) -> float:
        """The error of a sum, as a share of its magnitude."""
        return 2 * EPSILON * (self.n + self.e + 1)

    @kept
    def _survey(self) -> tuple[np.ndarray, float, float, bool]:
        """The magnitudes and checks of a host problem's scores, by `problem_checks.survey_of`."""
        survey: tuple[np.ndarray, float, float, bool] = _checks().survey_of(
            self.unary, self.pairwise, self._share_of_rounding
        )
        # Store what callers read next.
        fields = self.__dict__
        fields["_lowest"] = survey[2]
        if not survey[3]:
            rounding = survey[0][1]
            fields["rounding"] = rounding
            fields["tolerance"] = rounding  # the same object, by which solvers see that they agree
        return survey

    @kept
    def _units(self) -> np.ndarray | None:
        """The result of `resolutions` for these scores."""
        if isinstance(self.unary, np.ndarray):
            if not self._survey[3]:
                return None
        elif self.batch * (self.n + self.e) > BLOCK:
            return None  # the scores are on a device, and copying them takes too long
        unary, pairwise, magnitude = map(to_numpy, (self.unary, self.pairwise, self.magnitude))
        return units_of(unary, pairwise, magnitude, self._share_of_rounding)

    def as_real_numbers(self) -> Self:
        """Return this problem, whose scores count as real numbers from now on.

        It is for scores that were rounded to whole multiples of a unit. This unit does not limit
        the difference of two scores, so `tolerance` is `rounding`.
        """
        self.__dict__["_units"] = None
        return self

    @property
    def trivial_bound(self) -> Scores:
        """Upper bounds `[batch]` on all scores, without a search."""
        return self.positive_part

    def scale(self, bits: int) -> float:
        """Return a power of two that scales a host problem down to scores of at most 2^bits."""
        return float(np.ldexp(1.0, int(np.frexp(self.magnitude.max())[1]) - bits))

    def score(self, z: Any) -> ArrayT:
        """Return the score of each assignment, summed in float64.

        Args:
            z: `[..., n]` of zeros and ones, with this problem's leading dimensions.

        Returns:
            `[...]`, float64, of the caller's kind.

        Raises:
            ProblemError: `z` has another shape, or other numbers.
        """
        z = as_array(z, "z")
        expected = (*self.leading, self.n)
        if tuple(z.shape) != expected:
            raise ProblemError(f"z must have the shape {expected}; its shape is {tuple(z.shape)}")
        _check_real("z", z)
        on_host = isinstance(self.unary, np.ndarray)
        if not on_host and isinstance(z, np.ndarray) and z.dtype.kind == "f":
            z = z.astype(np.float64)  # a type that every library has
        if on_host:
            flat = to_numpy(z)
        else:
            flat = self.home.place(z)
        home_of(self.unary, flat)
        xp = namespace_of(flat)
        # The array API standard does not compare booleans with numbers.
        if not xp.isdtype(flat.dtype, "bool") and not bool(xp.all((flat == 0) | (flat == 1))):
            raise ProblemError(f"z must contain only zeros and ones; got {shortened(z)}")
        return self.restore(self.score_flat(xp.reshape(flat, (self.batch, self.n))))

    def score_flat(self, z: States) -> Scores:
        """Return the float64 scores `[batch]` of assignments `[batch, n]` on this device."""
        xp = namespace_of(self.unary)
        state = as_float64(z)
        total = xp.sum(as_float64(self.unary) * state, axis=-1)
        if not self.e:
            return total
        if isinstance(self.unary, np.ndarray) and self.batch * self.e > BLOCK:
            return total + self._in_blocks(
                lambda weights, i, j: weights * state[:, i] * state[:, j]
            )
        first, second = (beside(self.unary, end) for end in self.topology.recall(ends))
        both = xp.take(state, first, axis=-1) * xp.take(state, second, axis=-1)
        return total + xp.sum(as_float64(self.pairwise) * both, axis=-1)

    def _in_blocks(self, term: Callable[..., np.ndarray]) -> np.ndarray:
        """Return the sums `[batch]` of `term(pairwise, first, second)` over edges on the host.

        It sums a block at a time, whose terms fit into memory that is already allocated.
        """
        total = np.zeros(self.batch)
        step = max(1, BLOCK // self.batch)
        for start in range(0, self.e, step):
            block = slice(start, start + step)
            weights = np.asarray(self.pairwise)[:, block].astype(np.float64)
            total += term(weights, *self.topology.pairs[block].T).sum(axis=-1)
        return total

    def columns(self, z: States) -> States:
        """Return the columns `[batch, n]` of linear constraints, which are the states."""
        return z

    def instances(self, rows: slice | np.ndarray) -> Problem[ArrayT]:
        """Return a selection of the instances as a batch with one leading dimension.

        `rows` is a slice or, on the host, the numbers of the instances.
        """
        # The array API standard requires an index for every axis.
        unary = self.unary[rows, :]
        pairwise = self.pairwise[rows, :]
        return replace(self, unary=unary, pairwise=pairwise, leading=(unary.shape[0],))

    def copied(self) -> Problem[ArrayT]:
        """Return this problem with copied coefficients, independent of the caller's arrays."""
        xp = namespace_of(self.unary)
        unary, pairwise = (xp.asarray(array, copy=True) for array in (self.unary, self.pairwise))
        return replace(self, unary=unary, pairwise=pairwise)

    def to_host(self) -> Problem[ArrayT]:
        """Return this problem with numpy coefficients; answers still go to the caller's device."""
        if isinstance(self.unary, np.ndarray):
            return self  # keeps the attributes that it has computed already
        return replace(self, unary=to_numpy(self.unary), pairwise=to_numpy(self.pairwise))

    def negative_pair(self) -> tuple[int, int, int, float] | None:
        """Return (instance, i, j, score) of the lowest negative pairwise score, or None."""
        if self.is_supermodular:
            return None
        weights = to_numpy(self.pairwise)
        instance, edge = np.unravel_index(np.argmin(weights), weights.shape)
        i, j = self.topology.pairs[edge]
        return int(instance), int(i), int(j), float(weights[instance, edge])

    @kept
    def is_supermodular(self) -> bool:
        """Whether no pairwise score is negative."""
        return not self.e or self._lowest >= 0

    @kept
    def _lowest(self) -> float:
        """The lowest pairwise score."""
        if isinstance(self.pairwise, np.ndarray):
            return self._survey[2]
        return float(namespace_of(self.pairwise).min(self.pairwise))


@cache
def _checks() -> Any:
    return importlib.import_module("..compiled.problem_checks", __package__)


def _absolute_sum(scores: Array) -> Any:
    """Return the sums `[batch]` of absolute `scores [batch, m]` on a device, float64."""
    xp = namespace_of(scores)
    return xp.sum(xp.abs(as_float64(scores)), axis=-1)


def _check_magnitude(problem: Problem) -> None:
    """Raise if scores are not finite, or so large that their sums might not be."""
    if problem.is_empty:
        return
    if isinstance(problem.unary, np.ndarray):
        largest = problem._survey[1]
    else:
        largest = float(namespace_of(problem.magnitude).max(problem.magnitude))
    # NaN compares false, so the negation reports it as well.
    if not largest <= LARGEST_MAGNITUDE:
        raise ProblemError(
            f"the absolute scores of an instance add up to {largest:.3g}, more than "
            f"{LARGEST_MAGNITUDE:.3g}: sums could overflow float64; divide all scores by a "
            "constant"
        )


def as_floats(arrays: dict[str, Array], home: Home) -> dict[str, Array]:
    """Return all arrays in float32 if that suffices, else float64; as numpy arrays on the host."""
    if home is NUMPY:
        for array in arrays.values():
            if array.dtype is not DOUBLE:
                break
        else:
            return arrays
    xp = home.namespace
    single = True
    for name, array in arrays.items():
        _check_real(name, array)
        check_integers(name, array)
        single &= xp.isdtype(array.dtype, "real floating") and xp.finfo(array.dtype).bits <= 32
    if single:
        dtype = xp.float32
    else:
        dtype = xp.float64
    with np.errstate(over="ignore"):  # overflow of a longer type is reported later
        cast = {name: xp.astype(array, dtype, copy=False) for name, array in arrays.items()}
    if home.on_host:
        return {name: to_numpy(array) for name, array in cast.items()}
    return cast


def _check_real(name: str, array: Array) -> None:
    kinds = ("bool", "integral", "real floating")
    if isinstance(array, np.ndarray):  # numpy's isdtype does not take all of numpy's types
        is_real = array.dtype.kind in "biuf"
    else:
        is_real = namespace_of(array).isdtype(array.dtype, kinds)
    if not is_real:
        raise ProblemError(f"{name} must contain real numbers; its type is {array.dtype}")


def _check_models(unary: object) -> None:
    """Raise for a model of another library, with the call that reads it."""
    if type(unary) in (np.ndarray, list, tuple):  # most calls
        return
    call = ""
    if isinstance(unary, Mapping):
        call = "from_qubo"
    elif hasattr(unary, "nodes") and hasattr(unary, "edges"):
        call = "from_networkx"
    elif hasattr(unary, "vs") and hasattr(unary, "es"):
        call = "from_igraph"
    elif hasattr(unary, "vartype") or hasattr(unary, "constraints"):
        call = "from_dimod"
    if call:
        raise ProblemError(
            f"unary must be an array of scores; got {shortened(unary)}. For a "
            f"{type(unary).__name__} pass solvers.conversions.{call}(...)"
        )


def _check_names(unary: Any, pairwise: Any) -> None:
    """Raise for a column and a table of pandas whose names are in different orders."""
    if type(unary) is np.ndarray or not hasattr(pairwise, "columns"):  # most calls
        return
    if not hasattr(unary, "to_numpy") or not hasattr(unary, "index"):
        return
    names = list(unary.index)
    columns = list(pairwise.columns)
    if names != columns and set(names) == set(columns):
        raise ProblemError(
            "unary and pairwise have the same names in different orders; pass unary[names] and "
            "pairwise.loc[names, names] with one list of names, or a DataFrame to "
            "solvers.conversions.from_qubo, which keeps names"
        )


def _check_unary(unary: Array) -> None:
    shape = unary.shape
    if not shape:
        raise ProblemError(f"unary must be [..., n]; its shape is {tuple(shape)}")


def _not_finite(scores: dict[str, Array]) -> ProblemError | None:
    """Return the error that names the first score that is not finite; None if all are finite."""
    for name, array in scores.items():
        values = to_numpy(array)
        if not (finite := np.isfinite(values)).all():
            where = tuple(np.argwhere(~finite)[0].tolist())
            return ProblemError(f"{name}{list(where)} is {values[where]}; scores must be finite")
    return None


def _weights(scores: dict[str, Array], edges: Any) -> tuple[Array, Topology]:
    unary = scores["unary"]
    n = unary.shape[-1]
    if "pairwise" not in scores:
        return unary[..., :0], Topology(n, np.empty((0, 2), np.int64))
    if edges is None:
        return pairs.from_matrix(scores["pairwise"], n, tuple(unary.shape[:-1]))
    return pairs.from_edges(scores["pairwise"], edges, n, tuple(unary.shape[:-1]))


def _weights_over(scores: dict[str, Array], topology: Topology) -> tuple[Array, Topology]:
    unary = scores["unary"]
    if unary.shape[-1] != topology.n:
        raise ProblemError(
            f"unary must be [..., {topology.n}] as prepared; its shape is {tuple(unary.shape)}"
        )
    if "pairwise" in scores:
        weights = scores["pairwise"]
    else:
        weights = unary[..., :0]
    pairs.check_length(weights, topology.e)
    return weights, topology


def _flatten(
    unary: Array, weights: Array, topology: Topology
) -> tuple[Unary, Pairwise, Topology, tuple[int, ...]]:
    if unary.ndim == weights.ndim == 1:
        return unary[None, ...], weights[None, ...], topology, ()
    if unary.ndim == weights.ndim == 2 and unary.shape[0] == weights.shape[0]:
        return unary, weights, topology, (int(unary.shape[0]),)
    shapes = tuple(unary.shape), tuple(weights.shape)
    try:
        leading = np.broadcast_shapes(shapes[0][:-1], shapes[1][:-1])
    except ValueError as error:
        raise ProblemError(
            f"the leading dimensions of unary {shapes[0]} and of the pairwise scores {shapes[1]} "
            "do not broadcast"
        ) from error
    except RuntimeError as error:  # numpy raises it for more than 32 or 64 dimensions
        raise ProblemError(
            f"unary has {unary.ndim} dimensions, and pairwise scores {weights.ndim}: {error}"
        ) from error
    check_room(f"the batch {leading}", unary, math.prod(leading) * (shapes[0][-1] + shapes[1][-1]))
    unary, weights = (with_batch(array, leading) for array in (unary, weights))
    return unary, weights, topology, leading


def with_batch(array: Array, leading: tuple[int, ...]) -> Array:
    """Return `array [..., m]`, broadcast to the leading dimensions, as `[batch, m]`."""
    xp = namespace_of(array)
    if tuple(array.shape[:-1]) != leading:
        array = xp.broadcast_to(array, (*leading, array.shape[-1]))
    return xp.reshape(array, (math.prod(leading), array.shape[-1]))
