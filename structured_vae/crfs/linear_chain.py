"""The conditional random field over chains: sequence tagging."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import torch
from torch import nn

from solvers import Solution, labels
from solvers.labels import LabelProblem

from ..errors import StructureError, shortened
from ..recording import refuse_recording
from ..spaces.batches import is_dense, is_of_floats, positive_integer
from ..spaces.chain_sums import BELOW, Chains
from .reductions import Reduction, check_reduction, reduced

INITIAL: Final = 0.1
"""Parameters start between minus this and this."""

MOST_TAGS: Final = 1 << 15
"""A table of more takes gigabytes."""

PADDING: Final = -1
"""The label of a place that a chain does not have."""


class LinearChainCRF(nn.Module):
    """p(tags | emissions) of chains of different lengths, exact: log likelihood, marginals, and the best tags, proved.

    log p = start[t_1] + sum_i emissions[i, t_i] + sum_i transitions[t_i, t_(i+1)] + end[t_length] -
    log Z, in nats.

    Arguments, parameters and their names are those of pytorch-crf, whose `state_dict` can be
    loaded. Sums are taken in float64, and answers have the type of the emissions. Emissions may be
    minus infinity, which forbids a tag at its place, and so may parameters, which forbids a
    transition, a first or a last tag. What is forbidden gets no gradient, and tags that are
    forbidden have the log likelihood minus infinity.

    Args:
        num_tags: k, from 1 to 32,768.
        batch_first: whether arrays are `[batch, length, ...]`; else they are
            `[length, batch, ...]`.

    Raises:
        StructureError: num_tags is no such number.

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
        """Draws all parameters anew, uniform between -0.1 and 0.1, by torch's global generator."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -INITIAL, INITIAL)

    def extra_repr(self) -> str:
        """What stands between the brackets when it is printed."""
        return f"num_tags={self.num_tags}, batch_first={self.batch_first}"

    def forward(
        self,
        emissions: torch.Tensor,
        tags: torch.Tensor,
        mask: torch.Tensor | None = None,
        reduction: Reduction = "sum",
    ) -> torch.Tensor:
        """The log likelihood of tags, differentiable: to be maximised.

        Args:
            emissions: `[batch, length, k]` if `batch_first`, else `[length, batch, k]`.
            tags: `[batch, length]` or `[length, batch]`, from 0 to k - 1; anything beyond the mask.
            mask: of the same shape, true up to the end of each chain, whose length is at least 1;
                None for all.
            reduction: "none" for `[batch]`; "sum"; "mean", over chains; or "token_mean", the sum by
                the number of tags.

        Raises:
            StructureError: shapes that do not fit, tags that there are not, a mask with holes or an
                empty chain, emissions that are nan or plus infinity or forbid all tags of a place,
                parameters that are nan or plus infinity, a chain all of whose tags are forbidden,
                or another reduction.
        """
        check_reduction(reduction)
        chains = self._chains(emissions, mask)
        log_p = chains.score(self._tags(tags, emissions, chains.mask)) - _log_partition(chains)
        return reduced(log_p, reduction, chains.mask.sum()).to(emissions.dtype)

    def log_partition(
        self, emissions: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """`[batch]`: log Z in nats, differentiable.

        Args:
            emissions: as of `forward`.
            mask: as of `forward`.

        Raises:
            StructureError: as of `forward`.
        """
        return _log_partition(self._chains(emissions, mask)).to(emissions.dtype)

    def marginals(self, emissions: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """P(t_i = a), of the shape of the emissions, differentiable; zero beyond the mask.

        Args:
            emissions: as of `forward`.
            mask: as of `forward`.

        Raises:
            StructureError: as of `forward`.
        """
        differentiable = torch.is_grad_enabled() and (
            emissions.requires_grad
            or any(parameter.requires_grad for parameter in self.parameters())
        )
        with torch.enable_grad():
            given = emissions if emissions.requires_grad else emissions.detach().requires_grad_()
            total = _log_partition(self._chains(given, mask)).sum()
            (found,) = torch.autograd.grad(total, given, create_graph=differentiable)
        return found

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor | None = None) -> list[list[int]]:
        """The best tags of each chain, as lists of their lengths.

        Args:
            emissions: as of `forward`.
            mask: as of `forward`.

        Raises:
            StructureError: as of `forward`.
        """
        found = self.solve(emissions, mask).labels.tolist()
        if mask is None:
            return found
        lengths = mask.bool().sum(dim=1 if self.batch_first else 0).tolist()
        return [chain[:length] for chain, length in zip(found, lengths, strict=True)]

    def solve(
        self, emissions: torch.Tensor, mask: torch.Tensor | None = None
    ) -> Solution[torch.Tensor]:
        """The best tags with their score and its proof, without gradient.

        Args:
            emissions: as of `forward`.
            mask: as of `forward`.

        Returns:
            The solution: `labels [batch, length]`, whatever `batch_first` is, -1 beyond the mask;
            `score`, `bound` and `optimal`, `[batch]`.

        Raises:
            StructureError: as of `forward`.
        """
        with torch.no_grad():
            chains = self._chains(emissions, mask)
            solution = labels.solve(_problem_of(_penalised(chains)), solver="elimination")
            _refuse_impossible(chains.score(solution.labels.T), -torch.inf)
        found = solution.labels.new_full(
            (emissions.shape[0 if self.batch_first else 1], self._length(emissions)), PADDING
        )
        found[:, : len(chains.mask)] = solution.labels.masked_fill(~chains.mask.T, PADDING)
        return replace(solution, z=found)

    def _length(self, emissions: torch.Tensor) -> int:
        return emissions.shape[1 if self.batch_first else 0]

    def _chains(self, emissions: torch.Tensor, mask: torch.Tensor | None) -> Chains:
        """Return checked scores, up to the end of the longest chain."""
        refuse_recording(self)
        if not is_of_floats(emissions):
            raise StructureError(
                f"emissions must be a tensor of a floating-point type of 16 bits or more; got {shortened(emissions)}"
            )
        if emissions.ndim != 3 or emissions.shape[2] != self.num_tags or 0 in emissions.shape:
            order = "batch, length" if self.batch_first else "length, batch"
            raise StructureError(
                f"emissions must be [{order}, {self.num_tags}], nothing of it empty; got {list(emissions.shape)}"
            )
        if not all(
            bool((parameter < torch.inf).all()) for parameter in self.parameters()
        ):  # nan is not, either
            raise StructureError(
                "parameters must be finite, or minus infinity where a transition, a first or a last tag is forbidden"
            )
        on = self._by_steps(self._mask(mask, emissions))
        on = on[: int(on.sum(dim=0).max())]
        scores = self._by_steps(emissions)[: len(on)].double()
        scores = torch.where(on[..., None], scores, scores.new_zeros(()))
        if not bool(scores.detach().amax(dim=-1).isfinite().all()):
            raise StructureError(
                "emissions must be finite, or minus infinity where a tag is forbidden; not all of a place"
            )
        parts = scores, self.transitions, self.start_transitions, self.end_transitions
        emissions, *parameters = (
            _without_gradient_where_forbidden(part.double()) for part in parts
        )
        return Chains(emissions, on, *parameters)

    def _by_steps(self, array: torch.Tensor) -> torch.Tensor:
        return array.transpose(0, 1) if self.batch_first else array

    def _mask(self, mask: torch.Tensor | None, emissions: torch.Tensor) -> torch.Tensor:
        shape = emissions.shape[:2]
        if mask is None:
            return emissions.new_ones(shape, dtype=torch.bool)
        if not _is_tensor(mask) or mask.shape != shape:
            found = list(mask.shape) if _is_tensor(mask) else shortened(mask)
            raise StructureError(f"mask must be a tensor {list(shape)}; got {found}")
        mask = mask.to(emissions.device).bool()
        steps = self._by_steps(mask)
        if not bool(steps[0].all()) or bool((steps[1:] & ~steps[:-1]).any()):
            raise StructureError(
                "mask must be true from the first place of each chain up to its end, without holes"
            )
        return mask

    def _tags(self, tags: torch.Tensor, emissions: torch.Tensor, on: torch.Tensor) -> torch.Tensor:
        """`[length, batch]`, zeros beyond the mask."""
        whole = _is_tensor(tags) and not (tags.is_floating_point() or tags.is_complex())
        if not whole or tags.shape != emissions.shape[:2]:
            found = f"{tags.dtype} {list(tags.shape)}" if _is_tensor(tags) else shortened(tags)
            raise StructureError(f"tags must be integers {list(emissions.shape[:2])}; got {found}")
        steps = self._by_steps(tags.to(emissions.device))[: len(on)].long()
        steps = torch.where(on, steps, steps.new_zeros(()))
        if bool(((steps < 0) | (steps >= self.num_tags)).any()):
            raise StructureError(
                f"tags must be from 0 to {self.num_tags - 1} where the mask is true"
            )
        return steps


def _is_tensor(given: object) -> bool:
    return isinstance(given, torch.Tensor) and is_dense(given)


def _log_partition(chains: Chains) -> torch.Tensor:
    """Return log Z `[batch]`.

    Raises:
        StructureError: all tags of a chain are forbidden.
    """
    total = chains.log_partition()
    _refuse_impossible(total.detach(), BELOW / 2)
    return total


def _refuse_impossible(scores: torch.Tensor, limit: float) -> None:
    """Raise where the score of a chain is at most a limit, which says that it has no allowed tags."""
    impossible = scores <= limit
    if bool(impossible.any()):
        raise StructureError(
            f"chain {int(impossible.nonzero()[0])} has no allowed tags: minus infinity in emissions and parameters "
            "forbids all of them; allow more transitions"
        )


def _without_gradient_where_forbidden(part: torch.Tensor) -> torch.Tensor:
    return part.masked_fill(part == -torch.inf, -torch.inf)


def _penalised(chains: Chains) -> Chains:
    """Return chains with finite parameters, of which a forbidden one costs more than all others can gain."""
    parts = chains.emissions, chains.transitions, chains.start, chains.end
    largest = [torch.where(part.isfinite(), part, 0.0).abs().amax() for part in parts]
    fill = -2 * len(chains.mask) * torch.stack(largest).sum() - 1
    parameters = (torch.where(part == -torch.inf, fill, part) for part in parts[1:])
    return Chains(chains.emissions, chains.mask, *parameters)


def _problem_of(chains: Chains) -> LabelProblem[torch.Tensor]:
    """The chains as one batch: beyond its end, a chain has no scores."""
    unary = chains.emissions.clone()
    unary[0] += chains.start
    last, each = chains.mask.sum(dim=0) - 1, torch.arange(unary.shape[1], device=unary.device)
    unary[last, each] += chains.end
    unary = unary.transpose(0, 1)
    length = unary.shape[1]
    if length == 1:
        return LabelProblem.from_arrays(unary)
    edges = np.stack([np.arange(length - 1), np.arange(1, length)], axis=1)
    problem = LabelProblem.from_arrays(unary, chains.transitions, edges=edges)
    if bool(chains.mask.all()):
        return problem
    on = chains.mask[1:].T.to(unary)
    return replace(problem, weights=on if isinstance(problem.unary, torch.Tensor) else on.numpy())
