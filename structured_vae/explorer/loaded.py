"""The model of a page and its results for an image, computed once for all visits."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from models import DiscreteVAE
from structured_vae.explorer.explored_model import Encoded, Explored, Scored, open_model

BEST = 8


@st.cache_resource(max_entries=1, show_spinner=False)
def opened(folder: str, _model: DiscreteVAE | None = None) -> Explored:
    """Return the model, loaded once for all visits.

    The page knows the folder alone. `prepare` calls this function before, with custom networks if
    there are any, and Streamlit returns the same model to the page: an argument whose name begins
    with an underscore does not count.

    Args:
        folder: the absolute path of the folder.
        _model: custom networks; the weights of the folder replace theirs.
    """
    return open_model(folder, _model)


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


def prepare(folder: str, model: DiscreteVAE | None) -> None:
    """Load the model of a page before its first visit, in place of any earlier one.

    Raises:
        RunError: as for `open_model`.
    """
    for cached in (opened, scored_image, encoded):
        cached.clear()
    opened(folder, model)


def refuse(error: Exception) -> None:
    """Show why the page is empty, as plain text: Markdown in a name could fetch a picture."""
    with st.container(border=True):
        st.text(str(error))
