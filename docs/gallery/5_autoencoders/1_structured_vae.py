r"""
Train a structured VAE
======================

This example trains a variational auto-encoder (VAE) whose code has 15 bits. The encoder returns a
score for each bit and for each of the 105 pairs of bits, so the bits depend on each other. It is
the place to start if you train discrete VAEs in your own loop. To train with checkpoints that can
be resumed, use ``structured_vae.train``; see :doc:`/train`.
"""

# %%
# Data and networks
# -----------------
#
# The package contains 5,000 images of Fashion-MNIST. ``paper_vae`` makes fully connected networks.
# ``general`` means pairwise scores of any sign.

import matplotlib.pyplot as plt
import torch

from models import paper_vae
from structured_vae import Gibbs, ScoreFunction, elbo_recipe, evaluate, load_dataset

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
torch.manual_seed(0)
vae = paper_vae("general", pixels=dataset.pixels, n=15)

# %%
# Training
# --------
#
# The scores define a distribution over all 32,768 codes, the Gibbs distribution.
# ``ScoreFunction(4)`` draws four exact samples per image, and gives an unbiased gradient. A step of
# the loop uses four objects:
#
# ======================  =========================================================================
# ``q``                   the distribution of codes, which the scores define
# ``objective.cost``      the cost of a code: the reconstruction error of its image
# ``objective.kl``        the KL divergence from the prior; it is 0 if the cost contains it already
# ``estimate.surrogate``  a loss whose gradient is the estimated gradient of the cost
# ======================  =========================================================================
#
# Every :doc:`gradient estimator </estimators>` works in this loop. To train through the argmax,
# replace ``ScoreFunction(4)`` by ``Direct("exhaustive")``.

estimator = ScoreFunction(4)
adam = torch.optim.Adam(vae.parameters(), lr=3e-3)
noise = torch.Generator().manual_seed(0)
costs = []
for _ in range(8):
    for x in images[torch.randperm(len(images), generator=noise)].split(100):
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise, len(costs))
        adam.zero_grad()
        (estimate.surrogate + objective.kl).mean().backward()
        adam.step()
        costs.append(estimate.cost.mean().item())

# %%
# The cost falls fast in the first hundred steps, and slowly after that.

figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(costs, linewidth=1)
axes.set(xlabel="step", ylabel="cost of the samples (nats)")

# %%
# Reconstructions
# ---------------
#
# The first row shows test images. The second row shows what the decoder makes of their 15 bits.

# sphinx_gallery_thumbnail_number = 3

vae.eval()
test = torch.from_numpy(dataset.test.images)


def show(rows, names=()):
    _, grid = plt.subplots(
        len(rows), len(rows[0]), figsize=(8, 8.5 * len(rows) / len(rows[0])), squeeze=False
    )
    for axes, row in zip(grid, rows, strict=True):
        for place, image in zip(axes, row, strict=True):
            place.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
            place.set(xticks=[], yticks=[])
    for axes, name in zip(grid, names, strict=False):
        axes[0].set_ylabel(name)


with torch.no_grad():
    shown = test[::97][:10]
    z = Gibbs(vae.encoder(shown)).sample(noise)[0]
    show([shown, vae.decoder(z).sigmoid()], ["image", "decoded"])

# %%
# Samples
# -------
#
# The prior is uniform. To sample an image, we draw 15 random bits and decode them.

with torch.no_grad():
    show(vae.sample(40, noise).reshape(5, 8, -1))

# %%
# One bit at a time
# -----------------
#
# The first image is decoded from the code of a test image. Each of the others differs from it in
# one bit. Some bits turn the shirt into trousers, and others change only the shading.

with torch.no_grad():
    flipped = z[9].repeat(10, 1)
    rows = torch.arange(1, 10)
    flipped[rows, rows - 1] = 1 - flipped[rows, rows - 1]
    show([vae.decoder(flipped).sigmoid()])

# %%
# Evaluation
# ----------
#
# With 15 bits, ``evaluate`` sums over all codes. So it can print :math:`-\log p(x)` itself, beside
# the upper bound that the training minimises. Their difference is the gap. The last word of a line
# says whether a number is exact or a bound. Lower is better. Longer training on all images gives
# far lower numbers; see :doc:`/reproduce`.

evaluation = evaluate(vae, [(test[:500],)], Gibbs, torch.Generator().manual_seed(0))
for name in ("bound", "minus_log_p", "gap"):
    quantity = evaluation.quantities[name]
    print(f"{name:12} {quantity.value:6.1f} nats, {quantity.kind}")
