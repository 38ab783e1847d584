"""The Gibbs distribution of potentials: exact sums, exact samples, exact gradients."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from models.arguments import of_kind
from models.potentials import AnyPotentials
from models.states import MOST_BITS
from models.traced import is_traced, is_transformed

from ..autograd.recording import refuse_recording
from ..autograd.transforms import has_tangent, refuse_forward_mode
from ..errors import ConfigError, StructureError
from ..noise import check_draw, random_numbers
from ..spaces import StateSpace, StateSums, Structure, as_space, refuse_pairs, space_of
from ..spaces.completions import Completions
from ..spaces.sums.drawn import DrawnCompletions
from ..spaces.sums.forest_sums import ForestSums, is_summed_along
from ..spaces.sums.table_sums import TableSums
from .argmax import POTENTIALS
from .differentiable_sums import (
    LARGEST_TABLE,
    DifferentiableSums,
    Sums,
    differentiable_log_partition,
)
from .distribution import Moments
from .kl import KL, kl_ceiling
from .without_replacement import distinct_states

if TYPE_CHECKING:
    from .differentiable_sums import AnyCompletions

Tracked = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Log Z, unary marginals and pairwise marginals, differentiable."""

TorchSums: TypeAlias = TableSums | ForestSums
"""The sums of pairwise scores by operations of torch, on the device of the scores."""


