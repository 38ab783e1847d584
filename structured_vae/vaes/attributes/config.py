"""Options of the kind `attributes`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from models.networks.encoders.registry import BIT_ENCODERS

from ..config import EncoderConfig, LabelConfig, SolverConfig, at_least
from ..config.class_options import titled
from ..config.values import named


@dataclass(frozen=True, kw_only=True)
class AttributesConfig(LabelConfig, SolverConfig, EncoderConfig):
    """The attributes of CelebA, with a code for the person.

    Attributes:
        encoder: posterior over the attributes, by the name of an encoder of bits.
        consistency: weight of the same loss of images decoded from attributes, by which the decoder
            learns to show them; 0 for none. Without labels it has no effect.
        channels: of the first convolution for attributes; the others have 2, 4 and 4 times as many.
    """

    model: Literal["attributes"] = "attributes"
    encoder: str = named(BIT_ENCODERS, default="general")
    consistency: float = 30.0
    channels: int = at_least(1, default=32)

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        encoder = self.encoder + titled(self.options_of_encoder)
        seen = f"{encoder}-{self.labels}labels"
        return f"{self._data_name}-{seen}-{self.estimator}-{self.solver}-seed{self.seed}"

    @property
    def encoder_name(self) -> str:
        """The name of the encoder in messages."""
        return self.encoder

    @property
    def _has_faces(self) -> bool:
        return True

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if not self.consistency >= 0:
            yield f"consistency must be at least 0; got {self.consistency}"


CONFIG: Final = AttributesConfig
