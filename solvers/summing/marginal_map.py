"""Marginal MAP: the most probable values of some variables, summed over all others."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..conversions import AnyConversion
from ..errors import InfeasibleError, OptionError, ProblemError, UnsupportedProblemError, shortened
from ..gibbs_distribution.estimate import ESTIMATES
from ..graph_breaks import between_graphs
from ..labels.problem import LabelProblem
from ..options import is_whole
from ..problems.problem import Problem
from .call import Exact, evidence_of, fixed_of, gibbs

MOST_STATES = 1 << 16
"""Maximum number of joint states of the variables that are maximised."""

TOGETHER = 1 << 10
"""Number of joint states whose sums are taken in one batch."""


@dataclass(frozen=True)
class MarginalMap:
    """The most probable values of some variables.

    Attributes:
        assignment: {variable: value}; by name for a conversion.
        log_probability: log p(assignment), in nats; given the evidence, if there is any.
        log_mass: log of the sum of exp(score) over all states that agree with the assignment and
            the evidence; for a conversion, of its own objective, as for `gibbs`.
        states: number of joint states that were compared.
    """

    assignment: Mapping[Hashable, Hashable] = field(hash=False)
    log_probability: float
    log_mass: float
    states: int


@between_graphs
def marginal_map(
    problem: Problem | LabelProblem | AnyConversion[Any],
    variables: Iterable[Hashable],
    *,
    fix: Any = None,
    method: Exact = "auto",
) -> MarginalMap:
    """Return the most probable values of some variables, with all others summed out.

    p(x) = exp(score(x)) / Z, as for `gibbs`. `solve` gives the most probable joint values of all
    variables, which may differ. Every joint state of the variables is compared, by exact sums over
    the others.

    Args:
        problem: one instance: a `Problem`, a `LabelProblem` or a conversion.
        variables: the variables to maximise: their numbers, or their names for a conversion.
        fix: evidence: variables that keep a value, as for `gibbs`. It is {i: value}, or `[n]` with
            -1 for a free variable; for a conversion it is {name: value}. All probabilities are
            then conditional on the evidence. A variable to maximise may have a value here, too.
        method: how exact sums are computed, as for `gibbs`.

    Raises:
        ProblemError: `problem` is not a problem, or is a batch.
        OptionError: a variable is unknown or occurs twice, the method is not one of exact sums, or
            `fix` does not fit the problem.
        UnsupportedProblemError: the variables have more than 65,536 joint states, or exact sums
            over the others are out of reach. Then maximise fewer variables.
        InfeasibleError: every assignment that agrees with the evidence is forbidden.

    Example:
        >>> from solvers import Problem, marginal_map, solve
        >>> pair = Problem.from_arrays([0.0, 0.0], [[0.0, 1.0], [0.0, 0.0]])
        >>> best = marginal_map(pair, [0])
        >>> best.assignment, round(best.log_probability, 4)
        ({0: 1}, -0.4304)
        >>> seen = marginal_map(pair, [0], fix={1: 1})
        >>> seen.assignment, round(seen.log_probability, 4)
        ({0: 1}, -0.3133)
    """
    way: Any = method
    if isinstance(way, str) and way in ESTIMATES:
        raise OptionError(f"method={method!r} gives no exact sums, which marginal MAP compares")
    inner: Any = problem
    total = None
    evidence = fix
    if isinstance(problem, AnyConversion):
        # This checks the conversion and the evidence, too.
        total = float(gibbs(problem, fix=fix, method=method).log_partition)
        inner = problem.problem
        evidence = evidence_of(problem, fix)
    if not isinstance(inner, Problem | LabelProblem):
        raise ProblemError(f"expected a problem or a conversion; got {shortened(problem)}")
    if inner.batch != 1:
        raise ProblemError(
            f"the problem is a batch of {inner.batch}; pass one instance, problem.instances(...)"
        )
    if not isinstance(variables, Iterable):
        raise OptionError(f"variables must be a list of variables; got {shortened(variables)}")
    places = _places(problem, inner, list(variables))
    fixed = fixed_of(inner, evidence)
    whole = float(np.ravel(to_numpy(_sums(inner, fixed or None, method)))[0])
    best, mass, count = _best(inner, places, fixed, method)
    if mass == -math.inf:
        raise InfeasibleError()
    log_probability = mass - whole
    if total is not None:
        mass = total + log_probability
    return MarginalMap(_assignment(problem, places, best), log_probability, mass, count)


def _places(problem: Any, inner: Any, variables: list[Any]) -> list[int]:
    """Return the places of variables.

    Raises:
        OptionError: a variable is unknown or occurs twice.
    """
    if isinstance(problem, AnyConversion):
        for name in variables:
            if name not in problem.places:
                raise OptionError(f"{shortened(name)} is no variable of the conversion")
        places = [problem.places[name] for name in variables]
    else:
        for variable in variables:
            if not is_whole(variable, 0, inner.n - 1):
                raise OptionError(f"{shortened(variable)} is no variable of 0 to {inner.n - 1}")
        places = [int(variable) for variable in variables]
    if len(set(places)) < len(places):
        raise OptionError(f"a variable comes twice in {shortened(variables)}")
    return places


def _best(
    inner: Any, places: list[int], fixed: Mapping[int, int], method: Any
) -> tuple[tuple[int, ...], float, int]:
    """Return the best values of variables, the log of their sum, and how many were compared."""
    sizes = inner.sizes.tolist()
    choices: list[Sequence[int]] = []
    for place in places:
        if place in fixed:
            choices.append((fixed[place],))
        else:
            choices.append(range(sizes[place]))
    count = math.prod(map(len, choices))
    if count > MOST_STATES:
        raise UnsupportedProblemError(
            "marginal_map",
            (
                f"the {len(places)} variables have {count:,} joint states, more than "
                f"{MOST_STATES:,}; maximise fewer variables, or all of them together with solve",
            ),
        )
    best: tuple[int, ...] = ()
    most = -math.inf
    states = product(*choices)
    # In chunks, so that the memory does not grow with the number of joint states.
    while chunk := list(islice(states, TOGETHER)):
        fix = np.full((len(chunk), inner.n), -1)
        fix[:, list(fixed)] = list(fixed.values())
        fix[:, places] = chunk
        masses = _masses(inner, fix, method)
        first = int(masses.argmax())
        # All masses may be -inf, and some state has to be returned.
        if masses[first] > most or not best:
            most = float(masses[first])
            best = chunk[first]
    return best, most, count


def _masses(inner: Any, fix: np.ndarray, method: Any) -> np.ndarray:
    """Return `[chunk]`, the log of the sum over all states that agree with each row of `fix`."""
    batch = inner.to_host().instances(np.zeros(len(fix), np.int64))
    try:
        return to_numpy(_sums(batch, fix, method)).reshape(-1)
    except InfeasibleError:  # some joint states are forbidden
        if len(fix) == 1:
            return np.array([-math.inf])
    return np.concatenate([_masses(inner, row[None], method) for row in fix])


def _sums(problem: Any, fix: Any, method: Any) -> Any:
    """Return log Z of every instance over the states that agree with `fix`."""
    return gibbs(problem, fix=fix, method=method).log_partition


def _assignment(
    problem: Any, places: list[int], values: tuple[int, ...]
) -> dict[Hashable, Hashable]:
    """Return the values of variables, by the names of a conversion."""
    if not isinstance(problem, AnyConversion):
        return dict(zip(places, values, strict=True))
    words = {}
    for place, value in zip(places, values, strict=True):
        words[problem.names[place]] = problem.values_of(place)[value]
    return words
