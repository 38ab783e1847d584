"""The VAE whose encoder is a quantiser: each image has one code, without noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Final, cast

import torch
from torch import nn

from ..arguments import image_size, one_of, whole_number
from ..errors import SettingError
from ..likelihoods import Likelihood, likelihood_name, likelihood_of
from ..networks.layers import Linear
from ..networks.token_grids import TokenDecoder, TokenEncoder, token_count
from ..potentials import AnyPotentials, CategoricalPotentials, Potentials
from ..pretrained import Pretrained
from ..pretrained.arguments import with_fields_of
from ..priors import AutoregressivePrior, PriorOptions, States, named_prior
from ..priors.options import with_former_sizes
from ..quantisers import BSQ, FSQ, LFQ, VQ, Quantised, Quantiser
from ..shapes import Costs, Images, Logits
from ..states import codes_of, of_variables
from .arguments import QuantisedArguments

DECAY: Final = 0.99
"""Weight of the past in the frequencies of values."""

FLOOR: Final = 1e-4
"""Share of the uniform distribution in the factorised prior, so that no value is impossible."""

Make = Callable[[int, int, int, int], Quantiser]
"""(variables, codes, dimensions, tokens) -> a quantiser."""

QUANTISERS: Final[dict[str, Make]] = {
    "fsq": lambda variables, codes, dimensions, tokens: FSQ(variables, codes),
    "vq": lambda variables, codes, dimensions, tokens: VQ(variables, codes, dimensions),
    "lfq": lambda variables, codes, dimensions, tokens: LFQ(variables, tokens),
    "bsq": lambda variables, codes, dimensions, tokens: BSQ(variables, tokens),
}
"""The quantisers by name."""

USUAL_CODES: Final = {"fsq": 8, "vq": 256, "lfq": 2, "bsq": 2}
"""The default number of values of a variable."""

NETWORKS: Final = ("dense", "convolutional")
"""The networks around a quantiser."""

CODE_PRIORS: Final = ("factorised", "linear", "made", "transformer")
"""The priors over codes."""


class QuantisedVAE(Pretrained):
    """A VAE whose posterior q(z | x) is one code z(x), which a quantiser makes of features.

    So -log p(x) <= -log p(x | z(x)) - log p(z(x)), a bound without noise. Without `prior`, p(z) is
    factorised: the frequencies of each variable's values in the training's codes, as exponential
    moving averages, mixed with a share of 1e-4 of the uniform distribution.

    Args:
        encoder: maps images `[batch, pixels]` to features `[batch, features]`.
        quantiser: makes a code of the features.
        decoder: maps vectors `[count, features]` to the outputs of a likelihood, `[count, pixels]`.
        likelihood: a name of `LIKELIHOODS`, or a `Likelihood`.
        size: channels, height and width of an image.
        prior: an autoregressive prior over the codes; None for the factorised one.

    Raises:
        SettingError: the prior is over other codes.

    Example:
        >>> vae = quantised_vae("lfq", size=(1, 4, 4), n=3, hidden=5)
        >>> vae.code(torch.zeros(2, 16)).shape
        torch.Size([2, 3])
    """

    usage: ClassVar[str] = (
        "vae.sample(16, torch.Generator().manual_seed(0))  # [16, pixels], in [0, 1]"
    )

    size: torch.Tensor
    frequencies: torch.Tensor

    def __init__(
        self,
        encoder: nn.Module,
        quantiser: Quantiser,
        decoder: nn.Module,
        likelihood: str | Likelihood = "bernoulli",
        size: tuple[int, int, int] = (1, 28, 28),
        prior: AutoregressivePrior | None = None,
    ):
        super().__init__()
        if not isinstance(likelihood, Likelihood):
            likelihood = likelihood_of(likelihood)
        self.encoder = encoder
        self.quantiser = quantiser
        self.decoder = decoder
        self.likelihood = likelihood
        self.image_size = size
        uniform = torch.full((quantiser.variables, quantiser.k), 1 / quantiser.k)
        self.register_buffer("size", torch.tensor(size))
        self.register_buffer("frequencies", uniform)
        if prior is not None:
            prior.check(quantiser.n, quantiser.variables, not quantiser.binary)
        self.prior = prior

    @property
    def n(self) -> int:
        """The length of a code: the number of bits, or of the values of all variables."""
        return self.quantiser.n

    @property
    def pixels(self) -> int:
        """The number of values of an image."""
        return math.prod(self.image_size)

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `of_arguments` that make networks of these shapes."""
        quantiser = self.quantiser
        names = {type(make(1, 2, 1, 1)): name for name, make in QUANTISERS.items()}
        channels, height, width = self.image_size
        arguments: dict[str, int | str] = {
            "quantiser": names[type(quantiser)],
            "n": quantiser.variables,
            "codes": quantiser.k,
            "dimensions": quantiser.dimensions,
            "likelihood": likelihood_name(self.likelihood),
            "colours": channels,
            "height": height,
            "width": width,
        }
        if self.prior is not None:
            arguments |= self.prior.arguments
        return arguments | self._arguments_of_networks()

    def _arguments_of_networks(self) -> dict[str, int | str]:
        weights = dict(self.decoder.named_parameters())
        if isinstance(self.decoder, TokenDecoder):
            last = list(weights.values())[-2]
            return {"networks": "convolutional", "channels": last.shape[0]}
        return {"networks": "dense", "hidden": weights["0.bias"].numel()}

    @classmethod
    @with_fields_of(QuantisedArguments)
    def of_arguments(cls, arguments: QuantisedArguments) -> QuantisedVAE:
        """Make networks with new random weights.

        Args:
            arguments: the fields of `models.vaes.arguments.QuantisedArguments`, by position or
                name.

        Raises:
            SettingError: as for `quantised_vae`.
        """
        return quantised_vae(
            arguments.quantiser,
            size=arguments.size,
            n=arguments.n,
            codes=arguments.codes,
            dimensions=arguments.dimensions,
            networks=arguments.networks,
            hidden=arguments.hidden,
            channels=arguments.channels,
            likelihood=arguments.likelihood,
            prior=arguments.prior_options,
        )

    @property
    def states(self) -> States:
        """The variables of a code, and the number of values of each; 0 for bits."""
        return _states(self.quantiser)

    def with_prior(self, prior: AutoregressivePrior) -> QuantisedVAE:
        """Return a model of the same networks with another prior.

        Raises:
            SettingError: the prior is over other codes.
        """
        vae = QuantisedVAE(
            self.encoder, self.quantiser, self.decoder, self.likelihood, self.image_size, prior
        )
        vae.frequencies.copy_(self.frequencies)
        return vae.to(self.frequencies.device).train(self.training)

    def quantise(self, x: Images, generator: torch.Generator) -> Quantised:
        """Return the codes of images; in training mode codebook and prior learn from them."""
        quantised = self.quantiser(self.encoder(x), generator)
        if self.training:
            with torch.no_grad():
                self.frequencies.lerp_(self.quantiser.frequencies(quantised.z), 1 - DECAY)
        return quantised

    def code(self, x: Images) -> torch.Tensor:
        """Return the code `[batch, n]` of each image: bits, or one-hot vectors of all variables."""
        return self.quantiser.code(self.encoder(x))

    def potentials(self, x: Images) -> AnyPotentials:
        """Return the potentials whose argmax is the code of each image."""
        return self.quantiser.potentials(self.encoder(x))

    def outputs(self, vectors: torch.Tensor) -> Logits:
        """Return the outputs of the decoder for `vectors [..., features]`: `[..., pixels]`."""
        outputs: torch.Tensor = self.decoder(vectors.reshape(-1, vectors.shape[-1]))
        return outputs.reshape(*vectors.shape[:-1], -1)

    def mean(self, z: torch.Tensor) -> Images:
        """Return the mean image of each code `z [..., n]`: `[..., pixels]`."""
        return self.likelihood.mean(self.outputs(self.quantiser.embed(z)))

    def cost(self, x: Images, z: torch.Tensor) -> Costs:
        """Return -log p(x | z) in nats for codes `z [..., batch, n]`: `[..., batch]`."""
        return self.likelihood.cost(self.outputs(self.quantiser.embed(z)), x)

    def straight_through_cost(self, x: Images, quantised: Quantised) -> Costs:
        """Return -log p(x | z) of the codes of `quantise`, with the encoder's gradient."""
        return self.likelihood.cost(self.outputs(quantised.vectors), x)

    def log_prior(self, z: torch.Tensor) -> torch.Tensor:
        """Return log p(z) in nats of codes `z [..., n]`: `[...]`."""
        if self.prior is not None:
            return self.prior.log_prob(z)
        return self.log_factorised(z)

    def log_factorised(self, z: torch.Tensor) -> torch.Tensor:
        """Return log p(z) from the frequencies of values, also if the prior is a learnt one."""
        log_probabilities = self._probabilities().log()
        if self.quantiser.binary:
            zeros, ones = log_probabilities.T
            log_p: torch.Tensor = z @ ones + (1 - z) @ zeros
            return log_p
        values = of_variables(z, self.quantiser.variables)
        return (values * log_probabilities).sum(dim=(-2, -1))

    def factorised_potentials(self) -> AnyPotentials:
        """Return the potentials of the frequencies of values, one row."""
        log_probabilities = self._probabilities().log()
        if self.quantiser.binary:
            zeros, ones = log_probabilities.T
            return Potentials((ones - zeros)[None])
        scores = log_probabilities.flatten()[None]
        return CategoricalPotentials(scores, variables=self.quantiser.variables)

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Images:
        """Return mean images of codes drawn from the prior: `[count, pixels]`.

        Example:
            >>> vae = quantised_vae("fsq", size=(1, 4, 4), n=3, hidden=5)
            >>> vae.sample(2, torch.Generator().manual_seed(0)).shape
            torch.Size([2, 16])
        """
        return self.mean(self.sample_codes(count, generator))

    @torch.no_grad()
    def sample_codes(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return codes `[count, n]` drawn from the prior."""
        if self.prior is not None:
            return self.prior.sample(count, generator)
        labels = torch.multinomial(self._probabilities(), count, True, generator=generator).T
        if self.quantiser.binary:
            return labels.to(self.frequencies.dtype)
        return codes_of(labels, self.quantiser.k).to(self.frequencies.dtype)

    def _probabilities(self) -> torch.Tensor:
        """Return the factorised prior, `[variables, k]`."""
        return (1 - FLOOR) * self.frequencies + FLOOR / self.quantiser.k


@with_former_sizes
def quantised_vae(
    quantiser: str = "fsq",
    *,
    size: tuple[int, int, int] = (1, 28, 28),
    n: int = 64,
    codes: int | None = None,
    dimensions: int = 1,
    networks: str = "dense",
    hidden: int = 300,
    channels: int = 32,
    likelihood: str = "bernoulli",
    prior: str | PriorOptions = "factorised",
) -> QuantisedVAE:
    """Make a VAE with one of the `QUANTISERS`, and with dense or convolutional networks.

    Args:
        quantiser: "fsq", "vq", "lfq" or "bsq".
        size: channels, height and width of an image.
        n: number of variables; for lfq and bsq, number of bits. With convolutions, a multiple of
            the number of tokens, 64 for images of 32 x 32 or 64 x 64.
        codes: number of values of a variable: the levels of fsq, default 8; the vectors in the
            codebook of vq, default 256; 2 for lfq and bsq.
        dimensions: for vq, the length of a vector.
        networks: "dense", one hidden layer each; or "convolutional", to a grid of tokens.
        hidden: for dense networks, the number of hidden units.
        channels: for convolutional networks, the number of channels of the largest feature maps.
        likelihood: a name of `LIKELIHOODS`.
        prior: "factorised", or an autoregressive one over the codes: "linear", "made" or
            "transformer". `models.priors.PriorOptions` adds sizes to the name.

    Raises:
        SettingError: a name is unknown, or a number does not fit the others.

    Warns:
        DeprecationWarning: the sizes of the prior are passed as `prior_hidden` and `prior_layers`,
            which are fields of `PriorOptions`.

    Example:
        >>> vae = quantised_vae("bsq", size=(3, 32, 32), n=256, networks="convolutional")
        >>> vae.code(torch.zeros(2, 3072)).shape
        torch.Size([2, 256])
    """
    options = PriorOptions.of(prior)
    for name, value, names in (
        ("quantiser", quantiser, tuple(QUANTISERS)),
        ("networks", networks, NETWORKS),
        ("prior", options.name, CODE_PRIORS),
    ):
        one_of(value, name, SettingError, names)
    size = image_size(size, "size", SettingError)
    n = whole_number(n, "n", SettingError)
    hidden = whole_number(hidden, "hidden", SettingError)
    channels = whole_number(channels, "channels", SettingError)
    if codes is not None:
        codes = whole_number(codes, "codes", SettingError, none="the usual number")
    dimensions = whole_number(dimensions, "dimensions", SettingError)
    if codes is None:
        codes = USUAL_CODES[quantiser]
    tokens = 1
    if networks == "convolutional":
        tokens = token_count(*size[1:])
    made = QUANTISERS[quantiser](n, codes, dimensions, tokens)
    # Some quantisers have a fixed number of values, whatever was asked for.
    if (made.k, made.dimensions) != (codes, dimensions):
        raise SettingError(
            f"{quantiser} has {made.k} values of a variable and vectors of {made.dimensions}; got "
            f"codes = {codes}, dimensions = {dimensions}"
        )
    if networks == "convolutional":
        encoder: nn.Module = TokenEncoder(size, made.features, channels)
        decoder: nn.Module = TokenDecoder(size, made.features, channels)
    else:
        pixels = math.prod(size)
        encoder = _dense(pixels, hidden, made.features)
        decoder = _dense(made.features, hidden, pixels)
    learnt = code_prior(options, _states(made))
    return QuantisedVAE(encoder, made, decoder, likelihood, size, learnt)


def _states(quantiser: Quantiser) -> States:
    values = quantiser.k
    if quantiser.binary:
        values = 0
    return States(quantiser.variables, values)


def code_prior(options: PriorOptions, states: States) -> AutoregressivePrior | None:
    """Return one of `CODE_PRIORS` over codes; None for the factorised one.

    Raises:
        SettingError: a size does not fit the prior.
    """
    if options.name == "factorised":
        return None
    return cast("AutoregressivePrior", named_prior(options, states))


def _dense(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(Linear(inputs, hidden), nn.ReLU(), Linear(hidden, outputs))
