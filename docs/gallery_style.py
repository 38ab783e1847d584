"""The look of the gallery's figures."""

import matplotlib.pyplot as plt

SETTINGS = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.size": 10,
    "axes.titlesize": 10,
    "legend.frameon": False,
}


def apply(gallery_conf, script) -> None:
    plt.rcParams.update(SETTINGS)
