"""Treat bits as labels of two values, for methods that are only available for labels.

Exact sums have faster kernels for bits, which keep all tables. If these do not fit into memory,
sums over labels compute tables again, and split them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import ArrayT, home_of
from ..errors import UnsupportedProblemError
from ..gibbs_distribution.bit_evidence import BitEvidence
from ..gibbs_distribution.bits import OTHER_METHODS
from ..gibbs_distribution.estimate import Estimated, GibbsEstimate
from ..gibbs_distribution.free_sums import FreeSums
from ..gibbs_distribution.samples import Direction, Drawn
from ..labels.algorithms.sum_memory import room_for
from ..labels.conditioned_sums import split_of
from ..labels.free_sums import FreeLabelSums, why_not_summed
from ..labels.gibbs_estimate import estimated, restored
from ..labels.problem import LabelProblem
from ..problems.problem import Problem


@dataclass(frozen=True, eq=False)
class TwoLabelSums(FreeSums):
    """Sums over bits as labels; label 0 is a bit of 1, so that uniforms draw the same bits.

    Attributes:
        labels: the same sums over labels.
    """

    labels: FreeLabelSums

    @classmethod
    def of(cls, problem: Problem, memory: int | None) -> TwoLabelSums:
        """Return the sums of a host problem.

        Raises:
            UnsupportedProblemError: tables have too many entries once they are split.
        """
        labelled = as_two_labels(problem, one=0)
        split = split_of(labelled, room_for(memory))
        if split is None:
            reason = why_not_summed(labelled, split)
            raise UnsupportedProblemError("gibbs", (f"{reason}; {OTHER_METHODS}",))
        labels = FreeLabelSums.of(labelled, split)
        marginals = _of_ones(labels.ones, labels.pairs)
        return cls(problem, labels.log_z, marginals, labels)

    def drawn(self, uniforms: np.ndarray, threads: int | None) -> np.ndarray:
        """Return samples, from one uniform for each variable."""
        return _flipped(self.labels.drawn(uniforms))

    def completed(
        self, uniforms: np.ndarray, chosen: np.ndarray, threads: int | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return samples, completions and conditionals."""
        drawn, completed, conditionals = self.labels.completed(uniforms, chosen, threads)
        return _flipped(drawn), _flipped(completed[:, :, :, 0]), conditionals[..., 0]

    def gradient(
        self, drawn: Drawn | None, direction: np.ndarray | None, threads: int | None
    ) -> np.ndarray:
        """Return the gradient, by passes up and down."""
        problem = self.problem
        gradient = np.zeros((problem.batch, problem.n + problem.e))
        if direction is not None:
            unary = np.zeros((problem.batch, problem.n, 2))
            unary[:, :, 0] = direction[:, : problem.n]
            pairwise = np.zeros((problem.batch, problem.e, 2, 2))
            pairwise[:, :, 0, 0] = direction[:, problem.n :]
            gradient += _of_ones(*self.labels.covariance(Direction(unary, pairwise)))
        if drawn is not None:
            costs = np.stack([drawn.changes, np.zeros_like(drawn.changes)], axis=-1)
            z = 1 - drawn.z.astype(np.int64)
            gradient += _of_ones(*self.labels.pulled_back(z, drawn.chosen, costs))
        return gradient


def _of_ones(ones: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the features `[batch, n + e]` of bits of 1, from those of labels."""
    return np.concatenate([ones[..., 0], pairs[..., 0, 0]], axis=1)


def _flipped(labels: np.ndarray) -> np.ndarray:
    """Return the bits of labels."""
    return (1 - labels).astype(np.int8)


def estimate_of_bits(
    problem: Problem[ArrayT], evidence: BitEvidence, method: Estimated
) -> GibbsEstimate[Problem[ArrayT], ArrayT]:
    """Return bounds on log Z, or an estimate, over the states that agree with evidence.

    Args:
        problem: the caller's problem.
        evidence: evidence over the same problem on the host.
        method: "trw", "mean_field" or "loopy".

    Raises:
        ProblemTooLargeError: the marginals of all pairs do not fit into memory.
    """
    estimates = estimated(as_two_labels(evidence.rest), method)
    ones = estimates.of_variables[..., 1]
    pairs = estimates.of_pairs[..., 1, 1]
    whole = evidence.lifted(np.concatenate([ones, pairs], axis=1))
    marginals = whole[:, : problem.n], whole[:, problem.n :]
    return restored(problem, evidence, estimates, marginals, method)


def as_two_labels(problem: Problem, one: int = 1) -> LabelProblem[np.ndarray]:
    """Return a host problem as one over labels of two values, with one leading dimension.

    Args:
        problem: a problem over bits.
        one: the label that represents a bit of 1.
    """
    scores = np.asarray(problem.unary, np.float64)
    unary = np.zeros((*scores.shape, 2))
    unary[..., one] = scores
    both = np.zeros((1, 1, 2, 2))
    both[..., one, one] = 1.0
    return LabelProblem(
        unary,
        both,
        np.zeros(problem.e, np.int64),
        np.asarray(problem.pairwise, np.float64),
        np.full(problem.n, 2),
        problem.topology,
        (problem.batch,),
        home_of(unary),
    )
