"""Write the text of config.yaml, and check that it is complete.

A truncated file must not be completed by defaults.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from ...vaes.config import TrainConfig

START: Final = (
    "# The configuration of a run of structured-vae; its last line says that nothing is missing."
)
END: Final = "# end of the configuration"

UNMARKED: Final = (
    "encoder solver recipe n hidden data epsilon learning_rate epochs seed picture_every device",
    "estimator k samples sides epsilon_rule temperature",
    "model labels label_weight",
    "processes nodes",
    "dropout",
    "rate_decay",
    "channels",
    "kl_warmup",
    "consistency",
    "kl_start precision",
    "evaluate_every",
    "dropout_decay",
)
"""Keys of the versions that wrote neither start nor end mark.

Each version had the keys of one line and of all lines above it.
"""


def config_text(config: TrainConfig) -> str:
    """Return the configuration as YAML, with the marks of a complete file."""
    return f"{START}\n{yaml.safe_dump(config.to_dict(), sort_keys=False)}{END}\n"


def is_whole(text: str, values: dict[str, Any]) -> bool:
    """Return whether the end of a configuration file is present.

    A file with the start mark needs the end mark. A file without the start mark is older; it is
    complete if it has exactly the keys of one version. A truncated file does not, because most
    versions put new keys between the old ones. Only two versions had their newest key at the end
    (dropout, then channels). Without that line, such a file reads as one of the version before,
    and the key has its default.

    Args:
        text: of the file.
        values: the values that YAML reads in it.
    """
    lines = text.splitlines()
    if lines[0] == START:
        return END in lines
    versions = [set(" ".join(UNMARKED[:count]).split()) for count in range(1, len(UNMARKED) + 1)]
    return text.endswith("\n") and values.keys() & versions[-1] in versions
