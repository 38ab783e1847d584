"""Kinds of VAE: where their parts lie, and what a new one needs."""

import os
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields, replace
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
import yaml

from structured_vae import ConfigError, DataConfig, TrainConfig
from structured_vae.vaes import KINDS


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("training.attributes", "vaes.attributes.training", "switched"),
        ("evaluation.attributes", "vaes.attributes.evaluation", "evaluate_attributes"),
        ("evaluation.mixture", "vaes.mixture.evaluation", "evaluate_mixture"),
        ("runs.config", "vaes.config", "TrainConfig"),
        ("routing", "layer.routing", "routing_weights"),
    ],
)
def test_names_at_their_old_place_warn_and_still_work(old, new, name):
    with pytest.warns(DeprecationWarning, match=rf"structured_vae\.{new}\.{name}"):
        value = getattr(import_module(f"structured_vae.{old}"), name)
    assert value is getattr(import_module(f"structured_vae.{new}"), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        import_module(f"structured_vae.{old}").no_such_name  # noqa: B018


# --- configurations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, "discrete"),
        ({"encoder": "categorical", "k": 3}, "discrete"),
        ({"model": "gaussian", "n": 3}, "gaussian"),
        ({"encoder": "gaussian", "n": 3}, "gaussian"),
        ({"model": "mixture", "labels": 20}, "mixture"),
        ({"model": "attributes", "data": DataConfig("celeba")}, "attributes"),
        ({"model": "own"}, "own"),
    ],
    ids=str,
)
def test_options_are_those_of_one_kind(options, kind):
    config = TrainConfig(**options)
    assert config.model == kind
    assert isinstance(config, TrainConfig)
    assert TrainConfig.from_dict(config.to_dict()) == config
    assert list(config.to_dict()) == [field.name for field in fields(config)]


def test_a_kind_has_no_options_of_others():
    assert not hasattr(TrainConfig(model="mixture"), "hidden")
    assert not hasattr(TrainConfig(model="gaussian"), "estimator")
    with pytest.raises(
        ConfigError,
        match=r"no meaning with model mixture; got 20\. It is an option of: discrete, gaussian",
    ):
        TrainConfig(model="mixture", hidden=20)
    with pytest.raises(ConfigError, match=r"no option is called stlyes\. Did you mean styles\?"):
        TrainConfig(model="mixture", stlyes="own")


def test_another_model_takes_the_options_that_it_has():
    options = {"seed": 3, "epochs": 7, "estimator": "gumbel_softmax", "epsilon": 0.5}
    discrete = TrainConfig(recipe="paper", **options)
    mixture = replace(discrete, model="mixture", labels=20)
    assert mixture == TrainConfig(model="mixture", labels=20, dropout=0.0, **options)
    with pytest.raises(ConfigError, match="n has no meaning with model mixture; got 3"):
        replace(replace(discrete, n=3), model="mixture")


FLAT = yaml.safe_load((Path(__file__).parent / "older" / "run" / "config.yaml").read_text())
"""A file of a version that listed the options of all kinds."""


@pytest.mark.parametrize(
    "options",
    [
        {"n": 4},
        {"encoder": "gaussian", "n": 4},
        {"model": "mixture", "labels": 20, "hidden": 300},
        {"model": "attributes", "data": {"name": "celeba"}, "hidden": 300},
        {"model": "own", "hidden": 300},
    ],
    ids=str,
)
def test_files_with_the_options_of_all_kinds_are_read(options):
    values = {**FLAT, "n": 15, **options}
    config = TrainConfig.from_dict(values)
    assert config.epochs == FLAT["epochs"]
    named = {name: value for name, value in options.items() if name not in ("data", "encoder")}
    there = config.to_dict()
    for name in named.keys() & there.keys() - {"model"}:
        assert there[name] == options[name]


def test_a_file_with_an_option_of_another_kind_is_refused():
    with pytest.raises(ConfigError, match="hidden has no meaning with model mixture; got 20"):
        TrainConfig.from_dict({**FLAT, "n": 15, "model": "mixture", "hidden": 20})


KIND_DEPENDENT = ("model", "encoder", "prior")
"""Options whose choices depend on the kind."""

OF_KIND = ("model", "prior")
"""Options whose default depends on the kind."""


def class_of(kind):
    """Return the configuration class of a kind."""
    data = DataConfig()
    if kind == "attributes":
        data = DataConfig("celeba")
    return type(TrainConfig(model=kind, data=data))


def test_an_option_has_one_default_and_one_type_in_all_kinds():
    defaults = {}
    types = {}
    for kind in KINDS:
        config_class = class_of(kind)
        for name, type_ in get_type_hints(config_class).items():
            types.setdefault(name, set()).add(str(type_))
        for option in fields(config_class):
            default = option.default
            if default is MISSING:
                default = option.default_factory()
            assert defaults.setdefault(option.name, default) == default or option.name in OF_KIND
            assert len(types[option.name]) == 1 or option.name in KIND_DEPENDENT


# --- a new kind -----------------------------------------------------------------------------------

TOY = """
from pathlib import Path
from structured_vae import TrainConfig, evaluate_run, export_run, resume, train
from structured_vae.cli import main

main("train --model toy --brightness 0.25 --epochs 1 --logger none --run toy".split())
run = resume("toy", epochs=2, progress=False)
bounds = run.metrics["validation/bound"]
assert len(bounds) == 2 and bounds[1] < bounds[0]
config = run.config()
assert (config.model, config.brightness, config.epochs) == ("toy", 0.25, 2)
assert evaluate_run("toy").quantities["bound"].kind == "exact"
from structured_vae.vaes.registry import load_exported
assert type(load_exported(export_run("toy", "exported"))).__name__ == "ToyVAE"
print(TrainConfig(model="toy").title)
"""


@pytest.mark.slow
def test_a_new_kind_is_a_folder_and_a_line(tmp_path):
    root = Path(__file__).parents[1]
    for package in ("models", "solvers"):
        (tmp_path / package).symlink_to(root / package)
    shutil.copytree(
        root / "structured_vae",
        tmp_path / "structured_vae",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    kinds = tmp_path / "structured_vae" / "vaes"
    shutil.copytree(Path(__file__).parent / "toy_kind", kinds / "toy")
    registry = kinds / "__init__.py"
    registry.write_text(registry.read_text().replace('    "own",\n', '    "own",\n    "toy",\n'))
    done = subprocess.run(
        [sys.executable, "-c", TOY],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "fashion-mnist-mini-toy-seed0" in done.stdout
