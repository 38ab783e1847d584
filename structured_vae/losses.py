"""Losses of structured prediction: from scores and a target state to a loss for each instance.

The losses only need argmaxes of the scores with shifted unary scores, from a solver or a
`Structure`; the likelihood needs sums over states. In their formulas
h(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j is the score, s(z) are the sufficient
statistics `z_i` and `z_i z_j`, and y is the target.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeAlias

import torch

from models import Potentials
from models.traced import is_traced
from solvers import ArgmaxSolver, ProblemError
from solvers.constraints import Constraint

from .autograd.recording import refuse_recording
from .autograd.second_derivatives import once_differentiable
from .distributions import Gibbs
from .distributions.argmax_module import ArgmaxModule, Seed
from .errors import ConfigError, shortened
from .estimators import Epsilon
from .layer import ArgmaxLayer, check_generator
from .noise import checked_draws, gaussian
from .schedules import positive
from .spaces import Structure, is_structure
from .spaces.checks.batches import check_dense
from .spaces.checks.scores import EdgesLike, potentials_of
from .spaces.checks.targets import check_target
from .spaces.checks.weights import checked_weights, weights_of_bits
from .stepping import SteppingModule

Side = Literal["better", "worse"]

LossOfStates: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Function of states and targets `[..., batch, n]` -> `[..., batch]`, differentiable in states."""


NO_WEIGHT: Final = 1000.0
"""Penalty in nats for a forbidden state: exp(-1000) is 0 in float64."""


