r"""
Route to two experts
====================

A mixture of experts sends each input to the two experts with the best scores. The router learns
through the weights of the two: the softmax of their scores. A mask switches an expert off.
"""

# %%
# Data
# ----
#
# A teacher has eight linear experts, and mixes two of them for each input.

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
# Both networks choose two experts by ``KOfN(2)``. The first gives both the weight one half, so that
# its router gets no gradient. The second weighs them by ``routing_weights``.


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
# Mask an expert, or take another number for each input
# -----------------------------------------------------
#
# ``mask`` is False where an expert must not be used. ``KOfN`` with a number for each instance sends
# easy inputs to one expert, and hard ones to three.

scores = router(torch.randn(3, INPUTS, generator=generator)).detach()
available = torch.ones(EXPERTS, dtype=torch.bool)
available[scores[0].argmax()] = False
print("without its best expert:", two.argmax(scores, available)[0].nonzero()[:, 0].tolist())
print("experts by input:", KOfN([1, 2, 3]).argmax(scores).sum(dim=-1).int().tolist())

figure, axes = plt.subplots(figsize=(6, 3.4))
axes.plot(halves, label="one half each", color="0.6")
axes.plot(softmax, label="routing weights", color="C3")
axes.set(xlabel="steps", ylabel="squared error", yscale="log", title="two of eight experts")
axes.legend()
