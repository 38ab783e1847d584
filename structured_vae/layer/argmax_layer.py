"""The argmax of a discrete problem as a layer of any network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, overload

import torch

from models import Potentials
from solvers import ArgmaxSolver, Solution
from solvers.constraints import Constraint

from ..autograd.recording import between_graphs, refuse_recording
from ..autograd.transforms import refuse_forward_mode, refuse_transforms
from ..distributions.argmax_module import Seed
from ..errors import ConfigError, shortened
from ..estimators import Direct, Epsilon, Estimate
from ..noise import check_generator, checked_draws
from ..objectives.costs import Cost, CostFunction, CostOfBits
from ..spaces import Structure, as_space, is_structure
from ..spaces.bits import solution_of
from ..spaces.checks.scores import EdgesLike
from .backward import BACKWARD, IMPLICIT_MLE, Backward
from .draws import mean_of_draws, repeated
from .second_argmax import SteppingModule


class ArgmaxLayer(SteppingModule):
    """A differentiable layer that returns the argmax z in {0,1}^n of unary and pairwise scores.

    z = argmax_z sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j.

    There are two ways to train through it. `layer(unary, pairwise)` returns z with a gradient, for
    a loss that is differentiable in z. `layer(unary, pairwise, cost=f)` returns an `Estimate` for
    any function f of states, by direct optimization: `estimate.surrogate.mean().backward()`. Both
    gradients are biased. The first way has two estimators:

    - "implicit_mle": (z - z') / epsilon, where z' is the argmax of the scores with
      `unary - epsilon * grad` and grad is the incoming gradient. It costs one more argmax, and
      trains pairwise scores as well.
    - "straight_through": the incoming gradient is passed to the unary scores unchanged.

    In training mode, noise is added to unary scores that require a gradient: for each score the
    difference of two Gumbel variables. z is then a perturb-and-MAP sample, and the gradients are
    those of an expected loss. Without noise, a loss of z has no gradient once z is right, and
    training oscillates. In `eval()` or under `torch.no_grad()` there is no noise, and z is the
    argmax of the scores.

    With `samples` above 1, a call with noise returns the mean of z over this many draws. It
    estimates the expected state, and its entries are from 0 to 1. Its gradient is the mean of the
    gradients that single draws have for the same incoming gradient. An `Estimate` averages cost and
    surrogate over the draws. A call costs `samples` times as many argmaxes.

    The noise is that of torch: `torch.manual_seed` decides it, and two layers draw different noise.
    With a seed, a layer has its own noise, the same as another layer with that seed. Processes of
    `torch.distributed` draw different noise in either case. Neither the noise nor the number of
    steps is in `state_dict`. To resume your own training loop, save the state of torch's generator.

    `torch.compile` compiles calls without cost and generator without a graph break. It calls
    `solve`, and the layer with a cost, between two graphs. `torch.func`
    transforms the same calls by `grad`, `vjp`, `jacrev` and `vmap`; forward mode raises an error.
    Exports and traces raise an error, since a program could not keep the solver. A gradient that is
    not finite is passed on unchanged. Second derivatives raise an error.

    Args:
        solver: a solver of `solvers` or its name; or a `Structure`, which takes only `unary`.
        estimator: "implicit_mle" or "straight_through", for calls without a cost.
        epsilon: step size in the scores, for implicit MLE and direct optimization: a number, an
            `Epsilon`, or None for `Relative()`, which adapts the step to scores and gradient so
            that some argmaxes change. Schedules count the steps of this layer.
        seed: "torch" for the noise of torch; an integer of at least 0 for noise of its own; None
            for noise only from a generator.
        constraints: linear constraints over z, made by `solvers.constraints` and shared by all
            instances: k of n with interactions, one of a group. z is then the best state that
            satisfies them, by a solver that can.
        samples: the number of noise draws that a call with noise averages.

    Raises:
        ConfigError: the estimator or the seed is not valid, epsilon is not positive and finite,
            `samples` is not a whole number of at least 1, or `constraints` are not constraints, or
            are combined with a structure.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: the solver needs a package that is not installed.

    Warns:
        StalledWarning: once, when no argmax has changed in 20 steps; and in a call, if the
            structure has a single state, such as `KOfN(k)` for k scores.

    References:
        Niepert, Minervini, Franceschi (2021), Implicit MLE.
        Vlastelica, Paulus, Musil, Martius, Rolinek (2020), Differentiation of blackbox
        combinatorial solvers. Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through
        arg max.

    Example:
        >>> layer = ArgmaxLayer("max_flow", epsilon=1.0, seed=None)
        >>> unary = torch.tensor([[1.0, -0.5]], requires_grad=True)
        >>> z = layer(unary, torch.tensor([[0.2]]), edges=[[0, 1]])
        >>> z.tolist()
        [[1.0, 0.0]]
        >>> (z - torch.tensor([[1.0, 1.0]])).square().sum().backward()
        >>> unary.grad.tolist()  # raise the second score
        [[0.0, -1.0]]
    """

    __call__: _Call

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        estimator: Backward = "implicit_mle",
        epsilon: float | Epsilon | None = None,
        seed: Seed = "torch",
        constraints: Iterable[Constraint] = (),
        samples: int = 1,
    ):
        super().__init__(solver, epsilon, seed, constraints)
        if not isinstance(estimator, str) or estimator not in BACKWARD:
            raise ConfigError(
                f"estimator must be one of {', '.join(BACKWARD)}; got {shortened(estimator)}"
            )
        self.estimator = estimator
        self.samples = checked_draws(samples)

    def __repr__(self) -> str:
        """Return the layer with its options."""
        options = f"{self.solver!r}, {self.estimator!r}, epsilon={self.epsilon!r}"
        options += f", seed={self.seed!r}"
        if self.samples > 1:
            options += f", samples={self.samples}"
        return f"ArgmaxLayer({options})"

    def forward(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        cost: Cost | CostFunction | None = None,
        edges: EdgesLike | None = None,
        mask: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor | Estimate:
        """Return the argmax `[batch, n]`, or with a cost an `Estimate` of its gradient.

        With noise and several samples, it is the mean of the argmaxes `[batch, n]`. The states of
        an `Estimate` are `[samples, batch, n]`.

        Args:
            unary: `[batch, n]`; minus infinity keeps a variable at 0.
            pairwise: None; `[batch, n, n]`, upper triangular or symmetric; or `[batch, e]` with
                `edges`. Minus infinity keeps the two variables of a pair from both being 1.
            cost: a `Cost`, or any function from states `[..., batch, n]` to costs `[..., batch]`,
                which is then called n + 1 times.
            edges: `[e, 2]`, the pairs, shared by the batch: a tensor, an array or a list.
            mask: boolean, `[batch, n]` or a shape that broadcasts to it, True where a variable may
                be 1. False is the same as a score of minus infinity.
            generator: the source of noise, on the device of the scores, which is then added in
                either mode; None for the layer's own noise.

        Raises:
            solvers.ProblemError: the scores do not describe a problem.
            solvers.SolverError: the solver does not accept the scores.
            ConfigError: the cost is not a function; the generator is not a torch generator for this
                device; activation checkpointing runs a call with noise again; or an export or a
                trace records the call.
            EstimatorError: the cost returns another shape.
            StructureError: the structure does not accept pairwise scores, or returned no states.
            solvers.InfeasibleError: no state satisfies the constraints.
        """
        refuse_recording(self)
        potentials = self.checked_potentials(unary, pairwise, edges, mask)
        check_generator(generator, unary.device)
        if cost is not None:
            return self._direct(potentials, cost, generator)
        return self.averaged(potentials, generator)

    def averaged(self, potentials: Potentials, generator: torch.Generator | None) -> torch.Tensor:
        """Return the mean of the argmaxes `[..., batch, n]` over the draws of noise, if any.

        It has the estimator's gradient. Losses call it with checked potentials.

        Raises:
            solvers.SolverError: the solver does not accept the scores.
            ConfigError: a backward pass runs the forward pass again, which would draw new noise.
        """
        if self.estimator == "implicit_mle" and not torch.compiler.is_compiling():
            # Before the noise: `vmap` may have something against it too.
            scores = [values for values in potentials.scores() if values is not None]
            refuse_forward_mode(IMPLICIT_MLE, *scores)
        noise = self.noise(potentials, generator, self.samples)
        if noise is None:
            return self.learnable(potentials)
        if self.samples == 1:
            return self.learnable(potentials.shifted(noise[0]))
        return mean_of_draws(self.learnable(repeated(potentials, self.samples).shifted(noise)))

    def learnable(self, potentials: Potentials) -> torch.Tensor:
        """Return the argmax `[..., batch, n]` of potentials, with the estimator's gradient."""
        return BACKWARD[self.estimator](self, potentials, self.maximise(potentials))

    @between_graphs
    def solve(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        edges: EdgesLike | None = None,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, Solution[torch.Tensor]]:
        """Return the argmax with its gradient, without noise, and the solution with certificates.

        Args:
            unary: as in `forward`.
            pairwise: as in `forward`.
            edges: as in `forward`.
            mask: as in `forward`.

        Returns:
            the argmax `[batch, n]`; and the `Solution`, with score, bound and optimality
            certificate of every instance.

        Raises:
            StructureError: the layer has a structure without certificates.
            solvers.InfeasibleError: no state satisfies the constraints.
            solvers.ProblemError: the scores do not describe a problem.
            solvers.SolverError: the solver does not accept the scores.
            ConfigError: an export or a trace records the call.
            EstimatorError: `torch.func` transforms the call.
        """
        refuse_transforms("ArgmaxLayer.solve", "call it outside of torch.func, or the layer itself")
        potentials = self.checked_potentials(unary, pairwise, edges, mask)
        if is_structure(self.solver):
            solution = as_space(self.solver).solution(potentials)
        else:
            solution = solution_of(potentials, self.solver)
        return BACKWARD[self.estimator](self, potentials, solution.z.to(unary.dtype)), solution

    @between_graphs
    def _direct(
        self, potentials: Potentials, cost: Cost | CostFunction, generator: torch.Generator | None
    ) -> Estimate:
        if not callable(cost):
            raise ConfigError(
                f"cost must be a function of states [..., batch, n]; got {shortened(cost)}"
            )
        if not isinstance(cost, Cost):
            cost = CostOfBits(cost)
        noise = self.noise(potentials, generator, self.samples)
        if noise is None:
            noise = torch.zeros_like(potentials.unary)[None]
        # The noise is drawn here, so `direct` does not use its generator.
        direct = Direct(self.solver, self.epsilon, len(noise), noise=lambda *_: noise)
        estimate = direct(potentials, cost, torch.Generator(), self.taken)
        moved = bool(estimate.stats["changed"] > 0)
        wanted = bool(estimate.stats["saturated"] < 1)
        self.count(moved, wanted)
        return estimate


class _Call(Protocol):
    """The types of calls of an `ArgmaxLayer`: the argmax, or with a cost an estimate."""

    @overload
    def __call__(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        edges: EdgesLike | None = None,
        mask: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor: ...

    @overload
    def __call__(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        cost: Cost | CostFunction,
        edges: EdgesLike | None = None,
        mask: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Estimate: ...
