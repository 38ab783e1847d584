r"""
Write your own solver
=====================

This example adds simulated annealing to the library, in about thirty lines. It is for you if you
have a solver and want to use it in layers, losses and training. The new solver takes batches, and
passes the tests of the built-in solvers.
"""

# %%
# One class, one method
# ---------------------
#
# A solver derives from ``ArgmaxSolver`` and implements ``_argmax``. The base class checks the
# problem. It computes the score of your answer again in float64, and makes the certificate. A
# heuristic may also return an upper bound on all scores. Without one, the base class takes the sum
# of all positive scores. This example returns that sum itself, to show where a better bound goes.

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from solvers import ArgmaxSolver, Capabilities, Maximiser, instances, solve
from solvers.testing import check_conformance


@dataclass(frozen=True)
class Annealing(ArgmaxSolver):
    """Flip single bits: always uphill, and downhill with a probability that falls."""

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
                slope = problem.unary[:, i] + np.einsum("bj,bj->b", weights[:, i], z)
                gain = (1 - 2 * z[:, i]) * slope
                # One draw for all instances, so that an answer does not depend on the batch.
                threshold = temperature * scale * np.log(random.random())
                z[:, i] ^= gain > threshold
        # Scores may be float32. A sum in float32 could be less than the maximum.
        unary_sum = np.maximum(problem.unary, 0).sum(axis=1, dtype=np.float64)
        pairwise_sum = np.maximum(problem.pairwise, 0).sum(axis=1, dtype=np.float64)
        return Maximiser(z, unary_sum + pairwise_sum, {"sweeps": self.sweeps})


# %%
# The tests of the built-in solvers
# ---------------------------------
#
# ``check_conformance`` solves random problems of the kinds that often break solvers, and compares
# the answers with enumeration. If an answer is wrong, it raises an error that shows the problem.

check_conformance(Annealing(sweeps=20), count=30)

# %%
# Annealing compared with the maximum
# -----------------------------------
#
# We solve twenty dense problems of 40 variables. The default solver, ``auto``, proves their maxima.
# The argument ``solver`` of ``solve`` is either a name or an object of your class. We try five
# numbers of sweeps; a sweep visits every variable once.

problems = instances.dense(40, 20, np.random.default_rng(0))
unary, pairwise, edges = problems.unary, problems.pairwise, problems.edges
best = solve(unary, pairwise, edges=edges)
print(f"{best.solver}: {int(best.optimal.sum())} of {len(best.score)} maxima proved")

sweeps = (1, 3, 10, 30, 100)
gaps = []
for count in sweeps:
    solution = solve(unary, pairwise, edges=edges, solver=Annealing(sweeps=count))
    gap = 100 * (1 - solution.score / best.score)
    gaps.append(gap)
    at_maximum = int((gap < 1e-9).sum())
    print(f"{count:4} sweeps: mean gap {gap.mean():.2f} %, {at_maximum} of 20 at the maximum")

# %%
# On the left, the mean gap shrinks with more sweeps. On the right is the number of problems that
# reach the maximum: with ten sweeps or more, it is about half of them.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(sweeps, np.mean(gaps, axis=1), "o-")
left.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="mean gap to the maximum (%)")
right.bar(range(len(sweeps)), [int((gap < 1e-9).sum()) for gap in gaps], tick_label=sweeps)
right.set(xlabel="sweeps", ylabel="at the maximum, of 20", ylim=(0, 20))
