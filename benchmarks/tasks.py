"""The rows of the table: problems, who solves them, and what was set as a goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import networkx as nx
import numpy as np

from solvers import instances
from solvers.instances import Instances


@dataclass(frozen=True)
class Measured:
    """What one system did on one task.

    Attributes:
        ours: whether it is a backend of this package.
        microseconds: an instance, by threads.
        solved: how many instances it got.
        proved: of how many it says that no assignment is better, and none is.
        gap: the largest (best score of all systems - its score) / |best|.
        bound_gap: the largest (its bound - best score of all systems) / |best|.
        refuted: of how many it says so although another system has a better assignment.
    """

    ours: bool
    microseconds: dict[int, float]
    solved: int
    proved: int
    gap: float
    bound_gap: float
    refuted: int = 0

    @property
    def complete(self) -> bool:
        """Whether it proved all that it got; otherwise its time is a limit, not a result."""
        return self.proved == self.solved


class Goal(Protocol):
    """A condition on what the first of our systems did."""

    @property
    def text(self) -> str:
        """The condition in words."""

    def met(self, ours: Measured, peers: Mapping[str, Measured]) -> bool | None:
        """Whether it holds; None where the peers that it speaks of are not here."""


@dataclass(frozen=True)
class AtMost:
    """So many microseconds an instance, one thread."""

    microseconds: float

    @property
    def text(self) -> str:
        """The condition in words."""
        return f"<= {self.microseconds:g} us"

    def met(self, ours: Measured, peers: Mapping[str, Measured]) -> bool | None:
        """Whether it holds."""
        return ours.microseconds[1] <= self.microseconds


@dataclass(frozen=True)
class TimesFaster:
    """By so much faster than a peer; a peer that reached its limit took at least that long."""

    factor: float
    peer: str

    @property
    def text(self) -> str:
        """The condition in words."""
        return f">= {self.factor:,g}x {self.peer}"

    def met(self, ours: Measured, peers: Mapping[str, Measured]) -> bool | None:
        """Whether it holds."""
        if self.peer not in peers:
            return None
        return (
            ours.complete and peers[self.peer].microseconds[1] >= self.factor * ours.microseconds[1]
        )


@dataclass(frozen=True)
class WithinBest:
    """At most so many times as long as the fastest peer that proves its answers."""

    factor: float

    @property
    def text(self) -> str:
        """The condition in words."""
        return (
            "faster than every peer" if self.factor == 1 else f"<= {self.factor:g}x the best peer"
        )

    def met(self, ours: Measured, peers: Mapping[str, Measured]) -> bool | None:
        """Whether it holds."""
        times = [peer.microseconds[1] for peer in peers.values() if peer.complete]
        return ours.complete and ours.microseconds[1] <= self.factor * min(times) if times else None


@dataclass(frozen=True)
class Proved:
    """All instances, each within so many seconds, one thread."""

    seconds: float

    @property
    def text(self) -> str:
        """The condition in words."""
        return f"proved in {self.seconds:g} s"

    def met(self, ours: Measured, peers: Mapping[str, Measured]) -> bool | None:
        """Whether it holds."""
        return ours.complete and ours.microseconds[1] <= 1e6 * self.seconds


@dataclass(frozen=True, eq=False)
class Task:
    """Problems of one kind.

    Attributes:
        name: in the table.
        drawn: the batch.
        ours: registry names; the goals speak of the first.
        peers: names of `PEERS`.
        goals: all of which should be met.
        peer_instances: peers get only the first so many.
    """

    name: str
    drawn: Instances
    ours: tuple[str, ...]
    peers: tuple[str, ...]
    goals: tuple[Goal, ...] = field(default=())
    peer_instances: int = 2


GENERAL = ("CPLEX", "CP-SAT", "HiGHS", "SCIP", "toulbar2")
HEURISTIC = ("dwave tabu", "dwave annealing")


def sparse(
    n: int, degree: int, field: float | None, batch: int, generator: np.random.Generator
) -> Instances:
    """A random graph of this mean degree with normal pairwise scores.

    Args:
        n: number of variables.
        degree: mean.
        field: None for normal unary scores, of which roof duality makes short work; else spins in a
            normal field of this strength: 0 is the hardest.
        batch: number of instances, all on one graph.
        generator: of all.
    """
    graph = nx.gnm_random_graph(n, n * degree // 2, seed=int(generator.integers(2**31)))
    edges = np.sort(np.array(graph.edges, np.int64), axis=1)
    unary, pairwise = (
        generator.standard_normal((batch, n)),
        generator.standard_normal((batch, len(edges))),
    )
    if field is not None:
        unary = (field * unary).T.copy()
        for side in (0, 1):
            np.add.at(unary, edges[:, side], -pairwise.T / 2)
        unary = unary.T.copy()
    return Instances(unary, pairwise, edges)


def chain(n: int, batch: int, generator: np.random.Generator) -> Instances:
    """A path with normal scores."""
    return instances.spin_glass(1, n, batch, generator)


def single_precision(drawn: Instances) -> Instances:
    """As an encoder gives them."""
    return Instances(drawn.unary.astype(np.float32), drawn.pairwise.astype(np.float32), drawn.edges)


def dense_tasks(generator: np.random.Generator) -> list[Task]:
    """Every pair scores: any signs, and supermodular."""
    batch = single_precision(instances.dense(15, 100, generator))
    quick = (AtMost(4), TimesFaster(2000, "CPLEX"))
    tasks = [Task("dense n=15, batch 100", batch, ("exhaustive",), GENERAL, quick)]
    for n, most in ((15, 3), (50, 40), (100, 350)):
        drawn = single_precision(instances.supermodular(n, 100, generator))
        names = ("CPLEX", "PyMaxflow", "PyMaxflow, one graph")
        tasks.append(
            Task(f"supermodular n={n}, batch 100", drawn, ("max_flow",), names, (AtMost(most),), 10)
        )
    goals = {
        40: (Proved(60), TimesFaster(20, "CPLEX")),
        60: (Proved(60), TimesFaster(100, "CPLEX")),
    }
    for n in (30, 40, 50, 60):
        goal = goals.get(n, (Proved(60),))
        drawn = instances.dense(n, 2, generator)
        tasks.append(
            Task(
                f"dense n={n}",
                drawn,
                ("branch_and_bound", "local_search"),
                GENERAL + HEURISTIC,
                goal,
            )
        )
    for n in (80, 100):
        drawn = instances.dense(n, 1, generator)
        ours = ("branch_and_bound", "local_search")
        tasks.append(Task(f"dense n={n}", drawn, ours, GENERAL + HEURISTIC, (Proved(60),), 1))
    return tasks


def sparse_tasks(generator: np.random.Generator) -> list[Task]:
    """Grids, trees, chains and random graphs."""
    tasks = []
    for side in (32, 64, 128, 256, 512):
        drawn = instances.grid(side, side, 1, generator)
        goal = (WithinBest(1.2),)
        tasks.append(
            Task(f"supermodular grid {side}x{side}", drawn, ("max_flow",), ("PyMaxflow",), goal)
        )
    drawn = instances.grid(32, 32, 64, generator)
    tasks.append(
        Task(
            "supermodular grid 32x32, batch 64",
            drawn,
            ("max_flow",),
            ("PyMaxflow", "PyMaxflow, one graph"),
            (WithinBest(1),),
            64,
        )
    )
    everyone, fastest = (*GENERAL, "dwave tree"), (WithinBest(1),)
    for side in (10, 15):
        drawn = instances.spin_glass(side, side, 1, generator)
        tasks.append(Task(f"spin glass {side}x{side}", drawn, ("elimination",), everyone, fastest))
    for name, family in (("tree", instances.tree), ("chain", chain)):
        for batch in (1, 100):
            drawn = family(1000, batch, generator)
            tasks.append(
                Task(f"{name} n=1000, batch {batch}", drawn, ("elimination",), everyone, fastest)
            )
    for degree in (3, 4):
        for label, strength in (("", None), (", spins in a field", 0.5), (", spins", 0.0)):
            drawn = sparse(200, degree, strength, 2, generator)
            ours, within = ("auto", "dual_ascent", "cp_sat", "local_search"), (WithinBest(2),)
            tasks.append(
                Task(
                    f"sparse n=200, degree {degree}{label}",
                    drawn,
                    ours,
                    GENERAL + HEURISTIC,
                    within,
                )
            )
    return tasks


def all_tasks(seed: int = 0) -> list[Task]:
    """Every row of the table, the same for a seed."""
    generator = np.random.default_rng(seed)
    return dense_tasks(generator) + sparse_tasks(generator)
