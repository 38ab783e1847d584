"""Networks, images, estimators, callbacks and loggers of one's own, through training and what follows."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from enumeration import all_bits, softmax
from lightning.pytorch.loggers import CSVLogger, WandbLogger
from own_networks import Categories, convolutional_vae
from torch import nn
from torch.utils.data import TensorDataset
from training_hooks import at_call

from models import DiscreteVAE, Potentials, load_pretrained, paper_vae
from structured_vae import (
    ConfigError,
    DataConfig,
    Direct,
    ScoreFunction,
    TrainConfig,
    elbo_recipe,
    evaluate_run,
    export_run,
    load_vae,
    resume,
    train,
)
from structured_vae.data import dataset_of_images, load_dataset
from structured_vae.errors import DataError, EstimatorError, MissingPackageError, RunError
from structured_vae.explorer import open_model
from structured_vae.runs import Run
from structured_vae.runs.custom_objects import configured, custom_images
from structured_vae.runs.gradients import gradient_figure
from structured_vae.runs.trainer.loggers import Tracked, ended

SMALL = {"epochs": 2, "picture_every": 0, "recipe": "elbo", "progress": False, "batch_size": 50}


@pytest.fixture(scope="module")
def arrays():
    """Grey images, some of each split."""
    full = load_dataset("fashion-mnist-mini")
    return {
        name: full.split(name).images[:count].reshape(-1, 28, 28)
        for name, count in (("train", 150), ("validation", 50), ("test", 50))
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory, arrays):
    folder = tmp_path_factory.mktemp("own") / "run"
    return train(folder=folder, model=convolutional_vae(), data=arrays, **SMALL)


def state(folder, which="last"):
    return torch.load(Path(folder) / "checkpoints" / f"{which}.ckpt", weights_only=True)


def assert_same(first, second):
    one, other = state(first), state(second)
    assert one["state_dict"].keys() == other["state_dict"].keys()
    for name, value in one["state_dict"].items():
        assert torch.equal(value, other["state_dict"][name]), name
    for key, values in one["optimizer_states"][0]["state"].items():
        assert all(
            torch.equal(each, other["optimizer_states"][0]["state"][key][name])
            for name, each in values.items()
        )


class Stopped(pl.Callback):
    """Interrupts the first step, as Ctrl-C does."""

    def on_train_batch_end(self, *_):
        raise KeyboardInterrupt


def test_an_interrupted_run_of_custom_networks_is_resumed_in_python(tmp_path, arrays):
    folder = tmp_path / "run"
    advice = rf"structured_vae.resume\('{folder}', model=..., data=...\)$"
    with pytest.raises(KeyboardInterrupt, match=advice):
        train(folder=folder, model=convolutional_vae(), data=arrays, callbacks=[Stopped()], **SMALL)


def test_a_finished_run_of_custom_networks_gets_more_epochs_in_python(finished, arrays):
    with pytest.raises(RunError, match=r"structured_vae.resume\(.*, epochs=4, model=..., data="):
        resume(finished.folder, model=convolutional_vae(), data=arrays)


def test_networks_of_another_size_are_not_called_a_damage(finished, arrays, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished.folder, folder)
    others = convolutional_vae(bits=5)
    message = (
        rf"do not fit model=: state_dict\['.*'\] has the shape \[.*\], and the network \[.*\]\. "
        rf"Pass what .* structured_vae.resume\('{folder}', model=..., data=...\)$"
    )
    for use in (
        lambda: resume(folder, epochs=3, model=others, data=arrays, progress=False),
        lambda: evaluate_run(folder, model=others, data=arrays),
        lambda: load_vae(folder, model=others),
    ):
        with pytest.raises(RunError, match=message) as refusal:
            use()
        assert "damaged" not in str(refusal.value)
    (folder / "checkpoints" / "last.ckpt").unlink()
    (folder / "checkpoints" / "best.ckpt").unlink()
    rows = (folder / "metrics.csv").read_text().splitlines(keepends=True)
    (folder / "metrics.csv").write_text("".join(rows[:2]))  # stopped in the first epoch
    with pytest.raises(RunError, match=message):
        resume(folder, model=others, data=arrays, progress=False)


def test_advice_for_a_run_of_own_networks_is_a_call_in_python(finished, arrays, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished.folder, folder)
    again = rf"structured_vae.resume\('{folder}', {{}}model=..., data=...\)"
    with pytest.raises(RunError, match=rf"holds a run. Resume it: {again.format('')}; or name"):
        train(folder=folder, model=convolutional_vae(), data=arrays, **SMALL)
    passed = {"model": convolutional_vae(), "data": arrays}
    (folder / "checkpoints" / "last.ckpt").write_bytes(b"half of it")
    best = again.format("start='best', ")
    with pytest.raises(RunError, match=rf"last.ckpt is damaged .* may still serve: {best}$"):
        resume(folder, epochs=3, progress=False, **passed)
    (folder / "checkpoints" / "best.ckpt").write_bytes(b"half of it")
    call = rf"structured_vae.evaluate_run\('{folder}', which='last', model=..., data=...\)"
    with pytest.raises(RunError, match=rf"best.ckpt is damaged .* may still serve: {call}$"):
        evaluate_run(folder, **passed)
    (folder / "checkpoints" / "last.ckpt").unlink()
    (folder / "checkpoints" / "best.ckpt").unlink()
    with pytest.raises(
        RunError, match=r"in another folder: structured_vae.train\(folder=..., ...\)$"
    ):
        resume(folder, epochs=3, progress=False, **passed)


# --- networks -----------------------------------------------------------------------------------


def test_own_networks_are_evaluated_exactly(finished, arrays):
    vae = convolutional_vae(1)
    found = evaluate_run(finished.folder, model=vae, data=arrays, samples=50, refine=3).quantities
    x = torch.from_numpy(arrays["test"].reshape(50, -1)).double()
    with torch.no_grad():
        vae = vae.double()
        states = torch.from_numpy(all_bits(4)).double()
        means = vae.decoder.mean(states).numpy()
        h = vae.encoder(x)
        scores = h.table(states).numpy()
    costs = -(x.numpy() @ np.log(means).T + (1 - x.numpy()) @ np.log(1 - means).T)
    minus_log_p = -np.log(np.exp(-costs).mean(axis=1)).mean()
    assert found["minus_log_p"].value == pytest.approx(minus_log_p, rel=1e-5)
    q = np.stack([softmax(row) for row in scores])
    gibbs = ((q * costs).sum(axis=1) + (q * np.log(16 * q)).sum(axis=1)).mean()
    assert found["gibbs_bound"].value == pytest.approx(gibbs, rel=1e-5)
    assert minus_log_p - 1e-3 < found["refined_bound"].value < found["bound"].value + 50


@pytest.mark.slow
def test_validation_images_can_be_trained_on(tmp_path, arrays):
    options = {
        **SMALL,
        "epochs": 1,
        "model": convolutional_vae(),
        "data": arrays,
        "estimator": "exact",
    }
    joined = train(folder=tmp_path / "joined", train_on="train+validation", **options)
    apart = train(folder=tmp_path / "apart", **options)
    assert (joined.metrics["step"][-1], apart.metrics["step"][-1]) == (4, 3)  # batches of 50
    assert joined.config().data.train_on == "train+validation"


def test_own_networks_learn(tmp_path, arrays):
    run = train(
        folder=tmp_path / "run", model=convolutional_vae(), data=arrays, estimator="exact",
        **{**SMALL, "epochs": 8, "learning_rate": 0.01, "rate_decay": "none"},
    )  # fmt: skip
    bounds = run.metrics["validation/bound"]
    assert bounds[-1] < bounds[0] - 50


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "estimator", ["direct", "score_function", "gumbel_softmax", "maximum_likelihood"]
)
def test_own_networks_of_categories(tmp_path, arrays, estimator):
    vae = DiscreteVAE(Categories(784, 5), nn.Linear(5, 784))
    run = train(folder=tmp_path / "run", model=vae, data=arrays, estimator=estimator, **SMALL)
    assert np.isfinite(run.metrics["validation/bound"]).all()
    assert load_vae(run.folder, model=DiscreteVAE(Categories(784, 5), nn.Linear(5, 784))).n == 5


def test_a_gaussian_likelihood_trains_on_intensities(tmp_path, arrays):
    grey = {name: (images * 0.8 + 0.1).astype(np.float32) for name, images in arrays.items()}
    vae = convolutional_vae()
    own = DiscreteVAE(vae.encoder, vae.decoder.network, "gaussian")
    run = train(folder=tmp_path / "run", model=own, data=grey, **SMALL)
    assert run.config().data.binarisation == "none"
    assert own.decoder.likelihood.scale.item() != pytest.approx(0.3, abs=1e-6)
    found = evaluate_run(run.folder, model=own, data=grey, samples=20).quantities
    assert found["minus_log_p"].value <= found["gibbs_bound"].value


def test_own_networks_are_exported_and_explored(finished, tmp_path):
    export_run(finished.folder, tmp_path / "out", model=convolutional_vae(1))
    trained = load_vae(finished.folder, model=convolutional_vae(2))
    sized = convolutional_vae(3)
    sized.fit_to(784)
    loaded = load_pretrained(tmp_path / "out", sized)
    for name, value in trained.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[name])
    assert loaded.sample(3, torch.Generator().manual_seed(0)).shape == (3, 784)
    for folder in (finished.folder, tmp_path / "out"):
        fresh = convolutional_vae(4)
        fresh.fit_to(784)
        explored = open_model(folder, fresh)
        assert explored.decode((0, 1, 0, 1)).shape == (28, 28)
        assert explored.encode(explored.score(np.zeros(784, np.float32))).marginals.shape == (4,)
        assert explored.samples(10, 0).shape == (28, 280)


@pytest.mark.usefixtures("empty_figures")
def test_own_networks_have_a_figure_of_gradients(finished, arrays, tmp_path):
    figure = gradient_figure(
        finished.folder, images=2, draws=4, output=tmp_path, model=convolutional_vae(), data=arrays
    )
    assert figure.picture.exists()


def test_no_file_of_a_run_says_which_code_to_run(finished, arrays):
    for act in (load_vae, resume, evaluate_run, open_model):
        with pytest.raises(
            ConfigError, match=r"this run has a custom model, .*: pass it in Python, model="
        ):
            act(finished.folder)
    with pytest.raises(ConfigError, match="this run was trained on arrays"):
        resume(finished.folder, epochs=3, model=convolutional_vae())
    others = {**arrays, "train": arrays["train"][:-1]}
    for data in (others, "mnist", DataConfig("mnist")):
        with pytest.raises(ConfigError, match="but this run was trained on given-"):
            resume(finished.folder, epochs=3, model=convolutional_vae(), data=data)


def test_a_run_goes_on_with_images_of_its_name_alone(tmp_path, arrays):
    parts = {f"{name}_images": images for name, images in arrays.items()}
    np.savez(tmp_path / "own.npz", **parts)
    np.savez(tmp_path / "other.npz", **parts)
    run = train(folder=tmp_path / "run", n=3, hidden=5, data=tmp_path / "own.npz", **SMALL)
    with pytest.raises(
        ConfigError, match=r"data= is '.*other\.npz', but this run was trained on .*own\.npz"
    ):
        resume(run.folder, epochs=3, data=tmp_path / "other.npz")
    with pytest.raises(ConfigError, match="data= is 'given-"):
        resume(run.folder, epochs=3, data=arrays)
    assert (
        resume(run.folder, epochs=3, data=tmp_path / "own.npz", progress=False).recorded_epochs()
        == 3
    )


def test_what_is_drawn_from_other_grey_values_is_another_dataset(arrays):
    first, other = (
        dataset_of_images({**arrays, "train": arrays["train"] * scale}, "dynamic")
        for scale in (1.0, 0.5)
    )
    mixed = replace(first, train=replace(first.train, grey=other.train.grey))
    config, _ = configured(None, None, first, None, {})
    assert custom_images(config, first) is not None
    with pytest.raises(ConfigError, match="data= is 'given-"):
        custom_images(config, mixed)


@pytest.mark.parametrize("asked", [None, "static"])
def test_images_in_memory_have_the_binarisation_that_is_asked_for_or_the_usual_one(arrays, asked):
    options = {} if asked is None else {"binarisation": asked}
    config, given = configured(None, None, arrays, None, options)
    assert config.data.binarisation == given.dataset.binarisation == (asked or "threshold")


def test_images_that_are_binarised_already_are_not_said_to_be_otherwise(arrays):
    images = dataset_of_images(arrays, "static")
    assert (
        configured(None, None, images, None, {"binarisation": "static"})[0].data.binarisation
        == "static"
    )
    with pytest.raises(
        ConfigError, match="binarised already, static: leave binarisation out; got 'dynamic'"
    ):
        configured(None, None, images, None, {"binarisation": "dynamic"})


@pytest.mark.parametrize(
    "options",
    [
        {"recipe": "paper"},
        {"encoder": "categorical"},
        {"encoder": "gaussian", "n": 15},
        {"epochs": 200, "n": 8},
        {"estimator": "score_function"},
    ],
    ids=str,
)
def test_what_a_call_leaves_unset_follows_from_what_it_sets(options):
    others = {name: value for name, value in options.items() if name != "estimator"}
    config, _ = configured(None, None, "mnist", options.get("estimator"), others)
    assert config == TrainConfig(data=DataConfig("mnist"), **options)


def test_a_dataset_of_images_alone_is_one_of_tuples(arrays):
    images = torch.from_numpy(arrays["train"])
    first, second = (
        dataset_of_images({**arrays, "train": each}) for each in (TensorDataset(images), images)
    )
    assert first.name == second.name
    with pytest.raises(DataError, match="a pair of image and label; got a tuple of 3"):
        dataset_of_images(TensorDataset(images, images, images))


@pytest.mark.parametrize("given", [{"callbacks": [3]}, {"callbacks": 3}, {"logger": 3}], ids=str)
def test_what_lightning_cannot_call_is_refused_before_there_is_a_folder(tmp_path, arrays, given):
    with pytest.raises(ConfigError, match="Lightning's"):
        train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, **given, **SMALL)
    assert not (tmp_path / "run").exists()


def test_a_file_of_other_images_is_refused_when_a_run_goes_on(tmp_path, arrays, in_empty_folder):
    grey = {f"{name}_images": (255 * images).astype(np.uint8) for name, images in arrays.items()}
    np.savez("own.npz", **grey)
    run = train(folder=tmp_path / "run", n=3, hidden=5, data="own.npz", **SMALL)
    with contextlib.chdir("/"):
        assert resume(run, epochs=3, logger="csv", progress=False).recorded_epochs() == 3
    np.savez(tmp_path / "own.npz", **{name: 255 - images for name, images in grey.items()})
    with pytest.raises(DataError, match="are not those that the run was trained on"):
        resume(run, epochs=4, progress=False)


def test_options_that_are_misspelt_or_numbers_of_schedules():
    with pytest.raises(ConfigError, match=r"no option is called epoch\. Did you mean epochs\?"):
        train(epoch=3)
    with pytest.raises(
        ConfigError, match=r"for the networks of this package: train\(TrainConfig\(model='mixture'"
    ):
        train(model="mixture")
    config = TrainConfig(epsilon=0.5, temperature=2)
    assert {config.epsilon.schedule()(step) for step in (0, 10**6)} == {0.5}
    assert {config.temperature(step) for step in (0, 10**6)} == {2.0}


def test_an_estimator_says_how_its_kl_joins_by_one_of_four_words(tmp_path, arrays):
    class Own(Direct):
        kl = "exakt"

    with pytest.raises(
        EstimatorError, match="kl must be one of density, folded, weighted, none; got 'exakt'"
    ):
        train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, estimator=Own(), **SMALL)
    assert not (tmp_path / "run").exists()
    vae, x = paper_vae("independent", pixels=9, n=3, hidden=5), torch.zeros(2, 9)
    with pytest.raises(EstimatorError, match="got 'exact', which is now called \"density\""):
        elbo_recipe(vae, x, vae.encoder(x), "exact")


def test_ours_take_no_networks(tmp_path, arrays):
    run = train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, **SMALL)
    with pytest.raises(ConfigError, match="names the model of this run, discrete: drop model="):
        load_vae(run.folder, model=convolutional_vae())
    with pytest.raises(ConfigError, match=r"model must be a models\.DiscreteVAE"):
        train(model=nn.Linear(3, 3), data=arrays)
    with pytest.raises(ConfigError, match="pass it in Python, model="):
        train(TrainConfig(model="own"), tmp_path / "other")
    with pytest.raises(ConfigError, match="hidden has no meaning with model own"):
        train(model=convolutional_vae(), data=arrays, hidden=3)


def test_networks_of_the_library_are_given_as_well(tmp_path, arrays):
    vae = paper_vae("supermodular", n=3, hidden=5)
    run = train(folder=tmp_path / "run", model=vae, data=arrays, **SMALL)
    again = load_vae(run.folder, "last", paper_vae("supermodular", n=3, hidden=5))
    assert all(
        torch.equal(value, again.state_dict()[name]) for name, value in vae.state_dict().items()
    )


# --- going on -----------------------------------------------------------------------------------


class PowerCutError(Exception):
    """What a test raises in the midst of a training."""


# in the first epoch, before any checkpoint, and in the second
@pytest.mark.spread(1)
@pytest.mark.parametrize("step", [2, 5])
def test_a_run_that_was_cut_off_ends_as_if_it_had_not_been(finished, arrays, tmp_path, step):
    def cut():
        raise PowerCutError

    options = {**SMALL, "callbacks": [at_call("on_train_batch_start", step, cut)]}
    with pytest.raises(PowerCutError):
        train(folder=tmp_path / "cut", model=convolutional_vae(), data=arrays, **options)
    torch.rand(7)  # the global generator is elsewhere
    resume(tmp_path / "cut", model=convolutional_vae(5), data=arrays, progress=False)
    assert_same(finished.folder, tmp_path / "cut")


KILLED = """
import os, signal, sys
import lightning.pytorch as pl
import numpy as np
from own_networks import convolutional_vae
from structured_vae import train

