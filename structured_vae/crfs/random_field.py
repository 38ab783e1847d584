"""The base of conditional random fields: modules with parameters and constants."""

from __future__ import annotations

from models.constants import ModuleWithConstants

from ..errors import ConfigError, StructureError


class RandomField(ModuleWithConstants):
    """A conditional random field, which has parameters and tables that its arguments determine."""

    def check_stored(self) -> None:
        """Raise if a parameter is on the meta device, as after `module.to("meta")`.

        Raises:
            StructureError: a parameter stores no numbers.
        """
        if any(parameter.is_meta for parameter in self.parameters()):
            raise StructureError(
                f"the parameters of {type(self).__name__} are on the device meta, which stores no "
                "numbers: call to_empty(device=...), and load a state_dict"
            )

    def __prepare_scriptable__(self) -> None:
        raise ConfigError(
            f"{type(self).__name__} cannot be compiled by torch.jit.script, which takes no solver "
            "along: script the network that gives the scores, and call "
            f"{type(self).__name__} on its output; or export structured_vae.inference"
        )
