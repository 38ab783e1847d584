r"""
A VAE over permutations
=======================

The latent state is a permutation of four things, as a 4 x 4 matrix of zeros and ones. Its log Z is
a permanent, whose sum is out of reach for many things; an argmax is a linear assignment. So direct
optimization and implicit MLE train it, and the evaluation says which numbers are bounds.
"""

# %%
# Training by an argmax
# ---------------------

import matplotlib.pyplot as plt
import torch

from models import paper_vae
from structured_vae import (
    Assignments,
    Direct,
    ImplicitMLE,
    elbo_recipe,
    evaluate,
    load_dataset,
)

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
test = torch.from_numpy(dataset.test.images[:100])
space = Assignments(4)


def trained(estimator, steps=150):
    torch.manual_seed(0)
    vae = paper_vae("independent", n=16, space=space)
    noise = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(vae.parameters(), lr=3e-3)
    for step in range(steps):
        x = images[torch.randint(len(images), (50,), generator=noise)]
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise, step)
        adam.zero_grad()
        (estimate.surrogate + objective.kl).mean().backward()
        adam.step()
    return vae.eval()


estimators = {"direct": Direct(sides=2), "implicit MLE": ImplicitMLE()}
models = {name: trained(estimator) for name, estimator in estimators.items()}

# %%
# What is exact, and what is a bound
# ----------------------------------
#
# The density of an argmax under noise is not known, so the KL is estimated by the frequencies of
# samples. In expectation it is at least the KL, so the bound holds. There are only 24 permutations
# of four things: -log p(x) is summed over all of them.

for name, vae in models.items():
    generator = torch.Generator().manual_seed(0)
    quantities = evaluate(vae, [(test,)], estimators[name].posterior, generator, 200).quantities
    for key in ("reconstruction", "kl", "bound", "minus_log_p"):
        print(f"{name:13} {key:15} {quantities[key].value:6.1f} nats, {quantities[key].kind}")

# %%
# All 24 images
# -------------
#
# The mean image of each permutation under the model of direct optimization.

states = space.states(16, test)
with torch.no_grad():
    means = models["direct"].decoder.mean(states)
figure, grid = plt.subplots(2, 12, figsize=(9, 1.7))
for axes, image in zip(grid.flat, means, strict=True):
    axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])
