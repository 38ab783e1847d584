"""The solver that `auto` takes for sparse problems, and the backends that it runs one after the other."""

import numpy as np

from solvers import Deadline, select_solver
from solvers.instances import spin_glass

AUTO = select_solver(spin_glass(22, 22, 1, np.random.default_rng(0)).problem()).solver


def runs_of(problem, seconds):
    """The runs that follow each other on a problem until one has proved it; None is no limit."""
    return AUTO.turns(problem, Deadline.after(seconds))


def names_of(problem, seconds=60.0):
    """The backends of these runs."""
    return [run.solver.name for run in runs_of(problem, seconds)]
