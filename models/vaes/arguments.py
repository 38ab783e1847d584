"""Arguments in stored models, from which networks of each kind are made again."""

from __future__ import annotations

from dataclasses import dataclass

from ..priors import PriorOptions


class _WithPrior:
    """Arguments that name a prior and the sizes of its network, as configurations do."""

    prior: str
    prior_hidden: int
    prior_layers: int

    @property
    def prior_options(self) -> PriorOptions:
        """The prior with the sizes of its network."""
        return PriorOptions(self.prior, self.prior_hidden, self.prior_layers)


@dataclass(frozen=True)
class DiscreteArguments(_WithPrior):
    """The arguments of `DiscreteVAE.of_arguments`, apart from options of encoder and space.

    Attributes:
        encoder: a name of `ENCODERS`.
        pixels: number of pixels of an image.
        n: number of bits, or of categories of a variable.
        hidden: number of units of the hidden layers.
        prior: a key of `PRIORS`.
        prior_hidden: as `hidden` of `PriorOptions`.
        prior_layers: as `layers` of `PriorOptions`.
        couplings: the pairwise scores of an encoder of categories.
        space: the name of a space; empty for all states.
    """

    encoder: str
    pixels: int
    n: int
    hidden: int
    prior: str = "uniform"
    prior_hidden: int = 0
    prior_layers: int = 0
    couplings: str = "none"
    space: str = ""


@dataclass(frozen=True)
class GaussianArguments(_WithPrior):
    """The arguments of `GaussianVAE.of_arguments`.

    Attributes:
        pixels: number of values of an image.
        n: number of dimensions of z.
        hidden: number of units of the hidden layers.
        prior: "standard", the standard normal; or a learnt one: "linear", a Gaussian with any
            covariance; "made", an autoregressive mixture of Gaussians; or "flow", a masked
            autoregressive flow.
        prior_hidden: as `hidden` of `PriorOptions`.
        prior_layers: as `layers` of `PriorOptions`.
    """

    pixels: int
    n: int
    hidden: int
    prior: str = "standard"
    prior_hidden: int = 0
    prior_layers: int = 0


@dataclass(frozen=True)
class QuantisedArguments(_WithPrior):
    """The arguments of `QuantisedVAE.of_arguments`.

    Attributes:
        quantiser: a key of `QUANTISERS`.
        n: number of variables.
        codes: number of values of a variable.
        dimensions: length of a vector of the codebook.
        likelihood: a name of `LIKELIHOODS`.
        colours: number of channels of an image.
        height: number of its rows.
        width: number of its columns.
        networks: "dense" or "convolutional".
        hidden: for dense networks, the number of hidden units.
        channels: for convolutional networks, the number of channels of the largest feature maps.
        prior: one of `CODE_PRIORS`.
        prior_hidden: as `hidden` of `PriorOptions`.
        prior_layers: as `layers` of `PriorOptions`.
    """

    quantiser: str
    n: int
    codes: int
    dimensions: int
    likelihood: str
    colours: int
    height: int
    width: int
    networks: str
    hidden: int = 300
    channels: int = 32
    prior: str = "factorised"
    prior_hidden: int = 0
    prior_layers: int = 0

    @property
    def size(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        return self.colours, self.height, self.width
