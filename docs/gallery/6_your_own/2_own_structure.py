r"""
Write your own structure
========================

A set of states with an argmax is all that the layer, the losses and the estimators ask for. Here:
ones that come in a single run, such as the time for which a machine is on. Twenty lines with the
argmax, and with sums over all runs.
"""

# %%
# One method
# ----------
#
# The best run under scores is the segment of greatest sum, which prefix sums give for a whole batch
# at once.

import matplotlib.pyplot as plt
import torch

from structured_vae import ArgmaxLayer, GibbsLikelihood


class Run:
    """States whose ones are one run, of at least one place."""

    def _sums(self, scores):
        prefix = torch.nn.functional.pad(scores.cumsum(-1), (1, 0))
        sums = prefix[..., None, 1:] - prefix[..., :-1, None]  # [..., begin, last]
        return sums.masked_fill(torch.ones_like(sums).tril(-1).bool(), -torch.inf)

    def argmax(self, scores):
        n = scores.shape[-1]
        begin, last = (
            place[..., None] for place in divmod_(self._sums(scores).flatten(-2).argmax(-1), n)
        )
        where = torch.arange(n, device=scores.device)
        return ((where >= begin) & (where <= last)).to(scores)

    def gibbs(self, scores):
        return Runs(self, scores)


def divmod_(values, n):
    return values // n, values % n


# %%
# Sums over all runs make it tractable: log Z, marginals and samples, and with them every exact
# loss.


class Runs:
    def __init__(self, structure, scores):
        self.scores = scores
        self.sums = structure._sums(scores).flatten(-2)

    @property
    def log_partition(self):
        return self.sums.logsumexp(-1)

    @property
    def marginals(self):
        n = self.scores.shape[-1]
        p = self.sums.softmax(-1).unflatten(-1, (n, n))
        return torch.stack([p[..., : i + 1, i:].sum((-2, -1)) for i in range(n)], -1)

    def sample(self, generator, samples=1):
        n = self.scores.shape[-1]
        drawn = torch.multinomial(
            self.sums.softmax(-1), samples, replacement=True, generator=generator
        )
        begin, last = (place.T[..., None] for place in divmod_(drawn, n))
        where = torch.arange(n)
        return ((where >= begin) & (where <= last)).to(self.scores)


z = ArgmaxLayer(Run(), seed=None)(torch.tensor([[-1.0, 2.0, -0.5, 1.0, -3.0, 2.0]]))
print(z.int().tolist())

# %%
# Learn when it is on
# -------------------
#
# A machine hums while it is on, and its microphone is noisy. A network sees a window of the signal
# and learns from the true runs by the exact likelihood.

n, generator = 40, torch.Generator().manual_seed(0)


def signals(count):
    begin = torch.randint(0, 25, (count, 1), generator=generator)
    length = torch.randint(6, 15, (count, 1), generator=generator)
    where = torch.arange(n)
    truth = ((where >= begin) & (where < begin + length)).float()
    return truth + 1.2 * torch.randn((count, n), generator=generator), truth


torch.manual_seed(0)
net = torch.nn.Conv1d(1, 1, 3, padding=1)
loss = GibbsLikelihood(Run())
adam = torch.optim.Adam(net.parameters(), lr=0.05)
for _ in range(100):
    x, truth = signals(64)
    adam.zero_grad()
    loss(net(x[:, None])[:, 0], target=truth).mean().backward()
    adam.step()

x, truth = signals(500)
with torch.no_grad():
    scores = net(x[:, None])[:, 0]
    single, run = (scores > 0).float(), Run().argmax(scores)
for name, found in (("each place by itself", single), ("the best run", run)):
    print(f"{name}: {100 * (found != truth).float().mean():.1f} % wrong")

figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(x[0], color="0.6", label="signal")
axes.fill_between(range(n), truth[0], step="mid", alpha=0.3, label="on")
axes.step(range(n), 1.1 * run[0], where="mid", color="C3", label="the best run")
axes.plot(Runs(Run(), scores[:1]).marginals[0], color="C1", label="P(on)")
axes.legend(ncol=4, loc="upper center", bbox_to_anchor=(0.5, 1.18))
