"""The methods of PyEPO, called as its users call them, and its parallel mode."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch

from .task import SAMPLES, Batch, Loss, Training

WITH_PYEPO = importlib.util.find_spec("pyepo") is not None
WITH_GUROBI = importlib.util.find_spec("gurobipy") is not None

POOL_RATIO = 0.05
"""Share of steps in which methods with a pool of solutions solve anew."""


def with_solutions(name: str, processes: int = 1, **options: Any) -> Callable[[Training], Loss]:
    """Return a loss of predicted costs and the best decisions, or of all that the dataset has."""
    import pyepo

    def factory(training: Training) -> Loss:
        loss = getattr(pyepo.func, name)(training.model, processes=processes, **options)
        dataset = training.dataset

        def by_solutions(batch: Batch) -> torch.Tensor:
            value: torch.Tensor = loss(training.sign * batch.scores, dataset.sols[batch.rows])
            return value

        def by_costs(batch: Batch) -> torch.Tensor:
            costs = training.sign * batch.values
            solutions = dataset.sols[batch.rows]
            values = dataset.objs[batch.rows]
            regret: torch.Tensor = loss(training.sign * batch.scores, costs, solutions, values)
            return regret

        if name == "SPOPlus":
            return by_costs
        return by_solutions

    return factory


def with_pool(name: str, by_costs: bool) -> Callable[[Training], Loss]:
    """Return a loss that compares the best decision with a pool of earlier solutions."""
    import pyepo

    def factory(training: Training) -> Loss:
        dataset = training.dataset
        loss = getattr(pyepo.func, name)(training.model, solve_ratio=POOL_RATIO, dataset=dataset)

        def of_batch(batch: Batch) -> torch.Tensor:
            truth = dataset.sols[batch.rows]
            if by_costs:
                truth = training.sign * batch.values
            value: torch.Tensor = loss(training.sign * batch.scores, truth)
            return value

        return of_batch

    return factory


def behind_a_layer(name: str, **options: Any) -> Callable[[Training], Loss]:
    """Return the true cost of the decision of a layer."""
    import pyepo

    def factory(training: Training) -> Loss:
        layer = getattr(pyepo.func, name)(training.model, **options)

        def of_batch(batch: Batch) -> torch.Tensor:
            decision = layer(training.sign * batch.scores)
            return -(decision * batch.values).sum(dim=1).mean()

        return of_batch

    return factory


def methods() -> dict[str, Callable[[Training], Loss]]:
    """Return PyEPO's methods by name, with its default settings except for the number of samples.

    Raises:
        ImportError: PyEPO is not installed.
    """
    return {
        "PyEPO, SPO+": with_solutions("SPOPlus"),
        "PyEPO, perturbed Fenchel-Young": with_solutions(
            "perturbedFenchelYoung", n_samples=SAMPLES
        ),
        "PyEPO, black box": behind_a_layer("blackboxOpt"),
        "PyEPO, negative identity": behind_a_layer("negativeIdentity"),
        "PyEPO, implicit MLE": behind_a_layer("implicitMLE", n_samples=SAMPLES),
        "PyEPO, adaptive implicit MLE": behind_a_layer("adaptiveImplicitMLE", n_samples=SAMPLES),
        "PyEPO, NCE": with_pool("noiseContrastiveEstimation", by_costs=False),
        "PyEPO, listwise LTR": with_pool("listwiseLearningToRank", by_costs=True),
        "PyEPO, pairwise LTR": with_pool("pairwiseLearningToRank", by_costs=True),
        "PyEPO, pointwise LTR": with_pool("pointwiseLearningToRank", by_costs=True),
    }


def agreement(training: Training) -> float:
    """Return by how much the best values of PyEPO's solver differ from ours at most, relatively."""
    costs = training.data.costs[: training.count]
    ours = (costs * training.best).sum(dim=1)
    theirs = training.dataset.objs[:, 0]
    return float(((ours - theirs).abs() / theirs.abs()).max())
