"""Calls with scores that forbid variables: a large negative number or minus infinity, whichever a network uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    GibbsLikelihood,
    ImplicitMLELoss,
    KOfN,
    LinearChainCRF,
    PerturbedFenchelYoung,
    StructuredHinge,
    StructuredPerceptron,
)

from .draws import Draw
from .outcomes import OURS, claim

FILLS: Final = (-1e4, -1e9, float(torch.finfo(torch.float32).min), -float("inf"))
REFERENCE: Final = -3e5
"""A fill whose gradients those of all others must equal."""

Run = Callable[[torch.Tensor], torch.Tensor]
"""The loss `[batch]`, or the states `[batch, n]`, of masked scores."""


def _masked(draw: Draw) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Return scores `[batch, n]`, which of them are masked, and how many each instance has left."""
    n, batch = draw.whole(8, 12), draw.whole(6, 10)
    left = draw.whole(5, n - 1)
    allowed = np.argsort(draw.random.random((batch, n)), axis=1) < left
    kind = draw.of((torch.float32, torch.float32, torch.float64))
    scores = torch.from_numpy(draw.random.standard_normal((batch, n)))
    return scores.to(kind), torch.from_numpy(~allowed), left


def _solver(draw: Draw, left: int) -> Any:
    if draw.chance(0.5):
        return "auto"
    return draw.of((KOfN(draw.whole(1, left)), KOfN(left, least=1)))


def _differentiated(
    run: Run, scores: torch.Tensor, mask: torch.Tensor, fill: float
) -> list[torch.Tensor]:
    """Return the answer and the gradient in the scores: of losses, or of squares of what is not masked."""
    given = scores.clone().requires_grad_()
    answer = run(given.masked_fill(mask, fill))
    (answer if answer.ndim == 1 else (answer - 0.3)[~mask].square()).sum().backward()
    gradient = torch.zeros_like(given) if given.grad is None else given.grad
    return [answer.detach(), gradient]


def _compared(draw: Draw, run: Run, scores: torch.Tensor, mask: torch.Tensor) -> Callable[[], None]:
    """Make the call for two fills: no answer may depend on them."""
    fill = draw.of(FILLS)

    def call() -> None:
        right, wanted = _differentiated(run, scores, mask, REFERENCE)
        answer, gradient = _differentiated(run, scores, mask, fill)
        claim(bool(answer.isfinite().all()), f"an answer of masked scores is not finite: {fill:g}")
        claim(
            bool(gradient.isfinite().all()), f"a gradient of masked scores is not finite: {fill:g}"
        )
        claim(_alike(answer, right), f"answers depend on the fill: {fill:g} and {REFERENCE:g}")
        claim(_alike(gradient, wanted), f"gradients depend on the fill: {fill:g} and {REFERENCE:g}")
        if answer.ndim > 1:
            claim(not bool(answer[mask].any()), f"a masked variable is 1: {fill:g}")

    return call


def _alike(first: torch.Tensor, second: torch.Tensor) -> bool:
    return torch.allclose(first.double(), second.double(), rtol=1e-3, atol=1e-4)


def _pairs(draw: Draw, scores: torch.Tensor) -> dict[str, Any]:
    """Return pairwise scores, sometimes."""
    if draw.chance(0.5):
        return {}
    n = scores.shape[1]
    edges = torch.tensor([[i, i + 1] for i in range(n - 1)])
    pairwise = torch.from_numpy(draw.random.standard_normal((len(scores), n - 1)))
    return {"pairwise": 0.5 * pairwise.to(scores), "edges": edges}


def _layer(draw: Draw, folder: Path) -> Callable[[], None]:
    scores, mask, left = _masked(draw)
    solver = _solver(draw, left)
    pairs = _pairs(draw, scores) if solver == "auto" else {}
    options = {
        "estimator": draw.of(("implicit_mle", "implicit_mle", "straight_through")),
        "epsilon": draw.of((None, None, 0.5, 2.0)),
        "seed": draw.of((0, None)),
    }
    by_cost = draw.chance(0.3)

    def run(masked: torch.Tensor) -> torch.Tensor:
        layer = ArgmaxLayer(solver, **options)
        if not by_cost:
            return layer(masked, **pairs)
        return layer(masked, **pairs, cost=lambda z: (z - 0.3).square().sum(dim=-1)).surrogate

    return _compared(draw, run, scores, mask)


