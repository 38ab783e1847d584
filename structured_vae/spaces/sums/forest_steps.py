"""The best state of bits whose edges form a forest, one bit after the other.

`forest_sums` needs fewer and larger operations, but its linear maps cancel scores, so minus
infinity has no place in them. Programs that are exported take these steps.
"""

from __future__ import annotations

from typing import TypeAlias

import torch

Step: TypeAlias = tuple[int, int, int]
"""A bit, the neighbour that remains when the bit is eliminated, and the number of their edge."""


def forest_steps(edges: torch.Tensor, n: int) -> list[Step]:
    """Return the steps that eliminate bits of one neighbour, until no edge remains.

    Args:
        edges: `[e, 2]`, which form a forest.
        n: the number of bits.
    """
    neighbours: list[dict[int, int]] = [{} for _ in range(n)]
    for number, (first, second) in enumerate(edges.tolist()):
        neighbours[first][second] = number
        neighbours[second][first] = number
    leaves = [bit for bit in range(n) if len(neighbours[bit]) == 1]
    steps = []
    while leaves:
        bit = leaves.pop()
        if not neighbours[bit]:
            continue  # the last bit of its tree
        other, edge = neighbours[bit].popitem()
        del neighbours[other][bit]
        steps.append((bit, other, edge))
        if len(neighbours[other]) == 1:
            leaves.append(other)
    return steps


def best_of_forest(unary: torch.Tensor, pairwise: torch.Tensor, steps: list[Step]) -> torch.Tensor:
    """Return the bits of highest score, `[batch, n]` booleans.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        steps: those of `forest_steps`.
    """
    # The best scores of a bit and all bits eliminated behind it, if the bit is 0 and if it is 1.
    ones = list(unary.unbind(dim=-1))
    zeros = [torch.zeros_like(scores) for scores in ones]
    answers = []
    for bit, other, edge in steps:
        beside_one = ones[bit] + pairwise[:, edge]
        answers.append((ones[bit] > zeros[bit], beside_one > zeros[bit]))
        zeros[other] = zeros[other] + torch.maximum(zeros[bit], ones[bit])
        ones[other] = ones[other] + torch.maximum(zeros[bit], beside_one)
    best = [one > zero for one, zero in zip(ones, zeros, strict=True)]
    for (bit, other, _), (beside_zero, beside_one) in zip(
        reversed(steps), reversed(answers), strict=True
    ):
        # onnxruntime has no `where` of booleans.
        best[bit] = (best[other] & beside_one) | (~best[other] & beside_zero)
    return torch.stack(best, dim=-1)
