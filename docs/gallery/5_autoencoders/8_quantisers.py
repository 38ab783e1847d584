r"""
Codes of quantisers
===================

A quantiser gives each image a single code. This example trains four of them with codes of 32 bits:
vector quantisation (VQ), finite scalar quantisation (FSQ), lookup-free quantisation (LFQ) and
binary spherical quantisation (BSQ). It compares them with a VAE whose 32 bits are random. All five
models have a learnt prior over their codes, so that their bounds are comparable. :doc:`/quantisers`
helps to choose one.
"""

# %%
# One training loop
# -----------------
#
# A quantiser rounds the features of the encoder. The decoder's gradient passes through the rounding
# unchanged. The prior is autoregressive and learns from the codes at the same time.

import matplotlib.pyplot as plt
import torch

from models import paper_vae, quantised_vae
from models.priors import PriorOptions
from models.quantisers import codebook_use
from structured_vae import Gibbs, StraightThrough, elbo_recipe, evaluate, load_dataset

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
test = torch.from_numpy(dataset.test.images[:500])
prior = {"prior": PriorOptions("made", hidden=100)}


def trained(vae, loss, steps=300):
    """Return networks that minimise `loss(x, noise)`."""
    noise = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(vae.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    for _ in range(steps):
        x = images[torch.randint(len(images), (100,), generator=noise)]
        adam.zero_grad()
        loss(x, noise).mean().backward()
        adam.step()
        schedule.step()
    return vae.eval()


# %%
# Four quantisers
# ---------------
#
# Two extra losses keep the codes useful. The *commitment* pulls the features of the encoder to the
# vectors of their codes. The *entropy* loss keeps all bits in use. Each quantiser has a weight for
# each of the two losses, in nats per pixel.

sizes = {
    "vq": {"n": 4, "codes": 256, "dimensions": 8},  # four of 256 vectors
    "fsq": {"n": 16, "codes": 4},  # sixteen features of four levels
    "lfq": {"n": 32},  # 32 signs
    "bsq": {"n": 32},  # 32 signs of a vector on a sphere
}
# The weights of commitment and entropy.
weights = {"vq": (0.25, 0.0), "fsq": (0.0, 0.0), "lfq": (0.05, 0.05), "bsq": (0.0, 0.1)}


def trained_quantiser(name):
    torch.manual_seed(0)
    vae = quantised_vae(name, hidden=200, **sizes[name], **prior)
    commitment, entropy = weights[name]

    def loss(x, noise):
        quantised = vae.quantise(x, noise)
        penalty = commitment * quantised.commitment + entropy * quantised.entropy
        cost = vae.straight_through_cost(x, quantised)
        return cost + vae.pixels * penalty - vae.log_prior(quantised.z)

    return trained(vae, loss)


models = {name: trained_quantiser(name) for name in sizes}

# %%
# Random bits
# -----------
#
# In the fifth model, the encoder gives each bit a probability of being 1. The code is a sample of
# these bits, and so differs from draw to draw.

torch.manual_seed(0)
bits = paper_vae("independent", n=32, hidden=200, **prior)
estimator = StraightThrough()


def bit_loss(x, noise):
    q = estimator.posterior(bits.encoder(x))
    objective = elbo_recipe(bits, x, q, estimator.kl)
    return estimator(q, objective.cost, noise, 0).surrogate + objective.kl


trained(bits, bit_loss)

# %%
# The valid bound
# ---------------
#
# For a quantiser, :math:`-\log p(x)` is at most :math:`-\log p(x \mid z) - \log p(z)`, where z is
# the code of the image. This bound needs no samples. For random bits, the second term is the KL to
# the prior, and the bound is a mean over samples. The perplexity is the effective number of values
# of a variable.

results = {}
with torch.no_grad():
    for name, vae in models.items():
        z = vae.code(test)
        quantiser = vae.quantiser
        used, perplexity = codebook_use(quantiser.frequencies(z), quantiser.shared)
        reconstruction = vae.cost(test, z).mean()
        prior_cost = -vae.log_prior(z).mean()
        results[name] = (reconstruction, prior_cost, used, perplexity, quantiser.k)
    quantities = evaluate(
        bits, [(test,)], Gibbs, torch.Generator().manual_seed(0), samples=20
    ).quantities
    q = Gibbs(bits.encoder(test))
    z = q.sample(torch.Generator().manual_seed(0))[0]
    frequencies = torch.stack([1 - z.mean(dim=0), z.mean(dim=0)], dim=-1)
    cost, kl = (quantities[name].value for name in ("reconstruction", "kl"))
    results["bits"] = (cost, kl, *codebook_use(frequencies, shared=False), 2)

# %%
# The column ``code`` is the cost of the code: :math:`-\log p(z)`, or the KL for random bits. The
# bound is the sum of the first two columns, in nats per image, and lower is better. In this short
# training, LFQ has the lowest bound.

print("code   -log p(x|z)  code   bound   values in use   perplexity")
for name, (cost, kl, used, perplexity, k) in results.items():
    print(f"{name:6} {cost:11.1f} {kl:5.1f} {cost + kl:7.1f} {used:15.0%} {perplexity:9.1f} of {k}")

# %%
# Reconstructions
# ---------------
#
# The first row shows test images. The other rows show what each model makes of their codes. For
# random bits we decode the most probable code.

shown = test[::50][:10]
with torch.no_grad():
    rows = {"image": shown}
    rows |= {name: vae.mean(vae.code(shown)) for name, vae in models.items()}
    rows["bits"] = bits.decoder.mean((bits.encoder(shown).unary > 0).float())
figure, grid = plt.subplots(len(rows), 10, figsize=(8, 0.85 * len(rows)))
for line, (name, row) in zip(grid, rows.items(), strict=True):
    line[0].set_ylabel(name)
    for axes, image in zip(line, row, strict=True):
        axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])

# %%
# Codebook use
# ------------
#
# The bars show how often the test images use each of the 256 vectors of VQ, sorted. A flat curve
# would mean that all vectors are equally frequent.

values = models["vq"].quantiser.frequencies(models["vq"].code(test)).mean(dim=0)
figure, axes = plt.subplots(figsize=(6, 2.2))
axes.bar(range(len(values)), values.sort(descending=True).values, width=1)
axes.set(xlabel="vectors of the codebook, in order of use", ylabel="share of codes")

# %%
# :doc:`/quantisers` compares codes of 64 bits on the whole data set. There, VQ has the lowest
# bound.
