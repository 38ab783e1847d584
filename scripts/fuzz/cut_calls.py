"""Minimum cuts with capacities of all sizes, whose minima are found in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from solvers import solve
from solvers.conversions import Answer, from_min_cut
from solvers.formats import read_problem

from .draws import Draw
from .outcomes import OURS, claim

HUGE: Final = (1e9, 1e12, 1e15, 9.9e17, 1e20, 1e200, 1e308, math.inf)
USUAL: Final = (0.0, 0.1, 0.2, 0.5, 1.0, 3.0, 5.0, 371223564.0)
NEAR: Final = 1e-9
"""Of the minimum: by how much rounding may change it."""


def _network(draw: Draw) -> tuple[int, list[tuple[int, int]], list[float], int, int]:
    """Return nodes, arcs, capacities, source and sink."""
    n = draw.whole(2, 6)
    pairs = [(u, v) for u, v in product(range(n), repeat=2) if u != v]
    count = draw.whole(0, 2 * n)
    arcs = [draw.of(pairs) for _ in range(count)]
    if draw.chance(0.1):
        arcs.append((0, 0))
    share = draw.of((0.0, 0.2, 0.5, 1.0))
    capacities = [draw.of(HUGE) if draw.chance(share) else draw.of(USUAL) for _ in arcs]
    source = draw.whole(0, n - 1)
    sink = (source + draw.whole(1, n - 1)) % n
    return n, arcs, capacities, source, sink


def _capacity(arcs: list[tuple[int, int]], capacities: list[float], z: Any) -> Fraction | float:
    """Return what a cut costs, z being 1 on the side of the source; infinity if it cuts an infinite arc."""
    total = Fraction(0)
    for (u, v), capacity in zip(arcs, capacities, strict=True):
        if z[u] == 1 and z[v] == 0:
            if math.isinf(capacity):
                return math.inf
            total += Fraction(capacity)
    return total


def _check(answer: Answer, network: tuple[Any, ...], names: list[Any]) -> None:
    n, arcs, capacities, source, sink = network
    states = [z for z in product((0, 1), repeat=n) if z[source] == 1 and z[sink] == 0]
    least = min(_capacity(arcs, capacities, z) for z in states)
    z = [answer.assignment[name] for name in names]
    claim(
        z[source] == 1 and z[sink] == 0,
        f"source or sink has the wrong value: {z[source]} and {z[sink]}",
    )
    low, high = answer.sides
    claim(names[source] in high and names[sink] in low, "source or sink is on the wrong side")
    cost = _capacity(arcs, capacities, z)
    claim(
        _near(answer.value, cost),
        f"a value is not that of the cut: {answer.value} and {float(cost)}",
    )
    claim(
        answer.bound <= answer.value,
        f"a bound is above the value: {answer.bound} and {answer.value}",
    )
    below = answer.bound <= float(least) or _near(answer.bound, least)
    claim(below, f"a bound is above the minimum: {answer.bound} and {float(least)}")
    claim(
        not answer.optimal or _near(cost, least),
        f"a cut is falsely optimal: {float(cost)}, and the minimum is {float(least)}",
    )


def _near(value: Fraction | float, wanted: Fraction | float) -> bool:
    """Whether two capacities differ by rounding alone."""
    if math.isinf(value) or math.isinf(wanted):
        return value == wanted
    return abs(Fraction(value) - Fraction(wanted)) <= Fraction(NEAR) * Fraction(wanted)


def _from_min_cut(draw: Draw, folder: Path) -> Callable[[], None]:
    network = _network(draw)
    n, arcs, capacities, source, sink = network
    kind = draw.of((np.array, list, np.array))
    edges = np.array(arcs, np.int64).reshape(-1, 2)

    def call() -> None:
        try:
            conversion = from_min_cut(n, edges, kind(capacities), source, sink)
        except OURS:
            claim(
                any(value > 1e300 for value in capacities),
                "a network of ordinary capacities is refused",
            )
            raise
        _check(solve(conversion), network, list(range(n)))

    return call


def _from_file(draw: Draw, folder: Path) -> Callable[[], None]:
    """Write a network as a file of DIMACS, whose nodes are numbered from 1."""
    n, arcs, capacities, source, sink = _network(draw)
    capacities = [float(round(min(value, 1e18))) for value in capacities]
    network = (n, arcs, capacities, source, sink)
    lines = [f"p max {n} {len(arcs)}", f"n {source + 1} s", f"n {sink + 1} t"]
    lines += [f"a {u + 1} {v + 1} {int(c)}" for (u, v), c in zip(arcs, capacities, strict=True)]
    path = folder / "a.max"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def call() -> None:
        conversion = read_problem(path)
        _check(solve(conversion), network, list(conversion.names))

    return call


CUT_CALLS: Final = {
    "from_min_cut of huge capacities": (6, _from_min_cut),
    "minimum cuts in files": (3, _from_file),
}
"""Weight and maker of each, by the name that the report gives it."""
