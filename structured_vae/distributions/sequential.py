"""The base of distributions of bits in which each bit depends on the bits before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch.nn.functional import logsigmoid, pad, softplus

from models.potentials import AnyPotentials

from ..autograd.transforms import writable_zeros
from ..errors import ConfigError
from ..noise import check_draw, random_numbers
from ..spaces import StateSpace, space_of
from ..spaces.completions import BitCompletions, drawn_variables
from .distribution import Moments
from .kl import KL, kl_ceiling
from .without_replacement import refuse_too_many, stochastic_beam_search


@dataclass(frozen=True, eq=False)
class SequentialBits(ABC):
    """A distribution q(z) = prod_j q(z_j | z_1, ..., z_{j-1}) over all states of n bits.

    A subclass defines `logits`, which says how a bit depends on the bits before it. Density,
    samples, completions and the sampled KL follow from the logits. A subclass may also override
    `logit` and `flip_log_ratios` by faster ways.

    Attributes:
        potentials: the scores h of the images, which the logits are made of.

    Raises:
        ConfigError: h has categories, or a space of states.

    Example:
        >>> from models import Potentials
        >>> class Sticky(SequentialBits):
        ...     \"\"\"A bit is more probable after a one.\"\"\"
        ...
        ...     def logits(self, z):
        ...         return self.potentials.unary + torch.nn.functional.pad(z, (1, 0))[..., :-1]
        >>> Sticky(Potentials(torch.zeros(1, 2))).log_prob(torch.ones(1, 2)).exp()  # 1/2 sigmoid(1)
        tensor([0.3655])
    """

    potentials: AnyPotentials

    def __post_init__(self) -> None:
        if reasons := self.why_not(self.potentials):
            raise ConfigError("; ".join(reasons))

    @abstractmethod
    def logits(self, z: torch.Tensor) -> torch.Tensor:
        """Return the logit `[..., batch, n]` of each bit, given the bits before it.

        Args:
            z: `[..., batch, n]`. The logit of bit j must not depend on bit j and later bits.
        """

    def logit(self, j: int, z: torch.Tensor) -> torch.Tensor:
        """Return the logit `[..., batch]` of bit j.

        Args:
            j: number of the bit.
            z: `[..., batch, >= j]`, states of which only the first j bits count.
        """
        later = self.potentials.unary.shape[-1] - j
        return self.logits(pad(z[..., :j], (0, later)))[..., j]

    @staticmethod
    def why_not(potentials: AnyPotentials) -> tuple[str, ...]:
        """Return the reasons why potentials make no such distribution; empty where they do."""
        space = space_of(potentials)
        if not space.free_flips:
            return (f"an autoregressive posterior is of all states of bits, and not of {space}",)
        return ()

    @property
    def space(self) -> StateSpace:
        """The set of states."""
        return space_of(self.potentials)

    @property
    def tractable(self) -> bool:
        """Whether all sums are exact: False."""
        return False

    @property
    def has_density(self) -> bool:
        """Whether `log_prob` is exact: True."""
        return True

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[batch]` in nats: zero, since every conditional is normalised."""
        return self.potentials.unary.new_zeros(len(self.potentials.unary))

    @property
    def marginals(self) -> Moments:
        """Refuse: the marginals are sums over all states.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "the marginals of an autoregressive distribution are not known: take means of samples"
        )

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q `[..., batch]` of states `z [..., batch, n]`, in nats.

        Raises:
            models.errors.NetworkError: z is not a dense tensor, or its states have another length.
        """
        self.potentials.check_states(z)
        logits = self.logits(z)
        return (z * logits - softplus(logits)).sum(dim=-1)

    def log_prob_of_all(self, states: torch.Tensor) -> torch.Tensor:
        """Return log q `[batch, count]` of every state, listed in `[count, n]`."""
        batch = len(self.potentials.unary)
        return self.log_prob(states[:, None].expand(-1, batch, -1)).mT

    def score(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q `[..., batch]` of states, as specified by `Distribution`."""
        return self.log_prob(z)

    def flip_log_ratios(self, z: torch.Tensor) -> torch.Tensor:
        """Return log q(z with bit i flipped) - log q(z) `[..., batch, n]` of `z [..., batch, n]`.

        It is one density for each bit.
        """
        flips = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
        ratios = [self.log_prob((z - flip).abs()) for flip in flips]
        return torch.stack(ratios, dim=-1) - self.log_prob(z)[..., None]

    def entropy(self) -> torch.Tensor:
        """Refuse: the entropy is a sum over all states.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "the entropy of an autoregressive distribution is not known: take the mean of "
            "-log_prob over samples"
        )

    @torch.no_grad()
    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return exact, independent samples `[samples, batch, n]`, drawn bit by bit.

        Raises:
            ConfigError: an argument has another type, or `samples` is less than 1.
        """
        check_draw(generator, samples)
        unary = self.potentials.unary
        uniforms = random_numbers(
            torch.rand,
            (samples, *unary.shape),
            generator=generator,
            device=unary.device,
            dtype=unary.dtype,
        )
        return self._drawn(uniforms)

    @torch.no_grad()
    def sample_distinct(self, generator: torch.Generator, count: int) -> torch.Tensor:
        """Return states `[count, batch, n]` drawn one after the other without replacement.

        Args:
            generator: a generator on the device of the potentials.
            count: number of states per image, at most the number of all states.

        Raises:
            ConfigError: an argument has another type, or there are not so many states.
        """
        check_draw(generator, count, "count")
        refuse_too_many(count, self.potentials)
        unary = self.potentials.unary
        n = unary.shape[-1]
        return stochastic_beam_search(self._log_conditionals, n, count, generator, unary).to(unary)

    def _log_conditionals(self, prefixes: torch.Tensor) -> torch.Tensor:
        """Return log q `[beams, batch, 2]` of the values of the bit after prefixes."""
        place = prefixes.shape[-1]
        logits = self.logit(place, prefixes.to(self.potentials.unary.dtype)).double()
        return torch.stack([logsigmoid(-logits), logsigmoid(logits)], dim=-1)

    @torch.no_grad()
    def _drawn(self, uniforms: torch.Tensor, flipped: torch.Tensor | None = None) -> torch.Tensor:
        """Return states `[..., batch, n]` from uniform numbers of that shape.

        Bit j is one where its number is below sigmoid of its logit. The bit with number `flipped
        [..., batch]` gets the other value, and bits after it are drawn given that value.
        """
        z = writable_zeros(uniforms, self.potentials.unary, self.potentials.pairwise)
        for j in range(z.shape[-1]):
            bit = (uniforms[..., j] < self.logit(j, z).sigmoid()).to(z.dtype)
            if flipped is not None:
                bit = torch.where(flipped == j, 1 - bit, bit)
            z[..., j] = bit
        return z

    def completions(
        self, generator: torch.Generator, samples: int = 1, count: int | None = None
    ) -> BitCompletions:
        """Return samples, each with other values of single bits.

        Args:
            generator: a generator on the device of the potentials.
            samples: number of draws per image.
            count: how many bits to complete, chosen at random; None for all.

        Raises:
            ConfigError: an argument has another type, or a number is out of range.
        """
        check_draw(generator, samples)
        unary = self.potentials.unary
        uniforms = random_numbers(
            torch.rand,
            (samples, *unary.shape),
            generator=generator,
            device=unary.device,
            dtype=unary.dtype,
        )
        variables = drawn_variables(uniforms, generator, count)
        # Row 0 is the sample; row 1 + k is it with bit k of `variables` flipped.
        flipped = torch.nn.functional.pad(variables.movedim(-1, 1), (0, 0, 1, 0), value=-1)
        m = variables.shape[-1]
        states = self._drawn(uniforms[:, None].expand(-1, 1 + m, -1, -1), flipped)
        z = states[:, 0]
        conditionals = self.logits(z).sigmoid().gather(-1, variables)
        return BitCompletions(z, variables, states[:, 1:], conditionals)

    def kl(self, method: str = "sampled", generator: torch.Generator | None = None) -> KL:
        """Return a mean over one sample of log q(z) less log of the uniform distribution.

        In expectation it is KL(q || uniform).

        Args:
            method: "sampled", the only one.
            generator: draws the sample.

        Raises:
            ConfigError: another method, or no generator.
        """
        if method != "sampled" or generator is None:
            raise ConfigError(
                "the KL of an autoregressive posterior has one method, sampled, which needs a "
                f"generator; got '{method}'"
            )
        return self.tightest_kl(self.sample(generator))

    def tightest_kl(self, z: torch.Tensor | None = None) -> KL:
        """Return the mean over samples of log q(z), less log of the uniform distribution.

        In expectation it is KL(q || uniform). Without samples it is the ceiling, log of the number
        of states.

        Args:
            z: `[samples, batch, n]`, samples of q; None for none.
        """
        ceiling = kl_ceiling(self.potentials)
        if z is None:
            return ceiling
        return KL(ceiling.value + self.log_prob(z).mean(dim=0), "bound")
