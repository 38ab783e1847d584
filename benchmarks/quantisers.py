"""Bounds of quantised VAEs and of straight-through bits, with priors fitted after training.

    python -m benchmarks.quantisers RUN RUN ... --output results/quantisers.json

Evaluates trained runs on their test images. Then it fits an autoregressive prior to the codes of
each quantised run's training images. A linear prior is fitted to bits and to FSQ; it would have 41
million weights over the values of VQ, which gets a transformer.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, Final

import torch

from models import QuantisedVAE, quantised_vae
from structured_vae import DataConfig, Run, TrainConfig, evaluate_run, load_dataset, load_vae
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.training.prior_fit import fit_prior

FITTED: Final = {"fsq": "linear", "vq": "transformer", "lfq": "linear", "bsq": "linear"}
"""The prior that is fitted to the codes of each quantiser."""

TOGETHER: Final = 500
"""Images that are encoded at once."""

SAMPLES: Final = 1
"""Posterior samples of straight-through bits for each image; a code of a quantiser has none."""


def codes_of(vae: QuantisedVAE, images: torch.Tensor) -> torch.Tensor:
    """Return the codes `[count, n]` of images."""
    with torch.no_grad():
        return torch.cat([vae.code(x) for x in images.split(TOGETHER)])


def fitted(config: TrainConfig, folder: Path, epochs: int) -> dict[str, Any]:
    """Return the test images' mean -log p(z) of a prior fitted to the training images' codes."""
    vae = load_vae(folder)
    data: DataConfig = config.data
    dataset = load_dataset(data.name, data.root, data.binarisation)
    quantiser = config.to_dict()["quantiser"]
    prior = quantised_vae(
        quantiser,
        size=vae.image_size,
        n=vae.quantiser.variables,
        codes=vae.quantiser.k,
        dimensions=vae.quantiser.dimensions,
        prior=FITTED[quantiser],
    ).prior
    train_codes = codes_of(vae, torch.from_numpy(dataset.train.images))
    start = time.process_time()
    generator = torch.Generator().manual_seed(config.seed)
    costs = fit_prior(prior, train_codes, generator, epochs=epochs)
    seconds = time.process_time() - start
    test_codes = codes_of(vae, torch.from_numpy(dataset.test.images))
    with torch.no_grad():
        log_p = torch.cat([prior.log_prob(z) for z in test_codes.split(TOGETHER)])
    return {
        "fitted_prior": FITTED[quantiser],
        "fitted_epochs": epochs,
        "fitted_kl": -log_p.double().mean().item(),
        "fitted_kl_train": costs[-1],
        "fitted_seconds": seconds,
    }


def judged(folder: Path, epochs: int) -> dict[str, Any]:
    """Return the configuration of a run with what holds of its test images."""
    config = Run.at(folder).config()
    samples = SAMPLES
    if config.model == "quantised":
        samples = None
    quantities = evaluate_run(folder, samples=samples).quantities
    row = {
        "config": config.to_dict(),
        "commit": json.loads((folder / "record.json").read_text())["commit"],
        **{name: quantity.value for name, quantity in quantities.items()},
        "standard_error": quantities["bound"].standard_error,
    }
    if config.model == "quantised":
        row |= fitted(config, folder, epochs)
        row["fitted_bound"] = row["reconstruction"] + row["fitted_kl"]
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
