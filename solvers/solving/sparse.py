"""Solve sparse problems with several backends.

Presolve runs first. Then the backends that suit a part of an instance run on it in turn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algorithms.local_search.near_states import states_around
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.presolve.penalties import Penalties, exclusions, first_penalties
from ..algorithms.presolve.ranked import ranked
from ..arrays import States
from ..compiled.threads import available_cores
from ..limits.deadline import Deadline, preparing
from ..limits.progress import watched_by
from ..options import check_threads
from ..paused import PausedSolver
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..ranking import ranked_states
from ..registry import solver_class
from ..solution import Maximiser, Ranking
from ..solver import ArgmaxSolver
from .portfolio import CUT_SHARE, SEPARATOR, Portfolio, Search, Turn
from .third_parties import third_party, why_not_cp_sat, why_not_highs

QUICK_WIDTH = 20
"""Width above which tables have more than `QUICK_ENTRIES`."""

QUICK_ENTRIES = 1 << 22
"""Number of entries up to which tables take about ten milliseconds, as the fastest searches do."""

SOON_WIDTH = 22
"""Width above which just the search for an elimination order takes a tenth of a second."""

SOON_ENTRIES = 1 << 24
"""Number of entries up to which tables take less than a tenth of a second."""

MOST_ENTRIES = 1 << 30
"""Number of entries up to which tables take some seconds.

In a field, tables prove parts that messages and odd cycles do not prove. Other backends run first
for more entries, and without a field.
"""

SECONDS_AN_ENTRY = 1.5e-9
"""Approximate seconds per table entry.

Elimination does not start if it could not fill its tables in time.
"""

TABLES_SHARE = 0.5
"""Share of the remaining time that tables may take if other backends run first."""

EDGE_DEGREE = 8
"""Mean degree up to which messages and odd cycles bound a search better than convex relaxations."""

MESSAGES_DEGREE = 20
"""Mean degree above which message bounds are hardly better than bounds from the signs."""

FEW_VISITS = 1 << 17
"""Visits of `dual_ascent` before other backends run: about 10 ms."""

MORE_VISITS = 1 << 19
"""Visits of `dual_ascent` in a field, where messages work well: about 40 ms."""

LONG_VISITS = 1 << 20
"""Visits of `dual_ascent` in a small part without small tables or cycles: about 80 ms.

They prove most parts whose couplings differ; other backends need longer for these.
"""

WIDE_GAP = 0.01
"""Gap that odd cycles leave after a short run, as a share of the magnitude of the scores.

Odd cycles do not prove a part with such a gap, so convex bounds get all of the remaining time.
"""

CLOSING = 3.0
"""Second run of odd cycles in units of the first one, if the first one leaves no `WIDE_GAP`.

Odd cycles prove most of these parts, so convex bounds are tried later.
"""

MOST_TURNED = 100
"""Size of a part without a field above which no search closes the gap of messages.

Up to this number, convex bounds prove a part that is not sparse in about ten milliseconds.
"""

FIELDS = 0.5
"""Share of variables with a field from which on a part counts as in a field.

A part with a smaller share may come from a problem that has only couplings and one clamped spin.
Then only the few neighbours of this spin have a field.
"""

CUT_SECONDS = 0.5
"""Seconds, without a time limit, of a run after which another backend may prove the part sooner."""

TURN_SHARE = 0.1
"""Share of a time limit that such a run may take."""

LEAST_SECONDS = 0.1
"""Minimum seconds of such a run within a time limit."""

MOST_SECONDS = 60.0
"""Maximum seconds of such a run."""

BOUND_SECONDS = 10.0
"""Seconds of the semidefinite bound before a third party searches without a time limit."""

MOST_MODELLED = 100_000
"""Pairs up to which a third party gets a share of the time after the semidefinite bound."""

MOST_CUT = 10_000
"""Variables up to which linear programs over odd cycles are solved in less than hours."""

BRANCHED = 120
"""Variables of a part in a field up to which convex bounds are faster than odd cycles."""

BRANCHED_DEGREE = 6
"""Mean degree of a part in a field from which on convex bounds may be better than odd cycles."""

RACED_DEGREE = 5
"""Mean degree from which on odd cycles and convex bounds may differ widely.

