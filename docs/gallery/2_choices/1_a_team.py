"""
A team within constraints
=========================

Whom to take, if some work well together, some do not, and there are rules: a quadratic problem with
names, from its import to a named answer with a proof.
"""

# %%
# People and pairs
# ----------------
#
# Thirty people in five departments, what each is worth and costs, and for some pairs how well they
# work together. The objective is maximised, by name.

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
model = from_qubo(
    {**{(name, name): value for name, value in worth.items()}, **pairs}, sense="maximise"
)

# %%
# Rules
# -----
#
# Seven people, no more than two of a department, within the budget, and B1 comes only with C1.
# Constraints name variables by their places in z, which the model knows.

place = model.places
rules = [
    cardinality(7),
    *(
        at_most(2, [place[name] for name in names if name[0] == department])
        for department in "ABCDE"
    ),
    linear({place[name]: cost for name, cost in price.items()}, "<=", 14.0),
    implies(place["B1"], place["C1"]),
]
answer = solve(model, constraints=rules)
team = [name for name, taken in answer.assignment.items() if taken]
print(
    f"{', '.join(sorted(team))}: {answer.value:.1f}, proved: {answer.optimal}, by {answer.solution.solver}"
)
print(f"costs {sum(price[name] for name in team):.1f}")

# %%
# The next best teams, in order, with the proof that none lies between; and what is left when
# somebody is not free.

for other in solve(model, constraints=rules, k_best=3):
    taken = {name for name, value in other.assignment.items() if value}
    print(
        f"{other.value:.1f}: without {sorted(set(team) - taken)}, with {sorted(taken - set(team))}"
    )
without = solve(model, constraints=rules, fix={team[0]: 0})
print(f"without {team[0]}: {without.value:.1f}")

# %%
# That rules contradict each other is an answer too, never a state.

try:
    solve(
        model, constraints=[*rules, linear({place[name]: price[name] for name in names}, "<=", 5.0)]
    )
except InfeasibleError as error:
    print(error)

# %%
# What a larger budget is worth: the same call for each.

budgets = np.arange(10.0, 20.1, 1.0)
values = []
for budget in budgets:
    changed = [
        *rules[:6],
        linear({place[name]: cost for name, cost in price.items()}, "<=", float(budget)),
        rules[7],
    ]
    values.append(solve(model, constraints=changed).value)

# %%
# The team in the network of pairs, of which green ones help and red ones harm; and its value by the
# budget.

graph = nx.Graph()
graph.add_nodes_from(names)
graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in pairs.items())
inside = [(a, b) for a, b in graph.edges if a in team and b in team]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(3, 2))
position = nx.circular_layout(graph)
nx.draw_networkx_edges(graph, position, ax=left, edge_color="0.9")
nx.draw_networkx_edges(
    graph,
    position,
    ax=left,
    edgelist=inside,
    edge_color=["tab:green" if graph.edges[pair]["weight"] > 0 else "tab:red" for pair in inside],
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
