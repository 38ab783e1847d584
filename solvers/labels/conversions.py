"""Label problems from sums of factors of any scope, with the way back to names and to the original objective."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from ..arrays import as_array, to_numpy
from ..conversions.answer import Answer
from ..conversions.conversion import Sense
from ..errors import OptionError, ProblemError, shortened
from ..options import is_whole
from ..solution import Solution
from .problem import LabelProblem

Factor: TypeAlias = tuple[Sequence[int], np.ndarray]
"""The variables of a factor, and its table, an axis for each."""

MOST_VALUES = 1 << 30
"""Of a variable."""

MOST_TUPLES = 4096
"""Of a factor of three variables or more, that a variable of their own may stand for."""


@dataclass(frozen=True, eq=False)
class LabelConversion:
    """A label problem that came from another convention, and the way back.

    original objective(x) = constant + sign * score(x)

    Attributes:
        problem: what to solve; behind the original's variables come those that stand for factors of three or more.
        sign: 1 where the original is maximised, -1 where it is minimised.
        constant: the original objective of a score of zero.
        names: what the original calls each of its variables.
        values: what it calls the values of each.

    Example:
        >>> from solvers.labels import solve
        >>> vote = from_factors([2, 3], [((0, 1), np.arange(6.0).reshape(2, 3))], names=["coat", "shoe"])
        >>> answer = solve(vote)
        >>> answer.assignment, answer.value, answer.optimal
        ({'coat': 1, 'shoe': 2}, 5.0, True)
    """

    problem: LabelProblem[np.ndarray]
    sign: int
    constant: float
    names: Sequence[Hashable]
    values: Sequence[Sequence[Hashable]]

    def value(self, score: Any) -> Any:
        """The original objective of assignments with these scores: numbers or arrays of any kind."""
        return self.constant + self.sign * score

    def score(self, value: Any) -> Any:
        """The score of assignments with these original objectives; undoes `value`."""
        return self.sign * (value - self.constant)

    def assignment(self, labels: Any) -> dict[Hashable, Hashable]:
        """The original's name of the value of each of its variables.

        Args:
            labels: `[n]` integers, or more behind them.

        Raises:
            ProblemError: `labels` has another shape, or values that a variable does not have.
        """
        given = to_numpy(as_array(labels, "labels"))
        if given.shape not in ((len(self.names),), (self.problem.n,)):
            raise ProblemError(f"labels must be [{self.problem.n}]; their shape is {given.shape}")
        own = given[: len(self.names)]
        if own.dtype.kind not in "iu" or not ((own >= 0) & (own < self.problem.sizes[: len(own)])).all():
            raise ProblemError(f"labels must be values of their variables; got {shortened(labels)}")
        return {
            name: values[a] for name, values, a in zip(self.names, self.values, own.tolist(), strict=True)
        }

    def labels(self, assignment: Mapping[Hashable, Hashable]) -> dict[int, int]:
        """{variable: value} by the original's names; undoes `assignment`, for `fix`.

        Raises:
            OptionError: a name that is none, or a value that the variable does not have.
        """
        if not isinstance(assignment, Mapping):
            raise OptionError(f"values by name are a dict of names; got {shortened(assignment)}")
        place = {name: i for i, name in enumerate(self.names)}
        found = {}
        for name, value in assignment.items():
            if name not in place:
                raise OptionError(
                    f"{shortened(name)} is no variable; the first one is {shortened(self.names[0])}"
                )
            values = list(self.values[place[name]])
            if value not in values:
                raise OptionError(
                    f"{shortened(name)} cannot be {shortened(value)}; it is one of {shortened(values)}"
                )
            found[place[name]] = values.index(value)
        return found

    def answer(self, solution: Solution[np.ndarray]) -> Answer:
        """A solution of `problem` in the words of the original."""
        labels, score, bound = (
            part.reshape(-1) for part in (solution.labels, solution.score, solution.bound)
        )
        return Answer(
            self.assignment(labels),
            float(self.value(score[0])),
            float(self.value(bound[0])),
            bool(solution.optimal.reshape(-1)[0]),
            solution,
        )


def from_factors(
    sizes: Sequence[int],
    factors: Iterable[Factor],
    *,
    sense: Sense = "maximise",
    constant: float = 0.0,
    names: Sequence[Hashable] | None = None,
    values: Sequence[Sequence[Hashable]] | None = None,
) -> LabelConversion:
    """The problem of a sum of factors, each a table over some of the variables.

    Factors of one scope are added up. One of three variables or more gets a variable of its own, whose values are
    the allowed tuples, and which forbids all values that are not those of its tuple: the same maxima, and the same
    sums.

    Args:
        sizes: `[n]`, how many values each variable has.
        factors: scopes and tables `[sizes of the scope]`; minus infinity (plus infinity, where the sum is minimised)
            forbids a tuple.
        sense: what is done with the sum.
        constant: added to it.
        names: of the variables; 0 to n - 1 without.
        values: names of the values of each variable; 0 to size - 1 without.

    Raises:
        ProblemError: a table that does not have the shape of its scope, a scope that repeats a variable, a factor of
            three variables or more that allows more than 4,096 tuples, or what `LabelProblem.from_arrays` refuses.
        OptionError: `sense` is neither word.
    """
    if not isinstance(sense, str) or sense not in ("maximise", "minimise"):
        raise OptionError(f"sense must be 'minimise' or 'maximise'; got {shortened(sense)}")
    constant = _finite(constant)
    sign = 1 if sense == "maximise" else -1
    total = _Sum(_sizes(sizes))
    for number, (scope, table) in enumerate(_pairs(factors)):
        total.add(number, scope, sign * table)
    if not math.isfinite(total.constant):
        raise ProblemError(f"the constant terms add up to {total.constant}; every assignment is forbidden")
    names = range(len(sizes)) if names is None else names
    values = [range(size) for size in sizes] if values is None else values
    if len(names) != len(sizes) or [len(own) for own in values] != list(sizes):
        raise ProblemError(f"names and values must be those of {len(sizes)} variables and of their values")
    return LabelConversion(total.problem(), sign, constant + sign * total.constant, names, values)


def _finite(constant: Any) -> float:
    try:
        if isinstance(constant, Real) and math.isfinite(constant):
            return float(constant)
    except OverflowError:  # a whole number beyond all floats
        pass
    raise ProblemError(f"constant must be a finite number; got {shortened(constant)}")


def _sizes(sizes: Any) -> list[int]:
    try:
        given = list(sizes)
    except TypeError:
        given = []
    if not given or not all(is_whole(size, 1, MOST_VALUES) for size in given):
        raise ProblemError(f"sizes must be the numbers of values of the variables; got {shortened(sizes)}")
    return [int(size) for size in given]


def _pairs(factors: Any) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Scopes and float64 tables, checked but for their shapes."""
    try:
        given = list(factors)
    except TypeError as error:
        raise ProblemError(
            f"factors must be pairs of a scope and a table; got {shortened(factors)}"
        ) from error
    for number, factor in enumerate(given):
        try:
            scope, table = factor
            whole = tuple(scope)
        except (TypeError, ValueError) as error:
            raise ProblemError(
                f"factor {number} must be a scope and a table; got {shortened(factor)}"
            ) from error
        if not all(is_whole(variable, 0) for variable in whole):
            raise ProblemError(f"the scope of factor {number} must be variables; got {shortened(scope)}")
        array = to_numpy(as_array(table, f"the table of factor {number}"))
        if array.dtype.kind not in "biuf" or np.isnan(array).any():
            raise ProblemError(f"the table of factor {number} must be numbers; got {shortened(table)}")
        yield tuple(map(int, whole)), array.astype(np.float64)


