"""The conditional random field over given pairs: grids, trees, any graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from solvers import ArgmaxSolver, Solution, labels
from solvers.labels import LabelProblem, LabelSolver

from ..errors import StructureError, shortened
from ..recording import refuse_recording
from ..spaces import PairwiseLabels
from ..spaces.batches import integers, is_dense, is_of_floats
from ..spaces.labels import impossible_instances_named
from ..spaces.scores import EdgesLike
from .reductions import Reduction, check_reduction, reduced


class PairwiseCRF(nn.Module):
    """p(labels | unary) of n variables of k values each over given edges, with tables for the pairs as parameters.

    log p = sum_i unary[i, x_i] + sum_(i,j) pairwise[group of (i,j), x_i, x_j] - log Z, in nats.
    Scores and parameters may be minus infinity, which forbids a label or a pair of labels and gets
    no gradient.

    Log likelihood and marginals are exact, by elimination, where its tables fit into memory
    (chains, trees, narrow grids); elsewhere they are refused, and `structured_vae.StructuredHinge`
    over `structure` trains by argmaxes alone. The best labels are exact with a proof, whatever the
    graph.

    Args:
        n: variables, at least 1.
        k: values of each, at least 1.
        edges: `[e, 2]`, the pairs.
        groups: `[e]`, from 0: edges of the same group share a table, say those of a direction; None
            for one table.
        solver: of the argmax, as for `solvers.labels.solve`.

    Attributes:
        pairwise: `[groups, k, k]`, rows being values of an edge's first variable; zeros at first.
        structure: the `PairwiseLabels` of these edges.

    Raises:
        StructureError: n or k is no such number, edges are no pairs of integers, or groups are not
            one an edge.
        solvers.ProblemError: edges do not fit n.

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
        super().__init__()
        self.structure = PairwiseLabels(n, k, edges, solver=solver)
        table_of = _groups(groups, self.structure.e)
        self.register_buffer("_table_of", torch.from_numpy(table_of), persistent=False)
        self._table_of: torch.Tensor
        count = int(table_of.max()) + 1 if len(table_of) else 1
        self.pairwise = nn.Parameter(torch.zeros(count, self.structure.k, self.structure.k))

    def extra_repr(self) -> str:
        """What stands between the brackets when it is printed."""
        return f"n={self.structure.n}, k={self.structure.k}, e={self.structure.e}, groups={len(self.pairwise)}"

    def forward(
        self, unary: torch.Tensor, target: torch.Tensor, reduction: Reduction = "sum"
    ) -> torch.Tensor:
        """The log likelihood of labels, differentiable: to be maximised.

        Args:
            unary: `[batch, n, k]`, finite, or minus infinity where a label is forbidden.
            target: `[batch, n]`, from 0 to k - 1.
            reduction: "none" for `[batch]`; "sum"; "mean", over instances; or "token_mean", the sum
                by the number of labels.

        Raises:
            StructureError: shapes that do not fit, scores that are nan or plus infinity, an
                instance all of whose labels are forbidden, labels that there are not, or another
                reduction.
            solvers.UnsupportedProblemError: tables of elimination do not fit into memory.
        """
        check_reduction(reduction)
        scores = self._scores(unary)
        states = self.structure.states(_of_batch(target, unary))
        gibbs = self.structure.gibbs(scores)
        log_p = torch.where(states > 0, scores, 0.0).sum(dim=-1) - gibbs.log_partition
        return reduced(log_p, reduction, target.numel()).to(unary.dtype)

    def marginals(self, unary: torch.Tensor) -> torch.Tensor:
        """`[batch, n, k]`: P(x_i = a), differentiable.

        Args:
            unary: `[batch, n, k]`, finite, or minus infinity where a label is forbidden.

        Raises:
            StructureError: another shape, scores that are nan or plus infinity, or an instance all
                of whose labels are forbidden.
            solvers.UnsupportedProblemError: tables of elimination do not fit into memory.
        """
        found = self.structure.gibbs(self._scores(unary)).marginals
        return self.structure.parts(found)[0].to(unary.dtype)

    def decode(self, unary: torch.Tensor) -> torch.Tensor:
        """`[batch, n]`: labels of highest score.

        Args:
            unary: `[batch, n, k]`, finite, or minus infinity where a label is forbidden.

        Raises:
            StructureError: another shape, or an instance all of whose labels are forbidden.
            solvers.SolverError: the solver cannot take the scores.
        """
        return self.solve(unary).labels

    def solve(self, unary: torch.Tensor, time_limit: float | None = None) -> Solution[torch.Tensor]:
        """Labels of highest score with their score and its proof, without gradient.

        Args:
            unary: as of `decode`.
            time_limit: seconds for the batch, as for `solvers.labels.solve`.

        Raises:
            StructureError: another shape, or an instance all of whose labels are forbidden.
            solvers.SolverError: the solver cannot take the scores.
        """
        self._check(unary)
        structure, scores = self.structure, unary.detach()
        tables = self.pairwise.detach().to(scores)[self._table_of]
        pairs = (tables, structure.edges) if structure.e else (None, None)
        problem = LabelProblem.from_arrays(scores, pairs[0], edges=pairs[1])
        with impossible_instances_named(problem):
            return labels.solve(problem, solver=structure.solver, time_limit=time_limit)

    def _scores(self, unary: torch.Tensor) -> torch.Tensor:
        """Return the scores in one vector, `[batch, n k + e k k]`, float64; forbidden ones have no gradient."""
        self._check(unary)
        scores = self.structure.scores(unary.double(), self.pairwise.double()[self._table_of])
        return scores.masked_fill(scores == -torch.inf, -torch.inf)

    def _check(self, unary: torch.Tensor) -> None:
        refuse_recording(self)
        shape = self.structure.n, self.structure.k
        if not is_of_floats(unary):
            raise StructureError(
                f"unary must be a dense tensor of a floating-point type of 16 bits or more; got {shortened(unary)}"
            )
        if unary.ndim != 3 or tuple(unary.shape[1:]) != shape or not len(unary):
            raise StructureError(
                f"unary must be [batch, {shape[0]}, {shape[1]}]; got {list(unary.shape)}"
            )


def _of_batch(target: torch.Tensor, unary: torch.Tensor) -> torch.Tensor:
    if (
        not isinstance(target, torch.Tensor)
        or not is_dense(target)
        or target.shape != unary.shape[:2]
    ):
        found = (
            list(target.shape)
            if isinstance(target, torch.Tensor) and is_dense(target)
            else shortened(target)
        )
        raise StructureError(f"target must be integers {list(unary.shape[:2])}; got {found}")
    return target


def _groups(groups: object, e: int) -> np.ndarray:
    """`[e]`, int64."""
    if groups is None or not e:
        return np.zeros(e, np.int64)
    found = integers(groups, "groups must be integers, one an edge")
    if found.shape != (e,) or found.min() < 0 or len(np.unique(found)) != found.max() + 1:
        raise StructureError(
            f"groups must be [{e}], the numbers from 0 up without gaps; got {shortened(groups)}"
        )
    return found.astype(np.int64)
