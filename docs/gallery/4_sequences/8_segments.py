r"""
Cut a signal into segments
==========================

This example finds the segments of a noisy signal. Within a segment the signal has one of three
levels, and a segment lasts about seven steps. A *semi-Markov chain* scores whole segments instead
of single steps, so it can learn durations. Its structure is called ``Segments``.
"""

# %%
# Data
# ----
#
# A signal has 40 steps. Its segments last 6 to 8 steps, and their labels are 0, 1 or 2. The signal
# is the label plus noise with a standard deviation of 0.6. We make 24 signals whose segments are
# known.

import matplotlib.pyplot as plt
import torch

from structured_vae import GibbsLikelihood, Segments

K, LENGTH, LONGEST = 3, 40, 10
generator = torch.Generator().manual_seed(0)


def signal():
    segments = []
    place = 0
    label = 0
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
# The score of a segment adds up three terms: one per step from the signal, one for the duration,
# and one for the transition from the label before. ``GibbsLikelihood`` is the exact negative
# log-likelihood: it sums over all ways to cut the signal.

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
# The argmax is the best segmentation of a signal. The marginals are the probability of each label
# at each step.

values, truth = signal()
with torch.no_grad():
    vector = scores(values[None])
    best = space.segments(space.argmax(vector))[0]
    p = space.position_marginals(space.gibbs(vector).marginals)[0]
labels = space.labels(space.argmax(vector))[0]
right = (labels == space.labels(space.states_of([truth]))[0]).float().mean().item()
print(f"last training loss: {loss.item():.1f} nats")
print(f"segments of the new signal: {len(best)}, true number: {len(truth)}")
print(f"right labels: {100 * right:.0f} %")

# %%
# The upper picture shows the signal with the true segments (black) and the best segmentation (red).
# The lower picture shows the marginals. Where two labels are grey, the border is uncertain.

figure, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True)
axes[0].plot(values, ".", color="0.5")
for segments, colour, offset in ((truth, "black", 0.0), (best, "C3", 0.12)):
    for first, after, label in segments:
        axes[0].hlines(label + offset, first, after, color=colour, linewidth=2)
axes[0].set(ylabel="signal")
axes[1].imshow(p.T.numpy(), aspect="auto", cmap="Greys", vmin=0, vmax=1)
axes[1].set(xlabel="step", ylabel="label", yticks=range(K))
figure.tight_layout()
