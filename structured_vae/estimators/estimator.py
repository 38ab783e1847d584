"""The base class of gradient estimators, and the estimate that they return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self
from warnings import warn

import torch
from torch import nn

from models.potentials import AnyPotentials

from ..autograd.second_derivatives import first_derivative_only
from ..autograd.transforms import refuse_transforms
from ..distributions import DensityDistribution, Distribution, Gibbs, PerturbAndMAP
from ..distributions.argmax import AnySolver
from ..errors import EstimatorError, shortened
from ..objectives.costs import Cost, CostFunction, CostOfStates
from ..objectives.recipes import KLTerm as KLTerm
from ..schedules import SCHEDULES
from ..spaces import StateSpace, Structure, as_space, is_structure, space_of
from .options import EstimatorOptions
from .reasons import no_pairs


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of one draw of a gradient estimator.

    Attributes:
        surrogate: `[batch]`; `surrogate.mean().backward()` gives encoder and decoder their
            gradients. Its value means nothing.
        cost: `[batch]`, nats, the cost averaged over the samples, without gradient. Where a KL is
            folded into it, the estimate of `Direct` with all flips leaves out the scores of the
            samples (log q up to a constant), and those of other estimators contain them.
        z: `[samples, batch, n]`, the latent states that were drawn.
        stats: averages over the batch, by name, for logging.
        tuning: the loss of the estimator's own parameters, 0 if it has none; add it to the loss.
    """

    surrogate: torch.Tensor
    cost: torch.Tensor
    z: torch.Tensor
    stats: dict[str, torch.Tensor] = field(default_factory=dict)
    tuning: torch.Tensor | float = 0.0


@dataclass(frozen=True)
class Compared:
    """A form of an estimator in the figure of bias and deviation of `structured-vae gradients`.

    Attributes:
        name: of the line or point in the figure, and in its record.
        of_options: makes the estimator of options whose epsilon and temperature are one setting.
        has_setting: whether there is an epsilon or a temperature, over which the figure draws it.
        usual: whether the command measures it if the user names no estimators.
    """

    name: str
    of_options: Callable[[EstimatorOptions], Estimator]
    has_setting: bool = True
    usual: bool = True


