"""The kind `own`: networks that the caller gives in Python."""

from __future__ import annotations

from typing import Final

from models import DiscreteVAE

from ...errors import ConfigError
from ..config import TrainConfig
from ..discrete.kind import DiscreteKind


class OwnKind(DiscreteKind):
    """Discrete latent variables with custom networks."""

    def networks(self, config: TrainConfig, pixels: int) -> DiscreteVAE:
        """Refuse to make networks: a configuration holds no code.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "the networks of this training were given in Python: give them, model=..."
        )


KIND: Final = OwnKind()
