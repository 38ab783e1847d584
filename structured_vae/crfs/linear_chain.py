"""The conditional random field over chains, for sequence tagging."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import torch
from torch import nn

from models.traced import holds, is_traced, plain
from solvers import Solution, labels
from solvers.labels import LabelProblem

from ..errors import StructureError, shortened
from ..recording import refuse_recording
from ..spaces.checks.batches import is_dense, is_of_floats, positive_integer
from ..spaces.sums.chain_sums import BELOW, Chains
from ..transforms import refuse_transforms
from .empty import empty_solution
from .reductions import Reduction, check_reduction, reduced

INITIAL: Final = 0.1
"""Maximum absolute value of an initial parameter."""

MOST_TAGS: Final = 1 << 15
"""Maximum number of tags; a transition table of more takes gigabytes."""

PADDING: Final = -1
"""The label of positions beyond the end of a chain."""


class LinearChainCRF(nn.Module):
    """A linear-chain conditional random field p(tags | emissions), with exact inference.

    log p = start[t_1] + sum_i emissions[i, t_i] + sum_i transitions[t_i, t_(i+1)] + end[t_length] -
    log Z, in nats. Log likelihood and marginals are exact, and the best tags come with an
    optimality certificate. The chains of a batch may differ in length.

    Arguments and parameters have the names that they have in pytorch-crf, and a `state_dict` of
    pytorch-crf can be loaded. Sums are computed in float64; results have the type of the emissions.

    An emission of minus infinity forbids a tag at its position; a parameter of minus infinity
    forbids a transition, a first or a last tag. Forbidden scores get no gradient, and forbidden
    tags have the log likelihood minus infinity.

    Args:
        num_tags: k, the number of tags, from 1 to 32,768.
        batch_first: True for arrays `[batch, length, ...]`, False for `[length, batch, ...]`.

    Raises:
        StructureError: `num_tags` is not an integer in this range.

    References:
        Lafferty, McCallum, Pereira (2001), Conditional random fields.

    Example:
        >>> crf = LinearChainCRF(3, batch_first=True)
        >>> _ = [nn.init.zeros_(parameter) for parameter in crf.parameters()]
        >>> emissions = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> crf.decode(emissions)
        [[0, 1]]
        >>> crf(emissions, torch.tensor([[0, 1]]))
        tensor(-0.7910, grad_fn=<ToCopyBackward0>)
    """

    def __init__(self, num_tags: int, batch_first: bool = False):
        super().__init__()
        self.num_tags = positive_integer(num_tags, "num_tags")
        if self.num_tags > MOST_TAGS:
            raise StructureError(f"num_tags must be at most {MOST_TAGS}; got {shortened(num_tags)}")
        self.batch_first = batch_first
        self.start_transitions = nn.Parameter(torch.empty(self.num_tags))
        self.end_transitions = nn.Parameter(torch.empty(self.num_tags))
        self.transitions = nn.Parameter(torch.empty(self.num_tags, self.num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters from U(-0.1, 0.1), with torch's global generator."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -INITIAL, INITIAL)

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"num_tags={self.num_tags}, batch_first={self.batch_first}"

    def forward(
        self,
        emissions: torch.Tensor,
        tags: torch.Tensor,
        mask: torch.Tensor | None = None,
        reduction: Reduction = "sum",
    ) -> torch.Tensor:
        """Return the log likelihood of tags in nats, differentiable; training maximises it.

        Args:
            emissions: `[batch, length, k]` if `batch_first`, else `[length, batch, k]`.
            tags: `[batch, length]` or `[length, batch]`, from 0 to k - 1; ignored where the mask is
                False.
            mask: the shape of `tags`, True up to the end of each chain, whose length is at least 1;
                None if all chains have full length.
            reduction: "none" for `[batch]`; "sum"; "mean", over chains; or "token_mean", the sum
                divided by the number of tags.

        Raises:
            StructureError: shapes do not match, a tag is out of range, the mask has holes or an
                empty chain, an emission is nan or plus infinity, all tags of a position or of a
                chain are forbidden, a parameter is nan or plus infinity, or `reduction` has another
                value.
        """
        check_reduction(reduction)
        chains = self._chains(emissions, mask)
        log_p = chains.score(self._tags(tags, emissions, chains.mask)) - _log_partition(chains)
        return reduced(log_p, reduction, chains.mask.sum()).to(emissions.dtype)

    def log_partition(
        self, emissions: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return log Z in nats, differentiable: `[batch]`.

        Args:
            emissions: as in `forward`.
            mask: as in `forward`.

        Raises:
            StructureError: as in `forward`.
        """
        return _log_partition(self._chains(emissions, mask)).to(emissions.dtype)

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return the marginals P(t_i = a), differentiable, in the shape of the emissions.

        They are 0 where the mask is False.

        Args:
            emissions: as in `forward`.
            mask: as in `forward`.

        Raises:
            StructureError: as in `forward`.
        """
        if is_traced():
            marginals = self._chains(emissions, mask).marginals()
            return self._by_steps(marginals).to(emissions.dtype)
        learns = emissions.requires_grad or any(p.requires_grad for p in self.parameters())
        differentiable = torch.is_grad_enabled() and learns
        # The marginals are the gradient of log Z in the emissions.
        with torch.enable_grad():
            if not emissions.requires_grad:
                emissions = emissions.detach().requires_grad_()
            total = _log_partition(self._chains(emissions, mask)).sum()
            (marginals,) = torch.autograd.grad(total, emissions, create_graph=differentiable)
        return marginals

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor | None = None) -> list[list[int]]:
        """Return the best tags of each chain, as lists without padding.

        Args:
            emissions: as in `forward`.
            mask: as in `forward`.

        Raises:
            StructureError: as in `forward`.
        """
        tags = self.solve(emissions, mask).labels.tolist()
        if mask is None:
            return tags
        lengths = self._by_steps(mask).bool().sum(dim=0).tolist()
        return [chain[:length] for chain, length in zip(tags, lengths, strict=True)]

    def solve(
        self, emissions: torch.Tensor, mask: torch.Tensor | None = None
    ) -> Solution[torch.Tensor]:
        """Return the best tags with their score and optimality certificate, without gradient.

        Args:
            emissions: as in `forward`.
            mask: as in `forward`.

        Returns:
            the solution: `labels` `[batch, length]` for either value of `batch_first`, -1 where the
            mask is False; `score`, `bound` and `optimal` `[batch]`.

        Raises:
            StructureError: as in `forward`.
        """
        refuse_transforms(f"{type(self).__name__}.solve", "call it outside of torch.func")
        with torch.no_grad():
            chains = self._chains(emissions, mask)
            if not chains.mask.shape[1]:
                return empty_solution(len(chains.mask), emissions)
            solution = labels.solve(_problem_of(_penalised(chains)), solver="elimination")
            _refuse_impossible(chains.score(solution.labels.T), -torch.inf)
        # The solver saw the batch only up to the end of the longest chain.
        length, batch = self._by_steps(emissions).shape[:2]
        padded = solution.labels.new_full((batch, length), PADDING)
        padded[:, : len(chains.mask)] = solution.labels.masked_fill(~chains.mask.T, PADDING)
        return replace(solution, z=padded)

    def _chains(self, emissions: torch.Tensor, mask: torch.Tensor | None) -> Chains:
        """Check the scores, and cut them at the end of the longest chain."""
        refuse_recording(self)
        self._check_emissions(emissions)
        self._check_parameters()
        mask = self._by_steps(self._mask(mask, emissions))
        if not is_traced() and mask.shape[1]:
            mask = mask[: int(mask.sum(dim=0).max())]
        scores = self._by_steps(emissions)[: len(mask)].double()
        scores = torch.where(mask[..., None], scores, scores.new_zeros(()))
        if not holds(scores.detach().amax(dim=-1).isfinite()):
            raise StructureError(
                "emissions must be finite, or minus infinity where a tag is forbidden; at least "
                "one tag of each position must be allowed"
            )
        return Chains(
            _without_gradient_where_forbidden(scores),
            mask,
            _without_gradient_where_forbidden(self.transitions.double()),
            _without_gradient_where_forbidden(self.start_transitions.double()),
            _without_gradient_where_forbidden(self.end_transitions.double()),
        )

    def _check_emissions(self, emissions: torch.Tensor) -> None:
        if not is_of_floats(emissions):
            raise StructureError(
                "emissions must be a tensor of a floating-point type of 16 bits or more; "
                f"got {shortened(emissions)}"
            )
        order = "batch, length" if self.batch_first else "length, batch"
        if emissions.ndim != 3 or emissions.shape[2] != self.num_tags:
            raise StructureError(
                f"emissions must be [{order}, {self.num_tags}]; got {list(emissions.shape)}"
            )
        if not self._by_steps(emissions).shape[0]:
            raise StructureError(
                f"emissions must be [{order}, {self.num_tags}] of a length of at least 1; "
                f"got {list(emissions.shape)}"
            )

    def _check_parameters(self) -> None:
        for parameter in self.parameters():
            if not holds(parameter < torch.inf):  # nan fails the comparison as well
                raise StructureError(
                    "parameters must be finite, or minus infinity where a transition, a first or "
                    "a last tag is forbidden"
                )

    def _by_steps(self, array: torch.Tensor) -> torch.Tensor:
        return array.transpose(0, 1) if self.batch_first else array

    def _mask(self, mask: torch.Tensor | None, emissions: torch.Tensor) -> torch.Tensor:
        shape = emissions.shape[:2]
        if mask is None:
            return emissions.new_ones(shape, dtype=torch.bool)
        if not _is_tensor(mask) or mask.shape != shape:
            received = list(mask.shape) if _is_tensor(mask) else shortened(mask)
            raise StructureError(f"mask must be a tensor {list(shape)}; got {received}")
        mask = mask.to(emissions.device).bool()
        steps = self._by_steps(mask)
        if not holds(steps[0]) or not holds(~steps[1:] | steps[:-1]):
            raise StructureError(
                "mask must be true from the first position of each chain up to its end, "
                "without holes"
            )
        return mask

    def _tags(
        self, tags: torch.Tensor, emissions: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Check the tags, and return them as `[length, batch]`, 0 where the mask is False."""
        integral = _is_tensor(tags) and not (tags.is_floating_point() or tags.is_complex())
        if not integral or tags.shape != emissions.shape[:2]:
            received = f"{tags.dtype} {list(tags.shape)}" if _is_tensor(tags) else shortened(tags)
            raise StructureError(
                f"tags must be integers {list(emissions.shape[:2])}; got {received}"
            )
        steps = self._by_steps(tags.to(emissions.device))[: len(mask)].long()
        steps = torch.where(mask, steps, steps.new_zeros(()))
        if not holds((steps >= 0) & (steps < self.num_tags)):
            raise StructureError(
                f"tags must be from 0 to {self.num_tags - 1} where the mask is true"
            )
        return steps


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor) and is_dense(value)


