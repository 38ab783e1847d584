"""Networks of one's own, from the caller of `explore` to the page, which Streamlit runs in the same process."""

from __future__ import annotations

from typing import Final

from models import DiscreteVAE

NETWORKS: Final[dict[str, DiscreteVAE]] = {}
"""By the folder, whose path is absolute."""
