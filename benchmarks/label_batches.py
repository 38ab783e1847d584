"""Trees and grids of five labels in batch, beside a loop over toulbar2.

    pip install -e '.[toulbar2]'
    python benchmarks/label_batches.py --output results/label_batches.json

`solvers.labels.solve` has the batch in one call; pytoulbar2 has one network after the other, in the
same process, with costs to four decimals. Seconds are of CPU time, medians of rounds turn by turn,
one thread; the share of proofs is ours. Scores are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import networkx as nx
import numpy as np
import pytoulbar2

from solvers.labels import solve
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

DECIMALS = 4
TREE = 100
SIDE = 10


def drawn(name: str, batch: int, labels: int, seed: int) -> dict[str, Any]:
    """Normal scores over the pairs of a random tree, or of a grid with Potts scores or tables."""
    random = np.random.default_rng(seed)
    if name == "tree":
        edges = np.array([(random.integers(0, i), i) for i in range(1, TREE)])
    else:
        edges = np.array(nx.convert_node_labels_to_integers(nx.grid_2d_graph(SIDE, SIDE)).edges)
    unary = random.standard_normal((batch, TREE, labels))
    if name == "grid, Potts":
        scores = random.random((batch, len(edges)))
        tables = scores[..., None, None] * np.eye(labels)
    else:
        tables = random.standard_normal((batch, len(edges), labels, labels))
    return {"unary": unary, "pairwise": tables, "edges": edges}


def by_toulbar2(problem: dict[str, Any]) -> np.ndarray:
    """`[batch]`: the best scores, to so many decimals a table."""
    unary, pairwise, edges = problem["unary"], problem["pairwise"], problem["edges"]
    labels = unary.shape[-1]
    best = []
    for scores, tables in zip(unary, pairwise, strict=True):
        highest = [float(table.max()) for table in (*scores, *tables)]
        network = pytoulbar2.CFN(1e6, resolution=DECIMALS)
        for i, row in enumerate(scores):
            network.AddVariable(str(i), list(range(labels)))
            network.AddFunction([str(i)], (row.max() - row).tolist())
        for (i, j), table in zip(edges.tolist(), tables, strict=True):
            network.AddFunction([str(i), str(j)], (table.max() - table).ravel().tolist())
        network.Option.verbose = -1
        _, cost, _ = network.Solve()
        best.append(math.fsum(highest) - cost)
    return np.array(best)


def main() -> None:
    """Measures, prints and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    for name in ("tree", "grid, Potts", "grid, tables"):
        problem = drawn(name, options.batch, options.labels, 0)
        ours = solve(**problem)
        near = np.abs(ours.score - by_toulbar2(problem)).max()
        assert near < 10**-DECIMALS * (TREE + len(problem["edges"])), (name, near)
        times: dict[str, list[float]] = {"ours": [], "toulbar2": []}
        ways: dict[str, Callable[[], object]] = {
            "ours": partial(solve, **problem),
            "toulbar2": partial(by_toulbar2, problem),
        }
        for _ in range(options.rounds):
            for who, call in ways.items():
                begin = process_time()
                call()
                times[who].append(process_time() - begin)
        seconds = {who: median(values) for who, values in times.items()}
        rows[name] = {
            **seconds,
            "ratio": seconds["toulbar2"] / seconds["ours"],
            "proved": float(np.mean(ours.optimal)),
            "solver": ours.solver,
        }
        print(name, rows[name])
    record = {**environment(), "batch": options.batch, "labels": options.labels, "rows": rows}
    if options.output:
        with whole_file(options.output) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
