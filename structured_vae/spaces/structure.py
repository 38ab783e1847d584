"""What a set of states has to be able to do, so that a network can learn to choose among them."""

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

    The layer, the losses and the estimators that ask for an argmax take one where they take a
    solver. What has another shape by nature, such as a matching `[n, n]`, is flattened.

    Example:
        >>> class OneOf:
        ...     def argmax(self, scores):
        ...         return torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores)
        >>> isinstance(OneOf(), Structure)
        True
    """

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """A state of highest score `[..., batch, n]` for each of `scores [..., batch, n]`.

        Zeros and ones of the scores' type, on their device. The scores come without gradient and
        are finite, also where a caller forbids variables by minus infinity; any leading dimensions,
        each instance by itself. The method may use autograd, whatever mode it is asked in.
        """


def is_structure(value: object) -> TypeIs[Structure]:
    """Whether this is a structure; arrays, numbers of numpy and modules have an argmax too, which is another one."""
    return isinstance(value, Structure) and not isinstance(
        value, torch.Tensor | np.ndarray | np.generic | type | ModuleType
    )


def refuse_pairs(structure: object, pairwise: torch.Tensor | None) -> None:
    """Refuses scores of pairs, which no structure has.

    Raises:
        StructureError: there are some.
    """
    if pairwise is not None:
        inner = getattr(structure, "structure", structure)  # of a user's object, its own name
        raise StructureError(f"{type(inner).__name__} has scores of variables and none of pairs")


class StateSums(Protocol):
    """p(z) = exp(sum_i scores[i] z_i) / Z over the states of a structure."""

    @property
    def log_partition(self) -> torch.Tensor:
        """`[batch]`: log Z in nats, differentiable in the scores; its gradient is the marginals."""

    @property
    def marginals(self) -> torch.Tensor:
        """`[batch, n]`: P(z_i = 1)."""

    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """`[samples, batch, n]`: exact, independent draws, without gradient."""


@runtime_checkable
class TractableStructure(Structure, Protocol):
    """A structure whose sums over all states can be had."""

    def gibbs(self, scores: torch.Tensor) -> StateSums:
        """The Gibbs distribution of `scores [batch, n]`."""
