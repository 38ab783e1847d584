"""Losses of scores for a target state, as functions of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from solvers import ArgmaxSolver

from ..errors import ConfigError, shortened
from ..noise import checked_draws
from ..schedules import positive
from ..spaces import Structure
from .layer import argmax, check_step, relative_step
from .scores import edges_of, gaps, score_difference, target_of
from .sums import log_partition


def structured_perceptron(
    unary: Any,
    pairwise: Any = None,
    *,
    target: Any,
    edges: Any = None,
    solver: str | ArgmaxSolver | Structure = "auto",
) -> Any:
    """Return the perceptron loss max_z h(z) - h(y) `[...]`; see `StructuredPerceptron`.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        target: `[..., n]`, the state y.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: as for `argmax`.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
        ConfigError: a structure is given pairwise scores.
    """
    pairs = edges_of(unary, pairwise, edges)
    target = target_of(target, unary)
    z = argmax(unary, pairwise, edges=edges, solver=solver)
    return score_difference(jnp.asarray(unary), pairwise, pairs, z, target)


def structured_hinge(
    unary: Any,
    pairwise: Any = None,
    *,
    target: Any,
    edges: Any = None,
    solver: str | ArgmaxSolver | Structure = "auto",
    margin: float = 1.0,
) -> Any:
    """Return the hinge loss max_z [h(z) + margin D(z, y)] - h(y) `[...]`; see `StructuredHinge`.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        target: `[..., n]`, the state y.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: as for `argmax`.
        margin: weight of the Hamming distance D, positive.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
        ConfigError: the margin is not positive, or a structure is given pairwise scores.

    Example:
        >>> import jax.numpy as jnp
        >>> float(structured_hinge(jnp.array([1.5, -0.5]), target=jnp.ones(2)))
        1.5
    """
    if not positive(margin):
        raise ConfigError(f"margin must be a positive number; got {shortened(margin)}")
    pairs = edges_of(unary, pairwise, edges)
    target = target_of(target, unary)
    unary = jnp.asarray(unary)
    # For bits D(z, y) = sum_i y_i + (1 - 2 y_i) z_i, so the margin only changes unary scores.
    slope = margin * (1 - 2 * target)
    z = argmax(unary + slope, pairwise, edges=edges, solver=solver)
    lost = score_difference(unary, pairwise, pairs, z, target)
    return lost + (slope * (z - target)).sum(axis=-1)


def perturbed_loss(
    unary: Any,
    pairwise: Any = None,
    *,
    target: Any,
    key: Any,
    edges: Any = None,
    solver: str | ArgmaxSolver | Structure = "auto",
    sigma: float = 1.0,
    samples: int = 1,
) -> Any:
    """Return the perturbed Fenchel-Young loss `[...]`; see `PerturbedFenchelYoung`.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        target: `[..., n]`, the state y.
        key: a key of `jax.random` for the noise.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: as for `argmax`.
        sigma: the scale of the noise.
        samples: the number of draws for each instance.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
        ConfigError: sigma is not positive, samples is not a whole number of at least 1, or a
            structure is given pairwise scores.
    """
    if not positive(sigma):
        raise ConfigError(f"sigma must be a positive number; got {shortened(sigma)}")
    draws = checked_draws(samples)
    pairs = edges_of(unary, pairwise, edges)
    unary = jnp.asarray(unary)
    target = target_of(target, unary)
    noise = sigma * jax.random.normal(key, (draws, *unary.shape), unary.dtype)
    z = argmax(unary + noise, pairwise, edges=edges, solver=solver)
    lost = score_difference(unary, pairwise, pairs, z, target)
    return (lost + (noise * (z - target)).sum(axis=-1)).mean(axis=0)


def direct_loss(
    unary: Any,
    pairwise: Any = None,
    *,
    target: Any,
    edges: Any = None,
    solver: str | ArgmaxSolver | Structure = "auto",
    epsilon: float | None = None,
    key: Any = None,
) -> Any:
    """Return the Hamming distance of the argmax to the target `[...]`; see `DirectLoss`.

    Its gradient is that of direct loss minimisation, which is biased: [s(z) - s(z')] / epsilon,
    where z' is the argmax of the scores minus epsilon times the distance.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        target: `[..., n]`, the state y.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: as for `argmax`.
        epsilon: as for `argmax_layer`.
        key: a key of `jax.random` for logistic noise on the unary scores; None for no noise.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
        ConfigError: epsilon is not positive and finite, or a structure is given pairwise scores.

    Example:
        >>> import jax.numpy as jnp
        >>> float(direct_loss(jnp.array([1.5, -0.5]), target=jnp.ones(2)))
        1.0
    """
    check_step(epsilon)
    pairs = edges_of(unary, pairwise, edges)
    unary = jnp.asarray(unary)
    target = target_of(target, unary)
    if key is not None:
        unary = unary + jax.random.logistic(key, unary.shape, unary.dtype)
    z = argmax(unary, pairwise, edges=edges, solver=solver)
    slope = 1 - 2 * target
    step: Any = epsilon
    if epsilon is None:
        singles, couplings = jax.lax.stop_gradient((unary, pairwise))
        step = relative_step(gaps(singles, couplings, pairs, z), slope)
    step = jnp.broadcast_to(jnp.asarray(step, unary.dtype), (*unary.shape[:-1], 1))
    moved = argmax(unary - step * slope, pairwise, edges=edges, solver=solver)
    surrogate = score_difference(unary, pairwise, pairs, z, moved) / step[..., 0]
    # The value is the distance, the gradient that of the surrogate.
    return (slope * (z - target)).sum(axis=-1) + surrogate - jax.lax.stop_gradient(surrogate)


def gibbs_likelihood(unary: Any, pairwise: Any = None, *, target: Any, edges: Any = None) -> Any:
    """Return the negative log-likelihood log Z - h(y) `[...]` in nats; see `GibbsLikelihood`.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        target: `[..., n]`, the state y.
        edges: `[e, 2]`, the pairs, integers that are no tracers.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
    """
    pairs = edges_of(unary, pairwise, edges)
    unary = jnp.asarray(unary)
    target = target_of(target, unary)
    if pairs is None:
        finite = jnp.isfinite(unary).all(axis=-1, keepdims=True)
        # Added to the scores, so that the gradients are nan too.
        unary = unary + jnp.where(finite, 0.0, jnp.nan)
        total = jax.nn.softplus(unary).sum(axis=-1)
    else:
        total = log_partition(unary, pairwise, edges=pairs)
    # h(0) = 0, so the difference from the zero state is h(y).
    return total - score_difference(unary, pairwise, pairs, target, jnp.zeros_like(target))
