"""The protocols of a set of states among which a network learns to choose."""

from __future__ import annotations

from types import ModuleType
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from typing_extensions import TypeIs

from ..errors import StructureError


@runtime_checkable
class Structure(Protocol):
    """A set of states z in {0,1}^n, and the best of them under sum_i scores[i] z_i.

    The layer, the losses and the estimators accept a structure in place of a solver. States of
    another shape, such as a matching `[n, n]`, are flattened.

    Example:
        >>> class OneOf:
        ...     def argmax(self, scores):
        ...         best = scores.argmax(-1)
        ...         return torch.nn.functional.one_hot(best, scores.shape[-1]).to(scores)
        >>> isinstance(OneOf(), Structure)
        True
    """

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Return a state of highest score `[..., batch, n]` for each of `scores [..., batch, n]`.

        States are zeros and ones of the scores' type, on their device. The scores come without
        gradient and are finite, also where a caller forbids variables by minus infinity. They may
        have any leading dimensions; each instance is solved by itself. The method may use autograd
        in any mode of the caller.
        """


def is_structure(value: object) -> TypeIs[Structure]:
    """Return whether this is a structure; arrays, numpy numbers and modules are not."""
    return isinstance(value, Structure) and not isinstance(
        value, torch.Tensor | np.ndarray | np.generic | type | ModuleType
    )


def refuse_pairs(structure: object, pairwise: torch.Tensor | None) -> None:
    """Raise if there are scores of pairs, which most structures do not take.

    Raises:
        StructureError: `pairwise` is not None.
    """
    if pairwise is not None and not getattr(structure, "takes_pairs", False):
        # A custom space goes by the name of its object.
        inner = getattr(structure, "structure", structure)
        raise StructureError(
            f"{type(inner).__name__} takes one score per variable and no pairwise scores: leave "
            "out pairwise, or pass a solver and constraints= instead of the structure"
        )


class StateSums(Protocol):
    """The distribution p(z) = exp(sum_i scores[i] z_i) / Z over the states of a structure."""

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[batch]` in nats, differentiable in the scores; the marginals are its gradient."""

    @property
    def marginals(self) -> torch.Tensor:
        """The probabilities `[batch, n]` that z_i is 1."""

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return exact, independent samples `[samples, batch, n]`, without gradient."""


@runtime_checkable
class TractableStructure(Structure, Protocol):
    """A structure with exact sums over all states."""

    def gibbs(self, scores: torch.Tensor) -> StateSums:
        """Return the Gibbs distribution of scores `[batch, n]`."""
