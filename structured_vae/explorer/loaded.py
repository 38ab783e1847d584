"""The model of a page and its results for an image, computed once for all visits."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from structured_vae.explorer.explored_model import Encoded, Explored, Scored, open_model
from structured_vae.explorer.own_networks import NETWORKS

BEST = 8


@st.cache_resource(max_entries=1)
def opened(folder: str) -> Explored:
    """Return the model, loaded once for all visits."""
    return open_model(folder, NETWORKS.get(folder))


@st.cache_resource(max_entries=64)
def scored_image(folder: str, pixels: NDArray[np.float32] | None) -> Scored:
    """Return the scores of an image by the encoder."""
    return opened(folder).score(pixels)


@st.cache_resource(max_entries=64)
def encoded(
    folder: str, pixels: NDArray[np.float32] | None, fixed: tuple[tuple[int, int], ...]
) -> Encoded:
    """Return the posterior of an image with fixed bits."""
    return opened(folder).encode(scored_image(folder, pixels), dict(fixed), BEST)


def refuse(error: Exception) -> None:
    """Show why the page is empty, as plain text: Markdown in a name could fetch a picture."""
    with st.container(border=True):
        st.text(str(error))
