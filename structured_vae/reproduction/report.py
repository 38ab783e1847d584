"""Write tables and plots of records, with the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from matplotlib.figure import Figure

from ..atomic import whole_file
from ..errors import RunError
from ..evaluation.gradients import GradientReport
from ..runs.gradients import bias_and_deviation, read_reports
from .attributes import attribute_figure, attribute_tables
from .curves import curves
from .experiments import Experiment
from .grid import grid_figure, grid_tables
from .quantities import Records, markdown_table, shown, values_of
from .records import Record, read_record
from .sample_pictures import sample_pictures
from .verdict import attributes_verdict, gradients_verdict, verdict
from .verdict_table import VerdictTable

HEADER: Final = (
    *(
        "cell",
        "epochs",
        "seeds",
        "holds at most",
        "bound",
        "refined bound",
        "decodes to refine",
        "-log p(x)",
        "gap",
        "paper's number",
        "paper",
        "accuracy, %",
    ),
    *("accuracy sampled, %", "active", "ms a step", "hours", "code"),
)

MEANINGS: Final = (
    (
        "`bound`",
        "an upper bound on -log p(x): the reconstruction plus the KL. The KL is exact, or for "
        "perturb-and-MAP from a histogram of samples",
    ),
    (
        "`refined bound`",
        "an upper bound too, from the states that a search for each image decodes",
    ),
    ("`-log p(x)`", "exact for bits and categories; else an importance-weighted upper bound"),
    ("`holds at most`", "the largest possible KL: the logarithm of the number of states"),
    (
        "`paper's number`",
        "what the paper's code reports. Its KL leaves out the couplings, so for coupled bits it is "
        "not a bound",
    ),
)
"""Explanation of the columns of the page."""

NO_COMMIT: Final = "in no commit"
"""The note on records whose code is in no commit and cannot be checked out."""


@dataclass(frozen=True)
class View:
    """The view of an experiment, beside a row for each cell.

    Attributes:
        tables: makes lines of Markdown.
        figure: makes the plot; it also takes the folder of the records.
        verdict: makes the first tables from the references and the folder of the records.
    """

    tables: Callable[[Experiment, Records], list[str]]
    figure: Callable[[Experiment, Records, Path], Figure]
    verdict: Callable[[Experiment, Records, Records, Path], list[VerdictTable]] = (
        lambda experiment, records, references, folder: verdict(experiment, records, references)
    )


def _no_tables(experiment: Experiment, records: Records) -> list[str]:
    return []


def _reports(folder: Path) -> dict[str, GradientReport]:
    """Return the reports on the estimators' gradients beside the records."""
    return read_reports(folder / "gradients.json")


VIEWS: Final = {
    "attributes": View(
        attribute_tables,
        lambda experiment, records, folder: attribute_figure(experiment, records),
        lambda experiment, records, references, folder: attributes_verdict(records),
    ),
    "curves": View(_no_tables, lambda experiment, records, folder: curves(experiment, records)),
    "grid": View(grid_tables, lambda experiment, records, folder: grid_figure(experiment, records)),
    "pictures": View(_no_tables, sample_pictures),
    "gradients": View(
        _no_tables,
        lambda experiment, records, folder: bias_and_deviation(_reports(folder)),
        lambda experiment, records, references, folder: gradients_verdict(_reports(folder)),
    ),
}


@dataclass(frozen=True)
class Report:
    """The files and tables that a report wrote.

    Attributes:
        page: the Markdown file.
        pictures: the PNG and SVG files.
        verdict: the first tables of the page.
        rows: the table of all cells: its header, then one row per cell.
    """

    page: Path
    pictures: tuple[Path, ...]
    verdict: list[VerdictTable]
    rows: list[list[str]]


def write_report(experiment: Experiment, results: Path, folder: Path) -> Report:
    """Write `NAME.md`, `NAME.png` and `NAME.svg` of an experiment into a folder.

    Args:
        experiment: the experiment.
        results: folder of the records.
        folder: folder for the report.

    Raises:
        RunError: the experiment has no record, or one is damaged.
    """
    records = records_of(experiment, results)
    if not records:
        raise RunError(
            f"{results} has no record of {experiment.name}; "
            f"make some: structured-vae reproduce {experiment.name}"
        )
    page = folder / f"{experiment.name}.md"
    pictures = tuple(folder / f"{experiment.name}.{kind}" for kind in ("png", "svg"))
    view = VIEWS[experiment.view]
    beside = results / experiment.folder
    figure = view.figure(experiment, records, beside)
    for path in pictures:
        with whole_file(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=150)
        figure.set_layout_engine("none")  # the second picture has the layout of the first
    references = references_of(experiment, results)
    rows = _rows(experiment, records) + _reference_rows(references)
    tables = view.verdict(experiment, records, references, beside)
    with whole_file(page) as temporary:
        temporary.write_text(markdown(experiment, records, rows, tables), encoding="utf-8")
    return Report(page, pictures, tables, [list(HEADER), *rows])


