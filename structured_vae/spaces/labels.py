"""Labels as a structure: the indicators of the values of variables, and of the pairs of values along edges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.functional import one_hot

from solvers import ArgmaxSolver, InfeasibleError, labels
from solvers.labels import LabelGibbs, LabelProblem, LabelSolver

from ..errors import StructureError, shortened
from ..second_derivatives import without_derivative
from .arcs import arcs_of
from .batches import FORBIDDEN, checked, integers, is_dense, positive_integer, shaped
from .scores import EdgesLike
from .sums import StructureGibbs


@dataclass(frozen=True, eq=False)
class PairwiseLabels:
    """The assignments of n variables of k values each, as indicator vectors in which every pairwise score is linear.

    z `[n k + e k k]` is one at i k + a where x_i = a, and at n k + edge k k + a k + b where the
    ends of an edge have the values a and b. `scores` makes such a vector of scores of variables and
    of pairs, `states` of labels, and `labels` reads them. Argmax, log Z, marginals and samples are
    those of `solvers.labels`, batched; log Z and marginals have gradients, on the device of the
    scores.

    Args:
        n: variables, at least 1.
        k: values of each, at least 1.
        edges: `[e, 2]`, the pairs; None for none.
        sizes: `[n]`, from 1 to k, where variables have fewer values: scores beyond are ignored.
        solver: of the argmax, as for `solvers.labels.solve`.

    Raises:
        StructureError: n or k is no such number, or edges are no pairs of integers.
        solvers.ProblemError: edges or sizes do not fit n and k.

    Example:
        >>> chain = PairwiseLabels(3, 2, [[0, 1], [1, 2]])
        >>> scores = chain.scores(torch.tensor([[1.0, 0.0], [0.0, 0.1], [2.0, 0.0]]), 0.5 * torch.eye(2))
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

    def __post_init__(self) -> None:
        for name in ("n", "k"):
            object.__setattr__(self, name, positive_integer(getattr(self, name), name))
        pairs = np.empty((0, 2), np.int64) if _is_empty(self.edges) else arcs_of(self.edges)  # type: ignore[arg-type]  # there are some
        try:
            unary, tables = np.zeros((self.n, self.k)), np.zeros((len(pairs), self.k, self.k))
        except (ValueError, MemoryError) as error:
            many = f"{shortened(self.n)} variables of {shortened(self.k)} values"
            raise StructureError(f"scores of {many} do not fit into memory") from error
        sizes = None if self.sizes is None else integers(self.sizes, "sizes must be [n] integers")
        like = LabelProblem.from_arrays(
            unary, tables if len(pairs) else None, edges=pairs if len(pairs) else None, sizes=sizes
        )
        object.__setattr__(self, "edges", pairs)
        object.__setattr__(self, "sizes", like.sizes)
        object.__setattr__(self, "_like", like)
        object.__setattr__(self, "_swapped", torch.from_numpy(pairs[:, 0] > pairs[:, 1]))

    @property
    def e(self) -> int:
        """Number of edges."""
        return self._like.e

    @property
    def dimension(self) -> int:
        """Length of scores and states, n k + e k k."""
        return self.n * self.k + self.e * self.k**2

    @property
    def hamming(self) -> torch.Tensor:
        """`[n k + e k k]`: weights by which a distance of states counts the variables whose labels differ.

        They are for `StructuredHinge` and `DirectLoss`: a half for each of the two indicators that
        change with a label, and zeros for those of pairs.
        """
        weights = torch.zeros(self.dimension)
        weights[: self.n * self.k] = 0.5
        return weights

    def scores(self, unary: torch.Tensor, pairwise: torch.Tensor | None = None) -> torch.Tensor:
        """`[..., n k + e k k]`: scores of variables and pairs as one vector, differentiable.

        Args:
            unary: `[..., n, k]`, finite.
            pairwise: `[..., e, k, k]`, rows being values of the first variable of an edge, or
                `[k, k]` for all edges; None for zeros.

        Raises:
            StructureError: they have other shapes.
        """
        self._check(unary, (self.n, self.k), "unary")
        if pairwise is None:
            pairwise = unary.new_zeros((self.e, self.k, self.k))
        if pairwise.ndim == 2:
            pairwise = pairwise.expand(self.e, -1, -1)
        self._check(pairwise, (self.e, self.k, self.k), "pairwise")
        leading = torch.broadcast_shapes(unary.shape[:-2], pairwise.shape[:-3])  # type: ignore[no-untyped-call]  # torch's
        parts = unary.flatten(-2), pairwise.to(unary).flatten(-3)
        return torch.cat([part.expand(*leading, -1) for part in parts], dim=-1)

    def parts(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """`[..., n, k]` and `[..., e, k, k]`: what scores, states or marginals say of variables and pairs."""
        unary, pairwise = scores.tensor_split((self.n * self.k,), dim=-1)
        leading = scores.shape[:-1]
        return unary.reshape(*leading, self.n, self.k), pairwise.reshape(
            *leading, self.e, self.k, self.k
        )

    def labels(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., n]`: the labels of states `[..., n k + e k k]`."""
        return self.parts(z)[0].argmax(dim=-1)

    def states(self, labels: torch.Tensor) -> torch.Tensor:
        """`[..., n k + e k k]`: the states of labels `[..., n]`, as float32.

        Raises:
            StructureError: they are no integers `[..., n]`, or values that variables do not have.
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
        sizes = torch.as_tensor(self._like.sizes, device=labels.device)
        if not bool(((labels >= 0) & (labels < sizes)).all()):
            raise StructureError(
                "labels must be values that their variables have, from 0 to sizes - 1"
            )
        first, second = (
            labels[..., torch.from_numpy(end)].long() for end in np.asarray(self.edges).T
        )
        unary, pairs = one_hot(labels.long(), self.k), one_hot(first * self.k + second, self.k**2)
        return torch.cat([unary.flatten(-2), pairs.flatten(-2)], dim=-1).float()

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """A state of highest score, as `Structure` says.

        Raises:
            StructureError: scores that are none, or of another length.
            solvers.SolverError: the solver cannot take them.
        """
        flat = self._checked(scores).detach()
        if not len(flat):
            return torch.zeros_like(scores)
        problem = self._problem(flat)
        with impossible_instances_named(problem):
            best = labels.solve(problem, solver=self.solver).labels
        return shaped(self.states(best), scores, self)

    def gibbs(self, scores: torch.Tensor) -> StructureGibbs:
        """The Gibbs distribution of `scores [..., n k + e k k]`; errors when it is asked.

        Raises:
            StructureError: as of `argmax`.
            solvers.UnsupportedProblemError: tables of elimination do not fit into memory.
        """
        return StructureGibbs(scores, self._log_sum, self._draw, self._checked)

    def _check(self, values: torch.Tensor, shape: tuple[int, ...], name: str) -> None:
        if tuple(values.shape[-len(shape) :]) != shape:
            raise StructureError(
                f"{name} must be [..., {', '.join(map(str, shape))}]; got {list(values.shape)}"
            )

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        return checked(scores, self.dimension)

    def _problem(self, flat: torch.Tensor) -> LabelProblem[torch.Tensor]:
        """Return the problem of checked scores `[instances, n k + e k k]`."""
        unary, pairwise = self.parts(flat.masked_fill(flat == FORBIDDEN, -torch.inf))
        if not self.e:
            return LabelProblem.from_arrays(unary, sizes=self.sizes)
        return LabelProblem.from_arrays(unary, pairwise, edges=self.edges, sizes=self.sizes)

    def _joined(self, unary: torch.Tensor, pairwise: torch.Tensor) -> torch.Tensor:
        """One vector of what `solvers.labels` says of variables and pairs, whose rows are of the lower variable."""
        swapped = self._swapped.to(pairwise.device)[:, None, None]
        own = torch.where(swapped, pairwise.transpose(-1, -2), pairwise)
        return torch.cat([unary.flatten(-2), own.flatten(-3)], dim=-1)

    def _separate(self, vector: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What `_joined` joins."""
        unary, pairwise = self.parts(vector)
        swapped = self._swapped.to(pairwise.device)[:, None, None]
        return unary, torch.where(swapped, pairwise.transpose(-1, -2), pairwise)

    def _log_sum(self, flat: torch.Tensor) -> torch.Tensor:
        if not len(flat):
            return flat.sum(dim=-1)
        total: torch.Tensor = _LogPartition.apply(flat, self)  # type: ignore[no-untyped-call]  # torch's
        return total

    def _draw(self, flat: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        if not len(flat):
            return flat.new_zeros((samples, *flat.shape))
        shape = samples, len(flat), self.n
        uniforms = torch.rand(
            shape, generator=generator, device=generator.device, dtype=torch.float64
        )
        return self.states(labels.gibbs(self._problem(flat)).sample(uniforms))


@contextmanager
def impossible_instances_named(problem: LabelProblem[torch.Tensor]) -> Iterator[None]:
    """Name the instance of a problem that has no allowed labels, where the block finds that there is one.

    Raises:
        StructureError: there is one.
    """
    try:
        yield
    except InfeasibleError as error:
        for instance in range(problem.batch):
            try:
                labels.solve(problem.instances(slice(instance, instance + 1)))
            except InfeasibleError:
                raise StructureError(
                    f"instance {instance} has no allowed labels: scores of minus infinity forbid a label of each "
                    "assignment; allow more labels, or more pairs of them"
                ) from error
        raise


def _is_empty(edges: EdgesLike | None) -> bool:
    return edges is None or (
        not edges.size if isinstance(edges, np.ndarray) else _is_empty_sequence(edges)
    )


def _is_empty_sequence(edges: object) -> bool:
    return isinstance(edges, list | tuple) and not edges


class _LogPartition(torch.autograd.Function):
    """Log Z `[batch]` of scores; its gradient is the marginals."""

    @staticmethod
    def forward(ctx: Any, flat: torch.Tensor, structure: PairwiseLabels) -> torch.Tensor:
        problem = structure._problem(flat.detach())
        with impossible_instances_named(problem):
            found = labels.gibbs(problem)
        ctx.structure, ctx.found = structure, found
        ctx.save_for_backward(flat)
        log_z: torch.Tensor = ctx.found.log_partition.clone()
        return log_z

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (flat,) = ctx.saved_tensors
        return gradient[:, None] * _Marginals.apply(flat, ctx.structure, ctx.found), None  # type: ignore[no-untyped-call]


class _Marginals(torch.autograd.Function):
    """The marginals of scores; their gradient is a covariance."""

    @staticmethod
    def forward(
        ctx: Any, flat: torch.Tensor, structure: PairwiseLabels, found: LabelGibbs[torch.Tensor]
    ) -> torch.Tensor:
        ctx.structure, ctx.found = structure, found
        ctx.save_for_backward(flat)
        return structure._joined(found.unary_marginals, found.pairwise_marginals)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        finite = gradient.detach().isfinite().all(dim=-1, keepdim=True)
        usable = torch.where(finite, gradient.detach(), 0.0)
        parts = ctx.found.covariance_product(*ctx.structure._separate(usable))
        product = torch.where(finite, ctx.structure._joined(*parts), torch.nan)
        if torch.is_grad_enabled():
            (flat,) = ctx.saved_tensors
            product = without_derivative(product, flat, gradient, "marginals of PairwiseLabels")
        return product, None, None
