"""An argmax as a layer of any network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, Protocol, overload

import torch

from models import Potentials
from solvers import ArgmaxSolver, Solution

from .distributions.argmax_module import module_of
from .errors import ConfigError, StructureError, shortened
from .estimators import Direct, Epsilon, Estimate
from .objectives.costs import Cost, CostFunction, CostOfBits
from .recording import refuse_recording
from .second_derivatives import without_derivative
from .spaces import Structure, is_structure, refuse_pairs
from .spaces.bits import solution_of
from .spaces.of_potentials import no_noise
from .spaces.scores import EdgesLike, potentials_of
from .stepping import SteppingModule

Backward = Literal["implicit_mle", "straight_through"]


class ArgmaxLayer(SteppingModule):
    """z = argmax_z sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j, z in {0,1}^n, to be learned through.

    There are two ways to learn. `layer(unary, pairwise)` gives z with a gradient, for a loss that
    is differentiable in z; `layer(unary, pairwise, cost=f)` gives an `Estimate` for any function f
    of states, by direct optimization: `estimate.surrogate.mean().backward()`. Both are biased.

    - "implicit_mle": (z - argmax of the scores with unary - epsilon grad) / epsilon, for the
      gradient grad that comes back; one more argmax. Pairwise scores learn too.
    - "straight_through": the gradient goes on to the unary scores as it is.

    While it trains, the unary scores get noise first, for each the difference of two Gumbel
    variables: z is then a perturb-and-MAP sample, and the gradients are those of an expected loss.
    Without noise a loss of z has no gradient where z is right, and training swings. The noise is
    added in training mode to scores that require a gradient, and not in `eval()` or under
    `torch.no_grad()`, where z is the argmax itself.

    Two layers with one seed draw the same noise: give each a seed of its own. Neither noise nor the
    steps taken are in `state_dict`, so that a loop of your own that resumes passes a `generator`
    whose state it has kept.

    `torch.compile` takes calls without cost and generator whole. Exports and traces are refused: a
    program could not keep the solver. A gradient that is not finite goes on as it is; a derivative
    of the gradient is refused.

    Args:
        solver: name or object of `solvers`; or a `Structure`, whose scores are then `unary` alone.
        estimator: "implicit_mle" or "straight_through", where no cost is given.
        epsilon: step in the scores, of implicit MLE and of direct optimization: a number, an
            `Epsilon`, or None for `Relative()`, which measures scores and gradient in every step,
            so that some argmaxes move. Schedules go by the steps that this layer has taken.
        seed: of the noise, a whole number that is not negative; None for none but that of a
            generator.

    Raises:
        ConfigError: no such estimator or seed, or epsilon not positive and finite.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: it needs a package that is not installed.

    Warns:
        StalledWarning: once, when no argmax moved in 20 steps.

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
        seed: int | None = 0,
    ):
        super().__init__(solver, epsilon, seed)
        if not isinstance(estimator, str) or estimator not in BACKWARD:
            raise ConfigError(
                f"estimator must be one of {', '.join(BACKWARD)}; got {shortened(estimator)}"
            )
        self.estimator = estimator

    def __repr__(self) -> str:
        return f"ArgmaxLayer({self.solver!r}, {self.estimator!r}, epsilon={self.epsilon!r}, seed={self.seed!r})"

    def forward(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        cost: Cost | CostFunction | None = None,
        edges: EdgesLike | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor | Estimate:
        """The maximisers `[batch, n]`, or with a cost an `Estimate` of its gradient.

        Args:
            unary: `[batch, n]`; minus infinity keeps a variable at 0.
            pairwise: None; `[batch, n, n]`, upper triangular or symmetric; or `[batch, e]` with
                `edges`. Minus infinity keeps both variables of a pair from being 1.
            cost: a `Cost`, or any function of states `[..., batch, n]` that gives `[..., batch]`;
                it is then asked n + 1 times.
            edges: `[e, 2]`, the pairs, shared by the batch: a tensor, an array or a list.
            generator: of that noise, on the device of the scores, whatever the mode; None for the
                layer's own.

        Raises:
            solvers.ProblemError: the scores do not describe a problem.
            solvers.SolverError: the solver cannot take it.
            ConfigError: the cost is no function, or the generator none of torch's for that device;
                or with noise, it is run again by a backward pass (activation checkpointing); or an
                export or a trace records it.
            EstimatorError: the cost of states has another shape than it must.
            StructureError: the structure takes no pairwise scores, or gave no states.
        """
        refuse_recording(self)
        potentials = potentials_of(unary, pairwise, edges)
        check_generator(generator, unary.device)
        if cost is not None:
            return self._direct(potentials, cost, generator)
        return self.learnable(self.perturbed(potentials, generator))

    def learnable(self, potentials: Potentials) -> torch.Tensor:
        """`[..., batch, n]`: the maximisers of checked potentials, with the gradient that the estimator gives."""
        return BACKWARD[self.estimator](self, potentials, self.maximise(potentials))

    def solve(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        edges: EdgesLike | None = None,
    ) -> tuple[torch.Tensor, Solution[torch.Tensor]]:
        """The maximisers with their gradient, as from `layer(unary, pairwise)` without noise, and the solution itself.

        The solution says score, certificate and bound of every instance. Arguments and errors as
        there.

        Raises:
            StructureError: a structure has no certificates.
        """
        if is_structure(self.solver):
            raise StructureError(
                "a structure gives states without certificates: call the layer itself"
            )
        refuse_recording(self)
        potentials = potentials_of(unary, pairwise, edges)
        solution = solution_of(potentials, self.solver)
        return BACKWARD[self.estimator](self, potentials, solution.z.to(unary.dtype)), solution

    def _direct(
        self, potentials: Potentials, cost: Cost | CostFunction, generator: torch.Generator | None
    ) -> Estimate:
        if not callable(cost):
            raise ConfigError(
                f"cost must be a function of states [..., batch, n]; got {shortened(cost)}"
            )
        if is_structure(self.solver):
            refuse_pairs(self.solver, potentials.pairwise)
        direct = Direct(self.solver, self.epsilon, noise=no_noise)
        bound = cost if isinstance(cost, Cost) else CostOfBits(cost)
        estimate = direct(
            self.perturbed(potentials, generator), bound, torch.Generator(), self.taken
        )
        self.count(
            moved=bool(estimate.stats["changed"] > 0), wanted=bool(estimate.stats["saturated"] < 1)
        )
        return estimate


class _Call(Protocol):
    """What calls of an `ArgmaxLayer` take and give: the maximisers, or with a cost an estimate."""

    @overload
    def __call__(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        edges: EdgesLike | None = None,
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
        generator: torch.Generator | None = None,
    ) -> Estimate: ...


def check_generator(generator: torch.Generator | None, device: torch.device) -> None:
    """Refuses what generates no noise on that device.

    Raises:
        ConfigError: it is none of torch's, or one for another device.
    """
    if not isinstance(generator, torch.Generator | None):
        raise ConfigError(
            f"generator must be a torch.Generator or None; got {shortened(generator)}"
        )
    if generator is not None and generator.device.type != device.type:
        raise ConfigError(
            f"generator is on {generator.device} and the scores are on {device}: make it with "
            f"torch.Generator('{device}')"
        )


def _implicit_mle(layer: ArgmaxLayer, potentials: Potentials, z: torch.Tensor) -> torch.Tensor:
    given: torch.Tensor = _learnable(*potentials.scores(), potentials.edges, z, layer._number)
    return given


def _straight_through(layer: ArgmaxLayer, potentials: Potentials, z: torch.Tensor) -> torch.Tensor:
    return z + (
        potentials.unary - potentials.unary.detach()
    )  # a forbidden score is 0 there, without gradient


BACKWARD: Final[dict[str, Callable[[ArgmaxLayer, Potentials, torch.Tensor], torch.Tensor]]] = {
    "implicit_mle": _implicit_mle,
    "straight_through": _straight_through,
}
"""How z gets its gradient, by name."""


@torch.library.custom_op("structured_vae::learnable", mutates_args=())
def _learnable(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None,
    edges: torch.Tensor | None,
    z: torch.Tensor,
    layer: int,
) -> torch.Tensor:
    """The argmax z as it is; backwards, the difference to a second one."""
    return z.clone()


@_learnable.register_fake
def _(
    unary: torch.Tensor,
    pairwise: torch.Tensor | None,
    edges: torch.Tensor | None,
    z: torch.Tensor,
    layer: int,
) -> torch.Tensor:
    return torch.empty_like(z)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    unary, pairwise, edges, z, ctx.number = inputs
    ctx.layer = module_of(ctx.number)  # it may have no other owner when the gradient comes
    ctx.save_for_backward(unary, pairwise, edges, z)


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    """Return the difference of two argmaxes; where the gradient is not finite, the gradient itself or nan.

    A loss scale that is too large makes it so, and whoever chose the scale looks for that in the
    gradients.
    """
    unary, pairwise, edges, z = ctx.saved_tensors
    potentials = Potentials(unary, pairwise, edges)
    other, epsilon = ctx.layer.second(potentials, z, gradient)
    finite = gradient.isfinite().all(dim=-1, keepdim=True)
    singles = torch.where(finite, (z - other) / epsilon, gradient)
    pairs = None
    if pairwise is not None:
        moved = potentials.pairs(z) - potentials.pairs(other)
        pairs = torch.where(finite, moved / epsilon, torch.nan)
    if torch.is_grad_enabled():
        name = f"ArgmaxLayer(estimator='{ctx.layer.estimator}')"
        singles = without_derivative(singles, unary, gradient, name)
        if pairs is not None:
            pairs = without_derivative(pairs, pairwise, gradient, name)
    return singles, pairs, None, None, None


_learnable.register_autograd(_backward, setup_context=_keep)