class StructuredLoss(ArgmaxModule):
    """A loss of scores for a target state.

    With a structure, one extra argmax checks in the first call that the targets are states of it,
    since the loss is undefined for other targets.

    Args:
        solver: a solver of `solvers` or its name; or a `Structure`, which takes only `unary`.
        seed: not used by most losses.
        constraints: linear constraints over z, as for `ArgmaxLayer`. Targets have to satisfy them.

    Raises:
        ConfigError: `constraints` are no constraints, or go with a structure.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: the solver needs a package that is not installed.
    """

    shown: ClassVar[tuple[str, ...]] = ()
    _targets_known = False

    def __repr__(self) -> str:
        """Return the loss with its options."""
        options = [repr(self.solver), *(f"{name}={getattr(self, name)!r}" for name in self.shown)]
        return f"{type(self).__name__}({', '.join(options)})"

    def forward(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None = None,
        *,
        target: torch.Tensor,
        edges: EdgesLike | None = None,
        mask: torch.Tensor | None = None,
        sample_weight: torch.Tensor | None = None,
        class_weight: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """Return the loss of each instance: `[batch]`.

        Args:
            unary: `[batch, n]`; minus infinity keeps a variable at 0.
            pairwise: None; `[batch, n, n]`, upper triangular or symmetric; or `[batch, e]` with
                `edges`. Minus infinity keeps the two variables of a pair from both being 1.
            target: `[batch, n]`, zeros and ones: the state y that should have the highest score.
            edges: `[e, 2]`, the pairs, shared by the batch: a tensor, an array or a list.
            mask: boolean, `[batch, n]` or a shape that broadcasts to it, True where a variable may
                be 1. False is the same as a score of minus infinity.
            sample_weight: `[batch]`, finite and not negative: the loss of each instance is
                multiplied by its weight. None for ones.
            class_weight: `[2]`, the weights of target bits 0 and 1, finite and not negative: the
                loss of each instance is multiplied by the mean weight of its target bits, as in the
                CRFs. Variables that must be 0 do not count. None for ones.
            generator: the source of noise, on the device of the scores. Without it,
                `PerturbedFenchelYoung` draws the noise of torch, which `torch.manual_seed` seeds.

        Raises:
            solvers.ProblemError: the scores do not describe a problem, the target has another
                shape, or one of the first targets is not a state of the structure.
            solvers.SolverError: the solver does not accept the scores.
            ConfigError: the generator is not a torch generator for this device; a weight is out of
                range, or weights have another shape; a loss of your own returns no tensor; or an
                export or a trace records the call.
            StructureError: the structure does not accept pairwise scores, or lacks the `gibbs` that
                this loss needs.
        """
        refuse_recording(self)
        potentials = potentials_of(unary, pairwise, edges, mask)
        check_generator(generator, unary.device)
        check_target(target, potentials)
        dtype = potentials.unary.dtype
        # In float64, since a loss is the small difference of large scores; cast back at the end.
        potentials = potentials.widened()
        y = target.to(potentials.unary)
        if is_structure(self.solver) and not self._targets_known and not is_traced():
            self._check_states(y)
            self._targets_known = True
        loss = self._loss(potentials, y, generator)
        if sample_weight is not None:
            loss = loss * checked_weights(sample_weight, loss.shape, "sample_weight").to(loss)
        if class_weight is not None:
            loss = loss * weights_of_bits(class_weight, y, potentials.forbidden).to(loss)
        return loss.to(dtype)

    if TYPE_CHECKING:

        def __call__(
            self,
            unary: torch.Tensor,
            pairwise: torch.Tensor | None = None,
            *,
            target: torch.Tensor,
            edges: EdgesLike | None = None,
            mask: torch.Tensor | None = None,
            sample_weight: torch.Tensor | None = None,
            class_weight: torch.Tensor | None = None,
            generator: torch.Generator | None = None,
        ) -> torch.Tensor:
            """Call `forward`; declared since torch's own type is Any."""

    def _check_states(self, y: torch.Tensor) -> None:
        """Raise if a target is not a state of the structure.

        A state is the argmax of scores that are 1 for its ones and -1 for its zeros; a target that
        is not a state loses to some state.
        """
        foreign = (self.maximise(Potentials(2 * y - 1)) != y).any(dim=-1)
        if bool(foreign.any()):
            place = foreign.nonzero()[0].tolist()
            raise ProblemError(
                f"target{place} is not a state of {type(self.solver).__name__}, so no scores make "
                "it the argmax"
            )

    @abstractmethod
    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        """Compute the loss from checked arguments."""


class StructuredPerceptron(StructuredLoss):
    """The perceptron loss max_z h(z) - h(y): how far the target's score is below the maximum.

    Gradient: s(z*) - s(y), exact if the argmax z* is unique, otherwise a subgradient. The loss is
    convex in the scores, at least 0, and 0 if y is an argmax. It is also 0 if all scores are 0;
    this loss alone does not keep a network from that solution. Costs one argmax.

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
    """The structured hinge loss max_z [h(z) + margin D(z, y)] - h(y), with margin rescaling.

    D(z, y) = sum_i weights[i] [z_i != y_i] is the weighted Hamming distance.

    Gradient: s(z') - s(y) for the argmax z' of the loss-augmented scores, exact if z' is unique,
    otherwise a subgradient. The loss is convex in the scores. It is an upper bound on
    margin D(z*, y), where z* is the argmax of the scores themselves. Since D is a sum over
    variables, loss augmentation only shifts the unary scores, and any solver applies. Costs one
    argmax.

    Args:
        solver: as for every `StructuredLoss`.
        margin: weight of the distance, positive.
        weights: `[n]`, or a shape that broadcasts to `[batch, n]`, finite and not negative; None
            for the Hamming distance.
        constraints: as for every `StructuredLoss`.

    Raises:
        ConfigError: the margin or a weight is out of range.

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
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, constraints=constraints)
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
    """The perturbed Fenchel-Young loss E[max_z h(z) + sigma g.z] - h(y), with Gaussian noise g.

    The noise is added to every unary score.

    Gradient: E[s(z*(g))] - s(y). The mean over `samples` draws estimates the expectation; loss and
    gradient are unbiased. The loss is convex in the scores, smooth, and at least the perceptron
    loss. Up to a constant that depends on y, it is the Fenchel-Young loss of the regulariser that
    the noise defines, which is strictly convex. If the scores are much larger than sigma, it
    approaches the perceptron loss. Costs one argmax per sample.

    The value computed from a draw is max_z [h(z) + sigma g.z] - h(y) - sigma g.y, which has the
    same mean and is never negative. Noise on the pairwise scores as well could make it negative.

    Args:
        solver: as for every `StructuredLoss`.
        sigma: the scale of the noise, in units of scores.
        samples: the number of noise draws per instance.
        constraints: as for every `StructuredLoss`.

    Raises:
        ConfigError: `sigma` is not positive, or `samples` is not a whole number of at least 1.

    References:
        Blondel, Martins, Niculae (2020), Learning with Fenchel-Young losses.
        Berthet, Blondel, Teboul, Cuturi, Vert, Bach (2020), Learning with differentiable perturbed
        optimizers, section 4.
    """

    shown = ("sigma", "samples")

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        sigma: float = 1.0,
        samples: int = 1,
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, constraints=constraints)
        if not positive(sigma):
            raise ConfigError(f"sigma must be a positive number; got {shortened(sigma)}")
        self.sigma = float(sigma)
        self.samples = checked_draws(samples)

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        potentials = _sampled(potentials, "PerturbedFenchelYoung")
        like = potentials.unary
        noise = self.sigma * gaussian(like.expand(self.samples, *like.shape), generator)
        z = self.maximise(potentials.shifted(noise))
        return (potentials.score_difference(z, y) + (noise * (z - y)).sum(dim=-1)).mean(dim=0)


