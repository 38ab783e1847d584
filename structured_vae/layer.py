"""An argmax as a layer of any network."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Literal, Protocol, overload

import numpy as np
import torch
from torch import nn

from models import Potentials
from solvers import (
    ArgmaxSolver,
    Problem,
    ProblemError,
    Solution,
    UnsupportedProblemError,
    resolve,
    solve,
)

from .errors import ConfigError, shortened
from .estimators import Direct, Estimate
from .objectives.costs import Cost, CostFunction, CostOfBits
from .posteriors.noise import no_noise, unary_noise
from .schedules import Constant

Backward = Literal["implicit_mle", "straight_through"]

ONE_VARIABLE: Final = Problem.from_arrays([0.0])
"""To ask for a solver, and refuse what is none, before there are scores."""


class ArgmaxLayer(nn.Module):
    """z = argmax_z sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j, z in {0,1}^n, to be learned through.

    There are two ways to learn. `layer(unary, pairwise)` gives z with a gradient, for a loss that is
    differentiable in z; `layer(unary, pairwise, cost=f)` gives an `Estimate` for any function f of states, by
    direct optimization: `estimate.surrogate.mean().backward()`. Both are biased.

    - "implicit_mle": (z - argmax of the scores with unary - epsilon grad) / epsilon, for the gradient grad
      that comes back; one more argmax. Pairwise scores learn too.
    - "straight_through": the gradient goes on to the unary scores as it is.

    With a generator the unary scores get Gumbel noise first: z is then a perturb-and-MAP sample, and the
    gradients are those of an expected loss.

    Args:
        solver: name or object of `solvers`.
        estimator: "implicit_mle" or "straight_through", where no cost is given.
        epsilon: step in the scores, of implicit MLE and of direct optimization.

    Raises:
        ConfigError: no such estimator, or epsilon not positive and finite.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: it needs a package that is not installed.

    References:
        Niepert, Minervini, Franceschi (2021), Implicit MLE.
        Vlastelica, Paulus, Musil, Martius, Rolinek (2020), Differentiation of blackbox combinatorial solvers.
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max.

    Example:
        >>> layer = ArgmaxLayer("max_flow")
        >>> unary = torch.tensor([[1.0, -0.5]], requires_grad=True)
        >>> z = layer(unary, torch.tensor([[0.2]]), edges=torch.tensor([[0, 1]]))
        >>> z.tolist()
        [[1.0, 0.0]]
        >>> (z - torch.tensor([[1.0, 1.0]])).square().sum().backward()
        >>> unary.grad.tolist()  # raise the second score
        [[0.0, -1.0]]
    """

    __call__: _Call

    def __init__(
        self,
        solver: str | ArgmaxSolver = "auto",
        estimator: Backward = "implicit_mle",
        epsilon: float = 1.0,
    ):
        super().__init__()
        with suppress(UnsupportedProblemError):  # a plug-in may want more variables
            resolve(solver, ONE_VARIABLE).check(ONE_VARIABLE)
        if not isinstance(estimator, str) or estimator not in BACKWARD:
            raise ConfigError(f"estimator must be one of {', '.join(BACKWARD)}; got {shortened(estimator)}")
        if not _positive(epsilon):
            raise ConfigError(f"epsilon must be a positive number; got {shortened(epsilon)}")
        self.solver = solver
        self.estimator = estimator
        self.epsilon = float(epsilon)  # an unsigned number of numpy has no negative

    def forward(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        cost: Cost | CostFunction | None = None,
        edges: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor | Estimate:
        """The maximisers `[batch, n]`, or with a cost an `Estimate` of its gradient.

        Args:
            unary: `[batch, n]`.
            pairwise: None; `[batch, n, n]`, upper triangular or symmetric; or `[batch, e]` with `edges`.
            cost: a `Cost`, or any function of states `[..., batch, n]` that gives `[..., batch]`; it is then
                asked n + 1 times.
            edges: `[e, 2]`, the pairs, shared by the batch.
            generator: of Gumbel noise, on the device of the scores; None for none.

        Raises:
            solvers.ProblemError: the scores do not describe a problem.
            solvers.SolverError: the solver cannot take it.
            ConfigError: the cost is no function, or the generator none of torch's for that device.
            EstimatorError: the cost of states has another shape than it must.
        """
        potentials = _potentials(unary, pairwise, edges)
        _check_generator(generator, unary.device)
        if cost is not None:
            return self._direct(potentials, cost, generator)
        perturbed = potentials
        if generator is not None:
            perturbed = potentials.shifted(unary_noise(potentials, generator)[0])
        return self._differentiable(perturbed, self._solution(perturbed))

    def solve(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        edges: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, Solution[torch.Tensor]]:
        """The maximisers with their gradient, as from `layer(unary, pairwise)`, and the solution itself.

        The solution says score, certificate and bound of every instance. Arguments and errors as there.
        """
        potentials = _potentials(unary, pairwise, edges)
        solution = self._solution(potentials)
        return self._differentiable(potentials, solution), solution

    def _solution(self, potentials: Potentials) -> Solution[torch.Tensor]:
        free = potentials.detach()
        edges = None if free.edges is None else free.edges.cpu()
        return solve(free.unary, free.pairwise, edges=edges, solver=self.solver)

    def _differentiable(self, potentials: Potentials, solution: Solution[torch.Tensor]) -> torch.Tensor:
        z = solution.z.to(potentials.unary.dtype)
        return BACKWARD[self.estimator](self, potentials, z)

    def _direct(
        self, potentials: Potentials, cost: Cost | CostFunction, generator: torch.Generator | None
    ) -> Estimate:
        noise = no_noise if generator is None else unary_noise
        direct = Direct(self.solver, Constant(self.epsilon), noise=noise)
        bound = cost if isinstance(cost, Cost) else CostOfBits(cost)
        if not callable(cost):
            raise ConfigError(f"cost must be a function of states [..., batch, n]; got {shortened(cost)}")
        return direct(potentials, bound, generator or torch.Generator())


class _Call(Protocol):
    """What calls of an `ArgmaxLayer` take and give: the maximisers, or with a cost an estimate."""

    @overload
    def __call__(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        edges: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor: ...

    @overload
    def __call__(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        cost: Cost | CostFunction,
        edges: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Estimate: ...


def _potentials(unary: torch.Tensor, pairwise: torch.Tensor | None, edges: torch.Tensor | None) -> Potentials:
    """The scores by edge. A matrix gives every pair an edge, so that those which are zero can learn."""
    for name, part in (("unary", unary), ("pairwise", pairwise), ("edges", edges)):
        if not isinstance(part, torch.Tensor) and (part is not None or name == "unary"):
            raise ProblemError(f"{name} must be a torch tensor; got {shortened(part)}")
    Problem.from_arrays(unary, pairwise, edges=edges)  # refuses what is no problem
    if not unary.is_floating_point():
        raise ProblemError(f"unary must be of a floating-point type, as z will be; it is {unary.dtype}")
    if pairwise is None:
        return Potentials(unary)
    if edges is not None:
        return Potentials(unary, pairwise, edges.reshape(-1, 2).long())
    n = unary.shape[-1]
    pairs = torch.triu_indices(n, n, 1, device=unary.device)
    return Potentials(unary, pairwise[..., pairs[0], pairs[1]], pairs.T.contiguous())


def _positive(value: object) -> bool:
    if not isinstance(value, float | int | np.floating | np.integer):
        return False
    plain = value.item() if isinstance(value, np.generic) else value  # half precision has no such maximum
    return bool(0 < plain <= sys.float_info.max)


def _check_generator(generator: torch.Generator | None, device: torch.device) -> None:
    if not isinstance(generator, torch.Generator | None):
        raise ConfigError(f"generator must be a torch.Generator or None; got {shortened(generator)}")
    if generator is not None and generator.device.type != device.type:
        raise ConfigError(
            f"generator is on {generator.device} and the scores are on {device}: make it with "
            f"torch.Generator('{device}')"
        )


class _ImplicitMLE(torch.autograd.Function):
    """z as it is; backwards, the difference to a second argmax."""

    @staticmethod
    def forward(
        ctx: Any,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None,
        edges: torch.Tensor | None,
        z: torch.Tensor,
        layer: ArgmaxLayer,
    ) -> torch.Tensor:
        ctx.potentials, ctx.z, ctx.layer = Potentials(unary, pairwise, edges).detach(), z, layer
        return z.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        potentials, z, layer = ctx.potentials, ctx.z, ctx.layer
        moved = layer._solution(potentials.shifted(-layer.epsilon * gradient))
        other = moved.z.to(z.dtype)
        unary = (z - other) / layer.epsilon
        if potentials.pairwise is None:
            return unary, None, None, None, None
        pairs = (potentials.pairs(z) - potentials.pairs(other)) / layer.epsilon
        return unary, pairs, None, None, None


def _implicit_mle(layer: ArgmaxLayer, potentials: Potentials, z: torch.Tensor) -> torch.Tensor:
    given: torch.Tensor = _ImplicitMLE.apply(  # type: ignore[no-untyped-call]  # torch's
        potentials.unary, potentials.pairwise, potentials.edges, z, layer
    )
    return given


def _straight_through(layer: ArgmaxLayer, potentials: Potentials, z: torch.Tensor) -> torch.Tensor:
    return z + (potentials.unary - potentials.unary.detach())


BACKWARD: Final[dict[str, Callable[[ArgmaxLayer, Potentials, torch.Tensor], torch.Tensor]]] = {
    "implicit_mle": _implicit_mle,
    "straight_through": _straight_through,
}
"""How z gets its gradient, by name."""
