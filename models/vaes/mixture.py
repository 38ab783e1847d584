"""A VAE of a discrete class and a continuous style, the paper's model for semi-supervision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import torch
from torch import nn
from torch.nn.functional import softplus

from ..arguments import whole_number
from ..errors import SettingError
from ..gaussian import Gaussian
from ..networks.decoder import Neighbourhood, matches
from ..networks.layers import Linear
from ..potentials import CategoricalPotentials
from ..pretrained import Pretrained
from ..shapes import Costs, Images, Logits, OneHot, Style, Table

STYLES: Final = ("shared", "own")
"""Whether all classes share the distribution of the style, or each class has its own."""


class MixtureEncoder(nn.Module):
    """An encoder of an image into scores of k classes and a Gaussian distribution of the style.

    The shared base is pixels -> 400 -> ReLU -> 200. The class head is 200 -> 100 -> ReLU -> k; the
    style head is 200 -> 100 -> ReLU -> 66 -> 2c, without a ReLU after the 66, as in the paper. All
    k classes share one style; or, as in the released code, each class has its own distribution, and
    the style head ends in 2kc.

    Args:
        pixels: number of values of an image.
        k: number of classes.
        c: number of dimensions of the style.
        styles: "shared", or "own" for a distribution per class.

    Raises:
        SettingError: `styles` has another value.
    """

    def __init__(self, pixels: int, k: int = 10, c: int = 20, styles: str = "shared"):
        super().__init__()
        if not isinstance(styles, str) or styles not in STYLES:
            raise SettingError(f"no styles are called {styles!r}; there are: {', '.join(STYLES)}")
        self.n = k
        self.styles = styles
        self.base = nn.Sequential(Linear(pixels, 400), nn.ReLU(), Linear(400, 200))
        self.classes = nn.Sequential(Linear(200, 100), nn.ReLU(), Linear(100, k))
        distributions = 1
        if styles == "own":
            distributions = k
        outputs = 2 * c * distributions
        self.style = nn.Sequential(
            Linear(200, 100), nn.ReLU(), Linear(100, 66), Linear(66, outputs)
        )

    def forward(self, x: Images) -> tuple[CategoricalPotentials, Gaussian]:
        """Return the potentials of the classes and the style's distribution.

        Args:
            x: `[batch, pixels]`.

        Returns:
            the potentials; and the distribution, whose parameters are `[batch, c]` for shared
            styles and `[batch, k, c]` for styles per class.
        """
        shared = self.base(x)
        mean, log_variance = self.style(shared).chunk(2, dim=-1)
        if self.styles == "own":
            mean = mean.unflatten(-1, (self.n, -1))
            log_variance = log_variance.unflatten(-1, (self.n, -1))
        return CategoricalPotentials(self.classes(shared)), Gaussian(mean, log_variance)

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> tuple[CategoricalPotentials, Gaussian]:
            """Call `forward`; declared since torch's own type is Any."""

    def scores(self, x: Images) -> CategoricalPotentials:
        """Return only the potentials of the classes."""
        return CategoricalPotentials(self.classes(self.base(x)))


class MixtureDecoder(nn.Module):
    """A decoder of class and style: diag(z_d) z_c, flattened -> 400 -> ReLU -> Bernoulli logits.

    z_d is one-hot and z_c has k rows of c numbers, so only the row of the class is not zero. The
    first layer therefore has separate weights for each class, and decoding a style under every
    class costs one product of the style with all weights.

    Args:
        pixels: number of values of an image.
        k: number of classes.
        c: number of dimensions of the style.
    """

    def __init__(self, pixels: int, k: int = 10, c: int = 20):
        super().__init__()
        self.n = k
        self.c = c
        self.first = Linear(k * c, 400)
        self.last = Linear(400, pixels)

    def forward(self, z: OneHot, style: Style) -> Logits:
        """Return the logits of classes with styles: `[..., pixels]`.

        Args:
            z: classes `[..., k]`, hard or relaxed.
            style: `[..., c]`; or `[..., k, c]` for a style per class.
        """
        if style.ndim <= z.ndim:
            style = style[..., None, :]
        rows = z[..., :, None] * style
        return self.last(self.first(rows.flatten(start_dim=-2)).relu())

    if TYPE_CHECKING:

        def __call__(self, z: OneHot, style: Style) -> Logits:
            """Call `forward`; declared since torch's own type is Any."""

    def every_class(self, style: Style) -> Logits:
        """Return the logits of styles `[batch, c]` or `[batch, k, c]`: `[batch, k, pixels]`."""
        return self.last(self.hidden(style))

    def hidden(self, style: Style) -> torch.Tensor:
        """Return the input of the last layer for styles under each class: `[batch, k, hidden]`."""
        weight = self.first.weight.view(-1, self.n, self.c)
        if style.ndim > 2:
            return (torch.einsum("bkc,hkc->bkh", style, weight) + self.first.bias).relu()
        rows = weight.permute(2, 1, 0).flatten(start_dim=1)
        start = (style @ rows).view(len(style), self.n, -1) + self.first.bias
        return start.relu()

    def given(self, style: Style) -> GivenStyle:
        """Return a decoder of only the class, for fixed styles `[batch, c]` or `[batch, k, c]`."""
        return GivenStyle(self, style)


