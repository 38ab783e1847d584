"""Draw the paper's figure of bias and variance for a trained run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ..atomic import whole_file
from ..distributions.argmax import AnySolver
from ..environment import environment
from ..errors import ConfigError, EstimatorError, RunError
from ..estimators import Estimator, TableDirect
from ..estimators.estimator import Compared
from ..estimators.options import EstimatorOptions
from ..estimators.registry import ESTIMATORS
from ..evaluation.gradients import GradientReport, gradient_report
from ..seeds import Stream, generator
from ..vaes.config import EstimatorConfig
from ..vaes.fitting import fitting_solver
from ..vaes.registry import kind_of
from .assembly import dataset_of
from .custom_objects import CustomObjects, custom_images
from .folder import Run, Which
from .folder.curves import PAGE_WIDTH, legend_below
from .networks import load_vae

ROUNDING: Final = 1e-9
"""Relative to the gradient's norm: a smaller deviation is rounding error, not noise."""

SETTINGS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Values of epsilon and of the temperature."""


def compared(has_setting: bool) -> dict[str, Compared]:
    """Return all forms of estimators by name, with or without an epsilon or a temperature."""
    return {name: form for name, form in _forms().items() if form.has_setting == has_setting}


def _forms(names: Iterable[str] | None = None) -> dict[str, Compared]:
    """Return the forms of estimators by the names of their lines.

    Args:
        names: the names of the estimators; None for all.

    Raises:
        ConfigError: no estimator has a name, or one has another objective.
    """
    if names is None:
        classes = list(ESTIMATORS.values())
    else:
        classes = [_comparable(name) for name in names]
    forms: dict[str, Compared] = {}
    for estimator in classes:
        for form in estimator.compared():
            forms.setdefault(form.name, form)  # a plug-in may inherit the forms of its base
    return forms


def _comparable(name: str) -> type[Estimator]:
    """Return an estimator that has forms to compare.

    Raises:
        ConfigError: no estimator has this name, or its objective is not an expected cost.
    """
    try:
        estimator = ESTIMATORS.named(name)
    except EstimatorError as error:
        raise ConfigError(str(error)) from error
    if estimator.other_objective:
        raise ConfigError(
            f"the estimator {name} cannot be compared with the gradient of the expected cost: its "
            f"encoder minimises {estimator.other_objective}"
        )
    if not estimator.compared():
        raise ConfigError(f"the estimator {name} has no forms to compare: its compared() is empty")
    return estimator


@dataclass(frozen=True)
class GradientFigure:
    """The gradient reports of a run, and the files that hold them.

    Attributes:
        reports: by name and setting, as "direct 0.1", or by name alone.
        picture: PNG file.
        record: JSON file.
    """

    reports: dict[str, GradientReport] = field(hash=False)
    picture: Path
    record: Path


def gradient_figure(
    folder: str | Path,
    which: Which = "best",
    images: int = 100,
    draws: int = 10_000,
    output: Path | None = None,
    *,
    estimators: Iterable[str] | None = None,
    model: DiscreteVAE | None = None,
    data: Any = None,
) -> GradientFigure:
    """Draw bias and deviation of the estimators that fit a run's encoder.

    The horizontal axis is epsilon and the temperature.

    Writes `gradients.png` and `gradients.json`. The gradient is that of the expected
    reconstruction in the encoder's potentials, at the first test images.

    Args:
        folder: the run's folder.
        which: the best epoch on the validation split, or the last.
        images: number of test images; at most the size of the test split.
        draws: for each image and setting.
        output: folder of the two files; default: the run's folder.
        estimators: names of estimators. All of `ESTIMATORS` can be measured, except those whose
            encoder minimises another objective: "maximum_likelihood", "vimco", "ovis",
            "local_disarm", "wake_wake", "wake_sleep" and "reweighted_wake_sleep". Estimators that
            adapt in training are measured as they start. None for a usual choice of those that fit
            the encoder.
        model: the custom networks that the run trained; their weights are replaced.
        data: the images in memory that the run was trained on.

    Raises:
        RunError: the folder is not a run, or its checkpoint is missing or damaged.
        ConfigError: no images, fewer than 2 draws, or too many bits to enumerate; or a named
            estimator is unknown, has another objective, or does not fit the encoder.
        DataError: images are missing or damaged.
    """
    if images < 1 or draws < 2:
        raise ConfigError(f"need images >= 1 and draws >= 2; got {images} and {draws}")
    forms = _forms(estimators)
    run = Run.at(folder)
    config = run.config()
    if not kind_of(config).compares_gradients:
        raise ConfigError(
            "gradients are compared for runs of the model discrete; this run has the model "
            f"{config.model}"
        )
    vae = cast("DiscreteVAE", load_vae(folder, which, model))
    x = torch.from_numpy(
        dataset_of(config, CustomObjects(dataset=custom_images(config, data))).test.images[:images]
    )
    potentials = vae.encoder(x)
    if reasons := TableDirect().why_not(potentials):
        raise ConfigError(f"there is no exact gradient to compare with: {'; '.join(reasons)}")
    solver = fitting_solver(cast("EstimatorConfig", config).backend, vae)
    measured = _fitting(potentials, solver, forms, must_fit=estimators is not None)
    # The noise is that of evaluations, so a second call draws the same figure.
    reports = gradient_report(vae, x, measured, draws, generator(config.seed, Stream.EVALUATION))
    measurement: dict[str, Any] = {"checkpoint": which, "images": len(x), "draws": draws}
    measurement["config"] = config.to_dict()
    return _written(reports, measurement, Path(output or run.folder))


def _written(
    reports: dict[str, GradientReport], measurement: dict[str, Any], place: Path
) -> GradientFigure:
    """Write the record and the picture, and return their places.

    Args:
        reports: the reports by name.
        measurement: what was measured, for the record.
        place: the folder of both files.
    """
    picture = place / "gradients.png"
    record = place / "gradients.json"
    values = measurement | environment()
    values["reports"] = {name: report.to_dict() for name, report in reports.items()}
    with whole_file(record) as unfinished:
        unfinished.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    with whole_file(picture) as unfinished:
        bias_and_deviation(reports).savefig(unfinished, format="png", dpi=150)
    return GradientFigure(reports, picture, record)


def _fitting(
    potentials: AnyPotentials, solver: AnySolver, forms: Mapping[str, Compared], must_fit: bool
) -> dict[str, Estimator]:
    """Return the estimators that take such potentials, at every setting that they have.

    Args:
        potentials: the scores of the images.
        solver: solves the argmaxes.
        forms: forms of estimators by name.
        must_fit: whether all of them must fit; else the usual ones that fit are returned.

    Raises:
        ConfigError: an estimator must fit, and does not.
    """
    candidates: dict[str, Estimator] = {}
    for name, form in forms.items():
        if not (must_fit or form.usual):
            continue
        settings: tuple[float, ...] = SETTINGS[:1]
        if form.has_setting:
            settings = SETTINGS
        for value in settings:
            options = EstimatorOptions.at(value, potentials.unary.shape[-1], solver)
            candidate = form.of_options(options).eval()
            reasons = candidate.why_not(potentials)
            if reasons and must_fit:
                raise ConfigError(
                    f"the estimator {name} does not fit the encoder: {'; '.join(reasons)}"
                )
            if not reasons:
                candidates[_name_at(form, value)] = candidate
    return candidates


def _name_at(form: Compared, setting: float) -> str:
    """Return the name of a report: that of the form, and its setting if it has one."""
    if form.has_setting:
        return f"{form.name} {setting:g}"
    return form.name


def read_reports(record: Path) -> dict[str, GradientReport]:
    """Return the reports of a `gradients.json`.

    Raises:
        RunError: there is no such file, or it is damaged.
    """
    try:
        reports = json.loads(record.read_text(encoding="utf-8"))["reports"]
        return {name: GradientReport(**values) for name, values in reports.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(
            f"{record} is not a record of gradients ({error}); make one: structured-vae reproduce "
            "bias-variance, or "
            "structured-vae gradients RUN"
        ) from error


def family_of(name: str) -> str:
    """Return the name of a report without its setting."""
    return next(
        (
            family
            for family in compared(has_setting=True)
            for value in SETTINGS
            if name == f"{family} {value:g}"
        ),
        name,
    )


def bias_and_deviation(reports: dict[str, GradientReport]) -> Figure:
    """Plot bias and standard deviation of each estimator over epsilon and temperature."""
    figure = Figure(figsize=(PAGE_WIDTH, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    norm = next(iter(reports.values())).norm
    _lines(left, reports, lambda report: max(report.bias, report.resolution))
    _unseen(left, reports)
    left.axhline(norm, color="0.6", linewidth=0.8)
    _above(left, "norm of the exact gradient", norm)
    left.set(title="bias (hollow: not seen above chance)", ylabel="norm, nats")
    _lines(right, reports, lambda report: report.deviation)
    noiseless = _deviation_lines(right, reports, norm)
    title = "standard deviation"
    if noiseless:
        title = f"standard deviation ({', '.join(noiseless)}: none)"
    right.set(title=title, ylabel="of a coordinate, nats")
    for axes in (left, right):
        axes.set_xlabel("epsilon, or temperature")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.title.set_fontsize(10)
    legend_below(figure, right)
    figure.suptitle("Gradient estimates")
    return figure


def _deviation_lines(axes: Axes, reports: dict[str, GradientReport], norm: float) -> list[str]:
    """Draw a line for each estimator without a setting; return the names of those without noise.

    A logarithmic axis cannot show a deviation of zero.

    Args:
        axes: where to draw.
        reports: the estimators by name.
        norm: of the exact gradient.
    """
    noiseless = []
    for name in compared(has_setting=False):
        if name not in reports:
            continue
        report = reports[name]
        if report.deviation <= ROUNDING * norm:
            noiseless.append(name)
            continue
        axes.axhline(report.deviation, color="0.6", linewidth=0.8)
        _above(axes, name, report.deviation)
    return noiseless


def _above(axes: Axes, text: str, height: float) -> None:
    """Label a horizontal line."""
    axes.annotate(
        text,
        (SETTINGS[0], height),
        xytext=(0, 2),
        textcoords="offset points",
        color="0.4",
        fontsize=8,
    )


def _unseen(axes: Axes, reports: dict[str, GradientReport]) -> None:
    """Draw hollow points where chance is larger than the bias."""
    for line in axes.get_lines():
        for value in SETTINGS:
            report = reports.get(f"{line.get_label()} {value:g}")
            if report is not None and report.bias < report.resolution:
                color = line.get_color()
                axes.plot(
                    value, report.resolution, "o", color=color, markersize=3, mfc="white", zorder=3
                )


def _lines(
    axes: Axes, reports: dict[str, GradientReport], quantity: Callable[[GradientReport], float]
) -> None:
    for name in compared(has_setting=True):
        settings = [value for value in SETTINGS if f"{name} {value:g}" in reports]
        values = [quantity(reports[f"{name} {value:g}"]) for value in settings]
        if settings:
            axes.plot(settings, values, marker="o", markersize=3, label=name)
