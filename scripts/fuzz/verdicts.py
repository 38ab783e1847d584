"""What became of a call: fine, an error of ours, a foreign one, a false claim."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from solvers import Problem, Solution
from solvers.instances import Instances
from solvers.labels import LabelProblem
from solvers.labels.testing import LabelInstances
from solvers.testing import enumerate_scores

from .calls import Claims, made
from .draws import Draw
from .outcomes import outcome_of

ENUMERATED = 12
"""Most variables of a claim that is held against enumeration."""


@dataclass(frozen=True)
class Verdict:
    """What became of a call.

    Attributes:
        number: of the call.
        call: its name.
        kind: "fine", "ours", "foreign", "long" (an error message of ours above the maximum length),
            "false" (a claim), or "unmade" (a fault of the fuzz itself).
        group: what stands in the report: the error and its place, or the claim.
        seconds: of CPU that the call took.
    """

    number: int
    call: str
    kind: str
    group: str
    seconds: float


def judged(seed: int, number: int) -> Verdict:
    """The verdict on one call."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            name, call = made(Draw(seed, number), Path(folder))
        except Exception as error:
            return Verdict(number, "-", "unmade", f"{type(error).__name__}: {error}", 0.0)
        start = time.process_time()
        try:
            claims = call()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # whatever it is, it is what is looked for
            kind, group = outcome_of(error)
        else:
            group = _refuted(claims or [])
            kind = "false" if group else "fine"
        return Verdict(number, name, kind, group, time.process_time() - start)


def _refuted(claims: Claims) -> str:
    """What enumeration finds wrong with a claim; "" if nothing."""
    for problem, solution in claims:
        small = (
            problem.states <= 1 << ENUMERATED
            if isinstance(problem, LabelProblem)
            else problem.n <= ENUMERATED
        )
        if small and (fault := _fault(problem, solution)):
            return fault
    return ""


def _host(array: Any) -> np.ndarray:
    if isinstance(array, torch.Tensor):
        return array.cpu().numpy()
    if isinstance(array, float | bool | np.ndarray | np.generic):
        return np.asarray(array)
    return np.from_dlpack(array, device="cpu")


def _all_scores(host: Problem | LabelProblem) -> np.ndarray:
    """`[batch, states]`, float64."""
    unary = np.asarray(host.unary, np.float64)
    if isinstance(host, LabelProblem):
        tables = np.broadcast_to(host.all_pairwise(), (host.batch, host.e, host.k, host.k))
        return LabelInstances(unary, tables, host.edges, host.sizes).scores()
    return enumerate_scores(Instances(unary, np.asarray(host.pairwise, np.float64), host.edges))


def _fault(problem: Problem | LabelProblem, solution: Solution) -> str:
    host = problem.to_host()
    best, slack = _all_scores(host).max(axis=1), 2 * np.asarray(host.rounding)
    score, bound, optimal = (
        _host(part).reshape(-1) for part in (solution.score, solution.bound, solution.optimal)
    )
    if (optimal & ~(score >= best - slack)).any():
        return f"{solution.solver} says optimal at {score}, and the maximum is {best}"
    if not (bound >= best - slack).all():
        return f"{solution.solver} says the bound {bound}, and the maximum is {best}"
    return ""
