"""The base of all losses: checks, weights of instances and the data type."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import torch

from models import Potentials
from models.traced import is_traced
from solvers import ProblemError

from ..autograd.recording import refuse_recording
from ..autograd.second_derivatives import once_differentiable
from ..distributions.argmax_module import ArgmaxModule
from ..noise import check_generator
from ..spaces import is_structure
from ..spaces.checks.scores import EdgesLike
from ..spaces.checks.targets import check_target
from ..spaces.checks.weights import checked_weights, weights_of_bits


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
        potentials = self.checked_potentials(unary, pairwise, edges, mask)
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


def sampled(potentials: Potentials, of: str) -> Potentials:
    """Return the potentials for a sampled loss, whose gradient must not be differentiated."""
    unary = once_differentiable(potentials.unary, of)
    if potentials.pairwise is None:
        return replace(potentials, unary=unary)
    return replace(potentials, unary=unary, pairwise=once_differentiable(potentials.pairwise, of))
