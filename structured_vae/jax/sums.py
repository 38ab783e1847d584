"""Log-partition functions of JAX, by the exact sums of `solvers`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import solvers

from .scores import edges_of, usable, with_nan

HostSums = Callable[..., tuple[np.ndarray, ...]]


def log_partition(unary: Any, pairwise: Any, *, edges: Any) -> Any:
    """Return log Z `[...]` of bits in nats; its gradient is the marginals.

    Sums are exact, in float64 on the host. The gradient has a derivative in reverse mode. An
    instance with a score that is not finite has the value nan.

    Args:
        unary: `[..., n]`.
        pairwise: `[..., e]`.
        edges: `[e, 2]`, the pairs, integers that are no tracers.

    Raises:
        solvers.ProblemError: the scores do not describe a problem.

    Example:
        >>> import jax.numpy as jnp
        >>> float(log_partition(jnp.zeros(2), jnp.array([1.0]), edges=[[0, 1]]))
        1.743...
    """
    gibbs = partial(solvers.gibbs, edges=edges_of(unary, pairwise, edges))
    unary = jnp.asarray(unary)
    shape = (*unary.shape[:-1], jnp.shape(pairwise)[-1])
    pairwise = jnp.broadcast_to(jnp.asarray(pairwise, unary.dtype), shape)
    return differentiable(*host_sums(gibbs), 1)(unary, pairwise)


def host_sums(gibbs: Callable[..., Any]) -> tuple[HostSums, HostSums]:
    """Return log Z and marginals, and their derivative in a direction, as functions on the host.

    Args:
        gibbs: takes unary and pairwise scores, and returns their distribution.
    """

    def sums(unary: np.ndarray, pairwise: np.ndarray) -> tuple[np.ndarray, ...]:
        p = gibbs(unary, pairwise)
        return p.log_partition, p.unary_marginals, p.pairwise_marginals

    def along(
        unary: np.ndarray, pairwise: np.ndarray, ones: np.ndarray, couples: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        product: tuple[np.ndarray, ...]
        product = gibbs(unary, pairwise).covariance_product(ones, couples)
        return product

    return sums, along


def differentiable(sums: HostSums, along: HostSums, event: int, forbidding: bool = False) -> Any:
    """Return log Z of two kinds of scores as a function of JAX, with two derivatives.

    Args:
        sums: gives log Z and the two marginals of scores on the host.
        along: gives the derivative of the marginals along two directions.
        event: the number of trailing dimensions of the first scores that belong to one instance.
        forbidding: whether scores may be minus infinity.
    """

    def called(host: HostSums, shapes: Any, *args: Any) -> Any:
        def flat(*values: Any) -> tuple[np.ndarray, ...]:
            wide = [np.asarray(value, np.float64) for value in values]
            scores, accepted = usable(wide, event, forbidding)
            answers = [with_nan(np.asarray(answer), accepted) for answer in host(*scores)]
            pairs = zip(answers, shapes, strict=True)
            # `vmap` may have added dimensions in front, so the leading ones are those of the
            # values.
            leading = values[0].shape[: values[0].ndim - event]
            return tuple(
                np.reshape(answer, (*leading, *shape.shape[len(lead) :])).astype(shape.dtype)
                for answer, shape in pairs
            )

        lead = args[0].shape[: args[0].ndim - event]
        return jax.pure_callback(flat, shapes, *args, vmap_method="broadcast_all")

    def shape_of(values: Any) -> Any:
        return jax.ShapeDtypeStruct(values.shape, values.dtype)

    def evaluated(first: Any, second: Any) -> Any:
        total = jax.ShapeDtypeStruct(first.shape[: first.ndim - event], first.dtype)
        return called(sums, (total, shape_of(first), shape_of(second)), first, second)

    marginals: Any = jax.custom_vjp(lambda first, second: evaluated(first, second)[1:])

    def marginals_forward(first: Any, second: Any) -> Any:
        return marginals(first, second), (first, second)

    def marginals_backward(kept: Any, directions: Any) -> Any:
        shapes = (shape_of(kept[0]), shape_of(kept[1]))
        return called(along, shapes, *kept, *directions)

    marginals.defvjp(marginals_forward, marginals_backward)

    total: Any = jax.custom_vjp(lambda first, second: evaluated(first, second)[0])

    def total_forward(first: Any, second: Any) -> Any:
        return total(first, second), (first, second)

    def total_backward(kept: Any, slope: Any) -> Any:
        # The gradient of log Z is the marginals, which have a derivative of their own.
        ones, pairs = marginals(*kept)
        weights = [slope.reshape(*slope.shape, *[1] * (m.ndim - slope.ndim)) for m in (ones, pairs)]
        return weights[0] * ones, weights[1] * pairs

    total.defvjp(total_forward, total_backward)
    return total