class Kill(pl.Callback):
    def on_train_batch_end(self, trainer, *rest):
        if trainer.global_step == 4:
            os.kill(os.getpid(), signal.SIGKILL)

data = dict(np.load(sys.argv[1]))
train(folder=sys.argv[2], model=convolutional_vae(), data=data, callbacks=[Kill()], epochs=2, picture_every=0,
      recipe="elbo", progress=False, batch_size=50)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_same_networks(finished, arrays, tmp_path):
    np.savez(tmp_path / "data.npz", **arrays)
    tests = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])}
    command = [sys.executable, "-c", KILLED, tmp_path / "data.npz", tmp_path / "killed"]
    assert subprocess.run(command, env=environment, check=False).returncode == -9
    assert state(tmp_path / "killed")["epoch"] == 0
    resume(tmp_path / "killed", model=convolutional_vae(9), data=arrays, progress=False)
    assert_same(finished.folder, tmp_path / "killed")


# --- estimators, callbacks, loggers, options ----------------------------------------------------


def test_an_estimator_of_ones_own(tmp_path, arrays):
    named = train(
        folder=tmp_path / "named",
        n=3,
        hidden=5,
        data=arrays,
        estimator="score_function",
        samples=2,
        **SMALL,
    )
    given = train(
        folder=tmp_path / "given", n=3, hidden=5, data=arrays, estimator=ScoreFunction(2), **SMALL
    )
    assert_same(named.folder, given.folder)
    with pytest.raises(ConfigError, match=r"this run has a custom estimator"):
        resume(given.folder, epochs=3, data=arrays)
    resume(given.folder, epochs=3, data=arrays, estimator=ScoreFunction(2), progress=False)
    assert (
        evaluate_run(given.folder, data=arrays, estimator=ScoreFunction(2), samples=5).images == 50
    )
    with pytest.raises(ConfigError, match="estimator must be an Estimator or its name; got 3"):
        train(data=arrays, estimator=3)
    with pytest.raises(ConfigError, match="the estimator Direct does not fit"):
        train(folder=tmp_path / "no", data=arrays, estimator=Refusing())
    assert not (tmp_path / "no").exists()


