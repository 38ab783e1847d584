"""The page itself, which Streamlit runs from top to bottom whenever something on it is changed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from structured_vae.errors import StructuredVAEError
from structured_vae.explorer.drawings import (
    DARK,
    ENLARGED,
    LIGHT,
    Palette,
    are_words,
    bars_html,
    data_url,
    graph_html,
    heat_map_html,
    image_html,
    png_of,
    strip_html,
    table_html,
)
from structured_vae.explorer.explored_model import Encoded, Explored, Scored, open_model
from structured_vae.explorer.links import query_of, read_query
from structured_vae.explorer.own_networks import NETWORKS
from structured_vae.explorer.upload import read_colours, read_upload

THUMBNAILS = 12
BEST = 8
STYLES = 20
ROWS = 3
SPLIT = "Test images"
FILE = "A file"
PRIOR = "No image: the prior"
OF_IMAGE = "of the image"
OF_PRIOR = "mean of the prior"
STYLE = """
h1 {font-size: 1.7rem !important}
h2 {font-size: 1.35rem !important; padding-top: 1rem !important}
h3 {font-size: 1.1rem !important}
.stMainBlockContainer {padding-top: 2.5rem; padding-bottom: 3rem; max-width: 78rem}
.st-key-bits {display: grid; grid-template-columns: repeat(auto-fill, minmax(%s, 1fr)); gap: 0.4rem 0.6rem}
.st-key-bits [data-testid=stButtonGroup] {min-width: 0}
[class*=st-key-thumbnails] {display: flex; flex-direction: row; flex-wrap: wrap; gap: 6px}
[class*=st-key-thumbnails] > div {width: auto !important}
[class*=st-key-thumbnails] button {width: 58px; height: 58px; min-height: 0; padding: 0; border-radius: 4px;
  background-size: contain; background-repeat: no-repeat; background-position: center; image-rendering: pixelated}
