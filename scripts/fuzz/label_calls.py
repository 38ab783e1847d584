"""The public calls for variables of several values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import dimod
import numpy as np
import torch

from solvers import available_solvers, solve_many, solver_class
from solvers.labels import (
    LabelProblem,
    from_dimod,
    from_factors,
    from_pgmpy,
    gibbs,
    solve,
)
from solvers.labels.formats import FORMATS, read_problem

from .draws import Draw
from .files import damaged
from .values import odd, perhaps

FILES: Final = {
    "a.uai": b"BAYES\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n 0.5 1\n6\n 1 2 3 4 0 1\n",
    "a.wcsp": b"name 3 3 2 9\n2 3 2\n2 0 1 0 2\n1 1 3\n0 2 9\n3 0 1 2 1 1\n0 0 0 4\n",
    "a.cfn": b'{"problem": {"name": "p", "mustbe": "<9"}, "variables": {"a": 2, "b": ["x", "y", "z"]}, "functions": '
    b'{"f": {"scope": ["a", "b"], "costs": [1, 2, 3, 4, 5, 6]}, '
    b'"g": {"scope": ["b"], "defaultcost": 1, "costs": [0, 3]}}}',
}
NAMES: Final = (
    "auto",
    "auto",
    "elimination",
    "exhaustive",
    "independent",
    "bits",
    "dual_ascent",
    "max_flow",
    "expansion_moves",
    "toulbar2",
)


def _arrays(draw: Draw) -> dict[str, Any]:
    """Good arguments of `solve`."""
    n, k = draw.whole(1, 5), draw.whole(1, 4)
    leading = draw.of(((), (1,), (2,), (2, 1)))
    pairs = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = pairs[draw.random.random(len(pairs)) < draw.of((0.3, 1.0))]
    scale = draw.of((1.0, 1.0, 1e-12, 1e12, 1e290))
    shapes = {
        "pairwise": draw.of(((*leading, len(edges), k, k), (len(edges), k, k), (k, k))),
        "potts": (len(edges),),
    }
    form = draw.of(("pairwise", "pairwise", "potts", "none"))
    given: dict[str, Any] = {"unary": _scores(draw, (*leading, n, k)) * scale}
    if form != "none":
        scores = _scores(draw, shapes[form]) * scale
        if form == "pairwise" and draw.chance(0.3):
            scores = np.where(draw.random.random(scores.shape) < 0.1, -np.inf, scores)
        given |= {form: scores, "edges": edges}
    kind = draw.of((lambda a: a, lambda a: a, lambda a: a.tolist(), torch.from_numpy))
    given = {name: value if name == "edges" else kind(value) for name, value in given.items()}
    if draw.chance(0.3):
        given["sizes"] = draw.random.integers(1, k + 1, n)
    return given


def _scores(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    if draw.chance(0.5):
        return draw.random.standard_normal(shape)
    return draw.random.integers(-2, 3, shape).astype(np.float64)


def _spoiled(draw: Draw, given: dict[str, Any], share: float) -> dict[str, Any]:
    return {name: perhaps(draw, value, share) for name, value in given.items()}


def _options(draw: Draw) -> dict[str, Any]:
    name = draw.of(NAMES)
    limit = 0.05 if name in ("dual_ascent", "expansion_moves") or draw.chance(0.1) else None
    return {"solver": perhaps(draw, name, 0.1), "time_limit": perhaps(draw, limit, 0.1)}


def _solve(draw: Draw, folder: Path) -> Callable[[], Any]:
    given, options = _spoiled(draw, _arrays(draw), 0.15), _options(draw)

    def call() -> Any:
        solution = solve(**given, **options)
        if any(hasattr(value, "__next__") for value in given.values()):
            return []  # it is used up
        return [(LabelProblem.from_arrays(**given), solution)]

    return call


def _solve_with(draw: Draw, folder: Path) -> Callable[[], Any]:
    """`solve` with variables that are fixed, `solve_many`, and solvers with options."""
    problem = LabelProblem.from_arrays(**_arrays(draw))
    options, fix = _options(draw), perhaps(draw, draw.of(({0: 0}, [-1] * problem.n, {})), 0.5)
    name = draw.of([info.name for info in available_solvers("labels") if info.installed])
    settings = {option: odd(draw) for option in solver_class(name, "labels").options()}
    heard = perhaps(draw, lambda known: draw.chance(0.5), 0.3)

    def call() -> Any:
        list(solve_many([problem], jobs=1, **options))
        solve(problem, fix=fix, callback=heard, **options)
        return [
            (problem, solver_class(name, "labels")().with_options(**settings).solve(problem, 0.05))
        ]

    return call


def _gibbs(draw: Draw, folder: Path) -> Callable[[], Any]:
    arrays = _arrays(draw)
    problem, given = LabelProblem.from_arrays(**arrays), _spoiled(draw, arrays, 0.1)
    uniforms = perhaps(draw, draw.random.random((2, *problem.leading, problem.n)), 0.2)
    direction = perhaps(draw, np.ones(problem.k), 0.2)
    method = perhaps(draw, draw.of(("exact", "trw", "mean_field", "loopy")), 0.2)
    chosen, costs = perhaps(draw, None, 0.2), perhaps(draw, None, 0.2)
    fix = perhaps(draw, draw.of((None, {0: 0})), 0.05)

    def call() -> None:
        gibbs(**given, fix=fix, method=method)
        found = gibbs(**given, uniforms=uniforms)
        _ = found.entropy
        found.covariance_product(direction)
        found.sample(uniforms)
        completions = found.completions(uniforms, chosen)
        completions.derivative(
            np.zeros((*completions.variables.shape, problem.k)) if costs is None else costs
        )

    return call


def _from_dimod(draw: Draw, folder: Path) -> Callable[[], Any]:
    model, sizes = (
        dimod.DiscreteQuadraticModel(),
        [draw.whole(1, 3) for _ in range(draw.whole(0, 4))],
    )
    for size in sizes:
        model.set_linear(model.add_variable(size), _scores(draw, (size,)))
    for i in range(1, len(sizes)):
        model.set_quadratic(0, i, _scores(draw, (sizes[0], sizes[i])))
    given = perhaps(draw, model, 0.3)

    def call() -> Any:
        conversion = from_dimod(given)
        return [(conversion.problem, solve(conversion.problem))]

    return call


def _from_factors(draw: Draw, folder: Path) -> Callable[[], Any]:
    sizes = [draw.whole(1, 3) for _ in range(3)]
    scopes = [draw.of(((), (0,), (1, 0), (0, 1, 2))) for _ in range(draw.whole(0, 3))]
    factors = [
        (
            perhaps(draw, scope, 0.1),
            perhaps(draw, _scores(draw, tuple(sizes[v] for v in scope)), 0.1),
        )
        for scope in scopes
    ]
    arguments = [perhaps(draw, sizes, 0.1), perhaps(draw, factors, 0.1)]
    options = {"sense": perhaps(draw, "minimise", 0.3), "constant": perhaps(draw, 1.0, 0.1)}
    make = draw.of((from_factors,) * 9 + (lambda sizes, factors, **options: from_pgmpy(sizes),))
    fix = perhaps(draw, {0: 0}, 0.5)

    def call() -> None:
        conversion = make(*arguments, **options)
        solve(conversion, fix=fix)

    return call


def _read(draw: Draw, folder: Path) -> Callable[[], Any]:
    name = draw.of(tuple(FILES))
    path = folder / (name if draw.chance(0.9) else "a")
    path.write_bytes(FILES[name] if draw.chance(0.2) else damaged(draw, FILES[name]))
    evidence = folder / "evidence"
    evidence.write_bytes(b"1 0 1\n" if draw.chance(0.3) else damaged(draw, b"1 0 1\n"))
    options = {
        "format": draw.of((None, None, *FORMATS)),
        "evidence": draw.of((None, evidence)),
        "max_bytes": 2**28,
    }

    def call() -> Any:
        conversion = read_problem(perhaps(draw, path, 0.05), **_spoiled(draw, options, 0.05))
        if conversion.problem.states > 1 << 12:
            return []
        return [(conversion.problem, solve(conversion, time_limit=1.0).solution)]

    return call


LABEL_CALLS: Final = {
    "labels.solve": (14, _solve),
    "labels.solve with more": (4, _solve_with),
    "labels.gibbs": (6, _gibbs),
    "labels.from_factors": (5, _from_factors),
    "labels.from_dimod": (3, _from_dimod),
    "labels.read_problem": (8, _read),
}
"""Weight and maker of each, by the name that the report gives it."""
