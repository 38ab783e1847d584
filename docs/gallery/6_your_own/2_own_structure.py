r"""
Write your own structure
========================

A *structure* is a set of allowed states. The argmax layer, the losses and the estimators work with
any structure that has an ``argmax``. In this example, the ones of a state are consecutive, such as
the time during which a machine is on. We call them a *run*. First we write the argmax. Then we add
sums over all runs, which exact losses need.
"""

# %%
# The argmax
# ----------
#
# The score of a run is the sum of its scores. Differences of cumulative sums give the scores of all
# runs of a batch at once. The best run has the highest one.

import matplotlib.pyplot as plt
import torch

from structured_vae import ArgmaxLayer, GibbsLikelihood, StateSpace


def scores_of_runs(scores):
    """Return the score of the run from `first` to `last`: `[..., first, last]`."""
    before = torch.nn.functional.pad(scores.cumsum(-1), (1, 0))
    sums = before[..., None, 1:] - before[..., :-1, None]
    is_empty = torch.ones_like(sums).tril(-1).bool()  # last < first
    return sums.masked_fill(is_empty, -torch.inf)


def states_of_runs(numbers, n):
    """Return the states `[..., n]` of runs, numbered `first * n + last`."""
    first = (numbers // n)[..., None]
    last = (numbers % n)[..., None]
    where = torch.arange(n, device=numbers.device)
    return (where >= first) & (where <= last)


class Runs(StateSpace):
    """States whose ones are consecutive; there is at least one."""

    def argmax(self, scores):
        best = scores_of_runs(scores).flatten(-2).argmax(-1)
        return states_of_runs(best, scores.shape[-1]).to(scores)

    def gibbs(self, scores):
        return RunDistribution(scores)


# %%
# Sums over all runs
# ------------------
#
# ``gibbs`` is optional. It returns a distribution in which a run has a probability proportional to
# :math:`e^\text{score}`. This distribution needs log Z, marginals and samples. All three are short,
# because there are only :math:`n (n + 1) / 2` runs.


class RunDistribution:
    """The Gibbs distribution over the runs of `scores [..., n]`."""

    def __init__(self, scores):
        self.scores = scores
        self.n = scores.shape[-1]
        self.of_runs = scores_of_runs(scores).flatten(-2)

    @property
    def log_partition(self):
        return self.of_runs.logsumexp(-1)

    @property
    def marginals(self):
        p = self.of_runs.softmax(-1).unflatten(-1, (self.n, self.n))
        # Variable i is 1 in all runs that begin at i or before, and end at i or after.
        ones = [p[..., : i + 1, i:].sum((-2, -1)) for i in range(self.n)]
        return torch.stack(ones, -1)

    def sample(self, generator, samples=1):
        p = self.of_runs.softmax(-1)
        numbers = torch.multinomial(p, samples, replacement=True, generator=generator)
        return states_of_runs(numbers.T, self.n).to(self.scores)


# %%
# The layer takes the new structure at once. With ``seed=None`` it adds no noise, so it returns the
# best run.

z = ArgmaxLayer(Runs(), seed=None)(torch.tensor([[-1.0, 2.0, -0.5, 1.0, -3.0, 2.0]]))
print(z.int().tolist())

# %%
# Learn when a machine is on
# --------------------------
#
# A machine hums while it is on, and the recording is noisy. A network with one convolution scores
# each step of the recording. It learns from the true runs, with the exact likelihood as the loss.
# On new data, the best run has less than half of the wrong steps of a threshold for each step.

n = 40
generator = torch.Generator().manual_seed(0)


def signals(count):
    begin = torch.randint(0, 25, (count, 1), generator=generator)
    length = torch.randint(6, 15, (count, 1), generator=generator)
    where = torch.arange(n)
    truth = ((where >= begin) & (where < begin + length)).float()
    return truth + 1.2 * torch.randn((count, n), generator=generator), truth


torch.manual_seed(0)
net = torch.nn.Conv1d(1, 1, 3, padding=1)
loss = GibbsLikelihood(Runs())
adam = torch.optim.Adam(net.parameters(), lr=0.05)
for _ in range(100):
    x, truth = signals(64)
    adam.zero_grad()
    loss(net(x[:, None])[:, 0], target=truth).mean().backward()
    adam.step()

x, truth = signals(500)
with torch.no_grad():
    scores = net(x[:, None])[:, 0]
    single = (scores > 0).float()
    run = Runs().argmax(scores)
    probability = Runs().gibbs(scores).marginals
for name, predicted in (("each step by itself", single), ("the best run", run)):
    print(f"{name}: {100 * (predicted != truth).float().mean():.1f} % of the steps are wrong")

# %%
# The picture shows one of the 500 recordings. The grey line is the recording, and the blue area
# shows when the machine is on. The best run is red. The probability P(on) is the marginal of each
# step: it falls slowly where an end of the run is uncertain.

row = 5
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(x[row], color="0.6", label="signal")
axes.fill_between(range(n), truth[row], step="mid", alpha=0.3, label="on")
axes.step(range(n), 1.1 * run[row], where="mid", color="C3", label="the best run")
axes.plot(probability[row], color="C1", label="P(on)")
axes.set(xlabel="step")
axes.legend(ncol=4, loc="upper center", bbox_to_anchor=(0.5, 1.18))
