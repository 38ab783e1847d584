r"""
Route to two experts
====================

A *mixture of experts* sends each input to a few of several small networks, the experts. This
example sends it to the two experts with the best scores. The router that computes these scores
learns through the weights of the two experts. These weights are the softmax of their scores. A mask
switches an expert off.
"""

# %%
# Data
# ----
#
# The data come from a teacher with eight linear experts, which mixes two of them for each input.

import matplotlib.pyplot as plt
import torch
from torch import nn

from structured_vae import KOfN, routing_weights

EXPERTS, INPUTS, OUTPUTS = 8, 6, 3
generator = torch.Generator().manual_seed(0)
teacher = 2 * torch.randn(EXPERTS, INPUTS, OUTPUTS, generator=generator)
teacher_router = torch.randn(INPUTS, EXPERTS, generator=generator)
two = KOfN(2)


def mixed(weights, x, experts):
    return torch.einsum("be,bi,eio->bo", weights, x, experts)


def truth(x):
    scores = x @ teacher_router
    return mixed(routing_weights(scores, two.argmax(scores)), x, teacher)


# %%
# Train with and without weights
# ------------------------------
#
# Both networks choose two experts by ``KOfN(2)``. The first one gives both experts the weight one
# half, so its router gets no gradient. The second one weighs them by ``routing_weights``. The page
# :doc:`/layer_examples` compares more ways to train a router.


def trained(weighted):
    torch.manual_seed(0)
    router = nn.Linear(INPUTS, EXPERTS)
    experts = nn.Parameter(0.5 * torch.randn(EXPERTS, INPUTS, OUTPUTS))
    adam = torch.optim.Adam([*router.parameters(), experts], lr=0.02)
    errors = []
    for _ in range(400):
        x = torch.randn(256, INPUTS, generator=generator)
        scores = router(x)
        z = two.argmax(scores.detach())
        weights = z / 2
        if weighted:
            weights = routing_weights(scores, z)
        loss = (mixed(weights, x, experts) - truth(x)).square().sum(dim=-1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        errors.append(loss.item())
    return router, errors


_, halves = trained(weighted=False)
router, softmax = trained(weighted=True)
print(
    f"squared error, last 20 steps: halves {sum(halves[-20:]) / 20:.1f}, "
    f"routing weights {sum(softmax[-20:]) / 20:.1f}"
)

# %%
# The curves show the squared error in each step. With routing weights the error falls much further.

figure, axes = plt.subplots(figsize=(6, 3.4))
axes.plot(halves, label="one half each", color="0.6")
axes.plot(softmax, label="routing weights", color="C3")
axes.set(xlabel="steps", ylabel="squared error", yscale="log", title="two of eight experts")
axes.legend()

# %%
# Mask an expert, or use a different number of experts
# ----------------------------------------------------
#
# The mask is False for an expert that must not be used. ``KOfN`` also takes a number for each
# input. Here the first input goes to one expert, the second to two, and the third to three.

scores = router(torch.randn(3, INPUTS, generator=generator)).detach()
available = torch.ones(EXPERTS, dtype=torch.bool)
available[scores[0].argmax()] = False
print("without its best expert:", two.argmax(scores, available)[0].nonzero()[:, 0].tolist())
print("experts by input:", KOfN([1, 2, 3]).argmax(scores).sum(dim=-1).int().tolist())
