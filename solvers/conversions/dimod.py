"""Binary quadratic models of dimod."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..constraints import Constraint, linear
from ..errors import ProblemError, SolverError, shortened
from ..problem import Problem
from .conversion import Conversion, Labels
from .energy import energy_of, named
from .ising import from_ising
from .qubo import from_qubo
from .terms import finite_constant

PARTS = ("linear", "quadratic", "offset")
"""Of a binary quadratic model."""


class ConversionUnavailableError(SolverError, ImportError):
    """The conversion exists but a package that it needs is not installed."""


def from_dimod(bqm: Any) -> Conversion:
    """From a dimod binary quadratic model, of binaries or spins, or a constrained one; minimised.

    Linear constraints become `Conversion.constraints`, by their labels. In a constrained quadratic
    model spins come back as binaries: s = 2 z - 1.

    Raises:
        ProblemError: no such model, other variables than binaries and spins, or constraints that
            are soft or have products.
    """
    if hasattr(bqm, "objective") and hasattr(bqm, "constraints"):
        return _from_constrained(bqm)
    kind = getattr(getattr(bqm, "vartype", None), "name", None)
    if kind not in ("BINARY", "SPIN") or not all(hasattr(bqm, attribute) for attribute in PARTS):
        raise ProblemError(f"expected a dimod.BinaryQuadraticModel; got {type(bqm).__name__}")
    biases = _biases(bqm.linear)
    quadratic = _biases(bqm.quadratic)
    if kind == "SPIN":
        return from_ising(biases, quadratic, finite_constant("the offset", bqm.offset))
    return _from_binaries(biases, quadratic, bqm.offset)


def _from_binaries(biases: dict[Any, Any], quadratic: dict[Any, Any], offset: Any) -> Conversion:
    """Return the conversion of a model of binaries."""
    linear = {(label, label): bias for label, bias in biases.items()}
    return from_qubo({**linear, **quadratic}, finite_constant("the offset", offset))


def _from_constrained(model: Any) -> Conversion:
    """From a constrained quadratic model of binaries and spins, whose constraints are linear."""
    kinds = {model.vartype(label).name for label in model.variables}
    if not kinds <= {"BINARY", "SPIN"}:
        raise ProblemError(
            f"variables must be binaries or spins; there are {', '.join(sorted(kinds))}"
        )
    model = model.spin_to_binary(inplace=False) if "SPIN" in kinds else model
    biases = dict.fromkeys(model.variables, 0.0) | _biases(model.objective.linear)
    quadratic = _biases(model.objective.quadratic)
    conversion = _from_binaries(biases, quadratic, model.objective.offset)
    constraints = tuple(
        _constraint(label, constraint, conversion.places)
        for label, constraint in model.constraints.items()
    )
    return replace(conversion, constraints=constraints)


def _constraint(label: Any, comparison: Any, place: Mapping[Any, int]) -> Constraint:
    """One of a constrained quadratic model."""
    left = comparison.lhs
    if not left.is_linear():
        raise ProblemError(
            f"the constraint {shortened(label)} has products, and constraints are linear here; "
            "dimod.cqm_to_bqm makes penalties of it"
        )
    if left.is_soft():
        raise ProblemError(
            f"the constraint {shortened(label)} is soft, and constraints hold here; "
            "write it as a penalty"
        )
    coefficients = {place[variable]: float(bias) for variable, bias in left.linear.items()}
    # as decimals
    right = float(Fraction(repr(float(comparison.rhs))) - Fraction(repr(float(left.offset))))
    made = linear(coefficients, comparison.sense.value, right)
    return replace(made, name=str(label))


def _biases(view: Any) -> dict[Any, Any]:
    try:
        return dict(view)
    except (TypeError, ValueError) as error:
        raise ProblemError(f"biases must be mappings to numbers; got {shortened(view)}") from error


def to_dimod(problem: Problem, labels: Labels | None = None) -> Any:
    """A dimod binary quadratic model whose energy is -score(z).

    Args:
        problem: one instance.
        labels: `[n]`, names of the variables; None for 0..n-1.

    Raises:
        ConversionUnavailableError: dimod is not installed.
        ProblemError: `problem` is a batch, or `labels` does not fit.
    """
    if importlib.util.find_spec("dimod") is None:
        raise ConversionUnavailableError("to_dimod needs dimod: pip install dimod")
    dimod = importlib.import_module("dimod")
    names, unary, pairs, weights = energy_of(problem, labels)
    linear = dict(zip(names, unary.tolist(), strict=True))
    return dimod.BinaryQuadraticModel(linear, named(names, pairs, weights), 0.0, dimod.BINARY)
