"""The VAE of an encoder and a decoder that share discrete latent variables."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, cast
from warnings import warn

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter

from ..arguments import whole_number
from ..errors import NetworkError, PretrainedError, SettingError
from ..likelihoods import Likelihood
from ..networks.decoder import BinaryDecoder, CategoricalDecoder, Decoder
from ..networks.encoders.categorical import CategoricalEncoder
from ..networks.encoders.encoder import Encoder
from ..networks.encoders.options import checked_encoder_options, options_of_encoder
from ..networks.encoders.registry import CATEGORICAL, ENCODERS, encoder_name
from ..networks.own_networks import NetworkDecoder, NetworkEncoder, evaluating
from ..potentials import AnyPotentials, LatentSpace
from ..pretrained import Pretrained
from ..pretrained.arguments import with_fields_of
from ..priors import Prior, PriorOptions, States, named_prior
from ..priors.options import with_former_sizes
from ..shapes import Images
from ..spaces import named_space
from ..states import codes_of
from .arguments import DiscreteArguments


class DiscreteVAE(Pretrained):
    """A variational auto-encoder with discrete latent variables and a uniform or a learnt prior.

    The latent state is n bits, or one of k categories as a one-hot vector; n is then k. The one-hot
    vectors of several variables of k categories follow one after the other, and n is k times their
    number. Encoder and decoder may be any modules: one that takes images `[batch, pixels]` and
    returns `Potentials` or `CategoricalPotentials`, and one that takes states `[count, n]` and
    returns the logits or means of their images. Everything else uses these two calls; see
    `NetworkDecoder`.

    Args:
        encoder: returns the potentials of the posterior.
        decoder: returns the image distribution of a state.
        likelihood: likelihood of a custom decoder: "bernoulli" (it returns logits) or "gaussian"
            (it returns means).
        pixels: number of pixels of an image, with which n is read from the potentials of a blank
            one. It is needed where both networks are custom ones, unless the encoder has already
            seen an image.
        prior: the prior over latent states, learnt with the networks; None for the uniform one.
        space: the space of the states of n bits, such as `structured_vae.KOfN(3)`; None for all.
            Prior, posterior and evaluation are over these states only.

    Raises:
        SettingError: encoder and decoder have different n, or one has bits and the other
            categories; `likelihood` is not that of the decoder; or `space` is no space, or the
            prior cannot be restricted to it.
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
        if not isinstance(decoder, Decoder | NetworkDecoder):
            decoder = NetworkDecoder(decoder, likelihood)
        elif likelihood != "bernoulli" and not decoder.has_likelihood(likelihood):
            raise SettingError(
                f"{type(decoder).__name__} has one: its likelihood is {decoder.likelihood_name}, "
                f"not {likelihood!r}"
            )
        if not isinstance(encoder, Encoder | CategoricalEncoder | NetworkEncoder):
            encoder = NetworkEncoder(encoder)
        self.encoder: Encoder | CategoricalEncoder | NetworkEncoder = encoder
        self.decoder: Decoder | NetworkDecoder = decoder
        self.prior = prior
        self.space: LatentSpace | None = None
        if space is not None:
            self.restrict(space)
        if pixels is None:
            pixels = self._pixels_of_ours()
        # Custom networks are checked by a blank image, whose size they may not know yet.
        if not self.own:
            self._check_agreement()
        elif pixels is not None:
            self.fit_to(pixels)

    @property
    def n(self) -> int:
        """The length of a latent state: the number of bits, or of categories of all variables.

        Raises:
            NetworkError: the encoder is a custom one, and has not seen an image.
        """
        return self.encoder.n

    @property
    def variables(self) -> int:
        """The number of latent variables: n bits, or the variables with categories.

        Raises:
            NetworkError: as for `n`.
        """
        return self.encoder.variables

    @property
    def categorical(self) -> bool:
        """Whether latent variables have categories, the state being one-hot, rather than n bits.

        Raises:
            NetworkError: as for `n`.
        """
        return self.encoder.categorical

    @property
    def pixels(self) -> int:
        """The number of values of an image.

        Raises:
            NetworkError: as for `n`.
        """
        pixels = self.decoder.pixels
        if pixels is None:
            return self.encoder.pixels
        return pixels

    @property
    def own(self) -> bool:
        """Whether encoder or decoder is a custom network, which no configuration can make again."""
        return self.encoder.custom or self.decoder.custom

    def fit_to(self, pixels: int) -> None:
        """Read the latent variables from the potentials of a blank image, and check the decoder.

        Args:
            pixels: number of pixels of an image.

        Raises:
            NetworkError: the networks take images of another size, or return something else than
                potentials and images.
            SettingError: the networks have different n, or one has bits and the other categories;
                or the prior cannot be restricted to the space of the potentials.
        """
        like = self._like()
        failure = f"the encoder cannot take an image of {pixels} pixels"
        try:
            with torch.no_grad(), evaluating(self):
                potentials = self.encoder(like.new_zeros(1, pixels))
                if self.space is None and potentials.space is not None:
                    self.restrict(potentials.space)
                self._check_agreement()
                failure = (
                    f"the decoder cannot take a state of {potentials.unary.shape[-1]} variables"
                )
                outputs = self.decoder(torch.zeros_like(potentials.unary))
        except RuntimeError as error:
            raise NetworkError(f"{failure}: {str(error)[:400]}") from error
        if outputs.shape[-1] != pixels:
            raise NetworkError(
                f"the decoder gives {outputs.shape[-1]} pixels, and the images have {pixels}"
            )

    def restrict(self, space: LatentSpace) -> None:
        """Restrict z to the states of a space, to which all later potentials belong.

        Raises:
            SettingError: `space` is no space, the encoder has pairwise scores or categories, the
                model is over another space, or the prior cannot be restricted to this one.
        """
        if self.space is not None and self.space != space:
            raise SettingError(f"this model is over the states of {self.space!r}; got {space!r}")
        self._check_space(space)
        self.encoder.space = space
        self.space = space

    def check_prior(self) -> None:
        """Raise unless the prior is over the states of the model.

        Raises:
            NetworkError: as for `n`.
            SettingError: the prior is over other states.
        """
        if self.prior is not None:
            self.prior.check(self.n, self.variables, self.categorical)
        if self.space is not None:
            self._check_prior_over(self.space)

    def blank(self) -> AnyPotentials:
        """Return the potentials of one blank image, without gradient, in evaluation mode."""
        with torch.no_grad(), evaluating(self.encoder):
            return self.encoder(self._like().new_zeros(1, self.pixels))

    def probe(self) -> AnyPotentials:
        """Return potentials of one image as if every output of the encoder's network were -1.

        Pairwise scores of bits are -1 too, unless the encoder declares that they are never
        negative. These are the most difficult signs that the encoder can give. The outputs of
        a custom network are not known, so its result is the potentials of a blank image.
        """
        if self.encoder.custom:
            return self.blank()
        return cast("Encoder | CategoricalEncoder", self.encoder).probe()

    @property
    def arguments(self) -> dict[str, int | str]:
        """The arguments with which `paper_vae` makes such networks; for custom ones a description.

        Raises:
            PretrainedError: `paper_vae` cannot make them.
        """
        if self.own:
            return self._described()
        name = encoder_name(self.encoder)
        if name is None or type(self.decoder) not in OURS:
            raise PretrainedError(
                f"networks of {type(self.encoder).__name__} and {type(self.decoder).__name__} are "
                "not among those that paper_vae makes, and so cannot be made again from a "
                "configuration"
            )
        last = cast("Decoder", self.decoder).last
        encoder = cast("Encoder | CategoricalEncoder", self.encoder)
        arguments: dict[str, int | str] = {
            "encoder": name,
            "pixels": last.out_features,
            "hidden": last.in_features,
        }
        return arguments | encoder.arguments | self._prior_arguments() | self._space_arguments()

    @classmethod
    @with_fields_of(DiscreteArguments)
    def of_arguments(cls, arguments: DiscreteArguments, **others: int) -> DiscreteVAE:
        """Return networks of `paper_vae` with new weights.

        As in the files of a model, n is the number of bits, or of categories. The other arguments
        are options of the encoder, or arguments of the space.

        Raises:
            SettingError: as for `paper_vae`.
        """
        sizes: dict[str, int] = {"n": arguments.n}
        if arguments.encoder == "categorical":
            sizes = {"k": arguments.n}
        names = options_of_encoder(arguments.encoder)
        of_encoder = {name: value for name, value in others.items() if name in names}
        of_space = {name: value for name, value in others.items() if name not in names}
        return paper_vae(
            arguments.encoder,
            pixels=arguments.pixels,
            **sizes,
            hidden=arguments.hidden,
            prior=arguments.prior_options,
            space=_stored_space(arguments.space, of_space),
            couplings=arguments.couplings,
            **of_encoder,
        )

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Images:
        """Return the mean images `[count, pixels]` of states drawn from the prior.

        Raises:
            NetworkError: as for `n`.
            SettingError: the prior has pairwise scores of more than 20 bits: draw states by
                `structured_vae.Gibbs(vae.prior.potentials())` and decode them.
        """
        like = self._like()
        if self.prior is not None:
            space = self.space
            if space is not None and self._is_whole(space):
                space = None
            return self.decoder.mean(self.prior.sample(count, generator, space))
        if self.space is not None:
            return self.decoder.mean(self.space.uniform(self.n, count, generator, like))
        if self.categorical:
            k = self.n // self.variables
            shape = (count, self.variables)
            z = codes_of(torch.randint(k, shape, generator=generator, device=like.device), k)
        else:
            z = torch.randint(2, (count, self.n), generator=generator, device=like.device)
        return self.decoder.mean(z.to(like.dtype))

    def _like(self) -> torch.Tensor:
        """Return a weight, for its type and device."""
        for weight in self.parameters():
            if weight.is_floating_point() and not isinstance(weight, UninitializedParameter):
                return weight
        return torch.zeros(0)

    def _pixels_of_ours(self) -> int | None:
        """Return the size of an image by a network of this package; None if both are custom."""
        pixels = self.decoder.pixels
        if pixels is None and not self.encoder.custom:
            return self.encoder.pixels
        return pixels

    def _check_space(self, space: LatentSpace) -> None:
        """Raise unless the encoder gives scores for the states of a space, which the prior takes.

        Raises:
            SettingError: it is no space, the encoder has pairwise scores or categories, or the
                prior cannot be restricted to it.
        """
        if isinstance(space, type) or not isinstance(space, LatentSpace):
            raise SettingError(
                f"space must be a space of states, such as structured_vae.KOfN(3); got {space!r}. "
                "structured_vae.spaces.as_space makes one of any object with an argmax"
            )
        encoder = self.encoder
        if not encoder.takes(space):
            raise SettingError(
                f"a space of states needs an encoder of bits without pairwise scores, such as "
                f"independent; got {encoder_name(encoder) or encoder.name}"
            )
        if self._knows_n:
            self._check_prior_over(space)

    @property
    def _knows_n(self) -> bool:
        """Whether n is known: a custom encoder has to see an image first."""
        try:
            return self.n >= 0
        except NetworkError:
            return False

    def _check_prior_over(self, space: LatentSpace) -> None:
        """Raise unless the prior can be restricted to a space.

        Raises:
            SettingError: it cannot.
        """
        if self.prior is not None and not self._is_whole(space):
            self.prior.check_space(space)

    def _is_whole(self, space: LatentSpace) -> bool:
        """Return whether a space of bits has all 2^n states."""
        log_count = space.log_count(self.n)
        return log_count is not None and math.isclose(log_count, self.n * math.log(2))

    def _check_agreement(self) -> None:
        """Raise unless encoder, prior and decoder have the same latent variables.

        A custom decoder is told how many variables have categories.

        Raises:
            SettingError: they differ.
        """
        self.check_prior()
        self.decoder.agree(self.n, self.variables, self.categorical)

    def _described(self) -> dict[str, int | str]:
        description: dict[str, int | str] = {
            "encoder": self.encoder.name,
            "decoder": self.decoder.name,
            "likelihood": self.decoder.likelihood_name,
            "pixels": self.pixels,
            "n": self.n,
        }
        if self.categorical and self.variables > 1:
            description["variables"] = self.variables
        return description | self._prior_arguments() | self._space_arguments()

    def _space_arguments(self) -> dict[str, int | str]:
        """Return the name and arguments of a space that is not all states.

        Raises:
            PretrainedError: the space has no name.
        """
        if self.space is None:
            return {}
        if not self.space.arguments and not self.own:
            raise PretrainedError(f"{self.space!r} has no name, by which it could be made again")
        return self.space.arguments

    def _prior_arguments(self) -> dict[str, int | str]:
        """Return the options of a prior that is not uniform."""
        if self.prior is None:
            return {}
        return self.prior.arguments


