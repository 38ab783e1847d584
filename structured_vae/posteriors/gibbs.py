"""The Gibbs distribution of potentials: exact sums, exact samples, exact gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, overload
from weakref import WeakKeyDictionary

import torch
from torch.nn.functional import softplus

import solvers
from models import (
    MOST_BITS,
    AnyPotentials,
    CategoricalPotentials,
    Potentials,
    codes_of,
    drawn_places,
)

from ..errors import ConfigError, StructureError
from ..noise import gumbel
from ..recording import refuse_recording
from ..structures import Distribution, TractableStructure, refuse_pairs
from .differentiable_sums import (
    AnyCompletions,
    DifferentiableSums,
    Sums,
    log_partition_operator,
    table_sums,
)
from .kl import KL, kl_ceiling
from .label_sums import LabelSums

Marginals: TypeAlias = tuple[torch.Tensor, torch.Tensor | None]
"""P(z_i = 1) `[batch, n]`, and the means of `pairs`: of bits P(z_i = z_j = 1) `[batch, e]`; None without pairwise
scores."""


@dataclass(eq=False)
class _Found:
    """What is known of living potentials, and does not refer to them.

    Attributes:
        scores: theirs and their edges, as they were.
        origins: whether each of these has a gradient, and what made it.
        sums: over their states.
        tracked: log Z and marginals with a gradient that comes with that of conditionals, over all
            states by one pass.
    """

    scores: tuple[torch.Tensor, ...]
    origins: tuple[tuple[bool, Any], ...]
    sums: Sums
    tracked: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None


_FOUND: WeakKeyDictionary[AnyPotentials, _Found] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Gibbs:
    """q(z) = exp(h(z)) / Z, all of it exact and differentiable in the potentials.

    In closed form for independent bits and categories. With pairwise scores by `solvers.gibbs`, or
    `solvers.labels.gibbs` of categories, once for all posteriors of the same potentials: over all
    states up to 20 bits, or by variable elimination where the treewidth is small. On a device by a
    table of all states, of up to 2^20.

    Attributes:
        potentials: h.
        structure: whose states alone z may be, with `gibbs`, for potentials without pairwise
            scores; None for all of {0,1}^n. The KL is then that to the uniform distribution of its
            states.

    Raises:
        StructureError: the structure has no `gibbs`, or the potentials have pairwise scores.

    Example:
        >>> q = Gibbs(Potentials(torch.zeros(1, 2), torch.tensor([[1.0]]), torch.tensor([[0, 1]])))
        >>> q.log_partition
        tensor([1.7437])
        >>> q.kl().value  # nats
        tensor([0.1180])
    """

    potentials: AnyPotentials
    structure: TractableStructure | None = None

    def __post_init__(self) -> None:
        if self.structure is None:
            return
        if not isinstance(self.structure, TractableStructure):
            raise StructureError(
                f"{type(self.structure).__name__} has no gibbs, so its log Z is not known"
            )
        refuse_pairs(self.structure, self.potentials.pairwise)

    @property
    def log_partition(self) -> torch.Tensor:
        """`[batch]`: log Z = log sum_z exp(h(z)), in nats.

        Raises:
            solvers.UnsupportedProblemError: too many states, and too large a treewidth.
        """
        h = self.potentials
        bits = isinstance(h, Potentials) and h.unary.device.type == "cpu"
        if torch.compiler.is_compiling() and bits and h.pairwise is not None:
            log_z: torch.Tensor = log_partition_operator(h.unary, h.pairwise, h.edges)[0]
            return log_z
        return self._sums[0] if self._of_structure is None else self._of_structure.log_partition

    @property
    def marginals(self) -> Marginals:
        """The probabilities that variables, and pairs of them, are one.

        Raises:
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        return self._sums[1] if self._of_structure is None else (self._of_structure.marginals, None)

    @cached_property
    def _of_structure(self) -> Distribution | None:
        return None if self.structure is None else self.structure.gibbs(self.potentials.unary)

    @cached_property
    def _sums(self) -> tuple[torch.Tensor, Marginals]:
        h = self.potentials
        if isinstance(h, CategoricalPotentials) and h.pairwise is None:
            apart = h.apart(h.unary)
            return apart.logsumexp(dim=-1).sum(dim=-1), (apart.softmax(dim=-1).flatten(-2), None)
        if h.pairwise is None or h.edges is None:
            return softplus(h.unary).sum(dim=-1), (h.unary.sigmoid(), None)
        if by_table(h):
            return _table_sums(h)
        log_z, unary, pairwise = _tracked_sums(h)
        return log_z, (unary, pairwise)

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: log q of `z [..., batch, n]`.

        Raises:
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        return self.potentials.score(z) - self.log_partition

    def entropy(self) -> torch.Tensor:
        """`[batch]`: log Z - E_q[h], in nats.

        Raises:
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        h = self.potentials
        unary, pairwise = self.marginals
        mean = (h.unary * unary).sum(dim=-1)
        if pairwise is not None and h.pairwise is not None:
            mean = mean + (h.pairwise * pairwise).sum(dim=-1)
        return self.log_partition - mean

    def kl(self, method: str = "exact", generator: torch.Generator | None = None) -> KL:
        """KL(q || uniform): the logarithm of the number of states less the entropy; valid.

        Args:
            method: "exact", the only one.
            generator: not used.

        Raises:
            ConfigError: another method.
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        if method != "exact":
            raise ConfigError(f"the KL of a Gibbs posterior has one method, exact; got '{method}'")
        return KL(self._log_count() - self.entropy(), valid=True)

    def _log_count(self) -> torch.Tensor:
        """`[batch]` or `[1]`: the logarithm of the number of states."""
        if self.structure is None:
            return kl_ceiling(self.potentials).value
        return self.structure.gibbs(torch.zeros_like(self.potentials.unary[:1])).log_partition

    @torch.no_grad()
    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """`[samples, batch, n]`: exact, independent draws.

        Args:
            generator: on the potentials' device.
            samples: draws an image.

        Raises:
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        h = self.potentials
        if self._of_structure is not None:
            return self._of_structure.sample(generator, samples)
        if isinstance(h, CategoricalPotentials) and h.pairwise is None:
            noise = gumbel(h.unary.expand(samples, *h.unary.shape), generator)
            return codes_of(h.apart(h.unary + noise).argmax(dim=-1), h.k).to(h.unary.dtype)
        if h.pairwise is None or h.edges is None:
            return (
                uniforms(h, (samples, *h.unary.shape), generator) < h.unary.double().sigmoid()
            ).to(h.unary)
        if by_table(h):
            return _sample_table(h, samples, generator)
        found = sums_of(h)
        if isinstance(found, LabelSums):
            return found.sample(uniforms(h, (samples, *found.shape), generator)).to(h.unary.dtype)
        drawn = uniforms(h, solvers.uniforms_shape(found.problem, samples), generator)
        return found.sample(drawn).to(h.unary.dtype)


def by_table(h: AnyPotentials) -> bool:
    """Whether the sums are those of a table of all states: on a device, where there are few enough."""
    return h.unary.device.type != "cpu" and h.state_count <= 2**MOST_BITS


@overload
def sums_of(h: Potentials) -> solvers.Gibbs[torch.Tensor]: ...


@overload
def sums_of(h: CategoricalPotentials) -> LabelSums: ...


@overload
def sums_of(h: AnyPotentials) -> Sums: ...


def sums_of(h: AnyPotentials) -> Sums:
    """The sums over the states of potentials with pairs, by `solvers`, anew only where their scores have changed.

    A training step wants the KL of its potentials in the objective, and samples of them in the
    estimator.
    """
    return _found_of(h).sums


def _found_of(h: AnyPotentials) -> _Found:
    refuse_recording("the Gibbs distribution")
    now = tuple(part for part in (h.unary, h.pairwise, h.edges) if part is not None)
    origins, known = tuple((part.requires_grad, part.grad_fn) for part in now), _FOUND.get(h)
    if known is None or origins != known.origins or not all(map(torch.equal, known.scores, now)):
        # what is trained changes in place
        unary, pairwise, edges = (part.detach().clone() for part in now)
        if isinstance(h, CategoricalPotentials):
            sums: Sums = LabelSums.of(replace(h, unary=unary, pairwise=pairwise, edges=edges))
        else:
            sums = solvers.gibbs(unary, pairwise, edges=edges)
        known = _FOUND[h] = _Found((unary, pairwise, edges), origins, sums)
    return known


def _tracked_sums(h: AnyPotentials) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log Z and marginals, differentiable; the caller's own."""
    known = _found_of(h)
    if known.tracked is not None:
        log_z, unary, pairwise = (part.clone() for part in known.tracked)
        return log_z, unary, pairwise
    scores = h.unary, h.pairwise, h.detach()
    log_z, unary, pairwise, _ = DifferentiableSums.apply(*scores, known.sums, None)  # type: ignore[no-untyped-call]
    return log_z, unary, pairwise


