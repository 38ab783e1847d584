"""The reasons why an estimator cannot take some potentials."""

from __future__ import annotations

from models.potentials import AnyPotentials
from models.states import MOST_BITS

from ..spaces import space_of


def no_pairs(potentials: AnyPotentials) -> tuple[str, ...]:
    """Return a reason where pairs have scores in a space that takes none."""
    if potentials.space is None or potentials.pairwise is None:
        return ()
    space = space_of(potentials)
    if space.takes_pairs:
        return ()
    return (f"they have pairwise scores, and {space} has scores of variables alone",)


def not_factorised(potentials: AnyPotentials, what: str) -> tuple[str, ...]:
    """Return a reason where variables depend on each other, and `what` needs independent ones."""
    if potentials.pairwise is not None:
        return (f"they have pairwise scores, and {what} is made for independent variables",)
    space = space_of(potentials)
    if not space.independent:
        return (
            f"the variables of {space} depend on each other, and {what} is made for independent "
            "variables",
        )
    return ()


def not_bits(potentials: AnyPotentials, what: str) -> tuple[str, ...]:
    """Return a reason where single flips leave the space, and `what` exists only for bits."""
    space = space_of(potentials)
    if space.categorical:
        return (f"they are of categories, and {what} is made for bits",)
    if not space.free_flips:
        return (f"they are of {space}, and {what} is made for all states of n bits",)
    return ()


def not_independent_bits(potentials: AnyPotentials, what: str) -> tuple[str, ...]:
    """Return the reasons why the variables are not independent bits, which `what` needs."""
    return not_bits(potentials, what) + not_factorised(potentials, what)


def not_categories(potentials: AnyPotentials, what: str) -> tuple[str, ...]:
    """Return a reason where the variables are bits, and `what` exists only for categories."""
    space = space_of(potentials)
    if space.categorical:
        return ()
    return (f"they are of {space}, and {what} is made for categories",)


def too_many_states(potentials: AnyPotentials) -> tuple[str, ...]:
    """Return a reason where a table of all states would be too large."""
    if potentials.state_count <= 2**MOST_BITS:
        return ()
    space = space_of(potentials)
    n = potentials.unary.shape[-1]
    most = f"2^{MOST_BITS}"
    if space.free_flips:
        most = str(MOST_BITS)
    return (f"they are of {space.described(n)}, and a table of all states takes at most {most}",)


def other_size(potentials: AnyPotentials, expected: int, name: str) -> tuple[str, ...]:
    """Return a reason where a network of an estimator was made for another number of scores."""
    n = potentials.unary.shape[-1]
    if n == expected:
        return ()
    return (f"they have {n} scores an image, and {name} was made with n = {expected}",)