class Refusing(Direct):
    """Takes nothing."""

    def why_not(self, potentials):
        return ("nothing pleases it",)


Refusing.__name__ = "Direct"


class Counting(pl.Callback):
    """Has a state, which travels in the checkpoints."""

    def __init__(self, logs=False):
        self.steps = 0
        self.logs = logs

    def on_train_batch_end(self, trainer, pl_module, *_):
        self.steps += 1
        if self.logs:
            pl_module.log("train/counted", float(self.steps))

    def state_dict(self):
        return {"steps": self.steps}

    def load_state_dict(self, state_dict):
        self.steps = state_dict["steps"]


def test_callbacks_and_loggers_of_ones_own(tmp_path, arrays):
    first, second = Counting(), Counting(logs=True)
    logger = CSVLogger(tmp_path, name="curves", version="")
    run = train(
        folder=tmp_path / "run",
        n=3,
        hidden=5,
        data=arrays,
        callbacks=[first],
        logger=logger,
        **SMALL,
    )
    assert first.steps == 6
    assert (tmp_path / "curves" / "metrics.csv").exists()
    assert not (run.folder / "tensorboard").exists()
    resume(run.folder, epochs=3, data=arrays, callbacks=[second], progress=False)
    assert second.steps == 9
    assert np.isnan(run.metrics["train/counted"][:2]).all()
    assert run.metrics["train/counted"][2] == 9


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    ("name", "left"), [("csv", "csv"), ("none", None), ("tensorboard", "tensorboard")]
)
def test_loggers_by_name(tmp_path, arrays, name, left):
    run = train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, logger=name, **SMALL)
    there = {path.name for path in run.folder.iterdir()} & {"csv", "tensorboard", "wandb"}
    assert there == ({left} if left else set())


