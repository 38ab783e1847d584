"""Calls with time limits that end a search at once or soon, for one state or several, of batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from solvers import labels, solve
from solvers.constraints import Constraint, at_least, at_most, cardinality, implies, linear, one_of

from .draws import Draw
from .enumeration import States, answered, check_ranking, check_solution
from .outcomes import claim

LAYOUTS: Final = (
    np.ascontiguousarray,
    np.asfortranarray,
    lambda scores: np.repeat(scores, 2, axis=-1)[..., ::2],
)
"""Functions that return the same scores, in another place of the memory each."""

LIMITS: Final = (1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05)
"""Seconds."""

NAMES: Final = (
    *(
        "auto",
        "auto",
        "branch_and_bound",
        "branch_and_bound",
        "dual_ascent",
        "mini_buckets",
        "cycle_cuts",
        "clique_cover",
    ),
    *("local_search", "elimination", "exhaustive", "max_flow", "independent", "cp_sat", "highs"),
)
OF_CONSTRAINTS: Final = (
    "auto",
    "auto",
    "exhaustive",
    "branch_and_bound",
    "cp_sat",
    "highs",
    "elimination",
)
OF_LABELS: Final = (
    *(
        "auto",
        "auto",
        "dual_ascent",
        "elimination",
        "exhaustive",
        "bits",
        "expansion_moves",
        "toulbar2",
    ),
    *("branch_and_bound", "cp_sat"),
)


def _scores(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Return scores that lie in memory in one of three ways.

    Those in single precision are whole numbers, so that answers are exact.
    """
    scores = draw.random.integers(-2, 3, shape).astype(draw.of((np.float32, np.float64)))
    if draw.chance(0.6):
        scores = draw.random.standard_normal(shape) * draw.of((1.0, 1.0, 1e-3, 1e6))
    return draw.of(LAYOUTS)(scores)


def _edges(draw: Draw, n: int) -> np.ndarray:
    pairs = np.stack(np.triu_indices(n, 1), axis=-1)
    return pairs[draw.random.random(len(pairs)) < draw.of((0.0, 0.4, 1.0))]


def bits(draw: Draw) -> tuple[dict[str, Any], States]:
    """Return arguments of `solve`, and all states of their problems."""
    n, batch = draw.whole(1, 9), draw.whole(1, 5)
    edges = _edges(draw, n)
    unary = _scores(draw, (batch, n))
    pairwise = _scores(draw, (batch, len(edges)))
    if draw.chance(0.3):
        pairwise = np.abs(pairwise)
    given = (
        {"unary": unary, "pairwise": pairwise, "edges": edges} if len(edges) else {"unary": unary}
    )
    states = States.of_bits(unary, pairwise, edges)
    if draw.chance(0.2):
        given = {
            name: part if name == "edges" else torch.from_numpy(part)
            for name, part in given.items()
        }
    return given, states


def _within(draw: Draw, n: int, z: np.ndarray) -> tuple[list[Constraint], np.ndarray]:
    """Return constraints on n bits, and which of the states `[states, n]` satisfy them."""
    total = z.sum(axis=1)
    k = draw.whole(0, n)
    weights = draw.random.integers(1, 5, n)
    most = int(draw.random.integers(0, weights.sum() + 1))
    i, j = (int(place) for place in draw.random.integers(0, n, 2))
    kinds: list[tuple[Constraint, np.ndarray]] = [
        (cardinality(k), total == k),
        (at_most(k), total <= k),
        (at_least(k), total >= k),
        (one_of(range(n)), total == 1),
        (linear(weights.tolist(), "<=", most), z @ weights <= most),
    ]
    if i != j:
        kinds.append((implies(i, j), z[:, i] <= z[:, j]))
    chosen = [draw.of(kinds) for _ in range(draw.whole(1, 2))]
    return [constraint for constraint, _ in chosen], np.all([fits for _, fits in chosen], axis=0)


def evidence(draw: Draw, states: States) -> tuple[Any, States]:
    """Return values to fix, which differ in each instance or not, and the states that agree."""
    batch, n = len(states.scores), states.z.shape[1]
    instances = draw.of((1, batch))
    kept = draw.random.random((instances, n)) < draw.of((0.0, 0.3, 1.0))
    values = states.z[draw.random.integers(0, len(states.z), instances)]
    fix: Any = np.where(kept, values, -1)
    if instances == 1:
        fix = fix[0]
    if instances == 1 and draw.chance(0.5):
        fix = {int(i): int(values[0, i]) for i in np.flatnonzero(kept[0])}
    agree = (~kept[:, None] | (values[:, None] == states.z)).all(axis=2)
    return fix, states.only(agree)


def _more(draw: Draw, given: dict[str, Any], states: States) -> States:
    """Add fixed variables or constraints to the arguments, and return the states that are left."""
    n = states.z.shape[1]
    if draw.chance(0.3):
        given["fix"], states = evidence(draw, states)
    if draw.chance(0.35):
        given["constraints"], fits = _within(draw, n, states.z)
        given["solver"] = draw.of(OF_CONSTRAINTS)
        states = states.only(fits)
    return states


