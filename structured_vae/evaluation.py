"""The bound of a model on images, with its parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import torch

from models import BinaryVAE
from solvers import ArgmaxSolver

from .kl import kl_of_unary, tightest_valid_kl
from .sampling import perturb_and_map


@dataclass(frozen=True)
class Bound:
    """Averages over images, in nats; lower is better.

    Attributes:
        reconstruction: E_q[-log p(x | z)], by sampling z through the argmax.
        kl: the tightest KL known to be valid: exact for independent encoders, else n log 2.
        kl_surrogate: the KL of the unary scores alone, as the paper reports it.
        bound: reconstruction + kl, in expectation an upper bound on -log p(x).
        bound_surrogate: reconstruction + kl_surrogate, the paper's number; a bound for independent
            encoders only.
        standard_error: of `bound`, over the images.
        images: how many.
    """

    reconstruction: float
    kl: float
    kl_surrogate: float
    bound: float
    bound_surrogate: float
    standard_error: float
    images: int

    def to_dict(self) -> dict[str, float]:
        """The values by name."""
        return asdict(self)


@torch.no_grad()
def image_costs(
    vae: BinaryVAE,
    x: torch.Tensor,
    solver: str | ArgmaxSolver,
    generator: torch.Generator,
    samples: int = 1,
) -> torch.Tensor:
    """`[batch, 3]`: for each image reconstruction (mean over samples), valid KL, surrogate KL."""
    potentials = vae.encoder(x)
    reconstruction = torch.stack(
        [vae.decoder.cost(x, perturb_and_map(potentials, solver, generator)) for _ in range(samples)]
    ).mean(dim=0)
    kls = (tightest_valid_kl(potentials).value, kl_of_unary(potentials).value)
    return torch.stack([reconstruction, *kls], dim=-1)


def summarise(costs: torch.Tensor) -> Bound:
    """The bound from `image_costs` of all images, `[images, 3]`."""
    reconstruction, kl, surrogate = costs.double().mean(dim=0).tolist()
    spread = costs[:, :2].double().sum(dim=-1).std(correction=0).item()
    return Bound(
        reconstruction=reconstruction,
        kl=kl,
        kl_surrogate=surrogate,
        bound=reconstruction + kl,
        bound_surrogate=reconstruction + surrogate,
        standard_error=spread / len(costs) ** 0.5,
        images=len(costs),
    )


def evaluate_bound(
    vae: BinaryVAE,
    image_batches: Iterable[tuple[torch.Tensor, ...]],
    solver: str | ArgmaxSolver,
    generator: torch.Generator,
    samples: int = 1,
) -> Bound:
    """The bound over batches of images.

    Args:
        vae: what is evaluated.
        image_batches: `(images [batch, pixels], ...)` each.
        solver: name or object.
        generator: of the posterior samples, on the images' device.
        samples: posterior samples an image.
    """
    return summarise(
        torch.cat([image_costs(vae, batch[0], solver, generator, samples) for batch in image_batches])
    )
