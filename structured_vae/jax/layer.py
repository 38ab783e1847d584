"""The argmax as a function of JAX, without a gradient and with that of implicit MLE."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import solvers
from solvers import ArgmaxSolver

from ..errors import ConfigError, shortened
from ..schedules import positive
from ..spaces import Structure, as_space, is_structure
from .scores import edges_of, gaps, products


def argmax(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    solver: str | ArgmaxSolver | Structure = "auto",
) -> Any:
    """Return the state of highest score `[..., n]`, without a gradient.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: a solver of `solvers` or its name; or a `Structure`, which takes only `unary`.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
        ConfigError: a structure is given pairwise scores.

    Example:
        >>> import jax.numpy as jnp
        >>> argmax(jnp.array([[1.0, -0.5]]), jnp.array([[0.2]]), edges=[[0, 1]]).tolist()
        [[1.0, 0.0]]
    """
    pairs = edges_of(pairwise, edges)
    unary = jax.lax.stop_gradient(jnp.asarray(unary))
    answer = jax.ShapeDtypeStruct(unary.shape, unary.dtype)
    # Under `vmap` the solver gets all instances in one call.
    on_host = partial(jax.pure_callback, vmap_method="broadcast_all")
    if is_structure(solver):
        if pairs is not None:
            raise ConfigError(f"{type(solver).__name__} has scores of variables and none of pairs")
        return on_host(lambda scores: _of_structure(scores, solver), answer, unary)
    if pairs is None:
        return on_host(lambda scores: _solved(scores, None, None, solver), answer, unary)
    pairwise = jax.lax.stop_gradient(jnp.asarray(pairwise))
    pairwise = jnp.broadcast_to(pairwise, (*unary.shape[:-1], len(pairs)))
    return on_host(
        lambda scores, couplings: _solved(scores, couplings, pairs, solver),
        answer,
        unary,
        pairwise,
    )


def argmax_layer(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    solver: str | ArgmaxSolver | Structure = "auto",
    epsilon: float | None = None,
    key: Any = None,
) -> Any:
    """Return the argmax `[..., n]` with the gradient of implicit MLE, (z - z') / epsilon.

    z' is the argmax of the scores with `unary - epsilon * grad`, where grad is the incoming
    gradient. It is the function of `structured_vae.ArgmaxLayer`; the gradient is biased.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: as for `argmax`.
        epsilon: the step in the scores; None for `Relative(by="instance")`, a step for each
            instance, in units of its scores and its gradient.
        key: a key of `jax.random` for logistic noise on the unary scores; None for no noise.

    Raises:
        ConfigError: epsilon is not positive and finite, or a structure is given pairwise scores.
        solvers.ProblemError: the scores do not describe a problem.

    References:
        Niepert, Minervini, Franceschi (2021), Implicit MLE.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> def loss(unary):
        ...     return ((argmax_layer(unary, epsilon=1.0) - 1) ** 2).sum()
        >>> jax.grad(loss)(jnp.array([[1.0, -0.5]])).tolist()  # raise the second score
        [[0.0, -1.0]]
    """
    if epsilon is not None and not positive(epsilon):
        raise ConfigError(f"epsilon must be a positive number or None; got {shortened(epsilon)}")
    pairs = edges_of(pairwise, edges)
    unary = jnp.asarray(unary)
    if key is not None:
        unary = unary + jax.random.logistic(key, unary.shape, unary.dtype)
    # `custom_vjp` needs an array even where there are no pairs.
    if pairs is None:
        pairwise = jnp.zeros((), unary.dtype)

    def best(unary: Any, pairwise: Any) -> Any:
        scores_of_pairs = pairwise
        if pairs is None:
            scores_of_pairs = None
        return argmax(unary, scores_of_pairs, edges=pairs, solver=solver)

    layer = jax.custom_vjp(best)

    def forward(unary: Any, pairwise: Any) -> Any:
        z = best(unary, pairwise)
        return z, (unary, pairwise, z)

    def backward(kept: Any, slope: Any) -> Any:
        unary, pairwise, z = kept
        step: Any = epsilon
        if epsilon is None:
            step = _relative(gaps(unary, pairwise, pairs, z), slope)
        other = best(unary - step * slope, pairwise)
        singles = (z - other) / step
        if pairs is None:
            return singles, jnp.zeros_like(pairwise)
        moved = (products(z, pairs) - products(other, pairs)) / step
        return singles, moved

    layer.defvjp(forward, backward)
    if pairs is not None:
        pairwise = jnp.broadcast_to(jnp.asarray(pairwise), (*unary.shape[:-1], len(pairs)))
    return layer(unary, pairwise)


def _relative(sizes: Any, slope: Any) -> Any:
    """Return the median of the nonzero gaps over the mean absolute slope, `[..., 1]`."""
    # Gaps of zero go behind all others, so that the median is that of the nonzero ones.
    ordered = jnp.sort(jnp.where(sizes > 0, sizes, jnp.inf), axis=-1)
    count = (sizes > 0).sum(axis=-1, keepdims=True)
    middle = jnp.take_along_axis(ordered, jnp.maximum(count - 1, 0) // 2, axis=-1)
    gap = jnp.where(count > 0, middle, 1.0)
    steep = jnp.abs(slope)
    some = (steep > 0).sum(axis=-1, keepdims=True)
    mean = steep.sum(axis=-1, keepdims=True) / jnp.maximum(some, 1)
    return gap / jnp.where(some > 0, mean, 1.0)


def _solved(
    unary: Any, pairwise: Any, edges: np.ndarray | None, solver: str | ArgmaxSolver
) -> np.ndarray:
    unary = np.asarray(unary)
    couplings = None
    if pairwise is not None:
        couplings = np.asarray(pairwise)
    solution = solvers.solve(unary, couplings, edges=edges, solver=solver)
    return np.asarray(solution.z).astype(unary.dtype)


def _of_structure(scores: Any, structure: Structure) -> np.ndarray:
    values = np.array(scores)
    z: np.ndarray = as_space(structure).argmax(torch.from_numpy(values)).numpy()
    return z.astype(values.dtype)
