"""The conditional random field over chains, for sequence tagging."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import torch
from torch import nn

from models.traced import holds, is_traced
from solvers import Solution

from ..autograd.contexts import gradients_allowed, of_autograd
from ..autograd.recording import between_graphs, construct_between_graphs, refuse_recording
from ..autograd.transforms import refuse_transforms
from ..errors import StructureError, shortened
from ..spaces.checks.batches import positive_integer
from ..spaces.sums.chain_sums import Chains
from .chain_checks import check_emissions, mask_of, require_blocks, restricted
from .chain_parameters import (
    FORBIDDEN_BY_RULES,
    check_parameters,
    forbidden_by,
    parameter_scores,
    without_gradient_where_forbidden,
)
from .chain_positions import PADDING, Positions
from .chain_solution import best_tags, possible_log_partition
from .chain_targets import score_of_target, target_of_steps, uniform_score
from .empty import empty_solution
from .random_field import RandomField
from .reductions import Reduction, check_reduction, reduced
from .tag_rules import TagRules
from .targets import check_target, instance_weights, smoothing_of

INITIAL: Final = 0.1
"""Maximum absolute value of an initial parameter."""

MOST_TAGS: Final = 1 << 15
"""Maximum number of tags; a transition table of more takes gigabytes."""


class LinearChainCRF(RandomField):
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
        rules: which tags may follow each other, such as `tag_rules(tags, "BIO")`; None for all.
            They are no parameters, so a state dict does not hold them.

    Raises:
        StructureError: `num_tags` is not an integer in this range, or the rules are for another
            number of tags.

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

    _forbidden_transitions: torch.Tensor | None
    _forbidden_start: torch.Tensor | None
    _forbidden_end: torch.Tensor | None

    def __init__(self, num_tags: int, batch_first: bool = False, rules: TagRules | None = None):
        construct_between_graphs()
        super().__init__()
        self.num_tags = positive_integer(num_tags, "num_tags")
        if self.num_tags > MOST_TAGS:
            raise StructureError(f"num_tags must be at most {MOST_TAGS}; got {shortened(num_tags)}")
        self.batch_first = _checked_switch(batch_first, "batch_first")
        self.start_transitions = nn.Parameter(torch.empty(self.num_tags))
        self.end_transitions = nn.Parameter(torch.empty(self.num_tags))
        self.transitions = nn.Parameter(torch.empty(self.num_tags, self.num_tags))
        for name in FORBIDDEN_BY_RULES:
            buffer = f"_forbidden_{name}"
            if rules is None:
                self.register_buffer(buffer, None, persistent=False)
                continue
            forbidden = forbidden_by(rules, name, self.num_tags)
            self.register_constant(buffer, partial(torch.from_numpy, forbidden))
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
        *,
        sample_weight: torch.Tensor | None = None,
        class_weight: torch.Tensor | None = None,
        label_smoothing: float = 0.0,
    ) -> torch.Tensor:
        """Return the log likelihood of tags in nats, differentiable; training maximises it.

        Tags may be known in part. Booleans are sets of possible tags: the result is then the log
        probability of all tags that the sets allow together. Probabilities are soft labels, which
        are independent at each position: the result is then the expected log likelihood.

        Args:
            emissions: `[batch, length, k]` if `batch_first`, else `[length, batch, k]`.
            tags: `[batch, length]` or `[length, batch]`, from 0 to k - 1; or in the shape of the
                emissions booleans, True for a possible tag, or probabilities. Ignored where the
                mask is False.
            mask: boolean, True at the positions of each chain, which are one block of at least one;
                padding may be on either side. None if all chains have full length.
            reduction: "none" for `[batch]`; "sum"; "mean", over chains; or "token_mean", the sum
                divided by the number of tags. With weights, means are weighted means.
            sample_weight: `[batch]`, finite and not negative, the weight of each chain.
            class_weight: `[k]`, finite and not negative: a chain has the mean weight of its tags.
            label_smoothing: from 0 to less than 1, the share of the uniform distribution over all
                allowed tags of a chain in the target.

        Raises:
            StructureError: shapes do not match, a tag is out of range, a set of tags is empty,
                probabilities do not add up to 1, the mask has holes or an empty chain, an emission
                is nan or plus infinity, all tags of a position or of a chain are forbidden, a
                parameter is nan or plus infinity, or `reduction` has another value.
            ConfigError: a weight is out of range, or `label_smoothing` is.
        """
        check_reduction(reduction)
        share = smoothing_of(label_smoothing)
        chains, positions = self._batch(emissions, mask)
        check_target(tags, tuple(emissions.shape[:2]), self.num_tags, "tags")
        steps = self._by_steps(tags.to(emissions.device))
        target = target_of_steps(steps, positions, self.num_tags)
        score = score_of_target(chains, target)
        if share:
            score = (1 - share) * score + share * uniform_score(chains)
        log_p = score - possible_log_partition(chains)
        weights = instance_weights(target, self.num_tags, chains.mask, sample_weight, class_weight)
        tokens = chains.mask.sum(dim=0)
        return reduced(log_p, reduction, tokens, weights).to(emissions.dtype)

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
        return possible_log_partition(self._batch(emissions, mask)[0]).to(emissions.dtype)

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
            return self._traced_marginals(emissions, mask)
        check_emissions(emissions, self.num_tags, self.batch_first)
        differentiable = self._learns(emissions)
        # The marginals are the gradient of log Z in the emissions.
        with gradients_allowed():
            emissions = of_autograd(emissions)
            if mask is not None:
                mask = of_autograd(mask)
            if not emissions.requires_grad:
                emissions = emissions.detach().requires_grad_()
            total = possible_log_partition(self._batch(emissions, mask)[0]).sum()
            (marginals,) = torch.autograd.grad(total, emissions, create_graph=differentiable)
        return marginals

    def pair_marginals(
        self, emissions: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the marginals P(t_i = a, t_(i+1) = b), differentiable.

        They are `[batch, length - 1, k, k]` if `batch_first`, else `[length - 1, batch, k, k]`, and
        0 where one of the two positions is masked.

        Args:
            emissions: as in `forward`.
            mask: as in `forward`.

        Raises:
            StructureError: as in `forward`.
        """
        chains, positions = self._batch(emissions, mask)
        possible_log_partition(chains)  # raises where all tags are forbidden
        marginals = chains.pair_marginals(self._learns(emissions))
        length = len(self._by_steps(emissions))
        marginals = positions.to_places(marginals, length - 1)
        return self._by_steps(marginals).to(emissions.dtype)

    def parameter_scores(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the scores of transitions `[k, k]`, first tags `[k]` and last tags `[k]`, float64.

        They are the parameters, with minus infinity where the rules forbid; differentiable.
        """
        return (
            parameter_scores(self.transitions, self._forbidden_transitions),
            parameter_scores(self.start_transitions, self._forbidden_start),
            parameter_scores(self.end_transitions, self._forbidden_end),
        )

    @between_graphs
    def decode(
        self,
        emissions: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        fix: torch.Tensor | None = None,
        allowed: torch.Tensor | None = None,
    ) -> list[list[int]]:
        """Return the best tags of each chain, as lists without padding.

        Args:
            emissions: as in `forward`.
            mask: as in `forward`.
            fix: as in `solve`.
            allowed: as in `solve`.

        Raises:
            StructureError: as in `solve`.
        """
        tags = self.solve(emissions, mask, fix=fix, allowed=allowed).labels.tolist()
        if mask is None:
            return tags
        return [[tag for tag in chain if tag != PADDING] for chain in tags]

    @between_graphs
    def solve(
        self,
        emissions: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        k_best: int | None = None,
        fix: torch.Tensor | None = None,
        allowed: torch.Tensor | None = None,
    ) -> Solution[torch.Tensor]:
        """Return the best tags with their score and optimality certificate, without gradient.

        Args:
            emissions: as in `forward`.
            mask: as in `forward`.
            k_best: how many of the best sequences of tags to return, in falling order of their
                scores; None for the best alone.
            fix: integers in the shape of `tags`, the tag of a position, or -1 where it is free.
            allowed: booleans in the shape of the emissions, False where a tag is forbidden.

        Returns:
            the solution: `labels` `[batch, length]` for either value of `batch_first`, -1 where the
            mask is False; `score`, `bound` and `optimal` `[batch]`. With `k_best` one more
            dimension follows the batch. Rows beyond the last allowed sequence hold -1, with a score
            and a bound of minus infinity.

        Raises:
            StructureError: as in `forward`; or `fix` or `allowed` has another form, or they forbid
                all tags of a chain.
        """
        refuse_transforms(f"{type(self).__name__}.solve", "call it outside of torch.func")
        with torch.no_grad():
            check_emissions(emissions, self.num_tags, self.batch_first)
            emissions = restricted(emissions, fix, allowed)
            chains, positions = self._batch(emissions, mask)
            if not chains.mask.shape[1]:
                return empty_solution(len(chains.mask), emissions, k_best)
            return best_tags(chains, positions, len(self._by_steps(emissions)), k_best)

    def _traced_marginals(self, emissions: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the marginals in code that is traced, which `torch.autograd.grad` cannot enter."""
        chains, positions = self._batch(emissions, mask)
        possible_log_partition(chains)  # raises where all tags are forbidden
        marginals = chains.marginals()
        marginals = positions.to_places(marginals, len(self._by_steps(emissions)))
        return self._by_steps(marginals).to(emissions.dtype)

    def _learns(self, emissions: torch.Tensor) -> bool:
        learns = emissions.requires_grad or any(p.requires_grad for p in self.parameters())
        return torch.is_grad_enabled() and learns

    def _batch(
        self, emissions: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[Chains, Positions]:
        """Check the scores; return the chains without masked positions, and their places."""
        refuse_recording(self)
        check_emissions(emissions, self.num_tags, self.batch_first)
        self.check_stored()
        check_parameters(self.parameters())
        on = self._by_steps(mask_of(mask, emissions))
        if mask is not None:
            require_blocks(on)
        positions = Positions.of(on, is_full=mask is None)
        on = positions.on
        scores = positions.to_start(self._by_steps(emissions).double())
        # Masked positions may hold anything, even NaN, which must not reach the sums.
        scores = torch.where(on[..., None], scores, scores.new_zeros(()))
        if not holds(scores.detach().amax(dim=-1).isfinite()):
            raise StructureError(
                "emissions must be finite, or minus infinity where a tag is forbidden; at least "
                "one tag of each position must be allowed"
            )
        chains = Chains(
            without_gradient_where_forbidden(scores),
            on,
            *self.parameter_scores(),
        )
        return chains, positions

    def _by_steps(self, array: torch.Tensor) -> torch.Tensor:
        if self.batch_first:
            return array.transpose(0, 1)
        return array


def _checked_switch(value: object, name: str) -> bool:
    """Return an argument that is true or false.

    Raises:
        StructureError: it is something else.
    """
    if isinstance(value, bool | int | np.bool_) and value in (0, 1):
        return bool(value)
    raise StructureError(f"{name} must be True or False; got {shortened(value)}")
