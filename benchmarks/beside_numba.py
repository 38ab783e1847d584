"""Compare the kernels with those that numba compiled, by public calls of two checkouts.

    git clone . ../old && git -C ../old checkout c4d2cb05
    pip install --target ../numba numba==0.68.1
    OMP_NUM_THREADS=1 python benchmarks/beside_numba.py --old ../old --numba ../numba \
        --output results/beside_numba.json

Two processes take turns on each task of `numba_worker.py`, one with this checkout and one with the
old one. Times are CPU time, on one thread. A ratio is our time over numba's: below 1, ours is
faster. The ratio of a task is the median over rounds, each of which compares two turns that follow
each other. Both must find the same results.

Ours at level 3 of x86-64 needs kernels that are built for it:

    pip wheel --no-deps --config-settings=cmake.define.KERNEL_LEVELS='3;4' .

`--kernels FOLDER` names the folder with these modules, if it is not that of the checkout.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console
from rich.table import Table

from structured_vae.atomic import whole_file
from structured_vae.environment import environment

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "benchmarks" / "numba_worker.py"
AGREE = 1e-9


class Worker:
    """A process that times calls of one checkout.

    Attributes:
        results: by task, a number that both checkouts must find.
    """

    def __init__(self, checkout: Path, only: str, variables: Mapping[str, str]) -> None:
        """Start the process, and wait until it has run each task that matches `only` once."""
        command = [sys.executable, str(WORKER), str(checkout.resolve()), only]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        self.results: dict[str, float] = json.loads(self._line())

    def microseconds(self, task: str, seconds: float) -> float:
        """Return the mean time per call, in calls for at least these seconds."""
        assert self._process.stdin is not None
        print(json.dumps([task, seconds]), file=self._process.stdin, flush=True)
        return float(self._line())

    def end(self) -> None:
        """End the input of the process, and wait for it."""
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("a worker has ended; its error is above")
        return line


def check_agreement(ours: Mapping[str, float], others: Mapping[str, float]) -> None:
    """Raise AssertionError if two checkouts find different results of a task."""
    for task, result in ours.items():
        assert math.isclose(result, others[task], rel_tol=AGREE, abs_tol=AGREE), task


def summary(turns: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return the median times of ours and of numba's, and the median ratio of paired turns."""
    ours = [turn[0] for turn in turns]
    others = [turn[1] for turn in turns]
    return {
        "ours": statistics.median(ours),
        "numba": statistics.median(others),
        "ratio": statistics.median(one / other for one, other in turns),
    }


def mean_ratio(rows: Mapping[str, Mapping[str, float]]) -> float:
    """Return the geometric mean of the ratios."""
    return statistics.geometric_mean(row["ratio"] for row in rows.values())


def paired(
    ours: Worker, others: Worker, tasks: Sequence[str], rounds: int, seconds: float
) -> dict[str, dict[str, float]]:
    """Return the summary of each task; numba's kernels run first in odd rounds."""
    turns: dict[str, list[tuple[float, float]]] = {task: [] for task in tasks}
    for number in range(rounds):
        for task in tasks:
            if number % 2:
                other = others.microseconds(task, seconds)
                one = ours.microseconds(task, seconds)
            else:
                one = ours.microseconds(task, seconds)
                other = others.microseconds(task, seconds)
            turns[task].append((one, other))
    return {task: summary(pairs) for task, pairs in turns.items()}


def variables_of(level: int, chosen: argparse.Namespace) -> tuple[dict[str, str], dict[str, str]]:
    """Return the environment variables of our worker and of numba's at a level of x86-64."""
    ours = {"STRUCTURED_VAE_KERNELS": str(level)}
    if chosen.kernels is not None:
        ours["STRUCTURED_VAE_KERNEL_FOLDER"] = str(chosen.kernels.resolve())
    numbas = {"NUMBA_CPU_NAME": f"x86-64-v{level}"}
    if chosen.numba is not None:
        numbas["PYTHONPATH"] = str(chosen.numba.resolve())
    return ours, numbas


def measured(level: int, chosen: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the summaries of all tasks at a level."""
    for_ours, for_numba = variables_of(level, chosen)
    ours = Worker(ROOT, chosen.only, for_ours)
    others = Worker(chosen.old, chosen.only, for_numba)
    try:
        check_agreement(ours.results, others.results)
        return paired(ours, others, list(ours.results), chosen.rounds, chosen.seconds)
    finally:
        ours.end()
        others.end()


def main(arguments: list[str] | None = None) -> None:
    """Print the ratios and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, required=True, help="checkout of c4d2cb05")
    parser.add_argument("--numba", type=Path, help="folder with numba, for the old checkout alone")
    parser.add_argument("--kernels", type=Path, help="folder with our modules of each level")
    parser.add_argument("--levels", type=int, nargs="+", default=[4, 3])
    parser.add_argument("--only", default="", help="regular expression for names of tasks")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.05, help="least CPU time of a turn")
    parser.add_argument("--output", type=Path, default=Path("results/beside_numba.json"))
    chosen = parser.parse_args(arguments)
    levels = {str(level): measured(level, chosen) for level in chosen.levels}
    record = {
        **environment(),
        "rounds": chosen.rounds,
        "seconds": chosen.seconds,
        "microseconds": levels,
        "mean_ratio": {level: mean_ratio(rows) for level, rows in levels.items()},
    }
    with whole_file(chosen.output) as unfinished:
        unfinished.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    table = Table("task", *(f"ratio at v{level}" for level in levels))
    for task in next(iter(levels.values())):
        table.add_row(task, *(f"{rows[task]['ratio']:.2f}" for rows in levels.values()))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
