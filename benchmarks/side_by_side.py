"""One task in another package and in this one, in one process: pixel subsets in torch-imle, a Gaussian VAE in pythae.

    python -m benchmarks.side_by_side --output results/side_by_side.json
    python -m benchmarks.side_by_side --tasks calls --output results/calls.json

They are asked where they are installed: `pip install pythae`, and torch-imle from its repository,
`pip install git+https://github.com/uclnlp/torch-imle`. The first task is that of `pixel_subsets.py`
at k = 20: the same networks and images, and the learning rate (of torch-imle the step beta too)
that is best on validation images with another seed. The second has the same layers, images, batches
and Adam, each with weights of its own start, and both results are judged by one evaluation.
Shortest paths beside PyEPO are in `shortest_paths.py`. The task `calls` measures single calls, those
of `calls_beside_peers.py`. One thread; seconds are of CPU time, of training alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, Final

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch
from torch import nn

from models.vaes import GaussianVAE
from structured_vae import KOfN, TrainConfig, load_dataset, load_vae, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.vaes import evaluate_gaussian

from . import pixel_subsets
from .calls_beside_peers import CALLS, call_rows
from .pixel_subsets import Mask, accuracy, images, trained

K: Final = 20
BETAS: Final = (10.0, 100.0, 1000.0)
N, HIDDEN, RATE, BATCH = 15, 300, 1e-3, 100
DRAWS: Final = 20
"""Codes an image in the evaluation."""


def of_imle(beta: float) -> Mask:
    """Top-k behind torch-imle's wrapper: one sample, its sum-of-gamma noise, both temperatures 1."""
    from imle.noise import SumOfGammaNoiseDistribution
    from imle.target import TargetDistribution
    from imle.wrapper import imle

    subsets = KOfN(K)
    noise = SumOfGammaNoiseDistribution(k=K)
    layer = imle(subsets.argmax, TargetDistribution(alpha=1.0, beta=beta), noise)
    return lambda scores, generator: subsets.argmax(scores) if generator is None else layer(scores)


def subset_rows(epochs: int, seeds: list[int]) -> Iterator[dict[str, Any]]:
    """Accuracies of the methods, each at its best setting on the validation images."""
    data = images()
    methods: dict[str, dict[str, Callable[[], Mask]]] = {
        "ArgmaxLayer(KOfN(k))": {"": lambda: pixel_subsets.implicit_mle(K)},
    }
    if find_spec("imle") is not None:
        methods["torch-imle"] = {
            f"beta {beta:g}": lambda beta=beta: of_imle(beta) for beta in BETAS
        }
    for name, settings in methods.items():
        tried = {}
        for (setting, make), rate in product(settings.items(), pixel_subsets.RATES):
            mask = make()
            select, judge, _ = trained(
                mask, rate, data["train"], pixel_subsets.SELECTION_SEED, epochs
            )
            tried[setting, rate] = accuracy(mask, select, judge, data["validation"])
        setting, rate = max(tried, key=lambda each: tried[each])
        row: dict[str, Any] = {
            "method": name,
            "setting": setting,
            "rate": rate,
            "accuracy": [],
            "seconds": [],
        }
        row["validation"] = [[*each, value] for each, value in tried.items()]
        for seed in seeds:
            mask = settings[setting]()
            select, judge, seconds = trained(mask, rate, data["train"], seed, epochs)
            row["accuracy"].append(accuracy(mask, select, judge, data["test"]))
            row["seconds"].append(seconds)
        yield row


def fresh(seed: int) -> GaussianVAE:
    """Layers such as those of `train`, with weights that the seed gives."""
    torch.manual_seed(seed)
    return GaussianVAE(784, N, HIDDEN)


def bounds(vae: GaussianVAE) -> dict[str, float]:
    """Of the test images."""
    x = torch.from_numpy(load_dataset("fashion-mnist-mini").test.images)
    found = evaluate_gaussian(
        vae.eval(), [(x,)], torch.Generator().manual_seed(0), DRAWS
    ).quantities
    return {name: found[name].value for name in ("bound", "minus_log_p")}


