"""Portfolios of PyEPO's generator, under its limit of risk.

PyEPO's decisions are fractions x that add up to 1, with x.Sigma.x <= 2.25 mean(Sigma). The
generator makes the returns of assets nearly uncorrelated, so this limit asks for at least n / 2.25
assets. Our losses train with that many assets of equal weight, `KOfN(k)`, since structures have
states of zeros and ones. Every method is tested with PyEPO's fractions.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch

from structured_vae import KOfN

from .of_pyepo import WITH_GUROBI
from .task import Data, Task, linear

ASSETS = 20
FEATURES = 5
GAMMA = 2.25
"""PyEPO's default limit of risk."""

SPREAD_OVER = math.ceil(ASSETS / GAMMA)


def data(count: int, degree: int, seed: int) -> Data:
    """Return features and returns in percent."""
    from pyepo.data.portfolio import genData

    covariance, x, returns = genData(count, FEATURES, ASSETS, degree, seed=seed)
    features = torch.from_numpy(x).float()
    values = 100 * torch.from_numpy(returns).float()
    space = KOfN(SPREAD_OVER)
    if not WITH_GUROBI:
        return Data(features, values, space)
    model = partial(model_of, covariance)
    return Data(features, values, space, model, partial(fractions, model()))


def model_of(covariance: np.ndarray) -> Any:
    """Return PyEPO's model, which Gurobi solves."""
    import pyepo

    return pyepo.model.grb.portfolioModel(ASSETS, covariance, GAMMA)


def fractions(model: Any, scores: torch.Tensor) -> torch.Tensor:
    """Return the best fractions `[count, n]` by PyEPO's model, one instance after the other."""
    decided = []
    for row in scores.double().numpy():
        model.setObj(row)
        decided.append(torch.as_tensor(np.asarray(model.solve()[0])))
    return torch.stack(decided).to(scores)


TASK = Task(1.0, data, linear, degrees=(4,))
