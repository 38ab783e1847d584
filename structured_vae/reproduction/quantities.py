"""Read quantities of cells from records, over their seeds, and format them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, stdev, variance
from typing import Final, TypeAlias

from .records import Record

Records: TypeAlias = Mapping[str, Sequence[Record]]
"""The records of cells by name, one for each seed."""

PERCENT: Final = ("accuracy", "majority", "appears", "recognised")
"""The prefixes of shares, which are shown in percent, as in the paper."""


def values_of(records: Sequence[Record], name: str) -> list[float]:
    """Return a quantity of the evaluation, for each seed that has it."""
    scale = 1
    if name.startswith(PERCENT):
        scale = 100
    return [
        scale * record.evaluation["quantities"][name]["value"]
        for record in records
        if record.evaluation is not None and name in record.evaluation["quantities"]
    ]


def unit(name: str) -> str:
    """Return the unit in which `values_of` gives a quantity."""
    if name.startswith(PERCENT):
        return "%"
    return "nats"


def mean_or_nan(values: Sequence[float]) -> float:
    """Return the mean, or not a number where there are no values."""
    if values:
        return mean(values)
    return float("nan")


def shown(values: Sequence[float], digits: int = 2) -> str:
    """Return the mean with its standard error over seeds; empty for no values."""
    if not values:
        return ""
    error = ""
    if len(values) > 1:
        error = f" ± {standard_error(values):.{digits}f}"
    return f"{mean(values):.{digits}f}{error}"


def mean_and_deviation(values: Sequence[float], digits: int = 2) -> str:
    """Return the mean with the standard deviation over seeds, where there are several."""
    deviation = ""
    if len(values) > 1:
        deviation = f" ± {stdev(values):.{digits}f}"
    return f"{mean(values):.{digits}f}{deviation}"


def differ(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether Welch's t-test finds different means (two-sided, p < 0.05).

    Both samples have at least two values.
    """
    from scipy.stats import ttest_ind_from_stats  # slow to load, and only reports need it

    if not stdev(first) and not stdev(second):
        return mean(first) != mean(second)
    test = ttest_ind_from_stats(
        *(mean(first), stdev(first), len(first)),
        *(mean(second), stdev(second), len(second)),
        equal_var=False,
    )
    return bool(test.pvalue < 0.05)


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean of at least two values."""
    return stdev(values) / math.sqrt(len(values))


def deviation_of_seeds(cells: Iterable[Sequence[float]]) -> float | None:
    """Return the standard deviation within cells with several seeds; None if there are none."""
    several = [values for values in cells if len(values) > 1]
    if not several:
        return None
    squares = sum((len(values) - 1) * variance(values) for values in several)
    return math.sqrt(squares / sum(len(values) - 1 for values in several))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, without columns that are empty in every row."""
    used = [place for place in range(len(header)) if any(row[place] for row in rows)]
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line[place] for place in used)} |" for line in lines]
