"""Arguments of a wrong type or range: every public call refuses them by name, when it is made."""

import inspect
import math
import re

import numpy as np
import pytest
import torch

import models
import structured_vae
from models import Potentials
from models.errors import ModelsError
from models.networks import train_mixed
from models.priors import factorised_prior
from models.vaes import GaussianVAE
from solvers.constraints import cardinality
from solvers.errors import SolverError
from structured_vae import estimators, schedules, spaces
from structured_vae.errors import StructuredVAEError

OURS = (ModelsError, SolverError, StructuredVAEError)

POTENTIALS = Potentials(torch.zeros(2, 3))
ARCS = [[0, 1], [1, 2]]

CALLS = {
    "Arborescences": {"arcs": ARCS},
    "Assignments": {"rows": 2},
    "AttributeVAE": {"n": 3, "c": 2, "channels": 2},
    "CategoricalPotentials": {"unary": torch.zeros(2, 4)},
    "Constant": {"value": 0.5},
    "ConstrainedBits": {"constraints": [cardinality(2)]},
    "CosineDecay": {"start": 1.0, "steps": 3},
    "CostOfBits": {"function": torch.sum},
    "Gibbs": {"potentials": POTENTIALS},
    "Hamming": {"target": torch.zeros(2, 3)},
    "KOfN": {"k": 2},
    "Knapsack": {"weights": [1, 2, 1], "capacity": 2},
    "LinearChainCRF": {"num_tags": 3},
    "Matchings": {"rows": 2},
    "MixtureVAE": {"pixels": 6, "k": 2, "c": 2},
    "NVIL": {"n": 3},
    "PairwiseCRF": {"n": 3, "k": 2, "edges": [[0, 1]]},
    "PairwiseLabels": {"n": 3, "k": 2},
    "Paths": {"arcs": ARCS, "source": 0, "target": 2},
    "PerturbAndMAP": {"potentials": POTENTIALS},
    "Potentials": {"unary": torch.zeros(2, 3)},
    "RELAX": {"n": 3},
    "Ramp": {"epochs": 2},
    "ScaleFree": {"schedule": 0.5},
    "Scheduled": {"schedule": 0.5},
    "SecondOrderChains": {"n": 3, "k": 2},
    "Segments": {"n": 3, "k": 2, "longest": 2},
    "SpanningTrees": {"edges": ARCS},
    "TagRules": {"start": [True], "transitions": [[True]], "end": [True]},
    "convolutional_vae": {"n": 3, "hidden": 4, "channels": 2},
    "factorised_prior": {"n": 3},
    "gibbs_prior": {"n": 3, "edges": torch.tensor([[0, 1]])},
    "GaussianVAE": {"pixels": 6, "n": 3, "hidden": 4},
    "grid_paths": {"rows": 2, "columns": 2},
    "paper_vae": {"encoder": "general", "n": 3, "hidden": 4, "pixels": 6},
    "perturb_and_map": {
        "potentials": POTENTIALS,
        "solver": "auto",
        "generator": torch.Generator(),
    },
    "quantised_vae": {"n": 4, "hidden": 4},
    "routing_weights": {"scores": torch.zeros(1, 2), "z": torch.ones(1, 2)},
    "tag_rules": {"tags": ["O", "B-x", "I-x"]},
    "train_mixed": {"networks": torch.nn.Linear(1, 1)},
}
"""Arguments without which a call fails, or that make it quick."""

ELSEWHERE = {
    "DataConfig",
    "DiscreteVAE",
    "ESTIMATORS",
    "Epsilon",
    "Estimate",
    "Estimator",
    "EstimatorOptions",
    "KLTerm",
    "ModelCard",
    "Pretrained",
    "Reconstruction",
    "StateSpace",
    "TrainConfig",
    "elbo_recipe",
    "evaluate",
    "estimator_class",
    "evaluate_run",
    "export_run",
    "gradient_report",
    "load_dataset",
    "load_pretrained",
    "load_vae",
    "resume",
    "train",
}
"""Base classes, records, and what takes networks, files or runs, which have tests of their own."""

