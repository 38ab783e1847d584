"""Losses of structured prediction: scores in, a target state given, a loss for each instance out.

All of them ask a solver or a `Structure` for argmaxes of the scores with another unary part, and
nothing else; the likelihood asks for sums over states. In their formulas h(z) = sum_i unary[i] z_i
+ sum_(i,j) pairwise[(i,j)] z_i z_j is the score, s(z) the statistics `z_i` and `z_i z_j`, in which
it is linear, and y the target.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import torch

from models import Potentials
from solvers import ArgmaxSolver, ProblemError

from .distributions import Gibbs
from .distributions.argmax_module import ArgmaxModule
from .errors import ConfigError, shortened
from .estimators import Epsilon
from .layer import ArgmaxLayer, check_generator
from .noise import gaussian
from .recording import refuse_recording
from .schedules import positive
from .second_derivatives import once_differentiable
from .spaces import Structure, is_structure
from .spaces.scores import EdgesLike, potentials_of
from .spaces.targets import check_target
from .stepping import SteppingModule

Side = Literal["better", "worse"]

LossOfStates: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""States and targets `[..., batch, n]` -> `[..., batch]`, differentiable in the states."""


NO_WEIGHT: Final = 1000.0
"""Nats by which a forbidden state is less likely than another one: exp(-1000) is 0 in float64."""


class StructuredLoss(ArgmaxModule):
    """A loss of scores for a target state.

    Of a structure the first targets are held against its states, by an argmax more; no loss is
    defined for others.

    Args:
        solver: name or object of `solvers`; or a `Structure`, whose scores are then `unary` alone.

    Raises:
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: it needs a package that is not installed.
    """

    shown: ClassVar[tuple[str, ...]] = ()
    _targets_known = False

    def __repr__(self) -> str:
        options = [repr(self.solver), *(f"{name}={getattr(self, name)!r}" for name in self.shown)]
        return f"{type(self).__name__}({', '.join(options)})"

    def forward(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        target: torch.Tensor,
        edges: EdgesLike | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """`[batch]`: the loss of each instance.

        Args:
            unary: `[batch, n]`; minus infinity keeps a variable at 0.
            pairwise: None; `[batch, n, n]`, upper triangular or symmetric; or `[batch, e]` with
                `edges`. Minus infinity keeps both variables of a pair from being 1.
            target: `[batch, n]`, zeros and ones: the state y that should have the highest score.
            edges: `[e, 2]`, the pairs, shared by the batch: a tensor, an array or a list.
            generator: of noise, on the device of the scores, where the loss has some.

        Raises:
            solvers.ProblemError: the scores do not describe a problem, or the target has another
                shape; or one of the first targets is no state of the structure.
            solvers.SolverError: the solver cannot take it.
            ConfigError: the generator is none of torch's for that device, or is missing; or an
                export or a trace records the call.
            StructureError: the structure takes no pairwise scores, or has no `gibbs` where one is
                needed.
        """
        refuse_recording(self)
        potentials = potentials_of(unary, pairwise, edges)
        check_generator(generator, unary.device)
        check_target(target, potentials)
        dtype = potentials.unary.dtype
        potentials = potentials.widened()
        y = target.to(potentials.unary)
        if (
            is_structure(self.solver)
            and not self._targets_known
            and not torch.compiler.is_compiling()
        ):
            self._check_states(y)
            self._targets_known = True
        return self._loss(potentials, y, generator).to(dtype)

    if TYPE_CHECKING:

        def __call__(
            self,
            unary: torch.Tensor,
            pairwise: torch.Tensor | None = None,
            *,
            target: torch.Tensor,
            edges: EdgesLike | None = None,
            generator: torch.Generator | None = None,
        ) -> torch.Tensor:
            """As `forward`; torch says Any."""

    def _check_states(self, y: torch.Tensor) -> None:
        """Of all states, one is that of highest score where its ones score 1 and its zeros -1."""
        foreign = (self.maximise(Potentials(2 * y - 1)) != y).any(dim=-1)
        if bool(foreign.any()):
            place, name = foreign.nonzero()[0].tolist(), type(self.solver).__name__
            raise ProblemError(
                f"target{place} is no state of {name}: no scores make it the best one"
            )

    @abstractmethod
    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        """The loss, for checked arguments."""


class StructuredPerceptron(StructuredLoss):
    """max_z h(z) - h(y): how far the target's score is below the best.

    Gradient: s(z*) - s(y), exact where the argmax z* is unique, else a subgradient. Convex in the
    scores, at least 0, and 0 where y is an argmax. Scores that are all 0 have that too: what keeps
    a network from them is how it learns, not this loss. One argmax.

    References:
        Collins (2002), Discriminative training methods for hidden Markov models.

    Example:
        >>> unary = torch.tensor([[1.0, -0.5]], requires_grad=True)
        >>> StructuredPerceptron()(unary, target=torch.tensor([[1.0, 1.0]]))
        tensor([0.5000], grad_fn=<SumBackward1>)
    """

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        return potentials.score_difference(self.maximise(potentials), y)


class StructuredHinge(StructuredLoss):
    """max_z [h(z) + margin D(z, y)] - h(y), with D(z, y) = sum_i weights[i] [z_i is not y_i].

    Gradient: s(z') - s(y) for the argmax z' of the augmented scores, exact where it is unique, else
    a subgradient. Convex in the scores; at least margin D(z*, y) for the argmax z* of the scores
    themselves, so it bounds what is counted. D is a sum over variables: the augmented argmax is one
    of other unary scores, and any solver of h takes it. One argmax.

    Args:
        solver: as for every `StructuredLoss`.
        margin: positive.
        weights: `[n]`, or what broadcasts to `[batch, n]`, finite and not negative; None for the
            Hamming distance.

    Raises:
        ConfigError: the margin or a weight is out of its range.

    References:
        Taskar, Guestrin, Koller (2004), Max-margin Markov networks.
        Tsochantaridis, Joachims, Hofmann, Altun (2005), Large margin methods for structured and
        interdependent output variables, margin rescaling.

    Example:
        >>> unary = torch.tensor([[1.5, -0.5]], requires_grad=True)
        >>> StructuredHinge()(unary, target=torch.tensor([[1.0, 1.0]]))
        tensor([1.5000], grad_fn=<AddBackward0>)
    """

    shown = ("margin", "weights")
    weights: torch.Tensor | None

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        margin: float = 1.0,
        weights: torch.Tensor | None = None,
    ):
        super().__init__(solver)
        if not positive(margin):
            raise ConfigError(f"margin must be a positive number; got {shortened(margin)}")
        self.margin = float(margin)
        self.register_buffer("weights", _checked(weights))

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        slope = self.margin * distance_slope(y, self.weights)
        z = self.maximise(potentials.shifted(slope))
        return potentials.score_difference(z, y) + (slope * (z - y)).sum(dim=-1)


