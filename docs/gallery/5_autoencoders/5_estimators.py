"""
Gradient estimators compared
============================

A sampled code is discrete, so the gradient of its expected cost has to be estimated. This example
compares eight of the library's gradient estimators on a small model. With six bits, enumeration
gives the exact gradient. We measure two errors of each estimator: its *bias*, which is the error of
its mean, and the *standard deviation* of a single draw.
"""

# %%
# A small model
# -------------
#
# The model has six independent bits. We train it with the exact gradient, for one pass over the
# 5,000 images of the package. Estimators differ more on a trained model than on a random one.

import matplotlib.pyplot as plt
import torch

from models import paper_vae
from structured_vae import (
    ARM,
    REBAR,
    Constant,
    Direct,
    DisARM,
    Exact,
    GumbelSoftmax,
    ImplicitMLE,
    ScoreFunction,
    StraightThrough,
    elbo_recipe,
    gradient_report,
    load_dataset,
)

images = torch.from_numpy(load_dataset("fashion-mnist-mini").train.images)
torch.manual_seed(0)
vae = paper_vae("independent", pixels=784, n=6)
exact, noise = Exact(), torch.Generator().manual_seed(0)
adam = torch.optim.Adam(vae.parameters(), lr=1e-3)
for step, x in enumerate(images.split(100)):
    q = exact.posterior(vae.encoder(x))
    objective = elbo_recipe(vae, x, q, exact.kl)
    estimate = exact(q, objective.cost, noise, step)
    adam.zero_grad()
    (estimate.surrogate + objective.kl).mean().backward()
    adam.step()

# %%
# Bias and deviation
# ------------------
#
# ``gradient_report`` draws a thousand gradients for ten images. Direct optimization has the
# parameter epsilon, and Gumbel-softmax has a temperature. Both trade bias for standard deviation,
# so we try six values of each. If the measured bias is smaller than the noise of the thousand
# draws, the true bias may be zero.

values = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
candidates = {
    "score function, 2 samples": ScoreFunction(2),
    "REBAR": REBAR(6),
    "ARM": ARM(),
    "DisARM": DisARM(),
    "straight-through": StraightThrough(Constant(0.5)),
    "implicit MLE": ImplicitMLE("independent", Constant(0.1)),
    **{f"direct {value}": Direct("independent", Constant(value)) for value in values},
    **{f"Gumbel-softmax {value}": GumbelSoftmax(Constant(value)) for value in values},
}
reports = gradient_report(vae, images[:10], candidates, draws=1000, generator=noise)
print(f"norm of the exact gradient: {reports['ARM'].norm:.1f}")
for name, report in reports.items():
    remark = ""
    if report.bias <= report.resolution:
        remark = "  (within the noise)"
    print(f"{name:26} bias {report.bias:6.2f}   deviation {report.deviation:6.1f}{remark}")

# %%
# In the picture, an estimator is better the further it is to the lower left. A hollow marker means
# that the bias is within the noise, so the true bias is smaller than the picture shows.
#
# On this model, DisARM and the score function have the smallest deviation of the unbiased
# estimators. At equal deviation, Gumbel-softmax has less bias than direct optimization. Other
# models may give another order; see :doc:`/estimators` for a choice.

figure, axes = plt.subplots(figsize=(8, 4.2))


def place(name, marker, colour, label):
    report = reports[name]
    fill = "full"
    if report.bias <= report.resolution:
        fill = "none"
    at = max(report.bias, report.resolution), report.deviation
    axes.plot(*at, marker, color=colour, fillstyle=fill, label=label)
    return at


for family, colour in (("direct", "tab:blue"), ("Gumbel-softmax", "tab:orange")):
    ends = [place(f"{family} {value}", "o", colour, None) for value in values]
    axes.plot(*zip(*ends, strict=True), color=colour, linewidth=1, label=family)
    for value, at in zip(values, ends, strict=True):
        axes.annotate(
            f"{value:g}", at, (5, 3), textcoords="offset points", color=colour, fontsize=8
        )
others = [name for name in candidates if not name.startswith(("direct", "Gumbel"))]
for name, marker in zip(others, "s^vD*P", strict=True):
    place(name, marker, "0.3", name)
axes.set(
    xscale="log", yscale="log", xlabel="bias (norm)", ylabel="standard deviation\nof a coordinate"
)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside right upper", fontsize=8)
