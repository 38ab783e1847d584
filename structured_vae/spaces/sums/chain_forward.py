"""The forward and backward algorithms over chains, on probabilities.

The forward algorithm is a matrix product a step: what it carries is a probability vector, and the
logarithms of its divisors add up. Transitions are first divided by their largest in each column,
which goes to the emissions, so that products lie between exp(-spread) and 1, where spread is the
largest difference between two entries of a column. Whatever the emissions are, a weight that
underflows then does not matter: two labels at a step differ by a factor of exp(spread) at most in
the weight of all that follows. Beyond `LARGEST_SPREAD` sums are taken of logarithms.

References:
    Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech
    recognition, section V.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

LARGEST_SPREAD: Final = 300.0
"""Largest spread, in nats, for sums of probabilities.

A product of two factors is then at least exp(-600), about 1e-261; the least float64 is 1e-308.
"""


@dataclass(frozen=True, eq=False)
class ForwardPass:
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
    ) -> ForwardPass | None:
        """Run the forward algorithm; return None where scores differ too much for it."""
        # The largest transition into a label moves to its emission, so that factors are at most 1.
        columns = transitions.amax(dim=0)
        # Beyond this spread a factor exp(-spread) could underflow, and with it all ways to a label.
        spread = torch.maximum((columns - transitions.amin(dim=0)).amax(), end.amax() - end.amin())
        if not bool(spread <= LARGEST_SPREAD):
            return None
        weights = emissions + columns
        # The first label has no transition before it.
        weights[0] = emissions[0] + start
        # The peak of a step is taken out before exp, and added back to log Z below.
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
        marginals = joint.div_(norms) * gradient[:, None]
        last = marginals[-1].sum(dim=0)  # beyond its end, a chain repeats its last label
        on = mask[..., None].to(marginals)
        k = len(self.factors)
        follow = after * (gradient[:, None] * on[1:] / norms[:-1])
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
        # Every step is divided by its sum: products over long chains would underflow.
        torch.sum(before, dim=-1, keepdim=True, out=norm)
        torch.div(before, norm, out=prefix)
        if not whole[step]:
            # Beyond the end of an instance its prefix stays as it is.
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
        # The scale of a suffix cancels in the marginals; without it long chains underflow.
        scale = suffix.amax(dim=-1, keepdim=True)
        suffix.div_(scale)
        follow.div_(scale)
        if not whole[step + 1]:
            suffix.copy_(torch.where(mask[step + 1][:, None], suffix, last))
    return suffixes, after
