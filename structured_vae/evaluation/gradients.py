"""Compare gradient estimators with the exact gradient."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ..distributions import Gibbs
from ..errors import EstimatorError
from ..estimators import Estimator, Exact
from ..objectives.costs import Reconstruction

ROWS = 2000
"""Images times draws that are computed at once."""


@dataclass(frozen=True)
class GradientReport:
    """The bias, variance and time of an estimator of the gradient of E_q[-log p(x | z)].

    The gradient is taken in the potentials. q is their Gibbs distribution, or the density that the
    estimator draws from. The perturb-and-MAP samples of a structured encoder follow another
    distribution, whose gradient differs. The bias then contains that difference.

    Attributes:
        bias: norm of (expected - exact gradient), root mean square over images, less the amount
            that chance adds to a mean of so many draws.
        resolution: the amount that chance adds to the bias before it is subtracted. A bias below it
            is uncertain; the uncertainty falls with the number of coordinates and images.
        deviation: standard deviation of a coordinate, averaged over coordinates and images.
        variance: variance summed over the coordinates, averaged over images.
        cosine: cosine between the means of the draws and the exact gradients, over all images.
        z_score: the largest abs(mean - exact) / standard error of all coordinates and images that
            vary. For an unbiased estimator it exceeds 4.5 about once in 150,000 coordinates. That
            takes enough draws to meet rare states; where q is nearly certain, few draws tell little
            about the mean.
        norm: norm of the exact gradient, root mean square over images.
        microseconds: time of one draw for one image.
        stats: averages of the estimator's `stats`, such as the share "saturated".
        draws: number of draws for each image.
    """

    bias: float
    resolution: float
    deviation: float
    variance: float
    cosine: float
    z_score: float
    norm: float
    microseconds: float
    stats: dict[str, float] = field(hash=False)
    draws: int

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary of plain values."""
        return asdict(self)


def gradient_report(
    vae: DiscreteVAE,
    x: torch.Tensor,
    estimators: Mapping[str, Estimator],
    draws: int,
    generator: torch.Generator,
) -> dict[str, GradientReport]:
    """Return bias, variance and time of each estimator on the same images.

    Args:
        vae: the model; its encoder and decoder do not change.
        x: `[batch, pixels]`; all states are enumerated, so there may be at most 20 bits.
        estimators: the estimators by name.
        draws: number of draws for each image.
        generator: draws the noise, on the device of the images.

    The exact gradient is that of the Gibbs distribution; or of the posterior, for an estimator that
    draws from another density (`Estimator.draw_from`).

    Raises:
        EstimatorError: an estimator cannot take the encoder's potentials.
    """
    potentials = vae.encoder(x).detach()
    reports = {}
    for name, estimator in estimators.items():
        exact = _exact(vae, x, potentials, estimator)
        reports[name] = _report(vae, x, potentials, estimator, draws, generator, exact)
    return reports


