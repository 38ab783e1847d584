"""The priors by the names that configurations and stored models give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..errors import SettingError
from .autoregressive import AutoregressivePrior
from .causal import MADE, CausalLinear, CausalTransformer
from .gibbs import CategoriesPrior, factorised_prior, gibbs_prior
from .prior import Prior


@dataclass(frozen=True)
class States:
    """The latent states that a prior is over, and the sizes of its network.

    Attributes:
        variables: number of variables; n for bits.
        values: number of values of each; 0 for bits.
        hidden: units of a hidden layer, or the size of a transformer's vectors; 0 for the default.
        layers: number of layers; 0 for the default.
    """

    variables: int
    values: int = 0
    hidden: int = 0
    layers: int = 0

    @property
    def width(self) -> int:
        """The number of entries of a variable in a state."""
        return self.values or 1

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that differ from the defaults, as arguments of a network."""
        sizes = {"hidden": self.hidden, "layers": self.layers}
        return {name: size for name, size in sizes.items() if size}


def _factorised(states: States) -> Prior:
    if not states.values:
        return factorised_prior(states.variables)
    if states.variables > 1:
        raise SettingError(
            f"the prior factorised takes one variable of categories, and there are "
            f"{states.variables}: take an autoregressive one, such as linear"
        )
    return CategoriesPrior(states.values)


def _gibbs(states: States) -> Prior:
    if states.values:
        raise SettingError(
            "the prior gibbs needs bits, and there are categories: take factorised, linear, made "
            "or transformer"
        )
    return gibbs_prior(states.variables)


def _linear(states: States) -> Prior:
    if states.sizes:
        raise SettingError("the prior linear has no hidden layers: leave their sizes out")
    return _autoregressive("linear", states, CausalLinear(states.variables, states.width))


def _made(states: States) -> Prior:
    network = MADE(states.variables, states.width, **states.sizes)
    return _autoregressive("made", states, network)


def _transformer(states: States) -> Prior:
    heads = CausalTransformer.HEADS
    if states.hidden % heads:
        raise SettingError(
            f"the vectors of a transformer need a multiple of {heads} entries, one part for each "
            f"head; got {states.hidden}"
        )
    network = CausalTransformer(states.variables, states.width, **states.sizes)
    return _autoregressive("transformer", states, network)


def _autoregressive(
    name: str, states: States, network: CausalLinear | MADE | CausalTransformer
) -> Prior:
    prior = AutoregressivePrior(network, name, categorical=bool(states.values))
    prior.options = {f"prior_{size}": value for size, value in states.sizes.items()}
    return prior


PRIORS: Final[dict[str, Callable[[States], Prior] | None]] = {
    "uniform": None,
    "factorised": _factorised,
    "gibbs": _gibbs,
    "linear": _linear,
    "made": _made,
    "transformer": _transformer,
}
"""The function that makes each prior, by name; None for the uniform prior."""


def named_prior(name: str, states: States) -> Prior | None:
    """Return a prior of `PRIORS` over these states, initially uniform; None for the uniform prior.

    Raises:
        SettingError: no prior has this name, or the prior does not support these states.
    """
    if name not in PRIORS:
        raise SettingError(f"no prior is called {name!r}; there are: {', '.join(PRIORS)}")
    make = PRIORS[name]
    if make is None:
        return None
    return make(states)
