"""Measure how much longer the first call of a new process takes than the second one.

    python -m scripts.first_call --output results/first_call.json

Each kind of call has its own processes. Each process makes the same call twice. Times are medians
of CPU seconds over the processes of a kind.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

    from solvers import Solution

# The packages are imported in the functions that use them, since a process measures its imports.

KINDS: Final = {
    "three_bits": "3 bits",
    "grid": "grid of 10x10 bits",
    "cut": "minimum cut, grid of 64x64 bits",
    "dense": "60 bits, all pairs",
    "sparse": "200 bits, 400 random pairs",
    "label_chain": "chain of 50 labels, 5 values",
    "label_grid": "grid of 10x10 labels, 5 values",
    "local_search": "1,000 bits, all pairs, `local_search` for 2 s",
}
"""What each kind of call solves."""

SECONDS: Final = ("import", "first", "second")


def grid_edges(side: int) -> np.ndarray:
    """Return the pairs of neighbours of a square grid, `[e, 2]`."""
    import numpy as np

    numbers = np.arange(side * side).reshape(side, side)
    across = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def _bits(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return normal scores of bits and of pairs."""
    import numpy as np

    generator = np.random.default_rng(0)
    return generator.standard_normal(n), generator.standard_normal(len(edges))


def _labels(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return normal scores of five values and of their pairs."""
    import numpy as np

    generator = np.random.default_rng(0)
    return generator.standard_normal((n, 5)), generator.standard_normal((len(edges), 5, 5))


def _all_pairs(n: int) -> np.ndarray:
    import numpy as np

    return np.stack(np.triu_indices(n, 1), axis=1)


def _random_pairs(n: int, count: int) -> np.ndarray:
    import numpy as np

    ends = np.sort(np.random.default_rng(0).integers(0, n, (count, 2)), axis=1)
    edges = np.unique(ends, axis=0)
    return np.asarray(edges[edges[:, 0] < edges[:, 1]])


def prepared_call(kind: str) -> Callable[[], Solution[Any]]:
    """Return a call that solves the problem of a kind."""
    import numpy as np

    from solvers import labels, solve

    if kind == "three_bits":
        return lambda: solve([1.0, -2.0, 0.5], [[0, 3, -1], [0, 0, 0], [0, 0, 0]])
    if kind == "label_chain":
        edges = np.stack([np.arange(49), np.arange(1, 50)], axis=1)
        scores = _labels(50, edges)
        return lambda: labels.solve(*scores, edges=edges)
    if kind == "label_grid":
        edges = grid_edges(10)
        scores = _labels(100, edges)
        return lambda: labels.solve(*scores, edges=edges)
    if kind == "local_search":
        edges = _all_pairs(1000)
        scores = _bits(1000, edges)
        return lambda: solve(*scores, edges=edges, solver="local_search", time_limit=2)
    n, edges = {
        "grid": (100, grid_edges(10)),
        "cut": (4096, grid_edges(64)),
        "dense": (60, _all_pairs(60)),
        "sparse": (200, _random_pairs(200, 400)),
    }[kind]
    unary, pairwise = _bits(n, edges)
    if kind == "cut":  # pairs of at least 0
        pairwise = np.abs(pairwise)
    return lambda: solve(unary, pairwise, edges=edges)


def measured_here(kind: str) -> dict[str, Any]:
    """Return the CPU seconds of this process for imports and two calls, and the solver."""
    times = [time.process_time()]
    import solvers

    solvers.solve  # noqa: B018  # the package loads its modules when a name is first used
    times.append(time.process_time())
    call = prepared_call(kind)
    before = time.process_time()
    solution = call()
    first = time.process_time()
    call()
    second = time.process_time()
    return {
        "import": times[1] - times[0],
        "first": first - before,
        "second": second - first,
        "solver": solution.solver,
    }


def measured(kind: str, processes: int) -> dict[str, Any]:
    """Return medians of CPU seconds over new processes."""
    command = [sys.executable, "-m", "scripts.first_call", "--here", kind]
    rows = []
    for _ in range(processes):
        done = subprocess.run(  # noqa: S603  # this script
            command, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            raise SystemExit(f"{kind}: {done.stderr}")
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    times = {name: median(row[name] for row in rows) for name in SECONDS}
    return {"kind": kind, "problem": KINDS[kind], "solver": rows[0]["solver"]} | times


def main() -> None:
    """Print the table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=5, help="of each kind")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--here", choices=KINDS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.here:
        print(json.dumps(measured_here(chosen.here)))
        return
    from rich.console import Console
    from rich.table import Table

    from structured_vae.atomic import whole_file
    from structured_vae.environment import environment

    rows = [measured(kind, chosen.processes) for kind in KINDS]
    table = Table("problem", "solver", *(f"{name}, CPU s" for name in SECONDS), "first - second")
    for row in rows:
        cells = [f"{row[name]:.3f}" for name in SECONDS]
        difference = row["first"] - row["second"]
        table.add_row(row["problem"], row["solver"], *cells, f"{difference:.3f}")
    Console(width=120).print(table)
    if chosen.output:
        record = environment() | {"processes": chosen.processes, "rows": rows}
        with whole_file(chosen.output) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
