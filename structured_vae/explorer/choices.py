"""The controls of the page: an image, bits to fix, and a style."""

from __future__ import annotations

from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from structured_vae.errors import StructuredVAEError
from structured_vae.explorer.drawings import (
    Palette,
    data_url,
)
from structured_vae.explorer.explored_model import Explored
from structured_vae.explorer.links import read_query
from structured_vae.explorer.loaded import refuse, scored_image
from structured_vae.explorer.upload import read_colours, read_upload

THUMBNAILS = 12
STYLES = 20
SPLIT = "Test images"
FILE = "A file"
PRIOR = "No image: the prior"
OF_IMAGE = "of the image"
OF_PRIOR = "mean of the prior"


def read_link(model: Explored) -> None:
    """Set the controls to the state in a link, on the first run of a visit."""
    if "visited" in st.session_state:
        return
    st.session_state["visited"] = True
    image, fixed, other = read_query(st.query_params.to_dict(), model.vae.n)
    st.session_state["image"] = image or 0
    st.session_state["other"] = other
    if model.bits:
        for i, value in fixed.items():
            st.session_state[f"bit {i}"] = str(value)
    elif chosen := [i for i, value in fixed.items() if value]:
        st.session_state["category"] = model.names[chosen[0]]


def chosen_image(
    model: Explored, palette: Palette
) -> tuple[int | None, NDArray[np.float32] | None]:
    """Return the number of the test image, or None, and its `[pixels]`, or None."""
    source = st.radio("What is encoded", [SPLIT, FILE, PRIOR], horizontal=True, key="source")
    if source == PRIOR:
        return None, None
    if source == FILE:
        return None, uploaded_image(model)
    try:
        number = test_image(model, palette, "image")
    except StructuredVAEError as error:
        refuse(error)
        return None, None
    return number, model.test_image(number)


def test_image(model: Explored, palette: Palette, key: str) -> int:
    """Return the number of a test image, chosen by a thumbnail or typed."""
    count = len(model.test_images)
    chosen = st.session_state[key] = min(st.session_state.get(key) or 0, count - 1)
    first = chosen // THUMBNAILS * THUMBNAILS
    numbers = range(first, min(first + THUMBNAILS, count))
    rules = [
        f".st-key-{key}-{number - first} button {{background-image: "
        f"url({data_url(model.shown(model.test_image(number)), palette)})}}"
        for number in numbers
    ]
    st.html(f"<style>{' '.join(rules)}</style>")
    with st.container(key=f"thumbnails-{key}"):
        for number in numbers:
            kind: Literal["primary", "secondary"] = "secondary"
            if number == chosen:
                kind = "primary"
            name = f"test image {number}"
            st.button(
                name, key=f"{key}-{number - first}", type=kind, on_click=choose, args=(key, number)
            )
    words = "Number of the other image"
    if key == "image":
        words = "Number of the test image"
    return int(st.number_input(words, 0, count - 1, key=key, width=220))


def choose(key: str, number: int) -> None:
    """Choose a test image."""
    st.session_state[key] = number


def uploaded_image(model: Explored) -> NDArray[np.float32] | None:
    """Return the image `[pixels]` of a file that the visitor uploads."""
    file = st.file_uploader("Image file", type=["png", "jpg", "jpeg", "webp", "gif", "bmp"])
    if file is None:
        return None
    binarisation = (model.training and model.training.data.binarisation) or "threshold"
    try:
        if model.colours > 1:
            return read_colours(file.getvalue(), model.size)
        return read_upload(file.getvalue(), model.size, binarisation)
    except StructuredVAEError as error:
        refuse(error)
        return None


def controls(model: Explored) -> dict[int, int]:
    """Return the bits or the category that the visitor fixes."""
    if not model.bits:
        free = "most probable"
        chosen = st.radio("Category", [free, *model.names], horizontal=True, key="category")
        if chosen in (None, free):
            return {}
        return {model.names.index(chosen): 1}
    st.text("A bit without a choice is free. Press a value again to free it.")
    fixed = {}
    with st.container(key="bits"):
        for i, name in enumerate(model.names):
            value = st.segmented_control(name, ["0", "1"], key=f"bit {i}")
            if value is not None:
                fixed[i] = int(value)
    one, two = st.columns(2)
    one.button("Free all bits", on_click=set_bits, args=(model.vae.n, None), width="stretch")
    two.button(
        "Fix all as they are", on_click=fix_all_as_shown, args=(model.vae.n,), width="stretch"
    )
    return fixed


def set_bits(n: int, state: tuple[int, ...] | None) -> None:
    """Fix all bits, or free them."""
    for i in range(n):
        choice = None
        if state is not None:
            choice = str(state[i])
        st.session_state[f"bit {i}"] = choice


def fix_all_as_shown(n: int) -> None:
    """Fix all bits at the best state that the page shows."""
    set_bits(n, st.session_state["state"])


def chosen_style(
    model: Explored, folder: str, pixels: NDArray[np.float32] | None
) -> NDArray[np.float32] | None:
    """Return the style `[c]`: that of the image, the mean of the prior, or a sample."""
    if not model.has_style:
        return None
    choices = [OF_PRIOR, *(f"draw {number}" for number in range(1, STYLES + 1))]
    if pixels is not None:
        choices = [OF_IMAGE, *choices]
    heading = "Person"
    if model.colours == 1:
        heading = "Style"
    chosen = st.selectbox(heading, choices, key="style")
    if chosen == OF_IMAGE:
        return scored_image(folder, pixels).style
    if chosen == OF_PRIOR:
        return None
    return model.drawn_style(int(chosen.split()[1]))