class _Sum:
    """Factors, added up by scope."""

    def __init__(self, sizes: list[int]):
        self.given, self.sizes, self.constant = len(sizes), list(sizes), 0.0
        self._unary: dict[int, np.ndarray] = {}
        self._pairs: dict[tuple[int, int], np.ndarray] = {}

    def add(self, number: int, scope: tuple[int, ...], table: np.ndarray) -> None:
        """A factor of scores."""
        if len(set(scope)) < len(scope) or not all(0 <= v < self.given for v in scope):
            raise ProblemError(
                f"the scope of factor {number} is {scope}; variables are 0..{self.given - 1}, each once"
            )
        shape = tuple(self.sizes[v] for v in scope)
        if table.shape != shape:
            raise ProblemError(
                f"the table of factor {number} must have the shape {shape}; its shape is {table.shape}"
            )
        if len(scope) == 0:
            self.constant += float(table)
        elif len(scope) == 1:
            self._unary[scope[0]] = self._unary.get(scope[0], 0.0) + table
        elif len(scope) == 2:
            self._add_pair(scope, table)
        else:
            self._add_tuples(number, scope, table)

    def _add_pair(self, scope: tuple[int, ...], table: np.ndarray) -> None:
        i, j = scope
        if i > j:
            i, j, table = j, i, table.T
        self._pairs[i, j] = self._pairs.get((i, j), 0.0) + table

    def _add_tuples(self, number: int, scope: tuple[int, ...], table: np.ndarray) -> None:
        """A variable whose values are the tuples that are not forbidden."""
        allowed = np.argwhere(table > -np.inf)
        if not 0 < len(allowed) <= MOST_TUPLES:
            raise ProblemError(
                f"factor {number} has {len(scope)} variables and allows {len(allowed)} of their tuples; one of three "
                f"or more variables may allow 1 to {MOST_TUPLES}"
            )
        own = len(self.sizes)
        self.sizes.append(len(allowed))
        self._unary[own] = table[tuple(allowed.T)]
        for place, v in enumerate(scope):
            agree = allowed[:, place] == np.arange(self.sizes[v])[:, None]
            self._pairs[v, own] = np.where(agree, 0.0, -np.inf)

    def problem(self) -> LabelProblem[np.ndarray]:
        """All of it as arrays."""
        n, k = len(self.sizes), max(self.sizes, default=0)
        unary = np.full((n, k), -np.inf)
        for v, size in enumerate(self.sizes):
            unary[v, :size] = self._unary.get(v, 0.0)
        if not self._pairs:
            return LabelProblem.from_arrays(unary, sizes=self.sizes)
        pairwise = np.zeros((len(self._pairs), k, k))
        for edge, ((i, j), table) in enumerate(self._pairs.items()):
            pairwise[edge, : self.sizes[i], : self.sizes[j]] = table
        return LabelProblem.from_arrays(unary, pairwise, edges=list(self._pairs), sizes=self.sizes)


