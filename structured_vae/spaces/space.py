"""The set of states that a latent variable may take, and what can be computed over it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import torch

from models.networks.decoder import Neighbourhood
from models.potentials import AnyPotentials
from models.states import MOST_BITS
from solvers import Solution

from ..autograd.contexts import autograd_allowed
from ..autograd.recording import between_graphs
from ..errors import StructureError, shortened
from ..noise import gumbel_differences, random_numbers
from .checks.batches import check_states, refuse_forbidden
from .completions import Completions, completed_in_order, drawn_variables
from .listing import listed_by_argmax, places_among
from .structure import StateSums, Structure, is_structure, refuse_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTED_BITS: Final = 16
"""Most bits for which a space that does not know the number of its states lists them."""


class StateSpace(ABC):
    """A set of states z in {0,1}^n, with an argmax of linear scores over it.

    Potentials belong to a space. Distributions, estimators, costs and evaluation ask the space
    instead of testing which kind it is. A subclass has to implement `argmax`. With `gibbs` it also
    has exact sums, and everything that follows from them: the KL, samples, RAM, score functions.

    A class that only has an `argmax` works as well: `as_space` wraps it.

    Example:
        >>> class OneOf(StateSpace):
        ...     def argmax(self, scores):
        ...         best = scores.argmax(-1)
        ...         return torch.nn.functional.one_hot(best, scores.shape[-1]).to(scores)
        >>> OneOf().states(3, torch.zeros(1)).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    independent: ClassVar[bool] = False
    """Whether the variables are independent of each other where no pairs are scored."""

    free_flips: ClassVar[bool] = False
    """Whether a state stays a state when any one of its bits is flipped."""

    categorical: ClassVar[bool] = False
    """Whether a state is made of one-hot vectors."""

    takes_pairs: ClassVar[bool] = False
    """Whether pairs of variables may have scores, where potentials name this space."""

    @classmethod
    def of_options(cls, n: int, **options: int) -> Self:
        """Return the space of states of n entries that options of a training describe.

        By default the options are the arguments of the class.

        Args:
            n: entries of a state.
            options: arguments by name; `k` and `rows` are options of every training over a space
                whose class has them.

        Raises:
            StructureError: there is no such space.
        """
        return cls(**options)

    @abstractmethod
    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Return a state of highest score `[..., batch, n]` for each of `scores [..., batch, n]`.

        Zeros and ones of the scores' type, on their device. The scores come without gradient and
        are finite, also where a caller forbids variables by minus infinity. Any leading dimensions
        are possible. The method may use autograd, whatever mode it is asked in.
        """

    def gibbs(self, scores: torch.Tensor) -> StateSums:
        """Return the sums over all states, weighted by exp(scores . z).

        Args:
            scores: `[..., batch, n]`.

        Raises:
            StructureError: the space has no such sums; see `tractable`.
        """
        raise StructureError(
            f"{self} has no gibbs, so its log Z is not known: use direct optimization or implicit "
            "MLE, which need an argmax only"
        )

    @property
    def tractable(self) -> bool:
        """Whether `gibbs` gives exact sums over the states."""
        return type(self).gibbs is not StateSpace.gibbs

    @property
    def one_variable(self) -> bool:
        """Whether a state is the value of a single categorical variable."""
        return False

    @property
    def numbers_of_ones(self) -> tuple[int, int] | None:
        """The smallest and the largest number of ones, where nothing else restricts the states.

        The argmax then takes the highest scores. None for other spaces.

        Raises:
            StructureError: they differ by instance.
        """
        return None

    def variable_count(self, n: int) -> int:
        """Return how many variables a state of n entries has."""
        return n

    def has_one_state(self, n: int) -> bool:
        """Return whether all scores `[..., n]` have the same argmax; False if it is not known."""
        return False

    def described(self, n: int) -> str:
        """Return in words what the states of n entries are."""
        return f"{self!r} with n = {n}"

    def check(self, n: int) -> None:
        """Raise unless there are states of n entries.

        Raises:
            StructureError: no state has n entries.
        """
        self._best(torch.zeros((1, n), device="cpu"))

    def log_count(self, n: int) -> float | None:
        """Return the logarithm of the number of states of n entries; None if it is not known."""
        if self.tractable:
            return float(
                self.gibbs(torch.zeros((1, n), dtype=torch.float64, device="cpu")).log_partition
            )
        if n <= COUNTED_BITS:
            return math.log(len(self.states(n, torch.zeros(1, device="cpu"))))
        return None

    def contains(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, whether each of `z [..., n]` is a state: the argmax of 2 z - 1 is z."""
        check_states(z)
        return (self._best(2 * z - 1) == z).all(dim=-1)

    def states(self, n: int, like: torch.Tensor) -> torch.Tensor:
        """Return every state `[states, n]`, by at most n calls of the argmax for each.

        Args:
            n: entries of a state.
            like: a tensor of the type and device that the states get.

        Raises:
            StructureError: there are more than 2^20 states.
        """
        if self._knows_count:
            self._check_listed(n)
        return listed_by_argmax(self._best, n, like, 2**MOST_BITS)

    def index(self, z: torch.Tensor, states: torch.Tensor | None = None) -> torch.Tensor:
        """Return `[...]`, the place in `states` of each state of `z [..., n]`.

        Args:
            z: states.
            states: every state, where the caller has listed them; None to list them.
        """
        if states is None:
            states = self.states(z.shape[-1], z)
        return places_among(states, z)

    def neighbours(self, z: torch.Tensor, scores: torch.Tensor | None = None) -> torch.Tensor:
        """Return states `[..., n, n]` next to `z [..., n]`: at place i one with z_i changed.

        It is the best of all states with the other value of z_i, by the scores. Without scores, the
        best state is the one that agrees with z in most entries. Where no state has the other value
        of z_i, z itself is at place i.

        Args:
            z: states.
            scores: `[..., n]`, finite.
        """
        base = scores
        if base is None:
            base = 2 * z - 1
        force = 2 * base.abs().sum(dim=-1, keepdim=True) + 1
        turned = torch.diag_embed((1 - 2 * z) * force)
        # The batch stays the last leading dimension, since instances may differ in their states.
        moved = self._best((base[..., None, :] + turned).movedim(-2, 0)).movedim(0, -2).to(z.dtype)
        changed = (moved != z[..., None, :]).diagonal(dim1=-2, dim2=-1)
        return torch.where(changed[..., None], moved, z[..., None, :])

    def around(
        self, cost: Any, z: torch.Tensor, scores: torch.Tensor | None = None
    ) -> Neighbourhood:
        """Return the cost at z and the linear function that fits its changes best.

        The cost is asked at z and at its n `neighbours`, which are states. The slope is the
        solution s of smallest norm of D s = d in least squares. Row i of D is neighbour i less z,
        and d_i the change of the cost there. For flips of bits and values of categories that is
        the paper's coordinate-wise approximation.

        Args:
            cost: a `Cost`.
            z: `[..., batch, n]`, states.
            scores: `[..., batch, n]`, whose best states are the neighbours.
        """
        at_z = cost(z)
        with torch.no_grad():
            neighbours = self.neighbours(z, scores)
            changes = cost(neighbours.movedim(-2, 0)).movedim(0, -1) - at_z[..., None]
            slope = _fitted(neighbours - z[..., None, :], changes)
        return Neighbourhood(at_z, slope)

    def minimises(self, slope: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, whether z minimises slope . z over all states, within rounding."""
        least = (slope * self._best(-slope)).sum(dim=-1)
        rounding = 1e-6 * slope.abs().sum(dim=-1)
        return (slope * z).sum(dim=-1) <= least + rounding

    def noise(self, like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return noise for unary scores, like `like`, that makes an argmax a sample."""
        return gumbel_differences(like, generator)

    def relaxed(self, scores: torch.Tensor, temperature: torch.Tensor | float) -> torch.Tensor:
        """Return the relaxed state `[..., n]` of perturbed scores, for independent variables.

        Raises:
            StructureError: the variables of this space depend on each other.
        """
        raise StructureError(f"the variables of {self} depend on each other: nothing relaxes them")

    def scores_of(self, marginals: torch.Tensor) -> torch.Tensor:
        """Return scores `[..., n]` whose relaxed state at temperature 1 is `marginals`.

        Raises:
            StructureError: the variables of this space depend on each other.
        """
        raise StructureError(f"the variables of {self} depend on each other: nothing relaxes them")

    def gapped(self, unary: torch.Tensor, z: torch.Tensor, gap: float) -> torch.Tensor:
        """Return scores `[..., n]` moved so that z is best by a margin of at least `gap`.

        Raises:
            StructureError: the variables of this space depend on each other.
        """
        raise StructureError(f"the variables of {self} depend on each other")

    def normalised(self, unary: torch.Tensor) -> torch.Tensor:
        """Return scores `[..., n]` less a constant for each independent variable.

        Raises:
            StructureError: the variables of this space depend on each other.
        """
        raise StructureError(f"the variables of {self} depend on each other")

    def noise_given(
        self, unary: torch.Tensor, z: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        """Return perturbed scores `[..., n]` drawn from their distribution given their argmax z.

        Raises:
            StructureError: the variables of this space depend on each other.
        """
        raise StructureError(f"the variables of {self} depend on each other")

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return states `[count, n]`, each drawn with equal probability.

        Raises:
            StructureError: the space has no sums, and there are too many states to list.
        """
        if not self.tractable:
            states = self.states(n, like)
            places = random_numbers(
                torch.randint, len(states), (count,), generator=generator, device=like.device
            )
            return states[places]
        zeros = torch.zeros((1, n), dtype=like.dtype, device=like.device)
        return self.gibbs(zeros).sample(generator, count)[:, 0]

    def drawn(self, scores: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return states `[count, n]`, drawn with probability exp(scores . z) / Z.

        Raises:
            StructureError: the space has no sums; see `tractable`.
        """
        return self.gibbs(scores[None]).sample(generator, count)[:, 0]

    @property
    def arguments(self) -> dict[str, int | str]:
        """The name of the space and its arguments; empty for a space without a name.

        `models.DiscreteVAE` stores it with a model. A custom space needs an entry point of that
        name in the group `structured_vae.spaces`.
        """
        return {}

    def maximise(self, potentials: AnyPotentials, solver: Any = "auto") -> torch.Tensor:
        """Return the state of highest score `[..., batch, n]` of potentials without gradient.

        Args:
            potentials: the scores.
            solver: solves pairwise scores, in spaces that take them.

        Raises:
            StructureError: there are pairwise scores, which this space does not take; or `argmax`
                gave no states of that shape.
        """
        refuse_pairs(self, potentials.pairwise)
        forbidden = potentials.forbidden_entries
        z = self._best(finite_scores(potentials))
        if not isinstance(z, torch.Tensor) or z.shape != potentials.unary.shape:
            answer = shortened(z)
            if isinstance(z, torch.Tensor):
                answer = str(list(z.shape))
            raise StructureError(
                f"{self}.argmax must give states {list(potentials.unary.shape)}; it gave {answer}"
            )
        z = z.detach().to(potentials.unary)
        if forbidden is not None:
            refuse_forbidden((z > 0.5) & forbidden, str(self))
        return z

    def solution(self, potentials: AnyPotentials) -> Solution[torch.Tensor]:
        """Return the states of highest score with their optimality certificates.

        Args:
            potentials: the scores.

        Raises:
            StructureError: this space has no certificates.
        """
        raise StructureError(
            f"{self} computes the argmax without a certificate, so there is no Solution: call "
            "layer(unary) instead of layer.solve(unary)"
        )

    @property
    def _knows_count(self) -> bool:
        """Whether `log_count` needs no list of the states."""
        return self.tractable or type(self).log_count is not StateSpace.log_count

    def _check_listed(self, n: int) -> None:
        """Raise if a space that knows the number of its states has too many to list.

        Raises:
            StructureError: there are more than 2^20 states.
        """
        log_count = self.log_count(n)
        if log_count is not None and log_count > MOST_BITS * math.log(2) + 1e-6:
            raise StructureError(
                f"a table takes at most 2^{MOST_BITS} states; {self!r} of n = {n} has "
                f"exp({log_count:.1f})"
            )

    @between_graphs
    def _best(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the argmax of a copy of the scores, detached; it may use autograd."""
        with autograd_allowed():
            z: torch.Tensor | Any = self.argmax(scores.detach().clone())
        detached: torch.Tensor = z
        if isinstance(z, torch.Tensor):
            detached = z.detach()
        return detached  # `maximise` checks whether these are states

    def sums(self, potentials: AnyPotentials) -> Any:
        """Return the sums over the states of potentials with pairwise scores, by `solvers`.

        Raises:
            StructureError: this space takes no pairwise scores.
            solvers.UnsupportedProblemError: too many states, and too large a treewidth.
        """
        refuse_pairs(self, potentials.pairwise)
        raise StructureError(f"{self} has sums of unary scores: call gibbs")

    def uniforms_shape(self, sums: Any, samples: int) -> tuple[int, ...]:
        """Return the shape of the uniform numbers that drawing so many samples takes.

        Raises:
            StructureError: this space takes no pairwise scores.
        """
        raise StructureError(f"{self} has sums of unary scores: call gibbs")

    def completions(
        self,
        potentials: AnyPotentials,
        generator: torch.Generator,
        samples: int,
        count: int | None,
        tracked: Callable[..., Any],
    ) -> Completions:
        """Return samples of the Gibbs distribution, each with other values of single variables.

        Args:
            potentials: the scores h.
            generator: a generator on the device of the potentials.
            samples: number of draws per image.
            count: how many variables to complete, drawn at random; None for all.
            tracked: makes differentiable completions of pairwise scores, in spaces that take them.

        Raises:
            StructureError: the space has no sums; see `tractable`.
        """
        refuse_pairs(self, potentials.pairwise)
        unary = potentials.unary
        shape = (samples, *unary.shape)
        uniforms = random_numbers(
            torch.rand, shape, generator=generator, device=unary.device, dtype=torch.float64
        )
        variables = drawn_variables(uniforms, generator, count)
        return completed_in_order(self.gibbs, unary, uniforms, variables)

    def clamped(self, scores: torch.Tensor, values: dict[int, int]) -> torch.Tensor:
        """Return scores `[..., n]` in float64 under which only states with these values count.

        The offset leaves other states a share of less than exp(-60) of Z, so the argmax has these
        values too.

        Args:
            scores: `[..., n]`.
            values: 0 or 1 by variable.
        """
        wide = scores.double().clone()
        offset = 2 * wide.abs().sum(dim=-1) + 60
        for i, value in values.items():
            wide[..., i] += (2 * value - 1) * offset
        return wide

    def __str__(self) -> str:
        return type(self).__name__


class CustomSpace(StateSpace):
    """The states of a user's object that has an argmax, and perhaps sums by `gibbs`.

    Args:
        structure: the object.
    """

    def __init__(self, structure: Structure):
        self.structure = structure

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the states of highest score, as the object gives them."""
        return self.structure.argmax(scores)

    @property
    def tractable(self) -> bool:
        """Whether the object has `gibbs`."""
        return callable(getattr(self.structure, "gibbs", None))

    def gibbs(self, scores: torch.Tensor) -> StateSums:
        """Return the sums that the object gives.

        Raises:
            StructureError: the object has no `gibbs`.
        """
        if not self.tractable:
            return super().gibbs(scores)
        sums: StateSums = self.structure.gibbs(scores)  # type: ignore[attr-defined]  # tractable
        return sums

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomSpace) and self.structure is other.structure

    def __hash__(self) -> int:
        return hash((CustomSpace, id(self.structure)))

    def __str__(self) -> str:
        return type(self.structure).__name__


def as_space(structure: Structure | StateSpace) -> StateSpace:
    """Return a space as it is, and any other object with an argmax as a space.

    Raises:
        StructureError: the object has no argmax of scores.
    """
    if isinstance(structure, StateSpace):
        return structure
    if not is_structure(structure):
        raise StructureError(
            "a structure must be a StateSpace, or an object with argmax(scores); "
            f"got {shortened(structure)}"
        )
    return CustomSpace(structure)


def _fitted(displacements: torch.Tensor, changes: torch.Tensor) -> torch.Tensor:
    """Return the s `[..., n]` of smallest norm for which D s is closest to d, in least squares.

    Args:
        displacements: D `[..., m, n]`.
        changes: d `[..., m]`.
    """
    wide = displacements.double()
    # A ridge far below the eigenvalues, which are those of integers, stands for the smallest norm.
    gram = wide.mT @ wide
    ridge = 1e-9 * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    right = wide.mT @ changes.double()[..., None]
    finite = torch.nan_to_num(right, nan=0.0, posinf=0.0, neginf=0.0)
    slope = torch.linalg.solve(gram + ridge, finite)[..., 0]
    usable = changes.isfinite().all(dim=-1, keepdim=True)
    return torch.where(usable, slope, torch.nan).to(changes.dtype)


def finite_scores(potentials: AnyPotentials) -> torch.Tensor:
    """Return the unary scores `[..., n]`, where a forbidden one outweighs all others together."""
    forbidden = potentials.forbidden_entries
    if forbidden is None:
        return potentials.unary
    dtype = torch.promote_types(potentials.unary.dtype, torch.float32)
    wide = potentials.unary.to(dtype).masked_fill(forbidden, 0.0)
    total = wide.abs().sum(dim=-1, keepdim=True)
    return torch.where(forbidden, -2 * total - 1, wide)
