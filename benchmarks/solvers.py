"""Our backends and other people's solvers on the same problems: one table, one process, turn by turn.

    pip install -e '.[cplex,benchmarks]'
    python benchmarks/solvers.py --output results/solvers.json

Times are medians in microseconds an instance, from arrays to a checked answer, with the model built
anew. Peers that are not installed are skipped with a line that says so; those that reach
`--peer_seconds` an instance show how far off they are. Scores are summed anew from the assignments.
No solver may beat an optimum that ours proved; a peer's false proofs are counted. With `--only` the
rows of an existing output are updated.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# started by its path: this folder, with its solvers.py, would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import Contender, medians, on_cores
from benchmarks.peers import PEERS, Answer, Peer
from benchmarks.tasks import Measured, Task, all_tasks
from solvers import ArgmaxSolver, Problem, Solution, solve, solver_class
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

THREADS = (1, 2)
WARM_UP, TURN_SECONDS = 1, 0.005
AGREE = 1e-6
"""Relative: MIP solvers and toulbar2 work with tolerances and decimals."""
PEER_PACKAGES = ("docplex", "pyscipopt", "pytoulbar2", "dimod", "dwave-samplers")
COLUMNS = (
    "task",
    "system",
    "1 thread",
    "2 threads",
    "ratio",
    "proved",
    "gap",
    "bound gap",
    "goal",
    "met",
)


@dataclass
class Ours:
    """One of our backends on a whole batch."""

    task: Task
    name: str
    threads: int
    seconds: float
    answer: Solution | None = None

    def __call__(self) -> None:
        """Solves; the last answer stays."""
        drawn = self.task.drawn
        solver = _backend(self.name, self.threads)
        limit = self.seconds if _stops(self.name) else None
        arrays = (drawn.unary, drawn.pairwise)
        with on_cores(self.threads):
            self.answer = solve(*arrays, edges=drawn.edges, solver=solver, time_limit=limit)

    @property
    def instances(self) -> int:
        """How many it gets."""
        return len(self.task.drawn.unary)

    def scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, bounds and proofs `[instances]` of the last answer."""
        assert self.answer is not None
        return self.answer.score, self.answer.bound, self.answer.optimal


@dataclass
class Theirs:
    """A peer on the first instances: all in one call where it has one for that, else one by one."""

    task: Task
    peer: Peer
    threads: int
    seconds: float
    answers: list[Answer] = field(default_factory=list)

    def __call__(self) -> None:
        """Solves; the last answers stay. Our checks of the problems are made before, and no part of the peer's time."""
        problems = self.problems
        with on_cores(self.threads):
            if self.peer.together is not None:
                self.answers = self.peer.together(problems)
            else:
                self.answers = [
                    self.peer.solve(one, self.seconds, self.threads) for one in problems
                ]

    @property
    def instances(self) -> int:
        """How many it gets."""
        return min(self.task.peer_instances, len(self.task.drawn.unary))

    @cached_property
    def problems(self) -> list[Problem]:
        """The instances, each a problem of its own."""
        drawn = self.task.drawn
        pairs = zip(drawn.unary[: self.instances], drawn.pairwise[: self.instances], strict=True)
        return [
            Problem.from_arrays(unary[None], pairwise[None], edges=drawn.edges)
            for unary, pairwise in pairs
        ]

    def scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, bounds and proofs `[instances]` of the last answers."""
        pairs = zip(self.problems, self.answers, strict=True)
        score = np.array(
            [float(problem.score_flat(answer.z[None])[0]) for problem, answer in pairs]
        )
        bound = np.array([answer.bound for answer in self.answers])
        return score, bound, np.array([answer.proved for answer in self.answers])


def _backend(name: str, threads: int) -> str | ArgmaxSolver:
    """With as many threads, where it takes an option for that."""
    if name == "auto":
        return name
    solver = solver_class(name)
    return (
        solver(threads=threads)
        if "threads" in getattr(solver, "__dataclass_fields__", {})
        else solver()
    )


def _stops(name: str) -> bool:
    return name not in ("exhaustive", "max_flow", "elimination", "independent", "local_search")


def run(
    task: Task,
    peers: list[Peer],
    rounds: int,
    own_seconds: float,
    peer_seconds: float,
    patience: float,
) -> dict[str, Measured]:
    """Everybody's results on a task, ours first; raises AssertionError where scores contradict a proof."""
    contenders: dict[tuple[str, int], Ours | Theirs] = {}
    for threads in THREADS:
        for name in task.ours:
            contenders[name, threads] = Ours(task, name, threads, own_seconds)
        for peer in peers:
            if threads == 1 or peer.parallel:
                contenders[peer.name, threads] = Theirs(task, peer, threads, peer_seconds)
    for (_, threads), call in contenders.items():
        if isinstance(call, Ours) and threads == 1:
            call()  # compiles; patience is for what comes after
    calls: dict[str, Contender] = {
        f"{name}/{threads}": call for (name, threads), call in contenders.items()
    }
    times = medians(calls, rounds, WARM_UP, turn_seconds=TURN_SECONDS, seconds=patience)
    best = _best_scores(contenders.values(), len(task.drawn.unary))
    results = {}
    for name in (*task.ours, *(peer.name for peer in peers)):
        mine = {
            threads: contenders[name, threads]
            for threads in THREADS
            if (name, threads) in contenders
        }
        microseconds = {
            threads: 1000 * times[f"{name}/{threads}"] / call.instances
            for threads, call in mine.items()
        }
        results[name] = _measured(name in task.ours, microseconds, mine[1], best)
    return results


