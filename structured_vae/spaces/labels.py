"""The structure of labels: indicators of the values of variables, and of the pairs along edges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from warnings import warn

import numpy as np
import torch

from models.states import codes_of
from models.traced import holds, is_traced
from solvers import ArgmaxSolver, InfeasibleError, labels
from solvers.labels import LabelProblem, LabelSolver
from solvers.labels.gibbs_distribution import LabelGibbs

from ..autograd.contexts import constant
from ..autograd.recording import between_graphs, construct_between_graphs
from ..autograd.second_derivatives import without_derivative
from ..autograd.transforms import refuse_forward_mode, refuse_transforms, refuse_vectorised
from ..errors import StructureError, shortened
from ..noise import random_numbers
from .checks.arcs import arcs_of
from .checks.batches import (
    FORBIDDEN,
    check_states,
    checked,
    integers,
    is_dense,
    positive_integer,
    shaped,
)
from .checks.scores import EdgesLike, masked
from .checks.shapes import require_shape
from .checks.solvers import check_solver
from .listing import in_order
from .space import StateSpace
from .sums.distribution import StructureGibbs
from .sums.label_operators import label_log_partition


@dataclass(frozen=True, eq=False)
class PairwiseLabels(StateSpace):
    """The labellings of n variables of k values each, as vectors of zeros and ones.

    In these vectors every pairwise score is linear. z `[n k + e k k]` is one at i k + a where
    x_i = a, and at n k + edge k k + a k + b where the ends of an edge have the values a and b.
    `scores` makes such a vector from scores of variables and of pairs, and `states_of` from labels;
    `labels` reads the labels back. Argmax, log Z, marginals and samples are those of
    `solvers.labels`, batched; log Z and marginals have gradients, on the device of the scores.

    Args:
        n: number of variables, at least 1.
        k: number of values of each variable, at least 1.
        edges: `[e, 2]`, the pairs; None for none.
        sizes: `[n]`, from 1 to k, where variables have fewer values; scores of other values are
            ignored.
        solver: the solver of the argmax, as for `solvers.labels.solve`.

    Raises:
        StructureError: n or k is not an integer of at least 1, or edges or sizes are not integers
            of that shape, or scores of so many values do not fit into memory.
        solvers.ProblemError: edges or sizes do not fit n and k.
        solvers.UnknownSolverError: there is no such solver.

    Example:
        >>> chain = PairwiseLabels(3, 2, [[0, 1], [1, 2]])
        >>> unary = torch.tensor([[1.0, 0.0], [0.0, 0.1], [2.0, 0.0]])
        >>> scores = chain.scores(unary, 0.5 * torch.eye(2))
        >>> chain.labels(chain.argmax(scores))
        tensor([0, 0, 0])
        >>> chain.gibbs(scores).log_partition
        tensor(4.7526)
    """

    n: int
    k: int
    edges: EdgesLike | None = None
    sizes: Any = None
    solver: str | LabelSolver | ArgmaxSolver = "auto"
    _like: LabelProblem[np.ndarray] = field(init=False, repr=False)
    _swapped: torch.Tensor = field(init=False, repr=False)
    _ends: torch.Tensor = field(init=False, repr=False)
    _value_counts: torch.Tensor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        construct_between_graphs()
        for name in ("n", "k"):
            object.__setattr__(self, name, positive_integer(getattr(self, name), name))
        check_solver(self.solver)
        pairs = _pairs(self.edges)
        try:
            unary = np.zeros((self.n, self.k))
            tables = np.zeros((len(pairs), self.k, self.k))
        except (ValueError, MemoryError) as error:
            many = f"{shortened(self.n)} variables of {shortened(self.k)} values"
            raise StructureError(f"scores of {many} do not fit into memory") from error
        sizes = self.sizes
        if sizes is not None:
            sizes = integers(sizes, "sizes must be [n] integers")
        if len(pairs):
            # A problem of zeros checks edges and sizes once, and has the layout of all later ones.
            like = LabelProblem.from_arrays(unary, tables, edges=pairs, sizes=sizes)
        else:
            like = LabelProblem.from_arrays(unary, sizes=sizes)
        object.__setattr__(self, "edges", pairs)
        object.__setattr__(self, "sizes", like.sizes)
        object.__setattr__(self, "_like", like)
        object.__setattr__(self, "_swapped", constant(pairs[:, 0] > pairs[:, 1]))
        object.__setattr__(self, "_ends", constant(pairs.astype(np.int64)))
        object.__setattr__(self, "_value_counts", constant(like.sizes.astype(np.int64)))

    @property
    def e(self) -> int:
        """The number of edges."""
        return len(self._ends)

    @property
    def dimension(self) -> int:
        """The length of scores and states, n k + e k k."""
        return self.n * self.k + self.e * self.k**2

    @property
    def hamming(self) -> torch.Tensor:
        """Weights `[n k + e k k]` that make a distance of states count the labels that differ.

        They are for `StructuredHinge` and `DirectLoss`: a half for each of the two indicators that
        change with a label, and zeros for those of pairs.
        """
        weights = torch.zeros(self.dimension)
        weights[: self.n * self.k] = 0.5
        return weights

    def scores(self, unary: torch.Tensor, pairwise: torch.Tensor | None = None) -> torch.Tensor:
        """Return the scores of variables and pairs as vectors `[..., n k + e k k]`, differentiable.

        Args:
            unary: `[..., n, k]`, finite.
            pairwise: `[..., e, k, k]`, rows being values of the first variable of an edge, or
                `[k, k]` for all edges; None for zeros.

        Raises:
            StructureError: unary or pairwise has another shape.
        """
        require_shape(unary, (self.n, self.k), "unary")
        if pairwise is None:
            pairwise = unary.new_zeros((self.e, self.k, self.k))
        if pairwise.ndim == 2:
            pairwise = pairwise.expand(self.e, -1, -1)
        require_shape(pairwise, (self.e, self.k, self.k), "pairwise")
        of_variables = unary.flatten(-2)
        of_pairs = pairwise.to(unary).flatten(-3)
        leading = torch.broadcast_shapes(  # type: ignore[no-untyped-call]  # torch's
            of_variables.shape[:-1], of_pairs.shape[:-1]
        )
        vectors = of_variables.expand(*leading, -1), of_pairs.expand(*leading, -1)
        return torch.cat(vectors, dim=-1)

    def parts(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the entries of variables `[..., n, k]` and those of pairs `[..., e, k, k]`.

        Args:
            scores: `[..., n k + e k k]`, scores, states or marginals.
        """
        unary, pairwise = scores.tensor_split((self.n * self.k,), dim=-1)
        leading = scores.shape[:-1]
        tables = pairwise.reshape(*leading, self.e, self.k, self.k)
        return unary.reshape(*leading, self.n, self.k), tables

    def labels(self, z: torch.Tensor) -> torch.Tensor:
        """Return the labels `[..., n]` of states `[..., n k + e k k]`."""
        return self.parts(z)[0].argmax(dim=-1)

    def check(self, n: int) -> None:
        """Raise unless n is the length of the states.

        Raises:
            StructureError: it is not.
        """
        if n != self.dimension:
            raise StructureError(
                f"states of these labels have n k + e k k = {self.dimension} entries; got n = {n}"
            )

    def log_count(self, n: int) -> float:
        """Return the logarithm of the number of labellings.

        Raises:
            StructureError: n is not the length of the states.
        """
        self.check(n)
        return float(np.log(np.asarray(self.sizes, dtype=np.float64)).sum())

    def states(self, n: int | torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
        """Return every state `[states, n k + e k k]`.

        Args:
            n: entries of a state. Labels in its place are deprecated: call `states_of`.
            like: a tensor of the type and device that the states get; None for float32.

        Raises:
            StructureError: n is not the length of the states, or there are more than 2^20.

        Warns:
            DeprecationWarning: labels are passed.
        """
        if isinstance(n, torch.Tensor):
            warn(
                "PairwiseLabels.states(labels) is now states_of(labels)",
                DeprecationWarning,
                stacklevel=2,
            )
            return self.states_of(n)
        self._check_listed(n)
        choices = [torch.arange(size, device="cpu") for size in np.asarray(self.sizes).tolist()]
        every = torch.cartesian_prod(*choices).reshape(-1, self.n)
        states = in_order(self.states_of(every))
        if like is None:
            return states
        return states.to(like)

    def contains(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, whether each of `z [..., n k + e k k]` is the state of some labels."""
        check_states(z, self.dimension)
        labels = self.labels(z)
        exist = (labels < self._value_counts.to(z.device)).all(dim=-1)
        allowed = torch.where(exist[..., None], labels, 0)
        return exist & (self.states_of(allowed).to(z) == z).all(dim=-1)

    def states_of(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the states `[..., n k + e k k]` of labels `[..., n]`, as float32.

        Raises:
            StructureError: the labels are not integers `[..., n]`, or a variable does not have one
                of them.
        """
        if not is_dense(labels) or labels.is_floating_point() or labels.is_complex():
            raise StructureError(
                f"labels must be a dense tensor of integers; got {labels.dtype}, {labels.layout}"
            )
        if labels.ndim == 0 or labels.shape[-1] != self.n:
            raise StructureError(
                f"labels must be integers [..., {self.n}]; got {list(labels.shape)}"
            )
        labels = labels.long()
        sizes = self._value_counts.to(labels.device)
        if not holds((labels >= 0) & (labels < sizes)):
            raise StructureError(
                "labels must be values that their variables have, from 0 to sizes - 1"
            )
        ends = self._ends.to(labels.device)
        first = labels[..., ends[:, 0]]
        second = labels[..., ends[:, 1]]
        unary = codes_of(labels, self.k)
        # The pair (a, b) has the place a k + b.
        pairs = codes_of(first * self.k + second, self.k**2)
        return torch.cat([unary, pairs], dim=-1).float()

    @between_graphs
    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a state of highest score `[..., batch, n k + e k k]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n k + e k k]`.
            mask: boolean, False where a label, or a pair of labels, is forbidden.

        Raises:
            StructureError: the scores are not a tensor of scores of that shape, or an instance has
                no allowed labels.
            solvers.SolverError: the solver cannot take these scores.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        refuse_transforms("PairwiseLabels.argmax", "call ArgmaxLayer(structure, seed=None)")
        scores = masked(scores, mask)
        flat = self._checked(scores).detach()
        if not len(flat):
            return torch.zeros_like(scores)
        problem = self._problem(flat)
        with impossible_instances_named(problem):
            best = labels.solve(problem, solver=self.solver).labels
        return shaped(self.states_of(best), scores, self)

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> StructureGibbs:
        """Return the Gibbs distribution of scores `[..., n k + e k k]`.

        The distribution raises these errors when its properties are first used.

        Raises:
            StructureError: see `argmax`.
            solvers.UnsupportedProblemError: tables of elimination do not fit into memory.
        """
        scores = masked(scores, mask)
        return StructureGibbs(
            scores, self._log_sum, self._draw, self._checked, self._traced_marginals
        )

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        return checked(scores, self.dimension)

    def _problem(self, flat: torch.Tensor) -> LabelProblem[torch.Tensor]:
        """Return the problem of checked scores `[batch, n k + e k k]`."""
        unary, pairwise = self.parts(flat.masked_fill(flat == FORBIDDEN, -torch.inf))
        if not self.e:
            return LabelProblem.from_arrays(unary, sizes=self.sizes)
        return LabelProblem.from_arrays(unary, pairwise, edges=self.edges, sizes=self.sizes)

    def _joined(self, unary: torch.Tensor, pairwise: torch.Tensor) -> torch.Tensor:
        """Return one vector of what `solvers.labels` gives for variables and pairs.

        Args:
            unary: `[batch, n, k]`.
            pairwise: `[batch, e, k, k]`, rows being values of the lower variable of an edge.
        """
        swapped = self._swapped.to(pairwise.device)[:, None, None]
        tables = torch.where(swapped, pairwise.transpose(-1, -2), pairwise)
        return torch.cat([unary.flatten(-2), tables.flatten(-3)], dim=-1)

    def _separate(self, vector: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the two arguments from which `_joined` makes this vector."""
        unary, pairwise = self.parts(vector)
        swapped = self._swapped.to(pairwise.device)[:, None, None]
        return unary, torch.where(swapped, pairwise.transpose(-1, -2), pairwise)

    def _log_sum(self, flat: torch.Tensor) -> torch.Tensor:
        if not len(flat):
            return flat.square().sum(dim=-1)  # of no instances, but with a derivative
        total: torch.Tensor
        if is_traced():
            total, *_ = self._traced_sums(flat)
            return total
        refuse_forward_mode("the distribution of PairwiseLabels", flat)
        total = _LogPartition.apply(flat, self)  # type: ignore[no-untyped-call]  # torch's
        return total

    def _traced_marginals(self, flat: torch.Tensor) -> torch.Tensor:
        _, unary, tables = self._traced_sums(flat)
        return torch.cat([unary.flatten(-2), tables.flatten(-3)], dim=-1)

    def _traced_sums(self, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        unary, tables = self.parts(flat)
        sums: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
        sums = label_log_partition(unary, tables, self._ends, self._value_counts)
        return sums

    def _draw(self, flat: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        if not len(flat):
            return flat.new_zeros((samples, *flat.shape))
        shape = samples, len(flat), self.n
        uniforms = random_numbers(
            torch.rand, shape, generator=generator, device=generator.device, dtype=torch.float64
        )
        return self.states_of(labels.gibbs(self._problem(flat)).sample(uniforms))


@contextmanager
def impossible_instances_named(problem: LabelProblem[torch.Tensor]) -> Iterator[None]:
    """Name the instance without allowed labels when the block raises an `InfeasibleError`.

    Args:
        problem: the problem that the block solves.

    Raises:
        StructureError: an instance has no allowed labels.
    """
    try:
        yield
    except InfeasibleError as error:
        # Only after a failure: one call per instance finds the one to name.
        for instance in range(problem.batch):
            try:
                labels.solve(problem.instances(slice(instance, instance + 1)))
            except InfeasibleError:
                raise StructureError(
                    f"instance {instance} has no allowed labels: scores of minus infinity forbid "
                    "a label of each assignment; allow more labels, or more pairs of them"
                ) from error
        raise


def _pairs(edges: EdgesLike | None) -> np.ndarray:
    """Return the edges `[e, 2]` as integers, where None and empty lists are no edges."""
    if edges is None or _is_empty(edges):
        return np.empty((0, 2), np.int64)
    return arcs_of(edges)


def _is_empty(edges: EdgesLike) -> bool:
    if isinstance(edges, np.ndarray):
        return not edges.size
    return isinstance(edges, list | tuple) and not edges


class _LogPartition(torch.autograd.Function):
    """Log Z `[batch]` of scores; its gradient is the marginals."""

    @staticmethod
    def forward(ctx: Any, flat: torch.Tensor, structure: PairwiseLabels) -> torch.Tensor:
        problem = structure._problem(flat.detach())
        with impossible_instances_named(problem):
            gibbs = labels.gibbs(problem)
        ctx.structure = structure
        ctx.gibbs = gibbs
        ctx.save_for_backward(flat)
        log_z: torch.Tensor = gibbs.log_partition.clone()
        return log_z

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        refuse_vectorised("PairwiseLabels", gradient)
        (flat,) = ctx.saved_tensors
        marginals = _Marginals.apply(  # type: ignore[no-untyped-call]  # torch's
            flat, ctx.structure, ctx.gibbs
        )
        return gradient[:, None] * marginals, None


class _Marginals(torch.autograd.Function):
    """The marginals of scores; their gradient is a covariance."""

    @staticmethod
    def forward(
        ctx: Any, flat: torch.Tensor, structure: PairwiseLabels, gibbs: LabelGibbs[torch.Tensor]
    ) -> torch.Tensor:
        ctx.structure = structure
        ctx.gibbs = gibbs
        ctx.save_for_backward(flat)
        return structure._joined(gibbs.unary_marginals, gibbs.pairwise_marginals)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        refuse_vectorised("PairwiseLabels", gradient)
        # A loss scale that is too large: zeros for the
        # sums, and NaN for the gradient scaler to see.
        finite = gradient.detach().isfinite().all(dim=-1, keepdim=True)
        usable = torch.where(finite, gradient.detach(), 0.0)
        parts = ctx.gibbs.covariance_product(*ctx.structure._separate(usable))
        product = torch.where(finite, ctx.structure._joined(*parts), torch.nan)
        if torch.is_grad_enabled():
            (flat,) = ctx.saved_tensors
            product = without_derivative(product, flat, gradient, "marginals of PairwiseLabels")
        return product, None, None