def _log_partition(chains: Chains) -> torch.Tensor:
    """Return log Z `[batch]`.

    Raises:
        StructureError: all tags of a chain are forbidden.
    """
    total = chains.log_partition()
    _refuse_impossible(total.detach(), BELOW / 2)
    return total


def _refuse_impossible(scores: torch.Tensor, limit: float) -> None:
    """Raise if the score of a chain is at most `limit`, because all its tags are forbidden."""
    possible = scores > limit
    if not holds(possible):
        raise StructureError(
            f"chain {int((~plain(possible)).nonzero()[0, -1])} has no allowed tags: minus infinity in "
            "emissions and parameters forbids all of them; allow more transitions"
        )


def _without_gradient_where_forbidden(scores: torch.Tensor) -> torch.Tensor:
    return scores.masked_fill(scores == -torch.inf, -torch.inf)


def _penalised(chains: Chains) -> Chains:
    """Replace forbidden parameters by a finite penalty larger than any gain in score."""
    tables = (chains.transitions, chains.start, chains.end)
    largest = [_largest(scores) for scores in (chains.emissions, *tables)]
    penalty = -2 * len(chains.mask) * torch.stack(largest).sum() - 1
    finite = (torch.where(table == -torch.inf, penalty, table) for table in tables)
    return Chains(chains.emissions, chains.mask, *finite)


def _largest(scores: torch.Tensor) -> torch.Tensor:
    """Return the largest absolute value among the finite scores; 0 where there are none."""
    if not scores.numel():
        return scores.new_zeros(())
    return torch.where(scores.isfinite(), scores, 0.0).abs().amax()


def _problem_of(chains: Chains) -> LabelProblem[torch.Tensor]:
    """Make one batch of the chains, in which positions beyond the end of a chain score 0."""
    unary = chains.emissions.clone()
    unary[0] += chains.start
    last = chains.mask.sum(dim=0) - 1
    unary[last, torch.arange(unary.shape[1], device=unary.device)] += chains.end
    unary = unary.transpose(0, 1)
    length = unary.shape[1]
    if length == 1:
        return LabelProblem.from_arrays(unary)
    edges = np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)
    problem = LabelProblem.from_arrays(unary, chains.transitions, edges=edges)
    if bool(chains.mask.all()):
        return problem
    # A weight of 0 switches an edge off.
    weights = chains.mask[1:].T.to(unary)
    if isinstance(problem.unary, torch.Tensor):
        return replace(problem, weights=weights)
    return replace(problem, weights=weights.numpy())
