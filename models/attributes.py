"""Binary attributes with a continuous code: convolutional networks for colour images of 64 x 64 pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, cast

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .decoder import Neighbourhood
from .encoder import ENCODERS, CategoricalEncoder, Encoder, encoder_name
from .errors import SettingError
from .gaussian import Gaussian
from .layers import Conv2d, ConvTranspose2d, Linear
from .potentials import Potentials
from .pretrained import Pretrained
from .shapes import Binary, Costs, FlipCosts, Images, Style, Table

SIDE: Final = 64
PIXELS: Final = 3 * SIDE * SIDE
"""Values of an image: its red plane row by row, then green and blue."""

SMALLEST: Final = 4
"""Rows of the smallest feature maps."""

HIDDEN: Final = 100
"""Units between the features and the potentials."""

LEVELS: Final = 255
"""Steps of a stored intensity."""

START_SCALE: Final = 0.1
"""Of an intensity; a trained model's is a little less."""


def _channels_last(layers: nn.Sequential) -> nn.Sequential:
    """The layers with weights in the order in which the host's convolutions are fast."""
    return layers.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]  # torch's


class AttributeEncoder(nn.Module):
    """Four convolutions of stride 2, each with a ReLU; from their features potentials and a code's distribution.

    The attributes' head is features - 100 - ReLU - potentials, the code's one linear layer.

    Args:
        encoder: "independent", "supermodular" or "general": which potentials.
        n: attributes.
        c: dimensions of the code.
        channels: of the first convolution; the others have 2, 4 and 4 times as many.

    Raises:
        SettingError: there is no such encoder of bits.
    """

    def __init__(self, encoder: str, n: int, c: int, channels: int):
        super().__init__()
        widths = (3, channels, 2 * channels, 4 * channels, 4 * channels)
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [Conv2d(before, after, 4, 2, 1), nn.ReLU()]
        features = 4 * channels * SMALLEST**2
        head = ENCODERS[encoder](features, n, HIDDEN) if encoder in ENCODERS else None
        if head is None or isinstance(head, CategoricalEncoder):
            raise SettingError(f"attributes are bits, and no encoder of bits is called '{encoder}'")
        self.n = n
        self.base = _channels_last(nn.Sequential(*layers, nn.Flatten()))
        self.attributes: Encoder = head
        self.style = Linear(features, 2 * c)

    def forward(self, x: Images) -> tuple[Potentials, Gaussian]:
        """The scores of the attributes and the code's distribution, for each image of `x [batch, pixels]`."""
        features = self._features(x)
        mean, log_variance = self.style(features).chunk(2, dim=-1)
        return self.attributes(features), Gaussian(mean, log_variance)

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> tuple[Potentials, Gaussian]:
            """As `forward`; torch says Any."""

    def scores(self, x: Images) -> Potentials:
        """The scores of the attributes alone."""
        return self.attributes(self._features(x))

    def _features(self, x: Images) -> torch.Tensor:
        planes = x.view(-1, 3, SIDE, SIDE).contiguous(memory_format=torch.channels_last)
        features: torch.Tensor = self.base(planes)
        return features


