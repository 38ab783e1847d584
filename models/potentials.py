"""What an encoder gives: the scores of the states of its posterior."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, Self, TypeAlias

import torch

from .errors import NetworkError
from .shapes import AllStates, Binary, Edges, FlipCosts, OneHot, Pairwise, Scores, Table, Unary
from .states import all_labels, all_states, label_index, of_variables, state_index


class LatentSpace(Protocol):
    """The set of states that a latent variable may take, as networks need it.

    `structured_vae.StateSpace` is what implements it: subsets, paths, trees, assignments.
    """

    def check(self, n: int) -> None:
        """Raise unless there are states of n entries."""

    def log_count(self, n: int) -> float | None:
        """Return the logarithm of the number of states of n entries; None if it is not known."""

    def states(self, n: int, like: torch.Tensor) -> AllStates:
        """Return every state `[states, n]`, of the type and on the device of `like`."""

    def index(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, the place in `states` of each state of `z [..., n]`."""

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return states `[count, n]`, each drawn with equal probability."""

    def drawn(self, scores: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return states `[count, n]`, drawn with probability exp(scores . z) / Z, of `scores [n]`."""

    @property
    def arguments(self) -> dict[str, int | str]:
        """What `named_space` makes this space from; empty for one that has no name."""


LARGEST_LOG = 700.0
"""Numbers of states with a larger logarithm do not fit a float."""


