"""The priors of continuous variables by the names that configurations and models give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..errors import SettingError
from .causal import MADE
from .density import DensityPrior
from .density_mixture import MixturePrior
from .flow import FlowPrior, gaussian_network
from .options import PriorOptions

COMPONENTS: Final = 5
"""The number of Gaussians in the mixture of each variable of the prior made."""

FLOW_LAYERS: Final = 3
"""The default number of layers of the prior flow."""


def _linear(n: int, options: PriorOptions) -> DensityPrior:
    if options.sizes:
        raise SettingError("the prior linear has no hidden layers: leave their sizes out")
    return FlowPrior([gaussian_network(n)], "linear")


def _made(n: int, options: PriorOptions) -> DensityPrior:
    network = MADE(n, 1, outputs=3 * COMPONENTS, **options.sizes)
    return MixturePrior(network, "made")


def _flow(n: int, options: PriorOptions) -> DensityPrior:
    # The layers of a flow are networks of one hidden layer.
    count = options.layers or FLOW_LAYERS
    sizes = replace(options, layers=0).sizes
    networks = [MADE(n, 1, outputs=2, **sizes) for _ in range(count)]
    return FlowPrior(networks, "flow")


DENSITY_PRIORS: Final[dict[str, Callable[[int, PriorOptions], DensityPrior] | None]] = {
    "standard": None,
    "linear": _linear,
    "made": _made,
    "flow": _flow,
}
"""The function that makes each continuous prior, by name; None for the standard normal."""


def named_density(prior: str | PriorOptions, n: int) -> DensityPrior | None:
    """Return a prior of `DENSITY_PRIORS`; None for the standard normal.

    Args:
        prior: its name, or the name with the sizes of its network.
        n: number of continuous variables.

    Raises:
        SettingError: no prior has this name, or the prior has no such sizes.

    Example:
        >>> named_density(PriorOptions("flow", layers=2), 3).arguments
        {'prior': 'flow', 'prior_layers': 2}
    """
    options = PriorOptions.of(prior)
    if options.name not in DENSITY_PRIORS:
        raise SettingError(
            f"no prior of continuous variables is called {options.name!r}; there are: "
            f"{', '.join(DENSITY_PRIORS)}"
        )
    make = DENSITY_PRIORS[options.name]
    if make is None:
        return None
    density = make(n, options)
    density.options = options.stored_sizes
    return density