def tracked_completions(
    h: AnyPotentials, uniforms: torch.Tensor, variables: torch.Tensor
) -> tuple[AnyCompletions, torch.Tensor]:
    """Completions of potentials with pairs, by `solvers`, and their conditionals, differentiable.

    A KL that is asked for afterwards shares its way back with them, so that by enumeration one pass
    serves both.

    Args:
        h: the potentials.
        uniforms: `[samples, batch, variables]`, in [0, 1).
        variables: `[samples, batch, m]`, which to complete.
    """
    known = _found_of(h)
    completions = known.sums.completions(uniforms, variables)
    scores = h.unary, h.pairwise, h.detach()
    *tracked, conditionals = DifferentiableSums.apply(*scores, known.sums, completions)  # type: ignore[no-untyped-call]
    known.tracked = tuple(tracked) if conditionals.requires_grad else None
    return completions, conditionals


def _table_sums(h: AnyPotentials) -> tuple[torch.Tensor, Marginals]:
    """Return log-partition and marginals from the scores of all states."""
    log_z, unary, pairwise = table_sums(h)
    return log_z, (unary, pairwise)


def uniforms(h: AnyPotentials, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Of that shape, in [0, 1), on the potentials' device, in float64."""
    return torch.rand(shape, generator=generator, device=h.unary.device, dtype=torch.float64)


def _sample_table(h: AnyPotentials, samples: int, generator: torch.Generator) -> torch.Tensor:
    states = h.states()
    return states[drawn_places(h.table(states), samples, generator)].transpose(0, 1)
