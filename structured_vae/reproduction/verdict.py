"""What the records of an experiment say, in sentences: how many cells are as good as the paper's, and their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from statistics import mean
from typing import Final

import numpy as np

from ..evaluation.gradients import GradientReport
from ..runs.gradients import family_of
from .attributes import APPEARS, names_of
from .experiments import Experiment
from .quantities import Records, deviation_of_seeds, shown, standard_error, unit, values_of
from .records import Record

ORDERED_BY: Final = {"bound": "the valid bound", "minus_log_p": "-log p(x)"}
"""What an order of encoders is looked for in, beside the paper's kind of number, and how it is called."""

NAMES: Final = {"accuracy_sampled": "accuracy of a drawn class"}
"""Of quantities, in sentences."""

STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t for 95%, two-sided, of 1 to 10 degrees of freedom; more have the last, too careful by a seventh."""


def verdict(experiment: Experiment, records: Records, references: Records | None = None) -> str:
    """The first words of a page: beside the paper where it has numbers, else the best cell, beside the references."""
    return " ".join(
        [*_beside_the_paper(experiment, records), *_orders(experiment, records)]
        or _best(records, references or {})
    )


def attributes_verdict(records: Records) -> str:
    """The first words of a page of attributes: the best accuracy, and in which faces another network finds them."""
    said = _best(records, {})
    if majority := [value for runs in records.values() for value in values_of(runs, "majority")]:
        said.append(f"The majority: {mean(majority):.2f} %.")
    found = {name: mean(values) for name, runs in records.items() if (values := _appearing(runs))}
    if found:
        shares = ", ".join(f"{name} {share:.1f} %" for name, share in found.items())
        said.append(
            f"Decoded faces in which another network finds what was decoded: {shares}; 50 is chance."
        )
    return " ".join(said)


def _appearing(records: Sequence[Record]) -> list[float]:
    """The share of each attribute that was switched, of each seed."""
    return [
        value for name in names_of(records, APPEARS) for value in values_of(records, APPEARS + name)
    ]


def gradients_verdict(reports: Mapping[str, GradientReport]) -> str:
    """The first words of a page of gradients: each estimator's error at its best setting."""
    errors = {name: math.sqrt(report.bias**2 + report.variance) for name, report in reports.items()}
    families: dict[str, str] = {}
    for name in sorted(errors, key=lambda each: errors[each]):
        families.setdefault(family_of(name), name)
    least = "; ".join(f"{name}: {errors[name]:.2g}" for name in families.values())
    norm = next(iter(reports.values())).norm
    return (
        "Root mean square error of one estimate, each estimator at its best epsilon or temperature, the number behind "
        f"its name, where the gradient's norm is {norm:.2g}: {least}."
    )


def as_good(experiment: Experiment, quantity: str, ours: float, paper: float) -> bool:
    """Whether a number of ours is at least as good as one of the paper's."""
    return ours <= paper if experiment.quantities[quantity] == "lower" else ours >= paper


def _within(deviation: float, ours: float, paper: float) -> bool:
    """Whether seeds alone differ by more than these two."""
    return abs(ours - paper) < deviation


def _beside_the_paper(experiment: Experiment, records: Records) -> Iterator[str]:
    lines, found = _lines(experiment), False
    same = {line: (names, names) for line, names in lines.items()}
    for quantity in experiment.quantities:
        good = partial(as_good, experiment, quantity)
        own = _counts(experiment, records, quantity, same, good)
        if not own:
            continue
        found = True
        names = [name for line in lines.values() for name in line]
        counted = [record for name in names for record in records.get(name, ())]
        word, aside = NAMES.get(quantity, quantity), ""
        if quantity == "bound" and _leaves_couplings_out(counted):
            word, aside = "number", " (not a bound where bits are coupled)"
        yield f"Cells whose {word}{aside} is as good as the paper's or better: {own}."
        if experiment.beside is not None:
            other = lines[experiment.beside]
            pairs = {line: (names, other) for line, names in lines.items()}
            counts = _counts(experiment, records, quantity, pairs, good)
            yield f"As good as the paper's {experiment.beside}: {counts}."
        deviation = deviation_of_seeds(
            of_the_papers_kind(records, name, quantity) for name in names
        )
        if deviation is not None:
            near = _counts(experiment, records, quantity, same, partial(_within, deviation))
            spread = f"{deviation:.2f} {unit(quantity)}, the standard deviation over seeds"
            yield f"Within {spread}, of the paper's {word}: {near}."
    if found:
        yield _differences(experiment, records)
    if found and experiment.apart:
        yield f"Not counted: {', '.join(experiment.apart)}, whose images are not the paper's."