class PerturbedFenchelYoung(StructuredLoss):
    """E[max_z h(z) + sigma g.z] - h(y), with Gaussian noise g on every unary score.

    Gradient: E[s(z*(g))] - s(y), in which the draws of `samples` stand for the expectation: loss
    and gradient are unbiased. Convex in the scores, and smooth. It is at least the perceptron's, so
    above 0; less a constant of y it is the Fenchel-Young loss of the regulariser that the noise
    defines, which is strictly convex; noise on the pairwise scores too could make them negative.
    Where the scores are much larger than sigma the loss is the perceptron's. An argmax a sample.

    The sampled loss is max_z [h(z) + sigma g.z] - h(y) - sigma g.y, of the same mean and never
    negative.

    Args:
        solver: as for every `StructuredLoss`.
        sigma: of the noise, in units of scores.
        samples: noise draws an instance.

    Raises:
        ConfigError: one of them is not positive.

    References:
        Blondel, Martins, Niculae (2020), Learning with Fenchel-Young losses.
        Berthet, Blondel, Teboul, Cuturi, Vert, Bach (2020), Learning with differentiable perturbed
        optimizers, section 4.
    """

    shown = ("sigma", "samples")

    def __init__(
        self, solver: str | ArgmaxSolver | Structure = "auto", sigma: float = 1.0, samples: int = 1
    ):
        super().__init__(solver)
        if not positive(sigma) or not positive(samples) or samples != int(samples):
            raise ConfigError(
                f"need sigma > 0 and samples >= 1; got {shortened(sigma)} and {shortened(samples)}"
            )
        self.sigma, self.samples = float(sigma), int(samples)

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        if generator is None:
            raise ConfigError("a perturbed loss draws noise: pass a generator")
        potentials = _sampled(potentials, "PerturbedFenchelYoung")
        like = potentials.unary
        noise = self.sigma * gaussian(like.expand(self.samples, *like.shape), generator)
        z = self.maximise(potentials.shifted(noise))
        return (potentials.score_difference(z, y) + (noise * (z - y)).sum(dim=-1)).mean(dim=0)


class DirectLoss(SteppingModule, StructuredLoss):
    """D(z*, y) of the argmax z* itself, with D(z, y) = sum_i weights[i] [z_i is not y_i].

    Gradient: [s(z*) - s(z(-epsilon))] / epsilon ("better"), or [s(z(epsilon)) - s(z*)] / epsilon
    ("worse"), where z(epsilon) is the argmax of h + epsilon D. Biased, O(epsilon), for the gradient
    of E[D(z*, y)], which exists where the expectation over data or noise is smooth. The loss is
    what is counted, piecewise constant in the scores: not convex, and without a gradient of its
    own. Two argmaxes.

    Args:
        solver: as for every `StructuredLoss`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`.
        side: "better" pulls away from z* towards less loss; "worse" pushes off from more.
        weights: as for `StructuredHinge`.

    Raises:
        ConfigError: epsilon is not positive, there is no such side, or a weight is out of its
            range.

    References:
        McAllester, Hazan, Keshet (2010), Direct loss minimization for structured prediction,
        theorem 1.
    """

    shown = ("epsilon", "side", "weights")
    weights: torch.Tensor | None

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        epsilon: float | Epsilon | None = None,
        side: Side = "better",
        weights: torch.Tensor | None = None,
    ):
        super().__init__(solver, epsilon)
        if side not in ("better", "worse"):
            raise ConfigError(f"side must be 'better' or 'worse'; got {shortened(side)}")
        self.side, self.sign = side, -1 if side == "better" else 1
        self.register_buffer("weights", _checked(weights))

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        perturbed = self.perturbed(potentials, generator)
        z, slope = self.maximise(perturbed), distance_slope(y, self.weights)
        moved, epsilon = self.second(perturbed, z, slope, self.sign)
        change = self.sign * _sampled(potentials, "DirectLoss").score_difference(moved, z) / epsilon
        return (slope * (z - y)).sum(dim=-1) + change - change.detach()


