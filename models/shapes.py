"""The shapes of this package, named once. `...` stands for any leading dimensions, such as samples."""

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
"""Latent states of one variable with k values: a one at the value, zeros elsewhere."""

AllStates: TypeAlias = Float[torch.Tensor, "states n"]
"""Every latent state, in the order of `all_states`."""

Unary: TypeAlias = Float[torch.Tensor, "... n"]

Pairwise: TypeAlias = Float[torch.Tensor, "... e"]

Edges: TypeAlias = Int[torch.Tensor, "e 2"]

Scores: TypeAlias = Float[torch.Tensor, "..."]
"""What an argmax maximises."""

Costs: TypeAlias = Float[torch.Tensor, "..."]
"""Negative log-likelihoods in nats; minimised."""

Table: TypeAlias = Float[torch.Tensor, "... states"]
"""One value for every latent state."""

FlipCosts: TypeAlias = Float[torch.Tensor, "... n"]
"""One value for each variable that may flip."""

Style: TypeAlias = Float[torch.Tensor, "... c"]
"""Continuous latent variables."""