@dataclass(frozen=True, eq=False)
class Gibbs:
    """The distribution q(z) = exp(h(z)) / Z over the states of a space, exact and differentiable.

    Closed forms serve independent bits and categories, and the space's own sums serve subsets,
    paths, trees and the like. With pairwise scores `solvers.gibbs` or `solvers.labels.gibbs` sums
    over all states up to 20 bits, or by variable elimination where the treewidth is small. On a
    device, torch sums over a table of up to 2^20 states, or along the edges of a forest of 11 to
    1,024 bits. So the host need not wait. The sums are computed once, from the scores at that
    moment: make a new distribution when the scores change.

    Attributes:
        potentials: h, with the space of its states.
        structure: the space of the states, for potentials that name no space.

    Raises:
        ConfigError: `potentials` are none.
        StructureError: the space has no `gibbs`, or it takes no pairwise scores and the potentials
            have some.

    Example:
        >>> from models import Potentials
        >>> q = Gibbs(Potentials(torch.zeros(1, 2), torch.tensor([[1.0]]), torch.tensor([[0, 1]])))
        >>> q.log_partition
        tensor([1.7437])
        >>> q.kl().value  # nats
        tensor([0.1180])
    """

    potentials: AnyPotentials
    structure: Structure | StateSpace | None = None
    _shared: dict[str, Tracked] = field(default_factory=dict, init=False, repr=False)
    _in_torch: dict[str, TorchSums] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        of_kind(self.potentials, "potentials", ConfigError, AnyPotentials, POTENTIALS)
        if self.structure is not None:
            space = as_space(self.structure)
            object.__setattr__(self, "potentials", replace(self.potentials, space=space))
        if not self.space.tractable:
            raise StructureError(f"{self.space} has no gibbs, so its log Z is not known")
        if self.potentials.space is not None:
            refuse_pairs(self.space, self.potentials.pairwise)

    @staticmethod
    def why_not(potentials: AnyPotentials) -> tuple[str, ...]:
        """Return the reasons why potentials make no such distribution; empty where they do."""
        space = space_of(potentials)
        if space.tractable:
            return ()
        return (
            f"the sums over the states of {space} are not known: use direct optimization, implicit "
            "MLE or a perturbed argmax",
        )

    @property
    def space(self) -> StateSpace:
        """The set of states."""
        return space_of(self.potentials)

    @property
    def tractable(self) -> bool:
        """Whether all sums are exact: True."""
        return True

    @property
    def has_density(self) -> bool:
        """Whether `log_prob` is exact: True."""
        return True

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z = log sum_z exp(h(z)) `[batch]`, in nats.

        Raises:
            solvers.UnsupportedProblemError: there are too many states, and the treewidth is too
                large.
        """
        if self._unary_sums is not None:
            return self._unary_sums.log_partition
        sums = self._torch_sums
        if sums is not None:
            return sums.log_partition.to(self.potentials.unary.dtype)
        return self._tracked_sums[0]

    @property
    def marginals(self) -> Moments:
        """The probabilities that variables, and pairs of them, are one.

        Raises:
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        if self._unary_sums is not None:
            return self._unary_sums.marginals, None
        sums = self._torch_sums
        if sums is not None:
            ones, pairs = sums.marginals
            dtype = self.potentials.unary.dtype
            return ones.to(dtype), pairs.to(dtype)
        return self._tracked_sums[1:]

    @property
    def _unary_sums(self) -> StateSums | None:
        """The sums of unary scores; None where pairs have scores."""
        h = self.potentials
        if h.pairwise is not None and h.edges is not None:
            return None
        return self.space.gibbs(h.unary)

    @cached_property
    def _solved(self) -> Sums:
        """The sums of pairwise scores, by `solvers`."""
        refuse_recording("the Gibbs distribution")
        h = self.potentials.detach()
        # Training changes scores in place, and these sums belong to the scores as they are now.
        pairwise = h.pairwise
        if pairwise is not None:
            pairwise = pairwise.clone()
        sums: Sums = self.space.sums(replace(h, unary=h.unary.clone(), pairwise=pairwise))
        return sums

    @property
    def _torch_sums(self) -> TorchSums | None:
        """The sums of pairwise scores by torch; None where `solvers` computes them."""
        kind = self._torch_kind
        if kind is None:
            return None
        if is_traced():
            return kind.of(self.potentials)
        key = _grad_mode()
        if key not in self._in_torch:
            self._in_torch[key] = kind.of(self.potentials)
        return self._in_torch[key]

    @property
    def _scores(self) -> list[torch.Tensor]:
        h = self.potentials
        return [scores for scores in (h.unary, h.pairwise) if scores is not None]

    @property
    def _torch_kind(self) -> type[TorchSums] | None:
        """The class of sums that serves on a device, or under `torch.func`; None for `solvers`.

        Torch can differentiate a table in every way that `torch.func` asks for.
        """
        h = self.potentials
        if is_transformed() or has_tangent(*self._scores):
            few = len(h.unary) * h.state_count <= LARGEST_TABLE
        elif h.unary.device.type == "cpu":
            return None
        elif not is_traced() and is_summed_along(h):
            return ForestSums
        else:
            few = h.state_count <= 2**MOST_BITS
        if few:
            return TableSums
        return None

    @property
    def _tracked_sums(self) -> Tracked:
        """The log-partition and marginals of pairwise scores by `solvers`, differentiable."""
        h = self.potentials
        if is_traced():
            return self._traced_sums
        refuse_forward_mode(
            "the Gibbs distribution of more states than a table holds", *self._scores
        )
        key = _grad_mode()
        if key not in self._shared:
            values = DifferentiableSums.apply(  # type: ignore[no-untyped-call]  # torch's
                h.unary, h.pairwise, h.detach(), self._solved, None
            )
            log_z, unary, pairwise, _ = values
            self._shared[key] = (log_z, unary, pairwise)
        return self._shared[key]

    @property
    def _traced_sums(self) -> Tracked:
        """The log-partition and marginals of pairwise scores, by an operator of torch.

        Raises:
            StructureError: the variables have several values.
        """
        h = self.potentials
        if not self.space.free_flips:
            raise StructureError(
                "the Gibbs distribution of pairs of categorical variables cannot be compiled, nor "
                "transformed by torch.func: call it outside, or use PairwiseCRF"
            )
        tracked: Tracked = differentiable_log_partition(h.unary, h.pairwise, h.edges)
        return tracked

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q `[..., batch]` of states `z [..., batch, n]` of the space.

        Raises:
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        return self.potentials.score(z) - self.log_partition

    def log_prob_of_all(self, states: torch.Tensor) -> torch.Tensor:
        """Return log q `[batch, count]` of every state of the space, listed in `[count, n]`."""
        return self.potentials.table(states).log_softmax(dim=-1)

    def score(self, z: torch.Tensor) -> torch.Tensor:
        """Return h(z) `[..., batch]`, which is log q up to log Z."""
        return self.potentials.score(z)

    def flip_log_ratios(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q(z with bit i flipped) - log q(z) `[..., batch, n]` of `z [..., batch, n]`.

        For spaces in which every flip of a bit gives a state.
        """
        return (1 - 2 * z) * self.potentials.field(z)

    def entropy(self) -> torch.Tensor:
        """Return the entropy `[batch]`, log Z - E_q[h], in nats.

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
        """Return KL(q || uniform), the logarithm of the number of states less the entropy; exact.

        Args:
            method: "exact", the only one.
            generator: not used.

        Raises:
            ConfigError: the method is not "exact".
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        if method != "exact":
            raise ConfigError(f"the KL of a Gibbs posterior has one method, exact; got '{method}'")
        return KL(kl_ceiling(self.potentials).value - self.entropy(), "exact")

    def tightest_kl(self, z: torch.Tensor | None = None) -> KL:
        """Return KL(q || uniform), exact, whatever the samples.

        Args:
            z: not used.

        Raises:
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        return self.kl()

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return exact, independent samples `[samples, batch, n]`, without gradient.

        Args:
            generator: a generator on the device of the potentials.
            samples: number of draws per image.

        Raises:
            ConfigError: an argument has another type, or `samples` is less than 1.
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        check_draw(generator, samples)
        dtype = self.potentials.unary.dtype
        sums: StateSums | TorchSums | None = self._unary_sums
        if sums is None:
            # With the gradient that other quantities of these sums may need.
            sums = self._torch_sums
        with torch.no_grad():
            if sums is not None:
                return sums.sample(generator, samples).to(dtype)
            shape = self.space.uniforms_shape(self._solved, samples)
            uniforms = random_numbers(
                torch.rand,
                shape,
                generator=generator,
                device=self.potentials.unary.device,
                dtype=torch.float64,
            )
            return self._solved.sample(uniforms).to(dtype)

    def sample_distinct(self, generator: torch.Generator, count: int) -> torch.Tensor:
        """Return states `[count, batch, n]` drawn one after the other without replacement.

        Args:
            generator: a generator on the device of the potentials.
            count: number of states per image, at most the number of all states.

        Raises:
            ConfigError: an argument has another type, or there are not so many states.
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        check_draw(generator, count, "count")
        return distinct_states(self, generator, count)

    def clamped_marginals(self, offsets: torch.Tensor) -> torch.Tensor:
        """Return the marginals `[rows, batch, n]` after adding `offsets` to the unary scores.

        Args:
            offsets: `[rows, batch, n]`; large ones clamp variables.
        """
        h = self.potentials.detach()
        rows = len(offsets)
        unary = (h.unary.double() + offsets).flatten(0, 1)
        pairwise = h.pairwise
        if pairwise is not None:
            pairwise = pairwise.double().repeat(rows, 1)
        clamped = Gibbs(replace(h, unary=unary, pairwise=pairwise))
        return clamped.marginals[0].reshape(offsets.shape)

    def completions(
        self, generator: torch.Generator, samples: int = 1, count: int | None = None
    ) -> Completions:
        """Return samples, each with other values of single variables.

        A later call of `kl` shares its backward pass with the conditionals, so that one enumeration
        serves both.

        Args:
            generator: a generator on the device of the potentials.
            samples: number of draws per image.
            count: how many variables to complete, chosen at random; None for all.

        Raises:
            ConfigError: an argument has another type, or a number is out of range.
            solvers.UnsupportedProblemError: as for `log_partition`.
        """
        check_draw(generator, samples)
        return self.space.completions(
            self.potentials, generator, samples, count, self._tracked_completions
        )

    def _tracked_completions(
        self, uniforms: torch.Tensor, variables: torch.Tensor
    ) -> tuple[AnyCompletions | DrawnCompletions, torch.Tensor]:
        """Return completions of pairwise scores, and their conditionals, differentiable.

        Args:
            uniforms: `[samples, batch, variables]`, in [0, 1).
            variables: `[samples, batch, m]`, which to complete.
        """
        h = self.potentials
        if self._torch_sums is not None:
            drawn = self._torch_sums.completions(uniforms, variables)
            return drawn, drawn.conditionals.to(h.unary.dtype)
        completions: Any = self._solved.completions(uniforms, variables)
        values = DifferentiableSums.apply(  # type: ignore[no-untyped-call]  # torch's
            h.unary, h.pairwise, h.detach(), self._solved, completions
        )
        *tracked, conditionals = values
        # The pass for the samples has log Z and marginals too, so they need no other pass.
        if conditionals.requires_grad:
            log_z, unary, pairwise = tracked
            self._shared["with gradient"] = (log_z, unary, pairwise)
        return completions, conditionals


def _grad_mode() -> str:
    """Return the key of sums: those of a pass without gradients have none."""
    if torch.is_grad_enabled():
        return "with gradient"
    return "without gradient"
