"""Inference forms of models: modules of torch operations alone, which export as a program.

`torch.export` and ONNX take no solver along. Where the argmax has a closed form, or states are few
enough to list, these modules compute it without one. They have no certificates and no gradients.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import nn

from models import DiscreteVAE

from .crfs import LinearChainCRF
from .errors import StructureError, shortened
from .spaces import Bits, StateSpace, as_space, space_of
from .spaces.checks.batches import FORBIDDEN, positive_integer
from .spaces.checks.scores import EdgesLike
from .spaces.sums.forest_plan import is_forest
from .spaces.sums.forest_steps import Step, best_of_forest, forest_steps

MOST_LISTED: Final = 1 << 16
"""Most states that an exported program lists."""

TABLES: Final = ("transitions", "start", "end")
"""The buffers of a `ChainInference`, in the order of `LinearChainCRF.parameter_scores`."""


class ArgmaxInference(nn.Module):
    """The argmax z of scores, as `ArgmaxLayer` gives it in `eval()`, without a solver.

    Bits without pairwise scores have a closed form, as have subsets of k of n. Bits whose pairs form
    chains or trees take dynamic programming. All other states are listed, up to 65,536 of them.
    Minus infinity forbids a variable or a pair, as in the layer. But
    a program raises no errors: its answer means nothing where no state is allowed, or a score is
    nan.

    Args:
        n: the number of variables.
        edges: `[e, 2]`, the pairs with scores; None for none.
        space: the space of the states; None for all bits.

    Raises:
        StructureError: there are too many states to list; n is not an integer of at least 1;
            there are edges in a space that takes no pairwise scores; an edge ends at no variable;
            the space has no states of n entries; or a `KOfN` has a k for each instance.

    Example:
        >>> form = ArgmaxInference(2, [[0, 1]])
        >>> form(torch.tensor([[1.0, -0.5]]), torch.tensor([[2.0]]))
        tensor([[1., 1.]])
        >>> program = torch.export.export(form, (torch.zeros(3, 2), torch.zeros(3, 1)))
    """

    states: torch.Tensor | None
    edges: torch.Tensor | None

    def __init__(self, n: int, edges: EdgesLike | None = None, space: StateSpace | None = None):
        super().__init__()
        self.n = positive_integer(n, "n")
        if space is not None:
            space = as_space(space)
        of_bits = space is None or space.free_flips
        if edges is not None and not of_bits:
            raise StructureError(f"{space} has scores of variables and none of pairs")
        pairs = None
        states = None
        if edges is not None:
            pairs = torch.as_tensor(edges).reshape(-1, 2).long()
            _check_ends(pairs, self.n)
        space = space or Bits()
        self.subset = space.numbers_of_ones
        space.check(self.n)
        self._steps: list[Step] | None = None
        if pairs is not None and is_forest(pairs.cpu().numpy(), self.n):
            self._steps = forest_steps(pairs, self.n)
        elif self.subset is None and (pairs is not None or not of_bits):
            states = _listed(space, self.n)
        self.register_buffer("edges", pairs)
        self.register_buffer("states", states)

    def forward(self, unary: torch.Tensor, pairwise: torch.Tensor | None = None) -> torch.Tensor:
        """Return the states of highest score `[batch, n]`.

        Args:
            unary: `[batch, n]`.
            pairwise: `[batch, e]`, where there are edges.
        """
        if self.subset is not None:
            return _subset(unary, *self.subset)
        if pairwise is not None:
            # Infinite scores times zeros would be nan.
            pairwise = pairwise.double().clamp_min(FORBIDDEN)
        singles = unary.double().clamp_min(FORBIDDEN)
        if pairwise is not None and self._steps is not None:
            return best_of_forest(singles, pairwise, self._steps).to(unary.dtype)
        if self.states is None:
            return (unary > 0).to(unary.dtype)
        states = self.states.double()
        scores = singles @ states.T
        if self.edges is not None and pairwise is not None:
            both = states[:, self.edges[:, 0]] * states[:, self.edges[:, 1]]
            scores = scores + pairwise @ both.T
        return states[scores.argmax(dim=-1)].to(unary.dtype)


class ChainInference(nn.Module):
    """The best tags of a `LinearChainCRF`, by the Viterbi algorithm in torch operations.

    An exported program has the length of its example, and any batch size that the export declares.
    Export it with a mask for the longest chain, and pad the others.

    Args:
        crf: the trained chain; its parameters are copied, and its rules hold.

    References:
        Viterbi (1967), Error bounds for convolutional codes and an asymptotically optimum decoding
        algorithm.

    Example:
        >>> crf = LinearChainCRF(3, batch_first=True)
        >>> emissions = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> ChainInference(crf)(emissions).tolist() == crf.decode(emissions)
        True
    """

    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor

    def __init__(self, crf: LinearChainCRF):
        super().__init__()
        if not isinstance(crf, LinearChainCRF):
            raise StructureError(f"crf must be a LinearChainCRF; got {shortened(crf)}")
        self.batch_first = crf.batch_first
        for name, scores in zip(TABLES, crf.parameter_scores(), strict=True):
            self.register_buffer(name, scores.detach().clone())

    def forward(self, emissions: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return the best tags `[batch, length]`, -1 where the mask is False.

        Args:
            emissions: `[batch, length, k]` if the chain has `batch_first`, else
                `[length, batch, k]`.
            mask: `[batch, length]` or `[length, batch]`, true in one block of each chain; padding
                may be on either side. None for full length.
        """
        scores = emissions.double()
        if self.batch_first:
            scores = scores.transpose(0, 1)
            if mask is not None:
                mask = mask.transpose(0, 1)
        total = self.start + scores[0]
        stay = torch.arange(total.shape[-1], device=total.device).expand(total.shape)
        pointers = []
        for step in range(1, scores.shape[0]):
            best, before = (total[:, :, None] + self.transitions).max(dim=1)
            further = best + scores[step]
            if mask is not None:
                on = mask[step].bool()[:, None]
                # A chain with padding on its left begins where the mask does.
                is_first = on & ~mask[step - 1].bool()[:, None]
                further = torch.where(is_first, self.start + scores[step], further)
                # Beyond the end of an instance its totals and tags stay as they are.
                further = torch.where(on, further, total)
                before = torch.where(on, before, stay)
            total = further
            pointers.append(before)
        tags = [(total + self.end).argmax(dim=-1)]
        for before in reversed(pointers):
            tags.append(before.gather(1, tags[-1][:, None])[:, 0])
        chosen = torch.stack(tags[::-1], dim=1)
        if mask is None:
            return chosen
        return chosen.masked_fill(~mask.bool().T, -1)