ignored = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@ignored
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")
def test_mlflow_has_one_run_however_often_a_training_goes_on(tmp_path, arrays, in_empty_folder):
    tracking = pytest.importorskip("mlflow.tracking")
    run = train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, logger="mlflow", **SMALL)
    resume(run.folder, epochs=3, data=arrays, progress=False)
    client = tracking.MlflowClient(f"sqlite:///{run.folder}/mlflow.db")
    (experiment,) = (each for each in client.search_experiments() if each.name == "structured-vae")
    (tracked,) = client.search_runs([experiment.experiment_id])
    assert tracked.info.run_id == run.tracked.read_text()
    assert (tracked.data.params["hidden"], tracked.data.params["data/batch_size"]) == ("5", "50")
    bounds = [
        each.value for each in client.get_metric_history(tracked.info.run_id, "validation/bound")
    ]
    assert bounds == pytest.approx(run.metrics["validation/bound"].tolist(), rel=1e-5)
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


@pytest.fixture
def wandb(monkeypatch):
    """Weights & Biases, which writes files and sends nothing."""
    package = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    return package


@ignored
def test_weights_and_biases_have_a_run_for_each_training(tmp_path, arrays, wandb):
    runs = [
        train(folder=tmp_path / name, n=3, hidden=5, data=arrays, logger="wandb", **SMALL)
        for name in ("one", "other")
    ]
    names = [run.tracked.read_text() for run in runs]
    assert names[0] != names[1]
    resume(runs[0].folder, epochs=3, data=arrays, progress=False)
    assert wandb.run is None
    for run, name in zip(runs, names, strict=True):
        assert run.tracked.read_text() == name
        parts = [path.name for path in (run.folder / "wandb").glob("offline-run-*")]
        assert {part.rpartition("-")[2] for part in parts} == {name}