def ours(epochs: int, seed: int, **options: Any) -> dict[str, float]:
    """A training by `train`, pictures and evaluation at its end alone."""
    config = TrainConfig(
        epochs=epochs, seed=seed, n=N, hidden=HIDDEN, learning_rate=RATE, logger="none", evaluate_every=epochs,
        picture_every=0, sides=1, rate_decay="none", kl_warmup=0, **options,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = train(config, Path(folder) / "run", False)
        seconds = time.process_time() - start
        vae = load_vae(run.folder, "last")
        if isinstance(vae, GaussianVAE):
            return {"seconds": seconds, **bounds(vae)}
        return {"seconds": seconds, "bound": float(run.metrics["test/bound"][-1])}


def of_pythae(epochs: int, seed: int) -> dict[str, float]:
    """The same training by pythae's pipeline."""
    from pythae.models import VAE, VAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.pipelines import TrainingPipeline
    from pythae.trainers import BaseTrainerConfig

    networks = fresh(seed)

    class Encoder(BaseEncoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = networks.encoder

        def forward(self, x: torch.Tensor) -> Any:
            mean, log_variance = self.layers(x).chunk(2, dim=-1)
            return ModelOutput(embedding=mean, log_covariance=log_variance)

    class Decoder(BaseDecoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(networks.decoder, nn.Sigmoid())

        def forward(self, z: torch.Tensor) -> Any:
            return ModelOutput(reconstruction=self.layers(z))

    config = VAEConfig(input_dim=(784,), latent_dim=N, reconstruction_loss="bce")
    vae = VAE(config, Encoder(), Decoder())
    x = load_dataset("fashion-mnist-mini").train.images
    with tempfile.TemporaryDirectory() as folder:
        training = BaseTrainerConfig(
            output_dir=folder,
            num_epochs=epochs,
            learning_rate=RATE,
            per_device_train_batch_size=BATCH,
            seed=seed,
        )
        start = time.process_time()
        TrainingPipeline(model=vae, training_config=training)(train_data=x)
        seconds = time.process_time() - start
    networks.load_state_dict(
        {**_named("encoder", vae.encoder.layers), **_named("decoder", vae.decoder.layers[0])}
    )
    return {"seconds": seconds, **bounds(networks)}


def _named(part: str, layers: nn.Module) -> dict[str, torch.Tensor]:
    return {f"{part}.{name}": value for name, value in layers.state_dict().items()}


def vae_rows(epochs: int, seeds: list[int]) -> Iterator[dict[str, Any]]:
    """Bounds of the trainings, a row each."""
    methods: dict[str, Callable[[int, int], dict[str, float]]] = {
        "train, --encoder gaussian": lambda epochs, seed: ours(epochs, seed, encoder="gaussian"),
        "train, 15 coupled bits": lambda epochs, seed: ours(
            epochs, seed, estimator="score_function", recipe="elbo"
        ),
    }
    if find_spec("pythae") is not None:
        methods["pythae, VAE"] = of_pythae
    for name, method in methods.items():
        runs = [method(epochs, seed) for seed in seeds]
        yield {"method": name, **{key: [run[key] for run in runs] for key in runs[0]}}


def installed(package: str, module: str) -> str | None:
    """The version of a peer; "source" where it lies on the path without one, None where it does not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "source" if find_spec(module) else None


def main(arguments: list[str] | None = None) -> None:
    """Measures, and writes the record after every method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tasks", nargs="+", choices=("subsets", "vae", "calls"), default=("subsets", "vae")
    )
    parser.add_argument("--subset-epochs", type=int, default=2)
    parser.add_argument("--vae-epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "'saved_variables' is deprecated")
    record: dict[str, Any] = environment()
    if chosen.tasks == ["calls"]:
        record["peers"] = {call.peer: installed(call.peer, call.module) for call in CALLS}
    else:
        record |= {"seeds": chosen.seeds, "k": K, "n": N}
        record |= {"subset_epochs": chosen.subset_epochs, "vae_epochs": chosen.vae_epochs}
        record["peers"] = {
            "pythae": installed("pythae", "pythae"),
            "torch-imle": installed("torch-imle", "imle"),
        }
    made = {
        "subsets": lambda: subset_rows(chosen.subset_epochs, chosen.seeds),
        "vae": lambda: vae_rows(chosen.vae_epochs, chosen.seeds),
        "calls": call_rows,
    }
    for task in chosen.tasks:
        record[task] = []
        for row in made[task]():
            record[task].append(row)
            print(task, row, flush=True)
            with whole_file(chosen.output) as part:
                part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
