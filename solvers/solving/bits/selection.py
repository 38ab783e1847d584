"""Choose the solver that `auto` uses for problems over bits, with a reason."""

from __future__ import annotations

import importlib
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...constraint_rows import Rows
from ...errors import SolverUnavailableError
from ...problems.problem import Problem
from ...problems.topology import Topology
from ...registry import solver_class
from ...solver import ArgmaxSolver
from ..kinds import Selection
from .third_parties import third_party, why_not_cp_sat, why_not_cplex, why_not_highs

QUICKLY_ENUMERABLE = 16
"""Largest n for which enumeration is as fast as a minimum cut for one instance."""

QUICKLY_CUT = 62
"""Largest n for which a minimum cut is the fastest method for one supermodular instance."""

ENUMERABLE = 20
"""Largest n for which enumeration is faster than every search."""

TREE_LIKE = 8
"""Largest treewidth for which no method is faster than elimination."""

MOST_AT_ONCE = 256
"""Largest n for which the checks of one instance on a tree take longer than its elimination."""

ELIMINABLE = 18
"""Treewidth up to which elimination takes some milliseconds per instance."""

ELIMINABLE_STATES = 1 << 24
"""Largest n * 2^treewidth for which elimination takes some milliseconds per instance."""

MANY = 8
"""Least number of instances for which a search for small tables pays, since all share them."""

SHARED_WIDTH = 20
"""Largest treewidth of `SHARED_ENTRIES`."""

SHARED_ENTRIES = 1 << 21
"""Number of entries up to which elimination is faster than a search for each of many instances.

A search takes some milliseconds per instance, one of them on its own tables."""

SPARSE_DEGREE = 20
"""Mean degree up to which presolve makes problems smaller.

The backend of a part is then chosen after presolve has made the part smaller.
"""

COUNTED_DEGREE = 8
"""Mean degree from which on convex bounds are faster than searches over constraints.

This holds for the best state with a fixed count of variables.
"""

_CUT_QUICKLY = (
    f"one instance of at most {QUICKLY_CUT} variables, every pairwise score is >= 0: "
    "a minimum cut is exact"
)

QUICK_ENTRIES = 1 << 24
"""Number of entries up to which tables take some hundredths of a second per instance.

Most searches take longer.
"""


def select_bits(problem: Problem, one_state: bool = True) -> Selection[ArgmaxSolver]:
    """Return the fastest exact solver that we know of for a problem over bits.

    Args:
        problem: what to solve.
        one_state: whether one best state is enough. Then constraints may replace penalties, which
            keeps a best state but not the next ones.
    """
    # The methods come in order of their cost. A later one is only considered if no earlier one
    # applies.
    if not problem.e:
        return _select("independent", "there are no pairwise scores")
    if one_state and _is_cut_quickly(problem):
        return _select("max_flow", _CUT_QUICKLY)
    if problem.n <= ENUMERABLE:
        return _enumerate(problem.n)
    tractable = _select_tractable(problem)
    if tractable is not None:
        return tractable
    return _select_search(problem, one_state)


def _select_tractable(problem: Problem) -> Selection[ArgmaxSolver] | None:
    """Return the solver of a problem with easy pairs or signs; None for a hard problem."""
    elimination = solver_class("elimination")
    width = elimination.treewidth_bound(problem.topology, TREE_LIKE)
    if width is not None:
        return _eliminate(width)
    if problem.is_supermodular:
        return _select("max_flow", "every pairwise score is >= 0: a minimum cut is exact")
    if not solver_class("max_flow")().why_not(problem):
        return _select(
            "max_flow", "bit flips make every pairwise score >= 0: a minimum cut is exact"
        )
    widest = ELIMINABLE
    if problem.batch >= MANY:
        widest = SHARED_WIDTH
    width = elimination.treewidth_bound(problem.topology, widest)
    if width is None:
        return None
    if problem.n << width <= ELIMINABLE_STATES:
        return _eliminate(width)
    if problem.batch >= MANY and elimination.entries(problem) <= SHARED_ENTRIES:
        return _eliminate(width)
    return None


