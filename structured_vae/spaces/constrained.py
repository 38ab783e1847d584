"""The space of bits that satisfy linear constraints, with pairwise scores."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, cast

import torch

import solvers
from models import Potentials
from models.potentials import AnyPotentials
from solvers import ArgmaxSolver, Solution
from solvers.constraints import Constraint
from solvers.solving.selection import resolve

from ..autograd.recording import construct_between_graphs
from ..errors import ConfigError, StructureError, shortened
from .checks.batches import check_dense, check_states, refuse_forbidden, require_scores
from .checks.scores import masked
from .space import StateSpace
from .structure import is_structure

ROUNDING: Final = 1e-9
"""Tolerance of a constraint in `contains`, as a share of the sum of its coefficients."""


@dataclass(frozen=True, eq=False)
class ConstrainedBits(StateSpace):
    """The bits that satisfy linear constraints; pairs of them may have scores.

    The argmax is that of `solvers.solve` with `constraints`, one instance after the other for most
    solvers. There is no `gibbs`.

    Args:
        constraints: those of `solvers.constraints`, which all instances share.
        solver: a solver that takes the constraints, or its name; see `solvers.solve`.

    Raises:
        ConfigError: `constraints` has something else in it, or is empty.
        solvers.UnsupportedProblemError: the solver takes no constraints.
        solvers.UnknownSolverError: no solver has that name.

    Example:
        >>> from solvers.constraints import at_most, one_of
        >>> space = ConstrainedBits([one_of([0, 1]), at_most(2)])
        >>> space.argmax(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
        tensor([[0., 1., 0., 1.]])
    """

    takes_pairs: ClassVar[bool] = True

    constraints: Iterable[Constraint]
    solver: str | ArgmaxSolver = "auto"

    def __post_init__(self) -> None:
        construct_between_graphs()
        rules = self.constraints
        with suppress(TypeError):  # which is no sequence: the message below says so
            rules = tuple(rules)
        is_tuple = isinstance(rules, tuple) and len(rules) > 0
        if not is_tuple or not all(isinstance(rule, Constraint) for rule in rules):
            raise ConfigError(
                "constraints must be a list made by solvers.constraints, such as [cardinality(3)]; "
                f"got {shortened(self.constraints)}"
            )
        object.__setattr__(self, "constraints", rules)
        _check_takes_constraints(self.solver)

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a state of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`.
            mask: boolean, False where a variable must be 0.

        Raises:
            solvers.InfeasibleError: no state satisfies the constraints.
            solvers.ProblemError: the scores are not finite, or the mask does not fit them.
            StructureError: the scores are not a dense tensor of scores, or forbid every state of an
                instance.
        """
        require_scores(scores)
        check_dense(scores, "scores", StructureError)
        scores = masked(scores, mask)
        return self.maximise(Potentials.of_scores(scores))

    def maximise(self, potentials: AnyPotentials, solver: Any = "auto") -> torch.Tensor:
        """Return the state of highest score `[..., batch, n]` of potentials without gradient.

        Args:
            potentials: scores of bits, and of pairs of them.
            solver: not used, since the space has its own.

        Raises:
            solvers.InfeasibleError: no state satisfies the constraints.
            solvers.SolverError: the solver cannot take these potentials.
            StructureError: the scores forbid every state of an instance.
        """
        return self.solution(potentials).z.to(potentials.unary)

    def solution(self, potentials: AnyPotentials) -> Solution[torch.Tensor]:
        """Return the solution with the score, bound and optimality certificate of each instance.

        Args:
            potentials: scores of bits, and of pairs of them.

        Raises:
            solvers.InfeasibleError: no state satisfies the constraints.
            solvers.SolverError: the solver cannot take these potentials.
            StructureError: the scores forbid every state of an instance.
        """
        bits = cast("Potentials", potentials.detach())
        penalised = _penalised(bits)
        solution = solvers.solve(
            penalised.unary,
            penalised.pairwise,
            edges=bits.edge_array(),
            solver=self.solver,
            constraints=cast("tuple[Constraint, ...]", self.constraints),
        )
        _refuse_forbidden(bits, solution.z)
        return solution

    def contains(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[...]`, whether each of `z [..., n]` satisfies the constraints.

        Raises:
            solvers.OptionError: a list of coefficients has another length than n.
        """
        check_states(z)
        satisfied = torch.ones(z.shape[:-1], dtype=torch.bool, device=z.device)
        for rule in cast("tuple[Constraint, ...]", self.constraints):
            rule.check_length(z.shape[-1])
            coefficients = z.new_ones(z.shape[-1], dtype=torch.float64)
            if rule.coefficients is not None:
                coefficients.zero_()
                for place, value in rule.coefficients.items():
                    coefficients[cast("int", place)] = value
            excess = (z.double() * coefficients).sum(dim=-1) - rule.right
            # A sum within its own rounding error of the limit counts as equal.
            rounding = ROUNDING * float(coefficients.abs().sum() + abs(rule.right))
            if rule.comparison != ">=":
                satisfied &= excess <= rounding
            if rule.comparison != "<=":
                satisfied &= excess >= -rounding
        return satisfied


def constrained(solver: Any, constraints: Iterable[Constraint]) -> Any:
    """Return a solver or structure, or the constrained bits that a solver maximises over.

    Args:
        solver: name or object of `solvers`, or a structure.
        constraints: those of `solvers.constraints`; empty for none.

    Raises:
        ConfigError: there are constraints for a structure, or something else is among them.
    """
    if isinstance(constraints, tuple | list) and not constraints:
        return solver
    if is_structure(solver):
        raise ConfigError(
            "constraints go with a solver, and a structure has states of its own: leave out the "
            "structure, or express it by constraints"
        )
    return ConstrainedBits(constraints, solver)


def _check_takes_constraints(solver: Any) -> None:
    """Raise if this is the name or the object of a solver that takes no constraints.

    Raises:
        solvers.UnsupportedProblemError: it takes none.
        solvers.UnknownSolverError: no solver has that name.
    """
    if isinstance(solver, str) and solver == "auto":
        return
    try:
        resolved = resolve(solver, solvers.Problem.from_arrays([0.0]))
    except solvers.UnsupportedProblemError:
        return  # a plug-in may want more variables
    if resolved.capabilities.constraints is None:
        reason = "it takes no constraints; 'auto' chooses a solver that does"
        raise solvers.UnsupportedProblemError(resolved.name, (reason,))


def _penalised(potentials: Potentials) -> Potentials:
    """Return potentials in which a forbidden variable or pair outweighs all other scores.

    Smaller penalties do not suffice: within constraints, a variable cannot always be cleared.
    """
    if potentials.forbidden is None and potentials.forbidden_pairs is None:
        return potentials
    wide = potentials.widened(torch.float64)
    total = wide.unary.abs().sum(dim=-1, keepdim=True)
    if wide.pairwise is not None:
        total = total + wide.pairwise.abs().sum(dim=-1, keepdim=True)
    penalty = -2 * total - 1
    unary = wide.unary
    if potentials.forbidden is not None:
        unary = torch.where(potentials.forbidden, penalty, unary)
    pairwise = wide.pairwise
    if pairwise is not None and potentials.forbidden_pairs is not None:
        pairwise = torch.where(potentials.forbidden_pairs, penalty, pairwise)
    return replace(wide, unary=unary, pairwise=pairwise, forbidden=None, forbidden_pairs=None)


def _refuse_forbidden(potentials: Potentials, z: torch.Tensor) -> None:
    """Raise if the best state has a forbidden variable or pair.

    Raises:
        StructureError: it has one.
    """
    if potentials.forbidden is not None:
        refuse_forbidden((z > 0) & potentials.forbidden, "ConstrainedBits")
    if potentials.forbidden_pairs is None:
        return
    taken = potentials.forbidden_pairs & (potentials.pairs(z) > 0)
    if bool(taken.any()):
        place = taken.nonzero()[0].tolist()[:-1]
        raise StructureError(
            f"instance {place} has no allowed state: within the constraints, every state has a "
            "pair whose score is minus infinity; allow more pairs"
        )
