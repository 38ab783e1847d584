"""The weights of the experts, or of other parts of a network, that an argmax has chosen."""

from __future__ import annotations

import torch

from models.arguments import positive_number

from ..errors import StructureError
from ..spaces.checks.batches import require_scores


def routing_weights(
    scores: torch.Tensor, z: torch.Tensor, temperature: float = 1.0
) -> torch.Tensor:
    """Return the softmax of the scores over the chosen variables, and 0 for the others.

    weights[i] = z_i exp(scores[i] / temperature) / sum_j z_j exp(scores[j] / temperature).

    They are differentiable in the scores and in z. With z of an `ArgmaxLayer` the network learns
    how much each chosen expert counts, by the first, and which experts to choose, by the second.
    Rows without a chosen variable have weight 0 everywhere.

    Args:
        scores: `[..., n]`; minus infinity only where z is 0.
        z: `[..., n]`, the states, zeros and ones.
        temperature: positive; large values make the weights of chosen variables equal.

    Returns:
        `[..., n]`, weights of at least 0 that add up to 1.

    Raises:
        StructureError: scores or states are not dense tensors, or differ in shape or device; or the
            temperature is not a positive number.

    Example:
        >>> from structured_vae import ArgmaxLayer, KOfN
        >>> scores = torch.tensor([[1.0, 3.0, 2.0, 0.0]])
        >>> routing_weights(scores, ArgmaxLayer(KOfN(2), seed=None)(scores))
        tensor([[0.0000, 0.7311, 0.2689, 0.0000]])
    """
    require_scores(scores)
    require_scores(z, "z")
    temperature = positive_number(temperature, "temperature", StructureError)
    if scores.device != z.device:
        raise StructureError(
            f"scores and states must be on one device; got {scores.device} and {z.device}"
        )
    if scores.shape != z.shape:
        raise StructureError(
            f"scores and states must have one shape; got {list(scores.shape)} and {list(z.shape)}"
        )
    chosen = z > 0
    scaled = torch.where(chosen, scores / temperature, -torch.inf)
    largest = scaled.detach().amax(dim=-1, keepdim=True)
    # Variables that are not chosen have a finite factor, by which z_i has a derivative.
    excess = torch.where(scores > -torch.inf, scores / temperature - largest, -torch.inf)
    factors = excess.nan_to_num(neginf=-torch.inf).clamp_max(0.0).exp()
    parts = z * factors
    total = parts.sum(dim=-1, keepdim=True)
    return parts / torch.where(total > 0, total, 1.0)
