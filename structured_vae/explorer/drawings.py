"""Draw images, bars, graphs and heat maps as HTML that fetches nothing, light or dark."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

ENLARGED: Final = 8
"""The pixels of a downloaded picture per pixel of the image, in each direction."""


@dataclass(frozen=True)
class Palette:
    """The colours of a page.

    Attributes:
        dark: whether ink is bright.
        ink: the colour of letters and lines.
        faint: the colour of secondary content.
        bar: the colour of a probability.
        fixed: the colour of fixed bits.
        positive: the colour of couplings that favour two bits being 1 together.
        negative: the colour of couplings that penalise it.
    """

    dark: bool
    ink: str
    faint: str
    bar: str
    fixed: str
    positive: tuple[int, int, int]
    negative: tuple[int, int, int]

    def shade(self, value: float) -> str:
        """Return the colour of a coupling in [-1, 1]; 0 has the colour of the page."""
        paper = (255, 255, 255)
        if self.dark:
            paper = (23, 22, 20)  # Streamlit's
        if value >= 0:
            end = self.positive
        else:
            end = self.negative
        mixed = [round(p + (e - p) * min(abs(value), 1.0)) for p, e in zip(paper, end, strict=True)]
        return "#{:02x}{:02x}{:02x}".format(*mixed)


LIGHT: Final = Palette(
    False, "#222222", "#9a9a9a", "#3b6ea5", "#c65d00", (178, 24, 43), (33, 102, 172)
)
DARK: Final = Palette(
    True, "#e6e6e6", "#7d7d7d", "#6fa8dc", "#ffa04d", (244, 109, 103), (103, 169, 244)
)


def png_of(intensities: NDArray[np.float32], palette: Palette = LIGHT, enlarged: int = 1) -> bytes:
    """Return a PNG of intensities of ink `[height, width]`, or colours `[height, width, 3]`.

    All values are in [0, 1].
    """
    clipped = np.clip(intensities, 0, 1)
    if clipped.ndim == 2 and not palette.dark:
        clipped = 1 - clipped
    shades = (
        np.round(255 * clipped).astype(np.uint8).repeat(enlarged, axis=0).repeat(enlarged, axis=1)
    )
    file = BytesIO()
    Image.fromarray(shades).save(file, "PNG")
    return file.getvalue()


def data_url(intensities: NDArray[np.float32], palette: Palette) -> str:
    """Return the same PNG as an address that needs no server."""
    return "data:image/png;base64," + b64encode(png_of(intensities, palette)).decode()


def image_html(
    intensities: NDArray[np.float32], description: str, width: int, palette: Palette = LIGHT
) -> str:
    """Return an `<img>` of intensities in which every pixel is a sharp square.

    Ink is dark on a light page and bright on a dark one.

    Args:
        intensities: `[height, width]` of ink, or colours `[height, width, 3]`.
        description: alternative text for screen readers.
        width: maximum width on the screen, in CSS pixels.
        palette: the palette of the page.
    """
    style = f"width:{width}px;image-rendering:pixelated;outline:1px solid {palette.faint}55"
    return _img("image/png", png_of(intensities, palette), description, style)


def strip_html(
    images: Sequence[NDArray[np.float32]],
    captions: Iterable[str],
    description: str,
    width: int = 84,
    palette: Palette = LIGHT,
) -> str:
    """Return images side by side with captions below, which wrap on a narrow page."""
    figures = []
    for number, (image, caption) in enumerate(zip(images, captions, strict=True)):
        lines = "<br>".join(escape(line) for line in caption.split("\n"))
        figures.append(
            f'<figure style="margin:0;width:{width}px;font-size:0.75rem;line-height:1.25">'
            + image_html(image, f"{description} {number}", width, palette)
            + f"<figcaption>{lines}</figcaption></figure>"
        )
    return f'<div style="display:flex;flex-wrap:wrap;gap:10px">{"".join(figures)}</div>'


def table_html(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and their meanings as a table, one row each."""
    cells = "".join(
        '<tr><th style="text-align:left;font-weight:600;padding-right:1.2em;vertical-align:top">'
        f"{escape(name)}</th>"
        f"<td>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return (
        f'<table style="border-collapse:collapse;font-size:0.95rem;line-height:1.6">{cells}</table>'
    )


