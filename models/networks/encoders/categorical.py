"""The encoder of variables of k values."""

from __future__ import annotations

from typing import ClassVar, Final

import torch
from torch import nn

from ...errors import SettingError
from ...potentials import CategoricalPotentials, LatentSpace
from ..layers import Linear
from .hidden_layer import HiddenLayerEncoder

COUPLINGS: Final = ("none", "potts", "general")
"""The couplings of variables of k values."""


class CategoricalEncoder(HiddenLayerEncoder[CategoricalPotentials]):
    """The encoder pixels -> hidden -> ReLU -> potentials over variables of k values.

    Args:
        pixels: number of pixels of an image.
        k: number of values of a variable.
        hidden: number of units of the hidden layer; the paper has 300.
        variables: number of variables.
        couplings: scores of pairs of variables: "none"; "potts", a score for equal values; or
            "general", a table of k x k.
        bandwidth: the largest distance of two variables of a pair in their order, as in `Encoder`;
            0 for all pairs.

    Raises:
        SettingError: `couplings` has another name.

    Attributes:
        custom: whether a caller gave the network: False.
        categorical: whether variables have categories: True.
        has_pairs: whether variables have pairwise scores without couplings: False.
        name: the name of the class.
    """

    categorical: ClassVar[bool] = True

    def __init__(
        self,
        pixels: int,
        k: int,
        hidden: int = 300,
        variables: int = 1,
        couplings: str = "none",
        bandwidth: int = 0,
    ):
        if couplings not in COUPLINGS:
            raise SettingError(
                f"no couplings are called {couplings!r}; there are: {', '.join(COUPLINGS)}"
            )
        super().__init__(pixels, variables, bandwidth, couplings != "none")
        # A single variable has no pair to couple.
        if not len(self.edges):
            couplings = "none"
        self.k = k
        self.n = variables * k
        self.variables = variables
        self.couplings = couplings
        of_pairs = len(self.edges)
        if couplings == "general":
            of_pairs *= k**2
        self.network = nn.Sequential(
            Linear(pixels, hidden), nn.ReLU(), Linear(hidden, self.n + of_pairs)
        )

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `paper_vae` beside name, pixels and hidden units."""
        arguments: dict[str, int | str] = {"n": self.k}
        if self.variables > 1:
            arguments |= {"variables": self.variables, "couplings": self.couplings}
        if self.bandwidth:
            arguments["bandwidth"] = self.bandwidth
        return arguments

    def takes(self, space: LatentSpace) -> bool:
        """Return whether states may be restricted to a space: False."""
        return False

    def potentials(self, outputs: torch.Tensor) -> CategoricalPotentials:
        """Return the potentials of outputs `[batch, n + scores of pairs]` of the network."""
        if self.couplings == "none":
            return CategoricalPotentials(outputs, variables=self.variables)
        return CategoricalPotentials(
            outputs[:, : self.n],
            outputs[:, self.n :],
            self.edges,
            self.variables,
            host_edges=self._host_edges(),
        )
