"""Compare cells with the paper's numbers: each pair, how many are as good, and the setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean
from typing import Final

from .experiments import Experiment
from .quantities import Records, deviation_of_seeds, mean_and_deviation, unit, values_of
from .records import Record
from .verdict_table import VerdictTable

NAMES: Final = {"accuracy_sampled": "accuracy of a drawn class"}
"""The names of quantities in tables, where they differ from those in records."""

UNBOUNDED: Final = "number (not a bound where bits are coupled)"
"""The name of the paper's bound in tables where the KL of some cells ignores couplings."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of a cell with a number of the paper.

    Attributes:
        line: the line of the grid that the cell belongs to; empty without a grid.
        cell: the name of the cell.
        quantity: the quantity that is compared.
        paper: the paper's number.
        read_after: the epochs after which that number was read, if before the paper's last epoch.
        values: our values, one per seed.
        is_lower_better: whether a lower number is better.
        deviation: standard deviation over seeds, pooled over cells; None without several seeds.
    """

    line: str
    cell: str
    quantity: str
    paper: float
    read_after: int | None
    values: Sequence[float]
    is_lower_better: bool
    deviation: float | None

    @property
    def is_as_good(self) -> bool:
        """Whether our mean is at least as good as the paper's number."""
        ours = mean(self.values)
        if self.is_lower_better:
            return ours <= self.paper
        return ours >= self.paper

    @property
    def is_level(self) -> bool:
        """Whether our mean and the paper's number differ by less than the spread over seeds."""
        return self.deviation is not None and abs(mean(self.values) - self.paper) < self.deviation

    @property
    def verdict(self) -> str:
        """The outcome of the comparison: `better`, `level` or `worse`."""
        if self.is_level:
            return "level"
        if self.is_as_good:
            return "better"
        return "worse"

    def row(self, quantity: str) -> list[str]:
        """Return the row of a table with this name of the quantity."""
        after = ""
        if self.read_after is not None:
            after = f" after {self.read_after}"
        return [
            self.cell,
            quantity,
            f"{self.paper:g}{after}",
            mean_and_deviation(self.values),
            str(len(self.values)),
            self.verdict,
        ]


def comparisons(
    experiment: Experiment, records: Records, quantity: str, against: str | None = None
) -> list[Comparison]:
    """Compare each cell with the paper's number of the same cell, or of the cell of another line.

    Args:
        experiment: the experiment of the cells.
        records: the records of its cells.
        quantity: the quantity to compare.
        against: the line of the grid whose numbers in the paper every line is compared with.
    """
    lines = _lines(experiment)
    deviation = deviation_of_seeds(
        of_the_papers_kind(records, cell, quantity) for cells in lines.values() for cell in cells
    )
    compared = []
    for line, cells in lines.items():
        others = cells
        if against is not None:
            others = lines[against]
        for cell, other in zip(cells, others, strict=True):
            values = of_the_papers_kind(records, cell, quantity)
            if not values:
                continue
            epochs = records[cell][0].trained
            paper = experiment.paper_of(other, epochs).get(quantity)
            if paper is None:
                continue
            read_after = None
            if experiment.read_early(other, epochs):
                read_after = epochs
            is_lower_better = experiment.quantities[quantity] == "lower"
            compared.append(
                Comparison(
                    line, cell, quantity, paper, read_after, values, is_lower_better, deviation
                )
            )
    return compared


def of_the_papers_kind(records: Records, name: str, quantity: str) -> list[float]:
    """Return a quantity of a cell, by seed; the paper's bounds leave couplings out of the KL."""
    runs = records.get(name, ())
    if quantity == "bound" and (surrogate := values_of(runs, "bound_surrogate")):
        return surrogate
    return values_of(runs, quantity)


def tables_beside_the_paper(experiment: Experiment, records: Records) -> list[VerdictTable]:
    """Return the counts, the comparisons one by one, and the setting; none without a comparison."""
    counts: list[list[str]] = []
    rows: list[list[str]] = []
    for quantity in experiment.quantities:
        compared = comparisons(experiment, records, quantity)
        if compared:
            name = f"{_name(experiment, records, quantity)}, {unit(quantity)}"
            counts += _counts(experiment, records, quantity, name)
            rows += [comparison.row(name) for comparison in compared]
    if not rows:
        return []
    beside = ""
    if experiment.beside is not None:
        beside = f"as good as the paper's {experiment.beside}"
    counted = ("quantity", "line", "as good as the paper's", "level", beside)
    header = ("cell", "quantity", "paper", "ours, mean ± sd", "seeds", "verdict")
    return [
        VerdictTable("Cells as good as the paper's", counted, counts),
        VerdictTable("Compared with the paper", header, rows),
        _setting(experiment, records),
    ]


