"""The best tags of chains in the positions of the caller, and chains that have no allowed tags."""

from __future__ import annotations

from dataclasses import replace

import torch

from models.traced import holds, plain
from solvers import Solution, labels

from ..errors import StructureError
from ..spaces.sums.chain_logarithms import BELOW
from ..spaces.sums.chain_sums import Chains
from .chain_positions import PADDING, Positions
from .chain_problem import penalised, problem_of


def best_tags(
    chains: Chains, positions: Positions, length: int, k_best: int | None
) -> Solution[torch.Tensor]:
    """Return the best tags of each chain in the positions of the caller, with certificates.

    Args:
        chains: the scores, from the first position of each chain on.
        positions: where these positions are in the caller's arrays.
        length: the length of the caller's arrays.
        k_best: how many sequences of tags to return; None for the best alone.

    Raises:
        StructureError: all tags of a chain are forbidden.
    """
    problem = problem_of(penalised(chains), k_best is not None)
    solution = labels.solve(problem, solver="elimination", k_best=k_best)
    tags = solution.labels
    if k_best is None:
        tags = tags[:, None]
    by_rank = torch.stack([chains.score(rank.clamp_min(0).T) for rank in tags.unbind(1)], dim=1)
    refuse_impossible(by_rank[:, 0], -torch.inf)
    allowed = (by_rank > -torch.inf)[..., None] & (tags >= 0)
    padded = _padded(tags, allowed, chains.mask, positions, length)
    if k_best is None:
        return replace(solution, z=padded[:, 0])
    impossible = by_rank == -torch.inf
    return replace(
        solution,
        z=padded,
        score=solution.score.masked_fill(impossible, -torch.inf),
        bound=solution.bound.masked_fill(impossible, -torch.inf),
    )


def _padded(
    tags: torch.Tensor,
    allowed: torch.Tensor,
    mask: torch.Tensor,
    positions: Positions,
    length: int,
) -> torch.Tensor:
    """Return tags `[batch, ranks, length]` in the caller's positions, with padding elsewhere."""
    on = mask.T[:, None] & allowed
    places = positions.places.T[:, None].expand_as(tags)
    # Padding is written to a position beyond the end.
    places = torch.where(on, places, length)
    padded = tags.new_full((*tags.shape[:2], length + 1), PADDING)
    return padded.scatter(-1, places, tags)[..., :length]


def possible_log_partition(chains: Chains) -> torch.Tensor:
    """Return log Z `[batch]`.

    Raises:
        StructureError: all tags of a chain are forbidden.
    """
    total = chains.log_partition()
    refuse_impossible(total.detach(), BELOW / 2)
    return total


def refuse_impossible(scores: torch.Tensor, limit: float) -> None:
    """Raise if the score of a chain is at most `limit`, because all its tags are forbidden.

    Raises:
        StructureError: there is such a chain.
    """
    possible = scores > limit
    if not holds(possible):
        chain = int((~plain(possible)).nonzero()[0, -1])
        raise StructureError(
            f"chain {chain} has no allowed tags: minus infinity in emissions and parameters "
            "forbids all of them; allow more transitions"
        )
