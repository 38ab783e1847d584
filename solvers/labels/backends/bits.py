"""Any solver of bits, on the bits of labels."""

from __future__ import annotations

from dataclasses import dataclass

from ...limits.deadline import Deadline, preparing
from ...solution import Maximiser
from ...solver import ArgmaxSolver, Capabilities
from ...solving.selection import resolve
from ..algorithms.domain_wall import domain_wall
from ..problem import LabelProblem
from ..solver import LabelSolver


@dataclass(frozen=True)
class Bits(LabelSolver):
    """What a binary solver finds: a variable of s values is s - 1 bits, in the domain-wall encoding.

    `max_flow` is exact so where tables are supermodular in the order of the labels (Ishikawa), and
    every other solver takes all that has not too many bits.

    Attributes:
        solver: a name of `solvers.available_solvers()`, a solver object, or "auto".
    """

    solver: str | ArgmaxSolver = "auto"

    name = "bits"
    capabilities = Capabilities(exact=True, time_limit=True)

    def why_not(self, problem: LabelProblem) -> tuple[str, ...]:
        """What the binary solver says of the bits; nothing where one is chosen for them."""
        if isinstance(self.solver, str) and self.solver == "auto":
            return ()
        bits = domain_wall(problem.to_host()).problem
        if not bits.n:
            return ()
        binary = resolve(self.solver, bits)
        return tuple(
            f"by {binary.name} of its {bits.n} bits: {reason}" for reason in binary.why_not(bits)
        )

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        coded = domain_wall(problem)
        if not coded.problem.n:  # one value each
            return Maximiser(coded.labels(coded.problem.unary))
        with preparing(deadline):
            binary = resolve(self.solver, coded.problem)
        binary.check(coded.problem)
        found = binary.solve_until(coded.problem, deadline.within_whole(coded.problem, coded.known))
        z, bound = coded.labels(found.z), coded.bound(found.bound)
        return Maximiser(z, bound, found.stats, found.solver, coded.rounding, coded.tolerance)
