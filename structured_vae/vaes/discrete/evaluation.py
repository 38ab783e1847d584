"""Evaluate a model whose latent variables are all discrete, and state how exact each number is.

If all states can be enumerated, -log p(x) and the bound of a Gibbs posterior are exact.
Otherwise they are estimated from samples, and labelled as estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

import torch

from models import DiscreteVAE
from models.networks.decoder import BinaryDecoder, DecodedStates
from models.networks.own_networks import NetworkDecoder, StatesOfNetwork
from models.potentials import AnyPotentials

from ...distributions import Distribution, histogram_kl
from ...distributions.kl import Kind, kl_ceiling, kl_of_unary
from ...distributions.prior import PriorExcess, check_states, excess_of
from ...errors import ConfigError
from ...evaluation.bound import excess_of_unary
from ...evaluation.importance import (
    ImportanceBounds,
    draws_at_once,
    draws_needed,
    importance_columns,
    importance_names,
    importance_quantities,
)
from ...evaluation.quantities import ACTIVE_SHARE, Evaluation, Quantity, average
from ...evaluation.refinement import INDEXED_BITS, refined_bound
from ...objectives.costs import Reconstruction

ENUMERATED_BITS = 16
"""The most states, 2^16, that are enumerated: about 100 images per second of one core."""

ACTIVE_VARIANCE = 0.01
"""Least variance over images of the posterior mean of an active bit (Burda et al., 2016)."""


KINDS: Final[dict[Kind, str]] = {"exact": "exact", "bound": "bound", "neither": "not a bound"}
"""The kind of a quantity, by the kind of the KL that it is."""

SAME_KL: Final = 100
"""Two KLs are the same if they differ by at most so many units of rounding."""


def evaluate(
    vae: DiscreteVAE,
    image_batches: Iterable[tuple[torch.Tensor, ...]],
    posterior: Callable[[AnyPotentials], Distribution],
    generator: torch.Generator,
    samples: int = 1000,
    refine: int = 0,
    importance: Sequence[int] = (),
) -> Evaluation:
    """Evaluate a VAE on images: bound, -log p(x), their gap, KL, and active variables.

    `reconstruction`, `kl`, `bound`, `kl_surrogate`, `bound_surrogate` and `active` are always
    present. `minus_log_p` and `gap` are present if they can be computed. A structured
    perturb-and-MAP posterior adds `gibbs_kl`, `gibbs_reconstruction` and `gibbs_bound`.
    `refined_bound` and `importance_K` are present if they are requested.

    Args:
        vae: the model to evaluate.
        image_batches: batches `(images [batch, pixels], ...)`.
        posterior: makes the distribution of potentials: `Gibbs`, or `PerturbAndMAP` with a solver.
        generator: draws the posterior samples, on the device of the images.
        samples: number of samples per image, for quantities that are not summed exactly.
        refine: number of moves of a search per image that tightens the bound, see
            `refined_bound`; 0 for no search.
        importance: numbers K of samples; each gives an importance-weighted bound. The largest one
            is drawn if it is more than `samples`.

    Raises:
        ConfigError: the posterior is over other states than the prior; importance weights are
            requested of a posterior whose density is not known; or
            refinement of a model of more than 62 bits, of categories, which need none, or over a
            space, whose states a flip of a bit may leave.
        SettingError: the prior is over other states than the model.
    """
    with torch.no_grad():
        view = _View(vae, posterior, generator, samples, refine, tuple(importance))
        check_states(vae, view.probe.potentials)
        view.check_importance()
        view.check_refinement()
        batches = [view.columns(batch[0]) for batch in image_batches]
    # Means over images are taken in float64, whatever the type of the weights.
    columns = {name: torch.cat([batch[name] for batch in batches]).double() for name in batches[0]}
    means = columns.pop("mean_state")
    meanings = view.meanings(bool(columns.pop("surrogate_is_kl").all()))
    names = [name for name in meanings if name in columns]
    quantities = {name: average(columns[name], *meanings[name]) for name in names}
    quantities |= importance_quantities(columns, view.draws, view.importance)
    categories_of = 0
    if vae.categorical:
        categories_of = vae.variables
    active = _active(means, categories_of, meanings["active"][0])
    return Evaluation({**quantities, "active": active}, len(means))


def _active(means: torch.Tensor, categories_of: int, kind: str) -> Quantity:
    """Return the number of bits or categories in use, from the posterior means `[images, n]`."""
    n = means.shape[1]
    if categories_of:
        active = means.mean(dim=0) >= ACTIVE_SHARE * categories_of / n
        return Quantity(int(active.sum()), 0.0, kind, f"categories in use, of {n}")
    active = means.var(dim=0, correction=0) > ACTIVE_VARIANCE
    return Quantity(int(active.sum()), 0.0, kind, f"bits in use, of {n}")


def _is_kl(surrogate: torch.Tensor, q: Distribution) -> torch.Tensor:
    """Return whether a number is the KL of q to the uniform prior, for each image `[batch]`.

    It is, if the potentials have no pairs, the distribution calls its KL exact, and both agree up
    to rounding.
    """
    kl = q.tightest_kl()
    if q.potentials.pairwise is not None or kl.kind != "exact":
        return torch.zeros_like(surrogate, dtype=torch.bool)
    rounding = SAME_KL * torch.finfo(surrogate.dtype).eps
    return (surrogate - kl.value).abs() <= rounding * (1 + kl_ceiling(q.potentials).value)


def _of_sum(kind: str) -> str:
    """Return the kind of the sum of a reconstruction and a KL of some kind."""
    if kind == "not a bound":
        return kind
    return "bound"


@dataclass(frozen=True, eq=False)
class _View:
    """A model with the values that all batches share."""

    vae: DiscreteVAE
    posterior: Callable[[AnyPotentials], Distribution]
    generator: torch.Generator
    samples: int
    refine: int
    importance: tuple[int, ...] = ()

    @property
    def draws(self) -> int:
        """The number of draws per image of a posterior whose density is known."""
        return draws_needed(self.samples, self.importance)

    def check_importance(self) -> None:
        """Raise if importance weights are requested and the density of q is not known.

        Raises:
            ConfigError: importance weights are requested, and the density of q is not known.
        """
        if self.importance and not self.probe.has_density:
            raise ConfigError(
                "importance-weighted bounds need the density of the posterior, which is not known "
                "for an argmax under noise where variables depend on each other: leave importance "
                "out"
            )

    def check_refinement(self) -> None:
        """Raise if moves are requested that this posterior does not take.

        Raises:
            ConfigError: moves are requested, and there are too many bits, categories, or a space.
        """
        space = self.probe.space
        too_many = not space.free_flips or self.vae.n > INDEXED_BITS
        if not self.refine or not too_many:
            return
        latents = f"{self.vae.n} bits"
        if space.categorical:
            latents = "categories"
        elif not space.free_flips:
            latents = f"only the states of {space}, which a flip of a bit may leave"
        raise ConfigError(
            f"a posterior of up to {INDEXED_BITS} bits can be refined, and this one has "
            f"{latents}; set refine to 0"
        )

    def columns(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the columns, `[batch]` each, except `mean_state [batch, n]`."""
        q = self.posterior(self.vae.encoder(x))
        potentials = q.potentials
        table = None
        if self._decoded is not None:
            table = self._decoded.costs(x)
        columns = self._bound_terms(q, table, x)
        columns["bound"] = columns["reconstruction"] + columns["kl"]
        columns["kl_surrogate"] = kl_of_unary(potentials).value
        columns["surrogate_is_kl"] = _is_kl(columns["kl_surrogate"], q)
        if self._prior is not None:
            columns["kl_surrogate"] = columns["kl_surrogate"] + columns.pop("excess_of_unary")
        columns["bound_surrogate"] = columns["reconstruction"] + columns["kl_surrogate"]
        if table is not None:
            joint = table
            if self._prior is not None:
                joint = table + self._prior.table(potentials.states())
            # log p(x) is the logarithm of a mean over all states, each weighted by its prior.
            columns["minus_log_p"] = math.log(table.shape[-1]) - (-joint).logsumexp(dim=-1)
        if "minus_log_p" in columns:
            columns["gap"] = columns["bound"] - columns["minus_log_p"]
        if table is not None and not q.has_density:
            columns |= self._gibbs(potentials, table)
        if self.refine:
            start = q.sample(self.generator)[0]
            decoder = cast("BinaryDecoder | NetworkDecoder", self.vae.decoder)
            columns["refined_bound"] = refined_bound(decoder, x, start, self.refine, self._prior)
        return columns

    def _bound_terms(
        self, q: Distribution, table: torch.Tensor | None, x: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return reconstruction and KL, by sums over states as far as the posterior has them."""
        if q.tractable:
            return self._summed(q, table, x)
        if q.has_density:
            return self._weighted(q, table, x)
        return self._drawn(q, table, x)

    def meanings(self, surrogate_is_kl: bool) -> dict[str, tuple[str, str]]:
        """Return the kind and meaning of every possible column.

        Args:
            surrogate_is_kl: whether the KL of the unary scores is that of q, for all images.
        """
        kl = self._meaning_of_kl()
        surrogate = self._meaning_of_surrogate(surrogate_is_kl)
        gap = "estimate"
        if self._is_summed and kl[0] == "exact":
            gap = "exact"
        active = "sampled"
        if self.probe.tractable:
            active = "exact"
        likelihood = ("bound", f"-log p(x), importance-weighted, {self.samples} samples")
        if self._decoded is not None:
            likelihood = ("exact", "-log p(x), over all states")
        decodes = self.refine * (self.vae.n + 1)
        same_potentials = "the same potentials with a Gibbs posterior"
        return {
            "reconstruction": self._meaning_of_reconstruction(),
            "kl": kl,
            "bound": (_of_sum(kl[0]), "reconstruction + kl, on -log p(x)"),
            "kl_surrogate": surrogate,
            "bound_surrogate": (_of_sum(surrogate[0]), "reconstruction + kl_surrogate"),
            "minus_log_p": likelihood,
            "gap": (gap, "bound less minus_log_p"),
            "active": (active, "in use"),
            "gibbs_reconstruction": ("exact", same_potentials),
            "gibbs_kl": ("exact", same_potentials),
            "gibbs_bound": ("bound", same_potentials),
            "refined_bound": (
                "bound",
                f"by the states that a search of {decodes} decodes an image meets",
            ),
        }

    def _meaning_of_reconstruction(self) -> tuple[str, str]:
        """Return the kind and meaning of the reconstruction."""
        if self._is_summed:
            return ("exact", "over all states")
        draws = self.samples
        if self.probe.has_density:
            draws = self.draws
        return ("sampled", f"{draws} samples")

    def _meaning_of_kl(self) -> tuple[str, str]:
        """Return the kind and meaning of the KL to the prior."""
        name = "KL(q || uniform)"
        if self._prior is not None:
            name = "KL(q || prior)"
        sampled = ("sampled", f"{name}, {self.draws} samples")
        if self.probe.tractable:
            kind = KINDS[self.probe.tightest_kl().kind]
            if kind == "exact" and self._prior_is_sampled:
                return sampled
            return (kind, name)
        if self.probe.has_density:
            return sampled
        return ("bound", f"histogram of {self.samples} samples")

    def _meaning_of_surrogate(self, is_kl: bool) -> tuple[str, str]:
        """Return the kind and meaning of the KL of the unary scores.

        Args:
            is_kl: whether it is the KL of q.
        """
        if is_kl and self._prior_is_sampled:
            return ("sampled", "the same")
        if is_kl:
            return ("exact", "the same")
        if kl_of_unary(self.probe.potentials).kind == "bound":
            return ("bound", "log of the number of states")
        return ("not a bound", "unary scores alone")

    @property
    def _is_summed(self) -> bool:
        """Whether the reconstruction is a sum over all states."""
        return self._decoded is not None and self.probe.tractable

    @property
    def _prior_is_sampled(self) -> bool:
        """Whether the prior's term of the KL is an estimate."""
        return not self._is_summed and self._prior is not None and not self._prior.has_sums

    def _summed(
        self, q: Distribution, table: torch.Tensor | None, x: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return the columns of a posterior whose probabilities are known."""
        if table is not None:
            columns = {"kl": q.tightest_kl().value, "mean_state": q.marginals[0]}
            states = q.potentials.states()
            probabilities = q.log_prob_of_all(states).exp()
            columns["reconstruction"] = (probabilities * table).sum(dim=-1)
            if self._prior is not None:
                excess = self._prior.table(states)
                columns["kl"] = columns["kl"] + (probabilities * excess).sum(dim=-1)
                columns["excess_of_unary"] = self._expected(q.potentials.unary_alone(), excess)
            if self.importance:
                weighted = self._weighted(q, table, x)
                columns |= {name: weighted[name] for name in importance_names(self.importance)}
            return columns
        columns = self._weighted(q, table, x)
        columns |= {"kl": q.tightest_kl().value, "mean_state": q.marginals[0]}
        if self._prior is not None and self._prior.has_sums:
            columns["kl"] = columns["kl"] + self._prior.expected(q)
        elif self._prior is not None:
            columns["kl"] = columns["kl"] + columns["excess"]
        return columns

    def _weighted(
        self, q: Distribution, table: torch.Tensor | None, x: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return the columns of a posterior whose density is known, from samples only."""
        costs = x.new_zeros(len(x))
        excesses = torch.zeros_like(costs)
        densities = torch.zeros_like(costs)
        states = torch.zeros_like(q.potentials.unary)
        bounds = ImportanceBounds({self.samples, *self.importance})
        uniform = kl_ceiling(q.potentials).value
        # Draw and decode as many states at once as fit, and keep only the sums of their weights.
        for draws in draws_at_once(self.draws, x):
            z = q.sample(self.generator, draws)
            cost = self._costs(q.potentials, table, x, z)
            costs += cost.sum(dim=0)
            excess = torch.zeros_like(cost)
            if self._prior is not None:
                excess = self._prior.at(z)
            excesses += excess.sum(dim=0)
            log_q = q.log_prob(z)
            densities += log_q.sum(dim=0)
            states += z.sum(dim=0)
            bounds.add(-cost - excess - log_q - uniform)
        columns = {
            "reconstruction": costs / self.draws,
            "excess": excesses / self.draws,
            "kl": uniform + (densities + excesses) / self.draws,
            "mean_state": states / self.draws,
            "minus_log_p": bounds.values()[self.samples].to(costs),
            **importance_columns(bounds, self.importance),
        }
        if self._prior is not None:
            columns["excess_of_unary"] = excess_of_unary(self._prior, q, z[:1], self.generator)
        return columns

    def _costs(
        self,
        potentials: AnyPotentials,
        table: torch.Tensor | None,
        x: torch.Tensor,
        z: torch.Tensor,
    ) -> torch.Tensor:
        """Return -log p(x | z) `[draws, batch]`, by the table of all states where there is one."""
        if table is None:
            return Reconstruction(self.vae.decoder, x)(z)
        return table.gather(1, potentials.index(z, self._states).T).T

    def _drawn(
        self, q: Distribution, table: torch.Tensor | None, x: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return the columns of perturb-and-MAP; reconstruction and histogram share draws."""
        potentials = q.potentials
        z = q.sample(self.generator, self.samples)
        chunks = torch.split(z, [*draws_at_once(self.samples, x)])
        costs = torch.cat([self._costs(potentials, table, x, chunk) for chunk in chunks])
        kl = histogram_kl(potentials, z).value
        columns = {"reconstruction": costs.mean(dim=0), "kl": kl, "mean_state": z.mean(dim=0)}
        if self._prior is not None:
            columns["kl"] = kl + self._prior.at(z).mean(dim=0)
            columns["excess_of_unary"] = excess_of_unary(self._prior, q, z[:1], self.generator)
        return columns

    def _gibbs(self, potentials: AnyPotentials, table: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the bound that a Gibbs posterior of the same potentials has, by enumeration."""
        states = potentials.states()
        log_q = potentials.table(states).log_softmax(dim=-1)
        to_prior = math.log(len(states)) + log_q
        if self._prior is not None:
            to_prior = to_prior + self._prior.table(states)
        kl = (log_q.exp() * to_prior).sum(dim=-1)
        reconstruction = (log_q.exp() * table).sum(dim=-1)
        return {
            "gibbs_reconstruction": reconstruction,
            "gibbs_kl": kl,
            "gibbs_bound": reconstruction + kl,
        }

    def _expected(self, potentials: AnyPotentials, table: torch.Tensor) -> torch.Tensor:
        """Return the expected cost under the Gibbs distribution, `[batch]`."""
        scores = potentials.table(potentials.states())
        return (scores.softmax(dim=-1) * table).sum(dim=-1)

    @cached_property
    def _prior(self) -> PriorExcess | None:
        return excess_of(self.vae)

    @cached_property
    def _states(self) -> torch.Tensor | None:
        """Return every latent state, if there are not too many."""
        potentials = self.probe.potentials
        if potentials.state_count > 2**ENUMERATED_BITS:
            return None
        return potentials.states()

    @cached_property
    def _decoded(self) -> DecodedStates | StatesOfNetwork | None:
        """Return all states decoded, once for all images."""
        if self._states is None:
            return None
        return self.vae.decoder.decoded(self._states)

    @cached_property
    def probe(self) -> Distribution:
        """Return the posterior of a blank image."""
        return self.posterior(self.vae.blank())
