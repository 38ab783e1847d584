"""Options of the class of an encoder."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from models.errors import SettingError
from models.networks.encoders.options import checked_encoder_options
from models.networks.encoders.registry import ENCODERS

from ...errors import ConfigError
from .class_options import read_options
from .gradient import EstimatorConfig


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(EstimatorConfig):
    """A training whose encoder has a name.

    Attributes:
        encoder_options: other arguments of the class of an encoder of your own, whole numbers, such
            as rank=3.
    """

    encoder_options: str = ""

    @property
    def options_of_encoder(self) -> dict[str, int]:
        """Return the arguments of the class of the encoder that have no field of their own."""
        return read_options(self.encoder_options, "encoder_options")

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if not self.encoder_options or self.encoder_name not in ENCODERS:
            return
        try:
            options = self.options_of_encoder
            checked_encoder_options(self.encoder_name, options)
        except (ConfigError, SettingError) as error:
            yield str(error)
            return
        with_fields = {field.name for field in fields(self)}
        for name in options:
            if name in with_fields:
                yield (
                    f"{name} is an option of its own: set {name}, and leave it out of "
                    "encoder_options"
                )