def _name(experiment: Experiment, records: Records, quantity: str) -> str:
    """Return the name of a quantity in tables of these records."""
    if quantity == "bound" and _leaves_couplings_out(_counted(experiment, records)):
        return UNBOUNDED
    return NAMES.get(quantity, quantity)


def _leaves_couplings_out(runs: Sequence[Record]) -> bool:
    """Return whether the paper's number is no bound for some runs: its KL ignores couplings."""
    surrogates = (
        (run.evaluation or {}).get("quantities", {}).get("bound_surrogate", {}) for run in runs
    )
    return any(surrogate.get("kind") == "not a bound" for surrogate in surrogates)


def _counted(experiment: Experiment, records: Records) -> list[Record]:
    """Return the records of all cells that are compared with the paper's."""
    cells = (cell for cells in _lines(experiment).values() for cell in cells)
    return [record for cell in cells for record in records.get(cell, ())]


def _lines(experiment: Experiment) -> dict[str, list[str]]:
    """Return the counted cells by lines of a grid; without one, the paper's cells in one line."""
    if not experiment.has_grid:
        return {"": list(experiment.paper)}
    panels, rows, lines = experiment.grid
    counted = [panel for panel in panels.values if panel not in experiment.apart]
    return {
        str(line): [experiment.name_of(*place, line) for place in product(counted, rows.values)]
        for line in lines.values
    }


def _counts(
    experiment: Experiment, records: Records, quantity: str, name: str
) -> Iterator[list[str]]:
    """Count the cells of each line that are as good as the paper's, or level with them."""
    with_same = comparisons(experiment, records, quantity)
    with_other = []
    if experiment.beside is not None:
        with_other = comparisons(experiment, records, quantity, experiment.beside)
    for line in _lines(experiment):
        same = [comparison for comparison in with_same if comparison.line == line]
        other = [comparison for comparison in with_other if comparison.line == line]
        if same or other:
            yield [name, line, _as_good(same), _level(same), _as_good(other)]


def _as_good(compared: Sequence[Comparison]) -> str:
    """Return how many cells are as good as the paper's."""
    return _share([comparison.is_as_good for comparison in compared])


def _level(compared: Sequence[Comparison]) -> str:
    """Return how many cells are level with the paper's; empty without a deviation over seeds."""
    if all(comparison.deviation is None for comparison in compared):
        return ""
    return _share([comparison.is_level for comparison in compared])


def _share(answers: Sequence[bool]) -> str:
    if answers:
        return f"{sum(answers)} of {len(answers)}"
    return ""


def _setting(experiment: Experiment, records: Records) -> VerdictTable:
    """Return how the compared cells differ from the paper's: images, epochs and recipe."""
    counted = _counted(experiment, records)
    binarisation = {record.config["data"]["binarisation"] for record in counted}
    epochs = {record.trained for record in counted}
    if len(epochs) == 1:
        ours = f"{min(epochs)}"
    else:
        ours = f"{min(epochs)} to {max(epochs)}"
    paper = "not stated"
    if experiment.paper_epochs is not None:
        paper = f"{experiment.paper_epochs}"
    rows = [
        ["binarisation", ", ".join(sorted(binarisation)), ""],
        ["epochs", ours, paper],
        ["recipe", _recipe(counted), "paper"],
    ]
    if experiment.apart:
        rows.append(["not compared", ", ".join(experiment.apart), "other images"])
    return VerdictTable("Setting of the compared cells", ("setting", "ours", "paper"), rows)


def _recipe(counted: Sequence[Record]) -> str:
    """Return whether objective, learning rate or dropout differ from the paper's."""
    differ = [_has_another_recipe(record) for record in counted]
    if all(differ):
        return "another"
    if any(differ):
        return "another in some cells"
    return "paper"


def _has_another_recipe(record: Record) -> bool:
    config = record.config
    falls = (config.get("rate_decay") or "none") != "none"
    return config.get("recipe", "paper") != "paper" or falls or bool(config.get("dropout"))
