"""A VAE of binary attributes and a continuous code, for colour images of 64 x 64 pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ..arguments import whole_number
from ..errors import SettingError
from ..gaussian import Gaussian
from ..networks.decoder import Neighbourhood
from ..networks.encoders.options import checked_encoder_options
from ..networks.encoders.registry import BIT_ENCODERS, encoder_name
from ..networks.layers import Conv2d, ConvTranspose2d, Linear
from ..potentials import Potentials
from ..pretrained import Pretrained
from ..shapes import Binary, Costs, FlipCosts, Images, Style, Table

SIDE: Final = 64
PIXELS: Final = 3 * SIDE * SIDE
"""Number of values of an image: its red plane row by row, then green and blue."""

SMALLEST: Final = 4
"""Height and width of the smallest feature maps."""

HIDDEN: Final = 100
"""Number of units between the features and the potentials."""

LEVELS: Final = 255
"""The largest stored intensity."""

START_SCALE: Final = 0.1
"""Standard deviation of an intensity before training, a little more than after it."""


def _channels_last(layers: nn.Sequential) -> nn.Sequential:
    """Store the weights in channels-last order, in which convolutions on a CPU are fast."""
    # torch's type of `to` lacks this argument
    return layers.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


class AttributeEncoder(nn.Module):
    """An encoder of four convolutions, with potentials of the attributes and a Gaussian code.

    Each convolution has stride 2 and a ReLU. The head of the attributes is features -> 100 -> ReLU
    -> potentials; the head of the code is one linear layer.

    Args:
        encoder: a name of `BIT_ENCODERS`, which decides the kind of potentials: "independent",
            "supermodular" or "general".
        n: number of attributes.
        c: number of dimensions of the code.
        channels: number of channels of the first convolution; the others have 2, 4 and 4 times as
            many.
        encoder_options: other arguments of the class of the encoder.

    Raises:
        SettingError: no encoder of bits has this name, or it does not have an option.
    """

    def __init__(self, encoder: str, n: int, c: int, channels: int, **encoder_options: int | str):
        super().__init__()
        widths = (3, channels, 2 * channels, 4 * channels, 4 * channels)
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [Conv2d(before, after, 4, 2, 1), nn.ReLU()]
        features = 4 * channels * SMALLEST**2
        if encoder not in BIT_ENCODERS:
            raise SettingError(
                f"attributes are bits, and no encoder of bits is called '{encoder}'; choose one of "
                f"{', '.join(BIT_ENCODERS)}"
            )
        self.n = n
        self.base = _channels_last(nn.Sequential(*layers, nn.Flatten()))
        # Their types are those of the class, which only the class knows.
        options: Any = checked_encoder_options(encoder, encoder_options)
        self.attributes = BIT_ENCODERS[encoder](features, n, hidden=HIDDEN, **options)
        self.attributes.options = options
        self.style = Linear(features, 2 * c)

    def forward(self, x: Images) -> tuple[Potentials, Gaussian]:
        """Return the potentials of the attributes and q(code | x) for `x [batch, pixels]`."""
        features = self._features(x)
        mean, log_variance = self.style(features).chunk(2, dim=-1)
        return self.attributes(features), Gaussian(mean, log_variance)

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> tuple[Potentials, Gaussian]:
            """Call `forward`; declared since torch's own type is Any."""

    def scores(self, x: Images) -> Potentials:
        """Return only the potentials of the attributes."""
        return self.attributes(self._features(x))

    def _features(self, x: Images) -> torch.Tensor:
        planes = x.view(-1, 3, SIDE, SIDE).contiguous(memory_format=torch.channels_last)
        features: torch.Tensor = self.base(planes)
        return features


