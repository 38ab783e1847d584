"""Knapsacks with one or two capacities, of PyEPO's generator.

Weights have two decimals, so a capacity of 20 is 2,000 hundredths. One capacity is `Knapsack`,
solved by dynamic programming over hundredths. Two capacities are linear constraints on bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from solvers.constraints import linear as linear_constraint
from structured_vae import Knapsack
from structured_vae.spaces import ConstrainedBits

from .of_pyepo import WITH_GUROBI
from .task import Data, Task, linear

ITEMS = 16
FEATURES = 5
NOISE = 0.5
CAPACITY = 20.0


def data(count: int, degree: int, seed: int, dimensions: int) -> Data:
    """Return features and the values of items; every seed has its own weights."""
    from pyepo.data.knapsack import genData

    drawn = genData(count, FEATURES, ITEMS, dimensions, degree, NOISE, seed)
    weights, x, values = drawn
    features = torch.from_numpy(x).float()
    model = partial(model_of, weights)
    return Data(features, torch.from_numpy(values).float(), space_of(weights), model)


def space_of(weights: np.ndarray) -> Knapsack | ConstrainedBits:
    """Return the contents that fit, for weights `[dimensions, items]`."""
    hundredths = np.rint(100 * weights).astype(int).tolist()
    capacity = round(100 * CAPACITY)
    if len(hundredths) == 1:
        return Knapsack(hundredths[0], capacity)
    return ConstrainedBits([linear_constraint(row, "<=", capacity) for row in hundredths])


def model_of(weights: np.ndarray) -> Any:
    """Return PyEPO's model, by Gurobi if it is installed, otherwise by SCIP in OR-Tools."""
    import pyepo

    make: Callable[..., Any] = pyepo.model.ort.knapsackModel
    if WITH_GUROBI:
        make = pyepo.model.grb.knapsackModel
    return make(weights, [CAPACITY] * len(weights))


ONE = Task(1.0, partial(data, dimensions=1), linear, degrees=(4,))
TWO = Task(
    1.0,
    partial(data, dimensions=2),
    linear,
    degrees=(4,),
    without=("ArgmaxLayer, cost=", "ArgmaxLayer, cost=, noise"),
)
