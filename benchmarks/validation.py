"""Records of trainings that end with the bounds of their validation images: the test images are not looked at."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import torch

from structured_vae import TrainConfig, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

BOUNDS: Final = ("bound", "bound_surrogate")
"""What a row has of the validation images after the last epoch, where the training has it."""


def complete(path: Path, trainings: Iterable[tuple[dict[str, Any], TrainConfig]]) -> None:
    """Trains what the record lacks, on one thread, and writes it whole after every training.

    Args:
        path: of the record.
        trainings: what a row is known by, and what to train for it.
    """
    torch.set_num_threads(1)
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}
    for known_by, config in trainings:
        if any(known_by.items() <= row.items() for row in record["rows"]):
            continue
        record["rows"].append(known_by | _ended(config) | environment())
        with whole_file(path) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _ended(config: TrainConfig) -> dict[str, float]:
    """Bounds of the validation images at the end, in nats, and seconds of CPU time; only there are they looked at."""
    config = replace(
        config, evaluate_every=config.epochs, picture_every=0, logger="none", device="cpu"
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        metrics = train(config, Path(folder) / "run", False).metrics
        seconds = time.process_time() - start
    columns = {
        name: metrics[f"validation/{name}"] for name in BOUNDS if f"validation/{name}" in metrics
    }
    return {name: float(column[-1]) for name, column in columns.items()} | {"seconds": seconds}