OURS: Final = (BinaryDecoder, CategoricalDecoder)
"""The decoders that `paper_vae` makes."""


PAPER_SIZE: Final = 15
"""The number of bits, or of categories, of the paper's networks."""


@with_former_sizes
def paper_vae(
    encoder: str,
    *,
    pixels: int = 784,
    n: int | None = None,
    hidden: int = 300,
    prior: str | PriorOptions = "uniform",
    space: LatentSpace | None = None,
    k: int | None = None,
    **encoder_options: int | str,
) -> DiscreteVAE:
    """Make a VAE with the layers of Lorberbom et al. (2019) and one of the `ENCODERS`.

    Args:
        encoder: a name of `ENCODERS`: "independent", "supermodular", "general" or "categorical".
        pixels: number of pixels of an image.
        n: number of bits, 15 by default. For "categorical" it used to be the number of categories,
            which is now k.
        hidden: number of units of each hidden layer.
        prior: "uniform", as in the paper; or a learnt one: "factorised"; "gibbs" with a score for
            every pair of bits; or an autoregressive one: "linear", "made" or "transformer".
            `models.priors.PriorOptions` adds sizes to the name.
        space: for an independent encoder, the space of the states of n bits; None for all.
        k: for a categorical encoder, the number of categories of each variable, 15 by default.
        encoder_options: other arguments of the class of the encoder. An encoder with pairwise
            scores has `bandwidth`, the largest distance of two variables of a pair in their order:
            1 for a chain, 0 for all pairs, as in the paper. "categorical" has `variables`, the
            number of variables of k values each (1 in the paper), and `couplings`, their pairwise
            scores: "none"; "potts", a score for equal values of two variables; or "general", one
            for every pair of values. A custom encoder may have others.

    Raises:
        SettingError: no encoder, prior or couplings have that name; a number is too small; k is
            passed for an encoder of bits, or together with n; the encoder does not have an option,
            such as a bandwidth without pairs or variables without categories; a space is passed for
            an encoder of categories; or several variables of categories have a prior.

    Warns:
        DeprecationWarning: the number of categories is passed as n, or the sizes of the prior as
            `prior_hidden` and `prior_layers`, which are fields of `PriorOptions`.

    Example:
        >>> vae = paper_vae("general")
        >>> vae.encoder(torch.zeros(2, 784)).pairwise.shape
        torch.Size([2, 105])

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, section 5.
    """
    encoder_class = ENCODERS.named(encoder)
    name_of_size, size = _size_of_states(encoder, n, k)
    size = whole_number(size, name_of_size, SettingError)
    pixels = whole_number(pixels, "pixels", SettingError)
    hidden = whole_number(hidden, "hidden", SettingError)
    # Their types are those of the class, which only the class knows.
    options: Any = checked_encoder_options(encoder, encoder_options)
    network = encoder_class(pixels, size, hidden=hidden, **options)
    if not isinstance(network, CategoricalEncoder):
        network.options = options
        return DiscreteVAE(
            network,
            BinaryDecoder(pixels, size, hidden),
            prior=named_prior(prior, States(size)),
            space=space,
        )
    if space is not None:
        raise SettingError(
            f"a space of states is of bits, and the encoder is {encoder}; got {space!r}"
        )
    return DiscreteVAE(
        network,
        CategoricalDecoder(pixels, size, hidden, network.variables),
        prior=named_prior(prior, States(network.variables, size)),
    )


