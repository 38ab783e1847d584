"""A stream of label problems over cores, or over a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from ..arrays import ArrayT
from ..solution import Solution
from ..solver import ArgmaxSolver
from ..solving.streams import Failure, stream
from .call import solve
from .problem import LabelProblem, check_label_problem
from .solver import LabelSolver


def solve_many(
    problems: Iterable[LabelProblem[ArrayT]],
    *,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    jobs: int = -1,
) -> Iterator[Solution[ArrayT] | Failure]:
    """The solutions of a stream of label problems, in its order, as they come; as `solvers.solve_many` does it.

    Args:
        problems: read as they are needed.
        solver: as for `solve`.
        time_limit: seconds for each problem.
        jobs: problems at once; -1 for one on each core.

    Raises:
        ProblemError: `problems` is no iterable.
        OptionError: `jobs` is neither -1 nor from 1 to 256.

    Example:
        >>> words = (LabelProblem.from_arrays([[0.0, length], [length, 0.0]]) for length in (1.0, 2.0))
        >>> [answer.labels.tolist() for answer in solve_many(words)]
        [[1, 0], [1, 0]]
    """
    yield from stream(problems, partial(_solution, solver=solver, time_limit=time_limit), jobs)


def _solution(
    problem: LabelProblem[ArrayT],
    solver: str | LabelSolver | ArgmaxSolver,
    time_limit: float | None,
) -> Solution[ArrayT]:
    check_label_problem(problem)
    return solve(problem, solver=solver, time_limit=time_limit)
