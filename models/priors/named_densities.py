"""The priors of continuous variables by the names that configurations and models give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..errors import SettingError
from .causal import MADE
from .density import DensityPrior
from .density_mixture import MixturePrior
from .flow import FlowPrior, gaussian_network

COMPONENTS: Final = 5
"""The number of Gaussians in the mixture of each variable of the prior made."""

FLOW_LAYERS: Final = 3
"""The default number of layers of the prior flow."""


def _linear(n: int, hidden: int, layers: int) -> DensityPrior:
    if hidden or layers:
        raise SettingError("the prior linear has no hidden layers: leave their sizes out")
    return FlowPrior([gaussian_network(n)], "linear")


def _made(n: int, hidden: int, layers: int) -> DensityPrior:
    outputs = 3 * COMPONENTS
    network = MADE(n, 1, outputs=outputs, **_sizes(hidden=hidden, layers=layers))
    return MixturePrior(network, "made")


def _flow(n: int, hidden: int, layers: int) -> DensityPrior:
    count = layers or FLOW_LAYERS
    networks = [MADE(n, 1, outputs=2, **_sizes(hidden=hidden)) for _ in range(count)]
    return FlowPrior(networks, "flow")


def _sizes(**sizes: int) -> dict[str, int]:
    """Return the sizes that differ from the defaults."""
    return {name: size for name, size in sizes.items() if size}


DENSITY_PRIORS: Final[dict[str, Callable[[int, int, int], DensityPrior] | None]] = {
    "standard": None,
    "linear": _linear,
    "made": _made,
    "flow": _flow,
}
"""The function that makes each continuous prior, by name; None for the standard normal."""


def named_density(name: str, n: int, hidden: int = 0, layers: int = 0) -> DensityPrior | None:
    """Return a prior of `DENSITY_PRIORS`; None for the standard normal.

    Args:
        name: its name.
        n: number of continuous variables.
        hidden: units of a hidden layer; 0 for the default.
        layers: hidden layers of made, or layers of flow; 0 for the default.

    Raises:
        SettingError: no prior has this name, or the prior has no such sizes.
    """
    if name not in DENSITY_PRIORS:
        raise SettingError(
            f"no prior of continuous variables is called {name!r}; there are: "
            f"{', '.join(DENSITY_PRIORS)}"
        )
    make = DENSITY_PRIORS[name]
    if make is None:
        return None
    prior = make(n, hidden, layers)
    prior.options = dict(_sizes(prior_hidden=hidden, prior_layers=layers))
    return prior