def gradient_variance(
    vae: DiscreteVAE, x: torch.Tensor, estimator: Estimator, draws: int, generator: torch.Generator
) -> float:
    """Return the variance of a draw of the gradient of E_q[-log p(x | z)].

    It is summed over the potentials and averaged over images. It needs no exact gradient, so there
    may be any number of variables; it does not show a bias.

    Args:
        vae: the model; its encoder and decoder do not change.
        x: `[batch, pixels]`.
        estimator: an estimator that fits the encoder.
        draws: number of draws for each image, at least 2.
        generator: draws the noise, on the device of the images.

    Raises:
        EstimatorError: the estimator cannot take the encoder's potentials, or there are fewer than
            2 draws.
    """
    if draws < 2:
        raise EstimatorError(f"a variance needs at least 2 draws; got {draws}")
    potentials = vae.encoder(x).detach()
    chunk = max(1, ROWS // len(x))
    counts = [min(chunk, draws - done) for done in range(0, draws, chunk)]
    drawn = [_draw(vae, x, potentials, estimator, count, generator)[0] for count in counts]
    return torch.cat(drawn).var(dim=0).sum(dim=-1).mean().item()


def _exact(
    vae: DiscreteVAE, x: torch.Tensor, potentials: AnyPotentials, estimator: Estimator
) -> torch.Tensor:
    """Return the exact gradient of E_q[-log p(x | z)] in the potentials, `[batch, n + e]`."""
    why_not = Exact().why_not(potentials)
    if why_not:
        raise EstimatorError(f"the exact gradient is not available: {'; '.join(why_not)}")
    tracked, leaves = _tracked(potentials, 1)
    q = estimator.posterior(tracked)
    if not q.has_density:
        q = Gibbs(tracked)
    states = tracked.states()
    probabilities = q.log_prob_of_all(states).exp()
    costs = Reconstruction(vae.decoder, x).table(states)
    gradients = torch.autograd.grad((probabilities * costs).sum(), leaves)
    return torch.cat(gradients, dim=1).double()


def _report(
    vae: DiscreteVAE,
    x: torch.Tensor,
    potentials: AnyPotentials,
    estimator: Estimator,
    draws: int,
    generator: torch.Generator,
    exact: torch.Tensor,
) -> GradientReport:
    chunk = min(draws, max(1, ROWS // len(x)))
    sums = torch.zeros_like(exact)
    squares = torch.zeros_like(exact)
    totals: dict[str, float] = {}
    seconds = 0.0
    done = 0
    # Chunks of draws, as differences from the exact gradient, whose squares lose less to rounding.
    while done < draws:
        count = min(chunk, draws - done)
        start = time.perf_counter()
        gradients, stats = _draw(vae, x, potentials, estimator, count, generator)
        seconds += time.perf_counter() - start
        away = gradients - exact
        sums += away.sum(dim=0)
        squares += away.square().sum(dim=0)
        for name, value in stats.items():
            totals[name] = totals.get(name, 0.0) + count * value
        done += count
    # The mean of n draws is off by chance, by variance / n in the square of each coordinate.
    away = sums / draws
    variance = _variance(away, squares / draws, draws, exact, potentials.unary.dtype)
    by_chance = variance.sum(dim=-1) / draws
    error = (variance / draws).sqrt()
    mean = exact + away
    # A coordinate without noise has no standard error to measure its bias in.
    varies = error > 0
    z_score = 0.0
    if varies.any():
        z_score = (away.abs() / error)[varies].max().item()
    return GradientReport(
        bias=(away.square().sum(dim=-1) - by_chance).mean().clamp(min=0).sqrt().item(),
        resolution=by_chance.mean().sqrt().item(),
        deviation=variance.sqrt().mean().item(),
        variance=variance.sum(dim=-1).mean().item(),
        cosine=torch.nn.functional.cosine_similarity(mean.flatten(), exact.flatten(), dim=0).item(),
        z_score=z_score,
        norm=exact.square().sum(dim=-1).mean().sqrt().item(),
        microseconds=1e6 * seconds / (draws * len(x)),
        stats={name: total / draws for name, total in totals.items()},
        draws=draws,
    )


def _variance(
    mean: torch.Tensor,
    mean_square: torch.Tensor,
    draws: int,
    exact: torch.Tensor,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Return the variance `[batch, n + e]` of the draws; 0 where they differ by rounding only.

    Rounding then gives no z-score. It is that of the difference of squares, and that of the
    gradients themselves.
    """
    variance = (mean_square - mean.square()) * draws / max(1, draws - 1)
    rounding = 1e-10 * mean_square + (8 * torch.finfo(dtype).eps * exact.abs().amax()).square()
    return torch.where(variance > rounding, variance, 0)


def _draw(
    vae: DiscreteVAE,
    x: torch.Tensor,
    potentials: AnyPotentials,
    estimator: Estimator,
    count: int,
    generator: torch.Generator,
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return gradients in the potentials `[count, batch, n + e]`, and the estimator's averages."""
    tracked, leaves = _tracked(potentials, count)
    estimate = estimator(tracked, Reconstruction(vae.decoder, x.repeat(count, 1)), generator)
    gradients = torch.cat(torch.autograd.grad(estimate.surrogate.sum(), leaves), dim=1)
    stats = {name: value.item() for name, value in estimate.stats.items()}
    return gradients.reshape(count, len(x), -1).double(), stats


def _tracked(potentials: AnyPotentials, count: int) -> tuple[AnyPotentials, list[torch.Tensor]]:
    """Return `count` copies of the potentials that get gradients, and their scores."""
    scores = [potentials.unary]
    if potentials.pairwise is not None:
        scores.append(potentials.pairwise)
    leaves = [score.repeat(count, 1).requires_grad_() for score in scores]
    tracked = replace(potentials, unary=leaves[0])
    if len(leaves) > 1:
        tracked = replace(tracked, pairwise=leaves[1])
    return tracked, leaves
