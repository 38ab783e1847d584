"""What an encoder gives: the scores of the states of its posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias

import torch

from .errors import NetworkError
from .shapes import AllStates, Binary, Edges, FlipCosts, OneHot, Pairwise, Scores, Table, Unary
from .states import all_labels, all_states, label_index, of_variables, state_index


@dataclass(frozen=True, eq=False)
class LinearScores(ABC):
    """h(z) = unary . z + pairwise . pairs(z), maximised: what bits and categorical variables share.

    Attributes:
        unary: `[batch, n]`, a score for each entry of a state.
        pairwise: `[batch, e]`, a score for each entry of `pairs`; None for none.
        edges: `[e, 2]`, i < j, the variables that have scores together; None for none.
    """

    unary: Unary
    pairwise: Pairwise | None = None
    edges: Edges | None = None

    @property
    @abstractmethod
    def state_count(self) -> int:
        """How many states there are."""

    @abstractmethod
    def pairs(self, z: torch.Tensor) -> torch.Tensor:
        """What the pairwise scores are multiplied with."""

    @abstractmethod
    def field(self, z: torch.Tensor) -> torch.Tensor:
        """What each entry of a state adds to h, the other variables as in `z`."""

    def flips(self, z: torch.Tensor) -> torch.Tensor:
        """What each entry of a state adds to h, the other variables as in `z`; 0 where its flip is forbidden."""
        return self.field(z)

    @abstractmethod
    def states(self) -> AllStates:
        """Every state."""

    @abstractmethod
    def index(self, z: torch.Tensor) -> torch.Tensor:
        """`[...]`: the place in `states` of each state of `z [..., n]`."""

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
        )

    def where_allowed(self, values: torch.Tensor) -> torch.Tensor:
        """Return values `[..., batch, n]` with zeros where a variable is forbidden."""
        return values if self.forbidden is None else values.masked_fill(self.forbidden, 0.0)

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
    def state_count(self) -> int:
        """2^n."""
        return int(2 ** self.unary.shape[-1])

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

    def states(self) -> AllStates:
        """`[2^n, n]`: every state."""
        return all_states(self.unary.shape[-1], self.unary)

    def index(self, z: Binary) -> torch.Tensor:
        """`[...]`: the place in `states` of each state of `z [..., n]`."""
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
    def state_count(self) -> int:
        """k^variables."""
        return int(self.k**self.variables)

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

    def states(self) -> AllStates:
        """`[k^variables, variables k]`: every state; of one variable the one-hot vectors in order."""
        return all_labels(self.variables, self.k, self.unary)

    def index(self, z: OneHot) -> torch.Tensor:
        """`[...]`: the place in `states` of each state of `z [..., variables k]`."""
        return label_index(self.apart(z).argmax(dim=-1), self.k)


AnyPotentials: TypeAlias = Potentials | CategoricalPotentials
"""The scores of n bits, or of variables with k values."""