def from_pgmpy(model: Any, evidence: Mapping[Hashable, Hashable] | None = None) -> LabelConversion:
    """The sum of the logarithms of a pgmpy model's factors or conditional probabilities, maximised.

    Its argmax is the most probable explanation, and `gibbs` of its problem has the exact posterior.

    Args:
        model: a `DiscreteMarkovNetwork`, `FactorGraph`, `JunctionTree` or `DiscreteBayesianNetwork`.
        evidence: values that were observed, by the model's names.

    Raises:
        ProblemError: `model` is none of these, or has a factor that is no table.
    """
    factors = _tables_of(model)
    names: dict[Hashable, list[Hashable]] = {}
    for factor in factors:
        for name in factor.variables:
            names.setdefault(name, list(factor.state_names[name]))
    place = {name: i for i, name in enumerate(names)}
    sizes = [len(values) for values in names.values()]
    tables = [_reordered(factor, place, names) for factor in factors]
    conversion = from_factors(sizes, tables, names=list(names), values=list(names.values()))
    if not evidence:
        return conversion
    kept = ((i, np.arange(sizes[i]) == value) for i, value in conversion.labels(evidence).items())
    observed = [((i,), np.where(keep, 0.0, -np.inf)) for i, keep in kept]
    return from_factors(sizes, [*tables, *observed], names=list(names), values=list(names.values()))


def _tables_of(model: Any) -> list[Any]:
    """A pgmpy model's factors, each a table."""
    if hasattr(model, "get_cpds"):
        return [cpd.to_factor() for cpd in model.get_cpds()]
    if hasattr(model, "get_factors"):
        return list(model.get_factors())
    raise ProblemError(
        f"expected a pgmpy model with factors or conditional probabilities; got {shortened(model)}"
    )


def _reordered(
    factor: Any, place: Mapping[Hashable, int], names: Mapping[Hashable, list[Hashable]]
) -> Factor:
    """Places and logarithms of a factor's table, whose values come in the order of `names`."""
    table = np.asarray(factor.values, np.float64)
    for axis, name in enumerate(factor.variables):
        own = list(factor.state_names[name])
        table = np.take(table, [own.index(value) for value in names[name]], axis=axis)
    with np.errstate(divide="ignore"):
        return [place[name] for name in factor.variables], np.log(table)
