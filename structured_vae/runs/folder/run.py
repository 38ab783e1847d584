"""The files of a run folder, which training writes and other operations read."""

from __future__ import annotations

import csv
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...atomic import remove_leftovers, whole_file
from ...data import IN_MEMORY
from ...errors import ConfigError, RunError, shortened
from ...vaes.config import TrainConfig
from ...vaes.config.plain_values import read_yaml
from .config_file import config_text, is_whole
from .curves import curves
from .small_files import CONFIG_SIZE, RECORD_SIZE, read_small_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...training.sound_checkpoint import UnfitError

Which = Literal["best", "last"]

TARGETS: Final = ("config.yaml", "metrics.csv", "record.json", "tracked.txt")
"""Files that a training writes beside its subfolders."""


@dataclass(frozen=True)
class Run:
    """The folder of one training run: its configuration, checkpoints, metrics and pictures.

    Attributes:
        folder: holds config.yaml, checkpoints/, metrics.csv, record.json, pictures/, tensorboard/.
    """

    folder: Path

    def __fspath__(self) -> str:
        """Return the folder, so that a run can be passed where a path is expected."""
        return str(self.folder)

    @classmethod
    def at(cls, folder: str | Path | Run) -> Run:
        """Return the run in a folder, which need not exist yet.

        Raises:
            RunError: `folder` is not a valid path.
        """
        try:
            run = cls(Path(folder))
            run.folder.exists()
        except (TypeError, ValueError, OSError) as error:
            # The message leaves out the path, which may be long.
            reason = getattr(error, "strerror", None) or error
            raise RunError(
                f"expected the path of a run folder; got {shortened(folder)}: {reason}"
            ) from error
        return run

    @property
    def config_file(self) -> Path:
        """Path of the configuration, a YAML file."""
        return self.folder / "config.yaml"

    @property
    def checkpoints(self) -> Path:
        """Folder of `best.ckpt` and `last.ckpt`."""
        return self.folder / "checkpoints"

    @property
    def start(self) -> Path:
        """Path of the initial weights of custom networks; other runs have no such file."""
        return self.checkpoints / "start.ckpt"

    @property
    def tracked(self) -> Path:
        """Path of the file with the run's id at Weights & Biases or MLflow."""
        return self.folder / "tracked.txt"

    @property
    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns of metrics.csv, `[epochs]` each, one value per evaluated epoch.

        There are no columns while the file does not exist.

        Raises:
            RunError: the file is damaged.

        Example:
            >>> Run(Path("runs/none")).metrics
            {}
        """
        rows = self._rows()
        if not rows:
            return {}
        try:
            return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
        except (ValueError, LookupError, TypeError) as error:
            raise RunError(f"{self.folder / 'metrics.csv'} is damaged: {error!r}") from error

    def plot(self, *names: str) -> Figure:
        """Return a figure of metrics over the epochs, one axes per metric; a notebook shows it.

        Args:
            names: of metrics without the split, such as "bound" or "kl"; default: bound,
                reconstruction and kl.

        Raises:
            RunError: there is no such metric, or there are no metrics yet.
        """
        return curves(self.metrics, names)

    @property
    def pictures(self) -> Path:
        """Folder of PNG files."""
        return self.folder / "pictures"

    def checkpoint(self, which: Which) -> Path:
        """Return the checkpoint file of the best or the last epoch.

        Raises:
            RunError: `which` is neither "best" nor "last".
        """
        if not isinstance(which, str) or which not in get_args(Which):
            raise RunError(
                f"which checkpoint must be {' or '.join(get_args(Which))}; got {shortened(which)}"
            )
        return self.checkpoints / f"{which}.ckpt"

    def how_to_resume(
        self, config: TrainConfig, *, epochs: int | None = None, start: Which | None = None
    ) -> str:
        """Return the command that resumes this run, or the call if it needs objects in Python.

        Args:
            config: the configuration of the run.
            epochs: a new total; None for the run's.
            start: the checkpoint to resume from; None for the last one.
        """
        objects = objects_of(config)
        command = f"structured-vae resume {shlex.quote(str(self.folder))}"
        call = [repr(str(self.folder))]
        if epochs is not None:
            command += f" --epochs {epochs}"
            call.append(f"epochs={epochs}")
        if start is not None:
            command += f" --from {start}"
            call.append(f"start={start!r}")
        if not objects:
            return command
        call += [f"{name}=..." for name in objects]
        return f"structured_vae.resume({', '.join(call)})"

    def instead_of(self, which: Which, config: TrainConfig) -> str:
        """Return the command or call that works without one of the two checkpoints.

        Args:
            which: the checkpoint that is missing or damaged.
            config: the configuration of the run.
        """
        if which == "last":
            return self.how_to_resume(config, start="best")
        objects = objects_of(config)
        if not objects:
            return f"structured-vae evaluate {shlex.quote(str(self.folder))} --checkpoint last"
        passed = ", ".join(f"{name}=..." for name in objects)
        return f"structured_vae.evaluate_run({str(self.folder)!r}, which='last', {passed})"

    def of_other_networks(self, config: TrainConfig, misfit: UnfitError) -> RunError:
        """Return the error for networks that the weights of this run do not fit.

        Args:
            config: the configuration of the run.
            misfit: the first weight that does not fit.
        """
        passed = " and ".join(f"{name}=" for name in config.from_python)
        return RunError(
            f"the weights of the run {self.folder} do not fit {passed}: {misfit}. Pass what the "
            f"run was trained with. To resume: {self.how_to_resume(config)}"
        )

    def create(self, config: TrainConfig) -> None:
        """Write the configuration into a new folder.

        Raises:
            RunError: the folder already holds a run, or files that the run would replace; or it
                cannot be written to.
        """
        self.refuse_taken()
        self.save_config(config)

    def refuse_taken(self) -> None:
        """Raise if no training can begin in this folder.

        Raises:
            RunError: the folder already holds a run, or files that the run would replace.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError(f"{self.folder} is a file; name a folder: --run FOLDER")
        if self.config_file.exists():
            raise RunError(
                f"{self.folder} already holds a run{self._resumption()}; or name another folder: "
                "--run FOLDER, folder="
            )
        self._refuse_files_of_others()

    def _resumption(self) -> str:
        """Return the advice to resume this run, or the fault of its configuration."""
        try:
            config = self.config()
        except (RunError, ConfigError) as error:
            return f", whose configuration has a fault: {error}. Correct it"
        advice = f". Resume it: {self.how_to_resume(config)}"
        if not objects_of(config):
            advice += ", or resume(folder) in Python"
        return advice

    def _refuse_files_of_others(self) -> None:
        """Raise if the folder has no configuration but holds files that training would replace.

        Raises:
            RunError: there is such a file.
        """
        files = [self.folder / name for name in TARGETS]
        files += [self.checkpoints / f"{name}.ckpt" for name in (*get_args(Which), "start")]
        if present := next((file for file in files if os.path.lexists(file)), None):
            raise RunError(
                f"{self.folder} has {present.name} but no config.yaml, so this file may not "
                "belong to a "
                f"run, and is not replaced. Move {present}, or name another folder: --run FOLDER"
            )

    def save_config(self, config: TrainConfig) -> None:
        """Write the configuration.

        Raises:
            RunError: the folder cannot be made or written to.
        """
        try:
            with whole_file(self.config_file) as unfinished:
                unfinished.write_text(config_text(config), encoding="utf-8")
        except OSError as error:
            raise RunError(f"{self.folder} cannot be written to: {error}") from error

    def recorded_epochs(self) -> int:
        """Return the last epoch in metrics.csv, counted from 1; 0 if there is none yet.

        Raises:
            RunError: the file is damaged.
        """
        rows = self._rows()
        if not rows:
            return 0
        try:
            return int(rows[-1]["epoch"])
        except (ValueError, LookupError, TypeError) as error:
            raise RunError(f"{self.folder / 'metrics.csv'} is damaged: {error!r}") from error

    def _rows(self) -> list[dict[str, str]]:
        """Return the rows of metrics.csv; an empty list if there is no such file."""
        file = self.folder / "metrics.csv"
        try:
            lines = read_small_text(file, RECORD_SIZE).splitlines()
            return list(csv.DictReader(lines, strict=True))
        except FileNotFoundError:
            return []
        except (csv.Error, ValueError, OSError) as error:
            raise RunError(f"{file} is damaged: {error!r}") from error

    def remove_leftovers(self) -> None:
        """Delete the temporary files of a training that was killed, and no other file."""
        remove_leftovers(self.folder.resolve(), TARGETS)
        remove_leftovers(self.checkpoints, ("*.ckpt",))
        remove_leftovers(self.pictures, ("*.png",))

    def config(self) -> TrainConfig:
        """Return the configuration of this run.

        Raises:
            RunError: the folder is not a run, or its configuration is damaged or truncated.
            ConfigError: the configuration has unknown or impossible values.
        """
        try:
            text = read_small_text(self.config_file, CONFIG_SIZE)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RunError(f"{self.folder} is not a run folder: it has no config.yaml") from error
        except (OSError, ValueError) as error:
            raise RunError(f"{self.config_file} is damaged or cannot be read: {error}") from error
        values = read_yaml(text, str(self.config_file))
        config = TrainConfig.from_dict(values)
        # YAML cut at the end of a line is still valid YAML.
        if not is_whole(text, values):
            raise RunError(
                f"{self.config_file} is damaged: its end is missing. record.json holds the same "
                "values, under config"
            )
        return config


def objects_of(config: TrainConfig) -> list[str]:
    """Return the names of the objects that a caller passes again in Python."""
    objects = list(config.from_python)
    if config.data.name.startswith(IN_MEMORY):
        objects.append("data")
    return objects
