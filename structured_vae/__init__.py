"""Discrete variational auto-encoders trained through an argmax.

The public names are listed in `__init__.pyi` and imported on first use, so that commands which need
no network start without loading torch.
"""

import importlib.util
from pathlib import Path

import lazy_loader

from .errors import IntruderError

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _check_neighbours() -> None:
    """`solvers` and `models` are names that others may use too; only ours will do."""
    for name in ("solvers", "models"):
        spec = importlib.util.find_spec(name)
        found = Path(spec.origin) if spec and spec.origin else None
        if found is None or found.parent.parent != Path(__file__).parent.parent:
            raise IntruderError(
                f"the package '{name}' that Python finds is not that of structured-vae: {found}. Rename it, "
                "or take its folder off sys.path (the current folder and PYTHONPATH come first)"
            )


_check_neighbours()