def _best_scores(contenders: Iterable[Ours | Theirs], batch: int) -> np.ndarray:
    """Return the best score of each instance, `[batch]`; no score may exceed one that ours proved."""
    best = np.full(batch, -np.inf)
    everyone = list(contenders)
    for call in everyone:
        score, _, _ = call.scores()
        best[: call.instances] = np.maximum(best[: call.instances], score)
    for call in everyone:
        if isinstance(call, Ours):
            assert not _refuted(call, best).any(), f"{call} says optimal and is beaten"
    return best


def _refuted(call: Ours | Theirs, best: np.ndarray) -> np.ndarray:
    """Return which proofs of a call another's score refutes, `[instances]`."""
    score, _, proved = call.scores()
    short: np.ndarray = best[: call.instances] - score > AGREE * np.abs(score) + AGREE
    return proved & short


def _measured(
    ours: bool, microseconds: dict[int, float], call: Ours | Theirs, best: np.ndarray
) -> Measured:
    score, bound, proved = call.scores()
    reference = best[: call.instances]
    size = np.maximum(np.abs(reference), 1e-12)
    gap, above = ((reference - score) / size).max(), ((bound - reference) / size).max()
    refuted = _refuted(call, best)
    return Measured(
        ours,
        microseconds,
        call.instances,
        int((proved & ~refuted).sum()),
        float(gap),
        float(above),
        int(refuted.sum()),
    )


def rows(task: Task, results: dict[str, Measured]) -> Iterable[tuple[str, ...]]:
    """Lines of the table: a system each."""
    first = results[task.ours[0]]
    peers = {name: result for name, result in results.items() if not result.ours}
    goals = {
        "goal": "; ".join(goal.text for goal in task.goals),
        "met": "; ".join(_verdict(goal.met(first, peers)) for goal in task.goals),
    }
    for name, result in results.items():
        mine = name == task.ours[0]
        yield (
            task.name if mine else "",
            name if result.ours else f"  {name}",
            *(_time(result, threads) for threads in THREADS),
            f"{result.microseconds[1] / first.microseconds[1]:,.3g}",
            _proofs(result),
            f"{result.gap:.1e}" if result.gap > AGREE else "",
            f"{result.bound_gap:.1e}"
            if not result.complete and np.isfinite(result.bound_gap)
            else "",
            *(goals.values() if mine else ("", "")),
        )


