"""Report experiments with attributes: the accuracy of each beside that of the majority."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..runs.folder.curves import PAGE_WIDTH
from .experiments import Experiment
from .quantities import Records, markdown_table, mean_or_nan, shown, values_of
from .records import Record

PREFIX = "accuracy_"
APPEARS = "appears_"


def attribute_tables(experiment: Experiment, records: Records) -> list[str]:
    """Return a table of accuracies in percent by cell and attribute, with the majority."""
    names = attributes_of(records)
    rows = [[cell, *_row(runs, "accuracy", names)] for cell, runs in records.items()]
    majority = _row(next(iter(records.values())), "majority", names)
    return [
        "Accuracy of the most probable attributes in percent. `majority` is that of always saying "
        "the value which is more frequent among the same images.",
        "",
        *markdown_table(["cell", "all", *names], [*rows, ["majority", *majority]]),
        "",
        *_appearances(records),
    ]


def _appearances(records: Records) -> list[str]:
    """Return a table of what decoded faces show, by cell and switched attribute."""
    asked = {cell: runs for cell, runs in records.items() if names_of(runs, APPEARS)}
    names = list(dict.fromkeys(name for runs in asked.values() for name in names_of(runs, APPEARS)))
    if not names:
        return []
    rows = [
        [
            cell,
            *(
                f"{_shown(runs, APPEARS, name, 1)}, by {_shown(runs, 'change_', name, 3)}"
                for name in names
            ),
        ]
        for cell, runs in asked.items()
    ]
    first = next(iter(asked.values()))
    recognised = [_shown(first, "recognised_", name, 1) for name in names]
    persons = shown(values_of(first, "change_person"), 3)
    return [
        "Share in percent of decoded faces in which another network finds the attribute that was "
        "decoded, 50 being chance, and the mean change of an intensity by its switch; from one "
        f"person to the next it is {persons} (of the first cell). `real faces` is how often that "
        "network is right about test images.",
        "",
        *markdown_table(["cell", *names], [*rows, ["real faces", *recognised]]),
        "",
    ]


def names_of(records: Sequence[Record], prefix: str) -> list[str]:
    """Return the names after a prefix of quantities, as `Eyeglasses` in `appears_Eyeglasses`."""
    evaluations = [record.evaluation["quantities"] for record in records if record.evaluation]
    return [
        name.removeprefix(prefix)
        for quantities in evaluations[:1]
        for name in quantities
        if name.startswith(prefix)
    ]


def _shown(records: Sequence[Record], prefix: str, name: str, digits: int) -> str:
    return shown(values_of(records, prefix + name), digits)


def attribute_figure(experiment: Experiment, records: Records) -> Figure:
    """Plot accuracy by attribute: a bar for the majority, a point for each cell."""
    figure = Figure(figsize=(PAGE_WIDTH, 4.5), layout="constrained")
    axes = figure.subplots()
    names = attributes_of(records)
    first = next(iter(records.values()))
    axes.bar(range(len(names)), _means(first, "majority", names), color="0.85", label="majority")
    for number, (cell, runs) in enumerate(records.items()):
        axes.plot(
            range(len(names)),
            _means(runs, "accuracy", names),
            "o",
            color=f"C{number % 10}",
            label=cell,
        )
    axes.set_xticks(range(len(names)), [name.replace("_", " ") for name in names], rotation=30)
    axes.set_ylim(40, 100)
    axes.set_ylabel("accuracy on test images, %")
    axes.legend(fontsize=8)
    figure.suptitle(experiment.title)
    return figure


def attributes_of(records: Records) -> list[str]:
    """Return the attributes that were evaluated, in their order."""
    return next(filter(None, (names_of(runs, PREFIX) for runs in records.values())), [])


def _row(records: Sequence[Record], kind: str, names: Sequence[str]) -> list[str]:
    """Return the values of a kind for all attributes together, then for each."""
    return [
        shown(values_of(records, name), 1)
        for name in (kind, *(f"{kind}_{attribute}" for attribute in names))
    ]


def _means(records: Sequence[Record], kind: str, names: Sequence[str]) -> list[float]:
    return [mean_or_nan(values_of(records, f"{kind}_{name}")) for name in names]