@dataclass(frozen=True, eq=False)
class GivenStyle:
    """A decoder of the class for a fixed style of each image, with the methods of `Decoder`.

    Attributes:
        decoder: the decoder of class and style.
        style: `[batch, c]`, or `[batch, k, c]` for a style per class.
        price: `[batch, k]`, the KL divergence of each class's style, which is added to the
            reconstruction cost of the class. None if the classes share a style.
    """

    decoder: MixtureDecoder
    style: Style
    price: Costs | None = None

    def cost(self, x: Images, z: OneHot) -> Costs:
        """Return the cost of `z [..., batch, k]`, hard or relaxed, in nats: `[..., batch]`.

        It is -log p(x | z, style), plus the KL divergence of the style if classes have their own.
        """
        logits = self.decoder(z, self.style.expand(*z.shape[:-1], *self.style.shape[1:]))
        match = torch.einsum("...p,...p->...", logits, x.expand_as(logits))
        cost = softplus(logits).sum(dim=-1) - match
        if self.price is None:
            return cost
        return cost + (z * self.price).sum(dim=-1)

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """Return the cost of each of `states [states, k]`: `[batch, states]`.

        The states must be one-hot.
        """
        hidden = self.decoder.hidden(self.style)
        last = self.decoder.last
        costs = softplus(last(hidden)).sum(dim=-1) - matches(last, hidden, x)
        if self.price is not None:
            costs = costs + self.price
        return costs @ states.T

    def around(self, x: Images, z: OneHot) -> Neighbourhood:
        """Return the cost at `z [..., batch, k]`, and the costs of all classes without gradient."""
        with torch.no_grad():
            table = self.table(x, torch.eye(self.decoder.n, dtype=z.dtype, device=z.device))
        return Neighbourhood(self.cost(x, z), table.expand_as(z))


class MixtureVAE(Pretrained):
    """A VAE p(z_d) p(z_c) p(x | z_d, z_c) with a uniform class z_d and a standard normal style z_c.

    With shared styles the posterior is q(z_d | x) q(z_c | x), and the KL term of the bound is the
    sum of two exact KL divergences. With styles per class it is q(z_d | x) q(z_c | x, z_d), and the
    KL of the style is its expectation over classes, which is exact as well.

    Args:
        pixels: number of values of an image.
        k: number of classes.
        c: number of dimensions of the style.
        styles: "shared" by all classes, as in the paper; or "own", a distribution per class, as in
            its released code.

    Raises:
        SettingError: `styles` has another value.

    Example:
        >>> vae = MixtureVAE(pixels=784)
        >>> vae.grid(3, torch.Generator().manual_seed(0)).shape
        torch.Size([30, 784])

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, sections 3.2 and 5. The decoder's layers are not stated there.
    """

    usage: ClassVar[str] = (
        "vae.grid(4, torch.Generator().manual_seed(0))  # [4 * k, pixels], in [0, 1]"
    )

    def __init__(self, pixels: int = 784, k: int = 10, c: int = 20, styles: str = "shared"):
        super().__init__()
        pixels = whole_number(pixels, "pixels", SettingError)
        k = whole_number(k, "k", SettingError)
        c = whole_number(c, "c", SettingError)
        self.encoder = MixtureEncoder(pixels, k, c, styles)
        self.decoder = MixtureDecoder(pixels, k, c)

    @property
    def n(self) -> int:
        """The number of classes."""
        return self.encoder.n

    @property
    def pixels(self) -> int:
        """The number of values of an image."""
        return self.decoder.last.out_features

    def probe(self) -> CategoricalPotentials:
        """Return potentials of one image as if every score of the encoder were -1."""
        return CategoricalPotentials(-torch.ones((1, self.n)))

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `of_arguments` that make networks of these shapes."""
        return {
            "pixels": self.pixels,
            "k": self.n,
            "c": self.decoder.c,
            "styles": self.encoder.styles,
        }

    @classmethod
    def of_arguments(cls, pixels: int, k: int, c: int, styles: str = "shared") -> MixtureVAE:
        """Make networks with new random weights."""
        return cls(pixels, k, c, styles)

    def given(
        self, style: Gaussian, generator: torch.Generator
    ) -> tuple[GivenStyle, Costs | float]:
        """Draw a style for each image.

        Args:
            style: the distribution of the style of each image.
            generator: the source of noise.

        Returns:
            a decoder of the class for these styles; and the KL divergence `[batch]` of the style
            that the decoder's costs leave out, 0 for styles per class.
        """
        drawn = style.sample(generator)
        if self.encoder.styles == "own":
            return GivenStyle(self.decoder, drawn, style.kl()), 0.0
        return self.decoder.given(drawn), style.kl()

    @torch.no_grad()
    def grid(self, styles: int, generator: torch.Generator) -> Images:
        """Draw styles from the prior, and return each under every class: `[styles * k, pixels]`.

        Args:
            styles: the number of styles.
            generator: the source of noise.
        """
        weight = self.decoder.last.weight
        style = torch.randn((styles, self.decoder.c), generator=generator, device=weight.device)
        return self.decoder.every_class(style.to(weight.dtype)).sigmoid().flatten(end_dim=1)