def _stored_space(name: str, arguments: dict[str, int]) -> LatentSpace | None:
    """Return the space of a stored model; None for all states.

    Args:
        name: its name; empty for all states.
        arguments: those of its class.

    Raises:
        SettingError: there are arguments without a name, or no space has this name.
    """
    if name:
        return named_space(name, arguments)
    if arguments:
        raise SettingError(
            f"unknown keys: {', '.join(arguments)}; arguments of a space need its name, space"
        )
    return None


def _size_of_states(encoder: str, n: int | None, k: int | None) -> tuple[str, int]:
    """Return the name and the value of the number of bits, or of the categories of a variable."""
    if encoder not in CATEGORICAL:
        if k is not None:
            raise SettingError(
                f"k is the number of categories, and the encoder '{encoder}' has bits: pass n; "
                f"got k = {k}"
            )
        if n is None:
            n = PAPER_SIZE
        return "n", n
    if n is None:
        if k is None:
            k = PAPER_SIZE
        return "k", k
    if k is not None:
        raise SettingError(
            f"the encoder 'categorical' takes the number of categories as k alone; got n = {n} "
            f"and k = {k}. For several variables pass variables"
        )
    warn(
        f"the number of categories is now k: paper_vae('categorical', k={n}). "
        "For several variables pass variables",
        DeprecationWarning,
        stacklevel=4,
    )
    return "k", n
