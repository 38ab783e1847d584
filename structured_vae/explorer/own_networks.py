"""Pass custom networks from the caller of `explore` to the page in the same process."""

from __future__ import annotations

from typing import Final

from models import DiscreteVAE

NETWORKS: Final[dict[str, DiscreteVAE]] = {}
"""The custom networks by the absolute path of the folder."""