@dataclass(frozen=True, eq=False)
class LinearScores(ABC):
    """h(z) = unary . z + pairwise . pairs(z), maximised: what bits and categorical variables share.

    Attributes:
        unary: `[batch, n]`, a score for each entry of a state.
        pairwise: `[batch, e]`, a score for each entry of `pairs`; None for none.
        edges: `[e, 2]`, i < j, the variables that have scores together; None for none.
        space: of the states that z may be; None for all that the variables can take.
    """

    unary: Unary
    pairwise: Pairwise | None = None
    edges: Edges | None = None
    space: LatentSpace | None = field(default=None, kw_only=True)

    free_space: ClassVar[str]
    """The name of the space of all states that the variables can take."""

    @property
    def log_state_count(self) -> float | None:
        """The logarithm of the number of states, in nats; None if it is not known."""
        if self.space is None:
            return self._log_free_count
        return self.space.log_count(self.unary.shape[-1])

    @property
    def state_count(self) -> float:
        """The number of states; infinite if it is not known, or no float can hold it."""
        log_count = self.log_state_count
        if log_count is None or log_count > LARGEST_LOG:
            return math.inf
        return round(math.exp(log_count))

    @property
    @abstractmethod
    def _log_free_count(self) -> float:
        """The logarithm of the number of all states that the variables can take."""

    @abstractmethod
    def pairs(self, z: torch.Tensor) -> torch.Tensor:
        """What the pairwise scores are multiplied with."""

    @abstractmethod
    def field(self, z: torch.Tensor) -> torch.Tensor:
        """What each entry of a state adds to h, the other variables as in `z`."""

    def flips(self, z: torch.Tensor) -> torch.Tensor:
        """What each entry of a state adds to h, the other variables as in `z`; 0 where its flip is forbidden."""
        return self.field(z)

    def states(self) -> AllStates:
        """Return every state `[states, n]`."""
        if self.space is None:
            return self._free_states()
        return self.space.states(self.unary.shape[-1], self.unary)

    def index(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, the place in `states` of each state of `z [..., n]`."""
        return self._free_index(z) if self.space is None else self.space.index(z)

    @abstractmethod
    def _free_states(self) -> AllStates:
        """Return every state that the variables can take."""

    @abstractmethod
    def _free_index(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, the place in `_free_states` of each of `z [..., n]`."""

    def score(self, z: Binary) -> Scores:
        """`[..., batch]`: h(z) of `z [..., batch, n]`, differentiable in the potentials."""
        return self._product(z, self.pairs(z))

    def score_difference(self, z: Binary, other: Binary) -> Scores:
        """`[..., batch]`: h(z) - h(other), differentiable in the potentials."""
        return self._product(z - other, self.pairs(z) - self.pairs(other))

    def _product(self, variables: torch.Tensor, pairs: torch.Tensor) -> Scores:
        """The score of sufficient statistics, which h is linear in; 16 bits would overflow in the sums."""
        dtype = self.unary.dtype
        wide = torch.promote_types(dtype, torch.float32)
        score = (self.unary * variables).sum(dim=-1, dtype=wide)
        if self.pairwise is not None:
            score = score + (self.pairwise * pairs).sum(dim=-1, dtype=wide)
        return score.to(torch.promote_types(dtype, variables.dtype))

    def table(self, states: AllStates) -> Table:
        """`[batch, states]`: h of each of `states [states, n]`, differentiable in the potentials."""
        table = self.unary @ states.T
        return table if self.pairwise is None else table + self.pairwise @ self.pairs(states).T

    @property
    def forbidden_entries(self) -> torch.Tensor | None:
        """`[batch, n]`, true where an entry of a state must be 0; None for nowhere."""
        return None

    def where_allowed(self, values: torch.Tensor) -> torch.Tensor:
        """Return values `[..., batch, n]` with zeros where an entry is forbidden."""
        forbidden = self.forbidden_entries
        return values if forbidden is None else values.masked_fill(forbidden, 0.0)

    def shifted(self, shift: torch.Tensor) -> Self:
        """The potentials with `shift [..., batch, n]` added to the unary scores."""
        return replace(self, unary=self.unary + shift)

    def detach(self) -> Self:
        """The same scores, cut off from the encoder's gradient."""
        pairwise = None if self.pairwise is None else self.pairwise.detach()
        return replace(self, unary=self.unary.detach(), pairwise=pairwise)

    def unary_alone(self) -> Self:
        """The same variables without pairwise scores."""
        return replace(self, pairwise=None, edges=None)


@dataclass(frozen=True, eq=False)
class Potentials(LinearScores):
    """h(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j,  z in {0,1}^n,  maximised.

    Attributes:
        unary: `[batch, n]`, the difference h_i(1) - h_i(0).
        pairwise: `[batch, e]`; None for an independent encoder.
        edges: `[e, 2]`, i < j; None for an independent encoder.
        forbidden: `[batch, n]`, true where z_i must be 0, whatever its score; None for nowhere.
        forbidden_pairs: `[batch, e]`, true where z_i and z_j must not both be 1; None for nowhere.

    Example:
        >>> h = Potentials(torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0]]), torch.tensor([[0, 1]]))
        >>> h.score(torch.tensor([[1.0, 1.0]]))
        tensor([2.])
    """

    free_space: ClassVar[str] = "bits"

    forbidden: torch.Tensor | None = field(default=None, kw_only=True)
    forbidden_pairs: torch.Tensor | None = field(default=None, kw_only=True)

    @staticmethod
    def forbids(scores: torch.Tensor) -> torch.Tensor:
        """Return where scores forbid: at minus infinity, and at the least number of their type, its usual stand-in."""
        return scores <= max(torch.finfo(scores.dtype).min, torch.finfo(torch.float32).min)

    @classmethod
    def of_scores(
        cls, unary: torch.Tensor, pairwise: torch.Tensor | None = None, edges: Edges | None = None
    ) -> Potentials:
        """Return the potentials of scores of which some forbid a variable or a pair.

        A forbidden score becomes 0 in `unary` or `pairwise`, and gets no gradient. Compiled code
        cannot ask whether there is one, and has masks in any case.
        """
        parts = [part for part in (unary, pairwise) if part is not None]
        if not torch.compiler.is_compiling() and not any(
            bool(cls.forbids(part).any()) for part in parts
        ):
            return cls(unary, pairwise, edges)
        forbidden = cls.forbids(unary)
        unary = unary.masked_fill(forbidden, 0.0)
        if pairwise is None:
            return cls(unary, forbidden=forbidden)
        pairs = cls.forbids(pairwise)
        return cls(
            unary,
            pairwise.masked_fill(pairs, 0.0),
            edges,
            forbidden=forbidden,
            forbidden_pairs=pairs,
        )

    def widened(self, dtype: torch.dtype = torch.float32) -> Potentials:
        """Return the same scores in at least this type: in 16 bits sums, steps and penalties would overflow."""
        wide = torch.promote_types(self.unary.dtype, dtype)
        pairwise = None if self.pairwise is None else self.pairwise.to(wide)
        return replace(self, unary=self.unary.to(wide), pairwise=pairwise)

    def flattened(self) -> Potentials:
        """Return the potentials with one leading dimension, as sums over states have it."""

        def flat(part: torch.Tensor | None) -> torch.Tensor | None:
            return None if part is None else part.reshape(-1, part.shape[-1])

        return Potentials(
            self.unary.reshape(-1, self.unary.shape[-1]),
            flat(self.pairwise),
            self.edges,
            forbidden=flat(self.forbidden),
            forbidden_pairs=flat(self.forbidden_pairs),
            space=self.space,
        )

    @property
    def forbidden_entries(self) -> torch.Tensor | None:
        """`[batch, n]`, true where a bit must be 0; None for nowhere."""
        return self.forbidden

    def scores(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return `unary` and `pairwise` with minus infinity where something is forbidden."""
        unary = self.unary
        pairwise = self.pairwise
        if self.forbidden is not None:
            unary = unary.masked_fill(self.forbidden, -torch.inf)
        if pairwise is not None and self.forbidden_pairs is not None:
            pairwise = pairwise.masked_fill(self.forbidden_pairs, -torch.inf)
        return unary, pairwise

    def penalised(self, margin: torch.Tensor | float) -> Potentials:
        """Return potentials without forbidden parts, whose score falls instead.

        Clearing a forbidden variable, or one end of a forbidden pair, raises the new score by more
        than `margin`.

        Args:
            margin: a positive number, or one of each instance, `[batch, 1]`.
        """
        unary = self.unary.detach()
        gains = torch.zeros_like(unary)
        if self.pairwise is not None and self.edges is not None:
            positive = self.pairwise.detach().clamp_min(0.0)
            gains = Potentials(gains, positive, self.edges).field(torch.ones_like(unary))
        filled = self.unary
        if self.forbidden is not None:
            filled = torch.where(self.forbidden, -(2 * gains + margin).to(filled), filled)
        pairwise = self.pairwise
        if pairwise is not None and self.edges is not None and self.forbidden_pairs is not None:
            most = filled.detach().clamp_min(0.0) + gains
            least = torch.minimum(most[..., self.edges[:, 0]], most[..., self.edges[:, 1]])
            pairwise = torch.where(
                self.forbidden_pairs, -(2 * least + margin).to(pairwise), pairwise
            )
        return Potentials(filled, pairwise, self.edges)

    @property
    def _log_free_count(self) -> float:
        """N log 2."""
        return self.unary.shape[-1] * math.log(2)

    def pairs(self, z: Binary) -> torch.Tensor:
        """`[..., e]`: z_i z_j of each edge."""
        if self.edges is None:
            return z[..., :0]
        return z[..., self.edges[:, 0]] * z[..., self.edges[:, 1]]

    def field(self, z: Binary) -> FlipCosts:
        """`[..., batch, n]`: what z_i = 1 instead of 0 adds to h, the other variables as in `z`."""
        if self.pairwise is None or self.edges is None:
            return self.unary.expand_as(z)
        first, second = self.edges[:, 0], self.edges[:, 1]
        field = self.unary.expand_as(z).index_add(-1, first, self.pairwise * z[..., second])
        return field.index_add(-1, second, self.pairwise * z[..., first])

    def flips(self, z: Binary) -> FlipCosts:
        """`[..., batch, n]`: what z_i = 1 instead of 0 adds to h; 0 where z_i must stay 0, the others as in `z`."""
        values = self.where_allowed(self.field(z))
        if self.forbidden_pairs is None:
            return values
        pairs = self.forbidden_pairs.to(z)
        blocked = Potentials(torch.zeros_like(z), pairs, self.edges).field(z) > 0
        return values.masked_fill(blocked, 0.0)

    def _free_states(self) -> AllStates:
        return all_states(self.unary.shape[-1], self.unary)

    def _free_index(self, z: Binary) -> torch.Tensor:
        return state_index(z)


@dataclass(frozen=True, eq=False)
class CategoricalPotentials(LinearScores):
    """h(z) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j] over variables x_i of k values, maximised.

    A state z is one-hot for each variable, one after the other: z `[variables k]` is one at i k +
    x_i. One variable is a categorical one; variables of two values are bits.

    Attributes:
        unary: `[batch, variables k]`, the logits of each variable's values.
        pairwise: `[batch, e k k]`, of each edge the table row after row, rows being values of its
            first variable; or `[batch, e]`, Potts: the score of equal values; None for none.
        edges: `[e, 2]`, i < j, of variables; None for none.
        variables: how many there are.

    Raises:
        NetworkError: the scores are not those of so many variables and edges.

    Example:
        >>> h = CategoricalPotentials(torch.tensor([[1.0, -2.0, 0.5]]))
        >>> h.score(torch.tensor([[0.0, 0.0, 1.0]]))
        tensor([0.5000])
        >>> two = CategoricalPotentials(torch.zeros(1, 6), torch.tensor([[2.0]]), torch.tensor([[0, 1]]), variables=2)
        >>> two.score(torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]]))
        tensor([2.])
    """

    free_space: ClassVar[str] = "categories"

    variables: int = 1

    def __post_init__(self) -> None:
        scores = self.unary.shape[-1]
        if self.variables < 1 or scores % self.variables:
            raise NetworkError(
                f"{scores} unary scores are not those of {self.variables} variables of k values"
            )
        e = 0 if self.edges is None else len(self.edges)
        found = 0 if self.pairwise is None else self.pairwise.shape[-1]
        if found not in (e, e * self.k**2):
            raise NetworkError(
                f"pairwise scores must be [batch, {e * self.k**2}], tables of {self.k} x {self.k} for {e} edges, or "
                f"[batch, {e}]; there are {found}"
            )

    @property
    def k(self) -> int:
        """Values of a variable."""
        return int(self.unary.shape[-1]) // self.variables

    @property
    def _log_free_count(self) -> float:
        """Variables * log k."""
        return self.variables * math.log(self.k)

    @property
    def potts(self) -> bool:
        """Whether the pairwise scores are those of equal values."""
        return (
            self.pairwise is not None
            and self.edges is not None
            and self.pairwise.shape[-1] == len(self.edges)
        )

    def apart(self, values: torch.Tensor) -> torch.Tensor:
        """`[..., variables, k]`: a row a variable of `values [..., variables k]`."""
        return of_variables(values, self.variables)

    def tables(self) -> torch.Tensor:
        """`[..., e, k, k]`: the pairwise scores of each edge.

        Raises:
            NetworkError: there are none.
        """
        if self.pairwise is None:
            raise NetworkError("these potentials have no pairwise scores")
        if self.potts:
            return self.pairwise[..., None, None] * torch.eye(self.k).to(self.pairwise)
        return self.pairwise.reshape(*self.pairwise.shape[:-1], -1, self.k, self.k)

    def pairs(self, z: OneHot) -> torch.Tensor:
        """`[..., e k k]`: which values each edge has; for Potts scores `[..., e]`, whether they are equal."""
        if self.edges is None:
            return z[..., :0]
        first, second = (self.apart(z)[..., end, :] for end in self.edges.T)
        if self.potts:
            return (first * second).sum(dim=-1)
        return (first[..., None] * second[..., None, :]).flatten(-3)

    def field(self, z: OneHot) -> Unary:
        """`[..., batch, variables k]`: what each value of each variable adds to h, the others as in `z`."""
        if self.pairwise is None or self.edges is None:
            return self.unary.expand_as(z)
        parts, (first, second), tables = self.apart(z), self.edges.T, self.tables()
        field = self.apart(self.unary.expand_as(z))
        field = field.index_add(-2, first, (tables * parts[..., second, None, :]).sum(dim=-1))
        return field.index_add(
            -2, second, (tables * parts[..., first, :, None]).sum(dim=-2)
        ).flatten(-2)

    def _free_states(self) -> AllStates:
        return all_labels(self.variables, self.k, self.unary)

    def _free_index(self, z: OneHot) -> torch.Tensor:
        return label_index(self.apart(z).argmax(dim=-1), self.k)


AnyPotentials: TypeAlias = Potentials | CategoricalPotentials
"""The scores of n bits, or of variables with k values."""
