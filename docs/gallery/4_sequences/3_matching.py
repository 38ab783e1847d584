r"""
Learn to match points
=====================

This example matches the points of two views. The second view shows the same points rotated, with
noise and in another order. A small network scores every pair of a point of the first view and a
point of the second. The matching is the best one-to-one assignment under these scores. The network
learns through this assignment, with the gradient of implicit MLE.
"""

# %%
# Data
# ----
#
# Each view has eight points in the plane. The order of the second view is random, and the task is
# to recover it. The rotation is the same for all examples.

import matplotlib.pyplot as plt
import torch

from structured_vae import ArgmaxLayer, Assignments, Hamming

POINTS = 8
generator = torch.Generator().manual_seed(0)


def pairs(count):
    first = torch.randn((count, POINTS, 2), generator=generator)
    turn = torch.tensor([[0.8, -0.6], [0.6, 0.8]])
    order = torch.stack([torch.randperm(POINTS, generator=generator) for _ in range(count)])
    second = (first @ turn + 0.1 * torch.randn(first.shape, generator=generator)).gather(
        1, order.argsort(1)[..., None].expand(-1, -1, 2)
    )
    truth = torch.nn.functional.one_hot(order, POINTS).float()
    return first, second, truth.flatten(1)


# %%
# Scores of pairs
# ---------------
#
# The network does not know the rotation. It has one linear map for each view, which places the
# points in a common space. The score of a pair is minus the squared distance of its two places.


class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(2, 16)
        self.second = torch.nn.Linear(2, 16)

    def forward(self, first, second):
        differences = self.first(first)[:, :, None] - self.second(second)[:, None]
        return -differences.square().sum(-1).flatten(1)


# %%
# Training
# --------
#
# ``ArgmaxLayer`` adds noise to the scores and returns the best assignment. ``Hamming(truth)`` is
# the cost of an assignment: the number of entries that differ from the true one.


torch.manual_seed(0)
net = Scores()
layer = ArgmaxLayer(Assignments(POINTS))
adam = torch.optim.Adam(net.parameters(), lr=0.02)
test = pairs(200)


def right():
    with torch.no_grad():
        matching = Assignments(POINTS).argmax(net(*test[:2]))
    return (matching * test[2]).sum(1).mean().item() / POINTS


curve = []
for step in range(150):
    if step % 10 == 0:
        curve.append(100 * right())
    first, second, truth = pairs(32)
    loss = Hamming(truth)(layer(net(first, second))).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
curve.append(100 * right())
print(f"right pairs: {curve[0]:.0f} % before, {curve[-1]:.0f} % after 150 steps")

# %%
# One pair of views
# -----------------
#
# On the left, the second view is drawn beside the first one. Lines join matched points, and a wrong
# line would be red. On the right, the share of right pairs on new data rises during the training.

# sphinx_gallery_thumbnail_number = 1

with torch.no_grad():
    z = Assignments(POINTS).argmax(net(test[0][:1], test[1][:1])).reshape(POINTS, POINTS)
wanted = test[2][0].reshape(POINTS, POINTS)
figure, (left, axes) = plt.subplots(1, 2, figsize=(9, 3.6))
a, b = test[0][0], test[1][0] + torch.tensor([6.0, 0.0])
for i, j in z.nonzero().tolist():
    left.plot(*zip(a[i], b[j], strict=True), color="0.6" if wanted[i, j] else "C3", linewidth=1)
left.scatter(*a.T, color="C0")
left.scatter(*b.T, color="C1")
left.set(xticks=[], yticks=[], title="two views, matched")
axes.plot(range(0, 151, 10), curve)
axes.set(xlabel="steps", ylabel="right pairs (%)", ylim=(0, 102))