def _time(result: Measured, threads: int) -> str:
    return f"{result.microseconds[threads]:,.3g}" if threads in result.microseconds else ""


def _proofs(result: Measured) -> str:
    """Return how many instances are proved, and how many proofs are false."""
    proofs = f"{result.proved}/{result.solved}"
    if result.refuted:
        proofs += f", {result.refuted} false"
    return proofs


def _verdict(met: bool | None) -> str:
    return {True: "yes", False: "NO", None: "-"}[met]


def record(task: Task, results: dict[str, Measured]) -> dict[str, Any]:
    """What goes into the file."""
    first = results[task.ours[0]]
    peers = {name: result for name, result in results.items() if not result.ours}
    goals = {goal.text: goal.met(first, peers) for goal in task.goals}
    shape = {
        "n": task.drawn.unary.shape[1],
        "edges": len(task.drawn.edges),
        "batch": len(task.drawn.unary),
    }
    systems = {name: asdict(result) for name, result in results.items()}
    return {"task": task.name, **shape, "goals": goals, "systems": systems}


def _smallest() -> Problem:
    return Problem.from_arrays([1.0, -1.0], [2.0], edges=[[0, 1]])


def versions() -> dict[str, str]:
    """Of the peers that the environment's record leaves out."""
    found = {}
    for name in PEER_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old record with the rows of the new one in place of those of the same names, or behind the others.

    Commit, peers and settings of the new record hold for its rows alone and are written into them.
    """
    own = {key: new[key] for key in ("commit", "peers", "settings")}
    rows = {row["task"]: row for row in old["tasks"]} | {
        row["task"]: row | own for row in new["tasks"]
    }
    return old | {"tasks": list(rows.values())}


def main(arguments: list[str] | None = None) -> None:
    """Prints the table and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--only",
        default="",
        help="a regular expression on the names of tasks; other rows of the output are kept",
    )
    parser.add_argument("--peers", default="", help="a regular expression on the names of peers")
    parser.add_argument(
        "--peer_seconds", type=float, default=5.0, help="limit of a peer on one instance"
    )
    parser.add_argument("--own_seconds", type=float, default=60.0, help="limit of ours on a batch")
    parser.add_argument(
        "--patience", type=float, default=3.0, help="seconds of calls after which a system sits out"
    )
    parser.add_argument("--output", type=Path, default=Path("results/solvers.json"))
    options = parser.parse_args(arguments)
    console = Console(width=170)
    wanted = [peer for name, peer in PEERS.items() if re.search(options.peers, name)]
    for peer in wanted:
        if not peer.installed:
            console.print(
                f"{peer.name} is skipped: {peer.package} is not installed; pip install -e '.[benchmarks]'"
            )
    old = (
        json.loads(options.output.read_text("utf-8"))
        if options.only and options.output.exists()
        else None
    )
    here = {peer.name: peer for peer in wanted if peer.installed}
    for peer in here.values():
        peer.solve(_smallest(), options.peer_seconds, 1)  # imports
    table, found = Table(*COLUMNS, title="microseconds an instance"), []
    for task in all_tasks():
        if re.search(options.only, task.name):
            peers = [here[name] for name in task.peers if name in here]
            limits = (options.own_seconds, options.peer_seconds, options.patience)
            results = run(task, peers, options.rounds, *limits)
            found.append(record(task, results))
            for line in rows(task, results):
                table.add_row(*line)
            table.add_section()
            settings = {key: value for key, value in vars(options).items() if key != "output"}
            written = {**environment(), "peers": versions(), "settings": settings, "tasks": found}
            written = written if old is None else updated(old, written)
            # each time: a run that is stopped leaves what it has
            with whole_file(options.output) as part:
                part.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    console.print(table)


if __name__ == "__main__":
    main()
