"""The autoregressive prior over bits, categories and vectors of labels."""

from __future__ import annotations

import torch
from torch.nn.functional import softplus

from ..errors import SettingError
from ..potentials import LatentSpace
from ..shapes import Binary, Costs
from ..states import codes_of
from .causal import CausalNetwork
from .prior import Prior


class AutoregressivePrior(Prior):
    """An autoregressive prior p(z) = prod_v p(z_v | z_1, ..., z_{v-1}), by a causal network.

    log p of a state is exact, in one pass of the network. Samples are exact too, drawn variable by
    variable. It starts uniform. KL(q || p) to a posterior q is that to the uniform prior, which is
    exact where q has sums, plus a mean over samples of q: see `structured_vae.elbo_recipe`.

    Args:
        network: gives the logits of each variable from those before it.
        name: the key under which `PRIORS` makes such a prior.
        categorical: whether the variables are one-hot vectors of `network.width` values.

    Example:
        >>> from models.priors import CausalLinear
        >>> prior = AutoregressivePrior(CausalLinear(3, 1), "linear")
        >>> prior.log_prob(torch.ones(3))  # 3 log 2 at first
        tensor(-2.0794, grad_fn=<SumBackward1>)
        >>> prior.sample(2, torch.Generator().manual_seed(0)).shape
        torch.Size([2, 3])
    """

    def __init__(self, network: CausalNetwork, name: str, categorical: bool = False):
        super().__init__()
        self.network = network
        self.name = name
        self.categorical = categorical

    def check(self, n: int, variables: int, categorical: bool) -> None:
        """Raise unless the states have as many variables, of the same width."""
        network = self.network
        same = network.variables == variables and network.variables * network.width == n
        if categorical == self.categorical and same:
            return
        raise SettingError(
            f"the autoregressive prior is of {network.variables} variables of {network.width} "
            f"entries, and the encoder has n = {n} of {variables} variables; they must agree"
        )

    def log_prob(self, z: Binary) -> Costs:
        """Return log p(z) `[...]` of states `z [..., n]` in nats, differentiable also in z."""
        logits: torch.Tensor = self.network(z)
        if not self.categorical:
            return (z * logits - softplus(logits)).sum(dim=-1)
        shape = (*z.shape[:-1], self.network.variables, self.network.width)
        log_values = logits.reshape(shape).log_softmax(dim=-1).reshape(z.shape)
        return (z * log_values).sum(dim=-1)

    @torch.no_grad()
    def sample(
        self, count: int, generator: torch.Generator, space: LatentSpace | None = None
    ) -> Binary:
        """Return exact samples `[count, n]`, drawn variable by variable, without gradient.

        Args:
            count: number of samples.
            generator: on the device of the prior.
            space: must be None, for all states.

        Raises:
            SettingError: a space is passed; the network cannot be restricted to its states.
        """
        if space is not None:
            raise SettingError(f"an autoregressive prior is over all states, and not over {space}")

        def draw(logits: torch.Tensor) -> torch.Tensor:
            if not self.categorical:
                return torch.bernoulli(logits.sigmoid(), generator=generator)
            places = torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)
            return codes_of(places, self.network.width).to(logits.dtype)

        return self.network.variable_by_variable(count, draw)
