"""`auto` beside every backend that applies: by what factor its choice loses to the best of them.

    python benchmarks/regret.py --seconds 10 --output results/regret.json

Forty families of `families.py` at three sizes, one instance each, one thread. A row is written when
it ends, so that the same command goes on where it was stopped. What is compared is CPU time where
something was proved, else the gap that is left within the limit; the regret of `auto` is its
factor, once to our own backends and once to third parties' too. Times below 10 ms count as equal.
Backends that know no limit are left out where they took much longer.

Limits are of CPU time: on a busy machine those of the clock are longer by what the calls before
took of it, and who had much less is asked again. Nobody finds what another has worked out about the
pairs, and of short proofs the quickest of three counts.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.families import FAMILIES
from benchmarks.interleaved import on_cores
from solvers import (
    ArgmaxSolver,
    Problem,
    SolverError,
    available_solvers,
    instances,
    select_solver,
    solver_class,
)
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

LEAST = 0.01
"""Seconds below which times are equal."""

TOLERATED = 2.0
"""A regret up to this is none."""

LATE = 1.25
"""Times the limit: what a backend that knows no limit proves later was not to be had within it."""

TRIES, SHORT = 3, 0.3
"""At most, and seconds of CPU time in which a proof is tried again."""

ENOUGH = 0.8
"""Share of the limit in CPU time below which an answer without a proof is tried again."""

TELLING, MOST_STRETCHED = 0.2, 20.0
"""Seconds from which on a call tells how busy the machine is, and how much longer a limit becomes for it, at most."""

THIRD_PARTIES = ("cplex", "cp_sat", "highs")
"""Backends whose search is not ours."""

Row = dict[str, Any]


def of_one_thread(solver: ArgmaxSolver) -> ArgmaxSolver:
    """The solver with one thread, where it has such an option."""
    return solver.with_options(threads=1) if "threads" in solver.options() else solver


@dataclass
class Pace:
    """How much longer than its CPU time a call takes on this machine.

    Attributes:
        stretch: a factor, of the last call that was long enough to tell.
    """

    stretch: float = 1.0

    def take(self, elapsed: float, cpu: float) -> None:
        """Notes a call of so many seconds of the clock and of CPU time."""
        if elapsed >= TELLING:
            self.stretch = min(max(elapsed / max(cpu, 1e-3), 1.0), MOST_STRETCHED)


def answer(
    choose: Callable[[Problem], ArgmaxSolver], problem: Problem, seconds: float, pace: Pace
) -> Row:
    """What a solver reaches within the limit; of several tries the quickest proof, else that of the most CPU time."""
    rows: list[Row] = []
    while len(rows) < TRIES and not (rows and _is_enough(rows, seconds)):
        rows.append(_once(choose, unknown(problem), seconds, pace))
    proofs = [row for row in rows if row.get("proved")]
    if proofs:
        return min(proofs, key=lambda row: row["seconds"])
    return max(rows, key=lambda row: row.get("seconds", 0.0))


def unknown(problem: Problem) -> Problem:
    """The same problem, of whose pairs nothing has been worked out yet."""
    return Problem.over(copy(problem.topology), problem.unary, problem.pairwise)


def _is_enough(rows: list[Row], seconds: float) -> bool:
    last = rows[-1]
    if "refused" in last:
        return True
    if last["proved"]:
        return sum(row["seconds"] for row in rows) >= SHORT
    return last["seconds"] >= ENOUGH * seconds


def _once(
    choose: Callable[[Problem], ArgmaxSolver], problem: Problem, seconds: float, pace: Pace
) -> Row:
    """One try; the score is that of the state, re-computed."""
    begin, clock = time.process_time(), time.monotonic()
    try:
        solver = of_one_thread(choose(problem))
        limit = seconds * pace.stretch if solver.capabilities.time_limit else None
        solution = solver.solve(problem, limit)
    except SolverError as error:
        return {"refused": str(error).splitlines()[0]}
    taken = time.process_time() - begin
    pace.take(time.monotonic() - clock, taken)
    return {
        "seconds": taken,
        "score": float(problem.score(solution.z)[0]),
        "bound": float(solution.bound[0]),
        "proved": bool(solution.optimal[0]),
        "solver": solution.solver,
    }


def contenders(problem: Problem) -> dict[str, ArgmaxSolver]:
    """Every backend of ours that takes the problem, third parties among them."""
    solvers = {
        info.name: solver_class(info.name)() for info in available_solvers() if info.installed
    }
    return {name: solver for name, solver in solvers.items() if not solver.why_not(problem)}


def measured(name: str, size: int, seconds: float, pace: Pace) -> Row:
    """All contenders on one instance of a family; `auto` is the choice and then its solver."""
    problem = FAMILIES[name][1](size, np.random.default_rng(size))
    answers = {"auto": answer(lambda given: select_solver(given).solver, problem, seconds, pace)}
    for each, solver in contenders(problem).items():
        answers[each] = answer(lambda _, solver=solver: solver, problem, seconds, pace)
    selection = select_solver(problem)
    return {
        "n": problem.n,
        "e": problem.e,
        "limit": seconds,
        "took": answers["auto"].get("solver", selection.solver.name),
        "reason": selection.reason,
        "answers": answers,
    }


def compared(row: Row, third_parties: bool) -> dict[str, Row]:
    """What other backends answered within the limit, about."""
    latest = LATE * row["limit"]
    return {
        name: each
        for name, each in row["answers"].items()
        if name != "auto"
        and "refused" not in each
        and each["seconds"] <= latest
        and (third_parties or name not in THIRD_PARTIES)
    }


def factor(row: Row, third_parties: bool = False) -> float:
    """By what factor `auto` is worse than the best: in seconds to a proof, else in the gap that is left."""
    auto = row["answers"]["auto"]
    answers = [auto, *compared(row, third_parties).values()]
    if "refused" in auto:
        return math.inf
    proofs = [max(each["seconds"], LEAST) for each in answers if each["proved"]]
    if proofs:
        return max(auto["seconds"], LEAST) / min(proofs) if auto["proved"] else math.inf
    best = max(each["score"] for each in answers)
    return max(1.0, (auto["bound"] - best) / min(each["bound"] - best for each in answers))


def best(row: Row, third_parties: bool = True) -> str:
    """Who else proved it first, or left the smallest gap."""
    answers = compared(row, third_parties)

    def order(name: str) -> tuple[bool, float]:
        each = answers[name]
        return (not each["proved"], each["seconds"] if each["proved"] else each["bound"])

    return min(answers, key=order)


def missed(row: Row) -> bool:
    """Whether `auto` ended below a score that another reached."""
    scores = [each["score"] for each in row["answers"].values() if "score" in each]
    return row["answers"]["auto"].get("score", -math.inf) < max(scores) - 1e-9 * max(
        1.0, abs(max(scores))
    )


def summary(rows: dict[str, Row]) -> Table:
    """A line a row: who is best, what `auto` took, its regret."""
    table = Table("family", "n", "auto took", "s", "proved", "best", "s", "regret", "to ours")
    for name, row in rows.items():
        auto, first = row["answers"]["auto"], best(row)
        answers = row["answers"]
        lost = (
            f"{factor(row, True):.2g}" + (", score missed" if missed(row) else ""),
            f"{factor(row):.2g}",
        )
        seconds = f"{auto['seconds']:.2f}", str(auto.get("proved", auto.get("refused")))
        best_seconds = f"{answers[first]['seconds']:.2f}" if answers[first]["proved"] else "open"
        table.add_row(name, str(row["n"]), row["took"], *seconds, first, best_seconds, *lost)
    return table


def main(arguments: list[str] | None = None) -> None:
    """Measures what is missing, writing each row as it ends, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each solver")
    parser.add_argument("--only", default="", help="a regular expression on names of families")
    parser.add_argument(
        "--sizes", type=int, default=3, help="how many of each family, from the smallest"
    )
    parser.add_argument("--output", type=Path, default=Path("results/regret.json"))
    options = parser.parse_args(arguments)
    record = (
        json.loads(options.output.read_text("utf-8")) if options.output.exists() else {"rows": {}}
    )
    rows = record["rows"]
    load_backends(min(options.seconds, 2.0))
    pace = Pace()
    for name, (sizes, _) in FAMILIES.items():
        for size in sizes[: options.sizes]:
            if f"{name}, {size}" in rows or not re.search(options.only, name):
                continue
            with on_cores(1):
                rows[f"{name}, {size}"] = (
                    measured(name, size, options.seconds, pace) | environment()
                )
            with whole_file(options.output) as part:
                part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    console = Console(width=130)
    console.print(summary(rows))
    console.print(f"{kept(rows, False)}, third parties included {kept(rows, True)}")


def kept(rows: dict[str, Row], third_parties: bool) -> str:
    """On how many families the regret of `auto` is tolerable."""
    families = by_family(rows).values()
    within = sum(all(factor(row, third_parties) <= TOLERATED for row in of) for of in families)
    return f"within {TOLERATED:g} times the best on {within} of {len(families)} families"


def by_family(rows: dict[str, Row]) -> dict[str, list[Row]]:
    """The rows of each family."""
    families: dict[str, list[Row]] = {}
    for name, row in rows.items():
        families.setdefault(name.rpartition(", ")[0], []).append(row)
    return families


def load_backends(seconds: float) -> None:
    """Solves a small problem with every backend, so that no loading of packages is timed."""
    problem = instances.spin_glass(5, 5, 1, np.random.default_rng(0)).problem()
    for solver in contenders(problem).values():
        of_one_thread(solver).solve(problem, seconds if solver.capabilities.time_limit else None)


if __name__ == "__main__":
    main()
