"""Sums over the labellings of chains of different lengths in one batch, by the forward algorithm.

score(x) = start[x_1] + sum_t emissions[t, x_t] + sum_t transitions[x_t, x_(t+1)] + end[x_length].

The forward algorithm is a matrix product a step: what it carries is a probability vector, and the
logarithms of what it was divided by add up. Transitions are first divided by their largest in each
column, which goes to the emissions, so that products lie between exp(-spread) and 1, where spread
is the most by which two entries of a column differ. Whatever the emissions are, what underflows
then could not have come back: two labels at a step differ by a factor of exp(spread) at most in the
weight of all that follows. Beyond `LARGEST_SPREAD` sums are taken of logarithms.

References:
    Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech
    recognition, section V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from models.traced import is_traced, is_transformed

from ...autograd_context import autograd_allowed

LARGEST_SPREAD: Final = 300.0
"""Largest spread, in nats, for sums of probabilities.

A product of two factors is then at least exp(-600), about 1e-261; the least float64 is 1e-308.
"""

BELOW: Final = -1e200
"""The value used as minus infinity where logarithms are subtracted."""


@dataclass(frozen=True, eq=False)
class Chains:
    """The scores of a batch of chains, float64.

    Attributes:
        emissions: `[length, batch, k]`.
        mask: `[length, batch]`, true up to the end of each chain, at the first place always.
        transitions: `[k, k]`, from rows to columns.
        start: `[k]`.
        end: `[k]`.
    """

    emissions: torch.Tensor
    mask: torch.Tensor
    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor

    def log_partition(self) -> torch.Tensor:
        """Return log Z `[batch]` in nats, differentiable any number of times."""
        scores = self.emissions, self.transitions, self.start, self.end
        total: torch.Tensor
        if is_transformed():
            return by_logarithms(self.emissions, self.transitions, self.start, self.end, self.mask)
        if torch.compiler.is_compiling():
            total = _log_partition(*scores, self.mask)
            return total
        total = _LogPartition.apply(*scores, self.mask)  # type: ignore[no-untyped-call]  # torch's
        return total

    def marginals(self) -> torch.Tensor:
        """Return the probabilities of labels `[length, batch, k]`, for code that is traced."""
        scores = self.emissions, self.transitions, self.start, self.end
        marginals: torch.Tensor
        if torch.compiler.is_compiling():
            ones = self.emissions.new_ones(self.emissions.shape[1])
            marginals = _gradients(*scores, self.mask, ones)[0]
            return marginals
        gradient = torch.func.grad(lambda *every: by_logarithms(*every).sum())
        marginals = gradient(*scores, self.mask)
        return marginals

    def score(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the score `[batch]` of labels `[length, batch]`, differentiable."""
        emitted = self.emissions.gather(-1, labels[..., None])[..., 0]
        steps = self.transitions[labels[:-1], labels[1:]]
        last = labels.gather(0, self.mask.sum(dim=0, keepdim=True) - 1)[0]
        zero = emitted.new_zeros(())
        of_labels = torch.where(self.mask, emitted, zero).sum(dim=0)
        of_steps = torch.where(self.mask[1:], steps, zero).sum(dim=0)
        return of_labels + of_steps + self.start[labels[0]] + self.end[last]

    def pair_marginals(self, differentiable: bool) -> torch.Tensor:
        """Return P(x_t = a, x_(t+1) = b), `[length - 1, batch, k, k]`, 0 beyond the ends.

        They are the gradient of log Z in scores of single steps.

        Args:
            differentiable: whether the probabilities have a gradient.
        """
        length, batch, k = self.emissions.shape
        if length == 1:
            return self.emissions.new_zeros((0, batch, k, k))
        steps = self.emissions.new_zeros((length - 1, batch, k, k))
        if is_traced():
            gradient = torch.func.grad(self._log_partition_of_steps)
            marginals: torch.Tensor = gradient(steps)
            return marginals
        steps.requires_grad_()
        with torch.enable_grad():
            total = self._log_partition_of_steps(steps)
            (marginals,) = torch.autograd.grad(total, steps, create_graph=differentiable)
        return marginals

    def _log_partition_of_steps(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the sum of log Z with further scores of steps, `[length - 1, batch, k, k]`."""
        tables = self.transitions + steps
        return by_logarithms(self.emissions, tables, self.start, self.end, self.mask).sum()

    def expected_score(self, marginals: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
        """Return the expected score `[batch]` under a distribution of labels, differentiable.

        Args:
            marginals: `[length, batch, k]`, the probability of each label.
            pairs: `[length - 1, batch, k, k]`, those of two neighbouring labels; 0 beyond the ends.
        """
        last = self.mask.sum(dim=0) - 1
        of_last = marginals[last, torch.arange(len(last), device=last.device)]
        emitted = weighted(self.emissions, marginals * self.mask[..., None]).sum(dim=(0, 2))
        steps = weighted(self.transitions, pairs).sum(dim=(0, 2, 3))
        ends = weighted(self.start, marginals[0]) + weighted(self.end, of_last)
        return emitted + steps + ends.sum(dim=-1)


def weighted(scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the products of scores and weights, which are 0 at weight 0 whatever the score."""
    return torch.where(weights > 0, scores * weights, 0.0)


def by_logarithms(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """Return log Z `[batch]` for scores of any range, from operations that torch differentiates.

    Args:
        emissions: `[length, batch, k]`.
        transitions: `[k, k]`, or `[length - 1, batch, k, k]`.
        start: `[k]`.
        end: `[k]`.
        mask: `[length, batch]`, true up to the end of each chain.
    """
    emissions = emissions.clamp_min(BELOW)
    transitions = transitions.clamp_min(BELOW)
    end = end.clamp_min(BELOW)
    total = start.clamp_min(BELOW) + emissions[0]
    if transitions.ndim == 2:
        transitions = transitions.expand(len(emissions) - 1, 1, -1, -1)
    for scores, table, on in zip(emissions[1:], transitions, mask[1:], strict=True):
        further = torch.logsumexp(total[:, :, None] + table, dim=1) + scores
        total = torch.where(on[:, None], further, total)
    return torch.logsumexp(total + end, dim=-1)


class _LogPartition(torch.autograd.Function):
    """Log Z, with the backward algorithm as its backward pass.

    Where scores differ too much for it, the backward pass is that of `by_logarithms`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        emissions: torch.Tensor,
        transitions: torch.Tensor,
        start: torch.Tensor,
        end: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        ctx.save_for_backward(emissions, transitions, start, end, mask)
        ctx.sums = _Forward.of(emissions, transitions, start, end, mask)
        if ctx.sums is None:
            return by_logarithms(emissions, transitions, start, end, mask)
        total: torch.Tensor = ctx.sums.log_partition
        return total

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *scores, mask = ctx.saved_tensors
        again = torch.is_grad_enabled()
        if ctx.sums is not None and not again:
            return *ctx.sums.gradients(gradient, mask), None
        # A second derivative is asked for, or probabilities would underflow: torch differentiates
        # the sums of logarithms.
        with torch.enable_grad():
            inputs = scores
            if not again:
                inputs = [score.detach().requires_grad_() for score in scores]
            needed = [score for score in inputs if score.requires_grad]
            emissions, transitions, start, end = inputs
            total = (by_logarithms(emissions, transitions, start, end, mask) * gradient).sum()
            gradients = torch.autograd.grad(total, needed, create_graph=again, allow_unused=True)
        remaining = iter(gradients)
        by_input = [next(remaining) if score.requires_grad else None for score in inputs]
        return *by_input, None


@torch.library.custom_op("structured_vae::chain_log_partition", mutates_args=())
def _log_partition(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """Return log Z `[batch]`, by an operator that torch does not compile."""
    return Chains(emissions, mask, transitions, start, end).log_partition().clone()


@_log_partition.register_fake
def _(emissions: torch.Tensor, *_others: torch.Tensor) -> torch.Tensor:
    return emissions.new_empty(emissions.shape[1])


@torch.library.custom_op("structured_vae::chain_gradients", mutates_args=())
def _gradients(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
    gradient: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of `gradient [batch]` times log Z in the four kinds of scores."""
    with autograd_allowed():
        inputs = [_leaf(scores) for scores in (emissions, transitions, start, end)]
        free = Chains(inputs[0], mask, *inputs[1:])
        first, second, third, fourth = torch.autograd.grad(
            (free.log_partition() * gradient.detach()).sum(), inputs
        )
    return first.clone(), second.clone(), third.clone(), fourth.clone()


@_gradients.register_fake
def _(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return _empty(inputs[:4])


@torch.library.custom_op("structured_vae::chain_second_derivative", mutates_args=())
def _second_derivative(
    emissions: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    mask: torch.Tensor,
    gradient: torch.Tensor,
    directions: list[torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of `directions` times the result of `_gradients`, in its inputs."""
    with autograd_allowed():
        inputs = [_leaf(scores) for scores in (emissions, transitions, start, end)]
        weights = _leaf(gradient)
        log_z: Any = by_logarithms(*inputs, mask.detach())  # type: ignore[call-arg]  # of four
        total = (log_z * weights).sum()
        gradients = torch.autograd.grad(total, inputs, create_graph=True)
        along = zip(gradients, directions, strict=True)
        product = torch.stack([(value * way.detach()).sum() for value, way in along]).sum()
        first, second, third, fourth, fifth = torch.autograd.grad(product, [*inputs, weights])
    return first.clone(), second.clone(), third.clone(), fourth.clone(), fifth.clone()


@_second_derivative.register_fake
def _(*inputs: Any) -> tuple[torch.Tensor, ...]:
    *scores, _mask, gradient, _directions = inputs
    return _empty([*scores, gradient])


def _empty(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Return tensors of the same shapes, for code that is compiled."""
    return tuple(tensor.new_empty(tensor.shape) for tensor in tensors)


def _leaf(scores: torch.Tensor) -> torch.Tensor:
    return scores.detach().clone().requires_grad_()


def _keep(ctx: Any, inputs: tuple[torch.Tensor, ...], output: object) -> None:
    ctx.save_for_backward(*inputs)


def _log_partition_backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    return *_gradients(*ctx.saved_tensors, gradient), None


def _gradients_backward(ctx: Any, *directions: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    *scores, weights = _second_derivative(*ctx.saved_tensors, list(directions))
    return *scores, None, weights


_log_partition.register_autograd(_log_partition_backward, setup_context=_keep)
_gradients.register_autograd(_gradients_backward, setup_context=_keep)


@dataclass(frozen=True, eq=False)
class _Forward:
    """The quantities that the forward pass keeps for the backward pass.

    Attributes:
        log_partition: `[batch]`.
        prefixes: `[length, batch, k]`, of each step the probabilities of its label given what came
            before.
        weights: `[length, batch, k]`, exp(emissions), the largest being 1, with what columns were
            divided by.
        factors: `[k, k]`, exp(transitions), the largest of each column being 1.
        last: `[k]`, exp(end), the largest being 1.
    """

    log_partition: torch.Tensor
    prefixes: torch.Tensor
    weights: torch.Tensor
    factors: torch.Tensor
    last: torch.Tensor

    @classmethod
    def of(
        cls,
        emissions: torch.Tensor,
        transitions: torch.Tensor,
        start: torch.Tensor,
        end: torch.Tensor,
        mask: torch.Tensor,
    ) -> _Forward | None:
        """Run the forward algorithm; return None where scores differ too much for it."""
        columns = transitions.amax(dim=0)
        spread = torch.maximum((columns - transitions.amin(dim=0)).amax(), end.amax() - end.amin())
        if not bool(spread <= LARGEST_SPREAD):
            return None
        weights = emissions + columns
        weights[0] = emissions[0] + start
        peaks = weights.amax(dim=-1, keepdim=True)
        if not bool(torch.isfinite(peaks).all()):
            return None
        weights.sub_(peaks).exp_()
        factors = (transitions - columns).exp()
        last = (end - end.amax()).exp()
        prefixes, norms = _forward(weights, factors, mask)
        finish = prefixes[-1] @ last
        steps = torch.where(mask, norms.log() + peaks[..., 0], norms.new_zeros(())).sum(dim=0)
        return cls(steps + finish.log() + end.amax(), prefixes, weights, factors, last)

    def gradients(self, gradient: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the gradients of the four kinds of scores, of `gradient [batch]` times log Z."""
        suffixes, after = _backward(self.weights, self.factors, self.last, mask)
        joint = self.prefixes * suffixes
        norms = joint.sum(dim=-1, keepdim=True)
        marginals = joint.div_(norms).mul_(gradient[:, None])
        last = marginals[-1].sum(dim=0)  # beyond its end, a chain repeats its last label
        on = mask[..., None].to(marginals)
        k = len(self.factors)
        follow = after.mul_(gradient[:, None] * on[1:] / norms[:-1])
        pairs = self.factors * (self.prefixes[:-1].reshape(-1, k).T @ follow.reshape(-1, k))
        return marginals.mul_(on), pairs, marginals[0].sum(dim=0), last


def _forward(
    weights: torch.Tensor, factors: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the prefixes `[length, batch, k]` and their divisors `[length, batch]`."""
    prefixes = torch.empty_like(weights)
    norms = weights.new_empty(weights.shape[:2])
    before = weights[0]
    whole = mask.all(dim=1).tolist()
    steps = zip(weights, prefixes, norms[..., None], strict=True)
    for step, (weight, prefix, norm) in enumerate(steps):
        if step:
            before = torch.mul(torch.mm(before, factors), weight)
        torch.sum(before, dim=-1, keepdim=True, out=norm)
        torch.div(before, norm, out=prefix)
        if not whole[step]:
            prefix.copy_(torch.where(mask[step][:, None], prefix, prefixes[step - 1]))
        before = prefix
    return prefixes, norms


def _backward(
    weights: torch.Tensor, factors: torch.Tensor, last: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the weights of what follows each label, and of what follows each step.

    Returns:
        `[length, batch, k]`, the weight of what follows a label, the largest being 1; and
        `[length - 1, batch, k]`, the weight of what follows a step, including the label that it
        leads to, in units of the suffix before.
    """
    suffixes = torch.empty_like(weights)
    after = torch.empty_like(weights[1:])
    suffixes[-1] = last
    whole = mask.all(dim=1).tolist()
    turned = factors.T.contiguous()
    for step in range(len(after) - 1, -1, -1):
        follow = after[step]
        suffix = suffixes[step]
        torch.mul(weights[step + 1], suffixes[step + 1], out=follow)
        torch.mm(follow, turned, out=suffix)
        scale = suffix.amax(dim=-1, keepdim=True)
        suffix.div_(scale)
        follow.div_(scale)
        if not whole[step + 1]:
            suffix.copy_(torch.where(mask[step + 1][:, None], suffix, last))
    return suffixes, after
