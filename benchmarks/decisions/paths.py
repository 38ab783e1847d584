"""Shortest paths through a grid of 5 by 5, the first task of PyEPO's paper.

The generator is that of PyEPO (Tang, Khalil 2022, section 5.1): features x ~ N(0, I), costs
c = [((B x) / sqrt(p) + 3)^degree + 1] / 3.5^degree with a random binary matrix B, times noise.
Without PyEPO the same formula draws the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from structured_vae import grid_paths

from .of_pyepo import WITH_PYEPO
from .task import Data, Task, linear

GRID = (5, 5)
FEATURES = 5
NOISE = 0.5
PATHS = grid_paths(*GRID)


def data(count: int, degree: int, seed: int) -> Data:
    """Return features and costs of arcs."""
    if WITH_PYEPO:
        from pyepo.data.shortestpath import genData

        x, costs = genData(count, FEATURES, GRID, degree, NOISE, seed)
    else:
        x, costs = by_formula(count, degree, seed)
    features = torch.from_numpy(x).float()
    return Data(features, torch.from_numpy(costs).float(), PATHS, model)


def by_formula(count: int, degree: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what PyEPO's generator draws, by the formula of the paper."""
    draws = np.random.RandomState(seed)  # that of PyEPO
    matrix = draws.binomial(1, 0.5, (len(PATHS.arcs), FEATURES))
    x = draws.normal(0, 1, (count, FEATURES))
    costs = ((x @ matrix.T / np.sqrt(FEATURES) + 3) ** degree + 1) / 3.5**degree
    return x, costs * draws.uniform(1 - NOISE, 1 + NOISE, costs.shape)


def model() -> Any:
    """Return PyEPO's model, which OR-Tools solves as a linear program."""
    import pyepo

    shortest = pyepo.model.ort.shortestPathModel(GRID)
    assert [list(arc) for arc in shortest.arcs] == PATHS.arcs.tolist()
    return shortest


TASK = Task(-1.0, data, linear, degrees=(1, 2, 4, 6, 8), rates=(0.01, 0.03, 0.1))
