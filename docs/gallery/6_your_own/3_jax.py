r"""
Train in JAX
============

This example is for users of JAX. The argmax layer, the losses and the conditional random fields
(CRFs) are also functions of JAX. They call the same solvers, on the CPU. Here a linear model learns
to tag a chain. A second model learns to choose three of ten columns.
"""

# %%
# An extra package
# ----------------
#
# ``pip install 'structured-vae[jax]'`` installs JAX. If JAX was missing when this page was built, a
# line below says so.

import importlib.util

import matplotlib.pyplot as plt
import numpy as np

HAS_JAX = importlib.util.find_spec("jax") is not None
if not HAS_JAX:
    print("JAX is not installed: this page was built without running its examples.")

# %%
# Tag a chain
# -----------
#
# A hidden state has three values. In each step, it moves to a random value with probability 0.1. We
# observe it with noise. ``chain_log_likelihood`` is the exact log-likelihood of a linear-chain CRF,
# and ``chain_decode`` returns the best tags.

random = np.random.default_rng(0)


def chains(count, length=20):
    tags = np.zeros((count, length), np.int32)
    tags[:, 0] = random.integers(3, size=count)
    for step in range(1, length):
        moves = random.random(count) < 0.1
        tags[:, step] = np.where(moves, random.integers(3, size=count), tags[:, step - 1])
    seen = np.eye(3)[tags] + random.normal(size=(count, length, 3))
    return seen.astype(np.float32), tags


def train_chain(steps=60):
    import jax
    import jax.numpy as jnp

    from structured_vae.jax import chain_decode, chain_log_likelihood

    def loss(weights, seen, tags):
        scores = chain_log_likelihood(seen @ weights["seen"], tags, *weights["chain"])
        return -scores.mean()

    weights = {
        "seen": jnp.eye(3),
        "chain": (jnp.zeros((3, 3)), jnp.zeros(3), jnp.zeros(3)),
    }
    step = jax.jit(jax.value_and_grad(loss))
    history = []
    for _ in range(steps):
        value, gradient = step(weights, *chains(64))
        weights = jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient)
        history.append(float(value))
    seen, tags = chains(200)
    best = chain_decode(seen @ weights["seen"], *weights["chain"])
    alone = seen.argmax(axis=-1)
    print(f"wrong tags: {100 * (best != tags).mean():.1f} % by the chain, ", end="")
    print(f"{100 * (alone != tags).mean():.1f} % position by position")
    return history


# %%
# Choose three of ten
# -------------------
#
# ``argmax_layer`` takes the name of a solver or a structure, here ``KOfN(3)``. Its gradient is that
# of implicit MLE. With a key, the layer adds noise to the scores, so z is a sample. Without a key,
# z is the best state.


def train_subset(steps=60):
    import jax
    import jax.numpy as jnp

    from structured_vae import KOfN
    from structured_vae.jax import argmax_layer

    wanted = jnp.zeros(10).at[jnp.array([1, 4, 8])].set(1.0)

    def loss(scores, key):
        z = argmax_layer(jnp.broadcast_to(scores, (32, 10)), solver=KOfN(3), key=key)
        return ((z - wanted) ** 2).sum(axis=-1).mean()

    step = jax.jit(jax.value_and_grad(loss))
    scores = jnp.zeros(10)
    history = []
    for key in jax.random.split(jax.random.key(0), steps):
        value, gradient = step(scores, key)
        scores = scores - 1.0 * gradient
        history.append(float(value))
    chosen = argmax_layer(scores[None], solver=KOfN(3))[0]
    print("chosen:", [int(place) for place in np.flatnonzero(chosen)])
    return history


# %%
# Both losses fall
# ----------------
#
# On the left is the negative log-likelihood of the chain. On the right is the number of columns
# that differ from the wanted ones.

if HAS_JAX:
    figure, axes = plt.subplots(1, 2, figsize=(7, 3))
    axes[0].plot(train_chain())
    axes[0].set(xlabel="steps", ylabel="nats per chain", title="likelihood of a chain")
    axes[1].plot(train_subset())
    axes[1].set(xlabel="steps", ylabel="wrong columns", title="three of ten columns")
    figure.tight_layout()