class Estimator(nn.Module, ABC):
    """Base class of the estimators of the gradient of an expected cost E_q[cost(z)].

    An estimator is a module, so that estimators with parameters or buffers (REBAR, RELAX, adaptive
    epsilon) train and resume with the network.

    Attributes:
        kl: how the KL of an objective enters: "density" as a term of its own, where z is drawn from
            a distribution whose density is known, such as the Gibbs distribution; "folded" into the
            cost, as for direct optimization; "weighted" where the estimator divides p(x, z) by
            q(z | x) itself; "none".
        distribution: the class of the distribution q whose samples the estimate is made of: `Gibbs`
            or `PerturbAndMAP`; or another one, made of potentials alone.
        solver: solves the argmaxes of `PerturbAndMAP`, by name or object; or the space whose states
            alone are drawn.
        takes_any_density: whether the estimate asks of q for samples, density and completions
            alone, so that q may be autoregressive.
        usual_samples: the number of samples where a configuration names none.
        takes_completions: whether the option `completions` of a configuration has a meaning.
        sleeps: whether a training adds the sleep phase, `sleep_loss`, to the loss of the encoder.
        other_objective: what the encoder minimises, if that is not an expected cost E_q[cost(z)];
            such an estimator cannot be compared with the gradient of one. Empty for the others.
        untransformable: what an estimate does that `torch.func` cannot transform; empty where it
            can.
        outside: what to call in place of such an estimate inside of `torch.func`.
    """

    kl: KLTerm
    distribution: type[DensityDistribution] | type[PerturbAndMAP] = Gibbs
    solver: AnySolver | Structure | StateSpace = "auto"
    takes_any_density: ClassVar[bool] = False
    usual_samples: ClassVar[int] = 1
    takes_completions: ClassVar[bool] = False
    sleeps: ClassVar[bool] = False
    other_objective: ClassVar[str] = ""
    untransformable: ClassVar[str] = ""
    outside: ClassVar[str] = (
        "compute the estimate outside of torch.func, and its gradients by torch.autograd.grad"
    )

    def __init_subclass__(cls) -> None:
        """Warn if a subclass makes the distribution itself.

        Warns:
            DeprecationWarning: the class overrides `posterior`.
        """
        super().__init_subclass__()
        if "posterior" in vars(cls):
            warn(
                f"{cls.__name__} overrides posterior: set its attribute distribution to the class "
                "of the distribution instead, such as PerturbAndMAP",
                DeprecationWarning,
                stacklevel=3,  # the caller of ABCMeta
            )

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes; by default one without arguments."""
        return cls()

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures.

        By default it is one form, with the usual number of samples, which is measured if a user
        names the estimator. It is none where `other_objective` says why.
        """
        if cls.other_objective:
            return ()
        return (Compared(cls.__name__, cls._of_setting, cls._has_setting(), usual=False),)

    @classmethod
    def _of_setting(cls, options: EstimatorOptions) -> Self:
        """Return the estimator with the usual number of samples."""
        return cls.of_options(replace(options, samples=cls.usual_samples))

    @classmethod
    def _has_setting(cls) -> bool:
        """Return whether a schedule of the estimator follows epsilon or the temperature."""
        low, high = (EstimatorOptions.at(setting, n=2) for setting in (0.1, 0.2))
        return cls._of_setting(low).scheduled(0) != cls._of_setting(high).scheduled(0)

    @property
    def over(self) -> StateSpace | None:
        """The space of the states to draw; None for that of the potentials."""
        if is_structure(self.solver):
            return as_space(self.solver)
        return None

    def posterior(self, potentials: AnyPotentials) -> Distribution:
        """Return the distribution of potentials that `distribution` names.

        A loop passes it to its objective and to the estimator, which share its sums.

        Args:
            potentials: the scores h of the images.

        Raises:
            StructureError: the estimator needs the Gibbs distribution, and the space has no sums.
        """
        h = self._in_space(potentials)
        if issubclass(self.distribution, PerturbAndMAP):
            return self.distribution(h, self._solver_of_pairs)
        return self.distribution(h)

    @property
    def _solver_of_pairs(self) -> AnySolver:
        """The solver; "auto" where a space replaces it."""
        if is_structure(self.solver):
            return "auto"
        return self.solver

    def draw_from(self, distribution: type[DensityDistribution]) -> None:
        """Set the class of the posterior.

        Args:
            distribution: the class that the estimator has; or, if it takes any density,
                `Autoregressive`, whose bits depend on the bits before them.

        Raises:
            EstimatorError: the estimator needs the distribution that it has.
        """
        if distribution is not self.distribution and not self.takes_any_density:
            raise EstimatorError(
                f"{type(self).__name__} draws from {self.distribution.__name__} and needs more of the "
                f"posterior than its density, so that it cannot be {distribution.__name__}: take "
                "ScoreFunction, RAM or VIMCO"
            )
        self.distribution = distribution

    def summed(self, potentials: AnyPotentials) -> Distribution | None:
        """Return the distribution whose sums an estimate needs; None where it needs none.

        Args:
            potentials: scores that passed `why_not`.
        """
        if self.kl in ("density", "weighted"):
            return self.posterior(potentials)
        return None

    def _in_space(self, potentials: AnyPotentials) -> AnyPotentials:
        """Return the same scores in the space `over`."""
        if self.over is None:
            return potentials
        return replace(potentials, space=self.over)

    @property
    def argmaxes(self) -> int:
        """The number of argmaxes that an estimate takes per image."""
        return 0

    def scheduled(self, step: int) -> tuple[float, ...]:
        """Return the values of the schedules of this estimator at a training step.

        Between two steps with the same values an estimate does the same computation.
        """
        return tuple(
            value(step)
            for module in self.modules()
            for value in vars(module).values()
            if isinstance(value, SCHEDULES)
        )

    @abstractmethod
    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        """Return the estimate for a distribution whose potentials passed `why_not`."""

    def once(self, surrogate: torch.Tensor, potentials: AnyPotentials) -> torch.Tensor:
        """Return a surrogate whose gradient in the scores raises an error if it is differentiated.

        An estimate calls it if its surrogate has the gradient of the expected cost, but not its
        second derivative.

        Args:
            surrogate: the terms that give the scores their gradient.
            potentials: the scores.

        Raises:
            EstimatorError: a derivative in forward mode is asked for.
        """
        name = type(self).__name__
        return first_derivative_only(surrogate, name, potentials.unary, potentials.pairwise)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return the reasons why this estimator cannot take such potentials; empty where it can.

        An override adds its own reasons to these.
        """
        h = self._in_space(potentials)
        # An override of `posterior`, which is deprecated, may make another distribution.
        if self.kl == "folded" and type(self).posterior is not Estimator.posterior:
            return no_pairs(h)
        return no_pairs(h) + self.distribution.why_not(h)

    def forward(
        self,
        q: Distribution | AnyPotentials,
        cost: Cost | CostFunction,
        generator: torch.Generator,
        step: int = 0,
    ) -> Estimate:
        """Return one draw for each image.

        Args:
            q: the posterior, made by `posterior`, so that an objective shares its sums; or the
                potentials that it is made of.
            cost: a `Cost` of the images; or any function of states `[..., batch, n]` that gives
                `[..., batch]`.
            generator: draws the noise, on the device of the potentials.
            step: the training step, on which schedules depend.

        Raises:
            EstimatorError: the estimator cannot take these potentials; an argument has another
                type; or `torch.func` transforms the call and cannot transform this estimator.
            solvers.SolverError: the solver cannot take these potentials.
        """
        potentials = getattr(q, "potentials", q)
        if not isinstance(potentials, AnyPotentials):
            raise EstimatorError(
                f"expected models.Potentials(unary, ...); got {shortened(potentials)}"
            )
        if not isinstance(generator, torch.Generator):
            raise EstimatorError(f"generator must be a torch.Generator; got {shortened(generator)}")
        if self.untransformable:
            refuse_transforms(type(self).__name__, self.outside, self.untransformable)
        if not isinstance(cost, Cost):
            cost = _cost_of(cost, potentials)
        if reasons := self.why_not(potentials):
            raise EstimatorError(
                f"{type(self).__name__} cannot take these potentials: {'; '.join(reasons)}"
            )
        if isinstance(q, AnyPotentials):
            q = self.posterior(potentials)
        return self._estimate(q, cost, generator, step)

    if TYPE_CHECKING:

        def __call__(
            self,
            q: Distribution | AnyPotentials,
            cost: Cost | CostFunction,
            generator: torch.Generator,
            step: int = 0,
        ) -> Estimate:
            """Return one draw for each image as `forward` does, typed."""


def _cost_of(function: object, potentials: AnyPotentials) -> Cost:
    """Return a function of states as a cost.

    Raises:
        EstimatorError: it is not callable.
    """
    if not callable(function):
        raise EstimatorError(
            f"cost must be a Cost or a function of states; got {shortened(function)}"
        )
    return CostOfStates(function, space_of(potentials))
