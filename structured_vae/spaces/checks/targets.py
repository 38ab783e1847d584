"""Check the target states of losses against the scores."""

from __future__ import annotations

import torch

from models import Potentials
from models.traced import holds, is_traced
from solvers import ProblemError

from ...errors import shortened
from .batches import check_dense


def check_target(target: object, potentials: Potentials) -> None:
    """Raise unless `target` is a state of the scores that they allow.

    Compiled code checks the shape only, and `torch.func` not whether the scores allow it.

    Args:
        target: `[..., batch, n]`.
        potentials: the scores.

    Raises:
        solvers.ProblemError: `target` has another shape or other values, or the scores forbid it.
    """
    shape = potentials.unary.shape
    if isinstance(target, torch.Tensor):
        check_dense(target, "target", ProblemError)
    if not isinstance(target, torch.Tensor) or target.shape != shape:
        received = shortened(target)
        if isinstance(target, torch.Tensor):
            received = str(list(target.shape))
        raise ProblemError(f"target must be states {list(shape)}; got {received}")
    if not holds((target == 0) | (target == 1)):
        raise ProblemError("target must be zeros and ones; got other values")
    if not is_traced():
        _check_allowed(target, potentials)


def _check_allowed(target: torch.Tensor, potentials: Potentials) -> None:
    """Raise where the scores forbid the target."""
    forbidden = potentials.forbidden
    pairs = potentials.forbidden_pairs
    if forbidden is not None and bool((forbidden & (target > 0)).any()):
        place = (forbidden & (target > 0)).nonzero()[0].tolist()
        raise ProblemError(
            f"target{place} is 1, and unary{place} is minus infinity, which forbids that"
        )
    if pairs is None or potentials.edges is None:
        return
    taken = pairs & (potentials.pairs(target) > 0)
    if bool(taken.any()):
        *place, edge = taken.nonzero()[0].tolist()
        both = potentials.edges[edge].tolist()
        raise ProblemError(
            f"variables {both} of target{place} are both 1, "
            "and the score of that pair is minus infinity"
        )
