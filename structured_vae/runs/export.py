"""Export a run to a folder that others can load: safetensors, config and model card."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from models import DiscreteVAE, ModelCard
from models.pretrained import Figure, pretrained_config

from ..data import is_shown
from ..errors import ConfigError, RunError
from ..training.checkpoints import read_checkpoint
from ..vaes.config import TrainConfig
from .folder import Run, Which
from .folder.small_files import RECORD_SIZE, read_small_text
from .networks import load_vae

HUB_DATASETS: Final = {
    "fashion-mnist": "zalando-datasets/fashion_mnist",
    "fashion-mnist-mini": "zalando-datasets/fashion_mnist",
    "mnist": "ylecun/mnist",
}
"""Identifiers of the data sets on the Hugging Face Hub."""

NAMED: Final = ("estimator", "recipe")
"""Options that a model card names, if the kind of model has them."""

LOGGED: Final = ("reconstruction", "kl", "bound")
LICENSE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def export_run(
    run_folder: str | Path,
    folder: str | Path,
    which: Which = "best",
    license: str | None = None,
    *,
    model: DiscreteVAE | None = None,
) -> Path:
    """Write a run's networks into a folder that `from_pretrained` loads, with a model card.

    The card shows the figures of the run's evaluation on the test split. If this checkpoint has no
    such evaluation, the card shows the figures that training logged on the validation split.

    Args:
        run_folder: the run's folder.
        folder: for model.safetensors, config.json and README.md.
        which: the best epoch on the validation split, or the last.
        license: of the weights, an identifier of the Hugging Face Hub such as "mit" or "cc-by-4.0";
            default: mit. A model trained on celeba has no default: its terms allow only research.
        model: the custom networks that the run trained; their weights are replaced. The folder
            then holds only the weights, and loading needs the networks again:
            `DiscreteVAE.from_pretrained(folder, model)`.

    Returns:
        The folder.

    Raises:
        RunError: there is no run, or it is damaged; or `folder` is the folder of a run.
        ConfigError: the licence is not an identifier, or must be named; or `model` is missing, or
            was passed for a run without custom networks.
        models.errors.PretrainedError: the folder cannot be written to, or has a README.md that this
            library did not write.
    """
    if license is not None and not LICENSE.fullmatch(license):
        raise ConfigError(
            f"license must be an identifier such as mit or cc-by-4.0; got '{license}'"
        )
    run = Run.at(run_folder)
    target = Run.at(folder)
    if target.config_file.exists():
        raise RunError(f"{folder} is the folder of a run; name another one")
    config = run.config()
    if license is None and not is_shown(config.data.name):
        raise ConfigError(
            f"the terms of {config.data.name} forbid redistribution, and may restrict what is made "
            "of its images: name a license, such as other"
        )
    vae = load_vae(run.folder, which, model)
    shared = shared_config(config)
    vae.save_pretrained(folder, _card(run, shared, which, license or "mit"), shared.to_dict())
    return target.folder


def shared_config(config: TrainConfig) -> TrainConfig:
    """Return a configuration that names no path of this machine."""
    return replace(config, data=replace(config.data, name=Path(config.data.name).name, root=None))


def exported_training(folder: str | Path) -> TrainConfig | None:
    """Return how the model of an exported folder was trained; None if config.json does not say.

    Raises:
        models.errors.PretrainedError: there is no config.json, or it is damaged.
        ConfigError: it has unknown or impossible values.
    """
    training = pretrained_config(folder).training
    if training is None:
        return None
    return TrainConfig.from_dict(dict(training))


def _card(run: Run, config: TrainConfig, which: Which, license: str) -> ModelCard:
    images = f"{config.data.name} ({config.data.binarisation})"
    epoch = int(read_checkpoint(run.checkpoint(which))["epoch"]) + 1
    settings = config.to_dict()
    methods = [f" {name} `{settings[name]}`," for name in NAMED if name in settings]
    logged, facts = _recorded(run.folder / "record.json", epoch)
    on, figures = _evaluated(run, which)
    return ModelCard(
        title=config.title,
        license=license,
        dataset=images,
        hub_dataset=HUB_DATASETS.get(config.data.name, ""),
        measured_on=f"{on or 'the validation split'} of {images}",
        figures=figures or logged,
        facts=(
            f"`structured-vae train`,{''.join(methods)} seed {config.seed}; "
            f"all settings are in `config.json`.",
            f"Epoch {epoch} of {config.epochs}, the {which} one.",
            *facts,
        ),
    )


def _recorded(file: Path, epoch: int) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Return the figures that training logged after an epoch, and the run's commit and versions."""
    record = _read_json(file)
    try:
        row = _row_of(file, record, epoch)
        values = {name: float(row.get(f"validation/{name}", math.nan)) for name in LOGGED}
        versions = ", ".join(
            f"{name} {version}" for name, version in record.get("versions", {}).items()
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"{file} is damaged ({error!r}): delete it, and the model card will do without"
        ) from error
    figures = [Figure(name, value, None, "logged by training") for name, value in values.items()]
    commit = record.get("commit")
    facts = []
    if commit:
        facts.append(f"Commit `{commit}`.")
    if versions:
        facts.append(f"Versions: {versions}.")
    return tuple(figure for figure in figures if math.isfinite(figure.value)), tuple(facts)


def _row_of(file: Path, record: Mapping[str, Any], epoch: int) -> Mapping[str, Any]:
    """Return what was logged after an epoch; nothing if the run did not evaluate it.

    Raises:
        RunError: the record has several rows of the epoch.
    """
    rows = [row for row in record.get("epochs", []) if row["epoch"] == epoch]
    if len(rows) > 1:
        raise RunError(
            f"{file} is damaged (it has {len(rows)} rows of epoch {epoch}): delete all but "
            "one of them, or the file"
        )
    if not rows:
        return {}
    row: Mapping[str, Any] = rows[0]
    return row


def _evaluated(run: Run, which: Which) -> tuple[str, tuple[Figure, ...]]:
    """Return the results of `structured-vae evaluate`; empty if the run was trained since."""
    file = run.folder / f"evaluation-test-{which}.json"
    # An evaluation older than the checkpoint is one of other weights.
    if not file.exists() or file.stat().st_mtime < run.checkpoint(which).stat().st_mtime:
        return "", ()
    evaluation = _read_json(file)
    try:
        return f"{int(evaluation['images']):,} images of the test split", tuple(
            Figure(
                name,
                float(quantity["value"]),
                float(quantity["standard_error"]),
                f"{quantity['kind']}: {quantity['meaning']}",
            )
            for name, quantity in evaluation["quantities"].items()
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"{file} is damaged ({error!r}): structured-vae evaluate writes it again"
        ) from error


def _read_json(file: Path) -> dict[str, Any]:
    """Return the mapping in a JSON file, or an empty one if there is no file."""
    try:
        values = json.loads(read_small_text(file, RECORD_SIZE))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{file} is damaged ({error}): delete it") from error
    if not isinstance(values, dict):
        raise RunError(f"{file} is damaged: it does not hold a mapping")
    return values
