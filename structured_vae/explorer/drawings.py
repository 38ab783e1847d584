"""Images, bars and heat maps as HTML that fetches nothing."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image


def image_html(intensities: NDArray[np.float32], description: str, width: int) -> str:
    """An `<img>` of `[height, width]` intensities in [0, 1], ink dark as on paper, every pixel a sharp square.

    Args:
        intensities: of ink.
        description: for those who do not see it.
        width: on the screen, in CSS pixels; less on a narrow one.
    """
    shades = np.round(255 * (1 - np.clip(intensities, 0, 1))).astype(np.uint8)
    file = BytesIO()
    Image.fromarray(shades).save(file, "PNG")
    return _img(
        "image/png",
        file.getvalue(),
        description,
        f"width:{width}px;image-rendering:pixelated;outline:1px solid #ddd",
    )


def bars_html(values: NDArray[np.float64], names: list[str], description: str) -> str:
    """An `<img>` of probabilities `[n]` as bars, each with its name below."""
    figure = Figure(figsize=(5.6, 2.0), layout="constrained")
    axes = figure.subplots()
    axes.bar(range(len(values)), values, color="#3b6ea5")
    axes.set_ylim(0, 1)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xticks(range(len(values)), names)
    axes.spines[["top", "right"]].set_visible(False)
    return _figure_html(figure, description)


def heat_map_html(values: NDArray[np.float64], description: str) -> str:
    """An `<img>` of a symmetric matrix `[n, n]`, white at 0, red above and blue below; NaN is grey."""
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    axes = figure.subplots()
    largest = max(float(np.nanmax(np.abs(values), initial=0.0)), 1e-9)
    axes.set_facecolor("#dddddd")
    mesh = axes.pcolormesh(
        values, cmap=colormaps["RdBu_r"], vmin=-largest, vmax=largest, edgecolors="#ffffff", linewidth=0.4
    )
    n = len(values)
    axes.set_xticks(np.arange(n) + 0.5, [str(i) for i in range(n)])
    axes.set_yticks(np.arange(n) + 0.5, [str(i) for i in range(n)])
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.tick_params(length=0)
    figure.colorbar(mesh, ax=axes, shrink=0.9)
    return _figure_html(figure, description)


def _figure_html(figure: Figure, description: str) -> str:
    """As SVG, whose letters are paths: no font is fetched."""
    file = BytesIO()
    figure.savefig(file, format="svg")
    return _img("image/svg+xml", file.getvalue(), description, "width:560px")


def _img(kind: str, content: bytes, description: str, style: str) -> str:
    data = b64encode(content).decode()
    return (
        f'<img src="data:{kind};base64,{data}" alt="{escape(description)}" '
        f'style="{style};max-width:100%;height:auto;display:block">'
    )