def _leaves_couplings_out(runs: Sequence[Record]) -> bool:
    """Whether the paper's kind of number is no bound of some of these, since its KL knows of no couplings."""
    found = [
        (run.evaluation or {}).get("quantities", {}).get("bound_surrogate", {}) for run in runs
    ]
    return any(each.get("kind") == "not a bound" for each in found)


def _lines(experiment: Experiment) -> dict[str, list[str]]:
    """The cells that are counted, by the lines of a grid; all that the paper has under no name where there is none."""
    if not experiment.has_grid:
        return {"": list(experiment.paper)}
    panels, rows, lines = experiment.grid
    counted = [panel for panel in panels.values if panel not in experiment.apart]
    return {
        str(line): [experiment.name_of(*place, line) for place in product(counted, rows.values)]
        for line in lines.values
    }


def _counts(
    experiment: Experiment,
    records: Records,
    quantity: str,
    lines: dict[str, tuple[list[str], list[str]]],
    fits: Callable[[float, float], bool],
) -> str:
    """For each line, in how many of its cells our number fits that of the paper's cell beside it; nothing for none."""
    counts = []
    for line, (ours, theirs) in lines.items():
        both = [
            (mean(values), paper)
            for name, other in zip(ours, theirs, strict=True)
            if (values := of_the_papers_kind(records, name, quantity))
            and (paper := experiment.paper_of(other, records[name][0].trained).get(quantity))
            is not None
        ]
        if both:
            counts.append(f"{line} {sum(fits(*pair) for pair in both)} of {len(both)}".strip())
    return ", ".join(counts)


def of_the_papers_kind(records: Records, name: str, quantity: str) -> list[float]:
    """A quantity of a cell, by seed: the paper's bounds of structured encoders leave couplings out of the KL."""
    runs = records.get(name, ())
    return (values_of(runs, "bound_surrogate") if quantity == "bound" else []) or values_of(
        runs, quantity
    )


def _differences(experiment: Experiment, records: Records) -> str:
    """Say how the cells that are compared with the paper's differ from them: images, epochs and recipe."""
    names = [name for names in _lines(experiment).values() for name in names]
    counted = [record for name in names for record in records.get(name, ())]
    said = [_binarised(counted), _trained(experiment, counted), _recipe(counted)]
    said += [
        f"{name} is compared with the paper's number after {runs[0].trained} epochs"
        for name in names
        if (runs := records.get(name)) and experiment.read_early(name, runs[0].trained)
    ]
    return f"Setting of these cells: {'; '.join(part for part in said if part)}."


def _binarised(counted: Sequence[Record]) -> str:
    """How the images of these records became binary."""
    kinds = {record.config["data"]["binarisation"] for record in counted}
    return (
        "images are thresholded"
        if kinds == {"threshold"}
        else f"images: {', '.join(sorted(kinds))}"
    )


def _trained(experiment: Experiment, counted: Sequence[Record]) -> str:
    """How many epochs these records have, and how many the paper."""
    epochs = {record.trained for record in counted}
    least, most = min(epochs), max(epochs)
    ours = f"{least}" if least == most else f"{least} to {most}"
    paper = (
        "does not say how many"
        if experiment.paper_epochs is None
        else f"has {experiment.paper_epochs}"
    )
    return f"training lasts {ours} epochs, and the paper {paper}"


def _recipe(counted: Sequence[Record]) -> str:
    """Whether objective, learning rate or dropout differ from the paper's; nothing where none does."""
    differ = [_has_another_recipe(record) for record in counted]
    if not any(differ):
        return ""
    return f"the recipe{'' if all(differ) else ' of some cells'} differs from the paper's"


def _has_another_recipe(record: Record) -> bool:
    config = record.config
    falls = (config.get("rate_decay") or "none") != "none"
    return config.get("recipe", "paper") != "paper" or falls or bool(config.get("dropout"))


def _orders(experiment: Experiment, records: Records) -> Iterator[str]:
    """Whether cells come in the paper's order, and whether their seeds tell them apart."""
    for how, names in experiment.orders.items():
        found = {name: of_the_papers_kind(records, name, "bound") for name in names}
        if all(found.values()):
            chain = ", ".join(f"{name} {shown(values, 1)}" for name, values in found.items())
            since = _since([records[name] for name in names])
            yield f"The paper's order of encoders, {how}, {_certainty(found)}: {chain} nats{since}."
            yield from _by_other_bounds({name: records[name] for name in names}, _certainty(found))


