"""The base class of encoders, which map an image to the potentials of its posterior."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import nn

from ...potentials import LatentSpace, Potentials
from ..layers import Linear
from .hidden_layer import HiddenLayerEncoder

# Pickles of 0.2.0 before its release look for these two functions here.
from .hidden_layer import no_pairs as no_pairs
from .hidden_layer import pairs_within as pairs_within


class Encoder(HiddenLayerEncoder[Potentials]):
    """The base class of encoders pixels -> hidden -> ReLU -> potentials over n bits.

    A subclass with pairwise scores sets `has_pairs`. Its pairwise scores are outputs of the network
    for every pair, unless it overrides `pair_outputs` and `pair_scores`. A subclass may have more
    arguments, with defaults: they are options of `paper_vae`, and `encoder_options` of a
    configuration. Where `pair_outputs` needs one, set it before you call the `__init__` of this
    class.

    Args:
        pixels: number of pixels of an image.
        n: number of bits.
        hidden: number of units of the hidden layer; the paper has 300.
        bandwidth: the largest distance of two variables of a pair in their order. 1 makes a chain;
            the treewidth is the bandwidth. 0 for all pairs.

    Attributes:
        custom: whether a caller gave the network: False.
        categorical: whether variables have categories: False.
        has_pairs: whether bits have pairwise scores.
        nonnegative_pairs: whether no pairwise score is ever negative, so that a minimum cut finds
            the argmax. False unless a subclass declares it.
        options: the arguments beside pixels, n and hidden that `paper_vae` made the encoder with.
        edges: the pairs `[e, 2]` of bits with a pairwise score.
        name: the name of the class.
    """

    categorical: ClassVar[bool] = False
    nonnegative_pairs: ClassVar[bool] = False

    def __init__(self, pixels: int, n: int, hidden: int = 300, bandwidth: int = 0):
        super().__init__(pixels, n, bandwidth, self.has_pairs)
        self.options: dict[str, int | str] = {}
        self.n = n
        self.network = nn.Sequential(
            Linear(pixels, hidden), nn.ReLU(), Linear(hidden, n + self.pair_outputs())
        )

    @property
    def variables(self) -> int:
        """The number of variables, which are bits."""
        return self.n

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `paper_vae` beside name, pixels and hidden units."""
        arguments: dict[str, int | str] = {"n": self.n}
        if self.bandwidth:
            arguments["bandwidth"] = self.bandwidth
        return arguments | self.options

    def takes(self, space: LatentSpace) -> bool:
        """Return whether states may be restricted to a space, which has to have states of n bits.

        Pairwise scores exclude a space.
        """
        if self.has_pairs:
            return False
        space.check(self.n)
        return True

    def probe(self) -> Potentials:
        """Return the potentials of one image if every output of the network were -1.

        The pairwise scores are -1 instead, unless the class declares `nonnegative_pairs`. A
        training is rejected before it begins if its solver cannot take these potentials.
        """
        potentials = super().probe()
        if potentials.pairwise is None or self.nonnegative_pairs:
            return potentials
        return replace(potentials, pairwise=-torch.ones_like(potentials.pairwise))

    def pair_outputs(self) -> int:
        """Return the number of outputs of the network beside the n unary scores."""
        return len(self.edges)

    def pair_scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the pairwise scores `[batch, e]` of outputs `[batch, pair_outputs()]`."""
        return outputs

    def potentials(self, outputs: torch.Tensor) -> Potentials:
        """Return the potentials of outputs `[batch, n + pair_outputs()]` of the network."""
        if not self.has_pairs:
            return Potentials(outputs, space=self.space)
        return Potentials(
            outputs[:, : self.n],
            self.pair_scores(outputs[:, self.n :]),
            self.edges,
            host_edges=self._host_edges(),
        )
