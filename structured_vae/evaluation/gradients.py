"""Gradient estimators held against the exact gradient."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from models import DiscreteVAE
from models.potentials import AnyPotentials

from ..errors import EstimatorError
from ..estimators import Estimator, Exact
from ..objectives.costs import Reconstruction

ROWS = 2000
"""Images times draws that are worked on at once."""


@dataclass(frozen=True)
class GradientReport:
    """An estimator's draws of the gradient of E_q[-log p(x | z)] in the potentials.

    q is the Gibbs distribution of the potentials. A structured encoder's perturb-and-MAP samples
    follow another one, whose gradient differs: part of the bias is then that difference.

    Attributes:
        bias: norm of (expected - exact gradient), root mean square over images, less what chance
            adds to a mean of so many draws.
        resolution: what chance adds to it before that is subtracted. A bias below it is uncertain,
            the less so the more coordinates and images there are.
        deviation: standard deviation of a coordinate, the mean over coordinates and images.
        variance: summed over the coordinates, the mean over images.
        cosine: between the means of the draws and the exact gradients, of all images together.
        z_score: the largest abs(mean - exact) / standard error of all coordinates and images that
            vary; for an unbiased estimator it exceeds 4.5 about once in 150,000 coordinates. That
            takes draws enough to meet the rare states: where q is nearly certain, the few that were
            met say little of the mean.
        norm: of the exact gradient, root mean square over images.
        microseconds: of a draw for an image.
        stats: averages of the estimator's own, such as the share "saturated".
        draws: for each image.
    """

    bias: float
    resolution: float
    deviation: float
    variance: float
    cosine: float
    z_score: float
    norm: float
    microseconds: float
    stats: dict[str, float]
    draws: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def gradient_report(
    vae: DiscreteVAE,
    x: torch.Tensor,
    estimators: Mapping[str, Estimator],
    draws: int,
    generator: torch.Generator,
) -> dict[str, GradientReport]:
    """Bias, variance and cost of each estimator on the same images.

    Args:
        vae: whose encoder and decoder are held fixed.
        x: `[batch, pixels]`; all states of their posteriors are enumerated, so at most 20 bits.
        estimators: by name.
        draws: for each image.
        generator: of the noise, on the images' device.

    Raises:
        EstimatorError: one of them cannot take the encoder's potentials.
    """
    potentials = vae.encoder(x).detach()
    exact = _draw(vae, x, potentials, Exact(), 1, generator)[0][0]
    return {
        name: _report(vae, x, potentials, estimator, draws, generator, exact)
        for name, estimator in estimators.items()
    }


def gradient_variance(
    vae: DiscreteVAE, x: torch.Tensor, estimator: Estimator, draws: int, generator: torch.Generator
) -> float:
    """The variance of a draw of the gradient of E_q[-log p(x | z)], summed over the potentials, the mean over images.

    Needs no exact gradient, so any number of variables will do; a bias is not in it.

    Args:
        vae: whose encoder and decoder are held fixed.
        x: `[batch, pixels]`.
        estimator: that fits the encoder.
        draws: for each image, at least 2.
        generator: of the noise, on the images' device.

    Raises:
        EstimatorError: the estimator cannot take the encoder's potentials; or fewer draws.
    """
    if draws < 2:
        raise EstimatorError(f"a variance needs at least 2 draws; got {draws}")
    potentials = vae.encoder(x).detach()
    chunk = max(1, ROWS // len(x))
    counts = [min(chunk, draws - done) for done in range(0, draws, chunk)]
    drawn = [_draw(vae, x, potentials, estimator, count, generator)[0] for count in counts]
    return torch.cat(drawn).var(dim=0).sum(dim=-1).mean().item()


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
    sums, squares = torch.zeros_like(exact), torch.zeros_like(exact)
    totals: dict[str, float] = {}
    seconds, done = 0.0, 0
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
    away = sums / draws
    variance = _variance(away, squares / draws, draws, exact, potentials.unary.dtype)
    by_chance = variance.sum(dim=-1) / draws
    error = (variance / draws).sqrt()
    mean = exact + away
    return GradientReport(
        bias=(away.square().sum(dim=-1) - by_chance).mean().clamp(min=0).sqrt().item(),
        resolution=by_chance.mean().sqrt().item(),
        deviation=variance.sqrt().mean().item(),
        variance=variance.sum(dim=-1).mean().item(),
        cosine=torch.nn.functional.cosine_similarity(mean.flatten(), exact.flatten(), dim=0).item(),
        z_score=(away.abs() / error)[error > 0].max().item() if (error > 0).any() else 0.0,
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
    """`[batch, n + e]`: of the draws; 0 where they differ by rounding alone, so that no z-score is made of it.

    Rounding is that of the difference of squares, and that of the gradients themselves.
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
    """`[count, batch, n + e]` in float64: gradients in the potentials; and the estimator's averages."""
    leaves = [potentials.unary]
    if potentials.pairwise is not None:
        leaves.append(potentials.pairwise)
    leaves = [leaf.repeat(count, 1).requires_grad_() for leaf in leaves]
    tracked = replace(potentials, unary=leaves[0], pairwise=leaves[1] if len(leaves) > 1 else None)
    estimate = estimator(tracked, Reconstruction(vae.decoder, x.repeat(count, 1)), generator)
    gradients = torch.cat(torch.autograd.grad(estimate.surrogate.sum(), leaves), dim=1)
    stats = {name: value.item() for name, value in estimate.stats.items()}
    return gradients.reshape(count, len(x), -1).double(), stats
