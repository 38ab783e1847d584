"""The name of a prior and the sizes of its network, as one object."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from typing import Any, Final, ParamSpec, TypeVar

from ..arguments import whole_number
from ..errors import SettingError

P = ParamSpec("P")
R = TypeVar("R")

FORMER: Final = {"prior_hidden": "hidden", "prior_layers": "layers"}
"""Former arguments of `paper_vae` and `quantised_vae`, and the fields that replace them."""


@dataclass(frozen=True)
class PriorOptions:
    """A prior by its name, with the sizes of its network.

    Attributes:
        name: a key of `PRIORS`, or of `DENSITY_PRIORS` for continuous variables, such as "made".
        hidden: units of a hidden layer of "made" or "flow" (0 for 400), or the size of the vectors
            of "transformer" (0 for 64).
        layers: hidden layers of "made" (0 for 1), or layers of "transformer" (0 for 2) or "flow"
            (0 for 3).

    Raises:
        SettingError: a size is not a whole number of at least 0.

    Example:
        >>> from models import paper_vae
        >>> from models.priors import PriorOptions
        >>> vae = paper_vae("independent", n=32, prior=PriorOptions("made", hidden=100))
        >>> vae.prior.arguments
        {'prior': 'made', 'prior_hidden': 100}
    """

    name: str
    hidden: int = 0
    layers: int = 0

    def __post_init__(self) -> None:
        for former, size in FORMER.items():
            whole_number(getattr(self, size), former, SettingError, 0)

    @classmethod
    def of(cls, prior: str | PriorOptions) -> PriorOptions:
        """Return the options of a prior that a caller may name without sizes."""
        if isinstance(prior, PriorOptions):
            return prior
        return cls(prior)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that differ from the defaults, as arguments of a network."""
        sizes = {"hidden": self.hidden, "layers": self.layers}
        return {name: size for name, size in sizes.items() if size}

    @property
    def stored_sizes(self) -> dict[str, int | str]:
        """The sizes that differ from the defaults, by the names of configurations and models."""
        return {f"prior_{name}": size for name, size in self.sizes.items()}


def with_former_sizes(make: Callable[P, R]) -> Callable[P, R]:
    """Let a function whose argument is `prior` take `prior_hidden` and `prior_layers` as well.

    Both work for one release, with a DeprecationWarning that names the new call.

    Args:
        make: a function with an argument `prior`, a name or `PriorOptions`.
    """
    default = signature(make).parameters["prior"].default

    @wraps(make)
    def make_with_former(*arguments: Any, **options: Any) -> R:
        sizes = {new: options.pop(old) for old, new in FORMER.items() if old in options}
        if sizes:
            named = PriorOptions.of(options.get("prior", default))
            options["prior"] = replace(named, **sizes)
            warnings.warn(
                f"prior_hidden and prior_layers are now fields of PriorOptions: "
                f"{make.__name__}(..., prior=models.priors.{options['prior']!r})",
                DeprecationWarning,
                stacklevel=2,
            )
        return make(*arguments, **options)

    return make_with_former
