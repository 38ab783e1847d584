"""The argmax layer, losses and conditional random fields as functions of JAX.

They call the solvers of this package on the host, by `jax.pure_callback`, and have gradients by
`jax.custom_vjp`. `jax.jit`, `jax.vmap` and `jax.grad` transform them. JAX is an extra:
`pip install 'structured-vae[jax]'`.

As usual in JAX, they do not raise if a score is nan. Instead, the results of this instance are nan,
and those of the other instances are not affected.
"""

import importlib.util

from ..errors import MissingPackageError

if importlib.util.find_spec("jax") is None:
    raise MissingPackageError("structured_vae.jax needs JAX: pip install 'structured-vae[jax]'")

from .crfs import chain_decode, chain_log_likelihood, label_log_partition
from .layer import argmax, argmax_layer
from .losses import (
    direct_loss,
    gibbs_likelihood,
    perturbed_loss,
    structured_hinge,
    structured_perceptron,
)
from .sums import log_partition

__all__ = [
    "argmax",
    "argmax_layer",
    "chain_decode",
    "chain_log_likelihood",
    "direct_loss",
    "gibbs_likelihood",
    "label_log_partition",
    "log_partition",
    "perturbed_loss",
    "structured_hinge",
    "structured_perceptron",
]
