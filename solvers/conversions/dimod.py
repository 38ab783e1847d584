"""Convert binary and constrained quadratic models of dimod, and its polynomials."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..decimals import decimal_of
from ..errors import ProblemError, SolverError, shortened
from ..problems.problem import Problem
from .any_conversion import AnyConversion
from .conversion import Conversion, Labels
from .energy import energy_of, named
from .exact import binary_of, floats
from .ising import from_ising
from .polynomials.polynomial import Variables, from_polynomial
from .polynomials.quadratisation import Quadratisation
from .qubo import from_qubo
from .soft import Constrained, Left
from .terms import finite_constant

PARTS = ("linear", "quadratic", "offset")
"""Attributes of a binary quadratic model."""


class ConversionUnavailableError(SolverError, ImportError):
    """Error for a missing package that a conversion needs."""


def from_dimod(bqm: Any) -> AnyConversion[Any]:
    """Convert a binary quadratic model, a constrained one or a polynomial of dimod; minimised.

    Constraints become `Conversion.constraints`, by their labels. Products in constraints, and soft
    constraints, get auxiliary bits. The value of an answer is the objective plus the penalties of
    violated soft constraints. Answers have -1 and 1 for spins, also in models with binaries. A
    model with integers becomes a `LabelConversion`.

    Args:
        bqm: `dimod.BinaryQuadraticModel`, `dimod.ConstrainedQuadraticModel` or
            `dimod.BinaryPolynomial`. Discrete quadratic models go to `solvers.labels.from_dimod`.

    Raises:
        ProblemError: the model is of another type; it has real variables, or integers with too many
            values; a constraint has a product of more than 4,096 pairs of values; a coefficient is
            not finite; or the possible violations of a soft constraint are more than 1,024 or
            differ by less than rounding.
    """
    if hasattr(bqm, "objective") and hasattr(bqm, "constraints"):
        return _from_constrained(bqm)
    kind = getattr(getattr(bqm, "vartype", None), "name", None)
    if kind not in ("BINARY", "SPIN"):
        raise ProblemError(f"expected a dimod.BinaryQuadraticModel; got {type(bqm).__name__}")
    if isinstance(bqm, Mapping):
        variables: Variables = "bits"
        if kind == "SPIN":
            variables = "spins"
        return from_polynomial(
            {tuple(term): number for term, number in bqm.items()}, variables=variables
        )
    if not all(hasattr(bqm, attribute) for attribute in PARTS):
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


def _from_constrained(model: Any) -> AnyConversion[Any]:
    """Return the conversion of a constrained quadratic model."""
    kinds = {model.vartype(label).name for label in model.variables}
    if "INTEGER" in kinds:
        labels = importlib.import_module("solvers.labels.conversions.dimod")
        conversion: AnyConversion[Any] = labels.from_dimod(model)
        return conversion
    if not kinds <= {"BINARY", "SPIN"}:
        raise ProblemError(
            f"variables must be binaries, spins or integers; there are {', '.join(sorted(kinds))}"
        )
    terms = _over_bits(model.objective, binary_of)
    linear = dict.fromkeys(model.variables, 0.0) | floats(terms.linear)
    # Each number is rounded once. Fractions would require a proof in all their digits.
    bits = _from_binaries(linear, floats(terms.quadratic), float(terms.offset))
    spins = (label for label in model.variables if model.vartype(label).name == "SPIN")
    bits = replace(bits, spins=frozenset(bits.places[label] for label in spins))
    count = len(bits.names)
    constrained = Constrained(count, Quadratisation(count))
    for label, comparison in model.constraints.items():
        _add(constrained, label, comparison, bits.places)
    return constrained.applied(bits)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Expression over bits, in fractions.

    Attributes:
        linear: {variable: coefficient}.
        quadratic: {(variable, variable): coefficient}.
        offset: the constant term.
    """

    linear: dict[Any, Fraction]
    quadratic: dict[tuple[Any, Any], Fraction]
    offset: Fraction


def _over_bits(expression: Any, exact: Callable[[Any], Fraction]) -> _Terms:
    """Return an expression over bits and spins with s = 2 z - 1 for each spin s.

    Args:
        expression: an expression of dimod.
        exact: returns the fraction that a coefficient represents.
    """
    linear = dict.fromkeys(expression.variables, Fraction(0))
    quadratic: dict[tuple[Any, Any], Fraction] = {}
    offset = exact(expression.offset)
    scale = {}
    shift = {}
    # A spin is s = 2 z - 1: scale and shift of its terms over bits.
    for variable in expression.variables:
        is_spin = expression.vartype(variable).name == "SPIN"
        scale[variable] = 1 + is_spin
        shift[variable] = -int(is_spin)
    for variable, bias in expression.linear.items():
        number = exact(bias)
        linear[variable] += number * scale[variable]
        offset += number * shift[variable]
    for (u, v), bias in expression.quadratic.items():
        number = exact(bias)
        quadratic[u, v] = number * scale[u] * scale[v]
        linear[u] += number * scale[u] * shift[v]
        linear[v] += number * scale[v] * shift[u]
        offset += number * shift[u] * shift[v]
    return _Terms(linear, quadratic, offset)


def _add(constrained: Constrained, label: Any, comparison: Any, places: Mapping[Any, int]) -> None:
    """Add one of the constraints of a model over bits."""
    side = comparison.lhs
    terms = _over_bits(side, decimal_of)
    numbers = {places[variable]: number for variable, number in terms.linear.items()}
    for (u, v), number in terms.quadratic.items():
        if number:
            place = constrained.product(places[u], places[v])
            numbers[place] = numbers.get(place, Fraction(0)) + number
    numbers = {place: number for place, number in numbers.items() if number}
    left = Left(label, numbers, terms.offset - decimal_of(comparison.rhs))
    if not side.is_soft():
        constrained.add(left, comparison.sense.value)
        return
    power = 1
    if side.penalty() == "quadratic":
        power = 2
    constrained.add_soft(left, comparison.sense.value, decimal_of(side.weight()), power)


def _biases(view: Any) -> dict[Any, Any]:
    try:
        return dict(view)
    except (TypeError, ValueError) as error:
        raise ProblemError(f"biases must be mappings to numbers; got {shortened(view)}") from error


def to_dimod(problem: Problem, labels: Labels | None = None) -> Any:
    """Return the dimod binary quadratic model whose energy is -score(z).

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
