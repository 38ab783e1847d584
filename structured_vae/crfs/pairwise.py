"""The conditional random field over the edges of any graph, such as a grid or a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from solvers import ArgmaxSolver, Solution, labels
from solvers.constraints import Constraint
from solvers.labels import LabelProblem, LabelSolver

from ..autograd.recording import between_graphs, construct_between_graphs, refuse_recording
from ..autograd.transforms import refuse_transforms
from ..errors import StructureError, shortened
from ..spaces import PairwiseLabels
from ..spaces.checks.batches import integers, is_of_floats
from ..spaces.checks.scores import EdgesLike
from ..spaces.labels import impossible_instances_named
from ..spaces.sums.chain_sums import weighted
from .empty import empty_solution
from .random_field import RandomField
from .reductions import Reduction, check_reduction, reduced
from .targets import (
    are_labels,
    check_target,
    check_values,
    frequencies,
    instance_weights,
    smoothing_of,
)


class PairwiseCRF(RandomField):
    """A pairwise conditional random field p(labels | unary), with pairwise tables as parameters.

    It has n variables of k labels each.
    log p = sum_i unary[i, x_i] + sum_(i,j) pairwise[group of (i,j), x_i, x_j] - log Z, in nats.
    A score or parameter of minus infinity forbids a label or a pair of labels, and gets no
    gradient.

    Log likelihood and marginals are exact, by variable elimination, if its tables fit into memory
    (chains, trees, narrow grids). For other graphs they raise an error; train those with
    `structured_vae.StructuredHinge` over `structure`, which needs only argmaxes. The best labels
    come with an optimality certificate on any graph.

    Args:
        n: the number of variables, at least 1.
        k: the number of labels of each variable, at least 1.
        edges: `[e, 2]`, the pairs.
        groups: `[e]`, numbers from 0: edges of the same group share a table, for example all
            horizontal edges of a grid. None for a single table.
        solver: the solver for the argmax, as for `solvers.labels.solve`.

    Attributes:
        pairwise: `[groups, k, k]`, where rows are the labels of an edge's first variable; zeros at
            the start.
        structure: the `PairwiseLabels` of these edges.

    Raises:
        StructureError: n or k is out of range, edges are not pairs of integers, or there is not
            exactly one group per edge.
        solvers.ProblemError: an edge names a variable that does not exist.

    References:
        Lafferty, McCallum, Pereira (2001), Conditional random fields.

    Example:
        >>> square = PairwiseCRF(4, 2, [[0, 1], [2, 3], [0, 2], [1, 3]], groups=[0, 0, 1, 1])
        >>> unary = torch.tensor([[[1.0, 0.0], [0.0, 0.5], [0.0, 0.0], [0.0, 2.0]]])
        >>> square.decode(unary)
        tensor([[0, 1, 0, 1]])
        >>> square(unary, torch.tensor([[0, 1, 0, 1]])).item()
        -1.6074...
    """

    def __init__(
        self,
        n: int,
        k: int,
        edges: EdgesLike,
        groups: torch.Tensor | np.ndarray | Sequence[int] | None = None,
        solver: str | LabelSolver | ArgmaxSolver = "auto",
    ):
        construct_between_graphs()
        super().__init__()
        self.structure = PairwiseLabels(n, k, edges, solver=solver)
        table_of = _groups(groups, self.structure.e)
        self.register_constant("_table_of", partial(torch.from_numpy, table_of))
        self._table_of: torch.Tensor
        count = 1
        if len(table_of):
            count = int(table_of.max()) + 1
        self.pairwise = nn.Parameter(torch.zeros(count, self.structure.k, self.structure.k))

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        structure = self.structure
        return f"n={structure.n}, k={structure.k}, e={structure.e}, groups={len(self.pairwise)}"

    def forward(
        self,
        unary: torch.Tensor,
        target: torch.Tensor,
        reduction: Reduction = "sum",
        *,
        sample_weight: torch.Tensor | None = None,
        class_weight: torch.Tensor | None = None,
        label_smoothing: float = 0.0,
    ) -> torch.Tensor:
        """Return the log likelihood of labels in nats, differentiable; training maximises it.

        Labels may be known in part. Booleans are sets of possible labels: the result is then the
        log probability of all labels that the sets allow together. Probabilities are soft labels,
        independent for each variable: the result is then the expected log likelihood.

        Args:
            unary: `[batch, n, k]`, finite, or minus infinity where a label is forbidden.
            target: `[batch, n]`, from 0 to k - 1; or `[batch, n, k]` booleans, True for a possible
                label, or probabilities.
            reduction: "none" for `[batch]`; "sum"; "mean", over instances; or "token_mean", the sum
                divided by the number of labels. With weights, means are weighted means.
            sample_weight: `[batch]`, finite and not negative, the weight of each instance.
            class_weight: `[k]`, finite and not negative: an instance has the mean weight of its
                labels.
            label_smoothing: from 0 to less than 1, the share of the uniform distribution over all
                allowed labels of an instance in the target.

        Raises:
            StructureError: shapes do not match, a score is nan or plus infinity, all labels of an
                instance are forbidden, a label is out of range, a set of labels is empty,
                probabilities do not add up to 1, or `reduction` has another value.
            ConfigError: a weight is out of range, or `label_smoothing` is.
            solvers.UnsupportedProblemError: the tables of elimination do not fit into memory.
        """
        check_reduction(reduction)
        share = smoothing_of(label_smoothing)
        scores = self._scores(unary)
        structure = self.structure
        check_target(target, tuple(unary.shape[:2]), structure.k, "target")
        check_values(target, structure.k, "target")
        target = target.to(unary.device)
        score = self._score_of_target(scores, target)
        if share:
            # With scores of zero, all allowed labels are equally likely.
            level = torch.zeros_like(scores).masked_fill(scores == -torch.inf, -torch.inf)
            uniform = structure.gibbs(level).marginals
            score = (1 - share) * score + share * _product(scores, uniform)
        log_p = score - structure.gibbs(scores).log_partition
        by_variable = target.transpose(0, 1)
        on = torch.ones(by_variable.shape[:2], dtype=torch.bool, device=unary.device)
        weights = instance_weights(by_variable, structure.k, on, sample_weight, class_weight)
        return reduced(log_p, reduction, on.sum(dim=0), weights).to(unary.dtype)

    def _score_of_target(self, scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the score `[batch]` of labels, of all labels that sets allow, or the mean score.

        Args:
            scores: `[batch, n k + e k k]`.
            target: `[batch, n]` labels, or `[batch, n, k]` sets or probabilities.
        """
        structure = self.structure
        if are_labels(target):
            return _product(scores, structure.states_of(target).to(scores))
        if target.dtype == torch.bool:
            unary, tables = structure.parts(scores)
            possible = structure.scores(unary.masked_fill(~target, -torch.inf), tables)
            return structure.gibbs(possible).log_partition
        shares = frequencies(target, structure.k)
        first, second = torch.from_numpy(np.asarray(structure.edges)).to(shares.device).T
        pairs = shares[:, first, :, None] * shares[:, second, None, :]
        return _product(scores, structure.scores(shares, pairs))

    def marginals(self, unary: torch.Tensor) -> torch.Tensor:
        """Return the marginals P(x_i = a), differentiable: `[batch, n, k]`.

        Args:
            unary: `[batch, n, k]`, finite, or minus infinity where a label is forbidden.

        Raises:
            StructureError: `unary` has another shape, a score is nan or plus infinity, or all
                labels of an instance are forbidden.
            solvers.UnsupportedProblemError: the tables of elimination do not fit into memory.
        """
        marginals = self.structure.gibbs(self._scores(unary)).marginals
        return self.structure.parts(marginals)[0].to(unary.dtype)

    def pair_marginals(self, unary: torch.Tensor) -> torch.Tensor:
        """Return the marginals P(x_i = a, x_j = b) `[batch, e, k, k]` of edges, differentiable.

        Rows are labels of an edge's first variable.

        Args:
            unary: as in `marginals`.

        Raises:
            StructureError: as in `marginals`.
            solvers.UnsupportedProblemError: the tables of elimination do not fit into memory.
        """
        marginals = self.structure.gibbs(self._scores(unary)).marginals
        return self.structure.parts(marginals)[1].to(unary.dtype)

    @between_graphs
    def decode(self, unary: torch.Tensor, *, fix: Any = None) -> torch.Tensor:
        """Return the labels of highest score: `[batch, n]`.

        Args:
            unary: `[batch, n, k]`, finite, or minus infinity where a label is forbidden.
            fix: as in `solve`.

        Raises:
            StructureError: `unary` has another shape, or all labels of an instance are forbidden.
            solvers.SolverError: the solver does not accept the scores.
        """
        return self.solve(unary, fix=fix).labels

    @between_graphs
    def solve(
        self,
        unary: torch.Tensor,
        time_limit: float | None = None,
        *,
        k_best: int | None = None,
        fix: Any = None,
        constraints: Iterable[Constraint] = (),
    ) -> Solution[torch.Tensor]:
        """Return the best labels with their score and optimality certificate, without gradient.

        Args:
            unary: as in `decode`.
            time_limit: seconds for the batch, as for `solvers.labels.solve`.
            k_best: how many of the best assignments to return, as for `solvers.labels.solve`.
            fix: variables that keep a label: {i: label}, or `[batch, n]` with -1 for a free one.
            constraints: linear constraints over (variable, label), as for `solvers.labels.solve`.

        Returns:
            the solution: `labels` `[batch, n]`; `score`, `bound` and `optimal` `[batch]`. With
            `k_best` one more dimension follows the batch.

        Raises:
            StructureError: `unary` has another shape, or all labels of an instance are forbidden.
            solvers.SolverError: the solver does not accept the scores.
        """
        refuse_transforms(f"{type(self).__name__}.solve", "call it outside of torch.func")
        self._check(unary)
        structure = self.structure
        # As in the log likelihood: 16 bits would round the tables.
        scores = unary.detach().double()
        if not len(scores):
            return empty_solution(structure.n, scores, k_best)
        if structure.e:
            tables = self.pairwise.detach().to(scores)[self._table_of]
            problem = LabelProblem.from_arrays(scores, tables, edges=structure.edges)
        else:
            problem = LabelProblem.from_arrays(scores)
        with impossible_instances_named(problem):
            return labels.solve(
                problem,
                solver=structure.solver,
                time_limit=time_limit,
                k_best=k_best,
                fix=fix,
                constraints=constraints,
            )

    def _scores(self, unary: torch.Tensor) -> torch.Tensor:
        """Return all scores in one vector, `[batch, n k + e k k]`, float64.

        Forbidden scores have no gradient.
        """
        self._check(unary)
        scores = self.structure.scores(unary.double(), self.pairwise.double()[self._table_of])
        return scores.masked_fill(scores == -torch.inf, -torch.inf)

    def _check(self, unary: torch.Tensor) -> None:
        refuse_recording(self)
        self.check_stored()
        shape = self.structure.n, self.structure.k
        if not is_of_floats(unary):
            raise StructureError(
                "unary must be a dense tensor of a floating-point type of 16 bits or more; "
                f"got {shortened(unary)}"
            )
        if unary.ndim != 3 or tuple(unary.shape[1:]) != shape:
            raise StructureError(
                f"unary must be [batch, {shape[0]}, {shape[1]}]; got {list(unary.shape)}"
            )


def _product(scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the sum of scores times weights, `[batch]`, in which weight 0 counts as no score."""
    return weighted(scores, weights).sum(dim=-1)


def _groups(groups: object, e: int) -> np.ndarray:
    """Check the groups, and return one for each edge: `[e]`, int64."""
    if groups is None or not e:
        return np.zeros(e, np.int64)
    numbers = integers(groups, "groups must be integers, one per edge")
    if numbers.shape != (e,) or numbers.min() < 0 or len(np.unique(numbers)) != numbers.max() + 1:
        raise StructureError(
            f"groups must be [{e}], the numbers from 0 up without gaps; got {shortened(groups)}"
        )
    return numbers.astype(np.int64)