@ignored
def test_a_run_of_the_callers_at_weights_and_biases_stays_open(tmp_path, arrays, wandb):
    with wandb.init(dir=tmp_path, project="mine") as mine:
        with pytest.warns(UserWarning, match="There is a wandb run already in progress"):
            train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, logger="wandb", **SMALL)
        assert wandb.run is mine


def test_the_package_of_weights_and_biases_may_not_be_imported_yet(tmp_path, monkeypatch):
    run = Run.at(tmp_path)
    trainer = SimpleNamespace(
        logger=object.__new__(WandbLogger), callbacks=[Tracked(TrainConfig(), run)]
    )
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    with ended(trainer):  # nothing is logged
        pass
    finished = []
    with ended(trainer):  # what is logged first imports it
        monkeypatch.setitem(
            sys.modules, "wandb", SimpleNamespace(run=None, finish=lambda: finished.append(1))
        )
    assert finished == [1]


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_logger_whose_package_is_missing(tmp_path, arrays, monkeypatch, name):
    monkeypatch.setattr("lightning.pytorch.loggers.wandb._WANDB_AVAILABLE", False)
    monkeypatch.setattr("lightning.pytorch.loggers.mlflow._MLFLOW_AVAILABLE", False)
    monkeypatch.setattr(
        "lightning.pytorch.loggers.mlflow._MLFLOW_SKINNY_AVAILABLE", False, raising=False
    )
    with pytest.raises(MissingPackageError, match=f"pip install {name}"):
        train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, logger=name, **SMALL)
    assert not (tmp_path / "run").exists()


