"""Bounds of quantised VAEs and of straight-through bits, with priors fitted after training.

    python -m benchmarks.quantisers RUN RUN ... --output results/quantisers.json

Evaluates trained runs on their test images. Then it fits an autoregressive prior to the codes of
each quantised run's training images. A linear prior is fitted to bits and to FSQ; it would have 41
million weights over the values of VQ, which gets a transformer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch

from structured_vae import Run, evaluate_run
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.runs.fit_prior import fit_prior

FITTED: Final = {"fsq": "linear", "vq": "transformer", "lfq": "linear", "bsq": "linear"}
"""The prior that is fitted to the codes of each quantiser."""

SAMPLES: Final = 1
"""Posterior samples of straight-through bits for each image; a code of a quantiser has none."""


def fitted(folder: Path, config: dict[str, Any], epochs: int) -> dict[str, Any]:
    """Return the bound on test images with a prior that is fitted to the training images' codes."""
    name = FITTED[config["quantiser"]]
    start = time.process_time()
    result = fit_prior(folder, name, epochs=epochs)
    return {
        "fitted_prior": name,
        "fitted_epochs": epochs,
        "fitted_kl": result.after.quantities["kl"].value,
        "fitted_bound": result.after.quantities["bound"].value,
        "fitted_seconds": time.process_time() - start,
    }


def judged(folder: Path, epochs: int) -> dict[str, Any]:
    """Return the configuration of a run with what holds of its test images."""
    config = Run.at(folder).config()
    samples = SAMPLES
    quantities = evaluate_run(folder, samples=samples).quantities
    row = {
        "config": config.to_dict(),
        "commit": json.loads((folder / "record.json").read_text())["commit"],
        **{name: quantity.value for name, quantity in quantities.items()},
        "standard_error": quantities["bound"].standard_error,
    }
    if config.model == "quantised":
        row |= fitted(folder, row["config"], epochs)
    return row


def main(arguments: list[str] | None = None) -> None:
    """Evaluate, and write the record after every run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--epochs", type=int, default=3, help="of the fit of a prior")
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    record: dict[str, Any] = {**environment(), "runs": []}
    if chosen.output.exists():
        record["runs"] = json.loads(chosen.output.read_text())["runs"]
    for folder in chosen.runs:
        record["runs"].append(judged(folder, chosen.epochs))
        with whole_file(chosen.output) as unfinished:
            unfinished.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
