"""Tables of the pages about estimators, own networks and other packages, made of records in every build."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.figure import Figure
from structure_pages import percent

from structured_vae import TrainConfig

RESULTS = Path(__file__).parents[1] / "results"
SIZES: dict[str, dict[str, Any]] = {
    "8 bits": {"n": 8},
    "15 bits": {"n": 15},
    "30 bits": {"n": 30},
    "10 categories": {"encoder": "categorical", "k": 10},
    "50 categories": {"encoder": "categorical", "k": 50},
}
"""The codes of `defaults.json`, as `benchmarks/defaults.py` configures them."""
FEATURES = {
    1: "transforms and compilation",
    2: "deployment",
    3: "masks",
    4: "CRFs",
    5: "noise",
    6: "constraints",
    7: "JAX",
    8: "benchmarks",
}
"""Features that torch users ask for, by number, in the order of `tests/README.md`."""
NOISY = ("PerturbedFenchelYoung", "PyEPO, perturbed Fenchel-Young")
SPO = ("SPO+ through the structure", "PyEPO, SPO+")
DESCRIPTIONS = {
    "two sides": "two-sided, rate 0.001",
    "two sides, twice the rate": "two-sided",
    "one side, twice the rate": "one-sided",
    "two sides, twice the rate, no KL": "two-sided, no KL",
    "one side, twice the rate, no KL": "one-sided, no KL",
    "two sides, annealed": "two-sided, KL from 4",
    "one side, annealed": "one-sided, KL from 4",
    **{
        f"{sides}, annealed from {start}": f"{form}, KL from {start}"
        for sides, form in (("two sides", "two-sided"), ("one side", "one-sided"))
        for start in (2, 10, 30, 100)
    },
}
"""What the page calls the settings of the record; others keep their name."""
NAMES_OF_ESTIMATORS = {
    "straight-through": "`straight_through`",
    "leave-one-out, 2 samples": "`score_function`, 2 samples",
    "leave-one-out, 4 samples": "`score_function`, 4 samples",
    "ARM": "`arm`",
    "DisARM": "`disarm`",
    "REBAR": "`rebar`",
    "RELAX": "`relax`",
    "RAM, chain, 1 completion": "`ram` on a chain, 1 completion",
    "RAM, chain, 3 completions": "`ram` on a chain, 3 completions",
    "direct, one side, 1 flip": "`direct`, one-sided, 1 flip",
    "direct, two sides, 1 flip": "`direct`, two-sided, 1 flip",
    "direct, two sides, 3 flips": "`direct`, two-sided, 3 flips",
    "direct, one side, all flips": "`direct`, one-sided, all flips",
    "direct, two sides, all flips": "`direct`, two-sided, all flips",
}
"""What the page about 200 bits calls the estimators of its records."""


def record(name: str) -> dict[str, Any]:
    """A file of `results/`."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


NAMES_OF_DIRECT = {
    "direct": "`direct`, one side",
    "direct, two sides": "`direct`, two sides (the default)",
}
"""What the page of all estimators calls the two forms of direct optimization."""


def estimators_of_independent_bits() -> list[list[str]]:
    """Return a row for each estimator, those without a bias first."""
    return estimators("independent")


def estimators_of_coupled_bits() -> list[list[str]]:
    """Return a row for each estimator, those without a bias first."""
    return estimators("general")