def records_of(experiment: Experiment, results: Path) -> Records:
    """Return the records of each cell, one per seed, in the order of the cells.

    Raises:
        RunError: a record is damaged.
    """
    by_cell = {
        cell.name: _of_cell(results / experiment.folder, cell.name) for cell in experiment.cells()
    }
    return {name: records for name, records in by_cell.items() if records}


def references_of(experiment: Experiment, results: Path) -> Records:
    """Return the records of the models that the cells are compared with, if they have run.

    Raises:
        RunError: a record is damaged.
    """
    by_model = {name: _of_cell(results / folder, name) for folder, name in experiment.references}
    return {name: records for name, records in by_model.items() if records}


def _of_cell(folder: Path, name: str) -> list[Record]:
    """Return the records of a cell, one per seed."""
    paths = sorted(folder.glob(f"{name}-seed*.json"))
    return [record for path in paths if (record := read_record(path)) is not None]


def markdown(
    experiment: Experiment,
    records: Records,
    rows: list[list[str]],
    verdict_tables: list[VerdictTable],
) -> str:
    """Return the page: verdict, meaning of the numbers, tables, a row per cell, and plot."""
    hardware = sorted({_hardware(record) for cells in records.values() for record in cells})
    lines = [
        f"# {experiment.title}",
        "",
        *(line for table in verdict_tables for line in table.markdown()),
        f"The test images are those of {_named(records, 'name')}, with the binarisation "
        f"{_named(records, 'binarisation')}. All bounds are nats per image, at the epoch with the "
        "best validation bound, and lower is better. ± is the standard error over seeds; a number "
        f"without it has one seed. {experiment.source}".strip(),
        "",
        *markdown_table(("column", "meaning"), MEANINGS),
        "",
        f"Hardware: {'; '.join(hardware)}. Do not compare the times of runs that shared a machine.",
        "",
        *VIEWS[experiment.view].tables(experiment, records),
        *markdown_table(HEADER, rows),
        "",
        f"![{experiment.title}]({experiment.name}.png)",
    ]
    return "\n".join(lines) + "\n"


def _rows(experiment: Experiment, records: Records) -> list[list[str]]:
    refine = {cell.name: cell.refine for cell in experiment.cells()}
    return [
        _row(name, cells, _paper(experiment, name, cells[0].trained), refine[name])
        for name, cells in records.items()
    ]


def _paper(experiment: Experiment, name: str, epochs: int) -> str:
    """Return the paper's number of a cell, with its epochs where that is not at the end."""
    number = experiment.paper_of(name, epochs).get("bound")
    if number is None:
        return ""
    if experiment.read_early(name, epochs):
        return f"{number:g} after {epochs}"
    return f"{number:g}"


def _reference_rows(references: Records) -> list[list[str]]:
    return [_row(f"for reference: {name}", records, "", 0) for name, records in references.items()]


def _row(name: str, records: Sequence[Record], paper: str, refine: int) -> list[str]:
    config = records[0].config
    epochs = sorted({record.trained for record in records})
    steps = [row["ms_per_step"] for record in records for row in record.epochs]
    moves = ""
    if values_of(records, "refined_bound"):
        moves = str(refine * (config["n"] + 1))
    note = ""
    if any(record.dirty for record in records):
        note = NO_COMMIT
    return [
        name,
        "-".join(map(str, epochs)),
        str(len(records)),
        _capacity(config),
        *(shown(values_of(records, key)) for key in ("bound", "refined_bound")),
        moves,
        *(shown(values_of(records, key)) for key in ("minus_log_p", "gap")),
        shown(values_of(records, "bound_surrogate")),
        paper,
        *(shown(values_of(records, key), 1) for key in ("accuracy", "accuracy_sampled")),
        shown(values_of(records, "active"), 0),
        f"{median(steps):.1f}",
        f"{mean(record.hours[-1] for record in records):.2f}",
        note,
    ]


def _capacity(config: dict[str, Any]) -> str:
    """Return the nats that the latent state of a discrete VAE can hold, of a record's settings."""
    encoder = config.get("encoder")
    if config["model"] != "discrete" or encoder == "gaussian":  # as older records call the model
        return ""
    if encoder == "categorical":
        return f"{config.get('variables', 1) * math.log(config['k']):.1f}"
    return f"{config['n'] * math.log(2):.1f}"


def _named(records: Records, key: str) -> str:
    """Return the values of a key of the data configuration."""
    return ", ".join(
        sorted({record.config["data"][key] for cells in records.values() for record in cells})
    )


def _hardware(record: Record) -> str:
    machine = record.hardware.get("processor") or record.hardware.get("machine")
    return (
        f"{machine}, {record.hardware.get('gpu') or 'no GPU'}, torch {record.versions.get('torch')}"
    )