def _select_search(problem: Problem, one_state: bool) -> Selection[ArgmaxSolver]:
    """Return the solver of a hard problem, whose time may grow exponentially with n."""
    most = _largest("exhaustive")
    if problem.n <= most:
        return _select(
            "exhaustive",
            f"n = {problem.n} is at most {most}, with scores of any sign: "
            f"all 2^{problem.n} states are tried",
        )
    if one_state and _loaded(".clique_turns").exclusive(problem):
        return Selection(
            _loaded(".sparse").SparsePortfolio(),
            "nearly all pairs exclude each other, as in an independent set: "
            "a search with cliques of such pairs, then others",
        )
    if one_state and _first_penalties(problem) is not None:
        return Selection(
            _loaded(".sparse").SparsePortfolio(),
            "penalties make groups of variables exclude each other: a search with constraints in "
            "their place, mostly after branch_and_bound for a moment",
        )
    if 2 * problem.e <= SPARSE_DEGREE * problem.n:
        return _in_turn(problem)
    # One probe of the elimination order serves both decisions below.
    elimination = solver_class("elimination")
    entries = None
    if not elimination().why_not(problem):
        entries = elimination.entries(problem)
    if entries is not None and entries <= QUICK_ENTRIES:
        return _wide_elimination(entries)
    most = _largest("branch_and_bound")
    if problem.n <= most:
        return _select(
            "branch_and_bound",
            f"n = {problem.n} is at most {most}, with scores of any sign: "
            "a search with convex bounds",
        )
    if entries is not None:
        return _wide_elimination(entries)
    return _search(problem.n)


def is_known_tree_like(problem: Problem) -> bool:
    """Return whether an earlier choice found that elimination is quick for these pairs."""
    narrow: bool = solver_class("elimination").is_known_narrow(problem.topology, TREE_LIKE)
    return narrow


def _is_cut_quickly(problem: Problem) -> bool:
    """Return whether a minimum cut of few variables solves the single instance."""
    if problem.batch != 1 or not QUICKLY_ENUMERABLE < problem.n <= QUICKLY_CUT:
        return False
    return problem.is_supermodular


def selected_at_once(
    n: int, topology: Topology | None, pairwise: np.ndarray
) -> tuple[ArgmaxSolver, ...]:
    """Return the solvers that `select_bits` may use for small instances, in this order.

    Several instances have at most `QUICKLY_ENUMERABLE` variables each. A solver whose suitability
    depends on the scores declines unsuitable instances.

    Args:
        n: number of variables.
        topology: the pairs, at least one; None for a matrix of scores.
        pairwise: their scores.
    """
    if n <= QUICKLY_ENUMERABLE:
        return (_named("exhaustive"),)
    solvers: tuple[ArgmaxSolver, ...] = ()
    # If any score is negative, the first or last one usually is. This check avoids a kernel call.
    may_be_cut = pairwise.size and pairwise.item(0) >= 0 and pairwise.item(-1) >= 0
    if n <= QUICKLY_CUT and may_be_cut:
        solvers = (_named("max_flow"),)
    if n > ENUMERABLE and topology is not None:
        elimination: Any = _named("elimination")
        if elimination.treewidth_bound(topology, TREE_LIKE) is not None:
            solvers = (*solvers, elimination)
    return solvers


@cache
def _named(name: str) -> ArgmaxSolver:
    return solver_class(name)()


def select_ranking(problem: Problem) -> Selection[ArgmaxSolver]:
    """Return the solver for several of the best states of a problem, by one search if possible.

    Args:
        problem: what to solve.
    """
    chosen = select_bits(problem, one_state=False)
    if chosen.solver.name == "exhaustive" and problem.n > ENUMERABLE:
        return _select(
            "branch_and_bound",
            f"n = {problem.n} is more than {ENUMERABLE}: a search that keeps the best states",
        )
    if chosen.solver.name in ("independent", "max_flow"):
        return Selection(
            _loaded(".sparse").SparsePortfolio(),
            f"{chosen.reason} for one state; for more, searches that keep the best",
        )
    return chosen


def select_within(problem: Problem, rows: Rows, count: int = 1) -> Selection[ArgmaxSolver]:
    """Return the solver for the best states of a problem that satisfy constraints.

    Args:
        problem: what to solve.
        rows: the constraints.
        count: how many states.

    Raises:
        SolverUnavailableError: no installed solver takes the constraints; the message names
            packages to install.
    """
    if problem.n <= ENUMERABLE:
        return _select(
            "exhaustive",
            f"n = {problem.n} is at most {ENUMERABLE}: all states that satisfy them are tried",
        )
    if count == 1:
        fitting = _select_for_rows(problem, rows)
        if fitting is not None:
            return fitting
    missing = why_not_cp_sat()
    if not missing:
        return _select("cp_sat", "its search takes constraints in whole numbers")
    if problem.n <= _largest("exhaustive"):
        return _select("exhaustive", f"all states that satisfy them are tried; {missing}")
    for name, obstacle in (("cplex", why_not_cplex(problem.n)), ("highs", why_not_highs())):
        if not obstacle and solver_class(name)().why_not_within(problem, rows) is None:
            return _select(name, f"its search takes constraints; {missing}")
    raise _unavailable_within(problem, rows)