def _by_other_bounds(records: Records, certainty: str) -> Iterator[str]:
    """The same order by numbers that no coupling is left out of, beside what is said of the paper's."""
    said: dict[str, list[str]] = {}
    for quantity, words in ORDERED_BY.items():
        found = {name: values_of(runs, quantity) for name, runs in records.items()}
        if all(found.values()):
            said.setdefault(_certainty(found), []).append(f"by {words}")
    for other, numbers in said.items():
        by = " and ".join(numbers)
        yield f"The same {by}." if other == certainty else f"{by.capitalize()} it {other}."


def _since(cells: Sequence[Sequence[Record]]) -> str:
    """From which epoch on the means over seeds are in order on the test images, where they are at the end."""
    curves = [_curve(records) for records in cells]
    if len({len(curve) for curve in curves}) != 1:
        return ""
    epochs = [int(row["epoch"]) for row in cells[0][0].epochs]
    ordered = [
        all(better < worse for better, worse in pairwise(row)) for row in zip(*curves, strict=True)
    ]
    if len(ordered) < 2 or not ordered[-1]:
        return ""
    first = max((place + 1 for place, holds in enumerate(ordered) if not holds), default=0)
    return f", in this order in every epoch from {epochs[first]} on"


def _curve(records: Sequence[Record]) -> list[float]:
    """The paper's kind of number in each epoch, the mean over seeds as far as all have it."""
    rows = zip(*(record.epochs for record in records), strict=False)
    return [mean(_papers_kind(row) for row in of_seeds) for of_seeds in rows]


def _papers_kind(row: Mapping[str, float]) -> float:
    return row["test/bound_surrogate"] if "test/bound_surrogate" in row else row["test/bound"]


def _certainty(found: Mapping[str, Sequence[float]]) -> str:
    """Of an order of cells, given the values of each by seed."""
    neighbours = list(pairwise(found.items()))
    if not all(mean(better) < mean(worse) for (_, better), (_, worse) in neighbours):
        return "is not found"
    if min(map(len, found.values())) == 1:
        return "is found with one seed"
    level = [
        f"{name} from {other}"
        for (name, better), (other, worse) in neighbours
        if not _told(better, worse)
    ]
    if not level:
        return "is found (seeds tell neighbours apart, 95% by Welch's t)"
    return f"is that of the means, and seeds do not tell {' and '.join(level)} (95% by Welch's t)"


def _told(better: Sequence[float], worse: Sequence[float]) -> bool:
    """Whether the means of two cells differ by more than seeds do: by Welch's t, as one may spread more."""
    squares = [standard_error(values) ** 2 for values in (better, worse)]
    if not (total := sum(squares)):
        return mean(better) != mean(worse)
    shares = zip(squares, (better, worse), strict=True)
    freedom = total**2 / sum(square**2 / (len(values) - 1) for square, values in shares)
    # Between whole degrees of freedom a straight line is a little too careful.
    most = float(np.interp(freedom, range(1, len(STUDENT) + 1), STUDENT))
    return abs(mean(worse) - mean(better)) > most * math.sqrt(total)


def _best(records: Records, references: Records) -> list[str]:
    """Of cells that the paper does not have."""
    for quantity, best in (("accuracy", max), ("bound", min)):
        found = _means(records, quantity)
        if found:
            first, *second = sorted(found, key=lambda each: found[each], reverse=best is max)[:2]
            said = f"Best {quantity}: {first}, {shown(values_of(records[first], quantity))} {unit(quantity)}"
            if second:
                said += _followed(records, quantity, first, *second)
            beside = ", ".join(
                f"{other} {value:.2f}" for other, value in _means(references, quantity).items()
            )
            return [f"{said}.", f"For reference: {beside}."] if beside else [f"{said}."]
    return []


def _followed(records: Records, quantity: str, first: str, second: str) -> str:
    """What comes after the best cell, and whether seeds tell the two apart."""
    values = {name: values_of(records[name], quantity) for name in (first, second)}
    alone = [name for name, of_seeds in values.items() if len(of_seeds) == 1]
    if alone:
        seeds = "one seed each" if len(alone) == 2 else f"of {alone[0]} one seed"
        return f", then {second}, {shown(values[second])}, {seeds}"
    told = "ahead of" if _told(*values.values()) else "not told by seeds from"
    return f", {told} {second}, {shown(values[second])}"


def _means(records: Records, quantity: str) -> dict[str, float]:
    """Over seeds, of the cells that have it."""
    return {
        name: mean(values)
        for name, runs in records.items()
        if (values := values_of(runs, quantity))
    }
