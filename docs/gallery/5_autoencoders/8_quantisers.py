"""
Quantisers: VQ, FSQ, LFQ and BSQ
================================

Convolutional auto-encoders of colour images whose code is 256 or 512 bits, made by the four quantisers that
image and sound models use most, and a prior that is fitted to the codes after training.
"""

# %%
# Images
# ------
#
# Coloured discs and squares of 32 x 32 pixels, in steps of 1/255 as images are stored.

import math

import matplotlib.pyplot as plt
import torch

from models import quantised_vae
from models.priors import named_prior
from models.quantisers import codebook_use
from structured_vae.training.prior_fit import fit_to_codes

SIZE = (3, 32, 32)


def shapes(count, seed):
    """Return images `[count, 3072]` of one disc or square each, before a background."""
    noise = torch.Generator().manual_seed(seed)
    centre = 8 + 16 * torch.rand(count, 2, 1, 1, generator=noise)
    radius = 4 + 4 * torch.rand(count, 1, 1, generator=noise)
    colours = torch.rand(count, 2, 3, 1, 1, generator=noise)
    square = torch.rand(count, 1, 1, generator=noise) < 0.5
    rows, columns = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
    down = (rows - centre[:, 0]).abs()
    across = (columns - centre[:, 1]).abs()
    distance = torch.where(square, torch.maximum(down, across), (down**2 + across**2).sqrt())
    inside = (distance < radius)[:, None]
    images = torch.where(inside, colours[:, 0], colours[:, 1])
    return (255 * images).round().flatten(1) / 255


images = shapes(1000, seed=0)
test = shapes(200, seed=1)

# %%
# Four quantisers
# ---------------
#
# An encoder of convolutions gives 8 x 8 tokens of a few features. The quantiser replaces these by
# the vectors of a code, and passes the decoder's gradient straight through to the encoder. VQ also
# learns a codebook, and pulls the encoder towards it (``commitment``). LFQ and BSQ keep soft bits
# certain and in use (``entropy``).

MODELS = {
    "fsq": {"n": 128, "codes": 4},
    "vq": {"n": 64, "codes": 16, "dimensions": 4},
    "lfq": {"n": 256},
    "bsq": {"n": 256},
}
COMMITMENT = {"vq": 0.25, "lfq": 0.25}
ENTROPY = {"lfq": 0.1, "bsq": 0.1}
EPOCHS = 16


def trained(name):
    torch.manual_seed(0)
    vae = quantised_vae(
        name,
        size=SIZE,
        networks="convolutional",
        channels=12,
        likelihood="discretised_gaussian",
        **MODELS[name],
    )
    noise = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(vae.parameters(), lr=4e-3)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(adam, EPOCHS * 20)
    for _ in range(EPOCHS):
        for x in images[torch.randperm(len(images), generator=noise)].split(50):
            code = vae.quantise(x, noise)
            cost = vae.straight_through_cost(x, code).mean()
            penalty = COMMITMENT.get(name, 0.0) * code.commitment
            penalty = penalty + ENTROPY.get(name, 0.0) * code.entropy
            adam.zero_grad()
            (cost + vae.pixels * penalty).backward()
            adam.step()
            rate.step()
    return vae.eval()


models = {name: trained(name) for name in MODELS}

# %%
# A valid bound
# -------------
#
# An image has one code z(x), so ``-log p(x | z(x)) - log p(z(x))`` is an upper bound on ``-log p(x)``
# for every prior p(z). The uniform prior charges each bit in full; the factorised prior has the
# frequencies of values; the last one is fitted to the codes of the training images, after training.
# Bits per dimension are the bound over 3,072 log 2.


@torch.no_grad()
def parts(vae):
    z = vae.code(test)
    cost = vae.cost(test, z).mean().item()
    return z, cost, -vae.log_prior(z).mean().item()


print("      bits  -log p(x|z)   uniform  factorised  fitted   perplexity   bits/dim")
for name, vae in models.items():
    z, cost, factorised = parts(vae)
    uniform = vae.quantiser.log_count
    _, perplexity = codebook_use(vae.quantiser.frequencies(z), vae.quantiser.shared)
    prior = named_prior("linear", vae.states)
    with torch.no_grad():
        codes = [(part,) for part in vae.code(images).split(50)]
    fit_to_codes(prior, lambda z, _: z, codes[2:], codes[:2], epochs=10, learning_rate=0.01)
    *_, fitted = parts(vae.with_prior(prior))
    print(
        f"{name:4} {uniform / math.log(2):5.0f} {cost:12.0f} {cost + uniform:10.0f} "
        f"{cost + factorised:11.0f} {cost + fitted:7.0f} {perplexity:7.1f} of {vae.quantiser.k:2}"
        f"{(cost + fitted) / (3072 * math.log(2)):11.2f}"
    )

# %%
# Test images and what their codes decode to
# ------------------------------------------

figure, grid = plt.subplots(5, 10, figsize=(8, 4.2))
with torch.no_grad():
    rows = {"image": test[:10]} | {
        name: vae.mean(vae.code(test[:10])).clamp(0, 1) for name, vae in models.items()
    }
for row, (name, pictures) in zip(grid, rows.items(), strict=True):
    row[0].set_ylabel(name)
    for axes, picture in zip(row, pictures, strict=True):
        axes.imshow(picture.reshape(SIZE).permute(1, 2, 0))
        axes.set(xticks=[], yticks=[])

# %%
# The long form trains on data of yours, or on faces of 64 x 64, with checkpoints, metrics of
# codebook use, and the prior beside the networks:
#
# .. code-block:: console
#
#    structured-vae train --model quantised --quantiser fsq --n 256 --codes 4 \
#      --networks convolutional --code_prior linear --data.name celeba --epochs 8
