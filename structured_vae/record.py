"""The record of a run: what it was, where it ran, and the metrics of its epochs."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback

from .atomic import whole_file

PACKAGES = (
    "structured-vae",
    "torch",
    "lightning",
    "numpy",
    "numba",
    "PyMaxflow",
    "ortools",
    "cplex",
)


def environment() -> dict[str, Any]:
    """The code's commit, the versions of what it stands on, and the hardware."""
    hardware = {"machine": platform.machine(), "cores": os.cpu_count(), "processor": _processor()}
    if torch.cuda.is_available():
        hardware["gpu"] = torch.cuda.get_device_name()
    return {"commit": _commit(), "versions": _versions(), "hardware": hardware}


def _commit() -> str | None:
    """The commit of the source tree that this package is imported from; None if it is no such tree."""
    source = Path(__file__).resolve()
    try:
        _git(source.parent, "ls-files", "--error-unmatch", source.name)
        return _git(source.parent, "describe", "--always", "--dirty", "--abbrev=40")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603  # fixed commands
    return answer.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


class RunRecord(Callback):
    """Writes `metrics.csv` and `record.json` whole, at the end of every epoch that is evaluated.

    A row's `seconds` are those of all epochs since the row before; its `ms_per_step` is of its own epoch. The
    rows travel in the checkpoint, so a resumed run's files equal those of an uninterrupted one, but
    for the times.

    Args:
        folder: of the run.
        config: plain values.
    """

    def __init__(self, folder: Path, config: dict[str, Any]):
        self.folder = folder
        self.config = config
        self.rows: list[dict[str, float]] = []
        self._start = self._seconds = 0.0
        self._trained: float | None = None

    def state_dict(self) -> dict[str, Any]:
        """The rows so far, and the seconds since the last."""
        return {"rows": self.rows, "seconds": self._seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from the rows of a checkpoint."""
        self.rows = list(state_dict["rows"])
        self._seconds = float(state_dict.get("seconds", 0.0))

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clock."""
        self._start, self._trained = time.perf_counter(), None

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stops the clock of the training steps."""
        self._trained = time.perf_counter() - self._start

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Adds the row of an evaluated epoch and writes both files."""
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
        if trainer.is_global_zero:
            self._write()

    def _write(self) -> None:
        with (
            whole_file(self.folder / "metrics.csv") as part,
            part.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, fieldnames=list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)
        record = {"config": self.config, **environment(), "epochs": self.rows}
        with whole_file(self.folder / "record.json") as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
