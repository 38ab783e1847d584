"""Tables and plots of records, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..atomic import whole_file
from ..errors import RunError
from .experiments import Experiment
from .records import Record, read_record

BOUND: Final = "test/bound"
SURROGATE: Final = "test/bound_surrogate"

Rows = list[list[str]]


@dataclass(frozen=True)
class Report:
    """What a report wrote.

    Attributes:
        page: Markdown.
        pictures: PNG and SVG.
    """

    page: Path
    pictures: tuple[Path, ...]


def write_report(experiment: Experiment, results: Path, folder: Path) -> Report:
    """Writes `NAME.md`, `NAME.png` and `NAME.svg` of an experiment into a folder.

    Args:
        experiment: which.
        results: folder of the records.
        folder: for the report.

    Raises:
        RunError: there is no record of it, or one is damaged.
    """
    records = records_of(experiment, results)
    if not records:
        raise RunError(
            f"{results} has no record of {experiment.name}; make some: structured-vae reproduce {experiment.name}"
        )
    page = folder / f"{experiment.name}.md"
    pictures = tuple(folder / f"{experiment.name}.{kind}" for kind in ("png", "svg"))
    figure = curves(experiment, records)
    for path in pictures:
        with whole_file(path) as part:
            figure.savefig(part, format=path.suffix[1:], dpi=150)
    with whole_file(page) as part:
        part.write_text(markdown(experiment, records), encoding="utf-8")
    return Report(page, pictures)


def records_of(experiment: Experiment, results: Path) -> dict[str, list[Record]]:
    """The records of each cell, one a seed, in the order of the cells.

    Raises:
        RunError: a record is damaged.
    """
    found: dict[str, list[Record]] = {}
    for cell in experiment.cells():
        paths = sorted((results / cell.experiment).glob(f"{cell.name}-seed*.json"))
        records = [record for path in paths if (record := read_record(path)) is not None]
        if records:
            found[cell.name] = records
    return found


def markdown(experiment: Experiment, records: Mapping[str, list[Record]]) -> str:
    """The page: what the numbers are, and a row a cell."""
    header = [
        "cell",
        "epochs",
        "seeds",
        "bound",
        "-log p(x)",
        "gap",
        "paper's number",
        "paper",
        "active",
        "ms a step",
        "hours",
    ]
    rows = [_row(name, cells, experiment.paper.get(name)) for name, cells in records.items()]
    first = next(iter(records.values()))[0]
    notes = [
        f"# {experiment.title}",
        "",
        f"Test images of {_datasets(records)}, binarisation {_binarisations(records)}, in nats; the epoch of the "
        "best validation bound, one evaluation. `bound` is valid for every row: reconstruction and exact KL, or the "
        "KL of a histogram of samples where the posterior is perturb-and-MAP; `-log p(x)` is exact, by all states. "
        "`paper's number` is what the paper's code reports: the KL of the unary scores alone, which is no bound for "
        "structured encoders. ± is the standard error over seeds, and without it there is one seed.",
        "",
        f"Hardware: {first.hardware.get('processor') or first.hardware.get('machine')}, "
        f"{first.hardware.get('gpu', 'no GPU')}; torch {first.versions.get('torch')}. Times of runs that shared the "
        "machine say little.",
        "",
        *_table(header, rows),
        "",
        f"![Test bound by epoch and by hours]({experiment.name}.png)",
    ]
    return "\n".join(notes) + "\n"


def _row(name: str, records: list[Record], paper: float | None) -> list[str]:
    def quantity(key: str) -> str:
        values = [
            record.evaluation["quantities"][key]["value"]
            for record in records
            if record.evaluation is not None and key in record.evaluation["quantities"]
        ]
        return _with_error(values)

    epochs = sorted({len(record.epochs) for record in records})
    steps = [row["ms_per_step"] for record in records for row in record.epochs]
    return [
        name,
        "-".join(map(str, epochs)),
        str(len(records)),
        quantity("bound"),
        quantity("minus_log_p"),
        quantity("gap"),
        quantity("bound_surrogate"),
        "" if paper is None else f"{paper:g}",
        quantity("active"),
        f"{sorted(steps)[len(steps) // 2]:.1f}",
        f"{mean(record.seconds for record in records) / 3600:.2f}",
    ]


def _with_error(values: list[float]) -> str:
    if not values:
        return ""
    error = f" ± {stdev(values) / len(values) ** 0.5:.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{error}"


def _table(header: list[str], rows: Rows) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _datasets(records: Mapping[str, list[Record]]) -> str:
    return ", ".join(
        sorted({record.config["data"]["name"] for cells in records.values() for record in cells})
    )


def _binarisations(records: Mapping[str, list[Record]]) -> str:
    return ", ".join(
        sorted({record.config["data"]["binarisation"] for cells in records.values() for record in cells})
    )


def curves(experiment: Experiment, records: Mapping[str, list[Record]]) -> Figure:
    """Test loss by epoch and by hours of training; dashed where the number is no bound."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw(left, records, lambda record: [row["epoch"] for row in record.epochs])
    _draw(right, records, _hours)
    left.set_xlabel("epoch")
    right.set_xlabel("hours")
    left.set_ylabel("test loss (nats)")
    lowest = min(min(_losses(record)[0]) for cells in records.values() for record in cells)
    left.set_ylim(lowest - 2, lowest + 50)
    right.legend(fontsize=7)
    figure.suptitle(experiment.title)
    return figure


def _draw(axes: Axes, records: Mapping[str, list[Record]], place: Callable[[Record], list[float]]) -> None:
    for number, (name, cells) in enumerate(records.items()):
        losses, valid = _losses(cells[0])
        style, note = ("-", "") if valid else ("--", " (no bound)")
        axes.plot(place(cells[0]), losses, style, color=f"C{number % 10}", linewidth=1, label=name + note)


def _losses(record: Record) -> tuple[list[float], bool]:
    """The tighter number of each epoch, and whether it is a bound."""
    bounds = [row[BOUND] for row in record.epochs]
    surrogates = [row[SURROGATE] for row in record.epochs]
    loose = (
        record.config["encoder"] in ("supermodular", "general")
        and record.config["estimator"] != "score_function"
    )
    return (surrogates, False) if loose else (bounds, True)


def _hours(record: Record) -> list[float]:
    total, hours = 0.0, []
    for row in record.epochs:
        total += row["seconds"]
        hours.append(total / 3600)
    return hours
