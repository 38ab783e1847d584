"""Exact sums over labels, split by the values of a few variables.

Each assignment of these variables leaves a problem of the others, with smaller tables. Its log Z
gives the assignment its probability, and means over all assignments give marginals. Samples draw
these variables first.

References:
    Pearl (1986), A constraint-propagation approach to probabilistic reasoning: cutset conditioning.
    Dechter (1999), Bucket elimination: A unifying framework for reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from ..arrays import Array, Scores, States, beside, to_numpy
from ..errors import InfeasibleError
from ..gibbs_distribution.samples import Direction
from .algorithms.buckets import buckets_of, why_too_wide
from .algorithms.sum_memory import Way, way_of
from .algorithms.sum_product import Conditionals
from .evidence import LabelEvidence, of_the_others
from .problem import LabelProblem

MOST_ENTRIES: Final = 1 << 35
"""Maximum entries of all tables of all assignments together."""


@dataclass(frozen=True)
class Split:
    """Plan by which sums fit into memory.

    Attributes:
        variables: the variables whose values split an instance; empty if tables fit as they are.
        way: the plan of memory for passes over the other variables.
    """

    variables: tuple[int, ...]
    way: Way


def split_of(problem: LabelProblem, room: float) -> Split | None:
    """Return a plan by which sums fit into memory; None if elimination is too wide or slow.

    The next variable to split by is the one whose tables have the most entries together.

    Args:
        problem: the problem of the variables without evidence.
        room: the bytes that tables may take.
    """
    if why_too_wide(problem):
        return None
    way = way_of(problem, buckets_of(problem), room)
    if way is not None:
        return Split((), way)
    one = problem.to_host().instances(slice(0, 1))
    chosen: list[int] = []
    rest = one
    # A split multiplies the work by the values of its variables; the limit keeps it bearable.
    while prod(one.sizes[chosen].tolist()) * buckets_of(rest).entries <= MOST_ENTRIES:
        way = way_of(rest, buckets_of(rest), room)
        if way is not None:
            return Split(tuple(chosen), way)
        covered = np.zeros(rest.n)
        for step in buckets_of(rest).steps:
            scope = list(step.scope)
            covered[scope] += prod(rest.sizes[scope].tolist())
        # Splitting by a variable of one value changes nothing.
        covered[rest.sizes == 1] = 0.0
        if not covered.any():
            return None
        places = np.setdiff1d(np.arange(one.n), chosen)
        chosen.append(int(places[covered.argmax()]))
        rest = of_the_others(one, np.asarray(one.unary), np.setdiff1d(places, chosen))
    return None


@dataclass(frozen=True, eq=False)
class Conditioned:
    """Sums over one instance, split by values of some variables, with `Conditionals`' methods.

    Attributes:
        problem: a problem of one instance.
        split: the splitting variables, and the plan of memory for the others.
        log_weights: log Z of the assignments with given values, with one axis for each splitting
            variable.
        ones: `[1, n, k]`, the probabilities of the values of each variable.
        pairs: `[1, e, k, k]`, the probabilities of the values of each pair.
    """

    problem: LabelProblem
    split: Split
    log_weights: np.ndarray
    ones: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of(cls, problem: LabelProblem, split: Split) -> Conditioned:
        """Return the sums of one instance, by one pass over all values of the variables."""
        sizes = tuple(problem.sizes[list(split.variables)].tolist())
        log_weights = np.full(sizes, -np.inf)
        ones = np.zeros((1, problem.n, problem.k))
        pairs = np.zeros((1, problem.e, problem.k, problem.k))
        sums = cls(problem, split, log_weights, ones, pairs)
        reference = -np.inf
        for values in np.ndindex(*sizes):
            branch = sums._branch(values)
            if branch is None:
                continue
            log_z = branch.log_partition
            # A running log-sum-exp: all sums are relative to the largest log Z so far.
            if log_z > reference:
                ones *= np.exp(reference - log_z)
                pairs *= np.exp(reference - log_z)
                reference = log_z
            log_weights[values] = log_z
            weight = np.exp(log_z - reference)
            for total, mean in zip((ones, pairs), branch.means(), strict=True):
                total += weight * mean
        # Without any allowed state, all sums are zero.
        if reference > -np.inf:
            total_weight = np.exp(log_weights - reference).sum()
            ones /= total_weight
            pairs /= total_weight
        return sums

    @property
    def log_partition(self) -> Scores:
        """Log Z, `[1]`; minus infinity if everything is forbidden."""
        peak = self.log_weights.max()
        if peak == -np.inf:
            return self._beside(np.array([peak]))
        return self._beside(np.array([peak + np.log(np.exp(self.log_weights - peak).sum())]))

    def marginals(self) -> tuple[Array, Array]:
        """Return the marginals of variables `[1, n, k]` and of pairs `[1, e, k, k]`."""
        return self._beside(self.ones), self._beside(self.pairs)

    def derivative(self, direction: LabelProblem) -> tuple[Array, Array]:
        """Return the directional derivative of the marginals, as `Conditionals` does.

        It is the mean of the covariances given the values, plus the covariance of the means.
        """
        along = Direction(to_numpy(direction.unary), to_numpy(direction.tables))
        probabilities = self._probabilities()
        ones = np.zeros_like(self.ones)
        pairs = np.zeros_like(self.pairs)
        mean = _product(along, self.ones, self.pairs)
        for values in np.argwhere(probabilities > 0).tolist():
            branch = self._branch(tuple(values))
            if branch is None:
                continue
            weight = probabilities[tuple(values)]
            means = branch.means()
            excess = _product(along, *means) - mean
            terms = zip((ones, pairs), branch.covariance(along), means, strict=True)
            for total, within, of_values in terms:
                total += weight * (within + excess * of_values)
        return self._beside(ones), self._beside(pairs)

    def samples(self, uniforms: Array, evidence: Array | None = None) -> States:
        """Draw samples `[1, samples, n]`, the splitting variables first.

        Args:
            uniforms: `[1, samples, n]`, in [0, 1).
            evidence: `[1, samples, n]`, values that are not drawn, -1 for variables to draw; None
                to draw all.
        """
        numbers = to_numpy(uniforms)[0]
        if evidence is None:
            fixed = np.full(numbers.shape, -1)
        else:
            fixed = to_numpy(evidence)[0]
        chosen = np.zeros((len(numbers), 0), np.int64)
        for depth, variable in enumerate(self.split.variables):
            sums = np.cumsum(self._rows(depth, chosen), axis=-1)
            draw = numbers[:, variable, None] * sums[:, -1:]
            value = (sums[:, :-1] <= draw).sum(axis=-1)
            value = np.where(fixed[:, variable] >= 0, fixed[:, variable], value)
            chosen = np.concatenate([chosen, value[:, None]], axis=1)
        z = np.empty(numbers.shape, np.int64)
        for values, rows in _groups(chosen):
            z[rows] = self.problem.sizes - 1  # if these values are forbidden
            z[rows] = np.where(fixed[rows] >= 0, fixed[rows], z[rows])
            z[rows[:, None], list(self.split.variables)] = values
            branch = self._branch(values)
            if branch is not None:
                z[rows] = branch.samples(numbers[rows], fixed[rows])
        return self._beside(z[None])

    def at(self, states: States) -> Array:
        """Return P(x_v = a | values drawn before v), `[1, samples, n, k]`.

        The states are `[1, samples, n]`.
        """
        z = to_numpy(states)[0]
        conditionals = np.zeros((*z.shape, self.problem.k))
        chosen = z[:, self.split.variables]
        for values, rows in _groups(chosen):
            branch = self._branch(values)
            if branch is not None:
                conditionals[rows] = branch.at(z[rows])
        for depth, variable in enumerate(self.split.variables):
            of_variable = _shares(self._rows(depth, chosen[:, :depth]))
            conditionals[:, variable, : of_variable.shape[1]] = of_variable
        return self._beside(conditionals[None])

    def pulled_back(self, states: States, weights: Array) -> tuple[Array, Array]:
        """Return the gradient in the scores of a weighted sum of conditionals.

        The conditionals of the splitting variables are functions of the log Z of all assignments,
        whose gradients are the marginals given these assignments.

        Args:
            states: `[1, samples, n]`.
            weights: `[1, samples, n, k]`.

        Returns:
            `[1, n, k]` and `[1, e, k, k]`.
        """
        z = to_numpy(states)[0]
        of_values = to_numpy(weights)[0]
        chosen = z[:, self.split.variables]
        slopes = self._slopes(chosen, of_values)
        samples_of = dict(_groups(chosen))
        ones = np.zeros_like(self.ones)
        pairs = np.zeros_like(self.pairs)
        for values in np.ndindex(*slopes.shape):
            rows = samples_of.get(values)
            if rows is None and not slopes[values]:
                continue
            branch = self._branch(values)
            if branch is None:
                continue
            for total, mean in zip((ones, pairs), branch.means(), strict=True):
                total += slopes[values] * mean
            if rows is not None:
                within = branch.pulled_back(z[rows], of_values[rows])
                for total, gradient in zip((ones, pairs), within, strict=True):
                    total += gradient
        return self._beside(ones), self._beside(pairs)

    def _slopes(self, chosen: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the gradient of the splitting variables' conditionals in each log Z.

        With S the sums of Z over all values of later variables, P(a) = S(a) / S. So d P(a) = P(a)
        (d log S(a) - sum_b P(b) d log S(b)), and d log S(a) is a mean of d log Z.
        """
        probabilities = self._probabilities()
        slopes = np.zeros_like(probabilities)
        for depth, variable in enumerate(self.split.variables):
            later = tuple(range(depth + 1, probabilities.ndim))
            sums = probabilities.sum(axis=later, keepdims=True)
            conditionals = probabilities / np.where(sums > 0, sums, 1.0)
            shares = _shares(self._rows(depth, chosen[:, :depth]))
            weight = weights[:, variable, : shares.shape[1]]
            mean = (shares * weight).sum(axis=1, keepdims=True)
            before = probabilities.shape[:depth]
            moves = np.zeros((prod(before), shares.shape[1]))
            place = np.zeros(len(chosen), np.int64)
            for values, length in zip(chosen.T, before, strict=False):
                place = place * length + values
            np.add.at(moves, place, shares * (weight - mean))
            slopes += conditionals * moves.reshape(*before, -1, *(1 for _ in later))
        return slopes

    def _probabilities(self) -> np.ndarray:
        """Return the probability of each assignment of the splitting variables."""
        peak = self.log_weights.max()
        weights = np.exp(self.log_weights - peak)
        shares: np.ndarray = weights / weights.sum()
        return shares

    def _rows(self, depth: int, before: np.ndarray) -> np.ndarray:
        """Return joint probabilities `[samples, values]` of a variable and those before it.

        Args:
            depth: number of the splitting variable.
            before: `[samples, depth]`, the values of the splitting variables before it.
        """
        probabilities = self._probabilities()
        sums = probabilities.sum(axis=tuple(range(depth + 1, probabilities.ndim)))
        rows: np.ndarray = sums[tuple(before.T)]
        return np.broadcast_to(rows, (len(before), int(sums.shape[-1])))

    def _branch(self, values: tuple[int, ...]) -> _Branch | None:
        """Return the sums with these values; None if they are forbidden together."""
        host = self.problem.to_host()
        evidence_values = dict(zip(self.split.variables, values, strict=True))
        try:
            evidence = LabelEvidence.of(host, evidence_values)
        except InfeasibleError:
            return None
        rest = evidence.rest
        return _Branch(evidence, Conditionals.of(rest, buckets_of(rest), self.split.way))

    def _beside(self, array: np.ndarray) -> Array:
        return beside(self.problem.unary, array)


