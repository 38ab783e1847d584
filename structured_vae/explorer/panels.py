"""The panels that show a posterior: bits, decoded image, couplings, best states, path, samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from structured_vae.explorer.choices import test_image
from structured_vae.explorer.drawings import (
    ENLARGED,
    LIGHT,
    Palette,
    are_words,
    bars_html,
    graph_html,
    heat_map_html,
    image_html,
    png_of,
    strip_html,
    table_html,
)
from structured_vae.explorer.explored_model import Encoded, Explored, Scored
from structured_vae.explorer.links import query_of
from structured_vae.explorer.loaded import encoded, scored_image

STYLES = 20
ROWS = 3


@dataclass(frozen=True)
class View:
    """The state of the page that all its sections read.

    Attributes:
        model: the networks.
        folder: the folder of the networks.
        palette: the palette of the visitor's theme.
        scored: the chosen image, or the prior.
        image: its number in the test split, if it is a test image.
        fixed: the fixed bits, or a category.
        encoded: the posterior of the image given the fixed bits or category.
        ranking: the posterior that orders the states: for bits, given the fixed bits; for
            categories, over all of them, including the chosen one.
        style: `[c]`, the style to decode; None for the prior's mean, or if there is no style.
    """

    model: Explored
    folder: str
    palette: Palette
    scored: Scored
    image: int | None
    fixed: dict[int, int]
    encoded: Encoded
    ranking: Encoded
    style: NDArray[np.float32] | None


def bars(view: View) -> None:
    """Show the probabilities given the fixed bits or category."""
    ranking = view.ranking
    model = view.model
    heading = "Probability of each category"
    if model.bits:
        heading = "Probability of each bit being 1"
        if view.fixed:
            heading += ", given the fixed ones"
    st.subheader(heading)
    described = "bars: " + spoken(model.names, ranking.marginals)
    st.html(bars_html(ranking.marginals, model.names, described, view.fixed, view.palette))
    source = "Those of the prior."
    if view.scored.pixels is not None:
        source = f"Posterior: {ranking.how}."
    st.text(source)


def decoded(view: View) -> None:
    """Show the image, the best state with the fixed bits, and its facts."""
    model = view.model
    best = view.encoded
    heading = "Image and category"
    if model.bits:
        heading = "Image and best state"
    st.header(heading)
    st.session_state["state"] = best.state
    picture = model.decode(best.state, view.style)
    images = [picture]
    captions = ["decoded"]
    if view.scored.pixels is not None:
        if model.bits:
            what = "its best state"
        else:
            what = f"category {model.names[best.state.index(1)]}"
        images = [model.shown(view.scored.pixels), picture]
        captions = ["the image", f"{what}, decoded"]
    st.html(strip_html(images, captions, "image and decoded image", 220, view.palette))
    st.html(table_html(facts(view)))
    between = "-"
    if model.bits:
        between = ""
    name = between.join(map(str, best.state))
    if model.passed_on:
        file = png_of(picture, LIGHT, ENLARGED)
        st.download_button("Download the decoded picture", file, f"state-{name}.png", "image/png")
    else:
        st.text("Pictures of these images may not be passed on, so there is no download.")


def facts(view: View) -> list[tuple[str, str]]:
    """Return score, probability and bound of the best state by name."""
    best = view.encoded.best
    ranking = view.ranking.best
    model = view.model
    condition = ""
    if view.fixed and model.bits:
        condition = " with the fixed bits"
    # The certificate is for the ranked state; it holds for the shown one if their scores agree.
    proved = ranking.optimal[0] and best.scores[0] == ranking.scores[0]
    rows = _state_rows(model, view.encoded.state)
    rows.append(("score", f"{best.scores[0]:.3f}"))
    if ranking.note:
        rows.append(("best state", f"score {ranking.scores[0]:.3f}, {ranking.note}"))
    if ranking.bound is not None:
        bound = f"{ranking.bound:.3f}"
        if proved:
            others = "category"
            if model.bits:
                others = "state"
            bound += f" (no {others}{condition} scores more: proved)"
        rows.append(("bound on scores", bound))
    probability = np.exp(best.log_probability[0])
    density = view.scored.posterior.density
    rows.append(("probability", f"{probability:.4f} of all states, {density}"))
    if condition:
        rows.append(("", f"{np.exp(best.log_given[0]):.4f} of the states with the fixed bits"))
    if view.encoded.cost is not None:
        cost = f"{view.encoded.cost:.1f} nats, -log p(x, z) of this state"
        rows.append(("-log p(x) at most", cost))
    return rows


def _state_rows(model: Explored, state: tuple[int, ...]) -> list[tuple[str, str]]:
    """Return the best state, and which bits are 1 where bits have names."""
    if not model.bits:
        return [("state", model.names[state.index(1)])]
    rows = [("state", "".join(map(str, state)))]
    if are_words(model.names):
        ones = [name for name, bit in zip(model.names, state, strict=True) if bit]
        rows.append(("bits that are 1", ", ".join(ones) or "none"))
    return rows


def couplings(view: View, values: NDArray[np.float64]) -> None:
    """Show the pairwise scores as a graph and as a heat map."""
    st.header("Couplings between bits")
    st.text(view.scored.posterior.couplings)
    left, right = st.columns(2, gap="large")
    names = view.model.names
    palette = view.palette
    with left:
        described = "graph of the couplings between bits"
        st.html(graph_html(values, view.encoded.marginals, names, described, view.fixed, palette))
    with right:
        st.html(heat_map_html(values, names, "heat map of the couplings between bits", palette))


def best_states(view: View) -> None:
    """Show the best states in order."""
    best = view.ranking.best
    model = view.model
    heading = "The best categories"
    if model.bits:
        heading = "The best states"
        if view.fixed:
            heading += ", with the fixed bits"
    st.header(heading)
    captions = []
    for state, score, log_given in zip(best.states, best.scores, best.log_given, strict=True):
        changed = [model.names[i] for i in np.flatnonzero(state != best.states[0])]
        if model.bits:
            what = "flips " + ", ".join(changed)
        else:
            what = model.names[int(state.argmax())]
        first = what
        if model.bits and not changed:
            first = "best"
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
        view.scored, scored_image(view.folder, pixels), end, view.encoded.state
    )
    captions = [f"start\n{scores[0]:.2f}"]
    for before, after, score in zip(states, states[1:], scores[1:], strict=False):
        [bit] = np.flatnonzero(before != after)
        captions.append(f"{model.names[bit]} becomes {after[bit]}\n{score:.2f}")
    images = model.decode_all(states, view.style)
    st.html(strip_html(images, captions, "state of the path", 100, view.palette))


def samples(view: View) -> None:
    """Show images from the prior or the posterior, with the fixed bits or category."""
    heading = "Samples"
    if view.fixed:
        heading = "Samples, with what is fixed"
    st.header(heading)
    left, right = st.columns([1, 2])
    seed = left.number_input("Seed", 0, 10**6, 0)
    of = "of the prior"
    if view.scored.pixels is not None:
        of = right.radio("Samples", ["of the prior", "of the image's posterior"], horizontal=True)
    scored = None
    if of != "of the prior":
        scored = view.scored
    a_row_each = view.model.has_style and not view.model.bits and not view.fixed and scored is None
    rows = ROWS
    if not a_row_each:
        rows = ROWS * 10
    picture = view.model.samples(rows, int(seed), view.fixed, scored)
    width = min(640, 2 * picture.shape[1])
    st.html(image_html(picture, f"samples {of}", width, view.palette))


def share(view: View) -> None:
    """Show a link to the current state of the page, and make it the page's address."""
    st.header("Share")
    other = None
    if view.image is not None:
        other = st.session_state.get("other")
    query = query_of(view.image, view.fixed, other)
    st.query_params.from_dict(query)
    if view.image is None:
        st.text("The link has what is fixed, and not the image.")
    words = "&".join(f"{name}={value}" for name, value in query.items())
    base = (st.context.url or "").split("?")[0]
    st.code(f"{base}?{words}", language=None, wrap_lines=True)


def spoken(names: list[str], marginals: NDArray[np.float64]) -> str:
    """Return the probabilities as text for screen readers."""
    return ", ".join(f"{name}: {value:.2f}" for name, value in zip(names, marginals, strict=True))
