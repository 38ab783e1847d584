"""Convert polynomials of bits or spins, of any degree."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ...errors import OptionError, did_you_mean, shortened
from ..any_conversion import AnyConversion
from ..conversion import Conversion
from ..sense import Sense, sign_of
from ..terms import folded
from .polynomial_terms import Monomials, Polynomial, Read, Scope, read
from .quadratisation import Quadratisation, bits_of_cliques, by_cliques, by_substitution

Variables: TypeAlias = Literal["bits", "spins"]
Reduction: TypeAlias = Literal["auto", "cliques", "substitution", "labels"]

VALUES: Mapping[str, tuple[int, int]] = {"bits": (0, 1), "spins": (-1, 1)}


def from_polynomial(
    terms: Any,
    offset: float = 0.0,
    sense: Sense = "minimise",
    *,
    variables: Variables = "bits",
    reduction: Reduction = "auto",
) -> AnyConversion[Any]:
    """Convert a polynomial of any degree: offset + sum_t terms[t] prod_(i in t) v_i.

    Terms of three variables or more become pairs with auxiliary bits, or tables of labels. The
    maxima stay the same, and the value of an answer is the polynomial itself at its assignment.

    Args:
        terms: {names: number}, where names are a tuple of any length; `()` is a constant. A name
            that occurs twice in a term counts as v * v. Numbers are of any kind, as for
            `from_qubo`.
        offset: a constant.
        sense: whether the original is minimised or maximised.
        variables: "bits" of 0 and 1, or "spins" of -1 and 1.
        reduction: "cliques" reduces each term separately without penalties. A term whose score is
            positive adds one bit, and a negative term of d variables adds (d - 1) // 2 bits.
            "substitution" replaces pairs that terms share, with penalties. "labels" makes a
            variable of several values for the variables of each largest term; `k_best` and `gibbs`
            need it. "auto" uses the reduction that adds the fewest binary digits.

    Returns:
        A `Conversion` of bits, or with "labels" a `LabelConversion`.

    Raises:
        ProblemError: `terms` is not such a dict, a number is not finite, or a term has more than 16
            spins.
        OptionError: `sense`, `variables` or `reduction` is not such a word.

    References:
        Freedman, Drineas (2005), Energy minimization via graph cuts: settling what is possible.
        Ishikawa (2011), Transformation of general binary MRF minimization to the first-order case.
        Rosenberg (1975), Reduction of bivalent maximization to the quadratic case.

    Example:
        >>> from solvers import solve
        >>> answer = solve(from_polynomial({("a", "b", "c"): -3.0, ("a",): 1.0, ("b", "c"): 1.0}))
        >>> answer.value, answer.assignment, answer.optimal
        (-1.0, {'a': 1, 'b': 1, 'c': 1}, True)
    """
    sign = sign_of(sense)
    _check_word("variables", variables, Variables)
    _check_word("reduction", reduction, Reduction)
    polynomial = read(terms, offset, VALUES[variables])
    monomials = polynomial.monomials()
    scores = {scope: sign * number for scope, number in monomials.high.items()}
    if reduction == "auto":
        reduction = smallest(scores)
    if reduction == "labels":
        labels = importlib.import_module("solvers.labels.conversions.polynomial")
        conversion: AnyConversion[Any] = labels.in_tables(polynomial, monomials, sign)
        return conversion
    reduce = by_substitution
    if reduction == "cliques":
        reduce = by_cliques
    low = {scope: sign * number for scope, number in monomials.low.items()}
    return _of_pairs(polynomial, monomials, sign, reduce(len(polynomial.labels), low, scores))


def _check_word(name: str, word: Any, words: Any) -> None:
    """Raise an OptionError if an option is not one of its allowed words."""
    choices = get_args(words)
    if not isinstance(word, str) or word not in choices:
        hint = did_you_mean(word, choices)
        raise OptionError(
            f"{name} must be one of {', '.join(choices)}; {hint}got {shortened(word)}"
        )


def smallest(scores: Mapping[Scope, float]) -> Reduction:
    """Return the reduction that adds the fewest binary digits.

    Args:
        scores: the terms of three variables or more, to be maximised.

    Example:
        >>> smallest({(0, 1, 2): 1.0}), smallest({(0, 1, 2): 1.0, (0, 1, 3): 1.0, (0, 1, 4): 1.0})
        ('cliques', 'substitution')
    """
    cliques = bits_of_cliques(scores)
    if cliques <= 1:  # nothing is smaller
        return "cliques"
    substitution = len(by_substitution(0, {}, scores).auxiliary)
    labels = sum(map(len, largest_scopes(scores)))
    digits: dict[Reduction, int] = {"cliques": cliques, "substitution": substitution}
    if max(map(len, scores)) <= MOST_OF_A_TABLE:
        digits["labels"] = labels
    return min(digits, key=lambda reduction: digits[reduction])


MOST_OF_A_TABLE = 12
"""Maximum number of variables of a term that becomes a table, which has 2^12 entries."""


def largest_scopes(scores: Mapping[Scope, float]) -> list[Scope]:
    """Return the scopes that no other scope contains."""
    scopes: list[Scope] = []
    for scope in sorted(scores, key=len, reverse=True):
        members = set(scope)
        if not any(members <= set(other) for other in scopes):
            scopes.append(scope)
    return scopes


@np.errstate(over="ignore", invalid="ignore")  # overflow is reported by name later
def _of_pairs(
    polynomial: Read, monomials: Monomials, sign: int, pairs: Quadratisation
) -> Conversion:
    """Return the conversion of a polynomial that was reduced to pairs."""
    objective = objective_of(polynomial, pairs.contributions, pairs.summed, not pairs.auxiliary)
    unary, edges, weights = pairs.arrays()
    return Conversion(
        folded(unary, edges, weights),
        sign,
        monomials.constant,
        polynomial.labels,
        polynomial.values,
        tuple(pairs.auxiliary),
        original=objective,
    )


def objective_of(
    polynomial: Read, contributions: np.ndarray, summed: int, is_solved_exactly: bool
) -> Polynomial:
    """Return the objective of a polynomial.

    Args:
        polynomial: what the caller wrote.
        contributions: the numbers that the coefficients of the problem add up.
        summed: maximum number of contributions to one coefficient.
        is_solved_exactly: whether sums over all states of the problem are those of the original.
    """
    if polynomial.values == (0, 1):
        expanded = 1
    else:
        expanded = len(polynomial.terms) + 1
    return Polynomial(
        polynomial.constant,
        tuple(polynomial.terms),
        np.array(list(polynomial.terms.values()), np.float64),
        polynomial.values,
        contributions,
        max(summed, expanded),
        is_solved_exactly,
        polynomial.exact,
    )
