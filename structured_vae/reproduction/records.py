"""The records of cells: their settings, hardware and results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from ..atomic import whole_file
from ..errors import RunError
from ..runs.folder import Run
from ..vaes.config.older import renamed
from .experiments import Cell

DIRTY: Final = "-dirty"
"""The end of `git describe` where the tree had uncommitted changes."""

PAUSE: Final = 10.0
"""The minimum ratio of an epoch's time to the median at which the training counts as paused.

Other work on the machine makes epochs only a few times longer.
"""


@dataclass(frozen=True)
class Places:
    """The folders of the files of cells.

    Attributes:
        results: folder of the records.
        runs: folder of the run folders.
    """

    results: Path
    runs: Path

    def record(self, cell: Cell) -> Path:
        """Return the JSON file of a cell."""
        return self.results / cell.experiment / f"{cell.title}.json"

    def picture(self, cell: Cell) -> Path:
        """Return the PNG of a cell, beside its record."""
        return self.record(cell).with_suffix(".png")

    def run(self, cell: Cell) -> Run:
        """Return the run folder of a cell."""
        return Run(self.runs / cell.experiment / cell.title)


@dataclass(frozen=True)
class Record:
    """The record of a cell.

    Attributes:
        cell: the name of the cell, without the seed.
        config: the configuration as plain values.
        commit: the commit of the code that ended the run.
        versions: the versions of the packages.
        hardware: the hardware of the run.
        seconds: wall-clock time of all epochs.
        argmaxes: number of argmaxes that the estimator solved in training, without those of
            labelled images.
        epochs: the rows of `metrics.csv`, one per evaluation in training.
        evaluation: the evaluation on the test split at the best validation epoch; None while the
            run is not finished.
        commits: the commits of all parts of the run, in order, None where unknown; empty in older
            records.
    """

    cell: str
    config: dict[str, Any]
    commit: str | None
    versions: dict[str, str]
    hardware: dict[str, Any]
    seconds: float
    argmaxes: int
    epochs: list[dict[str, float]]
    evaluation: dict[str, Any] | None
    commits: list[str | None] = field(default_factory=list)

    @property
    def trained(self) -> int:
        """The number of epochs at the last row."""
        return trained_epochs(self.epochs)

    @property
    def hours(self) -> list[float]:
        """The hours of training from its start to each row, without pauses.

        A process that is stopped, or a machine that sleeps, leaves epochs that take far longer than
        most: each counts as one of median length.
        """
        spans = spans_of(row["epoch"] for row in self.epochs)
        an_epoch = seconds_an_epoch(self.epochs)
        usual = 0.0
        if an_epoch:
            usual = median(an_epoch)
        hours = []
        total = 0.0
        for span, took in zip(spans, an_epoch, strict=True):
            awake = took
            if took > PAUSE * usual:
                awake = usual
            total += span * awake / 3600
            hours.append(total)
        return hours

    @property
    def dirty(self) -> bool:
        """Whether some of the code was in no commit, so that it cannot be checked out."""
        return any(
            commit is not None and commit.endswith(DIRTY) for commit in (*self.commits, self.commit)
        )

    def finished(self, epochs: int) -> bool:
        """Return whether the cell was trained for that many epochs, and evaluated."""
        return self.evaluation is not None and self.trained >= epochs

    def differing(self, cell: Cell) -> list[str]:
        """Return the paths of the settings that define the cell and differ in the record.

        Defaults are left out. A record contains some that had no effect at the time, and lacks
        defaults that were added later.
        """
        here = renamed(self.config)
        there = cell.config.to_dict()
        paths = list(cell.defining)
        if cell.falls:
            paths.append(("epochs",))
        return [".".join(path) for path in paths if _at(here, path) != _at(there, path)]

    def write(self, path: Path) -> None:
        """Write the file completely, or not at all."""
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def _at(values: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at a path of nested settings; None where there is none."""
    value: Any = values
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        else:
            value = None
    return value


def check_epochs(rows: Sequence[Mapping[str, float]]) -> None:
    """Raise if rows of epochs are not those of one training.

    Raises:
        ValueError: a row has no number of its epoch or of its seconds, or epochs do not increase.
    """
    before = 0.0
    for place, row in enumerate(rows):
        try:
            float(row["seconds"])
            epoch = float(row["epoch"])
        except (TypeError, LookupError, ValueError) as error:
            raise ValueError(f"row {place} of its epochs lacks epoch or seconds") from error
        if not epoch > before:
            raise ValueError(f"row {place} is of epoch {epoch:g}, and the row before of {before:g}")
        before = epoch


def spans_of(epochs: Iterable[float]) -> list[float]:
    """Return the number of epochs from each row to the next, the first from the start."""
    return [epoch - before for before, epoch in pairwise([0.0, *epochs])]


def seconds_an_epoch(rows: Sequence[Mapping[str, float]]) -> list[float]:
    """Return the seconds of an epoch before each row, which has those since the row before."""
    spans = spans_of(row["epoch"] for row in rows)
    return [row["seconds"] / span for row, span in zip(rows, spans, strict=True)]


def trained_epochs(rows: list[dict[str, float]]) -> int:
    """Return the epoch of the last row of a run; 0 before the first."""
    if rows:
        return int(rows[-1]["epoch"])
    return 0


def read_record(path: Path) -> Record | None:
    """Return the record in a file; None if there is no file.

    Raises:
        RunError: the file is damaged.
    """
    try:
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
        check_epochs(record.epochs)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise RunError(
            f"{path} is not a record: {error}; delete it, and the cell is evaluated again"
        ) from error
    return record


def record_of_run(
    cell: Cell, run: Run, argmaxes_an_image: int, images: int, evaluation: dict[str, Any] | None
) -> Record:
    """Return the record of a cell, from the record of its run and an evaluation.

    Raises:
        RunError: the run has no record.json, or a damaged one.
    """
    file = run.folder / "record.json"
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        rows = stored["epochs"]
        check_epochs(rows)
        return Record(
            cell=cell.name,
            config=stored["config"],
            commit=stored["commit"],
            versions=stored["versions"],
            hardware=stored["hardware"],
            seconds=sum(row["seconds"] for row in rows),
            argmaxes=argmaxes_an_image * images * trained_epochs(rows),
            epochs=rows,
            evaluation=evaluation,
            commits=stored.get("commits", []),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise RunError(
            f"{file} is missing or damaged ({error}): delete {run.folder}, and the cell is "
            "trained again"
        ) from error
