"""Conditional random fields over chains: decode, log Z and its gradient, beside pytorch-crf and torch-struct.

    pip install pytorch-crf torch-struct
    python benchmarks/chains.py --output results/labels_chains.json

64 chains of 100 places and 50 tags, all of full length or of 10 to 100 places. Every comparison is
a ratio of median CPU times on one core, measured turn by turn in this process, after scores and
sums were found to be the same. torch-struct, whose potentials are made within its time as a user
has to, has no turn with chains of other lengths.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch
import torch_struct
import torchcrf
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import Contender, medians, on_cores
from structured_vae import LinearChainCRF
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

BATCH, LENGTH, TAGS = 64, 100, 50
SHORTEST = 10
OURS, PYTORCH_CRF, TORCH_STRUCT = "structured-vae", "pytorch-crf", "torch-struct"

# of torch-struct, with today's torch
warnings.filterwarnings("ignore", message=".*arg_constraints.*")


class Chains:
    """One batch, and every library's way with it."""

    def __init__(self, shortest: int):
        generator = torch.Generator().manual_seed(0)
        self.emissions = torch.randn(BATCH, LENGTH, TAGS, generator=generator, requires_grad=True)
        self.tags = torch.randint(TAGS, (BATCH, LENGTH), generator=generator)
        lengths = torch.randint(shortest, LENGTH + 1, (BATCH,), generator=generator)
        self.mask = torch.arange(LENGTH) < lengths[:, None]
        self.whole = bool(self.mask.all())
        self.ours = LinearChainCRF(TAGS, batch_first=True)
        for parameter in self.ours.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator)
        self.theirs = torchcrf.CRF(TAGS, batch_first=True)
        self.theirs.load_state_dict(self.ours.state_dict())

    def struct(self) -> torch_struct.LinearChainCRF:
        """Potentials `[batch, length - 1, next, before]`, as torch-struct takes them."""
        emissions, crf = self.emissions, self.ours
        potentials = emissions[:, 1:, :, None] + crf.transitions.T
        first = (emissions[:, 0] + crf.start_transitions)[:, None, None, :]
        last = crf.end_transitions[:, None]
        ends = torch.zeros(LENGTH - 1, 1, 1), torch.zeros(LENGTH - 1, 1, 1)
        ends[0][0], ends[1][-1] = 1, 1
        return torch_struct.LinearChainCRF(potentials + ends[0] * first + ends[1] * last)

    def decode(self) -> dict[str, Contender]:
        """The best tags of every chain, as lists or as torch-struct gives them."""
        contenders: dict[str, Contender] = {
            OURS: lambda: self.ours.decode(self.emissions, self.mask),
            PYTORCH_CRF: lambda: self.theirs.decode(self.emissions, self.mask),
        }
        if self.whole:
            contenders[TORCH_STRUCT] = lambda: self.struct().argmax
        return contenders

    def log_partition(self) -> dict[str, Contender]:
        """Log Z alone, without gradient."""
        return {name: torch.no_grad()(call) for name, call in self._sums().items()}

    def gradient(self) -> dict[str, Contender]:
        """Log Z, and its gradient in emissions and parameters."""
        leaves = (
            [self.emissions, *self.ours.parameters()],
            [self.emissions, *self.theirs.parameters()],
        )

        def of(call: Contender, inputs: list[torch.Tensor]) -> Contender:
            return lambda: torch.autograd.grad(call().sum(), inputs)  # type: ignore[attr-defined]

        return {name: of(call, leaves[name == PYTORCH_CRF]) for name, call in self._sums().items()}

    def _sums(self) -> dict[str, Contender]:
        by_steps, on = self.emissions.transpose(0, 1), self.mask.T
        contenders: dict[str, Contender] = {
            OURS: lambda: self.ours.log_partition(self.emissions, self.mask),
            PYTORCH_CRF: lambda: self.theirs._compute_normalizer(by_steps, on),
        }
        if self.whole:
            contenders[TORCH_STRUCT] = lambda: self.struct().partition
        return contenders

    def check(self) -> None:
        """All libraries have the same answers."""
        with torch.no_grad():
            first, *others = (call() for call in self._sums().values())
            assert all(torch.allclose(first, each, rtol=1e-4) for each in others)
        first, *others = (call() for call in self.gradient().values())
        for each in others:
            assert all(
                torch.allclose(a, b, rtol=1e-2, atol=1e-3) for a, b in zip(first, each, strict=True)
            )
        best = [self.decode()[name]() for name in (OURS, PYTORCH_CRF)]
        scores = []
        for chains in best:
            tags = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(chain) for chain in chains], batch_first=True
            )
            tags = torch.nn.functional.pad(tags, (0, LENGTH - tags.shape[1]))
            scores.append(
                self.theirs._compute_score(self.emissions.transpose(0, 1), tags.T, self.mask.T)
            )
        assert torch.allclose(*scores, rtol=1e-5)
        assert self.ours.solve(self.emissions, self.mask).optimal.all()


def table(title: str, found: Mapping[str, Mapping[str, float]]) -> Table:
    """Milliseconds, and by what each is slower than ours."""
    shown = Table("", *found, title=f"{title}: ms, and times ours")
    for name in (OURS, PYTORCH_CRF, TORCH_STRUCT):
        cells = [
            f"{row[name]:.1f} ({row[name] / row[OURS]:.1f})" if name in row else ""
            for row in found.values()
        ]
        shown.add_row(name, *cells)
    return shown


def main() -> None:
    """Measures, prints, and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of CPU time for each contender"
    )
    parser.add_argument("--output", type=Path, default=Path("results/labels_chains.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    shape = {"batch": BATCH, "length": LENGTH, "tags": TAGS, "shortest": SHORTEST}
    record: dict[str, Any] = {
        **environment(),
        "rounds": options.rounds,
        "clock": "process_time",
        **shape,
    }
    console = Console(width=100)
    with on_cores(1):
        for title, shortest in (("full length", LENGTH), ("other lengths", SHORTEST)):
            chains = Chains(shortest)
            chains.check()
            tasks = {
                "decode": chains.decode(),
                "log Z": chains.log_partition(),
                "gradient": chains.gradient(),
            }
            limits = {"rounds": options.rounds, "warm_up": 1, "seconds": options.seconds}
            record[title] = {
                task: medians(contenders, clock=time.process_time, **limits)
                for task, contenders in tasks.items()
            }
            console.print(table(title, record[title]))
    with whole_file(options.output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {options.output}")


if __name__ == "__main__":
    main()
