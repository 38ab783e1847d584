"""Run `structured-vae reproduce` and `report` with the chosen options."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jsonargparse import Namespace
from rich.console import Console, JustifyMethod
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..errors import ConfigError, RunError, TerminatedError
from ..runs.gradients import gradient_figure
from .experiments import Cell, Experiment, experiment_names
from .plan import chosen, finished
from .quantities import shown, unit, values_of
from .records import Places, read_record
from .report import records_of, write_report
from .runner import run_cells
from .verdict_table import VerdictTable

IN_TERMINAL = {
    "cell": "cell",
    "epochs": "epochs",
    "seeds": "seeds",
    "holds at most": "holds",
    "bound": "bound",
    "-log p(x)": "-log p(x)",
    "paper's number": "as the paper's",
    "paper": "paper's",
    "accuracy, %": "accuracy, %",
    "code": "code",
}
"""The columns of a report that are also printed, with their printed names."""


def reproduce(options: Namespace, console: Console) -> None:
    """Run the cells that are missing.

    Raises:
        ConfigError: the experiment or cell does not exist, or `jobs` is 0.
        RunError: some cells failed; the others were run.
        TerminatedError: this process was asked to end, by SIGTERM.
    """
    if options.jobs < 1:
        raise ConfigError(f"jobs must be at least 1; got {options.jobs}")
    experiment, cells, places = chosen(options)
    missing = [cell for cell in cells if not finished(cell, places)]
    console.print(f"{len(cells) - len(missing)} of {len(cells)} cells are finished")
    failures = _run(missing, places, options.jobs, console)
    if failures:
        raise RunError(f"{len(failures)} of {len(missing)} cells failed: {'; '.join(failures)}")
    folder = places.results / experiment.folder
    if experiment.view == "gradients" and (
        cells[0] in missing or not (folder / "gradients.json").exists()
    ):
        figure = gradient_figure(places.run(cells[0]).folder, output=folder)
        console.print(f"written: {figure.picture}, {figure.record}")
    console.print(f"tables and plots: structured-vae report {experiment.name}")


def _run(cells: Sequence[Cell], places: Places, jobs: int, console: Console) -> list[str]:
    """Return the messages of the cells that failed."""
    failures = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    alone = jobs == 1  # then each training shows its own progress
    with _ended_by_sigterm(), Progress(*columns, console=console, disable=alone) as progress:
        bar = progress.add_task("cells", total=len(cells))
        for count, outcome in enumerate(run_cells(cells, places, jobs), 1):
            progress.advance(bar)
            if outcome.failure is not None:
                failures.append(f"{outcome.cell.title}: {outcome.failure}")
            result = outcome.failure or _number(places.record(outcome.cell))
            console.print(
                f"{count} of {len(cells)}: {outcome.cell.title}: {result}", soft_wrap=True
            )
    return failures


def _number(path: Path) -> str:
    """Return the main number of a cell, and the path of its record."""
    record = read_record(path)
    numbers = [
        f"{name} {shown(values_of([record], name))} {unit(name)}"
        for name in ("accuracy", "bound")
        if record is not None and values_of([record], name)
    ]
    if numbers:
        return f"{numbers[0]}, {path}"
    return str(path)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """End worker processes with this one: joblib ends them for a KeyboardInterrupt.

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
        raise TerminatedError("terminated; the same command resumes from the last epoch") from stop
    finally:
        signal.signal(signal.SIGTERM, before)


def report(options: Namespace, console: Console) -> None:
    """Write the reports of one experiment, or of all that have records.

    Raises:
        ConfigError: the experiment does not exist.
        RunError: the experiment has no records, or one is damaged.
    """
    if options.experiment is None:
        names = experiment_names()
    else:
        names = [options.experiment]
    for name in names:
        experiment = Experiment.named(name)
        results = Path(options.results)
        if options.experiment is None and not records_of(experiment, results):
            console.print(f"{name}: no records yet")
            continue
        written = write_report(experiment, results, Path(options.output))
        _print_whole(
            console, [_cells(experiment.title, written.rows), *map(_of_verdict, written.verdict)]
        )
        console.print(f"written: {', '.join(map(str, (written.page, *written.pictures)))}")


def _print_whole(console: Console, tables: Sequence[Table]) -> None:
    """Print tables at their full width, so that no number is broken in two."""
    options = console.options.update(max_width=1000)
    widths = [Measurement.get(console, options, table).maximum for table in tables]
    wide = Console(file=console.file, width=max(console.width, *widths))
    for table in tables:
        wide.print(table)


def _of_verdict(table: VerdictTable) -> Table:
    """Return a table of the verdict for the terminal."""
    header, rows = table.used()
    printed = Table(*header, title=table.title)
    for row in rows:
        printed.add_row(*row)
    return printed


def _cells(title: str, rows: list[list[str]]) -> Table:
    """Return a table of the numbers of all cells that have any, with full names."""
    table = Table(title=title)
    header, *body = rows
    used = [
        place
        for place, name in enumerate(header)
        if name in IN_TERMINAL and any(row[place] for row in body)
    ]
    for place in used:
        name = IN_TERMINAL[header[place]]
        side: JustifyMethod = "right"
        if name == "cell":
            side = "left"
        table.add_column(name, justify=side, no_wrap=True)
    for row in body:
        table.add_row(*(row[place] for place in used))
    return table
