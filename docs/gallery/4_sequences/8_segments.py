r"""
Cut a signal into segments
==========================

A signal is constant within segments, whose level is one of three and whose duration is about seven.
A semi-Markov chain scores whole segments, so that it can learn durations.
"""

# %%
# Data
# ----

import matplotlib.pyplot as plt
import torch

from structured_vae import GibbsLikelihood, Segments

K, LENGTH, LONGEST = 3, 40, 10
generator = torch.Generator().manual_seed(0)


def signal():
    segments, place, label = [], 0, 0
    while place < LENGTH:
        duration = int(torch.randint(6, 9, (1,), generator=generator))
        after = min(place + duration, LENGTH)
        label = (label + int(torch.randint(1, K, (1,), generator=generator))) % K
        segments.append((place, after, label))
        place = after
    levels = torch.cat([torch.full((b - a,), float(label)) for a, b, label in segments])
    return levels + 0.6 * torch.randn(LENGTH, generator=generator), segments


examples = [signal() for _ in range(24)]
x = torch.stack([values for values, _ in examples])
space = Segments(LENGTH, K, longest=LONGEST)
target = space.states_of([segments for _, segments in examples])

# %%
# Learn levels, durations and transitions
# ---------------------------------------
#
# The likelihood is exact: ``Segments`` sums over all ways to cut the signal.

slopes = torch.zeros(K, requires_grad=True)
intercepts = torch.zeros(K, requires_grad=True)
durations = torch.zeros(LONGEST, K, requires_grad=True)
transitions = torch.zeros(K, K, requires_grad=True)
parameters = [slopes, intercepts, durations, transitions]
likelihood = GibbsLikelihood(space)


def scores(values):
    emissions = values[..., None] * slopes + intercepts
    return space.scores(space.segment_scores(emissions, durations), transitions)


adam = torch.optim.Adam(parameters, lr=0.2)
for _ in range(40):
    loss = likelihood(scores(x), target=target).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()

# %%
# A new signal
# ------------
#
# The argmax is the best segmentation; the marginals say how sure it is of each position.

values, truth = signal()
with torch.no_grad():
    vector = scores(values[None])
    best = space.segments(space.argmax(vector))[0]
    p = space.position_marginals(space.gibbs(vector).marginals)[0]
labels = space.labels(space.argmax(vector))[0]
right = (labels == space.labels(space.states_of([truth]))[0]).float().mean().item()
print(
    f"loss {loss.item():.1f} nats; {len(best)} segments for {len(truth)}; {100 * right:.0f} % of the labels"
)

figure, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True)
axes[0].plot(values, ".", color="0.5")
for (first, after, label), color in [(s, "0.0") for s in truth] + [(s, "C3") for s in best]:
    offset = 0.0 if color == "0.0" else 0.12
    axes[0].hlines(label + offset, first, after, color=color, linewidth=2)
axes[0].set(title="true segments (black) and the best ones (red)")
axes[1].imshow(p.T, aspect="auto", cmap="Greys", vmin=0, vmax=1)
axes[1].set(xlabel="position", ylabel="label", title="marginals")
figure.tight_layout()
