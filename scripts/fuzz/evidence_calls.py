"""Sums given evidence, their samples and bounds, marginal MAP, labels within constraints, and `Prepared`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from solvers import Problem, gibbs, labels, marginal_map, prepare, uniforms_shape
from solvers.constraints import at_least, at_most, implies, linear, one_of
from solvers.labels import LabelProblem

from .draws import Draw
from .enumeration import States, answered, check_ranking, check_solution
from .limit_calls import LIMITS, OF_LABELS, bits, evidence, label_arrays
from .outcomes import claim

MOST_SLACK = 1e-9
"""Rounding of scores above which probabilities are not compared."""


def _log_sums(states: States) -> np.ndarray:
    scores = states.scores.astype(np.float64)  # sums are in float64, whatever the scores are
    top = scores.max(axis=1)
    base = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return base + np.log(np.exp(scores - base[:, None]).sum(axis=1))


def _sums(draw: Draw, folder: Path) -> Callable[[], None]:
    """Compare log Z, marginals, entropy and samples given evidence, and bounds of estimates."""
    of_bits = draw.chance(0.5)
    given, states = bits(draw) if of_bits else label_arrays(draw)
    make: Any = Problem if of_bits else LabelProblem
    fix, states = evidence(draw, states)
    methods = ("auto", "exact", "elimination", "trw", "mean_field", "loopy")
    method: Any = draw.of(methods) if draw.chance(0.5) else "auto"
    samples = draw.whole(0, 3)

    def call() -> None:
        problem = make.from_arrays(**given)
        if method in ("trw", "mean_field", "loopy"):
            estimate = answered(states, lambda: gibbs(problem, fix=fix, method=method))
            _check_estimate(states, estimate)
            return
        shape = uniforms_shape(problem, samples, method, fix=fix)
        uniforms = draw.random.random(shape)
        sums = answered(states, lambda: gibbs(problem, fix=fix, method=method, uniforms=uniforms))
        if np.abs(states.slack).max() < MOST_SLACK:
            _check_sums(states, sums, of_bits)

    return call


def _check_estimate(states: States, estimate: Any) -> None:
    log_z = _log_sums(states)
    value = np.ravel(np.asarray(estimate.log_partition))
    slack = 1e-6 + 1e-6 * np.abs(log_z) + states.slack
    if estimate.bound == "upper":
        claim(bool((value >= log_z - slack).all()), f"an upper bound {value} is below {log_z}")
    if estimate.bound == "lower":
        claim(bool((value <= log_z + slack).all()), f"a lower bound {value} is above {log_z}")


def _check_sums(states: States, sums: Any, of_bits: bool) -> None:
    log_z = _log_sums(states)
    value = np.ravel(np.asarray(sums.log_partition))
    claim(np.allclose(value, log_z), f"log Z is wrong: {value} instead of {log_z}")
    p = np.exp(states.scores - log_z[:, None])
    k = np.asarray(sums.unary_marginals).shape[-1] if not of_bits else 2
    marginals = np.einsum("bs,sna->bna", p, np.eye(k)[states.z])
    right = marginals[..., 1] if of_bits else marginals
    found = np.asarray(sums.unary_marginals).reshape(right.shape)
    claim(np.allclose(found, right), f"marginals are wrong: {found} instead of {right}")
    entropy = -(p * np.where(p > 0, np.log(np.where(p > 0, p, 1.0)), 0.0)).sum(axis=1)
    found = np.ravel(np.asarray(sums.entropy))
    claim(
        np.allclose(found, entropy, atol=1e-6), f"an entropy is wrong: {found} instead of {entropy}"
    )
    if sums.samples is None:
        return
    drawn = np.asarray(sums.samples)
    for sample in drawn.reshape(len(drawn), len(log_z), states.z.shape[1]):
        for b, z in enumerate(sample):
            place = states.place_of(z)
            claim(place >= 0 and p[b, place] > 0, f"a sample is impossible: {z.tolist()}")


def _marginal_map(draw: Draw, folder: Path) -> Callable[[], None]:
    of_bits = draw.chance(0.5)
    given, states = bits(draw) if of_bits else label_arrays(draw)
    make: Any = Problem if of_bits else LabelProblem
    states = States(states.z, states.scores[:1], states.slack[:1])
    n = states.z.shape[1]
    chosen = [int(i) for i in draw.random.permutation(n)[: draw.whole(0, n)]]
    fix, states = evidence(draw, states)

    def call() -> None:
        problem = make.from_arrays(**given).to_host().instances(slice(0, 1))
        answer = answered(states, lambda: marginal_map(problem, chosen, fix=fix))
        masses = {}
        for row in np.unique(states.z[:, chosen], axis=0):
            agree = (states.z[:, chosen] == row).all(axis=1)
            masses[tuple(row.tolist())] = _log_sums(states.only(agree))[0]
        taken = masses[tuple(answer.assignment[i] for i in chosen)]
        slack = 1e-9 + 1e-9 * abs(taken) + states.slack[0]
        if given["unary"].itemsize == 4:
            slack += 1e-6 * abs(taken)  # the answer has the type of the scores
        best = max(masses.values())
        claim(taken >= best - slack, f"values of mass {taken} are not the best, of {best}")
        claim(abs(answer.log_mass - taken) <= slack, f"a mass is {answer.log_mass}, not {taken}")

    return call


def _within(draw: Draw, folder: Path) -> Callable[[], None]:
    """Search labels within constraints, several states of them, with fixed values and a start."""
    given, states = label_arrays(draw)
    sizes = np.asarray(given["sizes"])
    n = len(sizes)
    pairs = [(i, v) for i in range(n) for v in range(sizes[i])]
    group = [pairs[i] for i in draw.random.permutation(len(pairs))[: draw.whole(1, 4)]]
    ones = np.stack([states.z[:, i] == v for i, v in group])
    total = ones.sum(axis=0)
    count = draw.whole(0, len(group))
    weights = draw.random.integers(-2, 4, len(group))
    kinds: list[Any] = [
        (at_most(count, group), total <= count),
        (at_least(count, group), total >= count),
        (one_of(group), total == 1),
        (
            linear(dict(zip(group, weights.tolist(), strict=True)), "<=", 1),
            weights @ ones <= 1,
        ),
    ]
    if len(group) > 1:
        kinds.append((implies(group[0], group[1]), ones[0] <= ones[1]))
    chosen = [draw.of(kinds) for _ in range(draw.whole(1, 2))]
    given["constraints"] = [constraint for constraint, _ in chosen]
    states = states.only(np.all([fits for _, fits in chosen], axis=0))
    if draw.chance(0.3):
        fix, states = evidence(draw, states)
        given["fix"] = fix
    given |= {"solver": draw.of(("auto", "auto", "bits", "cp_sat", "highs", "exhaustive"))}
    given |= {"time_limit": draw.of((None, *LIMITS))}
    best = draw.of((None, None, 1, 3, 50))
    if best is None and draw.chance(0.3):
        given["start"] = states.z[draw.whole(0, len(states.z) - 1)]

    def call() -> None:
        solution = answered(states, lambda: labels.solve(**given, k_best=best))
        if best is None:
            check_solution(states, solution)
        else:
            check_ranking(states, solution, best)

    return call


def _prepared(draw: Draw, folder: Path) -> Callable[[], None]:
    """Call a prepared problem several times, as kernels keep what they compute of its pairs."""
    of_bits = draw.chance(0.6)
    given, states = bits(draw) if of_bits else label_arrays(draw)
    edges, n = given.get("edges", []), states.z.shape[1]
    names = ("auto", "exhaustive", "elimination", "branch_and_bound", "local_search")
    if of_bits:
        made: Any = prepare(edges, n, solver=draw.of((*names, "max_flow", "mini_buckets")))
    else:
        limit = draw.of((None, 0.05))
        solver = draw.of(OF_LABELS if limit else ("auto", "elimination", "exhaustive", "bits"))
        made = labels.prepare(edges, n, sizes=given["sizes"], solver=solver, time_limit=limit)
    row = draw.whole(0, len(states.scores) - 1)
    start = states.z[draw.whole(0, len(states.z) - 1)]

    def call() -> None:
        unary, pairwise = given["unary"], given.get("pairwise")
        check_solution(states, answered(states, lambda: made(unary, pairwise)))
        one = States(states.z, states.scores[row : row + 1], states.slack[row : row + 1])
        tables = pairwise
        if pairwise is not None and (of_bits or pairwise.ndim == 4):
            tables = pairwise[row]
        check_solution(one, answered(one, lambda: made(unary[row], tables)))
        check_solution(one, answered(one, lambda: made(unary[row], tables, start=start)))

    return call


EVIDENCE_CALLS: Final = {
    "gibbs with evidence": (8, _sums),
    "marginal_map": (4, _marginal_map),
    "labels.solve within constraints": (8, _within),
    "prepared calls": (6, _prepared),
}
"""Weight and maker of each, by the name that the report gives it."""
