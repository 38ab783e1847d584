"""
A QUBO with constraints
=======================

Assets have a return each and a risk together: a portfolio of binaries, quadratic in them, with
rules that are kept as rules. A penalty would have to be tuned, and the proof would then mean the
penalised problem.
"""

# %%
# The problem
# -----------
#
# Twenty-four assets in four sectors. Return less risk is a QUBO that is maximised, by name.

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
# Exactly eight assets, at least one of each sector, for at most 36, and asset 5 only with asset 9.

rules = [
    cardinality(8),
    *(at_least(1, list(np.flatnonzero(sector == each))) for each in range(sectors)),
    linear(dict(enumerate(price.tolist())), "<=", 36),
    implies(5, 9),
]
answer = solve(portfolio(0.4), constraints=rules)
taken = np.array([answer.assignment[f"a{i}"] for i in range(count)], bool)
print(f"value {answer.value:.2f}, proved: {answer.optimal}, by {answer.solution.solver}")
print(f"price {price[taken].sum()}, of each sector {np.bincount(sector[taken])}")

# %%
# More or less risk
# -----------------
#
# A proved optimum for every aversion to risk: the frontier between return and risk that these rules
# leave.

points = []
for aversion in np.linspace(0.0, 1.5, 9):
    best = solve(portfolio(aversion), constraints=rules)
    z = np.array([best.assignment[f"a{i}"] for i in range(count)], float)
    points.append((z @ risk @ z, gain @ z))
points = np.array(points)

drawn = [random.permutation(count)[:8] for _ in range(400)]
feasible = [set_ for set_ in drawn if price[set_].sum() <= 36 and len(set(sector[set_])) == sectors]
figure, axes = plt.subplots(figsize=(6, 3.6))
axes.plot(
    [risk[np.ix_(set_, set_)].sum() for set_ in feasible],
    [gain[set_].sum() for set_ in feasible],
    ".",
    color="0.6",
)
axes.plot(*points.T, "o-", color="C3")
axes.set(xlabel="risk", ylabel="return", title="proved portfolios (red) and random ones")
