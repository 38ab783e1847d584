"""The base class of the encoders of one hidden layer, for variables of any number of values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

import torch
from torch import nn

from ...constants import ModuleWithConstants
from ...host_edges import HostEdges, once_on_host
from ...potentials import LatentSpace, LinearScores
from ...shapes import Images

PotentialsT = TypeVar("PotentialsT", bound=LinearScores)


class HiddenLayerEncoder(ModuleWithConstants, ABC, Generic[PotentialsT]):
    """The base class of encoders pixels -> hidden -> ReLU -> scores of variables and of pairs.

    A subclass sets `network` in its `__init__`.

    Args:
        pixels: number of pixels of an image.
        variables: number of variables.
        bandwidth: the largest distance of two variables of a pair in their order; 0 for all pairs.
        coupled: whether there are pairs.

    Attributes:
        custom: whether a caller gave the network: False.
        has_pairs: whether variables always have pairwise scores.
        edges: the pairs `[e, 2]` of variables with pairwise scores.
        space: the space of the states; None for all that the variables can take.
        name: the name of the class.
    """

    custom: ClassVar[bool] = False
    has_pairs: ClassVar[bool] = False

    edges: torch.Tensor
    network: nn.Sequential

    def __init__(self, pixels: int, variables: int, bandwidth: int, coupled: bool):
        super().__init__()
        self.pixels = pixels
        self.bandwidth = bandwidth
        self.space: LatentSpace | None = None
        self._known_edges: HostEdges | None = None
        pairs: Callable[[], torch.Tensor] = no_pairs
        if coupled:
            pairs = partial(pairs_within, variables, bandwidth)
        self.register_constant("edges", pairs)

    def forward(self, x: Images) -> PotentialsT:
        """Return the potentials of images `x [batch, pixels]`."""
        return self.potentials(self.network(x))

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> PotentialsT:
            """Return the result of `forward`, typed."""

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def probe(self) -> PotentialsT:
        """Return the potentials of one image if every output of the network were -1."""
        last = cast("nn.Linear", self.network[-1])
        return self.potentials(-torch.ones((1, last.out_features)))

    @abstractmethod
    def potentials(self, outputs: torch.Tensor) -> PotentialsT:
        """Return the potentials of outputs `[batch, outputs]` of the network."""

    def _host_edges(self) -> HostEdges | None:
        if self._known_edges is None:
            self._known_edges = once_on_host(self.edges)
        return self._known_edges


def no_pairs() -> torch.Tensor:
    """Return no pairs `[0, 2]`."""
    return torch.empty((0, 2), dtype=torch.long)


def pairs_within(n: int, bandwidth: int) -> torch.Tensor:
    """Return the pairs `[e, 2]`, i < j, of variables at most `bandwidth` apart."""
    if not bandwidth:
        return torch.triu_indices(n, n, 1).T.contiguous()
    near = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + bandwidth + 1))]
    # The shape is given by reshape, since tensors on the device meta have no values.
    return torch.tensor(near, dtype=torch.long).reshape(-1, 2)