def _select_for_rows(problem: Problem, rows: Rows) -> Selection[ArgmaxSolver] | None:
    """Return a solver of one state that specialises in such constraints; None without one."""
    if solver_class("elimination")().why_not_within(problem, rows) is None:
        return _select(
            "elimination",
            "a tree, and one count of variables: elimination with the count in its tables",
        )
    if COUNTED_DEGREE * problem.n >= 2 * problem.e:
        return None
    if _counts(problem, rows):
        return _select(
            "branch_and_bound",
            "a count of variables is a linear and a concave term of a dense problem without it",
        )
    if _weighs(problem, rows):
        return _select(
            "cplex",
            "a dense problem whose constraints are sums of weights: quadratic bounds",
        )
    return None


def _unavailable_within(problem: Problem, rows: Rows) -> SolverUnavailableError:
    """Return an error that names the packages whose solvers take these constraints."""
    needed = [
        f"OR-Tools ({solver_class('cp_sat').capabilities.install})",
        f"HiGHS ({solver_class('highs').capabilities.install})",
    ]
    refusal = solver_class("highs")().why_not_within(problem, rows)
    if refusal is not None:
        return SolverUnavailableError(
            f"these constraints on {problem.n} variables need {needed[0]}; "
            f"highs cannot take them: {refusal}"
        )
    return SolverUnavailableError(
        f"constraints on {problem.n} variables need {' or '.join(needed)}"
    )


def _counts(problem: Problem, rows: Rows) -> bool:
    solver = solver_class("branch_and_bound")()
    return not solver.why_not(problem) and solver.why_not_within(problem, rows) is None


def _weighs(problem: Problem, rows: Rows) -> bool:
    """Return whether CPLEX takes the constraints and each has different weights (knapsacks)."""
    several = [row for row in np.abs(rows.matrix) if np.count_nonzero(row) > 1]
    alike = (row.max() == row[row > 0].min() for row in several)
    if not several or any(alike) or why_not_cplex(problem.n):
        return False
    return solver_class("cplex")().why_not_within(problem, rows) is None


def _largest(name: str) -> int:
    return solver_class(name).capabilities.max_size or 0


def _wide_elimination(entries: int) -> Selection[ArgmaxSolver]:
    return _select("elimination", f"its tables have {entries:.2g} entries, and fit into memory")


def _in_turn(problem: Problem) -> Selection[ArgmaxSolver]:
    reason = (
        f"mean degree {2 * problem.e / problem.n:.3g}: presolve first; "
        "what it leaves goes to elimination where tables are small, "
        "else to dual_ascent for a moment and then to the backend that suits it, "
        "which `stats` names"
    )
    return Selection(_loaded(".sparse").SparsePortfolio(), reason)


def _first_penalties(problem: Problem) -> Any:
    """Return the penalties of the first instance that act as constraints; None if there are none."""
    return _loaded("...algorithms.presolve.penalties").first_penalties(problem)


@cache
def _loaded(module: str) -> Any:
    """Return a module that is only loaded when a problem needs it."""
    return importlib.import_module(module, __package__)


def _search(n: int) -> Selection[ArgmaxSolver]:
    long = (
        f"n = {n} with scores of any sign: a semidefinite bound beside a local search, "
        "then an exact search, which may take long without a time limit"
    )
    chosen = third_party(n)
    absent = {"cplex": (), "cp_sat": (why_not_cplex(n),)}.get(
        chosen.name, (why_not_cplex(n), why_not_cp_sat())
    )
    return Selection(_loaded(".sparse").SparsePortfolio(), "; ".join((long, *absent)))


@cache
def _enumerate(n: int) -> Selection[ArgmaxSolver]:
    return _select("exhaustive", f"n = {n} is at most {ENUMERABLE}: all 2^{n} states are tried")


def _eliminate(width: int) -> Selection[ArgmaxSolver]:
    return _select("elimination", f"the treewidth is at most {width}: max-sum elimination is exact")


@lru_cache(maxsize=256)
def _select(name: str, reason: str) -> Selection[ArgmaxSolver]:
    return Selection(solver_class(name)(), reason)
