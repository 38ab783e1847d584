"""The potentials that an encoder returns: the scores of the states of its posterior."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import torch

from .arguments import refusal, whole_number
from .errors import NetworkError
from .host_edges import HostEdges
from .shapes import AllStates, Binary, Edges, FlipCosts, OneHot, Pairwise, Scores, Table, Unary
from .states import all_labels, all_states, label_index, of_variables, state_index
from .traced import is_traced


@runtime_checkable
class LatentSpace(Protocol):
    """The set of states that a latent variable may take, as networks need it.

    `structured_vae.StateSpace` implements it: subsets, paths, trees, assignments.
    """

    def check(self, n: int) -> None:
        """Raise unless the space has states of n entries."""

    def log_count(self, n: int) -> float | None:
        """Return the logarithm of the number of states of n entries; None if it is not known."""

    def states(self, n: int, like: torch.Tensor) -> AllStates:
        """Return every state `[states, n]`, of the type and on the device of `like`."""

    def index(self, z: torch.Tensor, states: AllStates | None = None) -> torch.Tensor:
        """Return `[...]`, the place in `states` of each state of `z [..., n]`.

        Args:
            z: states.
            states: every state, where the caller has listed them; None to list them.
        """

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return states `[count, n]`, each drawn with equal probability."""

    def drawn(self, scores: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return states `[count, n]`, drawn with probability exp(scores . z) / Z."""

    @property
    def tractable(self) -> bool:
        """Whether sums over the states, weighted by exp(scores . z), are known."""

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments from which `named_space` makes this space; empty for one without a name."""


def _check_tensor(values: object, name: str, wanted: str) -> None:
    """Raise unless this is a dense tensor.

    Raises:
        NetworkError: it is something else.
    """
    dense = False
    if isinstance(values, torch.Tensor):
        dense = values.layout == torch.strided and not values.is_nested
    if not dense:
        raise refusal(name, f"a dense tensor of {wanted}", values, NetworkError)


LARGEST_LOG = 700.0
"""The largest logarithm of a number of states that fits a float."""


@dataclass(frozen=True, eq=False)
class LinearScores(ABC):
    """The base of scores h(z) = unary . z + pairwise . pairs(z), to be maximised.

    Attributes:
        unary: `[batch, n]`, a score for each entry of a state.
        pairwise: `[batch, e]`, a score for each entry of `pairs`; None for none.
        edges: `[e, 2]`, i < j, the variables that have scores together; None for none.
        space: the space of the states z; None for all that the variables can take.
        host_edges: the same edges on the host, so that no step waits for those of a device; None
            if the caller did not pass them.

    Raises:
        NetworkError: scores or edges are not dense tensors.
    """

    unary: Unary
    pairwise: Pairwise | None = None
    edges: Edges | None = None
    space: LatentSpace | None = field(default=None, kw_only=True)
    host_edges: HostEdges | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _check_tensor(self.unary, "unary", "scores [batch, n]")
        if self.pairwise is not None:
            _check_tensor(self.pairwise, "pairwise", "scores [batch, e]")
        if self.edges is not None:
            _check_tensor(self.edges, "edges", "pairs of variables [e, 2]")
        if self.space is not None and not hasattr(self.space, "log_count"):
            raise refusal("space", "a space of states, or None", self.space, NetworkError)
        if not isinstance(self.host_edges, HostEdges | None):
            raise refusal("host_edges", "HostEdges, or None", self.host_edges, NetworkError)

    free_space: ClassVar[str]
    """The name of the space of all states that the variables can take."""

    categorical: ClassVar[bool]
    """Whether the variables have categories, rather than being bits."""

    @property
    @abstractmethod
    def variable_count(self) -> int:
        """The number of variables."""

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
        """Return the entries by which the pairwise scores are multiplied."""

    @abstractmethod
    def field(self, z: torch.Tensor) -> torch.Tensor:
        """Return what each entry of a state adds to h, with the other variables as in `z`."""

    def flips(self, z: torch.Tensor) -> torch.Tensor:
        """Return `field`, with 0 where the flip of an entry is forbidden."""
        return self.field(z)

    def states(self) -> AllStates:
        """Return every state `[states, n]`."""
        if self.space is None:
            return self._free_states()
        return self.space.states(self.unary.shape[-1], self.unary)

    def index(self, z: torch.Tensor, states: AllStates | None = None) -> torch.Tensor:
        """Return `[...]`, the place in `states` of each state of `z [..., n]`.

        Args:
            z: states.
            states: every state, where the caller has listed them; None to list them.
        """
        if self.space is None:
            return self._free_index(z)
        return self.space.index(z, states)

    @abstractmethod
    def _free_states(self) -> AllStates:
        """Return every state that the variables can take."""

    @abstractmethod
    def _free_index(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, the place in `_free_states` of each of `z [..., n]`."""

    def score(self, z: Binary) -> Scores:
        """Return h(z) `[..., batch]` of `z [..., batch, n]`, differentiable in the potentials.

        Raises:
            NetworkError: z is not a dense tensor, or its states have another length.
        """
        self.check_states(z)
        return self._product(z, self.pairs(z))

    def check_states(self, z: object) -> None:
        """Raise unless these are states as long as the unary scores.

        Raises:
            NetworkError: z is not a dense tensor, or its states have another length.
        """
        _check_tensor(z, "z", "states [..., batch, n]")
        n = self.unary.shape[-1]
        if isinstance(z, torch.Tensor) and z.shape[-1:] != (n,):
            raise NetworkError(f"z must be states [..., batch, {n}]; got {list(z.shape)}")

    def score_difference(self, z: Binary, other: Binary) -> Scores:
        """Return h(z) - h(other) `[..., batch]`, differentiable in the potentials."""
        return self._product(z - other, self.pairs(z) - self.pairs(other))

    def _product(self, variables: torch.Tensor, pairs: torch.Tensor) -> Scores:
        """Return the score of sufficient statistics, in which h is linear.

        Sums are taken in at least float32, since 16 bits would overflow.
        """
        dtype = self.unary.dtype
        wide = torch.promote_types(dtype, torch.float32)
        score = (self.unary * variables).sum(dim=-1, dtype=wide)
        if self.pairwise is not None:
            score = score + (self.pairwise * pairs).sum(dim=-1, dtype=wide)
        return score.to(torch.promote_types(dtype, variables.dtype))

    def table(self, states: AllStates) -> Table:
        """Return h `[batch, states]` of each of `states [states, n]`, differentiable."""
        table = self.unary @ states.T
        if self.pairwise is None:
            return table
        return table + self.pairwise @ self.pairs(states).T

    @property
    def forbidden_entries(self) -> torch.Tensor | None:
        """The mask `[batch, n]` of entries of a state that must be 0; None for none."""
        return None

    def where_allowed(self, values: torch.Tensor) -> torch.Tensor:
        """Return values `[..., batch, n]` with zeros where an entry is forbidden."""
        forbidden = self.forbidden_entries
        if forbidden is None:
            return values
        return values.masked_fill(forbidden, 0.0)

    def edges_on_host(self) -> HostEdges | None:
        """Return the edges on the host, None for none. Wait for the device without `host_edges`."""
        if self.edges is None:
            return None
        if self.host_edges is None:
            return HostEdges.of(self.edges)
        return self.host_edges

    def edge_array(self) -> np.ndarray | None:
        """Return the edges `[e, 2]` as a read-only array, as solvers take them; None for none."""
        edges = self.edges_on_host()
        if edges is None:
            return None
        return edges.array

    def shifted(self, shift: torch.Tensor) -> Self:
        """Return the potentials with `shift [..., batch, n]` added to the unary scores."""
        return replace(self, unary=self.unary + shift)

    def detach(self) -> Self:
        """Return the same scores without gradient."""
        pairwise = self.pairwise
        if pairwise is not None:
            pairwise = pairwise.detach()
        return replace(self, unary=self.unary.detach(), pairwise=pairwise)

    def unary_alone(self) -> Self:
        """Return the same variables without pairwise scores."""
        return replace(self, pairwise=None, edges=None, host_edges=None)


@dataclass(frozen=True, eq=False)
class Potentials(LinearScores):
    """The scores h(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j of bits z.

    z is in {0,1}^n, and h is maximised.

    Attributes:
        unary: `[batch, n]`, the difference h_i(1) - h_i(0).
        pairwise: `[batch, e]`; None for an independent encoder.
        edges: `[e, 2]`, i < j; None for an independent encoder.
        forbidden: `[batch, n]`, true where z_i must be 0, whatever its score; None for nowhere.
        forbidden_pairs: `[batch, e]`, true where z_i and z_j must not both be 1; None for nowhere.

    Raises:
        NetworkError: scores or edges are not dense tensors.

    Example:
        >>> unary = torch.tensor([[1.0, -2.0]])
        >>> h = Potentials(unary, torch.tensor([[3.0]]), torch.tensor([[0, 1]]))
        >>> h.score(torch.tensor([[1.0, 1.0]]))
        tensor([2.])
    """

    free_space: ClassVar[str] = "bits"
    categorical: ClassVar[bool] = False

    forbidden: torch.Tensor | None = field(default=None, kw_only=True)
    forbidden_pairs: torch.Tensor | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.forbidden is not None:
            _check_tensor(self.forbidden, "forbidden", "booleans [batch, n]")
        if self.forbidden_pairs is not None:
            _check_tensor(self.forbidden_pairs, "forbidden_pairs", "booleans [batch, e]")

    @staticmethod
    def forbids(scores: torch.Tensor) -> torch.Tensor:
        """Return a mask of forbidding scores: minus infinity, or the lowest of their type."""
        return scores <= max(torch.finfo(scores.dtype).min, torch.finfo(torch.float32).min)

    @classmethod
    def of_scores(
        cls, unary: torch.Tensor, pairwise: torch.Tensor | None = None, edges: Edges | None = None
    ) -> Potentials:
        """Return the potentials of scores, some of which may forbid a variable or a pair.

        A forbidden score becomes 0 in `unary` or `pairwise`, and gets no gradient. Compiled code
        and transforms of `torch.func` cannot depend on whether there is one, so they always have
        masks.
        """
        if not is_traced():
            all_scores = [scores for scores in (unary, pairwise) if scores is not None]
            if not any(bool(cls.forbids(scores).any()) for scores in all_scores):
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
        """Return the same scores in at least this type.

        In 16 bits sums, steps and penalties would overflow.
        """
        wide = torch.promote_types(self.unary.dtype, dtype)
        pairwise = self.pairwise
        if pairwise is not None:
            pairwise = pairwise.to(wide)
        return replace(self, unary=self.unary.to(wide), pairwise=pairwise)

    def call_of_vmap(self, call: tuple[int, ...]) -> Potentials:
        """Return the potentials at a place of their first dimensions, over which `vmap` maps."""

        def at(values: torch.Tensor | None) -> torch.Tensor | None:
            if values is None:
                return None
            return values[call]

        return replace(
            self,
            unary=self.unary[call],
            pairwise=at(self.pairwise),
            forbidden=at(self.forbidden),
            forbidden_pairs=at(self.forbidden_pairs),
        )

    def flattened(self) -> Potentials:
        """Return the potentials with one leading dimension, as sums over states need it."""

        def flat(values: torch.Tensor | None) -> torch.Tensor | None:
            if values is None:
                return None
            return values.reshape(batch, values.shape[-1])

        batch = math.prod(self.unary.shape[:-1])
        return Potentials(
            self.unary.reshape(batch, self.unary.shape[-1]),
            flat(self.pairwise),
            self.edges,
            forbidden=flat(self.forbidden),
            forbidden_pairs=flat(self.forbidden_pairs),
            space=self.space,
            host_edges=self.host_edges,
        )

    @property
    def variable_count(self) -> int:
        """The number of bits."""
        return self.unary.shape[-1]

    @property
    def forbidden_entries(self) -> torch.Tensor | None:
        """The mask `[batch, n]` of bits that must be 0; None for none."""
        return self.forbidden

    def scores(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return `unary` and `pairwise` with minus infinity for forbidden variables and pairs."""
        unary = self.unary
        pairwise = self.pairwise
        if self.forbidden is not None:
            unary = unary.masked_fill(self.forbidden, -torch.inf)
        if pairwise is not None and self.forbidden_pairs is not None:
            pairwise = pairwise.masked_fill(self.forbidden_pairs, -torch.inf)
        return unary, pairwise

    def penalised(self, margin: torch.Tensor | float) -> Potentials:
        """Return potentials with penalties in place of forbidden variables and pairs.

        Clearing a forbidden variable, or one end of a forbidden pair, raises the new score by more
        than `margin`.

        Args:
            margin: a positive number, or one for each instance, `[batch, 1]`.
        """
        unary = self.unary.detach()
        gains = torch.zeros_like(unary)
        if self.pairwise is not None and self.edges is not None:
            positive = self.pairwise.detach().clamp_min(0.0)
            # With all neighbours at 1, this is the most that positive pairs add to a variable.
            gains = Potentials(gains, positive, self.edges).field(torch.ones_like(unary))
        filled = self.unary
        if self.forbidden is not None:
            filled = torch.where(self.forbidden, -(2 * gains + margin).to(filled), filled)
        pairwise = self.pairwise
        if pairwise is not None and self.edges is not None and self.forbidden_pairs is not None:
            most = filled.detach().clamp_min(0.0) + gains
            # Clearing one end is enough, so the end that loses less counts.
            least = torch.minimum(most[..., self.edges[:, 0]], most[..., self.edges[:, 1]])
            pairwise = torch.where(
                self.forbidden_pairs, -(2 * least + margin).to(pairwise), pairwise
            )
        return Potentials(filled, pairwise, self.edges, host_edges=self.host_edges)

    @property
    def _log_free_count(self) -> float:
        """The logarithm of the number of states, n log 2."""
        return self.unary.shape[-1] * math.log(2)

    def pairs(self, z: Binary) -> torch.Tensor:
        """Return z_i z_j of each edge, `[..., e]`."""
        if self.edges is None:
            return z[..., :0]
        return z[..., self.edges[:, 0]] * z[..., self.edges[:, 1]]

    def field(self, z: Binary) -> FlipCosts:
        """Return what z_i = 1 adds to h, with the other variables as in `z`, `[..., batch, n]`."""
        if self.pairwise is None or self.edges is None:
            return self.unary.expand_as(z)
        first = self.edges[:, 0]
        second = self.edges[:, 1]
        field = self.unary.expand_as(z).index_add(-1, first, self.pairwise * z[..., second])
        return field.index_add(-1, second, self.pairwise * z[..., first])

    def flips(self, z: Binary) -> FlipCosts:
        """Return `field`, with 0 where z_i must be 0 for the other variables as in `z`."""
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
    """The scores h(x) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j] of values x.

    Each variable x_i has k values, and h is maximised. A state z is one-hot for each variable, one
    after the other: z `[variables k]` is one at i k + x_i.

    Attributes:
        unary: `[batch, variables k]`, the logits of each variable's values.
        pairwise: `[batch, e k k]`, the table of each edge row after row, rows being values of its
            first variable; or `[batch, e]`, Potts scores, those of equal values; None for none.
        edges: `[e, 2]`, i < j, pairs of variables; None for none.
        variables: number of variables.

    Raises:
        NetworkError: scores or edges are not dense tensors, or the scores are not those of so many
            variables and edges.

    Example:
        >>> h = CategoricalPotentials(torch.tensor([[1.0, -2.0, 0.5]]))
        >>> h.score(torch.tensor([[0.0, 0.0, 1.0]]))
        tensor([0.5000])
        >>> potts, edges = torch.tensor([[2.0]]), torch.tensor([[0, 1]])
        >>> two = CategoricalPotentials(torch.zeros(1, 6), potts, edges, variables=2)
        >>> two.score(torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]]))
        tensor([2.])
    """

    free_space: ClassVar[str] = "categories"
    categorical: ClassVar[bool] = True

    variables: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.variables, "variables", NetworkError)
        scores = self.unary.shape[-1]
        if scores % self.variables:
            raise NetworkError(
                f"{scores} unary scores are not those of {self.variables} variables of k values"
            )
        e = 0
        if self.edges is not None:
            e = len(self.edges)
        count = 0
        if self.pairwise is not None:
            count = self.pairwise.shape[-1]
        if count not in (e, e * self.k**2):
            raise NetworkError(
                f"pairwise scores must be [batch, {e * self.k**2}], tables of {self.k} x {self.k} "
                f"for {e} edges, or [batch, {e}]; there are {count}"
            )

    @property
    def variable_count(self) -> int:
        """The number of variables."""
        return self.variables

    @property
    def k(self) -> int:
        """The number of values of a variable."""
        return int(self.unary.shape[-1]) // self.variables

    @property
    def _log_free_count(self) -> float:
        """The logarithm of the number of states, variables * log k."""
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
        """Return `values [..., variables k]` with one row per variable, `[..., variables, k]`."""
        return of_variables(values, self.variables)

    def tables(self) -> torch.Tensor:
        """Return the table of pairwise scores of each edge, `[..., e, k, k]`.

        Raises:
            NetworkError: there are no pairwise scores.
        """
        if self.pairwise is None:
            raise NetworkError("these potentials have no pairwise scores")
        if self.potts:
            return self.pairwise[..., None, None] * torch.eye(self.k).to(self.pairwise)
        e = self.pairwise.shape[-1] // self.k**2
        return self.pairwise.reshape(*self.pairwise.shape[:-1], e, self.k, self.k)

    def pairs(self, z: OneHot) -> torch.Tensor:
        """Return the indicators `[..., e k k]` of the values of each edge.

        For Potts scores they are `[..., e]`: whether the values of an edge are equal.
        """
        if self.edges is None:
            return z[..., :0]
        values = self.apart(z)
        first = values[..., self.edges[:, 0], :]
        second = values[..., self.edges[:, 1], :]
        if self.potts:
            return (first * second).sum(dim=-1)
        return (first[..., None] * second[..., None, :]).flatten(-3)

    def field(self, z: OneHot) -> Unary:
        """Return what each value of each variable adds to h, `[..., batch, variables k]`.

        The other variables are as in `z`.
        """
        if self.pairwise is None or self.edges is None:
            return self.unary.expand_as(z)
        values = self.apart(z)
        first, second = self.edges.T
        tables = self.tables()
        of_first = (tables * values[..., second, None, :]).sum(dim=-1)
        of_second = (tables * values[..., first, :, None]).sum(dim=-2)
        field = self.apart(self.unary.expand_as(z))
        field = field.index_add(-2, first, of_first)
        return field.index_add(-2, second, of_second).flatten(-2)

    def _free_states(self) -> AllStates:
        return all_labels(self.variables, self.k, self.unary)

    def _free_index(self, z: OneHot) -> torch.Tensor:
        return label_index(self.apart(z).argmax(dim=-1), self.k)


AnyPotentials: TypeAlias = Potentials | CategoricalPotentials
"""The scores of n bits, or of variables with k values."""