def _k_best(draw: Draw, folder: Path) -> Callable[[], None]:
    given, states = bits(draw)
    given |= {"solver": draw.of(NAMES), "time_limit": draw.of(LIMITS)}
    states = _more(draw, given, states)
    count = draw.whole(1, 6) if draw.chance(0.8) else len(states.z) + draw.whole(-1, 2)
    count = max(1, min(count, 40))

    def call() -> None:
        check_ranking(states, answered(states, lambda: solve(**given, k_best=count)), count)

    return call


def _in_time(draw: Draw, folder: Path) -> Callable[[], None]:
    """Search for one state, perhaps from a start, than which the answer must not be worse."""
    given, states = bits(draw)
    given |= {"solver": draw.of(NAMES), "time_limit": draw.of(LIMITS)}
    states = _more(draw, given, states)
    begun = np.full(len(states.scores), -np.inf)
    if draw.chance(0.4) and "fix" not in given:
        start = draw.random.integers(0, 2, states.z.shape[1])
        given["start"] = start
        begun = states.scores[:, states.place_of(start)]

    def call() -> None:
        solution = answered(states, lambda: solve(**given))
        check_solution(states, solution)
        worse = np.asarray(solution.score) < begun - states.slack
        claim(
            not worse.any(),
            f"an answer is worse than the start: {np.asarray(solution.score)} and {begun}",
        )

    return call


def label_arrays(draw: Draw) -> tuple[dict[str, Any], States]:
    """Return arguments of `labels.solve`, some values forbidden, and all states of their problems."""
    n, k, batch = draw.whole(1, 5), draw.whole(1, 4), draw.whole(1, 4)
    edges = _edges(draw, n)
    sizes = draw.random.integers(1, k + 1, n) if draw.chance(0.3) else np.full(n, k)
    unary = _scores(draw, (batch, n, k))
    unary = np.where(draw.random.random(unary.shape) < draw.of((0.0, 0.2, 0.4)), -np.inf, unary)
    if draw.chance(0.9):
        # a value of each is allowed
        unary[..., 0] = np.where(np.isinf(unary[..., 0]), 0.0, unary[..., 0])
    shape = draw.of(((batch, len(edges), k, k), (len(edges), k, k)))
    tables = _scores(draw, shape)
    tables = np.where(draw.random.random(shape) < draw.of((0.0, 0.0, 0.2)), -np.inf, tables)
    given = {"unary": unary, "sizes": sizes}
    if len(edges):
        turned = draw.random.random((len(edges), 1)) < 0.3
        given |= {"pairwise": tables, "edges": np.where(turned, edges[:, ::-1], edges)}
    return given, States.of_labels(unary, tables, given.get("edges", edges), sizes)


def _labels(draw: Draw, folder: Path) -> Callable[[], None]:
    given, states = label_arrays(draw)
    given |= {"solver": draw.of(OF_LABELS), "time_limit": draw.of((*LIMITS, None))}
    if given["time_limit"] is None and given["solver"] in ("dual_ascent", "expansion_moves"):
        given["time_limit"] = 0.05
    count = draw.of((None, None, 1, 2, 3, 6, 20))
    if draw.chance(0.3):
        i = draw.whole(0, states.z.shape[1] - 1)
        value = draw.whole(0, int(given["sizes"][i]) - 1)
        given["fix"] = {i: value}
        states = states.only(states.z[:, i] == value)

    def call() -> None:
        solution = answered(states, lambda: labels.solve(**given, k_best=count))
        if count is None:
            check_solution(states, solution)
        else:
            check_ranking(states, solution, count)

    return call


def _label_sums(draw: Draw, folder: Path) -> Callable[[], None]:
    given, states = label_arrays(draw)
    if not states.scores.size or np.abs(states.slack).max() > 1e-9:
        given, states = (
            {"unary": np.zeros((1, 1, 1))},
            States.of_labels(
                np.zeros((1, 1, 1)),
                np.zeros((0, 1, 1)),
                np.zeros((0, 2), np.int64),
                np.ones(1, np.int64),
            ),
        )

    def call() -> None:
        found = answered(states, lambda: labels.gibbs(**given))
        top = states.scores.max(axis=1, keepdims=True)
        weights = np.exp(states.scores - top)
        log_z = np.log(weights.sum(axis=1)) + top[:, 0]
        claim(
            np.allclose(found.log_partition, log_z),
            f"log Z is wrong: {found.log_partition} instead of {log_z}",
        )
        p = weights / weights.sum(axis=1, keepdims=True)
        k = given["unary"].shape[-1]
        marginals = np.einsum("bs,sna->bna", p, np.eye(k)[states.z])
        claim(
            np.allclose(found.unary_marginals, marginals), "marginals are not those of all states"
        )

    return call


LIMIT_CALLS: Final = {
    "solve in little time": (10, _in_time),
    "k_best in little time": (12, _k_best),
    "labels.solve in little time": (10, _labels),
    "labels.gibbs of forbidden values": (3, _label_sums),
}
"""Weight and maker of each, by the name that the report gives it."""
