"""A picture or a logger that fails never ends a training, and no Ctrl-C is lost."""

import gc
import sys
import time
import weakref
from dataclasses import replace
from threading import Event

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from few_images import on_few_images  # noqa: F401  # used by itself
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.logger import DummyLogger
from matplotlib import image
from torch import nn

from models import DiscreteVAE, Potentials
from structured_vae import DataConfig, TrainConfig, resume, train
from structured_vae.errors import RunError, SkippedWarning
from structured_vae.image_grids import save_grid
from structured_vae.runs import Run
from structured_vae.training.checkpoints import WholeCheckpoints
from structured_vae.training.forgiving import forgiving_loggers

TINY = TrainConfig(
    n=2, hidden=2, epochs=3, picture_every=1, logger="none", data=DataConfig(batch_size=20)
)


class Scores(nn.Module):
    """A custom encoder of 16 pixels, each of some channels."""

    def __init__(self, pixels):
        super().__init__()
        self.layer = nn.Linear(pixels, 3)

    def forward(self, x):
        return Potentials(self.layer(x))


@pytest.mark.parametrize("shape", [(40, 4, 4), (40, 4, 4, 3)], ids=["grey", "colour"])
def test_images_with_gaussian_pixels_are_trained_and_drawn(tmp_path, shape):
    images = np.random.default_rng(0).random(shape).astype(np.float32)
    pixels = int(np.prod(shape[1:]))
    networks = DiscreteVAE(Scores(pixels), nn.Linear(3, pixels), likelihood="gaussian")
    options = {
        "epochs": 1,
        "batch_size": 20,
        "logger": "none",
        "estimator": "disarm",
        "recipe": "elbo",
    }
    run = train(model=networks, data=images, folder=tmp_path / "run", progress=False, **options)
    assert len(list(run.pictures.iterdir())) == 2


@pytest.mark.parametrize("channels", [1, 3])
def test_values_outside_the_unit_interval_are_drawn_at_its_ends(tmp_path, channels):
    values = torch.tensor([-3.0, 0.0, 1.0, 7.0]).repeat(1, channels)
    save_grid(tmp_path / "wide.png", values, 1, channels, 2, 2)
    save_grid(tmp_path / "clipped.png", values.clamp(0, 1), 1, channels, 2, 2)
    wide, clipped = (image.imread(tmp_path / f"{name}.png") for name in ("wide", "clipped"))
    assert np.array_equal(wide, clipped)
    save_grid(tmp_path / "nan.png", torch.full((1, 4 * channels), torch.nan), 1, channels, 2, 2)


@pytest.mark.spread(1)
@pytest.mark.parametrize("failing", ["reconstructed", "samples"])
def test_a_picture_that_fails_is_one_warning_and_the_rest_is_trained(
    tmp_path, monkeypatch, failing
):
    whole = train(TINY, tmp_path / "whole", progress=False)

    def fail(*_):
        raise RuntimeError("no picture today")

    monkeypatch.setattr(f"structured_vae.vaes.discrete.training.ArgmaxTraining.{failing}", fail)
    with pytest.warns(
        SkippedWarning, match="no picture today.*The training continues without it"
    ) as caught:
        run = train(TINY, tmp_path / "run", progress=False)
    assert len(caught) == 1
    assert run.metrics["validation/bound"].tolist() == whole.metrics["validation/bound"].tolist()
    kept = "samples" if failing == "reconstructed" else "reconstructions"
    assert {path.name.partition("-")[0] for path in run.pictures.iterdir()} == {kept}


def test_pictures_that_cannot_be_written_are_warnings(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "pictures").write_text("a file in the place of the folder")
    with pytest.warns(SkippedWarning, match="picture of") as caught:
        run = train(TINY, folder, progress=False)
    assert len(caught) == 2
    assert run.metrics["epoch"].tolist() == [1, 2, 3]


class Broken(DummyLogger):
    """A logger of which every method fails."""

    def log_metrics(self, *_, **__):
        raise ConnectionError("the server does not answer")

    log_hyperparams = save = finalize = after_save_checkpoint = log_metrics


def test_a_logger_of_which_every_method_fails_is_a_warning_for_each(tmp_path):
    logger = Broken()
    with pytest.warns(SkippedWarning, match="the server does not answer") as caught:
        run = train(TINY, tmp_path / "run", progress=False, logger=logger)
    said = [str(each.message).partition(" failed")[0] for each in caught]
    assert len(said) == len(set(said))
    assert "Broken.log_metrics" in said
    assert run.metrics["epoch"].tolist() == [1, 2, 3]
    with pytest.raises(ConnectionError):
        logger.log_metrics({}, 0)