def estimators(encoder: str) -> list[list[str]]:
    """Return precision, bound and costs of each estimator that is compared with the exact gradient."""
    rows = [row for row in record("which_estimator")["rows"] if row["encoder"] == encoder]
    compared = [row for row in rows if "bias" in row]
    measured = ["bias ↓", "noise ↓", "cosine ↑", "bound, nats ↓"]
    lines = [["estimator", *measured, "decodes ↓", "argmaxes ↓"]]
    for row in sorted(compared, key=order_of_estimator):
        bias = f"{row['bias']:.2g}"
        if shows_no_bias(row):
            bias = f"none found, < {max(2 * row['resolution'], 1e-3):.1g}"
        decodes = f"{row['decodes']:g}"
        shared = row["shared_decodes"]
        if shared:
            decodes = f"{shared:,} in all"
        name = NAMES_OF_DIRECT.get(row["estimator"], f"`{row['estimator']}`")
        precision = [bias, f"{row['noise']:.2g}", f"{row['cosine']:.3f}", f"{row['bound']:.1f}"]
        lines.append([name, *precision, decodes, f"{row['argmaxes']:g}"])
    return lines


def shows_no_bias(row: dict[str, Any]) -> bool:
    """Return whether the measured bias is below twice the error of the mean, or negligible."""
    return bool(row["bias"] < max(2 * row["resolution"], 1e-3))


def order_of_estimator(row: dict[str, Any]) -> tuple[bool, float]:
    """Return the place of a row: without a bias, with one; within a group, by noise."""
    return not shows_no_bias(row), row["noise"]


def runs_of_two_hundred_bits() -> list[dict[str, Any]]:
    """All that were trained to the end: of few decodes, and with all flips."""
    few, all_flips = (
        record(f"two_hundred_bits{kind}")["runs"] for kind in ("", "_all_flips_longer")
    )
    end = max(run["epochs"] for run in few)
    return [*few, *(run for run in all_flips if run["epochs"] == end)]


def two_hundred_bits(data: str) -> list[list[str]]:
    """Return a row for each estimator on a data set, the best bound first."""
    runs = [run for run in runs_of_two_hundred_bits() if run["data"] == data]
    timed = {run["estimator"] for run in record("two_hundred_bits")["runs"]}
    bounds_in_nats = ["bound, nats ↓", "-log p(x), nats ↓", "training bound, nats ↓"]
    lines = [["estimator", "decodes ↓", *bounds_in_nats, "variance ↓", "CPU minutes ↓"]]
    rows: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        rows.setdefault(run["estimator"], []).append(run)
    for name in sorted(rows, key=lambda name: mean(run["bound"] for run in rows[name])):
        seeds = rows[name]
        bounds = [
            f"{mean(run[key] for run in seeds):.1f}"
            for key in ("bound", "minus_log_p", "train_bound")
        ]
        noise = mean(mean(run["curves"]["gradient/variance"][-10:]) for run in seeds)
        minutes = f"{mean(run['seconds'] for run in seeds) / 60:.1f}" if name in timed else ""
        decodes = str(seeds[0]["decodes"])
        lines.append([NAMES_OF_ESTIMATORS[name], decodes, *bounds, f"{noise:,.0f}", minutes])
    return lines


def two_hundred_bits_of_mnist() -> list[list[str]]:
    """Return the rows of MNIST."""
    return two_hundred_bits("mnist")


def two_hundred_bits_of_fashion_mnist() -> list[list[str]]:
    """Return the rows of Fashion-MNIST."""
    return two_hundred_bits("fashion-mnist")


def bounds_of_two_hundred_bits() -> Figure:
    """Test bounds along the way, on one scale for a data set."""
    runs = runs_of_two_hundred_bits()
    ends: dict[str, list[float]] = {}
    for run in runs:
        ends.setdefault(run["data"], []).append(run["curves"]["test/bound"][-1])
    limits = {data: (min(found) - 5, max(found) + 25) for data, found in ends.items()}
    return _along_the_way("test/bound", "bound of test images, nats", limits)


def variance_of_two_hundred_bits() -> Figure:
    """Variance of the gradient along the way."""
    return _along_the_way("gradient/variance", "variance of the gradient", None)