def _levels(left: int, right: int, high: int, palette: Palette) -> list[str]:
    """Return horizontal lines at the probabilities 0, 0.5 and 1, with their numbers."""
    parts = []
    for value in (0.0, 0.5, 1.0):
        y = 10 + high * (1 - value)
        parts.append(f'<path d="M{left - 4} {y}H{right}" stroke="{palette.faint}55"/>')
        parts.append(_text(left - 8, y + 4, f"{value:g}", palette.faint, "end"))
    return parts


def bars_html(
    values: NDArray[np.float64],
    names: list[str],
    description: str,
    fixed: Iterable[int] = (),
    palette: Palette = LIGHT,
) -> str:
    """Return an `<img>` of probabilities `[n]` as bars with names below.

    Fixed bits have another colour.
    """
    wide = 36
    high = 110
    left = 34
    kept = set(fixed)
    parts = _levels(left, left + wide * len(values), high, palette)
    slanted = are_words(names)
    for i, (value, name) in enumerate(zip(values, names, strict=True)):
        x = left + wide * i
        tall = high * min(max(float(value), 0.0), 1.0)
        colour = palette.bar
        if i in kept:
            colour = palette.fixed
        parts.append(
            f'<rect x="{x + 6}" y="{10 + high - tall:.2f}" width="{wide - 12}" '
            f'height="{tall:.2f}" fill="{colour}"/>'
        )
        parts.append(_name(x + wide / 2, 10 + high + 16, name, palette, slanted, "end"))
    room = 24
    if slanted:
        room = 90
    size = (left + wide * len(values) + 8, 10 + high + room)
    return _svg_html(parts, size, description)


def heat_map_html(
    values: NDArray[np.float64], names: list[str], description: str, palette: Palette = LIGHT
) -> str:
    """Return an `<img>` of a symmetric matrix `[n, n]`, red above 0 and blue below."""
    n = len(values)
    side = 24
    slanted = are_words(names)
    left = 30
    top = 30
    if slanted:
        left = 16 + _width(names)
        top = 14 + _width(names)
    right = left + side * n
    below = top + side * n
    largest = _largest(values)
    parts = []
    for i in range(n):
        x = left + side * (i + 0.5)
        y = top + side * (i + 0.5)
        parts.append(_name(x, top - 8, names[i], palette, slanted, "start"))
        parts.append(_text(left - 6, y + 4, names[i], palette.ink, "end"))
        for j in range(n):
            # A variable has no score with itself.
            if i == j:
                fill = palette.faint + "44"
            else:
                fill = palette.shade(values[i, j] / largest)
            parts.append(
                f'<rect x="{left + side * j}" y="{top + side * i}" '
                f'width="{side - 1}" height="{side - 1}" '
                f'fill="{fill}"/>'
            )
    for step in range(21):
        value = 1 - step / 10
        y = top + step * side * n / 21
        parts.append(
            f'<rect x="{right + 14}" y="{y:.1f}" width="12" height="{side * n / 21 + 0.5:.1f}" '
            f'fill="{palette.shade(value)}"/>'
        )
    for value, y in ((largest, top + 8), (0.0, top + side * n / 2 + 4), (-largest, below)):
        parts.append(_text(right + 32, y, f"{value:.1f}", palette.ink, "start"))
    return _svg_html(parts, (right + 70, below + 6), description)


