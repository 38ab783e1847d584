"""The text of config.yaml, and whether it is whole: a cut one must not be completed by defaults."""

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
"""The keys of the versions that wrote neither start nor end: each had those of a line and of all lines above it."""


def config_text(config: TrainConfig) -> str:
    """The configuration as YAML, with the marks of a whole file."""
    return f"{START}\n{yaml.safe_dump(config.to_dict(), sort_keys=False)}{END}\n"


def is_whole(text: str, values: dict[str, Any]) -> bool:
    """Whether nothing is missing at the end of a configuration.

    One with the start needs the end. One without is older, and whole if it has exactly the keys of
    a version. A cut one has not, as new keys went into the midst of the old ones. Two versions
    alone had their newest key at the end (dropout, then channels): without that line, theirs reads
    as one of the version before, and the key has its default.

    Args:
        text: of the file.
        values: that YAML reads in it.
    """
    lines = text.splitlines()
    if lines[0] == START:
        return END in lines
    versions = [set(" ".join(UNMARKED[:count]).split()) for count in range(1, len(UNMARKED) + 1)]
    return text.endswith("\n") and values.keys() & versions[-1] in versions
