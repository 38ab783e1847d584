"""The look of the gallery's figures: on nothing, so that the page may be light or dark."""

import matplotlib.pyplot as plt

SETTINGS = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.size": 10,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def apply(gallery_conf, script) -> None:
    plt.rcParams.update(SETTINGS)