def graph_html(
    values: NDArray[np.float64],
    marginals: NDArray[np.float64],
    names: list[str],
    description: str,
    fixed: Iterable[int] = (),
    palette: Palette = LIGHT,
) -> str:
    """Return an `<img>` of bits in a ring, joined by couplings; stronger ones are thicker.

    Args:
        values: `[n, n]`, symmetric.
        marginals: `[n]`, P(z_i = 1), shown as the filled part of a bit.
        names: the names of the bits.
        description: alternative text for screen readers.
        fixed: the bits that get a ring of another colour.
        palette: the palette of the page.
    """
    n = len(values)
    words = are_words(names)
    radius = 160
    beside = 40
    if words:  # they stand outside the ring
        radius = 130
        beside = 26 + _width(names)
    middle = radius + beside
    centre = radius + 40
    angle = [2 * math.pi * i / n - math.pi / 2 for i in range(n)]
    place = [(middle + radius * math.cos(a), centre + radius * math.sin(a)) for a in angle]
    kept = set(fixed)
    parts = _edges(values, place, palette)
    for i, (x, y) in enumerate(place):
        ring = palette.ink
        filling = palette.bar
        if i in kept:
            ring = palette.fixed
            filling = palette.fixed
        paper = palette.shade(0.0)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="14" fill="{paper}" stroke="{ring}" '
            'stroke-width="2"/>'
        )
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" '
            f'r="{13 * math.sqrt(min(max(float(marginals[i]), 0), 1)):.2f}" '
            f'fill="{filling}"/>'
        )
        anchor = "middle"
        if words:
            anchor = _anchor(math.cos(angle[i]))
        out = radius + 20
        if anchor == "middle":
            out = radius + 28
        name_x = middle + out * math.cos(angle[i])
        name_y = centre + out * math.sin(angle[i]) + 4
        parts.append(_text(name_x, name_y, names[i], palette.ink, anchor))
    return _svg_html(parts, (2 * middle, 2 * centre), description)


def _edges(
    values: NDArray[np.float64], place: Sequence[tuple[float, float]], palette: Palette
) -> list[str]:
    """Return a line for each coupling that can be seen, the strongest on top."""
    largest = _largest(values)
    pairs = [(i, j) for i in range(len(place)) for j in range(i)]
    lines = []
    for i, j in sorted(pairs, key=lambda pair: abs(values[pair])):
        strength = values[i, j] / largest
        if abs(strength) <= 0.05:
            continue
        x, y = place[i]
        end_x, end_y = place[j]
        lines.append(
            f'<path d="M{x:.1f} {y:.1f}L{end_x:.1f} {end_y:.1f}" '
            f'stroke="{palette.shade(math.copysign(0.9, strength))}" '
            f'stroke-opacity="{min(abs(strength) + 0.05, 1):.2f}" '
            f'stroke-width="{0.5 + 6 * abs(strength):.2f}"/>'
        )
    return lines


def _anchor(sideways: float) -> str:
    """Return the end of a name that is next to the ring, at a place from -1, left, to 1."""
    if abs(sideways) < 0.1:
        return "middle"
    if sideways > 0:
        return "start"
    return "end"


def _name(x: float, y: float, name: str, palette: Palette, slanted: bool, anchor: str) -> str:
    """Return a name below or above its place: slanted from its anchor, or in the middle."""
    if not slanted:
        return _text(x, y, name, palette.ink, "middle")
    return _text(x, y, name, palette.ink, anchor, extra=f' transform="rotate(-50 {x} {y})"')


def are_words(names: Sequence[str]) -> bool:
    """Return whether names are words rather than places in z, and so need more room."""
    return max(map(len, names)) > 4


def _width(names: Sequence[str]) -> int:
    """Return the approximate width of the longest name."""
    return 7 * max(map(len, names))


def _largest(values: NDArray[np.float64]) -> float:
    return max(float(np.nanmax(np.abs(values), initial=0.0)), 1e-9)


def _text(x: float, y: float, words: str, colour: str, anchor: str, extra: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{extra}>'
        f"{escape(words)}</text>"
    )


def _svg_html(parts: list[str], size: tuple[float, float], description: str) -> str:
    """Return an SVG in a font of the machine, so that no font is fetched."""
    wide, high = size
    content = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        f'width="{wide}" height="{high}" '
        f'font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )
    return _img("image/svg+xml", content.encode(), description, f"width:{wide}px")


def _img(kind: str, content: bytes, description: str, style: str) -> str:
    data = b64encode(content).decode()
    return (
        f'<img src="data:{kind};base64,{data}" alt="{escape(description)}" '
        f'style="{style};max-width:100%;height:auto;display:block">'
    )
