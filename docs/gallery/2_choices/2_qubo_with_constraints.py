"""
A portfolio under hard rules
============================

This example chooses assets with a high return and a low risk. The risk depends on pairs of assets,
so the problem is a *QUBO*: quadratic, over variables that are 0 or 1. We pass the rules to
``solve`` as constraints. A QUBO solver without constraints needs penalties instead. You would have
to tune them, and a proof would refer to the problem with penalties.
"""

# %%
# The problem
# -----------
#
# There are 24 assets in four sectors. The objective is the return minus the risk, and the risk has
# a weight: the aversion of the investor.

import matplotlib.pyplot as plt
import numpy as np

from solvers import solve
from solvers.constraints import at_least, cardinality, implies, linear
from solvers.conversions import from_qubo

random = np.random.default_rng(3)
count, sectors = 24, 4
sector = np.arange(count) % sectors
gain = random.uniform(0.5, 2.0, count).round(2)
shared = random.normal(size=(count, 3)) + 1.5 * np.eye(sectors)[sector][:, :3]
risk = (shared @ shared.T / 8).round(3)
price = random.integers(2, 9, count)


def portfolio(aversion):
    scores = np.diag(gain - aversion * np.diag(risk)) - 2 * aversion * np.triu(risk, 1)
    return from_qubo(
        {(f"a{i}", f"a{j}"): scores[i, j] for i in range(count) for j in range(i, count)},
        sense="maximise",
    )


# %%
# Rules
# -----
#
# The portfolio has exactly eight assets, and at least one from each sector. Their total price is at
# most 36. Asset ``a5`` is allowed only together with ``a9``. Constraints use the names of the
# variables.

names = [f"a{i}" for i in range(count)]
of_sectors = [
    at_least(1, [names[i] for i in np.flatnonzero(sector == number)]) for number in range(sectors)
]
budget = linear(dict(zip(names, price.tolist(), strict=True)), "<=", 36)
rules = [cardinality(8), *of_sectors, budget, implies("a5", "a9")]


def choice(answer):
    return np.array([answer.assignment[name] for name in names], bool)


answer = solve(portfolio(0.4), constraints=rules)
z = choice(answer)
print(f"value {answer.value:.2f}, proved: {answer.optimal}, by {answer.solution.solver}")
print(f"price {price[z].sum()}, assets per sector {np.bincount(sector[z])}")

# %%
# Return against risk
# -------------------
#
# We solve the problem for six aversions to risk. Each solution is proved to be the best one under
# the rules.


def return_and_risk(z):
    return gain[z].sum(), risk[np.ix_(z, z)].sum()


frontier = [
    return_and_risk(choice(solve(portfolio(aversion), constraints=rules)))
    for aversion in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
]

# %%
# For comparison, we draw 400 random sets of eight assets. We keep those within the budget that have
# an asset of each sector and obey the last rule.


def is_allowed(z):
    within_budget = price[z].sum() <= 36
    all_sectors = len(set(sector[z])) == sectors
    return within_budget and all_sectors and (z[9] or not z[5])


drawn = [np.isin(np.arange(count), random.permutation(count)[:8]) for _ in range(400)]
points = [return_and_risk(z) for z in drawn if is_allowed(z)]

# %%
# The red points are the optimal portfolios, and the grey ones are the random portfolios. From right
# to left, the aversion grows. No portfolio with less risk than a red point has a higher return.

figure, axes = plt.subplots(figsize=(6, 3.6))
gains, risks = np.array(points).T
axes.plot(risks, gains, ".", color="0.6", label="random")
gains, risks = np.array(frontier).T
axes.plot(risks, gains, "o-", color="C3", label="optimal")
axes.set(xlabel="risk", ylabel="return")
axes.legend()
