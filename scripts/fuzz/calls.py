"""The public calls: what each is given, good for the most part, so that a single fault gets deep."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import array_api_strict
import networkx as nx
import numpy as np
import torch

from models import load_pretrained
from solvers import (
    Failure,
    Problem,
    Solution,
    available_solvers,
    gibbs,
    prepare,
    solve,
    solve_many,
    solver_class,
    uniforms_shape,
)
from solvers.constraints import at_most, cardinality, implies, linear, one_of
from solvers.conversions import (
    Conversion,
    from_dimod,
    from_ising,
    from_max_cut,
    from_min_cut,
    from_networkx,
    from_qubo,
    to_ising,
    to_networkx,
    to_qubo,
)
from solvers.formats import FORMATS, read_problem
from solvers.labels import LabelProblem
from structured_vae import (
    Arborescences,
    ArgmaxLayer,
    Assignments,
    Knapsack,
    KOfN,
    Matchings,
    Paths,
    SpanningTrees,
    TrainConfig,
    grid_paths,
    load_dataset,
    load_vae,
)
from structured_vae.explorer.upload import read_upload

from .checkpoint_calls import CHECKPOINT_CALLS
from .crf_calls import CRF_CALLS
from .cut_calls import CUT_CALLS
from .draws import Draw
from .evidence_calls import EVIDENCE_CALLS
from .files import PLAIN, change, data_root, images_file, model_folder, picture, problem_file
from .label_calls import LABEL_CALLS
from .limit_calls import LIMIT_CALLS
from .masking_calls import MASKING_CALLS
from .plug_in_calls import PLUG_IN_CALLS
from .signal_calls import SIGNAL_CALLS
from .special_calls import SPECIAL_CALLS
from .table_calls import TABLE_CALLS
from .values import NAN, odd, perhaps
from .whole_calls import WHOLE_CALLS
from .written_calls import WRITTEN_CALLS

Claims: TypeAlias = list[tuple[Problem | LabelProblem, Solution]]
"""Problems with what was said of them."""

Call: TypeAlias = Callable[[], Claims | None]
"""Arguments in hand, ready to be called."""

FAST: Final = (
    *(
        "auto",
        "auto",
        "auto",
        "independent",
        "exhaustive",
        "max_flow",
        "branch_and_bound",
        "elimination",
    ),
    *("pymaxflow", "mini_buckets", "dual_ascent", "clique_cover"),
)
SLOW: Final = ("local_search", "cp_sat", "cplex", "highs", "cycle_cuts")


def _arrays(draw: Draw) -> tuple[dict[str, Any], int]:
    """Good arguments `unary`, `pairwise` and `edges` of any kind, and n."""
    n = draw.whole(1, 8) if draw.chance(0.95) else draw.whole(20, 30)
    leading = draw.of(((), (1,), (2,), (3,), (2, 3)))
    pairs = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = pairs[draw.random.random(len(pairs)) < draw.of((0.3, 1.0))]
    scale = draw.of((1.0, 1.0, 1e-12, 1e12, 1e300))
    unary, pairwise = (_scores(draw, (*leading, size)) * scale for size in (n, len(edges)))
    if draw.chance(0.3):
        pairwise = np.abs(pairwise)
    given: dict[str, Any] = {"unary": unary}
    form = draw.of(("edges", "edges", "matrix", "none"))
    if form == "edges":
        given |= {"pairwise": pairwise, "edges": edges}
    elif form == "matrix":
        matrix = np.zeros((*leading, n, n))
        matrix[..., edges[:, 0], edges[:, 1]] = pairwise
        given["pairwise"] = matrix
    kind = draw.of((_same, _same, _same, _lists, torch.from_numpy, _half, array_api_strict.asarray))
    return {name: value if name == "edges" else kind(value) for name, value in given.items()}, n


def _scores(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    if draw.chance(0.5):
        return draw.random.standard_normal(shape)
    return draw.random.integers(-2, 3, shape).astype(np.float64)


def _same(values: np.ndarray) -> np.ndarray:
    return values


def _lists(values: np.ndarray) -> Any:
    return values.tolist()


def _half(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values / (1 + np.abs(values).max(initial=0.0))).to(torch.bfloat16)


def _spoiled(draw: Draw, given: dict[str, Any], share: float = 0.2) -> dict[str, Any]:
    return {name: perhaps(draw, value, share) for name, value in given.items()}


def _problem(draw: Draw) -> Problem:
    return Problem.from_arrays(**_arrays(draw)[0])


def _solver(draw: Draw) -> Any:
    name = draw.of(FAST) if draw.chance(0.95) else draw.of(SLOW)
    if name != "auto" and draw.chance(0.3):
        return solver_class(name)()
    return name


ENDLESS = 5
"""Seconds that no call may be asked to search for."""


def _options(draw: Draw) -> dict[str, Any]:
    solver = _solver(draw)
    slow = getattr(solver, "name", solver) in SLOW
    limit = draw.of((0.05, 0.02)) if slow or draw.chance(0.2) else None
    given = {"solver": perhaps(draw, solver, 0.1), "time_limit": perhaps(draw, limit, 0.1)}
    if (
        slow
        and isinstance(given["time_limit"], int | float | np.number)
        and given["time_limit"] > ENDLESS
    ):
        given["time_limit"] = limit  # a heuristic searches as long as it is told
    return given


# --- solvers ------------------------------------------------------------------------------------


def _solve(draw: Draw, folder: Path) -> Call:
    given, options = _spoiled(draw, _arrays(draw)[0]), _options(draw)

    def call() -> Claims:
        solution = solve(**given, **options)
        if any(hasattr(value, "__next__") for value in given.values()):
            return []  # it is used up
        return [(Problem.from_arrays(**given), solution)]

    return call


def _solve_with(draw: Draw, folder: Path) -> Call:
    """`solve` with fixed variables, a start, several states, constraints or a callback: claims about fewer states."""
    given, n = _arrays(draw)
    options = _options(draw)
    values = draw.random.integers(-1, 2, n)
    more = {
        "fix": draw.of((values, values.tolist(), {0: 1}, {n - 1: 0})),
        "start": draw.random.integers(0, 2, n),
        "k_best": draw.whole(1, 4),
        "constraints": [
            draw.of((cardinality(1), at_most(2), one_of(range(n)), linear([0.1] * n, ">=", 0.2)))
        ],
    }
    if draw.chance(0.2):
        options["callback"] = perhaps(draw, lambda known: draw.chance(0.5), 0.3)
    options |= {name: perhaps(draw, value, 0.3) for name, value in more.items() if draw.chance(0.4)}

    def call() -> None:
        solve(**given, **options)

    return call


def _constraint(draw: Draw, folder: Path) -> Call:
    make, *arguments = draw.of(
        (
            (cardinality, 2),
            (at_most, 2, [0, 1]),
            (one_of, [0, 1]),
            (implies, 0, 1),
            (linear, [0.5, 1.0], "<=", 1.0),
        )
    )
    arguments = [perhaps(draw, argument, 0.4) for argument in arguments]

    def call() -> None:
        make(*arguments)

    return call


def _prepare(draw: Draw, folder: Path) -> Call:
    drawn, n = _arrays(draw)
    names = ("unary", "pairwise") if "edges" in drawn else ("unary",)  # a matrix has no place here
    given, options = _spoiled(draw, {name: drawn[name] for name in names}), _options(draw)
    edges, n = perhaps(draw, drawn.get("edges", []), 0.1), perhaps(draw, n, 0.05)

    def call() -> Claims:
        solution = prepare(edges, n, **options)(**given)
        if any(hasattr(value, "__next__") for value in (edges, *given.values())):
            return []  # it is used up
        listed = edges if given.get("pairwise") is not None else None
        return [(Problem.from_arrays(**given, edges=listed), solution)]

    return call


def _solve_problem(draw: Draw, folder: Path) -> Call:
    problem, options = perhaps(draw, _problem(draw), 0.15), _options(draw)

    def call() -> Claims:
        solution = solve(problem, **options)
        return [(problem, solution)] if isinstance(problem, Problem) else []

    return call


def _solve_many(draw: Draw, folder: Path) -> Call:
    problems = [perhaps(draw, _problem(draw), 0.15) for _ in range(draw.whole(0, 3))]
    stream, jobs, options = perhaps(draw, problems, 0.1), perhaps(draw, 1, 0.1), _options(draw)

    def call() -> Claims:
        answers = list(solve_many(stream, jobs=jobs, **options))
        for answer in answers:
            if isinstance(answer, Failure):
                raise answer.error
        return [(p, s) for p, s in zip(problems, answers, strict=False) if isinstance(s, Solution)]

    return call


def _with_options(draw: Draw, folder: Path) -> Call:
    solver = solver_class(draw.of([info.name for info in available_solvers() if info.installed]))()
    options = {name: odd(draw) for name in solver.options() if draw.chance(0.4)}
    problem = _problem(draw)

    def call() -> Claims:
        return [(problem, solver.with_options(**options).solve(problem, 0.02))]

    return call


def _gibbs(draw: Draw, folder: Path) -> Call:
    arrays, n = _arrays(draw)
    problem = Problem.from_arrays(**arrays)
    method = draw.of(("auto", "enumeration", "elimination")) if n <= 20 else "auto"
    try:
        uniforms = draw.random.random(uniforms_shape(problem, 2, method))
    except ValueError:
        uniforms = None
    given = _spoiled(draw, arrays, 0.1)
    options = {"uniforms": uniforms, "method": method, "threads": draw.of((None, 1, 2))}
    options = _spoiled(draw, options, 0.1)
    fix = perhaps(draw, draw.of((None, {0: 1}, {int(draw.random.integers(n)): 0})), 0.05)
    estimate = perhaps(draw, draw.of(("trw", "mean_field", "loopy")), 0.05)
    more, directions = perhaps(draw, uniforms), perhaps(draw, np.ones(n))

    # Exact sums over many pairs may take minutes.
    limit = draw.of((10.0, 10.0, 1e-3))

    def call() -> None:
        if n <= 40:  # passes over all pairs take long
            gibbs(problem, fix=fix, method=estimate)
        _ = gibbs(problem, fix=fix, time_limit=limit).entropy
        found = gibbs(**given, **options, time_limit=limit)
        found.sample(more)
        found.covariance_product(directions)

    return call


def _from_arrays(draw: Draw, folder: Path) -> Call:
    given = _spoiled(draw, _arrays(draw)[0], 0.4)

    def call() -> None:
        Problem.from_arrays(**given)

    return call


def _score(draw: Draw, folder: Path) -> Call:
    problem = _problem(draw)
    z = perhaps(draw, draw.random.integers(0, 2, (*problem.leading, problem.n)), 0.7)

    def call() -> None:
        problem.score(z)

    return call


# --- conversions --------------------------------------------------------------------------------

LABELS: Final = (
    "a",
    "b",
    0,
    1,
    2,
    -1,
    True,
    2.5,
    None,
    (),
    (0, 1),
    float("nan"),
    np.int64(1),
    b"c",
)


def _couplings(draw: Draw) -> Any:
    if draw.chance(0.4):
        return draw.random.integers(-2, 3, (3, 3)).astype(np.float64)
    labels = LABELS if draw.chance(0.5) else tuple(range(4))
    values = (lambda: odd(draw)) if draw.chance(0.1) else (lambda: draw.whole(-2, 2))
    pairs = {(draw.of(labels), draw.of(labels)): values() for _ in range(draw.whole(0, 6))}
    if draw.chance(0.1):
        pairs[draw.of(("ab", 1, (0, 1, 2), None))] = 1.0
    return pairs


def _claimed(convert: Callable[..., Conversion], *given: Any, **options: Any) -> Call:
    def call() -> Claims:
        conversion = convert(*given, **options)
        solution = solve(conversion.problem)
        conversion.assignment(solution.z)
        conversion.score(conversion.value(solution.score))
        return [(conversion.problem, solution)]

    return call


def _from_qubo(draw: Draw, folder: Path) -> Call:
    sense = perhaps(draw, draw.of(("minimise", "maximise")), 0.1)
    return _claimed(from_qubo, perhaps(draw, _couplings(draw)), sense)


def _from_ising(draw: Draw, folder: Path) -> Call:
    fields = draw.of((np.ones(3), {0: 1.0, "a": -1.0}, [0.5, 0.5, -1.0]))
    sense = perhaps(draw, "minimise", 0.1)
    return _claimed(from_ising, perhaps(draw, fields), perhaps(draw, _couplings(draw)), sense)


def _from_cut(draw: Draw, folder: Path) -> Call:
    edges = np.array([[0, 1], [1, 2], [0, 2], [3, 3]])
    n, pairs, weights = (perhaps(draw, good) for good in (4, edges, np.array([1.0, 2.0, 0.5, 3.0])))
    if draw.chance(0.5):
        return _claimed(from_max_cut, n, pairs, weights if draw.chance(0.7) else None)
    return _claimed(from_min_cut, n, pairs, weights, perhaps(draw, 0), perhaps(draw, 2))


def _from_networkx(draw: Draw, folder: Path) -> Call:
    graph = draw.of((nx.Graph, nx.DiGraph, nx.MultiGraph))()
    labels = [label for label in LABELS if label is not None]  # which no node may be
    for place in draw.random.permutation(len(labels))[:4]:
        graph.add_node(labels[place], unary=perhaps(draw, 1.0, 0.1))
    nodes = list(graph)
    for _ in range(3):
        graph.add_edge(draw.of(nodes), draw.of(nodes), pairwise=perhaps(draw, -2.0, 0.1))
    names = {name: perhaps(draw, name, 0.1) for name in ("unary", "pairwise")}
    return _claimed(from_networkx, perhaps(draw, graph), **names)


def _from_dimod(draw: Draw, folder: Path) -> Call:
    model = SimpleNamespace(
        vartype=SimpleNamespace(name=draw.of(("BINARY", "SPIN", "INTEGER"))),
        linear=perhaps(draw, {"a": 1.0, "b": -1.0}),
        quadratic=perhaps(draw, {("a", "b"): 2.0}),
        offset=perhaps(draw, 0.5),
    )
    return _claimed(from_dimod, perhaps(draw, model))


def _convert_to(draw: Draw, folder: Path) -> Call:
    convert = draw.of((to_qubo, to_ising, to_networkx))
    problem = _problem(draw)
    if draw.chance(0.8):
        problem = problem.to_host().instances(slice(0, 1))
    labels = draw.of((None, [str(i) for i in range(problem.n)], LABELS[: problem.n]))
    given = perhaps(draw, problem), perhaps(draw, labels)

    def call() -> None:
        convert(*given)

    return call


def _assignment(draw: Draw, folder: Path) -> Call:
    conversion = from_qubo({("a", "b"): 1.0, ("b", 3): -1.0})
    z = perhaps(draw, np.array([1, 0, 1]), 0.7)

    def call() -> None:
        conversion.assignment(z)

    return call


def _read_problem(draw: Draw, folder: Path) -> Call:
    path = perhaps(draw, problem_file(draw, folder), 0.05)
    options = {
        "format": draw.of((None, None, *FORMATS)),
        "max_bytes": draw.of((2**28, 2**28, 2**28, 100)),
    }
    return _claimed(read_problem, path, **_spoiled(draw, options, 0.05))


# --- structured_vae and models ------------------------------------------------------------------


COSTS: Final = (
    *(
        lambda z: z.sum(-1),
        lambda z: z.sum(-1).round(),
        lambda z: z.prod(-1),
        lambda z: z.sum(-1) * NAN,
    ),
    *(lambda z: z, lambda z: 1.0, lambda z: None),  # which are none
)


def _layer(draw: Draw, folder: Path) -> Call:
    options = {
        "solver": _solver(draw),
        "estimator": draw.of(("implicit_mle", "straight_through")),
        "epsilon": draw.of((None, 0.5, 1.0)),
        "seed": draw.of((0, None)),
    }
    arrays = {
        name: value
        if name == "edges"
        else torch.from_numpy(np.array(value, np.float32)).requires_grad_()
        for name, value in _arrays_small(draw).items()
    }
    if "edges" in arrays:
        arrays["edges"] = torch.from_numpy(arrays["edges"])
    arrays["generator"] = draw.of((None, torch.Generator()))
    given = _spoiled(draw, arrays, 0.08)
    good = draw.of(COSTS) if draw.chance(0.4) else None
    cost = perhaps(draw, good, 0.05)
    cost = good if callable(cost) else cost  # what another function raises is its own business
    options = _spoiled(draw, options, 0.05)
    coming = draw.of((1.0, 1.0, float("nan"), float("inf"), 1e38))

    def call() -> None:
        layer = ArgmaxLayer(**options)
        answer = layer(**given, cost=cost)
        loss = answer.surrogate.mean() if cost is not None else answer.sum()
        if loss.requires_grad:
            (loss * coming).backward()

    return call


def _structure(draw: Draw, folder: Path) -> Call:
    kinds: dict[Callable[..., Any], tuple[dict[str, Any], int]] = {
        KOfN: ({"k": 2, "least": 1}, 4),
        Knapsack: ({"weights": [1, 2, 3], "capacity": 4}, 3),
        Paths: ({"arcs": [[0, 1], [1, 2], [0, 2]], "source": 0, "target": 2}, 3),
        grid_paths: ({"rows": 2, "columns": 2}, 4),
        SpanningTrees: ({"edges": [[0, 1], [1, 2], [0, 2]]}, 3),
        Arborescences: ({"arcs": [[0, 1], [1, 2], [0, 2]], "root": 0}, 3),
        Assignments: ({"rows": 2, "columns": 3}, 6),
        Matchings: ({"rows": 2, "columns": 3}, 6),
    }
    make = draw.of(tuple(kinds))
    options, n = kinds[make]
    given = {"scores": torch.from_numpy(_scores(draw, (draw.whole(1, 3), n)))}
    options, given = _spoiled(draw, options, 0.3), _spoiled(draw, given, 0.1)

    def call() -> None:
        structure = make(**options)
        structure.argmax(**given)
        if hasattr(structure, "gibbs"):
            p = structure.gibbs(**given)
            _ = p.log_partition, p.marginals, p.sample(torch.Generator().manual_seed(0))

    return call


def _arrays_small(draw: Draw) -> dict[str, Any]:
    n, batch = draw.whole(1, 6), draw.whole(1, 3)
    given: dict[str, Any] = {"unary": _scores(draw, (batch, n))}
    if draw.chance(0.7):
        pairs = np.stack(np.triu_indices(n, 1), axis=-1)
        given |= {"pairwise": _scores(draw, (batch, len(pairs))), "edges": pairs}
    return given


def _train_config(draw: Draw, folder: Path) -> Call:
    known = TrainConfig().to_dict()
    changed = [name for name in known if draw.chance(0.1)]
    options = {name: draw.of((known[name], odd(draw), draw.of(PLAIN))) for name in changed}

    def call() -> None:
        TrainConfig(**options).title  # noqa: B018  # a property

    return call


def _from_dict(draw: Draw, folder: Path) -> Call:
    values: Any = TrainConfig().to_dict()
    for _ in range(draw.whole(1, 3)):
        change(draw, values)
    if draw.chance(0.3):
        values[draw.of([*values, "x"])] = odd(draw)
    if draw.chance(0.1):
        values = odd(draw)

    def call() -> None:
        TrainConfig.from_dict(values)

    return call


def _load_dataset(draw: Draw, folder: Path) -> Call:
    options: dict[str, Any] = {
        "binarisation": draw.of((None, "none", "static", "dynamic", "threshold"))
    }
    if draw.chance(0.6):
        name: Any = str(images_file(draw, folder))
    else:
        name = draw.of(("mnist", "fashion-mnist", "omniglot", "celeba"))
        options["root"] = data_root(draw, folder)
    name, options = perhaps(draw, name, 0.1), _spoiled(draw, options, 0.1)

    def call() -> None:
        load_dataset(name, **options)

    return call


def _load_vae(draw: Draw, folder: Path) -> Call:
    run = perhaps(draw, model_folder(draw, folder, "run"), 0.1)
    which = perhaps(draw, draw.of(("best", "last")), 0.1)

    def call() -> None:
        load_vae(run, which)

    return call


def _load_pretrained(draw: Draw, folder: Path) -> Call:
    exported = perhaps(draw, model_folder(draw, folder, "exported"), 0.1)

    def call() -> None:
        load_pretrained(exported)

    return call


def _read_upload(draw: Draw, folder: Path) -> Call:
    content = picture(draw, folder)

    def call() -> None:
        read_upload(content, (28, 28), "threshold")

    return call


CALLS: Final[dict[str, tuple[int, Callable[[Draw, Path], Call]]]] = {
    "solve": (16, _solve),
    "solve with more": (8, _solve_with),
    "constraints": (3, _constraint),
    "prepare": (4, _prepare),
    "solve a problem": (4, _solve_problem),
    "solve_many": (4, _solve_many),
    "with_options": (3, _with_options),
    "gibbs": (8, _gibbs),
    "Problem.from_arrays": (16, _from_arrays),
    "Problem.score": (4, _score),
    "from_qubo": (5, _from_qubo),
    "from_ising": (5, _from_ising),
    "from_max_cut, from_min_cut": (6, _from_cut),
    "from_networkx": (4, _from_networkx),
    "from_dimod": (2, _from_dimod),
    "to_qubo, to_ising, to_networkx": (3, _convert_to),
    "Conversion": (2, _assignment),
    "read_problem": (16, _read_problem),
    "ArgmaxLayer": (10, _layer),
    "structures": (6, _structure),
    "TrainConfig": (4, _train_config),
    "TrainConfig.from_dict": (4, _from_dict),
    "load_dataset": (6, _load_dataset),
    "load_vae": (4, _load_vae),
    "load_pretrained": (4, _load_pretrained),
    "read_upload": (4, _read_upload),
    **LABEL_CALLS,
    **CRF_CALLS,
    **LIMIT_CALLS,
    **EVIDENCE_CALLS,
    **MASKING_CALLS,
    **CUT_CALLS,
    **TABLE_CALLS,
    **PLUG_IN_CALLS,
    **SIGNAL_CALLS,
    **SPECIAL_CALLS,
    **CHECKPOINT_CALLS,
    **WRITTEN_CALLS,
    **WHOLE_CALLS,
}
"""Weight and maker of each, by the name that the report gives it."""


def drawn_name(draw: Draw) -> str:
    """Draw the name of a call."""
    weights = np.array([weight for weight, _ in CALLS.values()])
    return list(CALLS)[int(draw.random.choice(len(weights), p=weights / weights.sum()))]


def made(draw: Draw, folder: Path) -> tuple[str, Call]:
    """A call, with its name."""
    name = drawn_name(draw)
    with warnings.catch_warnings(action="ignore"):  # of what is made, not of what is tested
        return name, CALLS[name][1](draw, folder)
