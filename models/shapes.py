"""The shapes of this package, named once."""

from __future__ import annotations

from typing import TypeAlias

import torch
from jaxtyping import Float, Int

Images: TypeAlias = Float[torch.Tensor, "batch pixels"]
"""Pixel intensities or bits in [0, 1]."""

Logits: TypeAlias = Float[torch.Tensor, "batch pixels"]

Binary: TypeAlias = Float[torch.Tensor, "batch n"]
"""Latent states: zeros and ones."""

Unary: TypeAlias = Float[torch.Tensor, "batch n"]

Pairwise: TypeAlias = Float[torch.Tensor, "batch e"]

Edges: TypeAlias = Int[torch.Tensor, "e 2"]

Scores: TypeAlias = Float[torch.Tensor, "batch"]
"""What an argmax maximises."""

Costs: TypeAlias = Float[torch.Tensor, "batch"]
"""Negative log-likelihoods in nats; minimised."""

FlipCosts: TypeAlias = Float[torch.Tensor, "batch n"]
"""One value for each variable that may flip."""
