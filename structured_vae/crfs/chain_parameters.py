"""The parameters of a chain as scores, with minus infinity where rules forbid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import torch

from models.traced import holds

from ..errors import StructureError, shortened
from .tag_rules import TagRules

FORBIDDEN_BY_RULES: Final = ("start", "transitions", "end")
"""The attributes of `TagRules`."""


def forbidden_by(rules: TagRules, name: str, k: int) -> np.ndarray:
    """Return the mask of what rules forbid in one of their tables.

    Args:
        rules: the rules.
        name: one of `FORBIDDEN_BY_RULES`.
        k: the number of tags.

    Raises:
        StructureError: the rules are no `TagRules` of k tags.
    """
    if not isinstance(rules, TagRules) or len(rules.start) != k:
        raise StructureError(
            f"rules must be TagRules of {k} tags, as tag_rules returns them; got {shortened(rules)}"
        )
    forbidden: np.ndarray = ~getattr(rules, name)
    return forbidden


def parameter_scores(parameter: torch.Tensor, forbidden: torch.Tensor | None) -> torch.Tensor:
    """Return a parameter in float64, minus infinity where it or the rules forbid."""
    scores = parameter.double()
    if forbidden is not None:
        scores = scores.masked_fill(forbidden, -torch.inf)
    return without_gradient_where_forbidden(scores)


def without_gradient_where_forbidden(scores: torch.Tensor) -> torch.Tensor:
    """Return scores that pass no gradient where they are minus infinity."""
    if not torch.is_grad_enabled():
        return scores
    return scores.masked_fill(scores == -torch.inf, -torch.inf)


def check_parameters(parameters: Iterable[torch.Tensor]) -> None:
    """Raise unless all parameters are finite or minus infinity.

    Raises:
        StructureError: a parameter is nan or plus infinity.
    """
    for parameter in parameters:
        if not holds(parameter < torch.inf):  # nan fails the comparison as well
            raise StructureError(
                "parameters must be finite, or minus infinity where a transition, a first or a "
                "last tag is forbidden"
            )