class AttributeDecoder(nn.Module):
    """(z, 1 - z, code) -> the smallest feature maps -> four transposed convolutions -> a Gaussian a pixel.

    One code serves all states of the attributes; a flip moves what the first layer gives by a
    vector that does not depend on the code. The Gaussian has the image that `forward` gives as its
    mean, and one learnt standard deviation for all pixels.

    Codes have the prior p(code | z) = N(prior(z), 1), prior being a linear layer. An encoder sees
    from the face what the attributes say, and writes it into the code as well; a prior that knows
    the attributes takes it out again, so that what is left of a code, code - prior(z), is the
    person's.

    With intensities v in steps of 1/255, -log p(v | z, code) = sum -log(N(v; mean, scale) / 255) in
    nats an image. At scale >= 1/255 these values add up to at most 1 + 6e-9 over the 256
    intensities (Poisson's summation formula), so they are a distribution of stored images, with a
    little mass outside [0, 1].

    Args:
        n: attributes.
        c: dimensions of the code.
        channels: of the last feature maps; those before have 2, 4 and 4 times as many.
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
        """`[..., pixels]`: mean images of attributes `z [..., n]`, hard or relaxed, with codes `[..., c]`."""
        start = self.first(torch.cat([z, 1 - z, code], dim=-1))
        maps = start.view(-1, start.shape[-1] // SMALLEST**2, SMALLEST, SMALLEST)
        planes = self.layers(maps.contiguous(memory_format=torch.channels_last)).sigmoid()
        means: torch.Tensor = planes.reshape(*start.shape[:-1], PIXELS)
        return means

    if TYPE_CHECKING:

        def __call__(self, z: Binary, code: Style) -> Images:
            """As `forward`; torch says Any."""

    def cost(self, x: Images, z: Binary, code: Style) -> Costs:
        """`[..., batch]`: -log p(x, code | z) + log N(code; 0, 1) of `z [..., batch, n]` in nats.

        Its mean over a distribution of codes, and the KL of that to the standard normal, are the
        bound given z.
        """
        return self.reconstruction(x, z, code) + self.prior_cost(z, code)

    def prior_cost(self, z: Binary, code: Style) -> Costs:
        """`[..., batch]`: log N(code; 0, 1) - log p(code | z) in nats; its mean over codes is that of their mean."""
        mean = self.prior(z)
        return (mean * (mean / 2 - code)).sum(dim=-1)

    def reconstruction(self, x: Images, z: Binary, code: Style) -> Costs:
        """`[..., batch]`: -log p(x | z, code) of `z [..., batch, n]` in nats, differentiable in all but x."""
        means = self(z, code.expand(*z.shape[:-1], -1))
        squares = (means - x).square().sum(dim=-1)
        volume = PIXELS * (self.scale.log() + math.log(LEVELS) + math.log(2 * math.pi) / 2)
        return squares / (2 * self.scale**2) + volume

    def given(self, code: Style) -> GivenCode:
        """A decoder of attributes, with the codes `[batch, c]` of the images."""
        return GivenCode(self, code)


@dataclass(frozen=True, eq=False)
class GivenCode:
    """A decoder of the attributes alone: what `Decoder` is to its costs, with the code of each image fixed.

    The cost of attributes has the prior of the code in it, as `AttributeDecoder.cost` has.

    Attributes:
        decoder: of attributes and code.
        code: `[batch, c]`.
    """

    decoder: AttributeDecoder
    code: Style

    def cost(self, x: Images, z: Binary) -> Costs:
        """`[..., batch]`: the cost of `z [..., batch, n]` in nats, relaxed states will do."""
        return self.decoder.cost(x, z, self.code)

    def around(self, x: Images, z: Binary) -> Neighbourhood:
        """The cost at `z [..., batch, n]` and its change in each coordinate, by n + 1 decodes an image."""
        cost = self.cost(x, z)
        return Neighbourhood(cost, self._slope(x, z, cost))

    @torch.no_grad()
    def _slope(self, x: Images, z: Binary, cost: Costs) -> FlipCosts:
        """`[..., batch, n]`: cost with z_i = 1 less cost with z_i = 0; a flip at a time fits the caches."""
        slope = torch.empty_like(z)
        for i in range(z.shape[-1]):
            flipped = z.clone()
            flipped[..., i] = 1 - z[..., i]
            slope[..., i] = (self.cost(x, flipped) - cost) * (1 - 2 * z[..., i])
        return slope

    def table(self, x: Images, states: Binary) -> Table:
        """`[batch, states]`: the cost of each of `states [states, n]`, a decode an image each.

        With gradients, backwards decodes again rather than keep all images.
        """
        batch = (len(x), -1)
        if not torch.is_grad_enabled():
            return torch.stack([self.cost(x, z.expand(batch)) for z in states], dim=-1)
        costs = [checkpoint(self.cost, x, z.expand(batch), use_reentrant=False) for z in states]
        return torch.stack(costs, dim=-1)


class AttributeVAE(Pretrained):
    """p(x | z, code) p(code | z) with n attributes z, uniform over {0,1}^n, and a normal code around prior(z).

    q(z, code | x) = q(z | x) q(code | x), so that the KL of the bound is that of z and the mean
    over z of that of the code.

    Args:
        encoder: "independent", "supermodular" or "general": what joins the attributes given an
            image.
        n: attributes.
        c: dimensions of the code.
        channels: of the widest feature maps; those of 4 x 4 and 8 x 8 pixels have four times as
            many.

    Raises:
        SettingError: there is no such encoder of bits.

    Example:
        >>> vae = AttributeVAE("general", n=3, channels=4)
        >>> persons, states = torch.randn(2, 64), torch.eye(3)
        >>> vae.decoded(persons, states).shape  # every person under every state
        torch.Size([6, 12288])

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, section 5: eight attributes and convolutions, whose sizes it does
        not state. Joy, Schmon, Torr, Siddharth, Rainforth (2021), Capturing label characteristics
        in VAEs: codes whose prior knows the labels.
    """

    usage: ClassVar[str] = (
        "vae.decoded(vae.persons(4, torch.Generator().manual_seed(0)), torch.eye(vae.n))  # [4 * n, 3 * 64 * 64]"
    )

    def __init__(self, encoder: str = "general", n: int = 8, c: int = 64, channels: int = 32):
        super().__init__()
        self.encoder = AttributeEncoder(encoder, n, c, channels)
        self.decoder = AttributeDecoder(n, c, channels)

    @property
    def n(self) -> int:
        """Number of attributes."""
        return self.encoder.n

    def probe(self) -> Potentials:
        """Return potentials of one image as if every output of the attributes' head were -1."""
        last = cast("nn.Linear", self.encoder.attributes.network[-1])
        return self.encoder.attributes.potentials(-torch.ones((1, last.out_features)))

    @property
    def arguments(self) -> dict[str, int | str]:
        """What `AttributeVAE` makes networks of these shapes from."""
        encoder, decoder = self.encoder, self.decoder
        channels = decoder.first.out_features // (4 * SMALLEST**2)
        return {
            "encoder": encoder_name(encoder.attributes) or "",
            "n": self.n,
            "c": decoder.c,
            "channels": channels,
        }

    @classmethod
    def of_arguments(cls, encoder: str, n: int, c: int, channels: int) -> AttributeVAE:
        """Networks with fresh weights."""
        return cls(encoder, n, c, channels)

    def given(self, code: Gaussian, generator: torch.Generator) -> tuple[GivenCode, Costs]:
        """A decoder of attributes with a code drawn for each image, and the KL `[batch]` that its costs leave out."""
        return self.decoder.given(code.sample(generator)), code.kl()

    @torch.no_grad()
    def decoded(self, persons: Style, states: Binary) -> Images:
        """`[persons * states, pixels]`: mean images of each person under each of `states [states, n]`.

        Args:
            persons: `[persons, c]`, what codes have beyond the prior's mean, code - prior(z); of a
                face with attributes z and a code, or of `persons`.
            states: of the attributes.
        """
        codes = persons.repeat_interleave(len(states), dim=0) + self.decoder.prior(states).repeat(
            len(persons), 1
        )
        return self.decoder(states.repeat(len(persons), 1), codes)

    def persons(self, count: int, generator: torch.Generator) -> Style:
        """`[count, c]`: code - prior(z) of codes drawn from the prior, for any z."""
        like = self.decoder.first.weight
        drawn = torch.randn((count, self.decoder.c), generator=generator, device=like.device)
        return drawn.to(like.dtype)
