"""One model of each kind, trained, exported, and evaluated again by numpy alone."""

import math
from statistics import mean, stdev

import numpy as np
import pytest
from faces import few_faces
from independent_evaluator import evaluated
from safetensors.numpy import load_file, save_file

from structured_vae import TrainConfig, evaluate_run, export_run, train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The number of training batches"),  # tiny data alone
]

SAMPLES, AGAIN = 20, 12
BITS = {"hidden": 30, "epochs": 3, "picture_every": 0, "logger": "none"}
KINDS = {
    "independent bits": {**BITS, "n": 8, "encoder": "independent", "estimator": "arm", "recipe": "elbo"},
    "supermodular bits": {**BITS, "n": 7, "encoder": "supermodular", "estimator": "score_function", "recipe": "elbo"},
    "general bits": {**BITS, "n": 7, "encoder": "general", "estimator": "ram", "recipe": "elbo"},
    "perturb-and-MAP": {**BITS, "n": 7, "encoder": "general", "estimator": "direct"},
    "a chain of bits": {**BITS, "n": 24, "encoder": "general", "bandwidth": 1, "estimator": "ram", "recipe": "elbo"},
    "bits, a factorised prior": {
        **BITS, "n": 7, "encoder": "general", "estimator": "ram", "recipe": "elbo", "prior": "factorised",
    },
    "bits, a Gibbs prior": {
        **BITS, "n": 7, "encoder": "general", "estimator": "ram", "recipe": "elbo", "prior": "gibbs",
    },
    "bits, a linear prior": {
        **BITS, "n": 7, "encoder": "general", "estimator": "ram", "recipe": "elbo", "prior": "linear",
    },
    "bits, a masked prior": {
        **BITS, "n": 7, "encoder": "independent", "estimator": "straight_through", "recipe": "elbo", "prior": "made",
        "prior_hidden": 20, "prior_layers": 2,
    },
    "bits, a transformer": {
        **BITS, "n": 7, "encoder": "independent", "estimator": "exact", "recipe": "elbo", "prior": "transformer",
        "prior_hidden": 16,
    },
    "bits one by one": {
        **BITS, "n": 7, "encoder": "general", "estimator": "ram", "recipe": "elbo", "prior": "linear",
        "posterior": "autoregressive",
    },
    "a category": {**BITS, "k": 12, "encoder": "categorical", "estimator": "exact", "recipe": "elbo"},
    "a category, a learnt prior": {
        **BITS, "k": 12, "encoder": "categorical", "estimator": "exact", "recipe": "elbo", "prior": "factorised",
    },
    "a chain of categories": {
        **BITS, "k": 4, "variables": 4, "couplings": "general", "bandwidth": 1, "encoder": "categorical",
        "estimator": "ram", "recipe": "elbo",
    },
    "categories, Potts": {
        **BITS, "k": 4, "variables": 3, "couplings": "potts", "encoder": "categorical", "estimator": "score_function",
        "recipe": "elbo",
    },
    "categories, tables": {
        **BITS, "k": 4, "variables": 3, "couplings": "general", "encoder": "categorical",
        "estimator": "score_function", "recipe": "elbo",
    },
    "a Gaussian": {**BITS, "n": 6, "encoder": "gaussian"},
    "finite scalars": {**BITS, "n": 6, "model": "quantised", "quantiser": "fsq", "codes": 4},
    "a codebook": {**BITS, "n": 4, "model": "quantised", "quantiser": "vq", "codes": 8},
    "signs": {**BITS, "n": 16, "model": "quantised", "quantiser": "lfq"},
    "signs on a sphere": {**BITS, "n": 16, "model": "quantised", "quantiser": "bsq"},
    "a mixture": {"model": "mixture", "labels": 40, "epochs": 3, "picture_every": 0, "logger": "none"},
    "a mixture, own styles": {
        "model": "mixture", "labels": 40, "styles": "own", "epochs": 3, "picture_every": 0, "logger": "none",
    },
}  # fmt: skip


def compared(run, folder, images, labels):
    """Our quantities and those of numpy, by name: one value where nothing is drawn, else several draws of it."""
    ours = evaluate_run(run, samples=SAMPLES).to_dict()["quantities"]
    again = [evaluated(folder, images, labels, SAMPLES, seed) for seed in range(AGAIN)]
    assert len(again[0]) >= 4
    for name in again[0]:
        theirs = [each[name] for each in again]
        yield name, ours[name]["value"], theirs


def check(run, folder, images, labels):
    exact, whole = 0, math.nan
    for name, ours, theirs in compared(run, folder, images, labels):
        whole = ours if name == "bound" else whole
        deviation = stdev(theirs)
        if deviation < 1e-9:  # nothing is drawn
            of_nats = (
                {"rel": 1e-12, "abs": 2e-6 * whole} if name == "gap" else {"rel": 2e-6, "abs": 2e-5}
            )
            assert ours == pytest.approx(theirs[0], **of_nats), (
                name
            )  # a gap is a difference of two bounds in float32
            exact += 1
        else:
            error = deviation * math.sqrt(1 + 1 / AGAIN)
            # 12 draws: a t of 11 degrees of freedom
            assert abs(ours - mean(theirs)) < 6 * error, name
            assert error < 0.02 * max(abs(ours), 1.0), (
                name
            )  # so that a wrong formula would not pass
    assert exact >= 1


@pytest.mark.usefixtures("on_tiny_images")
@pytest.mark.parametrize("kind", KINDS)
def test_numpy_finds_what_evaluate_finds(tmp_path, kind, tiny_images):
    train(TrainConfig.from_dict(KINDS[kind]), tmp_path / "run", progress=False)
    export_run(tmp_path / "run", tmp_path / "exported")
    test = tiny_images.test
    check(tmp_path / "run", tmp_path / "exported", test.images, test.labels)


def test_numpy_finds_what_evaluate_finds_of_faces(tmp_path, runs_read):
    tiny_faces = few_faces()
    runs_read(tiny_faces)
    config = TrainConfig.from_dict(
        {"model": "attributes", "encoder": "general", "labels": 4, "channels": 1, "epochs": 2, "picture_every": 0,
         "label_weight": 1.0, "data": {"name": "celeba", "batch_size": 8}, "logger": "none"}
    )  # fmt: skip
    train(config, tmp_path / "run", progress=False)
    export_run(tmp_path / "run", tmp_path / "exported", license="other")
    test = tiny_faces.test
    check(tmp_path / "run", tmp_path / "exported", np.asarray(test.images) / 255, test.labels)


def test_a_wrong_weight_is_noticed(tmp_path, on_tiny_images, tiny_images):
    """The comparison has power: one layer is off by a thousandth."""
    train(TrainConfig.from_dict(KINDS["a category"]), tmp_path / "run", progress=False)
    folder = export_run(tmp_path / "run", tmp_path / "exported")
    weights = load_file(folder / "model.safetensors")
    weights["decoder.last.weight"] *= 1.001
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(AssertionError):
        check(tmp_path / "run", folder, tiny_images.test.images, tiny_images.test.labels)
