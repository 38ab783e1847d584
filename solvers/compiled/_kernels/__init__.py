"""Load the compiled kernels, for the highest installed level that this processor supports.

For tests, `STRUCTURED_VAE_KERNELS=3` asks for a lower level. `STRUCTURED_VAE_KERNEL_FOLDER` names a
folder with other builds of the same kernels, for example with sanitizers.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

if "STRUCTURED_VAE_KERNEL_FOLDER" in os.environ:
    __path__ = [os.environ["STRUCTURED_VAE_KERNEL_FOLDER"]]


def _installed_levels() -> list[int]:
    """Return the levels of the installed modules `_level_*`."""
    names = {
        path.name.split(".")[0] for folder in __path__ for path in Path(folder).glob("_level_*")
    }
    return sorted(int(name.removeprefix("_level_")) for name in names)


def _level() -> int:
    processor = importlib.import_module("._processor", __package__).level()
    wanted = int(os.environ.get("STRUCTURED_VAE_KERNELS", processor))
    usable = [level for level in _installed_levels() if level <= min(processor, wanted)]
    if not usable:
        raise ImportError(
            f"no kernels for this processor (level {processor}) among the installed levels "
            f"{_installed_levels()}: install the package again on this machine, from source"
        )
    return usable[-1]


def _load() -> ModuleType:
    try:
        level = _level()
    except ModuleNotFoundError as error:
        raise ImportError(
            "the kernels are not compiled: run `pip install --editable .` in the checkout, "
            "or install a wheel of structured-vae"
        ) from error
    return importlib.import_module(f"._level_{level}", __package__)


def _publish(module: ModuleType) -> None:
    """Register the submodules below this package, so that they can be imported by name."""
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            globals()[name] = value
            sys.modules[f"{__name__}.{name}"] = value


level_module = _load()
_publish(level_module)
