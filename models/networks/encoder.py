"""The encoders, which map an image to the potentials of its posterior."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final, cast

import torch
from torch import nn

from ..errors import SettingError
from ..host_edges import HostEdges, once_on_host
from ..potentials import CategoricalPotentials, LatentSpace, Potentials
from ..shapes import Images
from .layers import Linear

Link = Callable[[torch.Tensor], torch.Tensor]
"""A function from outputs of the network to pairwise scores."""

WEAK = -3.0
"""The initial output for a pairwise score that cannot be negative: softplus(-3) = 0.05."""


class Encoder(nn.Module):
    """The encoder pixels -> hidden -> ReLU -> potentials over n bits, with pairs if it has a link.

    Args:
        pixels: number of pixels of an image.
        n: number of bits.
        hidden: number of units of the hidden layer; the paper has 300.
        link: turns outputs into pairwise scores; None for no pairwise scores.
        bandwidth: the largest distance of two variables of a pair in their order. 1 makes a chain;
            the treewidth is the bandwidth. 0 for all pairs.

    Attributes:
        custom: whether a caller gave the network: False.
        categorical: whether variables have categories: False.
        name: the name of the class.
    """

    custom: ClassVar[bool] = False
    categorical: ClassVar[bool] = False

    edges: torch.Tensor

    def __init__(
        self, pixels: int, n: int, hidden: int = 300, link: Link | None = None, bandwidth: int = 0
    ):
        super().__init__()
        self.pixels = pixels
        pairs = torch.empty((0, 2), dtype=torch.long)
        if link:
            pairs = _pairs(n, bandwidth)
        self.n = n
        self.link = link
        self.bandwidth = bandwidth
        self.space: LatentSpace | None = None
        self._known_edges: HostEdges | None = None
        self.register_buffer("edges", pairs.contiguous(), persistent=False)
        self.network = nn.Sequential(
            Linear(pixels, hidden), nn.ReLU(), Linear(hidden, n + len(pairs))
        )

    def forward(self, x: Images) -> Potentials:
        """Return the potentials of images `x [batch, pixels]`."""
        return self.potentials(self.network(x))

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> Potentials:
            """Return the result of `forward`, typed."""

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

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
        return arguments

    def takes(self, space: LatentSpace) -> bool:
        """Return whether states may be restricted to a space, which has to have states of n bits.

        Pairwise scores exclude a space.
        """
        if self.link is not None:
            return False
        space.check(self.n)
        return True

    def probe(self) -> Potentials:
        """Return the potentials of one image if every output of the network were -1.

        A training is rejected before it begins if its solver cannot take them. Override this method
        in an encoder that gives more difficult scores from other outputs.
        """
        return self.potentials(_lowest_outputs(self.network))

    def _host_edges(self) -> HostEdges | None:
        if self._known_edges is None:
            self._known_edges = once_on_host(self.edges)
        return self._known_edges

    def potentials(self, outputs: torch.Tensor) -> Potentials:
        """Return the potentials of outputs `[batch, n + e]` of the network."""
        if self.link is None:
            return Potentials(outputs, space=self.space)
        return Potentials(
            outputs[:, : self.n],
            self.link(outputs[:, self.n :]),
            self.edges,
            host_edges=self._host_edges(),
        )


def _lowest_outputs(network: nn.Sequential) -> torch.Tensor:
    """Return outputs `[1, outputs]` of -1."""
    last = cast("nn.Linear", network[-1])
    return -torch.ones((1, last.out_features))


def _pairs(n: int, bandwidth: int) -> torch.Tensor:
    """Return the pairs `[e, 2]`, i < j, of variables at most `bandwidth` apart."""
    if not bandwidth:
        return torch.triu_indices(n, n, 1).T
    near = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + bandwidth + 1))]
    # The shape is given by reshape, since tensors on the device meta have no values.
    return torch.tensor(near, dtype=torch.long).reshape(-1, 2)


def independent_encoder(pixels: int, n: int, hidden: int = 300) -> Encoder:
    """Return an encoder without pairwise scores: variables are independent given the image."""
    return Encoder(pixels, n, hidden)


def supermodular_encoder(pixels: int, n: int, hidden: int = 300, bandwidth: int = 0) -> Encoder:
    """Return an encoder with pairwise scores >= 0, by softplus: its argmax is a minimum cut.

    The scores start small. With softplus(0) = 0.69 for each of n - 1 pairs all variables would
    start as ones for every image, and only large steps of epsilon would move them.
    """
    encoder = Encoder(pixels, n, hidden, nn.functional.softplus, bandwidth)
    last = cast("nn.Linear", encoder.network[-1])
    nn.init.constant_(last.bias[n:], WEAK)
    return encoder


def general_encoder(pixels: int, n: int, hidden: int = 300, bandwidth: int = 0) -> Encoder:
    """Return an encoder with pairwise scores of any sign."""
    return Encoder(pixels, n, hidden, _identity, bandwidth)


def _identity(outputs: torch.Tensor) -> torch.Tensor:
    return outputs


class CategoricalEncoder(nn.Module):
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
        name: the name of the class.
    """

    custom: ClassVar[bool] = False
    categorical: ClassVar[bool] = True

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
        pairs = torch.empty((0, 2), dtype=torch.long)
        if couplings != "none":
            pairs = _pairs(variables, bandwidth)
        # A single variable has no pair to couple.
        if not len(pairs):
            couplings = "none"
        self.pixels = pixels
        self.k = k
        self.n = variables * k
        self.variables = variables
        self.couplings = couplings
        self.bandwidth = bandwidth
        self.space: LatentSpace | None = None
        self._known_edges: HostEdges | None = None
        self.register_buffer("edges", pairs.contiguous(), persistent=False)
        of_pairs = len(pairs)
        if couplings == "general":
            of_pairs *= k**2
        self.network = nn.Sequential(
            Linear(pixels, hidden), nn.ReLU(), Linear(hidden, self.n + of_pairs)
        )

    def forward(self, x: Images) -> CategoricalPotentials:
        """Return the potentials of images `x [batch, pixels]`."""
        return self.potentials(self.network(x))

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> CategoricalPotentials:
            """Return the result of `forward`, typed."""

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

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

    def probe(self) -> CategoricalPotentials:
        """Return the potentials of one image if every output of the network were -1."""
        return self.potentials(_lowest_outputs(self.network))

    def _host_edges(self) -> HostEdges | None:
        if self._known_edges is None:
            self._known_edges = once_on_host(self.edges)
        return self._known_edges

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


ENCODERS: Final[dict[str, Callable[..., Encoder | CategoricalEncoder]]] = {
    "independent": independent_encoder,
    "supermodular": supermodular_encoder,
    "general": general_encoder,
    "categorical": CategoricalEncoder,
}
"""The encoders by the name that a configuration gives them.

Their arguments are pixels, n (k for a categorical one) and hidden units; those of `COUPLED` also
take a bandwidth.
"""

COUPLINGS: Final = ("none", "potts", "general")
"""The couplings of variables of k values."""

COUPLED: Final = ("supermodular", "general")
"""The encoders of bits with pairwise scores."""


def encoder_name(encoder: nn.Module) -> str | None:
    """Return the name under which `ENCODERS` makes such an encoder; None for other encoders."""
    if type(encoder) is CategoricalEncoder:
        return "categorical"
    if type(encoder) is not Encoder:
        return None
    links: dict[Link | None, str] = {
        None: "independent",
        nn.functional.softplus: "supermodular",
        _identity: "general",
    }
    return links.get(encoder.link)
