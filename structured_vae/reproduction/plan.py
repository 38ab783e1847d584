"""Plan an experiment: which cells exist and which have to run; it loads no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from jsonargparse import Namespace
from rich.console import Console, JustifyMethod
from rich.table import Table

from ..errors import RunError
from ..vaes.config import TrainConfig
from .experiments import Cell, Experiment
from .records import Places, check_epochs, read_record, seconds_an_epoch

TIMED: Final = (
    "model",
    "encoder",
    "n",
    "k",
    "variables",
    "couplings",
    "precision",
    "estimator",
    "solver",
    "samples",
    "sides",
)
"""The options on which the time of an epoch depends, where the kind of model has them."""


@dataclass(frozen=True)
class Status:
    """The progress of a cell.

    Attributes:
        cell: the cell.
        done: number of epochs that were trained and evaluated.
        evaluated: whether its record is complete.
        other: settings that differ in its existing record, so that the cell is not run.
    """

    cell: Cell
    done: int
    evaluated: bool
    other: tuple[str, ...] = ()

    @property
    def left(self) -> int:
        """The number of epochs that remain."""
        return max(0, self.cell.config.epochs - self.done)


def chosen(options: Namespace) -> tuple[Experiment, list[Cell], Places]:
    """Return the experiment, its cells and the places of their files for these options.

    Raises:
        ConfigError: the experiment or cell does not exist.
    """
    experiment = Experiment.named(options.experiment)
    cells = experiment.cells(options.seeds, options.epochs, options.only, options.root)
    return experiment, cells, Places(Path(options.results), Path(options.runs))


def plan(options: Namespace, console: Console) -> None:
    """Print the cells that would run, with times estimated from earlier cells of the same kind.

    Raises:
        ConfigError: the experiment or cell does not exist.
        RunError: a record or a run is damaged.
    """
    experiment, cells, places = chosen(options)
    caption = (
        "without the evaluation at the end; one cell at a time; ? where no such cell has run here"
    )
    table = Table(title=experiment.title, caption=caption)
    for column in ("cell", "epochs trained", "of", "evaluated", "hours left, about"):
        whole = column == "cell"
        side: JustifyMethod = "right"
        if whole:
            side = "left"
        table.add_column(column, justify=side, no_wrap=whole, overflow="fold")
    seconds = seconds_of_kinds(cells, places)
    for state in (status(cell, places) for cell in cells):
        config = state.cell.config
        an_epoch: float | None = 0.0
        if state.left:
            an_epoch = seconds.get(kind_of(config))
        hours = "?"
        if an_epoch is not None:
            hours = f"{an_epoch * state.left / 3600:.2f}"
        evaluated = "no"
        if state.evaluated:
            evaluated = "yes"
        if state.other:
            evaluated = f"with other {', '.join(state.other)}"
        table.add_row(state.cell.title, str(state.done), str(config.epochs), evaluated, hours)
    console.print(table)


def status(cell: Cell, places: Places) -> Status:
    """Return the progress of a cell, by its record and its run folder.

    Raises:
        RunError: its record, or a file of its run, is damaged.
    """
    record = read_record(places.record(cell))
    other: tuple[str, ...] = ()
    if record is not None:
        other = tuple(record.differing(cell))
        if not other and record.finished(cell.config.epochs):
            return Status(cell, cell.config.epochs, True)
    run = places.run(cell)
    trained = 0
    if run.checkpoint("last").exists():
        trained = run.recorded_epochs()
    return Status(cell, trained, False, other)


def finished(cell: Cell, places: Places) -> bool:
    """Return whether a cell has its record.

    Raises:
        RunError: the record is damaged, or has other settings.
    """
    record = read_record(places.record(cell))
    if record is None:
        return False
    if other := record.differing(cell):
        raise RunError(
            f"{places.record(cell)} is of other settings ({', '.join(other)}): "
            "choose its own, delete it, or name another folder for records: --results FOLDER"
        )
    return record.finished(cell.config.epochs)


def seconds_of_kinds(cells: Sequence[Cell], places: Places) -> dict[tuple[object, ...], float]:
    """Return the median seconds of an epoch of each kind of cell that has run with any seed."""
    seconds: dict[tuple[object, ...], list[float]] = {}
    for cell in cells:
        seconds.setdefault(kind_of(cell.config), []).extend(_epoch_seconds(cell, places))
    return {kind: median(epochs) for kind, epochs in seconds.items() if epochs}


def kind_of(config: TrainConfig) -> tuple[object, ...]:
    """Return the values on which the time of an epoch depends."""
    settings = config.to_dict()
    labelled = bool(settings.get("labels"))
    options = (settings.get(name) for name in TIMED)
    return config.data.name, config.data.batch_size, labelled, *options


def _epoch_seconds(cell: Cell, places: Places) -> list[float]:
    """Return the seconds of each finished epoch of a cell, from its record or its run."""
    record = read_record(places.record(cell))
    if record is not None:
        return seconds_an_epoch(record.epochs)
    metrics = places.run(cell).metrics
    columns = (metrics.get(name, ()) for name in ("epoch", "seconds"))
    rows = [{"epoch": epoch, "seconds": float(took)} for epoch, took in zip(*columns, strict=True)]
    try:
        check_epochs(rows)
    except ValueError as error:
        raise RunError(f"{places.run(cell).folder / 'metrics.csv'} is damaged: {error}") from error
    return seconds_an_epoch(rows)