def test_a_training_ends_early_by_its_patience(tmp_path, arrays):
    options = {**SMALL, "epochs": 30, "learning_rate": 1e-9, "patience": 2}
    run = train(folder=tmp_path / "run", n=3, hidden=5, data=arrays, estimator="exact", **options)
    assert len(run.metrics["epoch"]) < 30
    assert list(run.pictures.glob("samples-*.png"))


def test_metrics_are_columns_and_drawn(finished):
    record = json.loads((finished.folder / "record.json").read_text())["epochs"]
    assert finished.metrics["epoch"].tolist() == [1, 2]
    for name, column in finished.metrics.items():
        assert column.tolist() == pytest.approx([row[name] for row in record])
    figure = finished.plot()
    assert [axes.get_title() for axes in figure.axes] == ["bound", "reconstruction", "kl"]
    (line, _) = finished.plot("kl").axes[0].get_lines()
    assert line.get_ydata().tolist() == finished.metrics["test/kl"].tolist()
    with pytest.raises(RunError, match=r"no metric is called nonsense; there are: .*bound"):
        finished.plot("nonsense")


def test_options_by_name(tmp_path, arrays):
    with pytest.raises(
        ConfigError, match=r"no option is called epoch\. Did you mean epochs\?; there are:"
    ):
        train(data=arrays, epoch=3)
    with pytest.raises(ConfigError, match="expected a TrainConfig"):
        train({"n": 3})
    base = TrainConfig(n=3, hidden=5, epochs=5, picture_every=0, data=DataConfig(batch_size=70))
    run = train(base, tmp_path / "run", data=arrays, epochs=1, progress=False)
    config = run.config()
    assert (config.n, config.epochs, config.data.batch_size) == (3, 1, 70)
    assert config == replace(base, epochs=1, data=replace(base.data, name=config.data.name))


