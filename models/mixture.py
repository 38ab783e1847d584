"""A discrete class with a continuous style: the paper's network for semi-supervised learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import torch
from torch import nn
from torch.nn.functional import softplus

from .decoder import Neighbourhood, matches
from .errors import SettingError
from .gaussian import Gaussian
from .layers import Linear
from .potentials import CategoricalPotentials
from .pretrained import Pretrained
from .shapes import Costs, Images, Logits, OneHot, Style, Table

STYLES: Final = ("shared", "own")
"""Whether all classes have one distribution of the style, or each its own."""


class MixtureEncoder(nn.Module):
    """pixels -> 400 -> ReLU -> 200, and from there scores of k classes and a distribution of the style.

    The class head is 200 -> 100 -> ReLU -> k, the style head 200 -> 100 -> ReLU -> 66 -> 2c, with
    no ReLU after the 66, as in the paper. One style serves all k rows of z_c; or, as in the
    released code, each class has a distribution of its own, and the head ends in 2kc.

    Args:
        pixels: of an image.
        k: classes.
        c: dimensions of the style.
        styles: "shared", or "own" for one a class.

    Raises:
        SettingError: there are no such styles.
    """

    def __init__(self, pixels: int, k: int = 10, c: int = 20, styles: str = "shared"):
        super().__init__()
        if styles not in STYLES:
            raise SettingError(f"no styles are called {styles!r}; there are: {', '.join(STYLES)}")
        self.n = k
        self.styles = styles
        self.base = nn.Sequential(Linear(pixels, 400), nn.ReLU(), Linear(400, 200))
        self.classes = nn.Sequential(Linear(200, 100), nn.ReLU(), Linear(100, k))
        outputs = 2 * c * (k if styles == "own" else 1)
        self.style = nn.Sequential(
            Linear(200, 100), nn.ReLU(), Linear(100, 66), Linear(66, outputs)
        )

    def forward(self, x: Images) -> tuple[CategoricalPotentials, Gaussian]:
        """The scores of the classes and the style's distribution, for each image of `x [batch, pixels]`.

        Its parameters are `[batch, c]`; of styles of the classes `[batch, k, c]`.
        """
        shared = self.base(x)
        mean, log_variance = self.style(shared).chunk(2, dim=-1)
        if self.styles == "own":
            mean, log_variance = (part.unflatten(-1, (self.n, -1)) for part in (mean, log_variance))
        return CategoricalPotentials(self.classes(shared)), Gaussian(mean, log_variance)

    if TYPE_CHECKING:

        def __call__(self, x: Images) -> tuple[CategoricalPotentials, Gaussian]:
            """As `forward`; torch says Any."""

    def scores(self, x: Images) -> CategoricalPotentials:
        """The scores of the classes alone."""
        return CategoricalPotentials(self.classes(self.base(x)))


class MixtureDecoder(nn.Module):
    """diag(z_d) z_c, flattened -> 400 -> ReLU -> one Bernoulli logit a pixel: the encoder's base mirrored.

    z_d is one-hot and z_c has k rows of c; the product is zero but for the row of the class. So the
    first layer has weights of its own for each class, and decoding a style under every class costs
    one product of the style with all of them.

    Args:
        pixels: of an image.
        k: classes.
        c: dimensions of the style.
    """

    def __init__(self, pixels: int, k: int = 10, c: int = 20):
        super().__init__()
        self.n = k
        self.c = c
        self.first = Linear(k * c, 400)
        self.last = Linear(400, pixels)

    def forward(self, z: OneHot, style: Style) -> Logits:
        """`[..., pixels]`: the logits of classes `z [..., k]`, hard or relaxed, with styles `[..., c]`.

        Or with styles of the classes, `[..., k, c]`.
        """
        rows = z[..., :, None] * (style if style.ndim > z.ndim else style[..., None, :])
        return self.last(self.first(rows.flatten(start_dim=-2)).relu())

    if TYPE_CHECKING:

        def __call__(self, z: OneHot, style: Style) -> Logits:
            """As `forward`; torch says Any."""

    def every_class(self, style: Style) -> Logits:
        """`[batch, k, pixels]`: the logits of styles `[batch, c]`, or `[batch, k, c]`, under each class."""
        return self.last(self.hidden(style))

    def hidden(self, style: Style) -> torch.Tensor:
        """`[batch, k, hidden]`: for the last layer, of styles `[batch, c]` or `[batch, k, c]` under each class."""
        weight = self.first.weight.view(-1, self.n, self.c)
        if style.ndim > 2:
            return (torch.einsum("bkc,hkc->bkh", style, weight) + self.first.bias).relu()
        rows = weight.permute(2, 1, 0).flatten(start_dim=1)
        start = (style @ rows).view(len(style), self.n, -1) + self.first.bias
        return start.relu()

    def given(self, style: Style) -> GivenStyle:
        """A decoder of classes, with the styles `[batch, c]`, or `[batch, k, c]`, of the images."""
        return GivenStyle(self, style)


@dataclass(frozen=True, eq=False)
class GivenStyle:
    """A decoder of the class alone: what `Decoder` is to its costs, with the style of each image fixed.

    Attributes:
        decoder: of class and style.
        style: `[batch, c]`, or one of each class, `[batch, k, c]`.
        price: `[batch, k]`, what a class costs beside its reconstruction: the KL of its style. None
            where a style is that of all classes.
    """

    decoder: MixtureDecoder
    style: Style
    price: Costs | None = None

    def cost(self, x: Images, z: OneHot) -> Costs:
        """`[..., batch]`: -log p(x | z, style) of `z [..., batch, k]` in nats, relaxed states will do."""
        logits = self.decoder(z, self.style.expand(*z.shape[:-1], *self.style.shape[1:]))
        cost = softplus(logits).sum(dim=-1) - torch.einsum(
            "...p,...p->...", logits, x.expand_as(logits)
        )
        return cost if self.price is None else cost + (z * self.price).sum(dim=-1)

    def table(self, x: Images, states: torch.Tensor) -> Table:
        """`[batch, states]`: that of each of `states [states, k]`, which are the k classes in order."""
        hidden, last = self.decoder.hidden(self.style), self.decoder.last
        costs = softplus(last(hidden)).sum(dim=-1) - matches(last, hidden, x)
        return (costs if self.price is None else costs + self.price) @ states.T

    def around(self, x: Images, z: OneHot) -> Neighbourhood:
        """The cost at `z [..., batch, k]` with its gradient, and without one that of every class."""
        with torch.no_grad():
            table = self.table(x, torch.eye(self.decoder.n, dtype=z.dtype, device=z.device))
        return Neighbourhood(self.cost(x, z), table.expand_as(z))


class MixtureVAE(Pretrained):
    """p(x | z_d, z_c) with a uniform class z_d and a standard normal style z_c.

    q(z_d, z_c | x) = q(z_d | x) q(z_c | x), so that the KL of the bound is the sum of two exact
    ones. With styles of the classes it is q(z_d | x) q(z_c | x, z_d), and the KL of the style is
    that of the class, in expectation over classes.

    Args:
        pixels: of an image.
        k: classes.
        c: dimensions of the style.
        styles: "shared" by all classes, as in the paper; or "own", a distribution for each class,
            as in its released code.

    Raises:
        SettingError: there are no such styles.

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
        self.encoder = MixtureEncoder(pixels, k, c, styles)
        self.decoder = MixtureDecoder(pixels, k, c)

    @property
    def n(self) -> int:
        """Number of classes."""
        return self.encoder.n

    @property
    def pixels(self) -> int:
        """Number of values of an image."""
        return self.decoder.last.out_features

    def probe(self) -> CategoricalPotentials:
        """Return potentials of one image as if every score of the encoder were -1."""
        return CategoricalPotentials(-torch.ones((1, self.n)))

    @property
    def arguments(self) -> dict[str, int | str]:
        """What `MixtureVAE` makes networks of these shapes from."""
        sizes = {"pixels": self.decoder.last.out_features, "k": self.n, "c": self.decoder.c}
        return {**sizes, "styles": self.encoder.styles}

    @classmethod
    def of_arguments(cls, pixels: int, k: int, c: int, styles: str = "shared") -> MixtureVAE:
        """Networks with fresh weights."""
        return cls(pixels, k, c, styles)

    def given(
        self, style: Gaussian, generator: torch.Generator
    ) -> tuple[GivenStyle, Costs | float]:
        """A decoder of classes with a style drawn for each image, and the KL `[batch]` that its costs leave out."""
        drawn = style.sample(generator)
        if self.encoder.styles == "own":
            return GivenStyle(self.decoder, drawn, style.kl()), 0.0
        return self.decoder.given(drawn), style.kl()

    @torch.no_grad()
    def grid(self, styles: int, generator: torch.Generator) -> Images:
        """`[styles * k, pixels]`: mean images of styles drawn from the prior, each under every class."""
        weight = self.decoder.last.weight
        style = torch.randn((styles, self.decoder.c), generator=generator, device=weight.device)
        return self.decoder.every_class(style.to(weight.dtype)).sigmoid().flatten(end_dim=1)
