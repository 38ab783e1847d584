"""Reasons why an estimator cannot take some potentials."""

from __future__ import annotations

from models import MOST_BITS, AnyPotentials, CategoricalPotentials

from ..structures import Structure


def no_pairs(structure: Structure | None, potentials: AnyPotentials) -> tuple[str, ...]:
    """Pairwise scores, where the states are those of a structure, which has none."""
    if structure is None or potentials.pairwise is None:
        return ()
    return (
        f"they have pairwise scores, and {type(structure).__name__} has scores of variables alone",
    )


def not_factorised(potentials: AnyPotentials, what: str) -> tuple[str, ...]:
    """Pairwise scores, where `what` exists only for independent variables."""
    if potentials.pairwise is None:
        return ()
    return (f"they have pairwise scores, and {what} is made for independent variables",)


def not_bits(potentials: AnyPotentials, what: str) -> tuple[str, ...]:
    """Categories, where `what` exists only for bits."""
    if isinstance(potentials, CategoricalPotentials):
        return (f"they are of categories, and {what} is made for bits",)
    return ()


def too_many_states(potentials: AnyPotentials) -> tuple[str, ...]:
    """More states than a table of all of them can have."""
    if potentials.state_count <= 2**MOST_BITS:
        return ()
    if isinstance(potentials, CategoricalPotentials):
        what = f"{potentials.variables} variables of {potentials.k} values"
        return (f"they are of {what}, and a table of all states takes at most 2^{MOST_BITS}",)
    n = potentials.unary.shape[-1]
    return (f"they are of n = {n} bits, and a table of all states takes at most {MOST_BITS}",)
