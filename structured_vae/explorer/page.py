"""The page itself, which Streamlit runs from top to bottom whenever something on it is changed."""

from __future__ import annotations

import sys

import streamlit as st

from structured_vae.errors import StructuredVAEError
from structured_vae.explorer.choices import (
    chosen_image,
    chosen_style,
    controls,
    read_link,
)
from structured_vae.explorer.drawings import (
    DARK,
    LIGHT,
    Palette,
    are_words,
)
from structured_vae.explorer.explored_model import Explored
from structured_vae.explorer.loaded import encoded, opened, refuse, scored_image
from structured_vae.explorer.panels import (
    View,
    bars,
    best_states,
    couplings,
    decoded,
    path,
    samples,
    share,
)

STYLE = """
h1 {font-size: 1.7rem !important}
h2 {font-size: 1.35rem !important; padding-top: 1rem !important}
h3 {font-size: 1.1rem !important}
.stMainBlockContainer {padding-top: 2.5rem; padding-bottom: 3rem; max-width: 78rem}
.st-key-bits {display: grid; gap: 0.4rem 0.6rem;
  grid-template-columns: repeat(auto-fill, minmax(%s, 1fr))}
.st-key-bits [data-testid=stButtonGroup] {min-width: 0}
[class*=st-key-thumbnails] {display: flex; flex-direction: row; flex-wrap: wrap; gap: 6px}
[class*=st-key-thumbnails] > div {width: auto !important}
[class*=st-key-thumbnails] button {width: 58px; height: 58px; min-height: 0; padding: 0;
  border-radius: 4px; background-size: contain; background-repeat: no-repeat;
  background-position: center; image-rendering: pixelated}
[class*=st-key-thumbnails] button p {font-size: 0}
[class*=st-key-thumbnails] button[kind=primary] {outline: 3px solid #c65d00; outline-offset: 1px}
"""


def main(folder: str) -> None:
    """Show the whole page."""
    st.set_page_config(page_title="structured-vae explorer", layout="wide")
    model = opened(folder)
    palette = _palette()
    _show_style(model)
    read_link(model)
    st.title("structured-vae explorer")
    st.text(
        "See what the code of an image means: fix a part of it, and see the rest and the picture."
    )
    st.text(title(model))
    image, pixels = chosen_image(model, palette)
    left, right = st.columns(2, gap="large")
    with left:
        heading = "Choose a category"
        if model.bits:
            heading = "Fix some bits, and the rest is solved again"
        st.header(heading)
        fixed = controls(model)
        style = chosen_style(model, folder, pixels)
    try:
        posterior = encoded(folder, pixels, tuple(sorted(fixed.items())))
    except StructuredVAEError as error:  # no state has all the fixed bits
        refuse(error)
        st.stop()
    if model.bits:
        ranking = posterior
    else:
        ranking = encoded(folder, pixels, ())
    view = View(
        model,
        folder,
        palette,
        scored_image(folder, pixels),
        image,
        fixed,
        posterior,
        ranking,
        style,
    )
    with left:
        bars(view)
    with right:
        decoded(view)
    _show_panels(view)


def _palette() -> Palette:
    """Return the colours of the theme that the reader has chosen."""
    if st.context.theme.type == "dark":
        return DARK
    return LIGHT


def _show_style(model: Explored) -> None:
    """Add the style of the page, with columns that are wide enough for the names of the bits."""
    width = "5rem"
    if are_words(model.names):
        width = "7.5rem"
    st.html(f"<style>{STYLE.replace('%s', width)}</style>")


def _show_panels(view: View) -> None:
    """Show the panels below the two columns."""
    if view.encoded.couplings is not None:
        couplings(view, view.encoded.couplings)
    best_states(view)
    # A path leads from the code of an image to that of another one.
    if view.model.parts.has_paths and view.image is not None:
        path(view)
    samples(view)
    share(view)


def title(model: Explored) -> str:
    """Return a line that describes the model."""
    kind = "categories"
    if model.bits:
        kind = "bits"
    description = f"{type(model.vae).__name__}, {model.vae.n} {kind}"
    if model.training is None:
        return description
    return f"{description}, {model.training.title}"


if __name__ == "__main__":
    main(sys.argv[1])
