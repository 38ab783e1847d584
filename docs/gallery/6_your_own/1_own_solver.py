r"""
Write your own solver
=====================

Simulated annealing in twenty lines, as a solver like the built-in ones: it passes their tests,
takes batches, and every function of the library takes it.
"""

# %%
# One class, one method
# ---------------------
#
# The base class checks problems, scores answers anew in float64, and makes the certificate. A
# heuristic has to give a bound that is proved; the sum of all positive scores will do.

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from solvers import ArgmaxSolver, Capabilities, Maximiser, instances, solve
from solvers.testing import check_conformance


@dataclass(frozen=True)
class Annealing(ArgmaxSolver):
    """Flips single bits, uphill always, downhill with a probability that shrinks."""

    sweeps: int = 100
    hot: float = 0.5
    cold: float = 0.02
    seed: int = 0

    name = "annealing"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        random = np.random.default_rng(self.seed)
        scale = np.maximum(problem.magnitude / max(1, problem.n), np.finfo(float).tiny)
        weights = np.zeros((problem.batch, problem.n, problem.n))
        first, second = problem.edges.T
        weights[:, first, second] = weights[:, second, first] = problem.pairwise
        z = np.zeros((problem.batch, problem.n), np.int8)
        for temperature in np.geomspace(self.hot, self.cold, self.sweeps):
            for i in range(problem.n):
                gain = (1 - 2 * z[:, i]) * (
                    problem.unary[:, i] + np.einsum("bj,bj->b", weights[:, i], z)
                )
                z[:, i] ^= gain > temperature * scale * np.log(
                    random.random()
                )  # the same draw for each instance
        # Scores may be float32. A sum in float32 could be less than the maximum.
        unary_sum = np.maximum(problem.unary, 0).sum(axis=1, dtype=np.float64)
        pairwise_sum = np.maximum(problem.pairwise, 0).sum(axis=1, dtype=np.float64)
        return Maximiser(z, unary_sum + pairwise_sum, {"sweeps": self.sweeps})


# %%
# The tests of the built-in solvers
# ---------------------------------
#
# ``check_conformance`` solves random problems of every kind that breaks solvers and compares with
# enumeration. It raises an error that names the problem, or returns.

check_conformance(Annealing(sweeps=20), count=30)

# %%
# Against the maximum
# -------------------
#
# Twenty dense problems of 40 variables. ``solve`` takes the object in the place of a name; ``auto``
# proves the maxima.

problems = instances.dense(40, 20, np.random.default_rng(0))
best = solve(problems.unary, problems.pairwise, edges=problems.edges)
print(f"{best.solver}: {int(best.optimal.sum())} of {len(best.score)} proved")

sweeps = (1, 3, 10, 30, 100)
gaps = []
for count in sweeps:
    found = solve(
        problems.unary, problems.pairwise, edges=problems.edges, solver=Annealing(sweeps=count)
    )
    gaps.append(100 * (1 - found.score / best.score))
    print(
        f"{count:4} sweeps: mean gap {gaps[-1].mean():.2f} %, {int((gaps[-1] < 1e-9).sum())} of 20 at the maximum"
    )

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(sweeps, np.mean(gaps, axis=1), "o-")
left.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="mean gap to the maximum (%)")
right.bar(range(len(sweeps)), [int((gap < 1e-9).sum()) for gap in gaps], tick_label=sweeps)
right.set(xlabel="sweeps", ylabel="at the maximum, of 20", ylim=(0, 20))
