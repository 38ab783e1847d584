"""Terms of -score(z) under the names of a caller."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ..errors import ProblemError, shortened
from ..problems.any_problem import check_kind
from ..problems.problem import Problem
from .conversion import Labels
from .terms import Linear, Pairs, Weights


def energy_of(problem: Problem, labels: Labels | None) -> tuple[Labels, Linear, Pairs, Weights]:
    """Return the names, linear terms, pairs and pair weights of -score(z).

    Raises:
        ProblemError: `problem` is a batch, or `labels` are not n different labels.
    """
    check_kind(problem, Problem)
    if problem.batch != 1:
        raise ProblemError(
            f"the problem is a batch of {problem.batch}; convert one instance at a time"
        )
    names: Labels = range(problem.n)
    if labels is not None:
        names = _names(labels)
    if len(set(names)) != problem.n or len(names) != problem.n:
        raise ProblemError(f"labels must be {problem.n} different ones; got {shortened(labels)}")
    host = problem.to_host()
    unary, weights = (array[0].astype(np.float64) for array in (host.unary, host.pairwise))
    return names, 0.0 - unary, host.edges, 0.0 - weights


def _names(labels: Labels) -> Labels:
    """Return the labels as a tuple, after a check that a dict can have them as keys."""
    try:
        names = tuple(labels)
        hash(names)
    except TypeError as error:
        raise ProblemError(
            f"labels must be names, one for each variable; got {shortened(labels)}"
        ) from error
    return names


def named(names: Labels, pairs: Pairs, weights: Weights) -> dict[tuple[Hashable, Hashable], float]:
    """Return the weight of each pair, by the names of its ends."""
    ends = ((names[i], names[j]) for i, j in pairs.tolist())
    return dict(zip(ends, weights.tolist(), strict=True))
