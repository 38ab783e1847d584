"""Discrete variational auto-encoders trained through an argmax.

The names that users call are listed in `__init__.pyi` and imported on first use, so that commands
which need no network start without loading torch. Everything else is imported from its module.
"""

import importlib.util
from pathlib import Path
from typing import Any

import lazy_loader

from .errors import IntruderError
from .former_names import MODULE_OF, former_name

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in MODULE_OF:
        return former_name(name)
    return _public_name(name)


def _check_neighbours() -> None:
    """Check that Python finds our packages `solvers` and `models`, whose names others may use."""
    for name in ("solvers", "models"):
        spec = importlib.util.find_spec(name)
        origin = None
        if spec and spec.origin:
            origin = Path(spec.origin)
        if origin is None or origin.parent.parent != Path(__file__).parent.parent:
            raise IntruderError(
                f"the package '{name}' that Python finds is not that of structured-vae: {origin}. "
                "Rename it, or take its folder off sys.path (the current folder and PYTHONPATH "
                "come first)"
            )


_check_neighbours()
