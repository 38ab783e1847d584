"""What `structured-vae reproduce` and `report` do, given what was chosen."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from jsonargparse import Namespace
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..errors import ConfigError, RunError, TerminatedError
from ..runs.assembly import data_of, dataset_of, training_of
from ..runs.gradients import gradient_figure
from ..runs.networks import vae_of
from .experiments import Cell, Experiment, experiment_names
from .records import Places
from .report import records_of, write_report
from .runner import Status, finished, run_cells, status

TIMED_STEPS = 10


def reproduce(options: Namespace, console: Console) -> None:
    """Runs what is missing, or says what it is.

    Raises:
        ConfigError: no such experiment or cell, or no jobs.
        RunError: cells failed; the others were run all the same.
        TerminatedError: this process was asked to end, by SIGTERM.
    """
    if options.jobs < 1:
        raise ConfigError(f"jobs must be at least 1; got {options.jobs}")
    experiment = Experiment.named(options.experiment)
    cells = experiment.cells(options.seeds, options.epochs, options.only, options.root)
    places = Places(Path(options.results), Path(options.runs))
    if options.dry_run:
        console.print(_plan([status(cell, places) for cell in cells], experiment.title))
        return
    missing = [cell for cell in cells if not finished(cell, places)]
    console.print(f"{len(cells) - len(missing)} of {len(cells)} cells are finished")
    failures = _run(missing, places, options.jobs, console)
    if failures:
        raise RunError(f"{len(failures)} of {len(missing)} cells failed: {'; '.join(failures)}")
    folder = places.results / experiment.folder
    if experiment.view == "gradients" and (cells[0] in missing or not (folder / "gradients.json").exists()):
        found = gradient_figure(places.run(cells[0]).folder, output=folder)
        console.print(f"written: {found.picture}, {found.record}")
    console.print(f"tables and plots: structured-vae report {experiment.name}")


def _run(cells: Sequence[Cell], places: Places, jobs: int, console: Console) -> list[str]:
    """The messages of the cells that failed."""
    failures = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    alone = jobs == 1  # then each training shows its own progress
    with _ended_by_sigterm(), Progress(*columns, console=console, disable=alone) as progress:
        bar = progress.add_task("cells", total=len(cells))
        for count, outcome in enumerate(run_cells(cells, places, jobs), 1):
            progress.advance(bar)
            if outcome.failure is not None:
                failures.append(f"{outcome.cell.title}: {outcome.failure}")
            found = outcome.failure or places.record(outcome.cell)
            console.print(f"{count} of {len(cells)}: {outcome.cell.title}: {found}")
    return failures


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Ends worker processes with this one: joblib ends them for a KeyboardInterrupt.

    Raises:
        TerminatedError: this process was asked to end.
    """
    asked = False

    def interrupt(*_: object) -> None:
        nonlocal asked
        asked = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except (KeyboardInterrupt, TerminatedError) as stop:
        if not asked:
            raise
        raise TerminatedError("terminated; the same command goes on from the last epoch") from stop
    finally:
        signal.signal(signal.SIGTERM, before)


def _plan(states: Sequence[Status], title: str) -> Table:
    """What would be run, with an estimate by a few steps of each kind of cell."""
    table = Table(title=title, caption="without the evaluation at the end; one cell at a time")
    for column in ("cell", "epochs trained", "of", "evaluated", "hours left, about"):
        table.add_column(column, justify="left" if column == "cell" else "right")
    known: dict[tuple[object, ...], float] = {}
    for state in states:
        config = state.cell.config
        hours = 0.0
        if state.left:
            images = config.data, config.labels > 0
            model = config.model, config.encoder, config.latent, config.precision
            estimator = config.estimator, config.solver, config.samples, config.sides
            kind = (*images, *model, *estimator)
            if kind not in known:
                known[kind] = seconds_a_step(state.cell)
            steps = -(-len(dataset_of(config).train) // config.data.batch_size)
            hours = known[kind] * steps * state.left / 3600
        evaluated = "yes" if state.evaluated else "no"
        table.add_row(state.cell.title, str(state.done), str(config.epochs), evaluated, f"{hours:.2f}")
    return table


def seconds_a_step(cell: Cell) -> float:
    """A training step of a cell, timed on images of its data."""
    config = cell.config
    dataset = dataset_of(config)
    training = training_of(config, vae_of(config, dataset.pixels))
    training.on_train_epoch_start()
    adam = training.configure_optimizers()
    batch = next(iter(data_of(config, dataset).train_dataloader()))
    start = 0.0
    for step in range(TIMED_STEPS + 2):
        if step == 2:
            start = perf_counter()
        adam.zero_grad()
        training.loss(*batch).backward()  # type: ignore[no-untyped-call]  # torch's
        adam.step()
    return (perf_counter() - start) / TIMED_STEPS


def report(options: Namespace, console: Console) -> None:
    """Writes the reports of one experiment, or of all that have records.

    Raises:
        ConfigError: no such experiment.
        RunError: it has no records, or one is damaged.
    """
    names = experiment_names() if options.experiment is None else [options.experiment]
    for name in names:
        experiment, results = Experiment.named(name), Path(options.results)
        if options.experiment is None and not records_of(experiment, results):
            console.print(f"{name}: no records yet")
            continue
        found = write_report(experiment, results, Path(options.output))
        console.print(f"written: {', '.join(map(str, (found.page, *found.pictures)))}")
