"""Choose the form in which the page shows the posterior of potentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch

from models import Potentials
from models.potentials import AnyPotentials

from ...distributions import Distribution, Gibbs
from ...spaces import space_of
from .listed_states import ConditionalBits, ListedStates, PerturbedStates
from .one_category import OneCategory
from .shown_posterior import ShownPosterior
from .solved_bits import SolvedBits


def shown_posterior(
    potentials: AnyPotentials, posterior: Callable[[AnyPotentials], Distribution]
) -> ShownPosterior:
    """Return the states of one row of potentials as the page shows them.

    Args:
        potentials: the scores of one image.
        posterior: makes the posterior of the training from potentials.
    """
    if potentials.space is not None:
        return _over_space(potentials, posterior)
    if not space_of(potentials).free_flips:
        return OneCategory(potentials)
    scores = cast("Potentials", potentials)
    wide = posterior(scores.widened(torch.float64))
    if wide.has_density and not wide.tractable:
        return ConditionalBits.of_density(wide)
    return SolvedBits(scores, posterior)


def _over_space(
    potentials: AnyPotentials, posterior: Callable[[AnyPotentials], Distribution]
) -> ShownPosterior:
    """Return the listed states of a space, for the posterior of the training."""
    # The list gives the sums of the Gibbs distribution, also where its space has none.
    if posterior is Gibbs:
        return ListedStates.of_space(potentials)
    wide = cast("Potentials", potentials).widened(torch.float64)
    if posterior(wide).tractable:
        return ListedStates.of_space(potentials)
    return PerturbedStates.of_posterior(wide, posterior)
