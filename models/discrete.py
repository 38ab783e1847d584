"""An encoder and a decoder that share discrete latent variables."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final, cast

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter

from .decoder import BinaryDecoder, CategoricalDecoder, Decoder
from .encoder import COUPLED, ENCODERS, CategoricalEncoder, Encoder, encoder_name
from .errors import NetworkError, PretrainedError, SettingError
from .likelihoods import Likelihood, likelihood_name
from .own_networks import NetworkDecoder, NetworkEncoder, evaluating
from .potentials import AnyPotentials, LatentSpace
from .pretrained import Pretrained
from .prior import CategoriesPrior, Prior, drawn_states, named_prior, prior_name
from .shapes import Images
from .spaces import named_space
from .states import codes_of


class DiscreteVAE(Pretrained):
    """A variational auto-encoder with discrete latent variables and a uniform or a learnt prior.

    The latent state is n bits, or one of k categories as a one-hot vector; n is then k. Of several
    variables of k categories the one-hot vectors stand one after the other, and n is k times their
    number. Encoder and decoder may be any modules: one that takes images `[batch, pixels]` and
    returns `Potentials` or `CategoricalPotentials`, and one that takes states `[count, n]` and
    returns the logits or means of their images. Everything else is made of these two calls, see
    `NetworkDecoder`.

    Args:
        encoder: gives the potentials of the posterior.
        decoder: gives the image distribution of a state.
        likelihood: of a decoder of one's own: "bernoulli" (it returns logits) or "gaussian"
            (means).
        prior: over the latent states, learnt with the networks; None for the uniform one.
        pixels: of an image, by which n is read from a blank one; needed where neither network is
            ours, and then not before the encoder has seen its first image.
        space: of the states of n bits that z may be, such as `structured_vae.KOfN(3)`; None for
            all. Prior, posterior and evaluation are over these states alone.

    Raises:
        SettingError: encoder and decoder have different n, or one has bits and the other
            categories; or a decoder of ours, which is Bernoulli, or a `NetworkDecoder` has another
            likelihood.
        NetworkError: the encoder gives no potentials, or the decoder no image of so many pixels.

    Example:
        >>> class Scores(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = torch.nn.Linear(9, 4)
        ...
        ...     def forward(self, x):
        ...         return Potentials(self.layer(x))
        >>> from models import Potentials
        >>> vae = DiscreteVAE(Scores(), torch.nn.Linear(4, 9), pixels=9)
        >>> vae.n, vae.sample(2, torch.Generator().manual_seed(0)).shape
        (4, torch.Size([2, 9]))
    """

    usage: ClassVar[str] = (
        "vae.sample(16, torch.Generator().manual_seed(0))  # [16, pixels], in [0, 1]"
    )

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        likelihood: str | Likelihood = "bernoulli",
        pixels: int | None = None,
        prior: Prior | None = None,
        space: LatentSpace | None = None,
    ):
        super().__init__()
        if isinstance(decoder, Decoder | NetworkDecoder) and likelihood not in (
            "bernoulli",  # which nobody need have named
            own := _likelihood_of(decoder),
            getattr(decoder, "likelihood", own),
        ):
            raise SettingError(
                f"{type(decoder).__name__} has one: its likelihood is {own}, not {likelihood!r}"
            )
        self.encoder: Encoder | CategoricalEncoder | NetworkEncoder = (
            encoder
            if isinstance(encoder, Encoder | CategoricalEncoder | NetworkEncoder)
            else NetworkEncoder(encoder)
        )
        self.decoder: Decoder | NetworkDecoder = (
            decoder
            if isinstance(decoder, Decoder | NetworkDecoder)
            else NetworkDecoder(decoder, likelihood)
        )
        self.prior = prior
        self.space: LatentSpace | None = None
        if space is not None:
            self.restrict(space)
        pixels = self._pixels_of_ours() if pixels is None else pixels
        if not self.own:
            self._check_agreement()
        elif pixels is not None:
            self.fit_to(pixels)

    @property
    def n(self) -> int:
        """Length of a latent state: the number of bits, or of categories, those of all variables.

        Raises:
            NetworkError: the encoder is not ours, and has not seen an image.
        """
        return self.encoder.n

    @property
    def variables(self) -> int:
        """Number of latent variables: n bits, or those that have categories.

        Raises:
            NetworkError: as for `n`.
        """
        if isinstance(self.encoder, NetworkEncoder):
            return self.encoder.known().variables
        return self.encoder.variables if isinstance(self.encoder, CategoricalEncoder) else self.n

    @property
    def categorical(self) -> bool:
        """Whether latent variables have categories, the state being one-hot, rather than n bits.

        Raises:
            NetworkError: as for `n`.
        """
        if isinstance(self.encoder, NetworkEncoder):
            return self.encoder.known().categorical
        return isinstance(self.encoder, CategoricalEncoder)

    @property
    def pixels(self) -> int:
        """Number of values of an image.

        Raises:
            NetworkError: as for `n`.
        """
        ours = self._pixels_of_ours()
        return cast("NetworkEncoder", self.encoder).known().pixels if ours is None else ours

    @property
    def own(self) -> bool:
        """Whether encoder or decoder is not ours, so that a configuration cannot make them again."""
        return isinstance(self.encoder, NetworkEncoder) or isinstance(self.decoder, NetworkDecoder)

    def fit_to(self, pixels: int) -> None:
        """Reads from the potentials of a blank image what the latent variables are, and holds the decoder against it.

        Args:
            pixels: of an image.

        Raises:
            NetworkError: the networks take images of another size, or do not give what they have
                to.
            SettingError: they have different n, or one has bits and the other categories.
        """
        like = self._like()
        try:
            with torch.no_grad(), evaluating(self):
                potentials = self.encoder(like.new_zeros(1, pixels))
                self._check_agreement()
                outputs = self.decoder(torch.zeros_like(potentials.unary))
        except RuntimeError as error:
            raise NetworkError(
                f"the networks cannot take an image of {pixels} pixels: {str(error)[:400]}"
            ) from error
        if outputs.shape[-1] != pixels:
            raise NetworkError(
                f"the decoder gives {outputs.shape[-1]} pixels, and the images have {pixels}"
            )

    def restrict(self, space: LatentSpace) -> None:
        """Let z be a state of a space alone; the encoder's potentials belong to it from now on.

        Raises:
            SettingError: the encoder has pairwise scores or categories, or the model is over
                another space.
        """
        if self.space is not None and self.space != space:
            raise SettingError(f"this model is over the states of {self.space!r}; got {space!r}")
        self.encoder.space = self._checked_space(space)
        self.space = space

    def blank(self) -> AnyPotentials:
        """The potentials of one blank image, without gradient, in evaluation mode."""
        with torch.no_grad(), evaluating(self.encoder):
            return self.encoder(self._like().new_zeros(1, self.pixels))

    def probe(self) -> AnyPotentials:
        """Return potentials of one image as if every output of the encoder's network were -1.

        They have the least convenient signs that an encoder of ours can give. What outputs a custom
        network has is not known: then they are those of a blank image.
        """
        if isinstance(self.encoder, NetworkEncoder):
            return self.blank()
        last = cast("nn.Linear", self.encoder.network[-1])
        return self.encoder.potentials(-torch.ones((1, last.out_features)))

    @property
    def arguments(self) -> dict[str, int | str]:
        """What `paper_vae` makes networks of these shapes from; of networks of one's own what can be said in words.

        Raises:
            PretrainedError: it cannot make them.
        """
        if self.own:
            return self._described()
        name = encoder_name(self.encoder)
        if name is None or not isinstance(self.decoder, Decoder) or type(self.decoder) not in OURS:
            raise PretrainedError(
                f"networks of {type(self.encoder).__name__} and {type(self.decoder).__name__} are not among "
                "those that paper_vae makes, and so cannot be made again from a configuration"
            )
        last = self.decoder.last
        encoder = cast("Encoder | CategoricalEncoder", self.encoder)
        found: dict[str, int | str] = {
            "encoder": name,
            "pixels": last.out_features,
            "n": encoder.k if isinstance(encoder, CategoricalEncoder) else self.n,
            "hidden": last.in_features,
        }
        if isinstance(encoder, CategoricalEncoder) and encoder.variables > 1:
            found |= {"variables": encoder.variables, "couplings": encoder.couplings}
        if encoder.bandwidth:
            found["bandwidth"] = encoder.bandwidth
        return found | self._prior_said() | self._space_said()

    @classmethod
    def of_arguments(
        cls,
        encoder: str,
        pixels: int,
        n: int,
        hidden: int,
        prior: str = "uniform",
        bandwidth: int = 0,
        variables: int = 1,
        couplings: str = "none",
        space: str = "",
        k: int = 0,
        least: int = -1,
        rows: int = 0,
        columns: int = 0,
    ) -> DiscreteVAE:
        """Return networks of `paper_vae` with fresh weights; k to columns are those of the space."""
        sizes = {"k": (k, 1), "least": (least, 0), "rows": (rows, 1), "columns": (columns, 1)}
        of_space = {name: value for name, (value, smallest) in sizes.items() if value >= smallest}
        return paper_vae(
            encoder,
            pixels=pixels,
            n=n,
            hidden=hidden,
            prior=prior,
            bandwidth=bandwidth,
            variables=variables,
            couplings=couplings,
            space=named_space(space, of_space) if space else None,
        )

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Images:
        """`[count, pixels]`: the mean images of `count` states drawn from the prior.

        Raises:
            NetworkError: as for `n`.
            SettingError: the prior has pairwise scores of more than 20 bits: draw states by
                `structured_vae.Gibbs(vae.prior.potentials())` and decode them.
        """
        like = self._like()
        if self.prior is not None:
            potentials = replace(self.prior.potentials(), space=self.space)
            return self.decoder.mean(drawn_states(potentials, count, generator))
        if self.space is not None:
            return self.decoder.mean(self.space.uniform(self.n, count, generator, like))
        if self.categorical:
            k, shape = self.n // self.variables, (count, self.variables)
            z = codes_of(torch.randint(k, shape, generator=generator, device=like.device), k)
        else:
            z = torch.randint(2, (count, self.n), generator=generator, device=like.device)
        return self.decoder.mean(z.to(like.dtype))

    def _like(self) -> torch.Tensor:
        """A weight, for type and device."""
        known = (
            each
            for each in self.parameters()
            if each.is_floating_point() and not isinstance(each, UninitializedParameter)
        )
        return next(known, torch.zeros(0))

    def _pixels_of_ours(self) -> int | None:
        """What a network of ours says of the size of an image."""
        if isinstance(self.decoder, Decoder):
            return self.decoder.last.out_features
        return None if isinstance(self.encoder, NetworkEncoder) else self.encoder.pixels

    def _checked_space(self, space: LatentSpace) -> LatentSpace:
        """Return the space, if the encoder gives scores of bits without pairs.

        Raises:
            SettingError: it gives others.
        """
        encoder = self.encoder
        if isinstance(encoder, CategoricalEncoder) or getattr(encoder, "link", None) is not None:
            raise SettingError(
                f"a space of states needs an encoder of bits without pairwise scores, such as "
                f"independent; got {encoder_name(encoder) or _name(encoder)}"
            )
        if isinstance(encoder, Encoder):
            space.check(encoder.n)
        return space

    def _check_agreement(self) -> None:
        encoder, decoder, prior = self.encoder, self.decoder, self.prior
        if prior and self.categorical and self.variables > 1:
            raise SettingError(
                f"a prior of {self.variables} variables of several values is uniform; pass None"
            )
        if prior and (
            len(prior.unary) != self.n or self.categorical != isinstance(prior, CategoriesPrior)
        ):
            of = f"{self.n} {'categories' if self.categorical else 'bits'}"
            raise SettingError(
                f"the prior is a {type(prior).__name__} of {len(prior.unary)}, and the encoder has {of}; "
                "they must agree"
            )
        if isinstance(decoder, NetworkDecoder):
            decoder.categories_of = self.variables if self.categorical else 0
            return
        if encoder.n != decoder.n:
            raise SettingError(
                f"the encoder has n = {encoder.n} and the decoder n = {decoder.n}; they must agree"
            )
        if self.categorical != isinstance(decoder, CategoricalDecoder):
            raise SettingError(
                f"{_name(encoder)} and {type(decoder).__name__}: one is of bits, the other of "
                "categories; they must agree"
            )
        if isinstance(decoder, CategoricalDecoder) and self.variables != decoder.variables:
            raise SettingError(
                f"the encoder has {self.variables} variables and the decoder {decoder.variables}; they must agree"
            )

    def _described(self) -> dict[str, int | str]:
        decoder = self.decoder
        found: dict[str, int | str] = {"encoder": _name(self.encoder), "decoder": _name(decoder)}
        found |= {"likelihood": _likelihood_of(decoder), "pixels": self.pixels, "n": self.n}
        if self.categorical and self.variables > 1:
            found["variables"] = self.variables
        return found | self._prior_said() | self._space_said()

    def _space_said(self) -> dict[str, int | str]:
        """Return the name and arguments of a space that is not all states.

        Raises:
            PretrainedError: nothing can make it again from its name.
        """
        if self.space is None:
            return {}
        if not self.space.arguments and not self.own:
            raise PretrainedError(f"{self.space!r} has no name, by which it could be made again")
        return self.space.arguments

    def _prior_said(self) -> dict[str, int | str]:
        """The name of a prior that is not uniform: what others wrote has none."""
        return {} if self.prior is None else {"prior": prior_name(self.prior)}


OURS: Final = (BinaryDecoder, CategoricalDecoder)
"""The decoders that `paper_vae` makes."""


def _name(network: nn.Module) -> str:
    """The class of a network, as its author calls it."""
    return type(
        network.network if isinstance(network, NetworkEncoder | NetworkDecoder) else network
    ).__name__


def paper_vae(
    encoder: str,
    *,
    pixels: int = 784,
    n: int = 15,
    hidden: int = 300,
    prior: str = "uniform",
    bandwidth: int = 0,
    variables: int = 1,
    couplings: str = "none",
    space: LatentSpace | None = None,
) -> DiscreteVAE:
    """Return the paper's architecture with one of `ENCODERS`.

    Args:
        encoder: "independent", "supermodular", "general" or "categorical".
        pixels: of an image.
        n: binary latent variables; for "categorical" the number of categories.
        hidden: units of each hidden layer.
        prior: "uniform", as the paper's; or learnt, "factorised" or "gibbs", with a score for every
            pair of bits.
        bandwidth: of an encoder with pairwise scores: they are of variables at most so far apart in
            their order, 1 for a chain; 0 for all pairs, as the paper's.
        variables: of a categorical encoder: how many variables of n values each; the paper has 1,
            and bits, which are variables of two values.
        couplings: of these: "none"; "potts", a score for equal values of two variables; or
            "general", one for every pair of values.
        space: of an independent encoder: the states of n bits that z may be; None for all.

    Raises:
        SettingError: there is no such encoder, prior or couplings; a number is too small; or the
            encoder has no pairs, and a bandwidth, or no categories, and several variables; or
            several variables of categories have a prior.

    Example:
        >>> vae = paper_vae("general")
        >>> vae.encoder(torch.zeros(2, 784)).pairwise.shape
        torch.Size([2, 105])

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, section 5.
    """
    if encoder not in ENCODERS:
        raise SettingError(f"no encoder is called '{encoder}'; there are: {', '.join(ENCODERS)}")
    least = {
        "n": (n, 1),
        "hidden": (hidden, 1),
        "variables": (variables, 1),
        "bandwidth": (bandwidth, 0),
    }
    for name, (value, smallest) in least.items():
        if value < smallest:
            raise SettingError(f"{name} must be at least {smallest}; got {value}")
    if bandwidth and encoder not in COUPLED and couplings == "none":
        raise SettingError(
            f"the encoder '{encoder}' has no pairs, and so no bandwidth; got {bandwidth}"
        )
    categorical, band = encoder == "categorical", {"bandwidth": bandwidth} if bandwidth else {}
    if not categorical and (variables, couplings) != (1, "none"):
        raise SettingError(
            f"variables and couplings are of the encoder 'categorical'; '{encoder}' has n bits; got {variables}, "
            f"{couplings!r}"
        )
    learnt = named_prior(prior, n, categorical)
    if not categorical:
        return DiscreteVAE(
            ENCODERS[encoder](pixels, n, hidden, **band),
            BinaryDecoder(pixels, n, hidden),
            prior=learnt,
            space=space,
        )
    if space is not None:
        raise SettingError(
            f"a space of states is of bits, and the encoder is {encoder}; got {space!r}"
        )
    return DiscreteVAE(
        CategoricalEncoder(pixels, n, hidden, variables, couplings, bandwidth),
        CategoricalDecoder(pixels, n, hidden, variables),
        prior=learnt,
    )


def _likelihood_of(decoder: Decoder | NetworkDecoder) -> str:
    """Its name; ours give logits."""
    return (
        likelihood_name(decoder.likelihood) if isinstance(decoder, NetworkDecoder) else "bernoulli"
    )