class DirectLoss(SteppingModule, StructuredLoss):
    """The task loss D(z*, y) of the argmax z*, with the gradient of direct loss minimisation.

    D(z, y) = sum_i weights[i] [z_i != y_i] is the weighted Hamming distance. It is piecewise
    constant in the scores, so it is not convex and its exact gradient is zero almost everywhere.

    Gradient: [s(z*) - s(z(-epsilon))] / epsilon for the side "better", or
    [s(z(epsilon)) - s(z*)] / epsilon for "worse", where z(epsilon) is the argmax of h + epsilon D.
    It estimates the gradient of E[D(z*, y)] with a bias of O(epsilon), if the expectation over
    data or noise is smooth. Costs two argmaxes.

    Args:
        solver: as for every `StructuredLoss`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`.
        side: "better" moves the scores from z* towards a state with less loss; "worse" moves them
            away from a state with more loss.
        weights: as for `StructuredHinge`.
        constraints: as for every `StructuredLoss`.

    Raises:
        ConfigError: epsilon is not positive, `side` has another value, or a weight is out of range.

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
        constraints: Iterable[Constraint] = (),
    ):
        super().__init__(solver, epsilon, constraints=constraints)
        if side not in ("better", "worse"):
            raise ConfigError(f"side must be 'better' or 'worse'; got {shortened(side)}")
        self.side = side
        self.sign = -1 if side == "better" else 1
        self.register_buffer("weights", _checked(weights))

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        perturbed = self.perturbed(potentials, generator)
        z = self.maximise(perturbed)
        slope = distance_slope(y, self.weights)
        moved, epsilon = self.second(perturbed, z, slope, self.sign)
        difference = _sampled(potentials, "DirectLoss").score_difference(moved, z)
        if epsilon.ndim == z.ndim:  # each instance has its own
            epsilon = epsilon[..., 0]
        surrogate = self.sign * difference / epsilon
        # The value is D(z*, y), the gradient that of the surrogate.
        return (slope * (z - y)).sum(dim=-1) + surrogate - surrogate.detach()


class ImplicitMLELoss(StructuredLoss):
    """A loss(z*, y) of the argmax z*, differentiable in z, with the gradient of implicit MLE.

    Gradient: [s(z*) - s(z')] / epsilon, where z' is the argmax of the scores with
    `unary - epsilon * d loss / d z*`. It is biased: as epsilon goes to 0 it converges to the
    gradient of the linearised loss, which differs from the loss if the derivative in a bit is not
    the change of the loss when that bit flips. The derivative of the default loss is twice that
    change, so for independent bits the gradient is twice that of the expected loss. The loss is not
    convex. Costs two argmaxes for each draw of noise.

    It is an `ArgmaxLayer` followed by the loss, and has its noise: in training mode z* is a
    perturb-and-MAP sample. With `samples` above 1 it is the mean of so many samples, so the loss
    gets entries from 0 to 1. For the Hamming distance, which is linear in z, it equals
    `DirectLoss`.

    Args:
        solver: as for every `StructuredLoss`.
        epsilon: a number, an `Epsilon`, or None for `Relative()`; lambda in the paper.
        loss: a function of states and targets; None for the sum of squared differences.
        seed: the seed of the noise, as in `ArgmaxLayer`.
        constraints: as for every `StructuredLoss`.
        samples: the number of noise draws that a call with noise averages, as in `ArgmaxLayer`.

    Raises:
        ConfigError: epsilon is not positive, the seed is not valid, `samples` is not a whole number
            of at least 1, or `loss` is not a function.

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
        seed: Seed = "torch",
        constraints: Iterable[Constraint] = (),
        samples: int = 1,
    ):
        super().__init__(solver, constraints=constraints)
        self.layer = ArgmaxLayer(self.solver, epsilon=epsilon, seed=seed, samples=samples)
        if loss is not None and not callable(loss):
            raise ConfigError(
                f"loss must be a function of states and targets; got {shortened(loss)}"
            )
        self.loss = loss or squared_differences

    def over(self, structure: Structure) -> Self:
        """Return this loss over another structure, as `ArgmaxLayer.over` does."""
        copy = super().over(structure)
        copy.layer = self.layer.over(structure)
        return copy

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        loss = self.loss(self.layer.averaged(potentials, generator), y)
        if not isinstance(loss, torch.Tensor):
            raise ConfigError(
                f"loss must return a tensor, one number per instance; it returned {shortened(loss)}"
            )
        return loss


class GibbsLikelihood(StructuredLoss):
    """The negative log-likelihood log Z - h(y) of a conditional random field, in nats.

    The model is p(z) = exp(h(z)) / Z. Gradient: E_p[s(z)] - s(y), exact. The loss is convex in the
    scores, smooth and positive. It needs log Z and marginals instead of an argmax. With pairwise
    scores these exist for up to 20 variables, and for more if the treewidth is at most about 20 (a
    grid of 16 by 16 takes a quarter of a second per instance); a structure must have `gibbs`. This
    loss fits probabilities: the argmax of the scores is then the most probable state, which need
    not be the one with the least expected loss.

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
        # Gibbs raises an error if the structure has no sums.
        structure: Any = None
        if is_structure(self.solver):
            structure = self.solver
        # Both terms are large compared with their difference, hence float64.
        double = potentials.widened(torch.float64)
        flat = double.flattened()
        marked = replace(flat, unary=flat.scores()[0])
        summed = marked
        if structure is None:
            summed = flat.penalised(NO_WEIGHT)
        log_partition = Gibbs(summed, structure).log_partition.reshape(y.shape[:-1])
        return (log_partition - double.score(y.double())).to(potentials.unary)


def distance_slope(y: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Return the change of the weighted Hamming distance to y when a bit goes from 0 to 1.

    Args:
        y: the target, `[batch, n]`.
        weights: `[n]`, or a shape that broadcasts to `[batch, n]`; None for ones.

    Returns:
        `[batch, n]`.

    Raises:
        ConfigError: the weights have another shape.
    """
    slope = 1 - 2 * y
    if weights is None:
        return slope
    fits = weights.ndim <= y.ndim and all(
        size in (1, wanted)
        for size, wanted in zip(weights.shape[::-1], y.shape[::-1], strict=False)
    )
    if not fits:
        raise ConfigError(
            f"weights must be [{y.shape[-1]}], or broadcast to {list(y.shape)}; "
            f"got {list(weights.shape)}"
        )
    return weights.to(y) * slope


def squared_differences(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return sum_i (z_i - y_i)^2 for states and targets `[..., batch, n]`: `[..., batch]`."""
    return (z - y).square().sum(dim=-1)


def _sampled(potentials: Potentials, of: str) -> Potentials:
    """Return the potentials for a sampled loss, whose gradient must not be differentiated."""
    unary = once_differentiable(potentials.unary, of)
    if potentials.pairwise is None:
        return replace(potentials, unary=unary)
    return replace(potentials, unary=unary, pairwise=once_differentiable(potentials.pairwise, of))


def _checked(weights: torch.Tensor | None) -> torch.Tensor | None:
    if weights is None:
        return None
    if isinstance(weights, torch.Tensor):
        check_dense(weights, "weights", ConfigError)
        if bool(((weights >= 0) & weights.isfinite()).all()):
            return weights
    raise ConfigError(
        f"weights must be a tensor of finite numbers, none negative; got {shortened(weights)}"
    )