WRONG = {
    "a word": "x",
    "minus one": -1,
    "a fraction": 1.5,
    "nan": math.nan,
    "infinity": math.inf,
    "nothing": None,
    "an object": object(),
    "bytes": b"x",
    "an array": np.array([1.5, 2.0]),
    "a dictionary": {},
}

ALLOWED = {
    "a fraction": {
        *("epsilon", "eta", "gap", "margin", "rate", "schedule", "sigma", "size", "start"),
        *("target", "temperature", "value", "every", "steps", "epochs"),
    },
    "minus one": {"eta"},
    "nothing": {"edges", "seed"},
}
"""Arguments for which such a value is right, at least in one of the calls."""


OF_MODULES = (
    schedules.CosineDecay,
    schedules.Ramp,
    spaces.Bits,
    spaces.Categories,
    spaces.ConstrainedBits,
    spaces.PairwiseLabels,
    GaussianVAE,
    factorised_prior,
    train_mixed,
)
"""Calls that users import from their modules."""


def public():
    named = {}
    for module in (structured_vae, models, estimators):
        named.update({name: getattr(module, name) for name in module.__all__})
    for kind in OF_MODULES:
        named[kind.__name__] = kind
    errors = {name for name in named if name.endswith("Error")}
    return {name: call for name, call in sorted(named.items()) if name not in ELSEWHERE | errors}


PUBLIC = public()


def parameters(call):
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = inspect.signature(call).parameters.values()
    return [parameter for parameter in found if parameter.kind not in kinds]


CASES = [
    pytest.param(name, parameter, id=f"{name}, {parameter.name}")
    for name, call in PUBLIC.items()
    for parameter in parameters(call)
]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_arguments_of_the_table_are_right(name):
    PUBLIC[name](**CALLS.get(name, {}))


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_wrong_arguments_are_refused_by_name_when_the_call_is_made(name, parameter):
    word = re.compile(rf"{parameter.name.rstrip('s')}|structure|path")
    for kind, value in WRONG.items():
        if value is None and parameter.default is None:
            continue
        arguments = {**CALLS.get(name, {}), parameter.name: value}
        try:
            PUBLIC[name](**arguments)
        except OURS as error:
            refusal = str(error)
            assert word.search(refusal), f"{kind}: {refusal}"
        else:
            assert parameter.name in ALLOWED.get(kind, ()), f"{kind} is taken"


COUNTS = [
    case for case in CASES if case.values[1].name in ("samples", "n", "hidden", "pixels", "inner")
]


@pytest.mark.parametrize(("name", "parameter"), COUNTS)
def test_counts_are_whole_numbers_above_zero(name, parameter):
    wrong = [True, 10**30, torch.ones(2)]
    if (name, parameter.name) != ("RODEO", "hidden"):  # without hidden units it has no network
        wrong.append(0)
    for value in wrong:
        arguments = {**CALLS.get(name, {}), parameter.name: value}
        with pytest.raises(OURS, match=rf"{parameter.name}.* must be a whole number|do not fit"):
            PUBLIC[name](**arguments)


@pytest.mark.parametrize("value", ["x", -1, 1.5, None, True])
@pytest.mark.parametrize("option", ["bandwidth", "variables"])
def test_options_of_encoders_are_whole_numbers(option, value):
    with pytest.raises(ModelsError, match=f"{option} must be a whole number of at least"):
        models.paper_vae("categorical", couplings="potts", **{option: value})


def test_the_message_names_what_is_allowed_and_the_value():
    calls = {
        "sigma must be a positive number; got 'x'": lambda: estimators.PerturbedArgmax(sigma="x"),
        "got -1": lambda: estimators.Direct(solver=-1),
        "flips must be a whole number of at least 1, or None for all; got 'x'": (
            lambda: estimators.Direct(flips="x")
        ),
        "n must be a whole number of at least 1; got -1": lambda: estimators.NVIL(n=-1),
        "sides must be 1 or 2; got 3": lambda: estimators.Direct(sides=3),
        "samples must be a whole number from 1 to 2147483647; got 1000": (
            lambda: estimators.ARM(10**40)
        ),
    }
    for message, call in calls.items():
        with pytest.raises(OURS, match=message):
            call()
