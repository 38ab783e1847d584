"""The names of array shapes in this package.

`...` stands for any leading dimensions, such as samples.
"""

from __future__ import annotations

from typing import TypeAlias

import torch
from jaxtyping import Float, Int

Images: TypeAlias = Float[torch.Tensor, "batch pixels"]
"""Pixel intensities or bits in [0, 1]."""

Logits: TypeAlias = Float[torch.Tensor, "... pixels"]

Binary: TypeAlias = Float[torch.Tensor, "... n"]
"""Latent states: zeros and ones."""

OneHot: TypeAlias = Float[torch.Tensor, "... k"]
"""Latent states of one variable with k labels: a one at the label, zeros elsewhere."""

AllStates: TypeAlias = Float[torch.Tensor, "states n"]
"""All latent states, in the order of `all_states`."""

Unary: TypeAlias = Float[torch.Tensor, "... n"]

Pairwise: TypeAlias = Float[torch.Tensor, "... e"]

Edges: TypeAlias = Int[torch.Tensor, "e 2"]

Scores: TypeAlias = Float[torch.Tensor, "..."]
"""Scores, which an argmax maximises."""

Costs: TypeAlias = Float[torch.Tensor, "..."]
"""Negative log-likelihoods in nats, which training minimises."""

Table: TypeAlias = Float[torch.Tensor, "... states"]
"""One value for each latent state."""

FlipCosts: TypeAlias = Float[torch.Tensor, "... n"]
"""One value for the flip of each variable."""

Style: TypeAlias = Float[torch.Tensor, "... c"]
"""Continuous latent variables."""
