"""Encoders: an image in, the potentials of its posterior out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import nn

from .errors import SettingError
from .layers import Linear
from .potentials import CategoricalPotentials, LatentSpace, Potentials
from .shapes import Images

Link = Callable[[torch.Tensor], torch.Tensor]
"""What turns the network's outputs into pairwise scores."""

WEAK = -3.0
"""Output at which a pairwise score starts that cannot be negative: softplus(-3) = 0.05."""


class Encoder(nn.Module):
    """pixels -> hidden -> ReLU -> potentials over n bits, with scores for pairs if there is a link.

    Args:
        pixels: of an image.
        n: binary variables.
        hidden: units of the hidden layer; the paper has 300.
        link: turns outputs into pairwise scores; None for none at all.
        bandwidth: pairs are of variables at most so far apart in their order: 1 for a chain, whose
            treewidth is 1, as that of a band is its width; 0 for all pairs.
    """

    edges: torch.Tensor

    def __init__(
        self, pixels: int, n: int, hidden: int = 300, link: Link | None = None, bandwidth: int = 0
    ):
        super().__init__()
        self.pixels = pixels
        pairs = _pairs(n, bandwidth) if link else torch.empty((0, 2), dtype=torch.long)
        self.n = n
        self.link = link
        self.bandwidth = bandwidth
        self.space: LatentSpace | None = None
        self.register_buffer("edges", pairs.contiguous(), persistent=False)
        self.network = nn.Sequential(
            Linear(pixels, hidden), nn.ReLU(), Linear(hidden, n + len(pairs))
        )

    def forward(self, x: Images) -> Potentials:
        """The potentials of each image of `x [batch, pixels]`."""
        return self.potentials(self.network(x))

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> Potentials:
            """As `forward`; torch says Any."""

    def potentials(self, outputs: torch.Tensor) -> Potentials:
        """The potentials that the network's outputs `[batch, n + e]` stand for."""
        if self.link is None:
            return Potentials(outputs, space=self.space)
        return Potentials(outputs[:, : self.n], self.link(outputs[:, self.n :]), self.edges)


def _pairs(n: int, bandwidth: int) -> torch.Tensor:
    """`[e, 2]`, i < j."""
    if not bandwidth:
        return torch.triu_indices(n, n, 1).T
    near = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + bandwidth + 1))]
    return torch.tensor(near, dtype=torch.long).reshape(
        -1, 2
    )  # also on the device meta, where nothing is counted


def independent_encoder(pixels: int, n: int, hidden: int = 300) -> Encoder:
    """An encoder without pairwise scores: the variables are independent given the image."""
    return Encoder(pixels, n, hidden)


def supermodular_encoder(pixels: int, n: int, hidden: int = 300, bandwidth: int = 0) -> Encoder:
    """An encoder with pairwise scores >= 0, by softplus: its argmax is a minimum cut.

    The scores start small. At softplus(0) = 0.69 for each of n - 1 pairs all variables would start
    as ones, whatever the image, and only large steps of epsilon would move them.
    """
    encoder = Encoder(pixels, n, hidden, nn.functional.softplus, bandwidth)
    last = cast("nn.Linear", encoder.network[-1])
    nn.init.constant_(last.bias[n:], WEAK)
    return encoder


def general_encoder(pixels: int, n: int, hidden: int = 300, bandwidth: int = 0) -> Encoder:
    """An encoder with pairwise scores of any sign."""
    return Encoder(pixels, n, hidden, _identity, bandwidth)


def _identity(outputs: torch.Tensor) -> torch.Tensor:
    return outputs


class CategoricalEncoder(nn.Module):
    """pixels -> hidden -> ReLU -> potentials over variables of k values: one by default, with a logit a value.

    Args:
        pixels: of an image.
        k: values of a variable.
        hidden: units of the hidden layer; the paper has 300.
        variables: how many there are.
        couplings: of pairs of variables: "none"; "potts", a score for equal values; or "general", a
            table of k x k.
        bandwidth: pairs are of variables at most so far apart in their order, as in `Encoder`; 0
            for all pairs.

    Raises:
        SettingError: there are no such couplings.
    """

    edges: torch.Tensor

    def __init__(
        self,
        pixels: int,
        k: int,
        hidden: int = 300,
        variables: int = 1,
        couplings: str = "none",
        bandwidth: int = 0,
    ):
        super().__init__()
        if couplings not in COUPLINGS:
            raise SettingError(
                f"no couplings are called {couplings!r}; there are: {', '.join(COUPLINGS)}"
            )
        pairs = (
            torch.empty((0, 2), dtype=torch.long)
            if couplings == "none"
            else _pairs(variables, bandwidth)
        )
        self.pixels = pixels
        self.k = k
        self.n = variables * k
        self.variables = variables
        self.couplings = couplings if len(pairs) else "none"
        self.bandwidth = bandwidth
        self.register_buffer("edges", pairs.contiguous(), persistent=False)
        of_pairs = len(pairs) * (k**2 if couplings == "general" else 1)
        self.network = nn.Sequential(
            Linear(pixels, hidden), nn.ReLU(), Linear(hidden, self.n + of_pairs)
        )

    def forward(self, x: Images) -> CategoricalPotentials:
        """The potentials of each image of `x [batch, pixels]`."""
        return self.potentials(self.network(x))

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> CategoricalPotentials:
            """As `forward`; torch says Any."""

    def potentials(self, outputs: torch.Tensor) -> CategoricalPotentials:
        """The potentials that the network's outputs `[batch, n + scores of pairs]` stand for."""
        if self.couplings == "none":
            return CategoricalPotentials(outputs, variables=self.variables)
        return CategoricalPotentials(
            outputs[:, : self.n], outputs[:, self.n :], self.edges, self.variables
        )


ENCODERS: Final[dict[str, Callable[..., Encoder | CategoricalEncoder]]] = {
    "independent": independent_encoder,
    "supermodular": supermodular_encoder,
    "general": general_encoder,
    "categorical": CategoricalEncoder,
}
"""The encoders by the name that a configuration gives them, made of pixels, n (k of a categorical one) and hidden
units; those of `COUPLED` of a bandwidth, too."""

COUPLINGS: Final = ("none", "potts", "general")
"""Of variables of k values."""

COUPLED: Final = ("supermodular", "general")
"""Those with pairwise scores."""


def encoder_name(encoder: nn.Module) -> str | None:
    """The name under which `ENCODERS` makes such an encoder; None if it is another."""
    if type(encoder) is CategoricalEncoder:
        return "categorical"
    links: dict[Link | None, str] = {
        None: "independent",
        nn.functional.softplus: "supermodular",
        _identity: "general",
    }
    return links.get(encoder.link) if type(encoder) is Encoder else None
