"""Autograd for code of a caller, wherever we call it from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

_EVERYTHING: Final = (
    torch._C._dispatch_tls_local_include_set(),
    torch._C._dispatch_tls_local_exclude_set(),
)
"""How torch dispatches outside of all operators and contexts, as when this file is imported."""


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