# --- images -------------------------------------------------------------------------------------


def test_one_array_a_torch_dataset_and_pairs_are_the_same_images(tmp_path, arrays):
    together = np.concatenate(list(arrays.values()))
    labels = np.arange(len(together)) % 3
    tensors = TensorDataset(torch.from_numpy(together), torch.from_numpy(labels))
    forms = [(together, labels), (torch.from_numpy(together), torch.from_numpy(labels)), tensors]
    names = set()
    for number, form in enumerate(forms):
        run = train(
            folder=tmp_path / str(number), n=3, hidden=5, data=form, **{**SMALL, "epochs": 1}
        )
        names.add(run.config().data.name)
    assert len(names) == 1
    assert_same(tmp_path / "0", tmp_path / "2")


def test_splits_that_overlap_are_refused(tmp_path, arrays):
    shared = {**arrays, "test": np.concatenate([arrays["test"], arrays["train"][7:9]])}
    with pytest.raises(
        DataError,
        match=r"the splits overlap: 2 of the 52 images of test are also in train \(numbers 50, 51",
    ):
        train(folder=tmp_path / "run", data=shared)
    assert not (tmp_path / "run").exists()


def test_potentials_of_another_n_later_are_named():
    class Fickle(nn.Module):
        def forward(self, x):
            return Potentials(x[:, : 2 + (len(x) > 1)])

    vae = DiscreteVAE(Fickle(), nn.Linear(2, 9), pixels=9)
    with pytest.raises(TypeError, match="returned unary scores"):
        vae.encoder(torch.zeros(3, 9))


@pytest.mark.parametrize("name", ["epsilon", "temperature"])
@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["large", "small"])
def test_a_schedule_that_no_float_holds_is_refused(name, value):
    with pytest.raises(ConfigError, match=rf"{name}|floor|start of ExponentialDecay"):
        TrainConfig(**{name: value})