@dataclass(frozen=True, eq=False)
class _Branch:
    """Sums over the other variables, in terms of all variables; samples have no batch axis."""

    evidence: LabelEvidence
    sums: Conditionals

    @property
    def log_partition(self) -> float:
        return float(self.sums.log_partition[0] + self.evidence.constant[0])

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Return marginals of all variables and pairs."""
        return self.evidence.lifted(*self.sums.marginals())

    def covariance(self, along: Direction) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivative of `means` along a direction."""
        direction = self.sums.problem.with_scores(*self.evidence.gathered(along))
        return self.evidence.spread(*self.sums.derivative(direction))

    def samples(self, uniforms: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        """Return samples `[samples, n]`."""
        numbers = self.evidence.uniforms(uniforms[None])
        z = self.evidence.states(self.sums.samples(numbers, self._free(evidence)))
        one: np.ndarray = z[0]
        return one

    def at(self, states: np.ndarray) -> np.ndarray:
        """Return conditionals `[samples, n, k]` of free variables, zeros for the others."""
        conditionals = np.zeros((*states.shape, self.evidence.problem.k))
        places = self.evidence.places
        of_free = self.sums.at(self._free(states))[0]
        conditionals[:, places] = of_free[:, : len(places)]
        return conditionals

    def pulled_back(self, states: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient in all scores of the conditionals of free variables."""
        places = self.evidence.places
        free = self._free(states)
        of_free = np.zeros((*free.shape, weights.shape[-1]))
        of_free[:, :, : len(places)] = weights[None][:, :, places]
        return self.evidence.spread(*self.sums.pulled_back(free, of_free))

    def _free(self, states: np.ndarray) -> np.ndarray:
        """Return the values of free variables, `[1, samples, n of rest]`."""
        places = self.evidence.places
        if not len(places):
            return np.zeros((1, len(states), 1), np.int64)
        return np.ascontiguousarray(states[None][:, :, places])


def _groups(chosen: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Yield the different rows `[variables]`, each with the numbers of its samples."""
    different, which = np.unique(chosen, axis=0, return_inverse=True)
    for number, values in enumerate(different.tolist()):
        yield tuple(values), np.flatnonzero(which.ravel() == number)


def _shares(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their sums; zeros where the sum is zero."""
    sums = rows.sum(axis=-1, keepdims=True)
    shares: np.ndarray = rows / np.where(sums > 0, sums, 1.0)
    return shares


def _product(along: Direction, ones: np.ndarray, pairs: np.ndarray) -> float:
    """Return a direction times features."""
    return float((along.unary * ones).sum() + (along.pairwise * pairs).sum())
