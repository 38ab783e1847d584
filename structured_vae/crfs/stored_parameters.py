"""Check that the parameters of a random field have numbers."""

from __future__ import annotations

from torch import nn

from ..errors import StructureError


def check_stored(module: nn.Module) -> None:
    """Raise if a parameter is on the meta device, as after `module.to("meta")`.

    Raises:
        StructureError: a parameter stores no numbers.
    """
    if any(parameter.is_meta for parameter in module.parameters()):
        raise StructureError(
            f"the parameters of {type(module).__name__} are on the device meta, which stores no "
            "numbers: call to_empty(device=...), and load a state_dict"
        )
