"""The record of a run: its configuration, its environment, and the metrics of its epochs."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl

from ..atomic import whole_file
from ..environment import environment
from .between_steps import BetweenSteps


class RunRecord(BetweenSteps):
    """A callback that writes `metrics.csv` and `record.json` after every evaluated epoch.

    The `seconds` of a row count all epochs since the previous row; `ms_per_step` is that of its
    own epoch. Checkpoints hold the rows and the commits of the code that trained the run. So the
    files of a resumed run equal those of an uninterrupted one, apart from the times.

    Args:
        folder: folder of the run.
        config: the configuration as plain values.
    """

    def __init__(self, folder: Path, config: dict[str, Any]):
        self.folder = folder
        self.config = config
        self.made = environment()
        self.commits: list[str | None] = [self.made["commit"]]
        self.rows: list[dict[str, float]] = []
        self._start = self._seconds = 0.0
        self._trained: float | None = None

    def state_dict(self) -> dict[str, Any]:
        """Return the rows and commits so far, and the seconds since the last row."""
        return {"rows": self.rows, "commits": self.commits, "seconds": self._seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the rows of a checkpoint."""
        self.rows = list(state_dict["rows"])
        before = state_dict.get("commits", [None])  # older checkpoints have no commits
        new = [commit for commit in self.commits if commit not in before[-1:]]
        self.commits = [*before, *new]
        self._seconds = float(state_dict.get("seconds", 0.0))

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._start = time.perf_counter()
        self._trained = None

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop the clock of the training steps."""
        self._trained = time.perf_counter() - self._start

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add the row of an evaluated epoch and write both files."""
        self._seconds += time.perf_counter() - self._start
        if self._trained is None:
            return
        logged = sorted(trainer.callback_metrics.items())
        metrics = {name: float(value) for name, value in logged if "/" in name}
        row = {
            "epoch": trainer.current_epoch + 1,
            "step": trainer.global_step,
            "ms_per_step": 1000 * self._trained / max(1, int(trainer.num_training_batches)),
            "seconds": self._seconds,
        }
        self._seconds = 0.0
        self.rows = [*self.rows, {**row, **metrics}]
        # Every process has the rows, but one writes the files.
        if trainer.is_global_zero:
            self._write()

    def _write(self) -> None:
        with (
            whole_file(self.folder / "metrics.csv", self.folder) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            # A metric of a callback may appear later than the first row.
            names = list(dict.fromkeys(name for row in self.rows for name in row))
            writer = csv.DictWriter(file, names, restval="nan")
            writer.writeheader()
            writer.writerows(self.rows)
        record = {"config": self.config, **self.made, "commits": self.commits, "epochs": self.rows}
        with whole_file(self.folder / "record.json", self.folder) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