def test_a_logger_is_afterwards_as_it_was(tmp_path):
    logger = CSVLogger(tmp_path)
    before = dict(vars(logger))
    with forgiving_loggers([logger]):
        assert "log_metrics" in vars(logger)
    assert vars(logger) == before


def test_a_logger_that_never_ends_does_not_hold_an_interrupted_training(tmp_path, limits):
    limits(last_seconds=0.05)
    forever = Event()

    class Waiting(DummyLogger):
        def finalize(self, status):
            forever.wait(60)

    class Stop(pl.Callback):
        def on_train_batch_end(self, *_):
            raise KeyboardInterrupt

    begin = time.monotonic()
    with (
        pytest.warns(
            SkippedWarning, match=r"Waiting.finalize failed .* has not ended after 0.05 s"
        ),
        pytest.raises(KeyboardInterrupt, match="structured-vae resume"),
    ):
        train(TINY, tmp_path / "run", progress=False, logger=Waiting(), callbacks=[Stop()])
    forever.set()
    assert time.monotonic() - begin < 30


def test_the_rows_of_the_csv_logger_stay_when_a_run_is_resumed(tmp_path):
    config = replace(TINY, logger="csv", epochs=1)
    run = train(config, tmp_path / "run", progress=False)
    before = (run.folder / "csv" / "metrics.csv").read_text()
    for epochs in (2, 3):
        resume(run.folder, epochs, progress=False)
    assert (run.folder / "csv" / "metrics.csv").read_text() == before
    assert [(run.folder / "csv" / f"part{part}" / "metrics.csv").exists() for part in (2, 3)] == [
        True,
        True,
    ]


class Dying:
    """An object whose death calls a function, as potentials do in a dictionary of weak keys."""


@pytest.mark.parametrize(
    "hook", ["on_train_batch_start", "on_validation_batch_start", "on_validation_end"]
)
def test_an_interrupt_in_the_callback_of_a_weak_reference_ends_the_training(tmp_path, hook):
    class Interrupted(pl.Callback):
        done = False

        def interrupt(self, *_):
            if self.done:
                return
            self.done = True
            dying = Dying()
            self.reference = weakref.ref(dying, self.raise_it)
            del dying
            gc.collect()

        def raise_it(self, _):
            raise KeyboardInterrupt

    setattr(Interrupted, hook, Interrupted.interrupt)
    before, callback = sys.unraisablehook, Interrupted()
    with pytest.raises(KeyboardInterrupt, match="structured-vae resume"):
        train(TINY, tmp_path / "run", progress=False, callbacks=[callback])
    assert callback.done
    assert sys.unraisablehook is before
    assert Run(tmp_path / "run").recorded_epochs() <= 1


def test_the_progress_bar_names_a_cost_and_a_bound_and_shows_no_test_images(tmp_path):
    shown = {}

    class Shown(pl.Callback):
        def on_train_epoch_end(self, trainer, pl_module):
            shown.update(trainer.progress_bar_metrics)

    run = train(replace(TINY, epochs=1), tmp_path / "run", progress=True, callbacks=[Shown()])
    assert set(shown) == {"training cost", "validation bound"}
    assert shown["validation bound"] == pytest.approx(run.metrics["validation/bound"][0], rel=1e-6)
    assert set(run.metrics) == set(run.metrics) - set(shown)


def test_a_training_calls_few_hooks_in_a_step(tmp_path):
    called = []

    class Listed(pl.Callback):
        def on_train_start(self, trainer, pl_module):
            others = [callback for callback in trainer.callbacks if callback is not self]
            for hook in ("on_train_batch_start", "on_before_backward", "on_train_batch_end"):
                heard = [callback for callback in others if callable(getattr(callback, hook))]
                called.append({type(callback).__name__ for callback in heard})
            assert len(others) >= 8

    train(replace(TINY, epochs=1), tmp_path / "run", progress=False, callbacks=[Listed()])
    assert called == [{"HeardInterrupts"}] * 3


def test_without_a_progress_bar_no_step_logs_its_cost(tmp_path):
    logged = {}

    class Logged(pl.Callback):
        def on_train_batch_end(self, trainer, *_):
            logged.update(trainer.progress_bar_metrics)

    train(replace(TINY, epochs=1), tmp_path / "run", progress=False, callbacks=[Logged()])
    assert logged == {}


def test_a_checkpoint_that_cannot_be_written_ends_the_training_and_names_the_cause(
    tmp_path, monkeypatch
):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(WholeCheckpoints, "save_checkpoint", full)
    with pytest.raises(RunError, match=r"cannot be written to .*No space left on device"):
        train(TINY, tmp_path / "run", progress=False)
