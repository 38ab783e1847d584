"""Calls that torch users ask for, beside the package that they know: each as one pair of functions.

`python -m benchmarks.side_by_side --tasks calls` measures them, in turns, in one process. A call that
the other package refuses has the class of its error in place of a time. Values are compared first,
wherever both packages compute the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

import torch
from torch import func

from structured_vae import KOfN, LinearChainCRF, Segments
from structured_vae.inference import ChainInference

from .interleaved import Contender, medians

CHAINS, LENGTH, TAGS = 32, 30, 10
POSITIONS, LABELS, LONGEST = 32, 5, 8
CHOICES, CHOSEN, ROWS = 50, 5, 64
DRAWS: Final = 10
ROUNDS: Final = 30


@dataclass(frozen=True)
class Call:
    """One call in both packages.

    Attributes:
        item: the number of the item in the issue, 1 to 8.
        what: the call in words.
        peer: the other package.
        module: the name under which it is imported.
        make: imports it, and returns the call of this package and that of the peer.
        same: whether both return the same values.
    """

    item: int
    what: str
    peer: str
    module: str
    make: Callable[[], tuple[Contender, Contender]]
    same: bool = True


def chains() -> tuple[LinearChainCRF, Any, torch.Tensor, torch.Tensor]:
    """Return our chain, that of pytorch-crf with its parameters, emissions and tags."""
    import torchcrf

    generator = torch.Generator().manual_seed(0)
    theirs = torchcrf.CRF(TAGS, batch_first=True)
    mine = LinearChainCRF(TAGS, batch_first=True)
    mine.load_state_dict(theirs.state_dict())
    emissions = torch.randn((CHAINS, LENGTH, TAGS), generator=generator)
    tags = torch.randint(TAGS, (CHAINS, LENGTH), generator=generator)
    return mine, theirs, emissions, tags


def gradients_per_chain() -> tuple[Contender, Contender]:
    """Return gradients in the emissions: one vmap, and a loop, since vmap fails in pytorch-crf."""
    mine, theirs, emissions, tags = chains()

    def likelihood(one: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return mine(one[None], labels[None])

    per_chain = func.vmap(func.grad(likelihood))

    def loop() -> torch.Tensor:
        rows = []
        for one, labels in zip(emissions, tags, strict=True):
            leaf = one.clone().requires_grad_()
            rows.append(torch.autograd.grad(theirs(leaf[None], labels[None]), leaf)[0])
        return torch.stack(rows)

    return lambda: per_chain(emissions, tags), loop


def full_graph() -> tuple[Contender, Contender]:
    """Return the log likelihood with its gradient, compiled to one graph."""
    mine, theirs, emissions, tags = chains()
    mask = torch.ones((CHAINS, LENGTH), dtype=torch.bool)

    def compiled(crf: Any) -> Contender:
        log_p = torch.compile(lambda x: crf(x, tags, mask), fullgraph=True, backend="aot_eager")
        leaf = emissions.clone().requires_grad_()
        return lambda: torch.autograd.grad(log_p(leaf), leaf)[0]

    return compiled(mine), compiled(theirs)


class _Decoder(torch.nn.Module):
    """The best tags of a chain of pytorch-crf as a module."""

    def __init__(self, crf: Any):
        super().__init__()
        self.crf = crf

    def forward(self, emissions: torch.Tensor) -> Any:
        return self.crf.decode(emissions)


def exported() -> tuple[Contender, Contender]:
    """Return the best tags by a program that `torch.export` made."""
    mine, theirs, emissions, _ = chains()

    def program(module: torch.nn.Module) -> Contender:
        run = torch.export.export(module, (emissions,)).module()
        return lambda: run(emissions)

    return program(ChainInference(mine)), lambda: program(_Decoder(theirs))()


def masked_subsets() -> tuple[Contender, Contender]:
    """Return how much each of the allowed variables is chosen, and a gradient.

    entmax projects the scores on the weights that add up to k. Ours are the probabilities of a
    Gibbs distribution over subsets, so the values differ.
    """
    import entmax

    generator = torch.Generator().manual_seed(0)
    scores = torch.randn((ROWS, CHOICES), generator=generator, requires_grad=True)
    along = torch.randn((ROWS, CHOICES), generator=generator)
    mask = torch.rand((ROWS, CHOICES), generator=generator) < 0.8
    budget = torch.full((ROWS, 1), float(CHOSEN))
    subsets = KOfN(CHOSEN)

    def gradient(weights: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad((weights * along).sum(), scores)[0]

    return (
        lambda: gradient(subsets.gibbs(scores, mask).marginals),
        lambda: gradient(entmax.budget_bisect(scores.masked_fill(~mask, -1e4), budget=budget)),
    )


def sets_of_tags() -> tuple[Contender, Contender]:
    """Return the log probability of all tags that sets allow."""
    mine, theirs, emissions, tags = chains()
    sets = torch.nn.functional.one_hot(tags, TAGS).bool()
    sets[:, ::3] = True  # nothing is known of every third position
    return lambda: mine(emissions, sets), lambda: theirs(emissions, sets)


def padded_on_the_left() -> tuple[Contender, Contender]:
    """Return the log likelihood of chains whose first positions are padding."""
    mine, theirs, emissions, tags = chains()
    mask = torch.arange(LENGTH).expand(CHAINS, LENGTH) >= 5
    return lambda: mine(emissions, tags, mask), lambda: theirs(emissions, tags, mask)


def segments() -> tuple[Contender, Contender]:
    """Return log Z of cuts into segments with its gradient in their scores."""
    import torch_struct

    generator = torch.Generator().manual_seed(0)
    shape = (CHAINS, POSITIONS, LONGEST, LABELS)
    scores = torch.randn(shape, generator=generator, requires_grad=True)
    space = Segments(POSITIONS, LABELS, LONGEST)

    def ours() -> torch.Tensor:
        log_z = space.gibbs(space.scores(scores)).log_partition
        return torch.autograd.grad(log_z.sum(), scores)[0]

    starts = torch.arange(POSITIONS)[:, None]
    fits = starts + torch.arange(1, LONGEST + 1) <= POSITIONS

    def theirs() -> torch.Tensor:
        # By first position, length from 0 on, label and label before: these do not matter here.
        allowed = scores.masked_fill(~fits[:, :, None], -1e9)
        potentials = torch.nn.functional.pad(allowed, (0, 0, 1, 0), value=-1e9)
        potentials = potentials[..., None].expand(*potentials.shape, LABELS)
        log_z = torch_struct.SemiMarkovCRF(potentials.contiguous()).partition
        return torch.autograd.grad(log_z.sum(), scores)[0]

    return ours, theirs


def perturbed_loss_of_jax() -> tuple[Contender, Contender]:
    """Return the gradient of a perturbed Fenchel-Young loss of subsets, compiled by JAX.

    It is the mean state under noise less the target. optax has the mean state; its own loss would
    have a gradient of much higher variance. The noise has another distribution in each package.
    """
    import jax
    import jax.numpy as jnp
    from optax.perturbations import make_perturbed_fun

    from structured_vae.jax import perturbed_loss

    generator = torch.Generator().manual_seed(0)
    scores = jnp.asarray(torch.randn((ROWS, CHOICES), generator=generator).numpy())
    subsets = KOfN(CHOSEN)
    target = jnp.asarray(subsets.argmax(torch.randn((ROWS, CHOICES), generator=generator)).numpy())
    key = jax.random.key(0)

    def loss(values: Any) -> Any:
        return perturbed_loss(values, target=target, solver=subsets, key=key, samples=DRAWS).sum()

    def best(values: Any) -> Any:
        return jax.nn.one_hot(jax.lax.top_k(values, CHOSEN)[1], CHOICES).sum(axis=-2)

    mean_state = make_perturbed_fun(best, num_samples=DRAWS, sigma=1.0)

    def difference(values: Any) -> Any:
        return jax.vmap(mean_state)(jax.random.split(key, ROWS), values) - target

    def timed(function: Callable[[Any], Any]) -> Contender:
        compiled = jax.jit(function)
        return lambda: torch.from_numpy(jax.device_get(compiled(scores)).copy())

    return timed(jax.grad(loss)), timed(difference)


CALLS: Final = (
    Call(1, "gradient of each chain", "pytorch-crf", "torchcrf", gradients_per_chain),
    Call(1, "likelihood and gradient, fullgraph=True", "pytorch-crf", "torchcrf", full_graph),
    Call(2, "best tags by torch.export", "pytorch-crf", "torchcrf", exported),
    Call(3, "5 of 50 with a mask, gradient", "entmax", "entmax", masked_subsets, same=False),
    Call(4, "sets of possible tags", "pytorch-crf", "torchcrf", sets_of_tags),
    Call(4, "padding on the left", "pytorch-crf", "torchcrf", padded_on_the_left),
    Call(4, "segments, gradient of log Z", "torch-struct", "torch_struct", segments),
    Call(
        7,
        "perturbed loss of 5 of 50, gradient",
        "optax",
        "optax",
        perturbed_loss_of_jax,
        same=False,
    ),
)


def call_rows(rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """Measure the calls whose other package is installed: one row each, in ms of CPU time."""
    for call in CALLS:
        if find_spec(call.module) is None:
            continue
        ours, theirs = call.make()
        row: dict[str, Any] = {"item": call.item, "call": call.what, "peer": call.peer}
        contenders = {"ours": ours, "theirs": theirs}
        value: Any = ours()
        try:
            other = theirs()
        except Exception as error:  # whatever the other package raises
            row["refused"] = type(error).__name__
            del contenders["theirs"]
        else:
            if call.same:
                torch.testing.assert_close(value, other, rtol=1e-3, atol=1e-3)
        times = medians(contenders, rounds, clock=time.process_time)
        yield {**row, **times}
