"""Nodes that wait for their turn, none of them twice, for compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit


class Worklist(NamedTuple):
    """A ring of nodes, first come, first served.

    Attributes:
        ring: `[nodes]`.
        waiting: `[nodes]`, whether each is in it.
        span: `[2]`, where the first one is, and how many there are.
    """

    ring: np.ndarray
    waiting: np.ndarray
    span: np.ndarray


@jit.strict
def worklist(nodes, filled):
    """A list of all nodes, or of none."""
    span = np.zeros(2, np.int64)
    if filled:
        span[1] = nodes
    return Worklist(np.arange(nodes), np.full(nodes, filled), span)


@jit.strict
def push(work, v):
    """Puts v last, unless it waits already."""
    if not work.waiting[v]:
        work.ring[(work.span[0] + work.span[1]) % len(work.ring)] = v
        work.span[1] += 1
        work.waiting[v] = True


@jit.strict
def pop(work):
    """Takes the first one out of a list that has one."""
    v = work.ring[work.span[0]]
    work.span[0] = (work.span[0] + 1) % len(work.ring)
    work.span[1] -= 1
    work.waiting[v] = False
    return v
