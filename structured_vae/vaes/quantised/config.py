"""Options of the kind `quantised`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ...data import CELEBA
from ..config import TrainConfig, at_least, faults_of_prior_sizes, known

QuantiserName = Literal["fsq", "vq", "lfq", "bsq"]
Networks = Literal["dense", "convolutional"]
CodePrior = Literal["factorised", "linear", "made", "transformer"]

BITS: Final = ("lfq", "bsq")
"""The quantisers whose variables are bits."""

USUAL: Final = {
    "fsq": {"codes": 8, "dimensions": 1, "commitment": 0.0, "code_entropy": 0.0},
    "vq": {"codes": 256, "dimensions": 8, "commitment": 0.25, "code_entropy": 0.0},
    "lfq": {"codes": 2, "dimensions": 1, "commitment": 0.05, "code_entropy": 0.05},
    "bsq": {"codes": 2, "dimensions": 1, "commitment": 0.0, "code_entropy": 0.1},
}
"""The default values of unset options, by quantiser."""


@dataclass(frozen=True, kw_only=True)
class QuantisedConfig(TrainConfig):
    """One code for each image, without noise: vq, fsq, lfq or bsq.

    Attributes:
        quantiser: fsq, which rounds each feature to a few levels; vq, the nearest vector of a
            learnt codebook; lfq, the signs of features; or bsq, the signs of vectors on a sphere.
        n: variables; bits of lfq and bsq.
        codes: values of a variable: levels of fsq, default 8; vectors in the codebook of vq,
            default 256; lfq and bsq have bits.
        dimensions: of vq, length of a vector; default: 8.
        networks: dense, with the paper's layers; or convolutional, to a grid of tokens, among which
            n is shared: 49 for images of 28 x 28, and 64 for 32 x 32 and 64 x 64.
        hidden: units of the hidden layers of dense networks.
        channels: of the first convolution; later ones have up to 4 times as many.
        code_prior: factorised, the frequencies of values; or an autoregressive one, linear, made or
            transformer, which learns from the codes and gives them no gradient.
        prior_hidden: units of a hidden layer of the prior made, 0 for 400; or the size of the
            vectors of transformer, 0 for 64.
        prior_layers: hidden layers of made, 0 for 1; or layers of transformer, 0 for 2.
        commitment: weight of the mean square distance of the encoder's vectors from those of their
            codes, in nats per pixel; default: 0.25 of vq and 0.05 of lfq, else 0.
        code_entropy: weight of the mean entropy of soft codes less the entropy of their mean, of
            lfq and bsq, in nats per pixel; default: 0.05 of lfq and 0.1 of bsq.
    """

    model: Literal["quantised"] = "quantised"
    quantiser: QuantiserName = "fsq"
    n: int = at_least(1, default=15)
    codes: int | None = None
    dimensions: int | None = None
    networks: Networks = "dense"
    hidden: int = at_least(1, default=300)
    channels: int = at_least(1, default=32)
    code_prior: CodePrior = "factorised"
    prior_hidden: int = at_least(0, default=0)
    prior_layers: int = at_least(0, default=0)
    commitment: float | None = None
    code_entropy: float | None = None

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        code = f"{self.quantiser}{self.n}"
        if self.quantiser not in BITS:
            code += f"x{self.codes}"
        if self.code_prior != "factorised":
            code += f"-{self.code_prior}-prior"
        return f"{self._data_name}-{code}-{self.networks}-seed{self.seed}"

    @property
    def likelihood(self) -> str:
        """The likelihood of the images: bernoulli of bits, else that of stored intensities."""
        if self.data.binarisation == "none":
            return "discretised_gaussian"
        return "bernoulli"

    @property
    def _has_faces(self) -> bool:
        """Whether the images are those of celeba, which this kind takes as it takes all others."""
        return self.data.name == CELEBA

    def _complete(self) -> None:
        self._fill(rate_decay="cosine")
        if self.rate_decay == "cosine":
            self._fill(learning_rate=2e-3)
        self._fill(**USUAL.get(self.quantiser, USUAL["fsq"]))
        super()._complete()

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        yield from self._faults_of_codes()
        yield from faults_of_prior_sizes(self, "code_prior", ("made", "transformer"))
        yield from self._faults_of_weights()

    def _faults_of_codes(self) -> Iterator[str]:
        """Yield what is wrong with the number of values and the length of vectors."""
        codes = known(self.codes)
        dimensions = known(self.dimensions)
        if self.quantiser in BITS and codes != 2:
            yield f"codes is an option of fsq and vq; {self.quantiser} has bits; got {codes}"
        if codes < 2:
            yield f"codes must be at least 2; got {codes}"
        if self.quantiser != "vq" and dimensions != 1:
            yield f"dimensions is an option of vq; got {dimensions} with {self.quantiser}"
        if dimensions < 1:
            yield f"dimensions must be at least 1; got {dimensions}"

    def _faults_of_weights(self) -> Iterator[str]:
        """Yield what is wrong with the weights of the terms of the objective."""
        if not known(self.commitment) >= 0:
            yield f"commitment must be at least 0; got {self.commitment}"
        if not known(self.code_entropy) >= 0:
            yield f"code_entropy must be at least 0; got {self.code_entropy}"
        if self.code_entropy and self.quantiser not in BITS:
            yield (
                "code_entropy is an option of lfq and bsq, which have soft codes; got "
                f"{self.code_entropy} with {self.quantiser}"
            )


CONFIG: Final = QuantisedConfig