def _loss(draw: Draw, folder: Path) -> Callable[[], None]:
    scores, mask, left = _masked(draw)
    solver = _solver(draw, left)
    pairs = _pairs(draw, scores) if solver == "auto" else {}
    better = torch.from_numpy(draw.random.standard_normal(scores.shape)).to(scores)
    first = KOfN(1, least=0) if solver == "auto" else solver
    target = first.argmax(better.masked_fill(mask, -50.0)) * ~mask
    make = draw.of(
        (
            lambda: StructuredPerceptron(solver),
            lambda: StructuredHinge(solver, margin=0.5),
            lambda: DirectLoss(solver, epsilon=draw_epsilon),
            lambda: ImplicitMLELoss(solver, epsilon=draw_epsilon, seed=None),
            lambda: PerturbedFenchelYoung(solver, samples=2),
            lambda: GibbsLikelihood(solver),
        )
    )
    draw_epsilon = draw.of((None, 0.5))

    def run(masked: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(0)
        return make()(masked, **pairs, target=target, generator=generator)

    return _compared(draw, run, scores, mask)


def _structure(draw: Draw, folder: Path) -> Callable[[], None]:
    """Compare log Z, marginals and samples of a structure."""
    scores, mask, left = _masked(draw)
    structure = KOfN(draw.whole(1, left), least=1)
    what = draw.of(("log_partition", "marginals", "argmax", "sample"))

    def run(masked: torch.Tensor) -> torch.Tensor:
        if what == "argmax":
            return structure.argmax(masked) + 0 * masked.masked_fill(mask, 0)
        found = structure.gibbs(masked)
        if what == "sample":
            drawn = found.sample(torch.Generator().manual_seed(0), 3)
            claim(not bool(drawn[:, mask].any()), "a masked variable is 1 in a sample")
            return found.marginals
        return getattr(found, what)

    return _compared(draw, run, scores, mask)


def _chain(draw: Draw, folder: Path) -> Callable[[], None]:
    """Forbid tags of a chain: likelihood, marginals and gradients, in every type."""
    k, batch, length = draw.whole(3, 5), draw.whole(2, 4), draw.whole(2, 6)
    kind = draw.of((torch.float16, torch.bfloat16, torch.float32, torch.float64))
    emissions = torch.from_numpy(draw.random.standard_normal((batch, length, k))).to(kind)
    mask = torch.from_numpy(draw.random.random((batch, length, k)) < 0.3)
    mask[..., 0] = False
    fill = draw.of((-1e4, float(torch.finfo(kind).min), -float("inf")))
    reduction = draw.of(("none", "sum", "mean", "token_mean"))
    seed = draw.whole(0, 1000)

    def call() -> None:
        torch.manual_seed(seed)
        crf = LinearChainCRF(k, batch_first=True)
        given = emissions.clone().requires_grad_()
        masked = given.masked_fill(mask, fill)
        tags = torch.zeros(batch, length, dtype=torch.long)
        log_p = crf(masked, tags, reduction=reduction)
        claim(
            bool(log_p.isfinite().all()),
            f"log p is not finite: {log_p.detach().tolist()} in {kind}",
        )
        log_p.sum().backward()
        parts = [given.grad, *(each.grad for each in crf.parameters())]
        claim(
            all(bool(part.isfinite().all()) for part in parts if part is not None),
            "no finite gradient",
        )
        taken = torch.tensor(crf.decode(masked.detach()))
        claim(
            not bool(mask.gather(-1, taken[..., None]).any()), f"a masked tag is decoded: {fill:g}"
        )

    return call


def _refused(draw: Draw, folder: Path) -> Callable[[], None]:
    """Forbid more than a structure can leave out: an error of ours, and no state with a forbidden variable."""
    n = draw.whole(3, 6)
    k = draw.whole(1, n)
    scores = torch.from_numpy(draw.random.standard_normal((2, n)))
    mask = torch.from_numpy(draw.random.random((2, n)) < 0.6)
    possible = bool(((~mask).sum(dim=1) >= k).all())

    def call() -> None:
        try:
            z = KOfN(k).argmax(scores.masked_fill(mask, -torch.inf))
        except OURS:
            if possible:
                raise
            return
        claim(possible and not bool(z[mask].any()), "a forbidden variable is 1")

    return call


MASKING_CALLS: Final = {
    "ArgmaxLayer of masked scores": (6, _layer),
    "losses of masked scores": (7, _loss),
    "KOfN of masked scores": (3, _structure),
    "KOfN of too many masked scores": (2, _refused),
    "LinearChainCRF of masked emissions": (4, _chain),
}
"""Weight and maker of each, by the name that the report gives it."""