class AttributeDecoder(nn.Module):
    """A decoder of attributes and a code into a Gaussian for each pixel.

    A linear layer maps (z, 1 - z, code) to the smallest feature maps, and four transposed
    convolutions map these to an image. The image is the mean of the Gaussians, which share one
    learnt standard deviation.

    The code has the prior p(code | z) = N(prior(z), 1), where `prior` is a linear layer. An encoder
    sees the attributes in the face and writes them into the code as well. A prior that depends on
    the attributes explains this part of the code, so the remainder, code - prior(z), describes the
    person.

    For intensities v in steps of 1/255, the cost is
    -log p(v | z, code) = sum -log(N(v; mean, scale) / 255) in nats per image. If scale >= 1/255,
    the probabilities of the 256 intensities sum to at most 1 + 6e-9 (Poisson summation formula), so
    they are a distribution of stored images, with a little mass outside [0, 1].

    Args:
        n: number of attributes.
        c: number of dimensions of the code.
        channels: number of channels of the last feature maps; the earlier ones have 2, 4 and 4
            times as many.
    """

    def __init__(self, n: int, c: int, channels: int):
        super().__init__()
        widths = (4 * channels, 4 * channels, 2 * channels, channels, 3)
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.ReLU(), ConvTranspose2d(before, after, 4, 2, 1)]
        self.n = n
        self.c = c
        self.first = Linear(2 * n + c, 4 * channels * SMALLEST**2)
        self.layers = _channels_last(nn.Sequential(*layers))
        self.prior = Linear(n, c)
        nn.init.zeros_(self.prior.weight)
        nn.init.zeros_(self.prior.bias)
        self.log_scale = nn.Parameter(torch.tensor(START_SCALE - 1 / LEVELS).log())

    @property
    def scale(self) -> torch.Tensor:
        """The standard deviation of an intensity, above 1/255."""
        return self.log_scale.exp() + 1 / LEVELS

    def forward(self, z: Binary, code: Style) -> Images:
        """Return the mean images of attributes and codes: `[..., pixels]`.

        Args:
            z: attributes `[..., n]`, hard or relaxed.
            code: `[..., c]`.
        """
        start = self.first(torch.cat([z, 1 - z, code], dim=-1))
        maps = start.view(-1, start.shape[-1] // SMALLEST**2, SMALLEST, SMALLEST)
        planes = self.layers(maps.contiguous(memory_format=torch.channels_last)).sigmoid()
        means: torch.Tensor = planes.reshape(*start.shape[:-1], PIXELS)
        return means

    if TYPE_CHECKING:

        def __call__(self, z: Binary, code: Style) -> Images:
            """Call `forward`; declared since torch's own type is Any."""

    def cost(self, x: Images, z: Binary, code: Style) -> Costs:
        """Return -log p(x, code | z) + log N(code; 0, 1), in nats: `[..., batch]`.

        The bound for given z is the mean of this cost over a distribution of codes, plus the KL
        divergence of that distribution to the standard normal.

        Args:
            x: `[batch, pixels]`.
            z: `[..., batch, n]`.
            code: `[batch, c]`.
        """
        return self.reconstruction(x, z, code) + self.prior_cost(z, code)

    def prior_cost(self, z: Binary, code: Style) -> Costs:
        """Return log N(code; 0, 1) - log p(code | z), in nats: `[..., batch]`.

        It is linear in the code, so its mean over codes is its value at their mean.
        """
        mean = self.prior(z)
        return (mean * (mean / 2 - code)).sum(dim=-1)

    def reconstruction(self, x: Images, z: Binary, code: Style) -> Costs:
        """Return -log p(x | z, code) in nats for `z [..., batch, n]`: `[..., batch]`.

        It is differentiable in the decoder, z and the code.
        """
        means = self(z, code.expand(*z.shape[:-1], -1))
        squares = (means - x).square().sum(dim=-1)
        volume = PIXELS * (self.scale.log() + math.log(LEVELS) + math.log(2 * math.pi) / 2)
        return squares / (2 * self.scale**2) + volume

    def given(self, code: Style) -> GivenCode:
        """Return a decoder of only the attributes, for fixed codes `[batch, c]`."""
        return GivenCode(self, code)


@dataclass(frozen=True, eq=False)
class GivenCode:
    """A decoder of the attributes for a fixed code of each image, with the methods of `Decoder`.

    Its costs include the prior of the code, as `AttributeDecoder.cost` does.

    Attributes:
        decoder: the decoder of attributes and code.
        code: `[batch, c]`.
    """

    decoder: AttributeDecoder
    code: Style

    def cost(self, x: Images, z: Binary) -> Costs:
        """Return the cost of `z [..., batch, n]`, hard or relaxed, in nats: `[..., batch]`."""
        return self.decoder.cost(x, z, self.code)

    def around(self, x: Images, z: Binary) -> Neighbourhood:
        """Return the cost at `z [..., batch, n]` and at all single flips, in n + 1 decodes."""
        cost = self.cost(x, z)
        return Neighbourhood(cost, self._slope(x, z, cost))

    @torch.no_grad()
    def _slope(self, x: Images, z: Binary, cost: Costs) -> FlipCosts:
        """Return the cost with z_i = 1 minus the cost with z_i = 0: `[..., batch, n]`.

        The loop decodes one flip at a time, which fits the caches.
        """
        slope = torch.empty_like(z)
        for i in range(z.shape[-1]):
            flipped = z.clone()
            flipped[..., i] = 1 - z[..., i]
            slope[..., i] = (self.cost(x, flipped) - cost) * (1 - 2 * z[..., i])
        return slope

    def table(self, x: Images, states: Binary) -> Table:
        """Return the cost of each of `states [states, n]`: `[batch, states]`.

        It decodes every state once for each image. With gradients, the backward pass decodes again
        instead of storing all images.
        """
        expanded = [z.expand(len(x), -1) for z in states]
        if torch.is_grad_enabled():
            costs = [checkpoint(self.cost, x, z, use_reentrant=False) for z in expanded]
        else:
            costs = [self.cost(x, z) for z in expanded]
        return torch.stack(costs, dim=-1)


class AttributeVAE(Pretrained):
    """A VAE with n binary attributes z and a Gaussian code, p(z) p(code | z) p(x | z, code).

    p(z) is uniform over {0,1}^n, and p(code | z) = N(prior(z), 1). The posterior is
    q(z, code | x) = q(z | x) q(code | x), so the KL term of the bound is the KL of z plus the mean
    over z of the KL of the code.

    Args:
        encoder: "independent", "supermodular" or "general", the kind of potentials of q(z | x).
        n: number of attributes.
        c: number of dimensions of the code.
        channels: number of channels of the largest feature maps; those of 4 x 4 and 8 x 8 pixels
            have four times as many.
        encoder_options: other arguments of the class of the encoder, as in `paper_vae`.

    Raises:
        SettingError: no encoder of bits has this name, or it does not have an option.

    Example:
        >>> vae = AttributeVAE("general", n=3, channels=4)
        >>> persons = torch.randn(2, 64)
        >>> states = torch.eye(3)
        >>> vae.decoded(persons, states).shape  # every person with every state
        torch.Size([6, 12288])

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, section 5: eight attributes and convolutions, whose sizes it does
        not state. Joy, Schmon, Torr, Siddharth, Rainforth (2021), Capturing label characteristics
        in VAEs: codes whose prior depends on the labels.
    """

    usage: ClassVar[str] = (
        "vae.decoded(vae.persons(4, torch.Generator().manual_seed(0)), torch.eye(vae.n))"
        "  # [4 * n, 3 * 64 * 64]"
    )

    def __init__(
        self,
        encoder: str = "general",
        n: int = 8,
        c: int = 64,
        channels: int = 32,
        **encoder_options: int | str,
    ):
        super().__init__()
        n = whole_number(n, "n", SettingError)
        c = whole_number(c, "c", SettingError)
        channels = whole_number(channels, "channels", SettingError)
        self.encoder = AttributeEncoder(encoder, n, c, channels, **encoder_options)
        self.decoder = AttributeDecoder(n, c, channels)

    @property
    def n(self) -> int:
        """The number of attributes."""
        return self.encoder.n

    def probe(self) -> Potentials:
        """Return potentials of one image as if every output of the attributes' head were -1.

        Pairwise scores are -1 too, unless the encoder declares that they are never negative.
        """
        return self.encoder.attributes.probe()

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `of_arguments` that make networks of these shapes."""
        arguments: dict[str, int | str] = {
            "encoder": encoder_name(self.encoder.attributes) or "",
            "n": self.n,
            "c": self.decoder.c,
            "channels": self.decoder.first.out_features // (4 * SMALLEST**2),
        }
        return arguments | self.encoder.attributes.options

    @classmethod
    def of_arguments(
        cls, encoder: str, n: int, c: int, channels: int, **encoder_options: int
    ) -> AttributeVAE:
        """Make networks with new random weights."""
        return cls(encoder, n, c, channels, **encoder_options)

    def given(self, code: Gaussian, generator: torch.Generator) -> tuple[GivenCode, Costs]:
        """Draw a code for each image.

        Args:
            code: q(code | x) of each image.
            generator: the source of noise.

        Returns:
            a decoder of attributes for these codes; and the KL divergence `[batch]` of q(code | x)
            to the standard normal, which the decoder's costs leave out.
        """
        return self.decoder.given(code.sample(generator)), code.kl()

    @torch.no_grad()
    def decoded(self, persons: Style, states: Binary) -> Images:
        """Return mean images of each person with each state of the attributes.

        Args:
            persons: `[persons, c]`, codes without the prior's mean: code - prior(z), of an encoded
                face or from the method `persons`.
            states: attributes, `[states, n]`.

        Returns:
            `[persons * states, pixels]`.
        """
        repeated = persons.repeat_interleave(len(states), dim=0)
        codes = repeated + self.decoder.prior(states).repeat(len(persons), 1)
        return self.decoder(states.repeat(len(persons), 1), codes)

    def persons(self, count: int, generator: torch.Generator) -> Style:
        """Draw code - prior(z) from the prior, which is the same for all z: `[count, c]`."""
        like = self.decoder.first.weight
        drawn = torch.randn((count, self.decoder.c), generator=generator, device=like.device)
        return drawn.to(like.dtype)
