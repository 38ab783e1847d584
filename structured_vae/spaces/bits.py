"""The space of all 2^n states of n bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch.nn.functional import softplus

import solvers
from models import Potentials
from models.networks.decoder import Neighbourhood
from models.potentials import AnyPotentials
from models.states import all_states, single_flips, state_index
from solvers import ArgmaxSolver, Solution
from solvers.gibbs_distribution import Gibbs
from solvers.labels import LabelSolver

from ..errors import ConfigError
from ..noise import random_numbers
from .checks.batches import check_states, require_scores
from .checks.scores import masked
from .completions import BitCompletions, Completions, drawn_variables
from .device_argmax import device_argmax
from .space import StateSpace


@dataclass(frozen=True, eq=False)
class BitSums:
    """The sums over all states of independent bits, in closed form.

    Attributes:
        scores: `[..., batch, n]`.
    """

    scores: torch.Tensor

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[..., batch]` in nats: sum_i log(1 + exp(scores[i]))."""
        return softplus(self.scores).sum(dim=-1)

    @property
    def marginals(self) -> torch.Tensor:
        """The probabilities `[..., batch, n]` that z_i is 1."""
        return self.scores.sigmoid()

    @torch.no_grad()
    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return exact, independent samples `[samples, ..., batch, n]`, without gradient."""
        uniforms = random_numbers(
            torch.rand,
            (samples, *self.scores.shape),
            generator=generator,
            device=self.scores.device,
            dtype=torch.float64,
        )
        return (uniforms < self.scores.double().sigmoid()).to(self.scores)


@dataclass(frozen=True)
class Bits(StateSpace):
    """The space of all states of n bits, for any n; pairs may have scores.

    Example:
        >>> Bits().gibbs(torch.zeros(1, 3)).log_partition  # log 8
        tensor([2.0794])
    """

    independent: ClassVar[bool] = True
    free_flips: ClassVar[bool] = True

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return ones where scores are positive.

        Args:
            scores: `[..., batch, n]`.
            mask: boolean, False where a bit must be 0.

        Raises:
            StructureError: `scores` is not a tensor of scores.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        require_scores(scores)
        return (masked(scores, mask) > 0).to(scores.dtype)

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> BitSums:
        """Return the sums of independent bits; takes and raises what `argmax` does."""
        require_scores(scores)
        return BitSums(masked(scores, mask))

    def described(self, n: int) -> str:
        """Return how many bits there are."""
        return f"n = {n} bits"

    def check(self, n: int) -> None:
        """Accept any n."""

    def log_count(self, n: int) -> float:
        """Return n log 2."""
        return n * math.log(2)

    def contains(self, z: torch.Tensor) -> torch.Tensor:
        """Return true `[...]` for each z: all bits are a state."""
        check_states(z)
        return torch.ones(z.shape[:-1], dtype=torch.bool, device=z.device)

    def states(self, n: int, like: torch.Tensor) -> torch.Tensor:
        """Return every state `[2^n, n]`; n is at most 20.

        Raises:
            models.errors.SettingError: n is larger.
        """
        return all_states(n, like)

    def index(self, z: torch.Tensor, states: torch.Tensor | None = None) -> torch.Tensor:
        """Return `[...]`, the place in `states`: the bits as a binary number, lowest bit first."""
        return state_index(z)

    def neighbours(self, z: torch.Tensor, scores: torch.Tensor | None = None) -> torch.Tensor:
        """Return `[..., n, n]`: z with one bit flipped, whatever the scores."""
        return (z[..., None, :] - torch.eye(z.shape[-1]).to(z)).abs()

    def around(
        self, cost: Any, z: torch.Tensor, scores: torch.Tensor | None = None
    ) -> Neighbourhood:
        """Return the cost at z and its change by every flip, by the cost's own method."""
        neighbourhood: Neighbourhood = cost.around(z)
        return neighbourhood

    def minimises(self, slope: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, whether z is one at negative slopes and zero at positive ones."""
        return (slope * (2 * z - 1) <= 0).all(dim=-1)

    def relaxed(self, scores: torch.Tensor, temperature: torch.Tensor | float) -> torch.Tensor:
        """Return `[..., n]`: the sigmoid of perturbed scores over the temperature."""
        return (scores / temperature).sigmoid()

    def scores_of(self, marginals: torch.Tensor) -> torch.Tensor:
        """Return the log-odds `[..., n]` of the probabilities of ones."""
        return marginals.logit()

    def gapped(self, unary: torch.Tensor, z: torch.Tensor, gap: float) -> torch.Tensor:
        """Return scores of at least `gap` where z is one, and of at most -gap where it is zero."""
        return torch.where(z.bool(), unary.clamp(min=gap), unary.clamp(max=-gap))

    def normalised(self, unary: torch.Tensor) -> torch.Tensor:
        """Return the scores as they are: they are log-odds."""
        return unary

    def noise_given(
        self, unary: torch.Tensor, z: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        """Return perturbed scores `[..., n]` drawn from their distribution given their argmax z.

        References:
            Tucker et al. (2017), REBAR, appendices B and C.
        """
        above = softplus(noise + softplus(unary))
        below = -softplus(noise + softplus(-unary))
        return torch.where(z.bool(), above, below)

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return `[count, n]`: fair bits."""
        drawn = random_numbers(
            torch.randint, 2, (count, n), generator=generator, device=like.device
        )
        return drawn.to(like.dtype)

    def maximise(
        self, potentials: AnyPotentials, solver: str | ArgmaxSolver = "auto"
    ) -> torch.Tensor:
        """Return the state of highest score `[..., batch, n]`, by a solver of `solvers`.

        On a device, "auto" lets torch find it for independent bits, forests and few states.

        Raises:
            ConfigError: the solver is for labels.
            solvers.SolverError: the solver cannot take these potentials.
        """
        if isinstance(solver, LabelSolver):
            raise ConfigError(
                f"{solver.name} is a solver of labels, and these potentials are of bits"
            )
        free = _penalised(cast("Potentials", potentials.detach()))
        z = None
        if solver == "auto":
            z = device_argmax(free, self.argmax)
        if z is None:
            z = _solution(free, solver).z
        return z.to(potentials.unary.dtype)

    def sums(self, potentials: AnyPotentials) -> Gibbs[torch.Tensor]:
        """Return the sums over all states of bits with pairwise scores.

        Raises:
            solvers.UnsupportedProblemError: there are too many states, and the treewidth is too
                large.
        """
        h = potentials
        return solvers.gibbs(h.unary, h.pairwise, edges=h.edge_array())

    def uniforms_shape(self, sums: Gibbs[torch.Tensor], samples: int) -> tuple[int, ...]:
        """Return the shape of the uniform numbers that drawing so many samples takes."""
        return solvers.uniforms_shape(sums.problem, samples)

    def completions(
        self,
        potentials: AnyPotentials,
        generator: torch.Generator,
        samples: int,
        count: int | None,
        tracked: Callable[..., Any],
    ) -> Completions:
        """Return samples, each with single bits flipped.

        With pairwise scores `solvers` computes them on the host.

        Raises:
            solvers.UnsupportedProblemError: there are too many states, and the treewidth is too
                large.
        """
        h = potentials
        shape = (samples, *h.unary.shape)
        # In float64: uniform numbers of float32 are too coarse for many states.
        drawn = random_numbers(
            torch.rand, shape, generator=generator, device=h.unary.device, dtype=torch.float64
        )
        variables = drawn_variables(drawn, generator, count)
        if h.pairwise is not None:
            solved, conditionals = tracked(drawn, variables)
            z = solved.samples.to(h.unary.dtype)
            completed = solved.completed.to(h.unary.dtype)
            return BitCompletions(z, variables, completed, conditionals)
        # Without pairs, the other bits do not depend on the flipped one.
        z = (drawn < h.unary.detach().double().sigmoid()).to(h.unary.dtype)
        conditionals = h.unary.sigmoid().expand_as(z).gather(-1, variables)
        completed = single_flips(z, variables).movedim(0, 1)
        return BitCompletions(z, variables, completed, conditionals)


def solution_of(potentials: AnyPotentials, solver: str | ArgmaxSolver) -> Solution[torch.Tensor]:
    """Return the solution for bits, in which no forbidden variable or pair is on.

    Raises:
        solvers.SolverError: the solver cannot take these potentials.
    """
    return _solution(_penalised(cast("Potentials", potentials.detach())), solver)


def _solution(free: Potentials, solver: str | ArgmaxSolver) -> Solution[torch.Tensor]:
    """Return the solution for bits without forbidden ones."""
    return solvers.solve(free.unary, free.pairwise, edges=free.edge_array(), solver=solver)


def _penalised(potentials: Potentials) -> Potentials:
    """Return potentials whose best states are the best ones of those that nothing forbids.

    Penalties are as small as they may be, so that solvers lose no accuracy to them.
    """
    if potentials.forbidden is None and potentials.forbidden_pairs is None:
        return potentials
    wide = potentials.widened()
    largest = wide.unary.abs().amax(dim=-1, keepdim=True)
    if wide.pairwise is not None and wide.pairwise.shape[-1]:
        largest = torch.maximum(largest, wide.pairwise.abs().amax(dim=-1, keepdim=True))
    return wide.penalised(torch.where(largest > 0, largest, 1.0))
