"""Scores of bits and of pairs, as arrays of JAX."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from solvers import ProblemError

from ..errors import shortened


def edges_of(unary: Any, pairwise: Any, edges: Any) -> np.ndarray | None:
    """Return the edges `[e, 2]` on the host; None where there are no pairwise scores.

    Raises:
        solvers.ProblemError: there are pairwise scores without edges, or edges without scores, or
            there is not one score for each edge, or an edge has no such variable.
    """
    if (pairwise is None) != (edges is None):
        raise ProblemError("pairwise and edges go together: pass [..., e] scores and [e, 2] edges")
    if edges is None:
        return None
    try:
        pairs = np.asarray(edges)
    except ValueError as error:
        raise ProblemError(f"edges must be integers [e, 2]; got {shortened(edges)}") from error
    _check_pairs(pairs, jnp.shape(unary)[-1], shortened(edges))
    if jnp.shape(pairwise)[-1:] != (len(pairs),):
        raise ProblemError(
            f"pairwise must be [..., {len(pairs)}], one score for each edge; "
            f"got {list(jnp.shape(pairwise))}"
        )
    return pairs


def _check_pairs(pairs: np.ndarray, n: int, shown: str) -> None:
    """Raise unless these are pairs of n variables; the message shows what the caller passed.

    Raises:
        solvers.ProblemError: they are of another shape or type, or name another variable.
    """
    if pairs.ndim != 2 or pairs.shape[-1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ProblemError(f"edges must be integers [e, 2]; got {pairs.dtype} {list(pairs.shape)}")
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < n):
        raise ProblemError(f"edges must be pairs of the variables 0 to {n - 1}; got {shown}")


def target_of(target: Any, unary: Any) -> Any:
    """Return the target `[..., n]` as an array.

    Raises:
        solvers.ProblemError: it has another shape than the scores.
    """
    if target is None or jnp.shape(target) != jnp.shape(unary):
        raise ProblemError(
            f"target must be states {list(jnp.shape(unary))}; got {shortened(target)}"
        )
    return jnp.asarray(target)


def products(z: Any, edges: np.ndarray) -> Any:
    """Return z_i z_j `[..., e]` of each edge."""
    return z[..., edges[:, 0]] * z[..., edges[:, 1]]


def score_difference(unary: Any, pairwise: Any, edges: np.ndarray | None, z: Any, y: Any) -> Any:
    """Return h(z) - h(y) `[...]`."""
    difference = (unary * (z - y)).sum(axis=-1)
    if edges is None:
        return difference
    return difference + (pairwise * (products(z, edges) - products(y, edges))).sum(axis=-1)


def gaps(unary: Any, pairwise: Any, edges: np.ndarray | None, z: Any) -> Any:
    """Return the amount `[..., n]` by which the flip of each variable changes the score."""
    field = unary
    if edges is not None:
        first, second = edges.T
        field = jnp.broadcast_to(field, z.shape)
        field = field.at[..., first].add(pairwise * z[..., second])
        field = field.at[..., second].add(pairwise * z[..., first])
    return jnp.abs(field)


def usable(
    scores: list[np.ndarray], event: int, forbidding: bool = False
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return scores that solvers accept, and which instances `[...]` have such scores.

    A function of JAX cannot raise for some of its values. So the scores of the other instances
    become 0 here, and the caller sets their results to nan.

    Args:
        scores: scores of one kind or more, on the host, with the same leading dimensions.
        event: the number of trailing dimensions of the first scores that belong to one instance.
        forbidding: whether minus infinity is accepted, which forbids a variable or a label.
    """
    leading = scores[0].ndim - event
    accepted = np.ones(scores[0].shape[:leading], bool)
    for values in scores:
        allowed = np.isfinite(values)
        if forbidding:
            allowed |= np.isneginf(values)
        accepted &= allowed.all(axis=tuple(range(leading, values.ndim)))
    if accepted.all():
        return scores, accepted
    return [np.where(_in_front(accepted, values), values, 0) for values in scores], accepted


def with_nan(values: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """Return values `[..., ...]` with nan in the instances that are not accepted `[...]`."""
    if accepted.all():
        return values
    return np.where(_in_front(accepted, values), values, np.nan)


def _in_front(accepted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return `accepted` with as many dimensions as `values`."""
    return accepted.reshape(*accepted.shape, *[1] * (values.ndim - accepted.ndim))
