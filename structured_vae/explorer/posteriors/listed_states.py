"""The posterior whose states are all listed, each with its score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from models.potentials import AnyPotentials
from models.states import all_states

from ...distributions import Distribution
from ...errors import RunError
from ...spaces import space_of
from .shown_posterior import DRAWS, GIBBS_OF_SCORES, Fixed, Ranked, ShownPosterior

ROWS: Final = 1 << 14
"""The number of states whose scores are computed at once."""


@dataclass(frozen=True, eq=False)
class ListedStates(ShownPosterior):
    """The states of a space, or all states of n bits, with probability exp(score) / Z.

    Sums and samples given fixed bits are exact: they are sums over the listed states that have
    these bits.

    Attributes:
        states: `[m, n]`, every state, as whole numbers of one byte.
        score: returns the scores `[rows]` of states `[rows, n]`.
        dtype: the type of the states that `score` takes.
        how: how marginals are computed, in words.
        certified: whether the highest score is that of an exact argmax.
    """

    states: torch.Tensor
    score: Callable[[torch.Tensor], torch.Tensor]
    dtype: torch.dtype
    how: str
    certified: bool = True

    @classmethod
    def of_space(cls, potentials: AnyPotentials) -> ListedStates:
        """Return the states of the space of one row of potentials, scored by these."""
        states = potentials.states()

        def score(z: torch.Tensor) -> torch.Tensor:
            return potentials.table(z)[0]

        return cls(states.to(torch.int8), score, states.dtype, "the Gibbs distribution, exact")

    def ranked(self, fixed: Fixed, count: int) -> Ranked:
        """Return the `count` best states with the fixed bits, or all if there are fewer."""
        places = self._places(fixed)
        scores = self._all_scores[places]
        log_total = float(scores.logsumexp(dim=0))
        log_z = float(self._all_scores.logsumexp(dim=0))
        order = scores.argsort(descending=True, stable=True)[:count]
        best = scores[order].numpy()
        bound: float | None = None
        note = f"the highest score of all {len(places):,} states, without a certificate"
        if self.certified:
            bound = float(best[0])
            note = ""
        return Ranked(
            self.states[places[order]].numpy(),
            best,
            np.full(len(best), self.certified),
            bound,
            best - log_z,
            best - log_total,
            note,
        )

    def marginals(
        self, fixed: Fixed, generator: torch.Generator
    ) -> tuple[NDArray[np.float64], str]:
        """Return P(z_i = 1) `[n]` given the fixed bits, from the listed states."""
        places = self._places(fixed)
        probabilities = self._all_scores[places].softmax(dim=0)
        states = self.states[places]
        sums = [probabilities[column == 1].sum() for column in states.T]
        return torch.stack(sums).numpy(), self.how

    def draws(self, fixed: Fixed, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return independent draws `[count, n]` of the listed states with the fixed bits."""
        places = self._places(fixed)
        probabilities = self._all_scores[places].softmax(dim=0)
        drawn = torch.multinomial(probabilities, count, replacement=True, generator=generator)
        return self.states[places[drawn]]

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """Return the scores `[m]` of states `[m, n]`, in float64."""
        parts = [self.score(rows.to(self.dtype)).double() for rows in torch.split(states, ROWS)]
        return torch.cat(parts)

    @cached_property
    def _all_scores(self) -> torch.Tensor:
        """The scores `[m]` of all states."""
        with torch.no_grad():
            return self.scores(self.states)

    def _places(self, fixed: Fixed) -> torch.Tensor:
        """Return the places of the states that have the fixed bits.

        Raises:
            RunError: no state has them.
        """
        allowed = torch.ones(len(self.states), dtype=torch.bool)
        for i, value in fixed.items():
            allowed &= self.states[:, i] == value
        if not bool(allowed.any()):
            raise RunError(f"no state has all of these bits: {dict(fixed)}; free one of them")
        return allowed.nonzero()[:, 0]


@dataclass(frozen=True, eq=False)
class PerturbedStates(ListedStates):
    """The states of a space, whose posterior is the best one under noisy scores.

    Its probabilities are not known where the variables depend on each other, so marginals come from
    draws. States are ranked by their scores.

    Attributes:
        potentials: one row of scores, in float64.
        posterior: makes the posterior of the training from potentials.
    """

    potentials: AnyPotentials = field(kw_only=True)
    posterior: Callable[[AnyPotentials], Distribution] = field(kw_only=True)

    @classmethod
    def of_posterior(
        cls, potentials: AnyPotentials, posterior: Callable[[AnyPotentials], Distribution]
    ) -> PerturbedStates:
        """Return the states of the space of one row of potentials."""
        listed = ListedStates.of_space(potentials)
        return cls(
            listed.states,
            listed.score,
            listed.dtype,
            f"perturb-and-MAP, {DRAWS} draws",
            potentials=potentials,
            posterior=posterior,
        )

    @property
    def density(self) -> str:
        """How the probability of a state follows from its score, in words."""
        return GIBBS_OF_SCORES

    def marginals(
        self, fixed: Fixed, generator: torch.Generator
    ) -> tuple[NDArray[np.float64], str]:
        """Return P(z_i = 1) `[n]` given the fixed bits, from draws of the posterior."""
        self._places(fixed)  # raises where no state has these bits
        h = self.potentials
        clamped = replace(h, unary=space_of(h).clamped(h.unary, dict(fixed)))
        z = self.posterior(clamped).sample(generator, DRAWS)[:, 0]
        for i, value in fixed.items():
            z = z[z[:, i] == value]
        return z.double().mean(dim=0).numpy(), self.how


class ConditionalBits(ListedStates):
    """All states of an autoregressive posterior, scored by their log density.

    Given fixed bits, the conditionals of earlier bits change, so that no single pass over the bits
    gives the best state or exact samples. Sums over all states do.
    """

    couplings = (
        "Pairwise scores of this image: in a red pair, the lower bit being 1 makes the higher bit "
        "more probable; in a blue pair, less probable."
    )

    @property
    def density(self) -> str:
        """How the probability of a state follows from its score, in words."""
        return "the product of the conditionals; the score is its log"

    @classmethod
    def of_density(cls, q: Distribution) -> ConditionalBits:
        """Return all states of a distribution of one image whose density is known."""
        unary = q.potentials.unary
        states = all_states(unary.shape[-1], unary.new_empty(0, dtype=torch.int8))

        def score(z: torch.Tensor) -> torch.Tensor:
            return q.log_prob(z[:, None])[:, 0]

        return cls(
            states,
            score,
            unary.dtype,
            f"autoregressive, exact sums over all {len(states):,} states",
            certified=False,
        )


class PriorStates(ListedStates):
    """All states of a learnt prior whose density is known."""

    @property
    def density(self) -> str:
        """How the probability of a state follows from its score, in words."""
        return "the density of the prior; the score is its log"

    @classmethod
    def of_density(
        cls, potentials: AnyPotentials, log_prob: Callable[[torch.Tensor], torch.Tensor]
    ) -> PriorStates:
        """Return the states of one row of potentials, scored by log p(z) `[rows]`."""
        states = potentials.states()
        how = f"exact sums over all {len(states):,} states"
        return cls(states.to(torch.int8), log_prob, states.dtype, how, certified=False)
