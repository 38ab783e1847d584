"""`auto` beside other people's solvers on problems that the library was not tuned on.

    STRUCTURED_VAE_DATA=... python benchmarks/outside.py --seconds 5 --output results/outside.json

Ten well-known problems (`outside_cases.py`), two instances of each of twenty families from
published generators (`outside_families.py`), and two of each of eight families of cliques,
independent sets, packings and covers (`outside_cliques.py`). Each has the same limit for `auto`,
SCIP, HiGHS, CP-SAT, Gurobi within its free size, toulbar2, dwave's tabu search and MQLib, whose
executable must be on the path. What is not installed is left out. Each call has a process of its own and one core;
values are recomputed, and who claims a proof or bound that another's value refutes is named.

Limits are of CPU time; to solvers that know only the clock, they are longer on a busy machine by
what the call before took of it, and who had much less is asked again. A row is written when it
ends, so that the same command resumes; `--peers` asks others of the rows that are there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import shutil
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import on_cores
from benchmarks.outside_cases import CASES
from benchmarks.outside_cliques import CLIQUES
from benchmarks.outside_families import GENERATED, Family, Instance
from benchmarks.outside_losses import all_losses, answer_shown, table_rows, wrong
from benchmarks.outside_peers import NAMES, PACKAGES, answer, takes
from benchmarks.regret import ENOUGH, TRIES, Pace
from solvers import available_solvers, solver_class
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

FAMILIES: dict[str, Family] = CASES | GENERATED | CLIQUES

OVERTIME = 60.0
"""Seconds of the clock beyond four times the limit, after which a process is ended."""

CPU_CLOCK = ("SCIP", "Gurobi", "toulbar2")
"""Solvers that count CPU time themselves."""

Row = dict[str, Any]


def drawn(family: str, size: int) -> Instance:
    """The same instance for the same name and size."""
    return FAMILIES[family].draw(size, np.random.default_rng(size))


def instances() -> list[tuple[str, str, int]]:
    """The name of every instance, its family and its size."""
    return [
        (family if family in CASES else f"{family}, {size}", family, size)
        for family, kind in FAMILIES.items()
        for size in kind.sizes
    ]


def ask(family: str, size: int, name: str, seconds: float) -> Row:
    """The answer of a solver, after those to small problems, so that no loading is timed."""
    with on_cores(1):
        for kind, small in WARM_UPS:
            easy = drawn(kind, small)
            if takes(easy, name):
                answer(easy, name, 1.0)
        begin = time.monotonic()
        found = answer(drawn(family, size), name, seconds)
        return found | {"wall": time.monotonic() - begin}


WARM_UPS = (
    ("bipartite quadratic bits", 25),
    ("combinatorial auction", 25),
    ("quadratic knapsack", 40),
    ("planted 3-colouring", 30),
    ("frequency assignment", 14),
)
"""Families and sizes of small problems of every kind."""


def in_a_process(family: str, size: int, name: str, seconds: float) -> Row:
    """The answer from a process of its own, so that a crash or a late end costs one row."""
    method = "fork" if sys.platform == "linux" else "spawn"  # a fork has all packages loaded
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        waiting = pool.apply_async(ask, (family, size, name, seconds))
        try:
            return dict(waiting.get(4 * seconds + OVERTIME))
        except multiprocessing.TimeoutError:
            return {"failed": f"had to be ended after {4 * seconds + OVERTIME:.0f} s"}
        except Exception as error:  # of a solver, which is a result
            return {"failed": f"{type(error).__name__}: {error}"[:200]}


def measured(family: str, size: int, name: str, seconds: float, pace: Pace) -> Row:
    """The answer within the limit; who had much less CPU time than the limit is asked again."""
    rows: list[Row] = []
    while len(rows) < TRIES and not (rows and _is_enough(rows[-1], seconds)):
        stretch = 1.0 if name in CPU_CLOCK else pace.stretch
        rows.append(in_a_process(family, size, name, seconds * stretch))
        pace.take(rows[-1].get("wall", 0.0), rows[-1].get("seconds", 0.0))
    return max(rows, key=lambda row: row.get("seconds", 0.0))


def _is_enough(row: Row, seconds: float) -> bool:
    return "value" not in row or row["proved"] or row["seconds"] >= ENOUGH * seconds


def load_packages() -> None:
    """Loads every installed solver, so that forked processes have it."""
    for info in available_solvers():
        if info.installed:
            solver_class(info.name)
    for info in available_solvers("labels"):
        if info.installed:
            solver_class(info.name, "labels")
    for package in ("cplex", *PACKAGES.values()):
        if is_here(package):
            import_module(package)


def is_here(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it belongs to
        return False


def is_installed(name: str) -> bool:
    """Whether a solver can be asked."""
    if name in PACKAGES:
        return is_here(PACKAGES[name])
    return name == "auto" or shutil.which(name) is not None


def described(instance: Instance, family: str) -> Row:
    """What a row says of its instance."""
    problem = instance.problem
    return {
        "family": family,
        "source": FAMILIES[family].source,
        "n": problem.n,
        "pairs": problem.e,
        "values": getattr(problem, "k", 2),
        "constraints": len(instance.constraints),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measures what is missing, prints tables and losses; returns the number of false claims."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="limit of each solver")
    parser.add_argument("--only", default="", help="a regular expression on names of instances")
    parser.add_argument("--peers", default="", help="a regular expression on names of solvers")
    parser.add_argument("--output", type=Path, default=Path("results/outside.json"))
    options = parser.parse_args(arguments)
    new = {**environment(), "limit": options.seconds, "rows": {}}
    record = json.loads(options.output.read_text("utf-8")) if options.output.exists() else new
    rows, pace, console = record["rows"], Pace(), Console(width=150)
    names = [name for name in NAMES if re.search(options.peers, name) and is_installed(name)]
    load_packages()
    for instance_name, family, size in instances():
        if not re.search(options.only, instance_name):
            continue
        instance = drawn(family, size)
        about = described(instance, family) | {"limit": options.seconds, "answers": {}}
        row = rows.setdefault(instance_name, about)
        for name in names:
            if name in row["answers"] or not takes(instance, name):
                continue
            row["answers"][name] = measured(family, size, name, options.seconds, pace)
            console.print(f"{instance_name}: {name} {answer_shown(row, name)}", highlight=False)
        with whole_file(options.output) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return report(rows, console)


def report(rows: dict[str, Row], console: Console) -> int:
    """Prints what was reached and lost; returns the number of false claims."""
    table = Table("instance", "size", "auto", "by", "best peer", "who")
    for line in table_rows(rows):
        table.add_row(*line)
    console.print(table)
    for loss in all_losses(rows):
        console.print(
            f"{loss.kind}: {loss.instance}, {loss.ours}; {loss.peer} {loss.theirs}", highlight=False
        )
    false = [f"{name}: {peer}" for name, row in rows.items() for peer in wrong(row)]
    for line in false:
        console.print(f"FALSE CLAIM: {line}", highlight=False)
    return len(false)


if __name__ == "__main__":
    sys.exit(min(main(), 100))