def _along_the_way(key: str, label: str, limits: dict[str, tuple[float, float]] | None) -> Figure:
    """A column for the data, a row for those of up to two decodes and one for the others; log scale without limits."""
    runs = runs_of_two_hundred_bits()
    names = list(dict.fromkeys(run["data"] for run in runs))
    figure = Figure(figsize=(4.2 * len(names), 7.6), layout="constrained")
    few, many = figure.subfigures(2)
    for part, title, chosen in (
        (few, "one or two decodes", [run for run in runs if run["decodes"] <= 2]),
        (many, "three or four decodes, and 202", [run for run in runs if run["decodes"] > 2]),
    ):
        part.suptitle(title, fontsize=10)
        estimators_of = list(dict.fromkeys(run["estimator"] for run in chosen))
        shown = [data for data in names if any(run["data"] == data for run in chosen)]
        for axes, data in zip(part.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
            for run in (run for run in chosen if run["data"] == data and run["seed"] == 0):
                colour = f"C{estimators_of.index(run['estimator'])}"
                name = None
                if data == shown[0]:
                    name = NAMES_OF_ESTIMATORS[run["estimator"]].replace("`", "")
                axes.plot(
                    run["curves"]["step"],
                    run["curves"][key],
                    color=colour,
                    linewidth=1.3,
                    label=name,
                )
            axes.set(title=data, xlabel="training step")
            if limits is None:
                axes.set_yscale("log")
            else:
                axes.set_ylim(*limits[data])
            axes.spines[["top", "right"]].set_visible(False)
        part.axes[0].set_ylabel(label)
        part.legend(loc="outside lower center", fontsize=8, frameon=False, ncols=3)
    return figure


def convolutional_pair() -> list[list[str]]:
    """Return a row for each kind of networks."""
    found = record("convolutional")
    heading = ["networks", "parameters", "learning rate"]
    lines = [[*heading, "bound, nats ↓", "-log p(x), nats ↓", "CPU seconds ↓"]]
    for pair in dict.fromkeys(row["pair"] for row in found["runs"]):
        own = [row for row in found["runs"] if row["pair"] == pair]
        numbers = [spread([row[key] for row in own]) for key in ("bound", "minus_log_p")]
        seconds = f"{mean(row['seconds'] for row in own):.0f}"
        lines.append(
            [pair, f"{own[0]['parameters']:,}", f"{own[0]['learning_rate']:g}", *numbers, seconds]
        )
    return lines


def learnt_prior() -> list[list[str]]:
    """A row a prior."""
    lines = [["prior", "valid bound, nats ↓", "KL, nats", "-log p(x), nats ↓", "CPU minutes ↓"]]
    runs = record("learnt_prior")["runs"]
    for prior in dict.fromkeys(row["prior"] for row in runs):
        own = [row for row in runs if row["prior"] == prior]
        numbers = [spread([row[key] for row in own]) for key in ("bound", "kl", "minus_log_p")]
        lines.append([prior, *numbers, f"{mean(row['minutes'] for row in own):.1f}"])
    return lines


def many_bits() -> list[list[str]]:
    """A row a training of two hundred bits, or of a Gaussian."""
    lines = [
        [
            "latent variables",
            "prior",
            "estimator",
            "epochs",
            "valid bound, nats ↓",
            "-log p(x), at most, nats ↓",
        ]
    ]
    for training in cells_of("many_bits"):
        config = training["config"]
        latent = f"{config['n']} bits"
        estimator = config.get("estimator", "reparameterised")
        if config["model"] == "gaussian":
            latent = f"Gaussian, {config['n']} dimensions"
        lines.append([latent, config["prior"], estimator, *_bounds(training)])
    return lines


def step_costs() -> list[list[str]]:
    """A row for each encoder: what `train` adds to a bare step, in per cent of it."""
    of_steps = ["lightning", "hooks"]
    of_epochs = ["validation", "metrics", "files"]
    ratio = "step of `train` / bare step"
    columns = ["encoder", "bare step, ms", *of_steps, ratio, *of_epochs]
    lines = [[columns[0], *(f"{column} ↓" for column in columns[1:])]]
    for encoder, costs in record("bare_loop")["ms_a_step_by_cause"].items():
        shares = {
            part: f"{100 * costs[part] / costs['bare']:.0f}%" for part in of_steps + of_epochs
        }
        line = [f"`{encoder}`", f"{costs['bare']:.1f}", *(shares[part] for part in of_steps)]
        line.append(f"{costs['ratio of a step']:.2f}")
        lines.append([*line, *(shares[part] for part in of_epochs)])
    return lines


def quantisers() -> list[list[str]]:
    """A row for each quantiser, and one for straight-through bits, the best bound first."""
    parts = [f"{name}, nats ↓" for name in ("reconstruction", "cost of the code", "valid bound")]
    lines = [["code", *parts, "perplexity ↑"]]
    for run in sorted(record("quantisers")["runs"], key=lambda run: run["bound"]):
        config = run["config"]
        code = f"`{run['name']}`, {config['n']} variables of {config.get('codes', 2)} values"
        if run["name"] == "bits":
            code = f"{config['n']} straight-through bits"
        perplexity = ""
        if "perplexity" in run:
            perplexity = f"{run['perplexity']:.1f} of {config['codes']}"
        numbers = [f"{run[key]:.1f}" for key in ("reconstruction", "kl", "bound")]
        lines.append([code, *numbers, perplexity])
    return lines


def couplings() -> list[list[str]]:
    """A row a training of fifty bits."""
    heading = ["posterior", "prior", "epochs"]
    lines = [[*heading, "valid bound, nats ↓", "-log p(x), at most, nats ↓"]]
    for training in cells_of("couplings"):
        config = training["config"]
        posterior = "independent"
        if config["bandwidth"]:
            posterior = f"{config['posterior']}, on a chain"
        lines.append([posterior, config["prior"], *_bounds(training)])
    return lines


def cells_of(experiment: str) -> list[dict[str, Any]]:
    """The records of an experiment, the highest bound first."""
    folder = RESULTS / experiment
    trainings = [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]
    return sorted(trainings, key=lambda training: -_value(training, "bound"))


def _value(training: dict[str, Any], name: str) -> float:
    """A quantity of a training's evaluation, in nats."""
    value: float = training["evaluation"]["quantities"][name]["value"]
    return value


def _bounds(training: dict[str, Any]) -> list[str]:
    """Epochs of a training, and what it reached on test images."""
    config = training["config"]
    reached = [f"{_value(training, name):.2f}" for name in ("bound", "minus_log_p")]
    return [str(config["epochs"]), *reached]


def beside_imle() -> list[list[str]]:
    """Accuracy of each method at the setting that is best on validation images."""
    lines = [["method", "setting", "test accuracy, % ↑", "CPU seconds of a training ↓"]]
    for row in record("side_by_side")["subsets"]:
        setting = ", ".join(filter(None, [row["setting"], f"learning rate {row['rate']:g}"]))
        seconds = f"{mean(row['seconds']):.1f}"
        lines.append([name_of_subsets(row["method"]), setting, percent(row["accuracy"]), seconds])
    return lines


def imle_settings() -> list[list[str]]:
    """Validation accuracy of each method by setting, a column for each learning rate."""
    rows = record("side_by_side")["subsets"]
    rates = sorted({rate for row in rows for _, rate, _ in row["validation"]})
    lines = [["method", "`beta`", *(f"learning rate {rate:g} ↑" for rate in rates)]]
    for row in rows:
        tried = {(setting, rate): value for setting, rate, value in row["validation"]}
        for setting in dict.fromkeys(setting for setting, _ in tried):
            beta = setting.removeprefix("beta ") or "not used"
            cells = [f"{100 * tried[setting, rate]:.1f}" for rate in rates]
            lines.append([name_of_subsets(row["method"]), beta, *cells])
    return lines


def name_of_subsets(method: str) -> str:
    """Return what the tables call a method that learns subsets."""
    names = {"ArgmaxLayer(KOfN(k))": "this package, `ArgmaxLayer(KOfN(20))`"}
    return names.get(method, method)


def beside_pythae() -> list[list[str]]:
    """Bounds of each training."""
    names = {
        "train, --encoder gaussian": "this package, Gaussian",
        "train, 15 coupled bits": "this package, 15 coupled bits",
        "pythae, VAE": "pythae, Gaussian",
    }
    lines = [["training", "bound, nats ↓", "-log p(x), nats ↓", "CPU seconds ↓"]]
    for row in record("side_by_side")["vae"]:
        likelihood = spread(row["minus_log_p"]) if "minus_log_p" in row else ""
        seconds = f"{mean(row['seconds']):.1f}"
        lines.append([names[row["method"]], spread(row["bound"]), likelihood, seconds])
    return lines


def beside_pyepo() -> list[list[str]]:
    """The regret of the losses that both have, by the degree of the costs."""
    found = record("shortest_paths")
    degrees = sorted({row["degree"] for row in found["rows"]})
    names = {
        "SPO+": ("PyEPO, SPO+", "SPO+ through the structure"),
        "perturbed Fenchel-Young": ("PyEPO, perturbed Fenchel-Young", "PerturbedFenchelYoung"),
    }
    heading = [f"degree {degree}: regret, % ↓" for degree in degrees]
    lines = [["loss", "package", *heading, "CPU seconds of a training ↓"]]
    for loss, pair in names.items():
        for where, name in zip(("PyEPO", "this package"), pair, strict=True):
            own = {row["degree"]: row for row in found["rows"] if row["method"] == name}
            seconds = mean(second for row in own.values() for second in row["seconds"])
            lines.append(
                [loss, where, *(percent(own[each]["regret"]) for each in degrees), f"{seconds:.2f}"]
            )
    return lines


def beside_calls() -> list[list[str]]:
    """One row per call that torch users ask for: what it takes here and in another package."""
    lines = [["feature", "task", "other package", "this package ↓", "other package ↓"]]
    rows = [_call(row) for row in record("calls")["calls"]]
    rows += [
        (
            "noise",
            "perturbed loss of shortest paths",
            "PyEPO",
            *_decisions("shortest_paths", *NOISY),
        ),
        ("constraints", "SPO+ within two capacities", "PyEPO", *_decisions("two_knapsacks", *SPO)),
        ("benchmarks", "two of eight experts", "torch: softmax of the top 2", *_experts()),
    ]
    order = list(FEATURES.values())
    return lines + [list(row) for row in sorted(rows, key=lambda row: order.index(row[0]))]


def _call(row: dict[str, Any]) -> tuple[str, ...]:
    """The row of a call of `calls.json`."""
    theirs = "an error"
    if "theirs" in row:
        theirs = f"{row['theirs']:.1f} ms"
    return FEATURES[row["item"]], row["call"], row["peer"], f"{row['ours']:.1f} ms", theirs


def _decisions(task: str, *methods: str) -> tuple[str, ...]:
    """Regret and CPU seconds of a training by each method."""
    rows = {row["method"]: row for row in record(f"decisions/{task}")["rows"]}
    return tuple(
        f"{100 * mean(rows[name]['regret']):.1f}% regret, {mean(rows[name]['seconds']):.2f} s"
        for name in methods
    )


def _experts() -> tuple[str, ...]:
    """Squared error and CPU seconds of a training by each way of routing."""
    rows = {row["method"]: row for row in record("experts")["rows"]}
    return tuple(
        f"error {mean(rows[name]['error']):.2f}, {mean(rows[name]['seconds']):.1f} s"
        for name in ("routing weights, straight-through", "softmax of the top two, torch")
    )


def spread(values: Sequence[float]) -> str:
    """The mean, and the range of several."""
    span = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return f"{mean(values):.1f}{span}"


def bounds_of_settings() -> dict[tuple[str, str, int], list[float]]:
    """Return the validation bounds of all seeds by code, setting and number of epochs."""
    bounds: dict[tuple[str, str, int], list[float]] = {}
    for row in record("defaults")["rows"]:
        bounds.setdefault((row["size"], row["setting"], row["epochs"]), []).append(row["bound"])
    return bounds


def name_of_default(code: str, epochs: int) -> str:
    """Return the name in the record of what `train` does for a code where nothing is said."""
    default = TrainConfig(**SIZES[code], epochs=epochs)
    sides = "two sides" if default.sides == 2 else "one side"
    if default.kl_warmup == 0:
        return f"{sides}, twice the rate"
    return f"{sides}, annealed from {default.kl_start:g}"


def chosen_settings() -> list[list[str]]:
    """Return a row for each code and length: the default, the best setting, and the paper's."""
    bounds = bounds_of_settings()
    bounds_of = [f"bound of {name}, nats ↓" for name in ("the default", "the best", "*paper*")]
    lines = [["code", "epochs", "default", "best setting", *bounds_of]]
    for code in SIZES:
        for epochs in sorted({length for _, _, length in bounds}):
            default = name_of_default(code, epochs)
            means = {
                setting: mean(values)
                for (size, setting, length), values in bounds.items()
                if (size, length) == (code, epochs)
            }
            best = min(means, key=lambda setting: means[setting])
            cells = [f"{means[name]:.1f}" for name in (default, best, "paper")]
            names = ["the default" if best == default else DESCRIPTIONS.get(best, best)]
            lines.append([code, str(epochs), DESCRIPTIONS[default], *names, *cells])
    return lines


def all_settings() -> list[list[str]]:
    """Return a row for each code and setting, the best after the longest training first.

    The cells of the defaults are bold.
    """
    bounds = bounds_of_settings()
    lengths = sorted({length for _, _, length in bounds})
    bounds_after = [
        f"bound after {epochs} epochs ({50 * epochs:,} steps), nats ↓" for epochs in lengths
    ]
    lines = [["code", "sides", "KL from", "other", *bounds_after]]
    for code in SIZES:
        settings = dict.fromkeys(setting for size, setting, _ in bounds if size == code)
        ends = {name: mean(bounds.get((code, name, lengths[-1]), [math.inf])) for name in settings}
        for setting in sorted(settings, key=lambda name: ends[name]):
            cells = []
            for epochs in lengths:
                values = bounds.get((code, setting, epochs))
                cell = spread(values) if values else ""
                if setting == name_of_default(code, epochs):
                    cell = f"**{cell}**"
                cells.append(cell)
            lines.append([code, *parts_of_setting(setting), *cells])
    return lines


def parts_of_setting(setting: str) -> tuple[str, str, str]:
    """Return the number of sides, the start of the KL weight, and what else differs."""
    parts = DESCRIPTIONS.get(setting, setting).split(", ")
    if parts[0] == "paper":
        return "1", "no KL", ", ".join(parts)
    sides = {"one-sided": "1", "two-sided": "2"}[parts[0]]
    start = "1"
    other = ""
    for part in parts[1:]:
        if part == "no KL":
            start = part
        elif part.startswith("KL from "):
            start = part.removeprefix("KL from ")
        else:
            other = part
    return sides, start, other


TABLES = (
    chosen_settings,
    all_settings,
    estimators_of_independent_bits,
    estimators_of_coupled_bits,
    two_hundred_bits_of_mnist,
    two_hundred_bits_of_fashion_mnist,
    convolutional_pair,
    learnt_prior,
    many_bits,
    quantisers,
    step_costs,
    couplings,
    beside_imle,
    imle_settings,
    beside_pythae,
    beside_pyepo,
    beside_calls,
)
