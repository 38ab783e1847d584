"""Autograd inside of operators, of `no_grad` and of `inference_mode`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import torch

_EVERYTHING: Final = (
    torch._C._dispatch_tls_local_include_set(),
    torch._C._dispatch_tls_local_exclude_set(),
)
"""State of torch's dispatcher outside of all operators and contexts, as at import."""


@contextmanager
def autograd_allowed() -> Iterator[None]:
    """Let the block compute gradients, whatever the mode of torch around it.

    This includes an operator, a backward pass, `no_grad` and `inference_mode`.

    `torch.enable_grad` alone does not reach inside an operator: there, torch skips autograd as a
    whole.
    """
    dispatch = torch._C._ForceDispatchKeyGuard(*_EVERYTHING)
    with dispatch, torch.inference_mode(False), torch.enable_grad():
        yield


@contextmanager
def gradients_allowed() -> Iterator[None]:
    """Let the block compute gradients inside of `no_grad` and of `inference_mode`.

    Tensors that were made in `inference_mode` have to pass `of_autograd` inside the block.
    """
    with torch.inference_mode(False), torch.enable_grad():
        yield


def of_autograd(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a copy if it was made in `inference_mode`, where torch keeps no graph.

    Call it outside of `inference_mode`.
    """
    if tensor.is_inference():
        return tensor.clone()
    return tensor


def constant(array: np.ndarray) -> torch.Tensor:
    """Return an array as a tensor that autograd takes, also if this is `inference_mode`.

    Objects keep such tensors, and a later training may use them.
    """
    with torch.inference_mode(False):
        return torch.from_numpy(array)
