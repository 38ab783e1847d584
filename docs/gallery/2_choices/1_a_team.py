"""
A team within constraints
=========================

This example chooses seven of thirty people for a team. Some pairs of people work well together,
others do not, and there are rules. We write the task as a *QUBO*, a quadratic problem over
variables that are 0 or 1. ``solve`` finds the best team and proves that no other one is better.
"""

# %%
# People and pairs
# ----------------
#
# The thirty people belong to five departments, A to E. Each person has a worth and a price. Some
# pairs have a number that says how well the two work together; it may be negative. The value of a
# team is the sum of all these worths and numbers. ``sense="maximise"`` asks for the largest value.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from solvers import InfeasibleError, solve
from solvers.constraints import at_most, cardinality, implies, linear
from solvers.conversions import from_qubo

random = np.random.default_rng(5)
names = [f"{department}{number}" for department in "ABCDE" for number in range(1, 7)]
worth = dict(zip(names, random.integers(20, 60, len(names)) / 10, strict=True))
price = dict(zip(names, random.integers(10, 40, len(names)) / 10, strict=True))
pairs = {
    (a, b): float(random.integers(-30, 31)) / 10
    for i, a in enumerate(names)
    for b in names[:i]
    if random.random() < 0.25
}
single = {(name, name): value for name, value in worth.items()}
model = from_qubo({**single, **pairs}, sense="maximise")

# %%
# Rules
# -----
#
# The team has seven people, and at most two from each department. Its price is at most the budget.
# B1 joins only if C1 does. Constraints use the names of the variables.


def rules(budget):
    of_departments = [
        at_most(2, [name for name in names if name[0] == department]) for department in "ABCDE"
    ]
    return [cardinality(7), *of_departments, linear(price, "<=", budget), implies("B1", "C1")]


def members(answer):
    return {name for name, taken in answer.assignment.items() if taken}


answer = solve(model, constraints=rules(14.0))
team = members(answer)
print("team:", ", ".join(sorted(team)))
print(f"value {answer.value:.1f}, proved: {answer.optimal}, by {answer.solution.solver}")
print(f"price {sum(price[name] for name in team):.1f}")

# %%
# The next best teams
# -------------------
#
# ``k_best=3`` returns the three best teams, the best one first. Each line shows who leaves the best
# team and who joins it.

for other in solve(model, constraints=rules(14.0), k_best=3):
    leaving = sorted(team - members(other))
    joining = sorted(members(other) - team)
    print(f"{other.value:.1f}: without {leaving}, with {joining}")

# %%
# ``fix`` keeps a variable at a value. Here one person of the best team is not available, so we fix
# the variable at 0.

missing = min(team)
without = solve(model, constraints=rules(14.0), fix={missing: 0})
print(f"best value without {missing}: {without.value:.1f}")

# %%
# Rules that contradict each other
# --------------------------------
#
# No seven people cost 5 or less together. If no team satisfies all rules, ``solve`` raises an error
# that names them.

try:
    solve(model, constraints=rules(5.0))
except InfeasibleError as error:
    print(error)

# %%
# The value of a larger budget
# ----------------------------
#
# We solve the problem again for eleven budgets.

budgets = np.arange(10.0, 20.1, 1.0)
values = [solve(model, constraints=rules(float(budget))).value for budget in budgets]

# %%
# On the left, the people of the best team are blue. Green lines join members who work well
# together, and red lines those who do not. On the right, the value grows with the budget until the
# other rules limit it.

graph = nx.Graph()
graph.add_nodes_from(names)
graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in pairs.items())
inside = [(a, b) for a, b in graph.edges if a in team and b in team]
colours = ["tab:green" if graph.edges[pair]["weight"] > 0 else "tab:red" for pair in inside]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(3, 2))
position = nx.circular_layout(graph)
nx.draw_networkx_edges(graph, position, ax=left, edge_color="0.9")
nx.draw_networkx_edges(
    graph,
    position,
    ax=left,
    edgelist=inside,
    edge_color=colours,
    width=[abs(graph.edges[pair]["weight"]) for pair in inside],
)
nx.draw_networkx(
    graph,
    position,
    ax=left,
    edgelist=[],
    node_size=330,
    font_size=8,
    node_color=["tab:blue" if name in team else "0.85" for name in names],
)
left.axis("off")
right.plot(budgets, values, "o-")
right.set_xlabel("budget")
right.set_ylabel("value of the best team")
