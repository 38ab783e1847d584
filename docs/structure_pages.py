"""Tables and pictures of the page about tasks with structures, made of records in every build."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[1] / "results"

TITLES = {
    "SPO+ through the structure": "SPO+",
    "PerturbedFenchelYoung": "`PerturbedFenchelYoung`",
    "StructuredHinge": "`StructuredHinge`",
    "DirectLoss": "`DirectLoss`",
    "GibbsLikelihood": "`GibbsLikelihood`",
    "ArgmaxLayer, cost=": "`ArgmaxLayer` with `cost=`, no noise",
    "ArgmaxLayer, cost=, noise": "`ArgmaxLayer` with `cost=`, with noise",
    "ArgmaxLayer, implicit MLE": "`ArgmaxLayer`, implicit MLE, no noise",
    "ArgmaxLayer, implicit MLE, noise": "`ArgmaxLayer`, implicit MLE, with noise",
    "ArgmaxLayer, implicit MLE, 3 draws": "`ArgmaxLayer`, implicit MLE, 3 draws",
}
"""What the tables call a method of a record, if it is another name."""


def title_of(method: str) -> str:
    """Return the name of a method in the tables."""
    return TITLES.get(method, method)


def shortest_paths() -> list[list[str]]:
    """Normalised regret of each method by the degree of the costs, and seconds a training."""
    record = json.loads((RESULTS / "shortest_paths.json").read_text(encoding="utf-8"))
    degrees = sorted({row["degree"] for row in record["rows"]})
    regrets = [f"degree {degree}: regret, % ↓" for degree in degrees]
    lines = [["method", *regrets, "CPU seconds of a training ↓"]]
    for name in dict.fromkeys(row["method"] for row in record["rows"]):
        own = {row["degree"]: row for row in record["rows"] if row["method"] == name}
        seconds = [second for row in own.values() for second in row.get("seconds", ())]
        regrets = [percent(own[degree]["regret"]) for degree in degrees]
        lines.append([title_of(name), *regrets, average(seconds, 2)])
    return lines


def average(seconds: list[float], digits: int) -> str:
    """The mean; empty for a row whose seconds were not measured on an idle machine."""
    if not seconds:
        return ""
    return f"{mean(seconds):.{digits}f}"


def decisions() -> list[list[str]]:
    """Regret of each method on the tasks of PyEPO."""
    return of_pyepo_tasks(regret_of)


def decisions_seconds() -> list[list[str]]:
    """CPU seconds of a training of each method on the tasks of PyEPO."""
    return of_pyepo_tasks(seconds_of)


def of_pyepo_tasks(cell: Callable[[dict[str, dict[str, Any]], str], str]) -> list[list[str]]:
    """A row for each method and a column for each task; a cell is empty without a measurement."""
    columns = {
        "shortest paths": "shortest_paths",
        "knapsack": "knapsack",
        "knapsack with two capacities": "two_knapsacks",
        "tours": "tours",
        "portfolio": "portfolio",
    }
    tables = {title: rows_of_decisions(name) for title, name in columns.items()}
    methods = beside_their_equals(method for rows in tables.values() for method in rows)
    lines = [["method", "package", *(f"{title} ↓" for title in tables)]]
    for method in methods:
        cells = [cell(rows, method) if method in rows else "" for rows in tables.values()]
        package = "PyEPO" if method.startswith(OF_PYEPO) else "ours"
        lines.append([title_of(method).removeprefix(OF_PYEPO), package, *cells])
    return lines


OF_PYEPO = "PyEPO, "
EQUALS = {
    "PyEPO, SPO+": "SPO+ through the structure",
    "PyEPO, perturbed Fenchel-Young": "PerturbedFenchelYoung",
    "PyEPO, implicit MLE": "ArgmaxLayer, implicit MLE, 3 draws",
}
"""The methods of PyEPO that minimise the same loss as a method of ours."""


def beside_their_equals(methods: Iterable[str]) -> list[str]:
    """Return the different methods in their order, but each of PyEPO after its equal of ours."""
    order = list(dict.fromkeys(methods))
    for theirs, ours in EQUALS.items():
        order.remove(theirs)
        order.insert(order.index(ours) + 1, theirs)
    return order


def rows_of_decisions(name: str) -> dict[str, dict[str, Any]]:
    """The rows of a record of decisions by method."""
    record = json.loads((RESULTS / "decisions" / f"{name}.json").read_text(encoding="utf-8"))
    return {row["method"]: row for row in record["rows"]}


def regret_of(rows: dict[str, dict[str, Any]], method: str) -> str:
    """The mean regret in percent. The smallest regret of a task is bold."""
    regrets = {name: f"{100 * mean(row['regret']):.1f}" for name, row in rows.items()}
    regret = regrets[method]
    if float(regret) == min(map(float, regrets.values())):
        return f"**{regret}**"
    return regret


def seconds_of(rows: dict[str, dict[str, Any]], method: str) -> str:
    """The mean CPU seconds of a training."""
    return f"{mean(rows[method]['seconds']):.2f}"


def pyepo_processes() -> list[list[str]]:
    """Wall-clock seconds of trainings of PyEPO with one and two processes."""
    path = RESULTS / "decisions" / "processes.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    seconds_of_rounds = [
        f"wall-clock seconds: {what}" for what in ("median ↓", "three repetitions")
    ]
    lines = [["loss", "processes", *seconds_of_rounds]]
    for row in rows:
        rounds = ", ".join(f"{seconds:.1f}" for seconds in row["wall_seconds"])
        lines.append([row["loss"], str(row["processes"]), f"{row['median']:.1f}", rounds])
    return lines


def decisions_from_pictures() -> list[list[str]]:
    """Regret, share of best decisions and seconds of each method on terrain and matchings."""
    terrain = rows_of_decisions("terrain")
    matchings = rows_of_decisions("matchings")
    heading = [f"{task}: {what}" for task in ("terrain", "matchings") for what in PICTURE_COLUMNS]
    lines = [["method", *heading]]
    for method in dict.fromkeys([*terrain, *matchings]):
        cells = [*of_pictures(terrain.get(method)), *of_pictures(matchings.get(method))]
        lines.append([title_of(method), *cells])
    return lines


PICTURE_COLUMNS = ("regret ↓", "best decisions ↑", "seconds ↓")


def of_pictures(row: dict[str, Any] | None) -> list[str]:
    """The cells of a method on one task; empty without a row."""
    if row is None:
        return ["", "", ""]
    best = f"{100 * mean(row['best_decisions']):.0f}"
    return [percent(row["regret"]), best, average(row.get("seconds", []), 1)]


def experts() -> list[list[str]]:
    """Errors of each way to weight the chosen experts, and seconds of a training."""
    record = json.loads((RESULTS / "experts.json").read_text(encoding="utf-8"))
    heading = ["weights of the two experts", "gradient of the choice", "noise"]
    lines = [[*heading, "mean squared error ↓", "range", "CPU seconds ↓"]]
    for row in sorted(record["rows"], key=lambda row: mean(row["error"])):
        error = row["error"]
        span = f"{min(error):.2f} to {max(error):.2f}"
        seconds = f"{mean(row['seconds']):.1f}"
        lines.append([*columns_of_router(row["method"]), f"{mean(error):.2f}", span, seconds])
    return lines


def columns_of_router(method: str) -> list[str]:
    """Return the weights, the gradient of the choice, and whether it has noise."""
    if method == "softmax of the top two, torch":
        return ["softmax of the two scores, in plain torch", "none", "no"]
    weights, *rest = method.split(", ")
    noise = "yes" if "noise" in rest else "no"
    gradient = next((part for part in rest if part != "noise"), "none")
    return [weights, gradient, noise]


def pixel_subsets() -> list[list[str]]:
    """Accuracies of each method by k, and seconds a training."""
    record = json.loads((RESULTS / "pixel_subsets.json").read_text(encoding="utf-8"))
    sizes = sorted({row["k"] for row in record["rows"]})
    lines = [
        [
            "the k pixels",
            *(f"k = {k}: partner, % ↑" for k in sizes),
            *(f"k = {k}: judge, % ↑" for k in sizes),
            "CPU seconds of a training ↓",
        ]
    ]
    for name in dict.fromkeys(row["method"] for row in record["rows"]):
        own = {row["k"]: row for row in record["rows"] if row["method"] == name}
        accuracies = (
            percent(own[k][key]) for key in ("accuracy", "accuracy_of_outsider") for k in sizes
        )
        seconds = mean(second for row in own.values() for second in row["seconds"])
        lines.append([name, *accuracies, f"{seconds:.1f}"])
    return lines


def percent(values: list[float]) -> str:
    """The mean, and the range of several."""
    span = f" ({100 * min(values):.1f} to {100 * max(values):.1f})" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{span}"


def chosen_pixels() -> Figure:
    """Test digits with the pixels that implicit MLE has chosen, a row a k."""
    record = json.loads((RESULTS / "pixel_subsets.json").read_text(encoding="utf-8"))
    rows = [row for row in record["rows"] if row["method"] == "implicit MLE"]
    side, images = record["side"], np.array(record["images"])
    figure = Figure(figsize=(1.3 * len(images), 1.4 * len(rows)), layout="constrained")
    for line, row in zip(figure.subplots(len(rows), len(images), squeeze=False), rows, strict=True):
        line[0].set_ylabel(f"k = {row['k']}")
        for axes, image, pixels in zip(line, images, row["pixels"], strict=True):
            axes.imshow(image.reshape(side, side), cmap="gray_r", vmax=400)
            down, right = np.divmod(pixels, side)
            axes.scatter(right, down, s=9, c="C3", marker="s")
            axes.set(xticks=[], yticks=[])
    return figure


def regret_by_degree() -> Figure:
    """The lines of the table of shortest paths."""
    record = json.loads((RESULTS / "shortest_paths.json").read_text(encoding="utf-8"))
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(dict.fromkeys(row["method"] for row in record["rows"])):
        own = [row for row in record["rows"] if row["method"] == name]
        regret = [100 * mean(row["regret"]) for row in own]
        style = "--" if name.startswith("PyEPO") else "-"
        axes.plot(
            [row["degree"] for row in own],
            regret,
            style,
            color=f"C{number % 10}",
            label=name,
            marker=".",
        )
    axes.set(xlabel="polynomial degree of the costs", ylabel="normalised regret, %", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right center", fontsize=8, frameon=False)
    return figure
