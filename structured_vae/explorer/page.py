"""The page itself, which Streamlit runs from top to bottom whenever something on it is changed."""

from __future__ import annotations

import sys

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from structured_vae.errors import StructuredVAEError
from structured_vae.explorer.drawings import bars_html, heat_map_html, image_html
from structured_vae.explorer.explored_model import Encoded, Explored, open_model
from structured_vae.explorer.own_networks import NETWORKS
from structured_vae.explorer.upload import read_upload

STYLES = 20
ROWS = 4
STYLE = """
h1 {font-size: 1.8rem !important}
h2 {font-size: 1.5rem !important}
h3 {font-size: 1.15rem !important}
.stMainBlockContainer {padding-top: 2rem; padding-bottom: 3rem}
.st-key-bits {display: grid; grid-template-columns: repeat(auto-fill, minmax(4.5rem, 1fr)); gap: 0.5rem}
"""


@st.cache_resource(max_entries=1)
def opened(folder: str) -> Explored:
    """The model, loaded once for all visits."""
    return open_model(folder, NETWORKS.get(folder))


@st.cache_resource(max_entries=64)
def encoded(folder: str, pixels: NDArray[np.float32]) -> tuple[Encoded, str, str | None]:
    """The posterior of an image, its bars and its heat map."""
    model = opened(folder)
    found = model.encode(pixels)
    bars = bars_html(found.marginals, names(model), "bars: " + spoken(found.marginals))
    couplings = found.couplings
    heat = None if couplings is None else heat_map_html(couplings, "heat map of the couplings between bits")
    return found, bars, heat


def main(folder: str) -> None:
    """The whole page."""
    st.set_page_config(page_title="structured-vae explorer", layout="wide")
    st.html(f"<style>{STYLE}</style>")
    model = opened(folder)
    st.title("structured-vae explorer")
    st.text(title(model))
    left, right = st.columns(2, gap="large")
    with left:
        switches(model)
        samples(model)
    with right:
        posterior(folder, model)


@st.fragment
def switches(model: Explored) -> None:
    """Every bit or category, and the image of the state."""
    st.header("Decode")
    if model.bits:
        with st.container(key="bits"):
            bits = tuple(int(st.toggle(name, key=f"bit {name}")) for name in names(model))
    else:
        bits = model.state(int(st.radio("Category", names(model), horizontal=True, key="category")))
    style = 0
    if model.has_style:
        style = st.slider("Style: 0 is the mean of the prior, every other one a draw from it", 0, STYLES)
    st.html(image_html(model.decode(bits, style), "decoded image", 308))


@st.fragment
def posterior(folder: str, model: Explored) -> None:
    """An image, its reconstruction and its posterior."""
    st.header("Encode")
    pixels = chosen_image(model)
    if pixels is None:
        return
    found, bars, heat = encoded(folder, pixels)
    pair = np.concatenate([pixels.reshape(model.size), np.zeros((model.size[0], 2)), found.reconstruction], 1)
    st.html(image_html(pair, "the image, and the image of its most probable state", 348))
    st.text("Left: the image. Right: its most probable state, decoded.")
    wish = "Put this state into the switches" if model.bits else "Choose this category"
    if st.button(wish, on_click=copy, args=(model, found.state)):
        st.rerun()  # of the whole page: the switches are another part
    if found.every_class is not None:
        st.text("Its style under every class:")
        st.html(image_html(found.every_class, "the style of the image under every class", 560))
    st.subheader("Probability of each bit being 1" if model.bits else "Probability of each category")
    st.text(f"Posterior: {found.how}.")
    st.html(bars)
    if heat is not None:
        st.subheader("Couplings between bits")
        st.text("Pairwise scores: red pairs favour being 1 together, blue pairs avoid it.")
        st.html(heat)


def chosen_image(model: Explored) -> NDArray[np.float32] | None:
    """`[pixels]`: from the test split or from a file; None as long as there is neither."""
    if st.radio("Image", ["Test split", "File"], horizontal=True) == "File":
        return uploaded_image(model)
    try:
        images = model.test_images
    except StructuredVAEError as error:
        refuse(error)
        return None
    number = st.number_input("Number of the test image, from 0", 0, len(images) - 1)
    return np.asarray(images[int(number)])


def uploaded_image(model: Explored) -> NDArray[np.float32] | None:
    """`[pixels]`: of a file of the visitor's."""
    file = st.file_uploader("Image file", type=["png", "jpg", "jpeg", "webp", "gif", "bmp"])
    if file is None:
        return None
    binarisation = (model.training and model.training.data.binarisation) or "threshold"
    try:
        return read_upload(file.getvalue(), model.size, binarisation)
    except StructuredVAEError as error:
        refuse(error)
        return None


@st.fragment
def samples(model: Explored) -> None:
    """Images from the prior."""
    st.header("Samples")
    seed = st.number_input("Seed", 0, 10**6, 0)
    picture = model.samples(ROWS, int(seed))
    st.html(image_html(picture, "samples from the prior", 2 * picture.shape[1]))


def refuse(error: Exception) -> None:
    """Why there is nothing to see, as plain text: Markdown in a name could fetch a picture."""
    with st.container(border=True):
        st.text(str(error))


def copy(model: Explored, state: tuple[int, ...]) -> None:
    """Puts a state into the switches."""
    if model.bits:
        for name, bit in zip(names(model), state, strict=True):
            st.session_state[f"bit {name}"] = bool(bit)
    else:
        st.session_state["category"] = str(state.index(1))


def names(model: Explored) -> list[str]:
    """Of the bits or categories: their places in z."""
    return [str(i) for i in range(model.vae.n)]


def spoken(marginals: NDArray[np.float64]) -> str:
    """Probabilities for those who do not see them."""
    return ", ".join(f"{i}: {value:.2f}" for i, value in enumerate(marginals))


def title(model: Explored) -> str:
    """What is explored, in a line."""
    kind = "bits" if model.bits else "categories"
    return f"{type(model.vae).__name__}, {model.vae.n} {kind}" + (
        "" if model.training is None else f", {model.training.title}"
    )


if __name__ == "__main__":
    main(sys.argv[1])