On a cubic lattice, for example, odd cycles are better. In a field they are better up to
`BRANCHED_DEGREE`.
"""

FEW_NODES = 500
"""Nodes of `clique_cover` before other backends run: about 20 ms."""

CLIQUE_SECONDS = 10.0
"""Maximum seconds of `clique_cover` on a sparse part; a third party may prove larger ones."""

MOST_PROGRAMMED = 1000
"""Variables up to which cliques for linear programs are found in less than minutes."""

EXCLUDED = 0.97
"""Share of pairs that exclude each other from which on cliques of pairs bound a part well.

Penalties make pairs exclude each other.
"""

RANKED_SECONDS = 5.0
"""Maximum seconds of each search for several states at once.

If these searches fail, states are excluded one after the other. That usually takes some tens of
times as long as one search.
"""


@dataclass(frozen=True)
class SparsePortfolio(Portfolio[Problem], ArgmaxSolver):
    """Solver that `auto` uses for sparse problems over bits.

    It chooses the backends of a part after presolve has made the part smaller. If presolve solves
    all parts, `Solution.solver` is `presolve`.

    Attributes:
        threads: number of instances at once; None for all cores.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def turns(self, problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
        """Yield the backends that run on a part."""
        return turns(problem, deadline)

    def _searched(self, problem: Problem, deadline: Deadline, search: Search) -> Maximiser:
        def solve(
            subproblem: Problem, until: Deadline, start: np.ndarray | None
        ) -> tuple[np.ndarray, float]:
            states = None
            if start is not None:
                states = start[None]
            outcome = search(subproblem, until, states)
            return outcome.z[0], float(outcome.bound[0])

        threads = self.threads or available_cores()
        return one_by_one(problem, deadline, solve, threads, given_states(self.start, problem))

    def best_states(self, problem: Problem, count: int, deadline: Deadline) -> Ranking:
        """Return the states of highest score of every instance, with bounds.

        The bound of an instance is infinite if no search proves its states in time.
        """
        names: Counter[str] = Counter()

        def rank(subproblem: Problem, deadline: Deadline, count: int) -> tuple[States, float]:
            states, bound, name = rank_in_turn(subproblem, deadline, count)
            names[name] += 1
            return states, bound

        ranking = ranked(problem, count, deadline, rank, self.threads or available_cores())
        return replace(ranking, solver=SEPARATOR.join(name for name, _ in names.most_common()))


def rank_in_turn(problem: Problem, deadline: Deadline, count: int) -> tuple[States, float, str]:
    """Return the best states `[count, n]` of one search, a bound on the others, and the backend.

    The bound is infinite if no backend proved the states although there was time for it.

    Args:
        problem: a problem of one instance, on the host.
        deadline: when to end.
        count: how many.
    """
    # The first states are returned if no backend ranks any states before the deadline.
    best = states_around(problem, np.zeros(problem.n, np.int8), count)[:count]
    least = math.inf
    name = ""
    for turn in ranking_turns(problem):
        solver = turn.solver
        until = turn.deadline(deadline)
        with watched_by(until.watch):
            ranking = ranked_states(solver, problem, count, until)
        if ranking is None:
            continue
        others = float(ranking.others[0])
        # No other state scores more than the last one, which proves the ranking.
        if others - ranking.last[0] <= problem.rounding[0]:
            return ranking.z[0], others, solver.name
        if others < least:
            best = ranking.z[0]
            least = others
            name = solver.name
        if deadline.passed:
            return best, least, name
    return best, math.inf, "exclusion"


def ranking_turns(problem: Problem) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends that rank states of a part, until one has proved them."""
    if _entries(problem, QUICK_WIDTH) <= QUICK_ENTRIES:
        yield Turn(_with_one_thread("elimination"))
    yield Turn(_with_one_thread("dual_ascent", visits=MORE_VISITS), RANKED_SECONDS)
    searches = [_with_one_thread("dual_ascent")]
    branch_and_bound = _with_one_thread("branch_and_bound")
    if not branch_and_bound.why_not(problem):
        searches.append(branch_and_bound)
    if 2 * problem.e > EDGE_DEGREE * problem.n:
        searches.reverse()
    for solver in searches:
        yield Turn(solver, RANKED_SECONDS)


def turns(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends that run on a part, one after the other until one has proved it."""
    elimination = _with_one_thread("elimination")
    sparse = 2 * problem.e <= EDGE_DEGREE * problem.n
    in_a_field = _in_a_field(problem)
    # Tables this small prove the part immediately.
    if _entries(problem, QUICK_WIDTH, deadline) <= QUICK_ENTRIES:
        yield Turn(elimination)
        return
    penalties = first_penalties(problem)
    if exclusive(problem):
        yield from _exclusive(problem, penalties, deadline)
        return
    excludes = _excludes(problem)
    if excludes and penalties is not None and penalties.few:
        yield Turn(_within_constraints(problem.n))
        return
    if problem.n <= MOST_TURNED and not (sparse or excludes or penalties):
        yield from _dense(problem, deadline)
        return
    dense = 2 * problem.e > MESSAGES_DEGREE * problem.n
    if (in_a_field or problem.n <= MOST_TURNED) and not dense:
        visits = FEW_VISITS
        if sparse and in_a_field:
            visits = MORE_VISITS
        yield Turn(_with_one_thread("dual_ascent", visits=visits))
    entries = _entries(problem, SOON_WIDTH, deadline)
    if entries <= SOON_ENTRIES and _tables_in_time(entries, deadline):
        yield Turn(elimination)
    elif penalties is not None:
        yield from _penalised(problem, deadline)
    elif excludes:
        yield Turn(third_party(problem.n))
    elif sparse and problem.n <= MOST_CUT:
        yield from _cuts(problem, deadline, in_a_field)
    else:
        yield from _dense(problem, deadline)


def _race(
    problem: Problem,
    cuts: ArgmaxSolver,
    branch_and_bound: ArgmaxSolver,
    seconds: float,
    in_a_field: bool,
    tables: bool,
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield odd cycles and convex bounds if either may be far better.

    Args:
        problem: a part.
        cuts: the backend of odd cycles.
        branch_and_bound: that of convex bounds.
        seconds: maximum seconds of a run while another backend may prove the part sooner.
        in_a_field: whether most variables have a field.
        tables: whether the tables of elimination can still prove the part in time.
    """
    least = RACED_DEGREE
    if in_a_field:
        least = BRANCHED_DEGREE
    if 2 * problem.e < least * problem.n or branch_and_bound.why_not(problem):
        return
    if in_a_field and problem.n <= BRANCHED:
        yield Turn(branch_and_bound)
        return
    yield Turn(cuts, seconds)
    if not (tables or in_a_field):
        yield Turn(branch_and_bound, least_gap=WIDE_GAP)
    if not tables:
        yield Turn(cuts, CLOSING * seconds, most_gap=WIDE_GAP)
    yield Turn(branch_and_bound, seconds)
    if not tables:
        yield Turn(branch_and_bound, leading=True)


def _exclusive(
    problem: Problem, penalties: Penalties | None, deadline: Deadline
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield cliques of pairs that exclude each other, and what may prove a part that they do not.

    Args:
        problem: a part in which nearly all pairs exclude each other.
        penalties: its groups, if they cover enough of its variables.
        deadline: when to end.
    """
    cliques = solver_class("clique_cover")().paused()
    yield Turn(cliques.with_options(nodes=FEW_NODES))
    entries = _entries(problem, SOON_WIDTH, deadline)
    if entries <= SOON_ENTRIES and _tables_in_time(entries, deadline):
        yield Turn(_with_one_thread("elimination"))
        return
    if penalties is not None and penalties.few:
        yield from _grouped(problem, cliques, deadline)
    elif 2 * problem.e <= EDGE_DEGREE * problem.n:
        yield Turn(cliques, min(CLIQUE_SECONDS, CUT_SHARE * deadline.left))
        yield Turn(third_party(problem.n))
    else:
        yield from _ungrouped(problem, cliques, penalties, deadline)


def _grouped(
    problem: Problem, cliques: PausedSolver[Any], deadline: Deadline
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield what proves a part that is all groups: linear programs bound it well.

    Cliques run first if their search is about to end. Within a time limit, they may still be better
    afterwards.
    """
    seconds = _of_a_turn(deadline)
    if cliques.seconds_left <= seconds:
        yield Turn(cliques, seconds)
    if deadline.limited:
        yield Turn(_within_constraints(problem.n), CUT_SHARE * deadline.left)
        yield Turn(cliques, seconds)
        if cliques.seconds_left > deadline.left:
            yield from _programs(problem, deadline)
        else:
            yield Turn(cliques, CUT_SHARE * deadline.left)
    yield Turn(_within_constraints(problem.n))


def _programs(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield linear programs over cliques for a part whose search by cliques will not end.

    Their open nodes take memory, so that a long limit gives them no more than other short runs.
    """
    if problem.n <= MOST_PROGRAMMED and not why_not_highs():
        seconds = min(MOST_SECONDS, CUT_SHARE * deadline.left)
        yield Turn(solver_class("clique_cover")().by_programs(), seconds)


def _ungrouped(
    problem: Problem,
    cliques: PausedSolver[Any],
    penalties: Penalties | None,
    deadline: Deadline,
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield cliques, which prove such a part first, and others for its bound.

    The others do not run if the cliques are likely to end in time.
    """
    if deadline.limited:
        yield Turn(cliques, _of_a_turn(deadline))
        if cliques.seconds_left > deadline.left:
            third = third_party(problem.n)
            if penalties is not None:
                third = _within_constraints(problem.n)
            yield Turn(third, CUT_SHARE * deadline.left)
            yield from _programs(problem, deadline)
    yield Turn(cliques)


def _penalised(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends for a problem that has penalties in place of constraints."""
    branch_and_bound = _branch_and_bound()
    if not branch_and_bound.why_not(problem):
        yield Turn(branch_and_bound, _of_a_turn(deadline))
    yield Turn(_within_constraints(problem.n))


def _dense(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield convex bounds, or the backends for a problem that is too large for them."""
    branch_and_bound = _branch_and_bound()
    if not branch_and_bound.why_not(problem):
        yield Turn(branch_and_bound)
        return
    if _tables_in_time(_entries(problem, deadline=deadline), deadline):
        yield Turn(_with_one_thread("elimination"))
    yield from _large(problem, deadline)


def _large(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends for a problem that is too large for convex bounds at every node.

    The semidefinite bound comes with a local search. A third party proves some of these problems.
    It runs for its share of a time limit; then the local search continues.
    """
    semidefinite = _with_one_thread("semidefinite")
    if semidefinite.why_not(problem):
        yield Turn(third_party(problem.n))
        return
    if not deadline.limited:
        yield Turn(semidefinite, BOUND_SECONDS)
        yield Turn(third_party(problem.n))
        return
    if problem.e <= MOST_MODELLED:
        yield Turn(semidefinite, CUT_SHARE * deadline.left)
        yield Turn(third_party(problem.n), CUT_SHARE * deadline.left)
    yield Turn(semidefinite)


def _within_constraints(n: int) -> ArgmaxSolver:
    """Return the search that takes constraints in place of penalties."""
    if why_not_cp_sat():
        return third_party(n)
    return solver_class("cp_sat")()


def _cuts(problem: Problem, deadline: Deadline, in_a_field: bool) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield odd cycles, and the backends that are likely to finish if odd cycles are weaker."""
    entries = _entries(problem, deadline=deadline)
    elimination = _with_one_thread("elimination")
    cuts = solver_class("cycle_cuts")().paused()
    branch_and_bound = _branch_and_bound()
    seconds = _of_a_turn(deadline)
    if not in_a_field:
        yield from _without_cycles(problem, branch_and_bound, seconds)
    has_small_tables = entries <= MOST_ENTRIES
    share = TABLES_SHARE
    if in_a_field and has_small_tables:
        share = 1.0
    tables = _tables_in_time(entries, deadline, share)
    if tables and has_small_tables:
        if not in_a_field:
            yield _before_tables(cuts, entries)
        yield Turn(elimination)
        return
    yield from _race(problem, cuts, branch_and_bound, seconds, in_a_field, tables)
    if tables:
        yield _before_tables(cuts, entries)
        yield Turn(elimination)
    yield Turn(cuts)


def _without_cycles(
    problem: Problem, branch_and_bound: ArgmaxSolver, seconds: float
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield messages and convex bounds for a small part of too many edges for odd cycles.

    Args:
        problem: a part without a field.
        branch_and_bound: the backend of convex bounds.
        seconds: maximum seconds of convex bounds.
    """
    if problem.n > MOST_TURNED or 2 * problem.e < RACED_DEGREE * problem.n:
        return
    if not branch_and_bound.why_not(problem):
        yield Turn(_with_one_thread("dual_ascent", visits=LONG_VISITS))
        yield Turn(branch_and_bound, seconds)


def _before_tables(cuts: ArgmaxSolver, entries: float) -> Turn[ArgmaxSolver]:
    """Yield odd cycles for as long as tables would take.

    Their root node already proves some problems, such as planar ones.
    """
    return Turn(cuts, min(SECONDS_AN_ENTRY * entries, MOST_SECONDS))


def _of_a_turn(deadline: Deadline) -> float:
    """Return the seconds of a run that shows which backend is better."""
    if deadline.left == math.inf:
        return CUT_SECONDS
    return min(max(LEAST_SECONDS, TURN_SHARE * deadline.left), MOST_SECONDS)


def _branch_and_bound() -> PausedSolver[Any]:
    """Return the search by convex bounds, whose runs resume each other."""
    return solver_class("branch_and_bound")().paused()


def _with_one_thread(name: str, **options: Any) -> ArgmaxSolver:
    return solver_class(name)().with_options(threads=1, **options)


def _entries(problem: Problem, width: int | None = None, deadline: Deadline | None = None) -> float:
    """Return the number of entries of the tables of elimination.

    It is infinite if it is known to be too large, if the width is above a limit of at most
    `SOON_WIDTH`, or if no order was found in a share of the time.
    """
    elimination = solver_class("elimination")
    with preparing(deadline):
        if width is not None:
            # One search for an order answers for both widths.
            least = elimination.treewidth_bound(problem.topology, SOON_WIDTH)
            if least is None or least > width:
                return math.inf
        if elimination().why_not(problem):
            return math.inf
    return elimination.entries(problem)


def _tables_in_time(entries: float, deadline: Deadline, share: float = 1.0) -> bool:
    """Return whether tables exist, and a share of the remaining time is enough for them."""
    return entries < math.inf and SECONDS_AN_ENTRY * entries <= share * deadline.left


def _in_a_field(problem: Problem) -> bool:
    """Return whether flipping all spins changes scores of most variables."""
    around = 2 * problem.unary[0]
    for end in problem.edges.T:
        around = around + np.bincount(end, problem.pairwise[0], problem.n)
    return bool(np.count_nonzero(around) >= FIELDS * problem.n)


def exclusive(problem: Problem) -> bool:
    """Return whether `clique_cover` takes a problem, and its cliques are likely to bound it well.

    Nearly all pairs of the first instance then exclude each other, whatever the values of other
    variables. Independent sets and vertex covers are such problems when penalties express their
    constraints.
    """
    if solver_class("clique_cover")().why_not(problem):
        return False
    # Only a penalty excludes a pair; most problems have too few, and need no exact look.
    if np.count_nonzero(problem.pairwise[0] < 0) < EXCLUDED * problem.e:
        return False
    first = problem.instances(slice(0, 1)).to_host()
    excluded = exclusions(FixedPoint.of(first))
    return bool(np.count_nonzero(excluded.pairs) >= EXCLUDED * problem.e)


def _excludes(problem: Problem) -> bool:
    """Return whether in nearly every pair both ends score alone, but no more together than one."""
    least = problem.unary[0][problem.edges].min(axis=1)
    exclude = (least > 0) & (problem.pairwise[0] <= -least)
    return bool(np.count_nonzero(exclude) >= EXCLUDED * problem.e)