[class*=st-key-thumbnails] button p {font-size: 0}
[class*=st-key-thumbnails] button[kind=primary] {outline: 3px solid #c65d00; outline-offset: 1px}
"""


@dataclass(frozen=True)
class View:
    """The state of the page that all its sections read.

    Attributes:
        model: the networks.
        folder: where they lie.
        palette: of the visitor's theme.
        scored: the image that was chosen, or the prior.
        image: its number in the test split, if it is of that.
        fixed: bits, or a category.
        found: the posterior of the image given these.
        ranking: the posterior that states are ordered by: of bits that given the fixed ones, of
            categories that of all, the chosen one being one of them.
        style: `[c]` of what is decoded; None for the prior's mean, or where there is none.
    """

    model: Explored
    folder: str
    palette: Palette
    scored: Scored
    image: int | None
    fixed: dict[int, int]
    found: Encoded
    ranking: Encoded
    style: NDArray[np.float32] | None


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


def main(folder: str) -> None:
    """Show the whole page."""
    st.set_page_config(page_title="structured-vae explorer", layout="wide")
    model = opened(folder)
    palette = DARK if st.context.theme.type == "dark" else LIGHT
    width = "7.5rem" if are_words(model.names) else "5rem"
    st.html(f"<style>{STYLE.replace('%s', width)}</style>")
    read_link(model)
    st.title("structured-vae explorer")
    st.text(title(model))
    image, pixels = chosen_image(model, palette)
    left, right = st.columns(2, gap="large")
    with left:
        st.header(
            "Fix some bits, and the rest is solved again" if model.bits else "Choose a category"
        )
        fixed = controls(model)
        style = chosen_style(model, folder, pixels)
    try:
        posterior = encoded(folder, pixels, tuple(sorted(fixed.items())))
    except StructuredVAEError as error:  # no state has all the fixed bits
        refuse(error)
        st.stop()
    ranking = posterior if model.bits else encoded(folder, pixels, ())
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
    if posterior.couplings is not None:
        couplings(view, posterior.couplings)
    best_states(view)
    if model.parts.has_paths and image is not None:
        path(view)
    samples(view)
    share(view)


def read_link(model: Explored) -> None:
    """Set the controls to what a link says, on the first run of a visit."""
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
            kind: Literal["primary", "secondary"] = "primary" if number == chosen else "secondary"
            name = f"test image {number}"
            st.button(
                name, key=f"{key}-{number - first}", type=kind, on_click=choose, args=(key, number)
            )
    words = "Number of the test image" if key == "image" else "Number of the other image"
    return int(st.number_input(words, 0, count - 1, key=key, width=220))


def choose(key: str, number: int) -> None:
    """Choose a test image."""
    st.session_state[key] = number


def uploaded_image(model: Explored) -> NDArray[np.float32] | None:
    """Return the image `[pixels]` of a file of the visitor."""
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
        return {} if chosen in (None, free) else {model.names.index(chosen): 1}
    st.text("A bit without a choice is free. Press a value again to free it.")
    fixed = {}
    with st.container(key="bits"):
        for i, name in enumerate(model.names):
            value = st.segmented_control(name, ["0", "1"], key=f"bit {i}")
            if value is not None:
                fixed[i] = int(value)
    one, two = st.columns(2)
    one.button("Free all bits", on_click=set_bits, args=(model.vae.n, None), width="stretch")
    two.button("Fix all as they are", on_click=fix_as_found, args=(model.vae.n,), width="stretch")
    return fixed


def set_bits(n: int, state: tuple[int, ...] | None) -> None:
    """Fix all bits, or free them."""
    for i in range(n):
        st.session_state[f"bit {i}"] = None if state is None else str(state[i])


def fix_as_found(n: int) -> None:
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
    chosen = st.selectbox("Style" if model.colours == 1 else "Person", choices, key="style")
    if chosen == OF_IMAGE:
        return scored_image(folder, pixels).style
    return None if chosen == OF_PRIOR else model.drawn_style(int(chosen.split()[1]))


def bars(view: View) -> None:
    """Show the probabilities given what is fixed."""
    found = view.ranking
    model = view.model
    heading = "Probability of each bit being 1" if model.bits else "Probability of each category"
    st.subheader(heading + (", given the fixed ones" if view.fixed and model.bits else ""))
    described = "bars: " + spoken(model.names, found.marginals)
    st.html(bars_html(found.marginals, model.names, described, view.fixed, view.palette))
    st.text(f"Posterior: {found.how}." if view.scored.pixels is not None else "Those of the prior.")


def decoded(view: View) -> None:
    """Show the image, the best state with the fixed bits, and its facts."""
    model = view.model
    found = view.found
    st.header("Image and best state" if model.bits else "Image and category")
    st.session_state["state"] = found.state
    picture = model.decode(found.state, view.style)
    images = [picture]
    captions = ["decoded"]
    if view.scored.pixels is not None:
        what = "its best state" if model.bits else f"category {model.names[found.state.index(1)]}"
        images = [model.shown(view.scored.pixels), picture]
        captions = ["the image", f"{what}, decoded"]
    st.html(strip_html(images, captions, "image and decoded image", 220, view.palette))
    st.html(table_html(facts(view)))
    name = "-".join(map(str, found.state)) if not model.bits else "".join(map(str, found.state))
    if model.passed_on:
        file = png_of(picture, LIGHT, ENLARGED)
        st.download_button("Download the decoded picture", file, f"state-{name}.png", "image/png")
    else:
        st.text("Pictures of these images may not be passed on, so there is no download.")


def facts(view: View) -> list[tuple[str, str]]:
    """Return score, probability and bound of the best state by name."""
    best = view.found.best
    ranking = view.ranking.best
    model = view.model
    state = (
        "".join(map(str, view.found.state))
        if model.bits
        else model.names[view.found.state.index(1)]
    )
    condition = " with the fixed bits" if view.fixed and model.bits else ""
    proof = f" (no {'state' if model.bits else 'category'}{condition} scores more: proved)"
    proved = ranking.optimal[0] and best.scores[0] == ranking.scores[0]
    rows = [("state", state)]
    if model.bits and are_words(model.names):
        ones = [name for name, bit in zip(model.names, view.found.state, strict=True) if bit]
        rows.append(("bits that are 1", ", ".join(ones) or "none"))
    rows += [
        ("score", f"{best.scores[0]:.3f}"),
        ("bound on scores", f"{ranking.bound:.3f}" + (proof if proved else "")),
        ("probability", f"{np.exp(best.log_probability[0]):.4f} of all states, exp(score) / Z"),
    ]
    if condition:
        rows.append(("", f"{np.exp(best.log_given[0]):.4f} of the states with the fixed bits"))
    if view.found.cost is not None:
        rows.append(
            ("-log p(x) at most", f"{view.found.cost:.1f} nats, -log p(x, z) of this state")
        )
    return rows


def couplings(view: View, values: NDArray[np.float64]) -> None:
    """Show the pairwise scores as a graph and as a heat map."""
    st.header("Couplings between bits")
    st.text(
        "Pairwise scores of this image: red pairs favour being 1 together, blue pairs avoid it."
    )
    left, right = st.columns(2, gap="large")
    names = view.model.names
    palette = view.palette
    with left:
        described = "graph of the couplings between bits"
        st.html(graph_html(values, view.found.marginals, names, described, view.fixed, palette))
    with right:
        st.html(heat_map_html(values, names, "heat map of the couplings between bits", palette))


def best_states(view: View) -> None:
    """Show the best states in order."""
    best = view.ranking.best
    model = view.model
    what = "The best states" if model.bits else "The best categories"
    st.header(what + (", with the fixed bits" if view.fixed and model.bits else ""))
    captions = []
    for state, score, log_given in zip(best.states, best.scores, best.log_given, strict=True):
        changed = [model.names[i] for i in np.flatnonzero(state != best.states[0])]
        what = model.names[int(state.argmax())] if not model.bits else "flips " + ", ".join(changed)
        first = "best" if model.bits and not changed else what
        captions.append(f"{first}\nscore {score:.2f}\np {np.exp(log_given):.3f}")
    images = model.decode_all(best.states, view.style)
    st.html(strip_html(images, captions, "best state", 100, view.palette))


def path(view: View) -> None:
    """Show the path from the state of the image to that of another one, flip by flip."""
    model = view.model
    st.header("A path to another image")
    st.text(
        "One flip at a time, in the order whose states have the highest mean scores of both images."
    )
    if st.session_state.get("other") is None:
        st.session_state["other"] = (view.image or 0) + 1
    other = test_image(model, view.palette, "other")
    pixels = model.test_image(other)
    end = encoded(view.folder, pixels, tuple(sorted(view.fixed.items()))).state
    states, scores = model.path(
        view.scored, scored_image(view.folder, pixels), end, view.found.state
    )
    captions = [f"start\n{scores[0]:.2f}"]
    for before, after, score in zip(states, states[1:], scores[1:], strict=False):
        [bit] = np.flatnonzero(before != after)
        captions.append(f"{model.names[bit]} becomes {after[bit]}\n{score:.2f}")
    images = model.decode_all(states, view.style)
    st.html(strip_html(images, captions, "state of the path", 100, view.palette))


def samples(view: View) -> None:
    """Show images from the prior or the posterior, with what is fixed."""
    st.header("Samples" + (", with what is fixed" if view.fixed else ""))
    left, right = st.columns([1, 2])
    seed = left.number_input("Seed", 0, 10**6, 0)
    of = "of the prior"
    if view.scored.pixels is not None:
        of = right.radio("Samples", ["of the prior", "of the image's posterior"], horizontal=True)
    scored = view.scored if of != "of the prior" else None
    a_row_each = view.model.has_style and not view.model.bits and not view.fixed and scored is None
    rows = ROWS if a_row_each else ROWS * 10
    picture = view.model.samples(rows, int(seed), view.fixed, scored)
    width = min(640, 2 * picture.shape[1])
    st.html(image_html(picture, f"samples {of}", width, view.palette))


def share(view: View) -> None:
    """Show a link to what the page shows, and make it the address of the page."""
    st.header("Share")
    other = st.session_state.get("other") if view.image is not None else None
    query = query_of(view.image, view.fixed, other)
    st.query_params.from_dict(query)
    if view.image is None:
        st.text("The link has what is fixed, and not the image.")
    words = "&".join(f"{name}={value}" for name, value in query.items())
    base = (st.context.url or "").split("?")[0]
    st.code(f"{base}?{words}", language=None, wrap_lines=True)


def refuse(error: Exception) -> None:
    """Show why the page is empty, as plain text: Markdown in a name could fetch a picture."""
    with st.container(border=True):
        st.text(str(error))


def spoken(names: list[str], marginals: NDArray[np.float64]) -> str:
    """Return the probabilities as text for screen readers."""
    return ", ".join(f"{name}: {value:.2f}" for name, value in zip(names, marginals, strict=True))


def title(model: Explored) -> str:
    """Return a line that describes the model."""
    kind = "bits" if model.bits else "categories"
    return f"{type(model.vae).__name__}, {model.vae.n} {kind}" + (
        "" if model.training is None else f", {model.training.title}"
    )


if __name__ == "__main__":
    main(sys.argv[1])