class ImplicitMLELoss(StructuredLoss):
    """loss(z*, y) of the argmax z*, for a loss that is differentiable in z.

    Gradient: [s(z*) - s(z')] / epsilon, where z' is the argmax of the scores with
    `unary - epsilon d loss / d z*`. Biased: it converges with epsilon to the gradient of the
    linearised loss, which differs from the loss wherever its derivative is not its change by a
    flip. That of the default is twice the change, so that of independent bits the gradient is twice
    that of the expected loss. Not convex. Two argmaxes. It is `ArgmaxLayer` with the loss after it,
    and has its noise: while it trains, z* is a perturb-and-MAP sample. For the Hamming distance,
    which is linear in z, it is the direct loss.

    Args:
        solver: as for every `StructuredLoss`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`; lambda in the paper.
        loss: of states and targets; default: the sum of squared differences.
        seed: of the noise, as in `ArgmaxLayer`; None for none but that of a generator.

    Raises:
        ConfigError: epsilon is not positive, or there is no such seed.

    References:
        Niepert, Minervini, Franceschi (2021), Implicit MLE: backpropagating through discrete
        exponential family distributions.
    """

    shown = ("layer", "loss")

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        epsilon: float | Epsilon | None = None,
        loss: LossOfStates | None = None,
        seed: int | None = 0,
    ):
        super().__init__(solver)
        self.layer = ArgmaxLayer(solver, epsilon=epsilon, seed=seed)
        self.loss = loss or squared_differences

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        return self.loss(self.layer.learnable(self.layer.perturbed(potentials, generator)), y)


class GibbsLikelihood(StructuredLoss):
    """log Z - h(y), in nats: the negative log-likelihood of y under p(z) = exp(h(z)) / Z, a conditional random field.

    Gradient: E_p[s(z)] - s(y), exact. Convex in the scores, smooth, above 0. It asks for no argmax,
    but for log Z and marginals: with pairwise scores up to 20 variables, or beyond where the
    treewidth is at most about 20 (a grid of 16 by 16 takes a quarter of a second an instance); of a
    structure, its `gibbs`. What it trains are probabilities: the argmax of the scores is then the
    most probable state, not the one of least expected loss.

    References:
        Lafferty, McCallum, Pereira (2001), Conditional random fields.

    Example:
        >>> unary = torch.zeros((1, 2), requires_grad=True)
        >>> GibbsLikelihood()(unary, target=torch.ones(1, 2))  # 2 log 2
        tensor([1.3863], grad_fn=<ToCopyBackward0>)
    """

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        # Gibbs refuses what has no sums
        structure: Any = self.solver if is_structure(self.solver) else None
        double = potentials.widened(
            torch.float64
        )  # both terms are large, and their difference is what counts
        flat = double.flattened()
        marked = replace(flat, unary=flat.scores()[0])
        summed = flat.penalised(NO_WEIGHT) if structure is None else marked
        log_partition = Gibbs(summed, structure).log_partition.reshape(y.shape[:-1])
        return (log_partition - double.score(y.double())).to(potentials.unary)


def distance_slope(y: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """`[batch, n]`: what a one instead of a zero adds to the weighted Hamming distance to y."""
    slope = 1 - 2 * y
    return slope if weights is None else weights.to(y) * slope


def squared_differences(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`[..., batch]`: sum_i (z_i - y_i)^2, whose gradient is zero where z is right."""
    return (z - y).square().sum(dim=-1)


def _sampled(potentials: Potentials, of: str) -> Potentials:
    """Return the potentials for a loss whose gradient is a sample of states, and has no derivative."""
    unary = once_differentiable(potentials.unary, of)
    pairwise = None if potentials.pairwise is None else once_differentiable(potentials.pairwise, of)
    return replace(potentials, unary=unary, pairwise=pairwise)


def _checked(weights: torch.Tensor | None) -> torch.Tensor | None:
    if weights is None:
        return None
    if not isinstance(weights, torch.Tensor) or not bool(
        ((weights >= 0) & weights.isfinite()).all()
    ):
        raise ConfigError(
            f"weights must be a tensor of finite numbers, none negative; got {shortened(weights)}"
        )
    return weights