class VAEInference(nn.Module):
    """A trained `DiscreteVAE` from images to scores, the best code and its reconstruction.

    Args:
        vae: the model; its networks are shared, not copied.

    Raises:
        StructureError: its codes have pairwise scores or a space, and are too many to list; or
            categories have pairwise scores.

    Example:
        >>> from models import paper_vae
        >>> form = VAEInference(paper_vae("independent", n=3, pixels=9))
        >>> unary, z, mean = form(torch.zeros(2, 9))
        >>> z.shape, mean.shape
        (torch.Size([2, 3]), torch.Size([2, 9]))
    """

    def __init__(self, vae: DiscreteVAE):
        super().__init__()
        if not isinstance(vae, DiscreteVAE):
            raise StructureError(f"vae must be a DiscreteVAE; got {shortened(vae)}")
        self.encoder = vae.encoder
        self.decoder = vae.decoder
        blank = vae.blank()
        space = space_of(blank)
        if blank.pairwise is not None and not space.free_flips:
            raise StructureError(
                "pairs of categorical variables have no inference form: export the encoder, and "
                "call structured_vae.perturb_and_map or solvers.labels on its scores"
            )
        self.argmax = ArgmaxInference(blank.unary.shape[-1], blank.edges, space)
        self.eval()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return unary scores `[batch, n]`, codes `[batch, n]` and mean images `[batch, pixels]`.

        Args:
            x: `[batch, pixels]`.
        """
        h = self.encoder(x)
        z = self.argmax(h.unary, h.pairwise)
        mean: torch.Tensor = self.decoder.mean(z)
        return h.unary, z, mean


def _check_ends(edges: torch.Tensor, n: int) -> None:
    """Raise if an edge `[e, 2]` ends at no variable.

    Raises:
        StructureError: it does.
    """
    outside = (edges < 0) | (edges >= n)
    if bool(outside.any()):
        place = outside.nonzero()[0].tolist()
        end = int(edges[place[0], place[1]])
        raise StructureError(f"edges must be from 0 to {n - 1}; edges{place} is {end}")


def _listed(space: StateSpace, n: int) -> torch.Tensor:
    """Return every state `[states, n]` of a space.

    Raises:
        StructureError: there are too many.
    """
    count = space.log_count(n)
    like = torch.zeros(1, device="cpu")
    most = torch.tensor(float(MOST_LISTED)).log().item()
    if count is None or count > most + 1e-6:
        raise StructureError(
            f"an inference form lists at most {MOST_LISTED:,} states, and {space.described(n)} has "
            "more: export the network that computes the scores, and call ArgmaxLayer on its output"
        )
    return space.states(n, like)


def _subset(scores: torch.Tensor, fewest: int, most: int) -> torch.Tensor:
    """Return the states `[..., n]` with the best `fewest` to `most` ones."""
    values, places = scores.topk(most, dim=-1)
    forced = torch.arange(most, device=scores.device) < fewest
    chosen = (forced | (values > 0)).to(scores.dtype)
    return torch.zeros_like(scores).scatter(-1, places, chosen)
