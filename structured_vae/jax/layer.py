"""The argmax as a function of JAX, without a gradient and with that of implicit MLE."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import solvers
from solvers import ArgmaxSolver, UnsupportedProblemError
from solvers.solving.selection import resolve

from ..distributions.argmax_module import ONE_VARIABLE
from ..errors import ConfigError, shortened
from ..noise import checked_draws
from ..schedules import positive
from ..spaces import Structure, as_space, is_structure
from .scores import edges_of, gaps, products, usable, with_nan


def argmax(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    solver: str | ArgmaxSolver | Structure = "auto",
) -> Any:
    """Return the state of highest score `[..., n]`, without a gradient.

    An instance with a score that is not finite has the state nan. With a structure, minus infinity
    keeps a variable at 0.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: a solver of `solvers` or its name; or a `Structure`, which takes only `unary`.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.
        solvers.UnknownSolverError: no solver has that name.
        ConfigError: a structure is given pairwise scores.

    Example:
        >>> import jax.numpy as jnp
        >>> argmax(jnp.array([[1.0, -0.5]]), jnp.array([[0.2]]), edges=[[0, 1]]).tolist()
        [[1.0, 0.0]]
    """
    if not is_structure(solver):
        with suppress(UnsupportedProblemError):  # a plug-in may want more variables
            resolve(solver, ONE_VARIABLE)
    pairs = edges_of(unary, pairwise, edges)
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
    samples: int = 1,
) -> Any:
    """Return the argmax `[..., n]` with the gradient of implicit MLE, (z - z') / epsilon.

    z' is the argmax of the scores with `unary - epsilon * grad`, where grad is the incoming
    gradient. It is the function of `structured_vae.ArgmaxLayer`; the gradient is biased. It is nan
    in instances whose incoming gradient is not finite.

    With a key and `samples` above 1, it is the mean of z over so many draws of noise, with entries
    from 0 to 1. Its gradient is the mean of the gradients that single draws have for the same
    incoming gradient.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`, or None.
        edges: `[e, 2]`, the pairs, integers that are no tracers.
        solver: as for `argmax`.
        epsilon: the step in the scores; None for `Relative(by="instance")`, a step for each
            instance, in units of its scores and its gradient.
        key: a key of `jax.random` for logistic noise on the unary scores; None for no noise.
        samples: the number of draws that a call with a key averages.

    Raises:
        ConfigError: epsilon is not positive and finite, `samples` is not a whole number of at least
            1, or a structure is given pairwise scores.
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
    check_step(epsilon)
    draws = checked_draws(samples)
    pairs = edges_of(unary, pairwise, edges)
    unary = jnp.asarray(unary)
    # `custom_vjp` needs an array even where there are no pairs.
    if pairs is None:
        pairwise = jnp.zeros((), unary.dtype)
    else:
        pairwise = jnp.broadcast_to(jnp.asarray(pairwise), (*unary.shape[:-1], len(pairs)))
    if key is None:
        noise = jnp.zeros((1, *[1] * unary.ndim), unary.dtype)
    else:
        noise = jax.random.logistic(key, (draws, *unary.shape), unary.dtype)
    return _implicit_mle(pairs, solver, epsilon)(unary, pairwise, noise)


def _implicit_mle(
    pairs: np.ndarray | None, solver: str | ArgmaxSolver | Structure, epsilon: float | None
) -> Any:
    """Return a function of scores and noise `[draws, ..., n]`: the mean argmax, with its gradient.

    Each draw gets the whole incoming gradient, and the gradient is the mean over the draws.
    """

    def best(unary: Any, pairwise: Any) -> Any:
        scores_of_pairs = pairwise
        if pairs is None:
            scores_of_pairs = None
        return argmax(unary, scores_of_pairs, edges=pairs, solver=solver)

    def mean(unary: Any, pairwise: Any, noise: Any) -> Any:
        return best(unary + noise, pairwise).mean(axis=0)

    layer = jax.custom_vjp(mean)

    def forward(unary: Any, pairwise: Any, noise: Any) -> Any:
        noisy = unary + noise
        z = best(noisy, pairwise)
        return z.mean(axis=0), (noisy, pairwise, noise, z)

    def backward(kept: Any, slope: Any) -> Any:
        noisy, pairwise, noise, z = kept
        step: Any = epsilon
        if epsilon is None:
            step = relative_step(gaps(noisy, pairwise, pairs, z), slope)
        other = best(noisy - step * slope, pairwise)
        singles = ((z - other) / step).mean(axis=0)
        if pairs is None:
            return singles, jnp.zeros_like(pairwise), jnp.zeros_like(noise)
        moved = (products(z, pairs) - products(other, pairs)) / step
        return singles, moved.mean(axis=0), jnp.zeros_like(noise)

    layer.defvjp(forward, backward)
    return layer


def check_step(epsilon: object) -> None:
    """Raise unless epsilon is a step in the scores, or None.

    Raises:
        ConfigError: it is not.
    """
    if epsilon is not None and not positive(epsilon):
        raise ConfigError(f"epsilon must be a positive number or None; got {shortened(epsilon)}")


def relative_step(sizes: Any, slope: Any) -> Any:
    """Return the median of the nonzero gaps over the mean absolute slope, `[..., 1]`."""
    # Gaps of zero go behind all others, so that the median is that of the nonzero ones.
    # The infinite gaps of forbidden variables do not count either.
    counted = (sizes > 0) & jnp.isfinite(sizes)
    ordered = jnp.sort(jnp.where(counted, sizes, jnp.inf), axis=-1)
    count = counted.sum(axis=-1, keepdims=True)
    middle = jnp.take_along_axis(ordered, jnp.maximum(count - 1, 0) // 2, axis=-1)
    gap = jnp.where(count > 0, middle, 1.0)
    steep = jnp.abs(slope)
    some = (steep > 0).sum(axis=-1, keepdims=True)
    mean = steep.sum(axis=-1, keepdims=True) / jnp.maximum(some, 1)
    return gap / jnp.where(some > 0, mean, 1.0)


def _solved(
    unary: Any, pairwise: Any, edges: np.ndarray | None, solver: str | ArgmaxSolver
) -> np.ndarray:
    scores = [_on_host(unary)]
    if pairwise is not None:
        scores.append(_on_host(pairwise))
    scores, accepted = usable(scores, 1)
    solution = solvers.solve(*scores, edges=edges, solver=solver)
    return with_nan(np.asarray(solution.z), accepted).astype(np.asarray(unary).dtype)


def _of_structure(scores: Any, structure: Structure) -> np.ndarray:
    (values,), accepted = usable([_on_host(scores)], 1, forbidding=True)
    z: np.ndarray = as_space(structure).argmax(torch.from_numpy(np.array(values))).numpy()
    return with_nan(z, accepted).astype(np.asarray(scores).dtype)


def _on_host(scores: Any) -> np.ndarray:
    """Return scores as an array of numpy, whose packages have no bfloat16."""
    values = np.asarray(scores)
    if values.dtype == jnp.bfloat16:
        values = values.astype(np.float32)
    return values
