"""The space of variables of k values each, as one-hot vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch

from models import CategoricalPotentials
from models.networks.decoder import Neighbourhood
from models.potentials import AnyPotentials
from models.states import all_labels, codes_of, label_index, of_variables
from models.states import single_changes as changes_of_values
from solvers import ArgmaxSolver, labels
from solvers.labels import LabelSolver

from ..errors import StructureError
from ..noise import gumbel, random_numbers
from .checks.batches import check_states, positive_integer, refuse_forbidden, require_scores
from .checks.scores import masked
from .completions import Completions, ValueCompletions, drawn_variables
from .device_argmax import device_argmax
from .space import StateSpace
from .sums.label_sums import LabelSums


@dataclass(frozen=True, eq=False)
class CategorySums:
    """The sums over all states of independent variables of k values, in closed form.

    Attributes:
        scores: `[..., batch, variables k]`.
        variables: how many there are.
    """

    scores: torch.Tensor
    variables: int

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[..., batch]` in nats: the sum over variables of log sum_a exp(scores[a])."""
        return of_variables(self.scores, self.variables).logsumexp(dim=-1).sum(dim=-1)

    @property
    def marginals(self) -> torch.Tensor:
        """The probability of each value, `[..., batch, variables k]`."""
        return of_variables(self.scores, self.variables).softmax(dim=-1).flatten(-2)

    @torch.no_grad()
    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return exact, independent samples `[samples, ..., batch, variables k]`, detached."""
        noise = gumbel(self.scores.expand(samples, *self.scores.shape), generator)
        values = of_variables(self.scores + noise, self.variables)
        codes = codes_of(values.argmax(dim=-1), values.shape[-1])
        return codes.to(self.scores.dtype)


@dataclass(frozen=True)
class Categories(StateSpace):
    """The space of one or several variables of k values each; pairs may have scores.

    A state is one-hot for each variable, one after the other: z `[variables k]` is one at
    i k + x_i.

    Attributes:
        variables: how many there are.

    Raises:
        StructureError: `variables` is not a whole number of at least 1.

    Example:
        >>> Categories(2).states(4, torch.zeros(1)).long().tolist()
        [[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]
    """

    variables: int = 1

    def __post_init__(self) -> None:
        positive_integer(self.variables, "variables")

    independent: ClassVar[bool] = True
    categorical: ClassVar[bool] = True

    @property
    def one_variable(self) -> bool:
        """Whether there is one variable."""
        return self.variables == 1

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return the best value of each variable, one-hot.

        Args:
            scores: `[..., batch, variables k]`.
            mask: boolean, False where a value is forbidden.

        Raises:
            StructureError: `scores` is not a tensor of scores of that shape, or all values of a
                variable are masked.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        values = self._values(scores, mask)
        return codes_of(values.argmax(dim=-1), values.shape[-1]).to(scores.dtype)

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> CategorySums:
        """Return the sums of independent variables; takes and raises what `argmax` does."""
        return CategorySums(self._values(scores, mask).flatten(-2), self.variables)

    def _values(self, scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the checked scores `[..., variables, k]`, minus infinity where the mask is False.

        Raises:
            StructureError: see `argmax`.
        """
        require_scores(scores)
        if not scores.ndim:
            raise StructureError(f"scores must be [..., {self.variables} k]; got a single number")
        self.check(scores.shape[-1])
        values = of_variables(masked(scores, mask), self.variables)
        if mask is not None:
            refuse_forbidden((values == -torch.inf).all(dim=-1), type(self).__name__)
        return values

    def variable_count(self, n: int) -> int:
        """Return how many variables there are."""
        return self.variables

    def has_one_state(self, n: int) -> bool:
        """Return whether each variable has a single value."""
        return n == self.variables

    def described(self, n: int) -> str:
        """Return how many variables there are, and of how many values."""
        return f"{self.variables} variables of {n // self.variables} values"

    def check(self, n: int) -> None:
        """Raise unless n is a multiple of the number of variables.

        Raises:
            StructureError: n is not a multiple of the number of variables.
        """
        if n % self.variables:
            raise StructureError(f"{n} scores are not those of {self.variables} variables")

    def log_count(self, n: int) -> float:
        """Return variables * log k."""
        return self.variables * math.log(n // self.variables)

    def contains(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, whether each variable has one value."""
        check_states(z)
        self.check(z.shape[-1])
        return (of_variables(z, self.variables).sum(dim=-1) == 1).all(dim=-1)

    def states(self, n: int, like: torch.Tensor) -> torch.Tensor:
        """Return every state `[k^variables, variables k]`; the first variable changes fastest.

        Raises:
            models.errors.SettingError: there are more than 2^20.
        """
        return all_labels(self.variables, n // self.variables, like)

    def index(self, z: torch.Tensor, states: torch.Tensor | None = None) -> torch.Tensor:
        """Return `[...]`, the place in `states`."""
        values = of_variables(z, self.variables)
        return label_index(values.argmax(dim=-1), values.shape[-1])

    def neighbours(self, z: torch.Tensor, scores: torch.Tensor | None = None) -> torch.Tensor:
        """Return `[..., n, n]`: at i k + a the state with the value a of variable i."""
        return changes_of_values(z, self.variables)

    def around(
        self, cost: Any, z: torch.Tensor, scores: torch.Tensor | None = None
    ) -> Neighbourhood:
        """Return the cost at z, and with each value of each variable less their mean.

        Adding one number to the costs of all values of a variable changes no argmax.
        """
        neighbourhood = cost.around(z)
        values = of_variables(neighbourhood.slope, self.variables)
        centred = values - values.mean(dim=-1, keepdim=True)
        return Neighbourhood(neighbourhood.cost, centred.flatten(-2))

    def minimises(self, slope: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, whether each variable has its value of least slope."""
        values = of_variables(slope, self.variables)
        chosen = (values * of_variables(z, self.variables)).sum(dim=-1)
        return (chosen == values.amin(dim=-1)).all(dim=-1)

    def noise(self, like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return independent Gumbel variables, under which the argmax is an exact sample."""
        return gumbel(like, generator)

    def relaxed(self, scores: torch.Tensor, temperature: torch.Tensor | float) -> torch.Tensor:
        """Return `[..., n]`: the softmax of each variable's perturbed scores / temperature."""
        return of_variables(scores / temperature, self.variables).softmax(dim=-1).flatten(-2)

    def scores_of(self, marginals: torch.Tensor) -> torch.Tensor:
        """Return the logarithms `[..., n]` of the probabilities of the values."""
        return marginals.log()

    def gapped(self, unary: torch.Tensor, z: torch.Tensor, gap: float) -> torch.Tensor:
        """Return scores under which the value in z is best, the others below it by `gap`.

        The value in z gets the score of the best value. The other values keep their scores, but for
        those that would be less than `gap` below.
        """
        values = of_variables(unary, self.variables)
        top = values.amax(dim=-1, keepdim=True)
        chosen = of_variables(z, self.variables).bool()
        return torch.where(chosen, top, torch.minimum(values, top - gap)).flatten(-2)

    def normalised(self, unary: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of each value's probability, `[..., variables k]`."""
        return of_variables(unary, self.variables).log_softmax(dim=-1).flatten(-2)

    def noise_given(
        self, unary: torch.Tensor, z: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        """Return perturbed scores `[..., n]` drawn from their distribution given their argmax z.

        References:
            Tucker et al. (2017), REBAR, appendices B and C.
        """
        log_p = self.normalised(unary)
        top = of_variables(z * noise, self.variables).sum(dim=-1, keepdim=True)
        top = top.expand(*top.shape[:-1], unary.shape[-1] // self.variables).flatten(-2)
        below = -torch.logaddexp(-noise - log_p, -top)
        return torch.where(z.bool(), top, below)

    def uniform(
        self, n: int, count: int, generator: torch.Generator, like: torch.Tensor
    ) -> torch.Tensor:
        """Return `[count, n]`: values that are equally probable."""
        k = n // self.variables
        shape = (count, self.variables)
        values = random_numbers(torch.randint, k, shape, generator=generator, device=like.device)
        return codes_of(values, k).to(like.dtype)

    def maximise(
        self, potentials: AnyPotentials, solver: str | ArgmaxSolver | LabelSolver = "auto"
    ) -> torch.Tensor:
        """Return the state of highest score `[..., batch, n]`; `solvers.labels` solves pairs.

        On a device, "auto" lets torch search a table of few states.

        Raises:
            solvers.SolverError: the solver cannot take these potentials.
        """
        h = cast("CategoricalPotentials", potentials)
        if h.pairwise is None or h.edges is None:
            return self.argmax(h.unary)
        if solver == "auto":
            z = device_argmax(h, self.argmax)
            if z is not None:
                return z
        unary = of_variables(h.unary, self.variables)
        edges = h.edge_array()
        if h.potts:
            solution = labels.solve(unary, potts=h.pairwise, edges=edges, solver=solver)
        else:
            solution = labels.solve(unary, h.tables(), edges=edges, solver=solver)
        return codes_of(solution.labels, unary.shape[-1]).to(h.unary.dtype)

    def sums(self, potentials: AnyPotentials) -> LabelSums:
        """Return the sums over all states of variables with pairwise scores.

        Raises:
            solvers.UnsupportedProblemError: the treewidth is too large.
        """
        return LabelSums.of(cast("CategoricalPotentials", potentials))

    def uniforms_shape(self, sums: LabelSums, samples: int) -> tuple[int, ...]:
        """Return the shape of the uniform numbers that drawing so many samples takes."""
        return (samples, *sums.shape)

    def completions(
        self,
        potentials: AnyPotentials,
        generator: torch.Generator,
        samples: int,
        count: int | None,
        tracked: Callable[..., Any],
    ) -> Completions:
        """Return samples, each with the other values of single variables.

        Raises:
            solvers.UnsupportedProblemError: the treewidth is too large.
        """
        h = potentials
        k = h.unary.shape[-1] // self.variables
        shape = (samples, len(h.unary), self.variables)
        drawn = random_numbers(
            torch.rand, shape, generator=generator, device=h.unary.device, dtype=torch.float64
        )
        variables = drawn_variables(drawn, generator, count)
        if h.pairwise is None:
            # Independent variables: the inverse of the distribution function gives the sample, and
            # another value of one variable leaves all other variables as they are.
            probabilities = of_variables(h.unary, self.variables).softmax(dim=-1)
            wide = of_variables(h.unary.detach().double(), self.variables)
            cumulative = wide.softmax(dim=-1).cumsum(dim=-1)
            # Scaling by the last sum keeps a draw within the values, whatever the rounding.
            values = (drawn[..., None] * cumulative[..., -1:] >= cumulative[..., :-1]).sum(dim=-1)
            others = _other_values(values, variables, k)
            moved = values[:, :, None, None].repeat(1, 1, *others.shape[-2:], 1)
            places = variables[..., None].expand(others.shape)[..., None]
            moved = moved.scatter(-1, places, others[..., None]).movedim(1, 3)
            rows = variables[..., None].expand(*variables.shape, k)
            conditionals = probabilities.expand(samples, -1, -1, -1).gather(2, rows)
        else:
            # With pairs, the variables after the changed one are drawn again, by `solvers`.
            solved, conditionals = tracked(drawn, variables)
            values = solved.samples
            moved = solved.completed
            others = _other_values(values, variables, k)
        z = codes_of(values, k).to(h.unary.dtype)
        completed = codes_of(moved, k).to(h.unary.dtype)
        return ValueCompletions(z, variables, completed, conditionals, others)


def _other_values(values: torch.Tensor, variables: torch.Tensor, k: int) -> torch.Tensor:
    """Return the other values of m variables `[samples, batch, m, k - 1]`, from the next one on."""
    steps = torch.arange(1, k, device=values.device)
    return (values.gather(-1, variables)[..., None] + steps) % k
