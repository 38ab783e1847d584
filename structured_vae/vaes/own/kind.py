"""The kind `own`: custom networks, which the caller passes from Python."""

from __future__ import annotations

from typing import Final

from models import DiscreteVAE

from ...errors import ConfigError
from ..discrete.kind import StatesKind
from .config import OwnConfig


class OwnKind(StatesKind[OwnConfig]):
    """Discrete latent variables with custom networks."""

    def networks(self, config: OwnConfig, pixels: int) -> DiscreteVAE:
        """Raise, since a configuration holds no code from which to make networks.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "the networks of this training were passed in Python: pass them again, model=..."
        )


KIND: Final = OwnKind()
