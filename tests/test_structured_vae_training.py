import csv
import io
import json
import math
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from few_images import reading
from matplotlib import image
from quiet_runs import resume, train
from run_metrics import rows_but_times
from training_hooks import add_to_trainers, at_call, at_every

from solvers import UnknownSolverError
from structured_vae import (
    ConfigError,
    Constant,
    ExponentialDecay,
    TrainConfig,
    evaluate_run,
    load_vae,
)
from structured_vae.atomic import temporary_path, whole_file
from structured_vae.cli import main
from structured_vae.data import Split
from structured_vae.environment import environment
from structured_vae.errors import DataNotFoundError, DivergedError, RunError, SkippedWarning
from structured_vae.image_grids import grid, save_grid
from structured_vae.noise import gumbel_differences
from structured_vae.objectives import RECIPES
from structured_vae.runs import Run
from structured_vae.schedules import Ramp
from structured_vae.seeds import Stream, generator
from structured_vae.training.batches import ImageData, InOrderBatches, ShuffledBatches, batches
from structured_vae.training.checkpoints import EpochCheckpoints, read_checkpoint
from structured_vae.training.record import RunRecord

SMALL = TrainConfig(
    n=4, hidden=8, epochs=3, picture_every=0, recipe="paper", epsilon=TrainConfig().epsilon
)
tiny = pytest.mark.usefixtures("on_tiny_images")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The networks are tiny, and threads that wait for each other slow down on a busy machine."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


def checkpoint(folder, which="last"):
    return torch.load(Path(folder) / "checkpoints" / f"{which}.ckpt", weights_only=True)


def assert_same_values(first, second):
    """Nested plain values and tensors, bit for bit."""
    if isinstance(first, torch.Tensor):
        assert torch.equal(first, second)
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same_values(first[key], second[key])
    elif isinstance(first, (list, tuple)):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same_values(one, other)
    else:
        assert first == second


def assert_same_run(first, second, pictures=True):
    """Weights, optimiser, metrics and pictures of two run folders."""
    for which in ("last", "best"):
        one, other = checkpoint(first, which), checkpoint(second, which)
        for part in ("state_dict", "optimizer_states", "epoch", "global_step"):
            assert_same_values(one[part], other[part])
    assert rows_but_times(first) == rows_but_times(second)
    if pictures:
        drawn, redrawn = (sorted((Path(f) / "pictures").iterdir()) for f in (first, second))
        assert [p.name for p in drawn] == [p.name for p in redrawn]
        assert all(p.read_bytes() == q.read_bytes() for p, q in zip(drawn, redrawn, strict=True))


def assert_whole_files(folder):
    """Every file under its final name can be read to its end."""
    read = {
        ".json": lambda path: json.loads(path.read_text()),
        ".yaml": lambda path: yaml.safe_load(path.read_text()),
        ".csv": lambda path: rows_but_times(path.parent),
        ".ckpt": lambda path: torch.load(path, weights_only=True),
        ".png": image.imread,
    }
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path.name[0] != "."]
    kinds = {path.suffix for path in files}
    for path in files:
        if path.suffix in read:
            read[path.suffix](path)
    return kinds & read.keys()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, tiny_images):
    """Train a configuration to its end without interruption, once for all tests that ask for it."""
    folders = {}

    def folder_of(config):
        key = repr(config)
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("whole") / "run"
            with reading(tiny_images):
                train(config, folders[key])
        return folders[key]

    return folder_of


class PowerCutError(Exception):
    """What a test raises in the midst of a training."""


def power_cut_at(hook, call):
    """Return callbacks that raise when Lightning calls a hook for the nth time."""

    def cut():
        raise PowerCutError

    return [at_call(hook, call, cut)]


# --- what a run is determined by ----------------------------------------------------------------


@pytest.mark.slow
@tiny
def test_the_same_seed_gives_the_same_run(tmp_path):
    for name in ("first", "second"):
        train(SMALL, tmp_path / name)
    assert_same_run(tmp_path / "first", tmp_path / "second")


@tiny
def test_another_seed_gives_another_run(tmp_path, whole):
    train(replace(SMALL, seed=1, epochs=1), tmp_path / "run")
    first = checkpoint(whole(replace(SMALL, epochs=1)))["state_dict"]
    second = checkpoint(tmp_path / "run")["state_dict"]
    assert all(not torch.equal(first[name], second[name]) for name in first)


@tiny
def test_a_run_neither_uses_nor_changes_the_global_random_state(tmp_path, whole):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1234)
        torch_state, numpy_state = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        train(replace(SMALL, epochs=1), tmp_path / "run")
        assert torch.equal(torch.random.get_rng_state(), torch_state)
        assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert_same_run(whole(replace(SMALL, epochs=1)), tmp_path / "run")


@pytest.mark.spread(4)
@tiny
@pytest.mark.parametrize(
    "change",
    [
        {"recipe": "elbo"},
        {"recipe": "elbo", "kl_warmup": 1},
        {"recipe": "elbo", "kl_warmup": 1, "kl_start": 5.0},
        {"learning_rate": 0.002},
        {"rate_decay": "cosine"},
        {"dropout": 0.5, "dropout_decay": "cosine"},
        {"precision": "bf16-mixed"},
        {"dropout": 0.5},
        {"epsilon": ExponentialDecay(start=0.5, floor=0.5)},
        {"data": replace(SMALL.data, batch_size=50)},
        {"encoder": "supermodular"},
    ],
    ids=str,
)
def test_every_setting_makes_a_difference(tmp_path, whole, change):
    train(replace(SMALL, epochs=2, **change), tmp_path / "changed")
    first = rows_but_times(whole(replace(SMALL, epochs=2)))[-1]
    second = rows_but_times(tmp_path / "changed")[-1]
    assert first["train/cost"] != second["train/cost"]
    assert first["validation/reconstruction"] != second["validation/reconstruction"]


@pytest.mark.parametrize(
    ("given", "sides", "start", "decay", "rate"),
    [
        ({}, 2, 0.1, "cosine", 0.002),
        ({"rate_decay": "none"}, 2, 0.1, "none", 0.001),
        (
            {
                "sides": 1,
                "epsilon": replace(TrainConfig().epsilon, start=0.5),
                "learning_rate": 0.01,
            },
            1,
            0.5,
            "cosine",
            0.01,
        ),
        ({"model": "own"}, 2, 0.1, "cosine", 0.002),
        ({"n": 10, "epochs": 99}, 2, 0.1, "cosine", 0.002),
        ({"n": 10, "epochs": 100}, 1, 0.1, "cosine", 0.002),
        ({"n": 11, "epochs": 100}, 2, 0.1, "cosine", 0.002),
        ({"encoder": "categorical", "epochs": 100}, 2, 0.1, "cosine", 0.002),
        (
            {"encoder": "categorical", "variables": 3, "k": 8, "epochs": 100},
            1,
            0.1,
            "cosine",
            0.002,
        ),
        ({"recipe": "paper"}, 1, 1.0, "none", 0.001),
        ({"recipe": "paper", "epsilon": TrainConfig().epsilon}, 1, 0.1, "none", 0.001),
        ({"model": "mixture"}, 1, 0.1, "none", 0.001),
    ],
    ids=str,
)
def test_what_is_not_set_follows_the_recipe(given, sides, start, decay, rate):
    config = TrainConfig(**given)
    assert (config.sides, config.epsilon.start, config.rate_decay, config.learning_rate) == (
        sides,
        start,
        decay,
        rate,
    )
    assert TrainConfig.from_dict(config.to_dict()) == config


def test_the_rate_of_a_gaussian_falls_by_the_cosine():
    config = TrainConfig(encoder="gaussian")
    assert config.model == "gaussian"
    assert (config.rate_decay, config.learning_rate) == ("cosine", 0.002)
    assert not hasattr(config, "sides")
    assert TrainConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("given", "warmup", "start"),
    [
        ({"n": 8}, 7, 10.0),
        ({"n": 10}, 7, 10.0),
        ({"n": 11}, 0, 0.0),
        ({"encoder": "categorical", "epochs": 10}, 2, 30.0),
        ({"n": 8, "epochs": 3}, 0, 0.0),
        ({"n": 8, "recipe": "paper"}, 0, 0.0),
        ({"n": 8, "kl_warmup": 3}, 3, 0.0),
        ({"kl_start": 30.0}, 7, 30.0),
    ],
    ids=str,
)
def test_codes_of_few_states_are_annealed(given, warmup, start):
    config = TrainConfig(**given)
    assert (config.kl_warmup, config.kl_start) == (warmup, start)


def test_a_configuration_without_a_key_is_as_old_as_that():
    config = TrainConfig.from_dict({"n": 8, "epsilon": {"rate": 0.5}})
    assert (config.recipe, config.sides, config.rate_decay, config.learning_rate) == (
        "paper",
        1,
        "none",
        0.001,
    )
    assert (config.epsilon.start, config.epsilon.rate, config.kl_warmup) == (0.1, 0.5, 0)


@tiny
def test_the_kl_weighs_in_every_epoch_what_its_ramp_says(tmp_path, monkeypatch):
    weights = []

    def recorded(vae, x, potentials, kl, weight):
        weights.append(weight)
        return RECIPES["elbo"](vae, x, potentials, kl, weight)

    monkeypatch.setitem(RECIPES, "paper", recorded)
    train(replace(SMALL, epochs=4, kl_warmup=3, kl_start=9.0), tmp_path / "run")
    assert weights == [7.0] * 3 + [5.0] * 3 + [3.0] * 3 + [1.0] * 3


@tiny
def test_an_evaluation_draws_a_thousand_samples_with_the_noise_of_the_seed(tmp_path, monkeypatch):
    train(replace(SMALL, seed=7, epochs=1), tmp_path / "run")
    asked = []

    def recorded(vae, images, posterior, noise, samples, *others):
        asked.append((noise.initial_seed(), samples))

    monkeypatch.setattr("structured_vae.vaes.discrete.kind.evaluate", recorded)
    evaluate_run(tmp_path / "run")
    assert asked == [(generator(7, Stream.EVALUATION).initial_seed(), 1000)]


def test_images_are_those_of_the_configuration(tmp_path):
    data = replace(SMALL.data, name="mnist", root=str(tmp_path / "somewhere"))
    with pytest.raises(DataNotFoundError, match=r"mnist: 4 of its 4 files .* root .*somewhere"):
        train(replace(SMALL, data=data), tmp_path / "run")


@tiny
def test_noise_is_new_in_every_step_and_the_same_at_every_evaluation(tmp_path, monkeypatch):
    drawn = []

    def recorded(like, noise):
        drawn.append(gumbel_differences(like, noise))
        return drawn[-1]

    monkeypatch.setattr("structured_vae.spaces.space.gumbel_differences", recorded)
    train(SMALL, tmp_path / "run")
    first = [draw[0, 0, 0].item() for draw in drawn[:15]]
    epochs = [first[start : start + 5] for start in (0, 5, 10)]
    trained = [value for epoch in epochs for value in epoch[:3]]
    assert len(set(trained)) == 9
    validation_and_test = epochs[0][3:]
    assert len(set(validation_and_test)) == 2
    assert all(epoch[3:] == validation_and_test for epoch in epochs)


@tiny
def test_the_cosine_gives_every_step_the_rate_of_its_epoch(tmp_path):
    rates = []

    def watch(trainer, *_):
        rates.append(trainer.optimizers[0].param_groups[0]["lr"])

    callbacks = [at_every("on_train_batch_start", watch)]
    config = replace(SMALL, learning_rate=0.004, rate_decay="cosine")
    train(config, tmp_path / "run", callbacks=callbacks)
    # (1 + cos(pi e / 3)) / 2
    assert rates == pytest.approx([0.004] * 3 + [0.003] * 3 + [0.001] * 3)


# --- stopping and going on ----------------------------------------------------------------------


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize("recipe", ["paper", "elbo"])
@pytest.mark.parametrize("encoder", ["independent", "supermodular", "general"])
def test_a_resumed_run_equals_one_with_more_epochs(tmp_path, whole, encoder, recipe):
    config = replace(SMALL, encoder=encoder, recipe=recipe)
    train(replace(config, epochs=1), tmp_path / "parts")
    resume(tmp_path / "parts", epochs=3)
    assert_same_run(whole(config), tmp_path / "parts", pictures=False)
    assert Run(tmp_path / "parts").config() == config
    assert json.loads((tmp_path / "parts" / "record.json").read_text())["config"]["epochs"] == 3


FAULTS_OF_STEPS = """
import resource, sys
import numpy as np
from structured_vae.runs.trainer.allocator import keep_freed_buffers
if sys.argv[1] == "kept":
    print(keep_freed_buffers())
def step():
    return [np.ones(1 << 20) for _ in range(3)]  # 8 MiB each
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the C library is another one than glibc"
)
def test_buffers_of_a_step_serve_the_next():
    """No page of 20 steps is asked for again; each step has 24 MiB, 6144 pages of 4 KiB."""

    def faults(how, **environment):
        # Packages that other tests import set some of these for their own processes.
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GLIBC_TUNABLES", "MALLOC_"))
        }
        given = own | environment
        script = [sys.executable, "-c", FAULTS_OF_STEPS, how]
        return subprocess.run(
            script, env=given, check=True, capture_output=True, text=True
        ).stdout.split()

    taken, kept = faults("kept")
    assert taken == "True"
    assert int(kept) < 1000
    assert int(faults("given back")[0]) > 6144
    assert faults("kept", MALLOC_TRIM_THRESHOLD_="100000")[0] == "False"


@tiny
def test_a_run_of_a_gpu_goes_on_where_there_is_none(tmp_path, monkeypatch, whole):
    """A checkpoint says on which device each tensor was, and is read to the host."""
    with monkeypatch.context() as on_gpu:
        on_gpu.setattr("torch.serialization.location_tag", lambda storage: "cuda:0")
        train(replace(SMALL, epochs=1), tmp_path / "parts")
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            checkpoint(tmp_path / "parts")
    resume(tmp_path / "parts", epochs=3)
    assert_same_run(whole(SMALL), tmp_path / "parts", pictures=False)


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize(
    "change",
    [
        {"estimator": "rebar"},
        {"estimator": "relax"},
        {"epsilon_rule": "adaptive"},
        {"rate_decay": "cosine"},
        {"dropout": 0.5, "dropout_decay": "cosine"},
        {"precision": "bf16-mixed"},
        {"recipe": "elbo", "kl_warmup": 2},
    ],
    ids=str,
)
def test_what_changes_over_a_run_is_resumed_and_evaluated(tmp_path, change):
    config = replace(SMALL, encoder="independent", **change)
    train(config, tmp_path / "whole")
    train(replace(config, epochs=1), tmp_path / "parts")
    resume(tmp_path / "parts", epochs=3)
    assert_same_run(tmp_path / "whole", tmp_path / "parts", pictures=False)
    assert evaluate_run(tmp_path / "parts", samples=2).images > 0


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize(
    ("hook", "call"),
    [
        ("on_train_batch_start", 2),  # in the first epoch: nothing is saved yet
        ("on_train_batch_start", 5),
        ("on_validation_batch_start", 3),
        ("on_validation_epoch_end", 2),
        ("on_train_batch_start", 9),  # the last one
    ],
)
def test_a_run_cut_off_anywhere_ends_as_if_it_had_not_been(tmp_path, whole, hook, call):
    config = replace(SMALL, picture_every=1)
    with pytest.raises(PowerCutError):
        train(config, tmp_path / "parts", callbacks=power_cut_at(hook, call))
    resume(tmp_path / "parts")
    assert_same_run(whole(config), tmp_path / "parts")
    assert {".json", ".yaml", ".csv", ".ckpt", ".png"} == assert_whole_files(tmp_path / "parts")


@pytest.mark.slow
@tiny
def test_a_run_cut_off_twice(tmp_path, whole):
    with pytest.raises(PowerCutError):
        train(SMALL, tmp_path / "parts", callbacks=power_cut_at("on_train_batch_start", 5))
    with pytest.raises(PowerCutError):
        resume(tmp_path / "parts", callbacks=power_cut_at("on_train_batch_start", 5))
    assert checkpoint(tmp_path / "parts")["epoch"] == 1
    resume(tmp_path / "parts")
    assert_same_run(whole(SMALL), tmp_path / "parts")


@pytest.mark.slow
@tiny
def test_the_step_of_epsilon_goes_on_where_it_stopped(tmp_path, monkeypatch):
    steps, value = [], ExponentialDecay.__call__
    monkeypatch.setattr(
        ExponentialDecay, "__call__", lambda self, step: steps.append(step) or value(self, step)
    )
    falling = replace(SMALL, epsilon=ExponentialDecay(start=1.0, rate=0.5, floor=0.01, every=1))
    train(replace(falling, epochs=2), tmp_path / "parts")
    resume(tmp_path / "parts", epochs=3)
    assert steps == list(range(9))
    train(falling, tmp_path / "whole")
    assert_same_run(tmp_path / "whole", tmp_path / "parts", pictures=False)


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("epochs", [None, 2])
def test_a_finished_run_is_not_resumed(tmp_path, whole, epochs):
    folder = shutil.copytree(whole(SMALL), tmp_path / "run")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match=r"has trained all of its 3 epochs; for more: .* --epochs 6"):
        resume(folder, epochs)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@tiny
def test_resume_refuses_impossible_epochs(run):
    with pytest.raises(ConfigError, match="epochs must be at least 1; got 0"):
        resume(run, epochs=0)


@tiny
def test_last_checkpoint_is_the_last_epoch_even_when_it_is_worse(tmp_path, runs_read, tiny_images):
    make_validation_hard(runs_read, tiny_images)
    train(SMALL, tmp_path / "run")
    bounds = [row["validation/bound_surrogate"] for row in rows_but_times(tmp_path / "run")]
    assert bounds[0] < bounds[1] < bounds[2], "the last epoch is to be the worst here"
    assert checkpoint(tmp_path / "run", "best")["epoch"] == 0
    assert checkpoint(tmp_path / "run", "last")["epoch"] == 2
    with pytest.raises(RunError, match="has trained all of its 3 epochs"):
        resume(tmp_path / "run")


@pytest.mark.slow
@tiny
def test_a_run_that_gets_worse_is_resumed_as_well(tmp_path, runs_read, tiny_images):
    make_validation_hard(runs_read, tiny_images)
    train(replace(SMALL, epochs=4), tmp_path / "whole")
    train(replace(SMALL, epochs=2), tmp_path / "parts")
    for epochs in (3, 4):
        resume(tmp_path / "parts", epochs)
        assert checkpoint(tmp_path / "parts")["epoch"] + 1 == epochs
    assert_same_run(tmp_path / "whole", tmp_path / "parts", pictures=False)


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("moved", [False, True], ids=["in place", "moved"])
def test_the_best_epoch_stays_the_best_when_later_ones_are_worse(
    tmp_path, runs_read, tiny_images, moved
):
    folder = tmp_path / "run"
    train(replace(SMALL, epochs=2), folder)
    if moved:
        folder = folder.rename(tmp_path / "moved")
    make_validation_hard(runs_read, tiny_images)
    resume(folder, epochs=3)
    assert checkpoint(folder, "best")["epoch"] == 1
    assert not moved or not (tmp_path / "run").exists()


def make_validation_hard(runs_read, images):
    """From now on the validation images are negatives: the better the model, the worse it explains them."""
    negatives = Split(1 - images.validation.images, images.validation.labels)
    hard = replace(images, validation=negatives)
    runs_read(hard)


# --- killing ------------------------------------------------------------------------------------


def command(*arguments):
    root = str(Path(__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-m", "structured_vae", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"},
    )


def options(config):
    names = ("encoder", "recipe", "n", "hidden", "epochs", "picture_every", "seed")
    values = {name: getattr(config, name) for name in names} | {
        "epsilon.start": config.epsilon.start
    }
    return [part for name, value in values.items() for part in (f"--{name}", value)]


def finish(process):
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output


def kill_after(process, folder, epochs, seconds):
    """SIGKILL some time after the files show that many epochs, if the run is not over by then."""
    last, limit = Path(folder) / "checkpoints" / "last.ckpt", time.monotonic() + 120
    while process.poll() is None and time.monotonic() < limit:
        if not epochs or (last.exists() and checkpoint(folder)["epoch"] + 1 >= epochs):
            break
        time.sleep(0.002)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    return process.returncode


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_end(tmp_path):
    config = replace(SMALL, epochs=6, picture_every=1)
    killed = command("train", "--run", tmp_path / "killed", *options(config))
    assert kill_after(killed, tmp_path / "killed", epochs=2, seconds=0.13) == -9
    assert ".ckpt" in assert_whole_files(tmp_path / "killed")
    assert 2 <= len(rows_but_times(tmp_path / "killed")) < 6
    main(["resume", str(tmp_path / "killed")])
    train(config, tmp_path / "whole")
    assert_same_run(tmp_path / "whole", tmp_path / "killed")
    assert len(assert_whole_files(tmp_path / "killed")) == 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_again_and_again_resumes_to_the_same_end(tmp_path, seed):
    moments = random.Random(seed)  # noqa: S311  # moments of death need no cryptography
    encoder = ("independent", "supermodular", "general")[seed]
    config = replace(SMALL, encoder=encoder, epochs=10, hidden=300, picture_every=1)
    train(config, tmp_path / "whole")
    folder, kills = tmp_path / "killed", 0
    process = command("train", "--run", folder, *options(config))
    for epochs in (0, 1, 4, 7):
        delay = moments.uniform(2, 6) if epochs == 0 else moments.uniform(0, 0.6)
        kills += kill_after(process, folder, epochs, delay) == -9
        assert_whole_files(folder)
        known = (folder / "config.yaml").exists()
        process = (
            command("resume", folder)
            if known
            else command("train", "--run", folder, *options(config))
        )
    finish(process)
    assert kills >= 3
    assert_same_run(tmp_path / "whole", folder)


@pytest.mark.slow
def test_a_run_killed_while_it_writes_resumes_to_the_same_end(tmp_path):
    config = replace(SMALL, epochs=8, hidden=2000, picture_every=1)
    train(config, tmp_path / "whole")
    folder, seen = tmp_path / "killed", 0
    process = command("train", "--run", folder, *options(config))
    for _ in range(6):
        while process.poll() is None:
            if any(folder.glob("*/.*.ckpt.*")):
                process.kill()
                seen += 1
        process.communicate()
        if process.returncode == 0:
            break
        assert_whole_files(folder)
        time.sleep(0.1)
        for left in folder.glob("*/.*"):
            left.unlink()
        process = command("resume", folder)
        started = time.monotonic()
        while process.poll() is None and time.monotonic() - started < 5:
            time.sleep(0.05)
    if process.returncode is None:
        finish(process)
    assert seen >= 3
    assert_same_run(tmp_path / "whole", folder)


# --- a full disk, and what a kill leaves --------------------------------------------------------

FULL = Path("/dev/full")  # every write to it fails as on a full disk


def no_room_for(monkeypatch, run, name, epoch=1):
    """From an epoch on, what is written as that file of a run finds the disk full."""
    monkeypatch.setattr("secrets.token_hex", lambda count: "0" * 2 * count)

    def fill(trainer, *_):
        if trainer.current_epoch == epoch:
            path = run / name
            if name == "tensorboard":  # whose events are appended to one file
                (path,) = path.glob("events*")
            else:
                path = temporary_path(path)
            path.unlink(missing_ok=True)
            path.symlink_to(FULL)

    add_to_trainers(monkeypatch, at_every("on_train_batch_start", fill))


@pytest.mark.spread(2)
@tiny
@pytest.mark.skipif(not FULL.exists(), reason=f"the system has no {FULL}")
@pytest.mark.parametrize(
    "name",
    [
        "checkpoints/last.ckpt",
        "checkpoints/best.ckpt",
        "metrics.csv",
        "record.json",
    ],
)
def test_a_full_disk_stops_a_run_that_can_be_resumed(tmp_path, monkeypatch, capfd, whole, name):
    config = replace(SMALL, encoder="independent", picture_every=1)
    handler = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        no_room_for(patch, tmp_path / "parts", name)
        with pytest.raises(
            RunError,
            match=rf"No space left on device: .*{name}.*structured-vae resume .*parts$",
        ):
            train(config, tmp_path / "parts")
    assert signal.getsignal(signal.SIGTERM) == handler
    assert "Traceback" not in capfd.readouterr().err
    assert [path.name for path in (tmp_path / "parts").rglob(".*")] == [".structured-vae.lock"]
    assert checkpoint(tmp_path / "parts")["epoch"] >= 0
    assert_whole_files(tmp_path / "parts")
    resume(tmp_path / "parts")
    assert_same_run(whole(config), tmp_path / "parts")


@tiny
@pytest.mark.skipif(not FULL.exists(), reason=f"the system has no {FULL}")
def test_a_disk_that_is_full_in_the_first_epoch_names_the_checkpoint_that_is_there(
    tmp_path, monkeypatch, whole
):
    config = replace(SMALL, encoder="independent", picture_every=1)
    with monkeypatch.context() as patch:
        no_room_for(patch, tmp_path / "parts", "checkpoints/last.ckpt", epoch=0)
        with pytest.raises(RunError, match=r"last\.ckpt'.*structured-vae resume .* --from best$"):
            train(config, tmp_path / "parts")
    resume(tmp_path / "parts", start="best")
    assert_same_run(whole(config), tmp_path / "parts")


@pytest.mark.spread(1)
@tiny
@pytest.mark.skipif(not FULL.exists(), reason=f"the system has no {FULL}")
@pytest.mark.parametrize(
    "name", ["pictures/samples-0002.png", "pictures/reconstructions-0002.png", "tensorboard"]
)
def test_a_disk_that_is_full_for_a_picture_or_a_logger_is_a_warning(
    tmp_path, monkeypatch, capfd, whole, name
):
    config = replace(SMALL, encoder="independent", picture_every=1)
    expected = whole(config)
    no_room_for(monkeypatch, tmp_path / "run", name)
    with pytest.warns(SkippedWarning, match="No space left on device"):
        train(config, tmp_path / "run")
    assert "Traceback" not in capfd.readouterr().err
    assert_same_run(expected, tmp_path / "run", pictures=False)


@tiny
@pytest.mark.skipif(not FULL.exists(), reason=f"the system has no {FULL}")
def test_a_full_disk_is_said_in_a_line(tmp_path, monkeypatch, capfd):
    no_room_for(monkeypatch, tmp_path / "run", "checkpoints/last.ckpt")
    with pytest.raises(SystemExit) as stop:
        main(["train", "--run", str(tmp_path / "run"), *map(str, options(SMALL))])
    assert stop.value.code == 2
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "error" in line]
    assert line.startswith(f"error: {tmp_path / 'run'} cannot be written to ([Errno 28]")
    assert line.endswith(f"structured-vae resume {tmp_path / 'run'}")


@tiny
def test_what_killed_runs_left_is_removed_at_the_next_start(run, tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    tail = "{}-0123456789abcdef.structured-vae-tmp"
    names = (
        f"checkpoints/.last.ckpt.{tail}",
        f"pictures/.samples-0001.png.{tail}",
        f".metrics.csv.{tail}",
    )
    for folder in (run, tmp_path / "new"):
        left = [
            folder / name.format(number) for number in (ended.pid, os.getpid()) for name in names
        ]
        others = [folder / ".lock", folder / f".metrics.csv.{tail.format(os.getppid())}"]
        for path in (*left, *others):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"half of it")
        if folder == run:
            resume(run, epochs=2)
        else:
            train(SMALL, folder)
        assert not [path for path in left if path.exists()]
        assert [path.read_bytes() for path in others] == [b"half of it"] * 2


# --- what a run leaves behind -------------------------------------------------------------------


@tiny
def test_metrics_and_record_agree(whole):
    record = json.loads((whole(SMALL) / "record.json").read_text())
    with (whole(SMALL) / "metrics.csv").open(newline="") as file:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    assert record["epochs"] == rows
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert [row["step"] for row in rows] == [3, 6, 9]
    assert all(row["seconds"] > 0 and row["ms_per_step"] > 0 for row in rows)


@tiny
def test_record_says_what_ran_and_where(tmp_path):
    config = replace(SMALL, seed=3, epochs=1)
    train(config, tmp_path / "run")
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert TrainConfig.from_dict(record["config"]) == config
    assert record["config"]["seed"] == 3
    assert record["config"]["data"]["binarisation"] == "threshold"
    assert record["versions"]["torch"] == torch.__version__
    assert {"python", "numpy", "lightning"} <= record["versions"].keys()
    assert record["hardware"]["cores"] == os.cpu_count()
    assert record["hardware"]["processor"]
    commit = git(Path(__file__).parent, "rev-parse", "HEAD")
    assert record["commit"] in ({None} if not commit else {commit, f"{commit}-dirty"})


@tiny
def test_a_record_names_the_commits_of_all_its_parts(tmp_path, monkeypatch):
    made = environment()
    for epochs, commit in ((1, "a-dirty"), (2, "b"), (3, "b")):
        now = {**made, "commit": commit}
        monkeypatch.setattr("structured_vae.training.record.environment", lambda now=now: now)
        if epochs == 1:
            train(replace(SMALL, epochs=1), tmp_path / "run")
        else:
            resume(tmp_path / "run", epochs)
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert (record["commit"], record["commits"]) == ("b", ["a-dirty", "b"])


def test_the_commit_of_an_older_part_is_not_known(tmp_path):
    record = RunRecord(tmp_path, {})
    record.load_state_dict({"rows": [], "seconds": 0.0})
    assert record.commits == [None, environment()["commit"]]


def test_a_commit_is_that_of_the_code_that_was_imported(monkeypatch):
    before = environment()["commit"]
    monkeypatch.setattr("structured_vae.environment._git", lambda *arguments: "made meanwhile")
    assert environment()["commit"] == before


def test_record_does_not_take_the_commit_of_a_stranger(tmp_path, monkeypatch):
    git(tmp_path, "init")
    git(
        tmp_path,
        *(["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "mine"]),
    )
    assert git(tmp_path, "rev-parse", "HEAD")
    installed = tmp_path / ".venv" / "site-packages" / "structured_vae" / "environment.py"
    installed.parent.mkdir(parents=True)
    installed.touch()
    monkeypatch.setattr("structured_vae.environment.__file__", str(installed))
    assert environment()["commit"] is None


def git(folder, *arguments):
    command = ["git", "-C", folder, *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip()


@tiny
def test_every_row_adds_up(whole):
    folders = {
        "independent": whole(replace(SMALL, encoder="independent", recipe="elbo")),
        "general": whole(SMALL),
    }
    for name, folder in folders.items():
        for row in rows_but_times(folder):
            for split in ("validation", "test"):
                part = {key.removeprefix(f"{split}/"): value for key, value in row.items()}
                assert part["bound"] == pytest.approx(part["reconstruction"] + part["kl"], rel=1e-6)
                surrogate = part["reconstruction"] + part["kl_surrogate"]
                assert part["bound_surrogate"] == pytest.approx(surrogate, rel=1e-6)
                exact = part["kl_surrogate"] if name == "independent" else 4 * math.log(2)
                assert part["kl"] == pytest.approx(exact, rel=1e-6)
            assert 0 <= row["train/changed"] <= 1


@tiny
def test_metrics_are_those_of_the_checkpoints(tmp_path, runs_read, tiny_images):
    make_validation_hard(runs_read, tiny_images)  # so that the first epoch is the best
    train(replace(SMALL, encoder="independent"), tmp_path / "run")
    rows = rows_but_times(tmp_path / "run")
    for which, row in (("best", rows[0]), ("last", rows[-1])):
        quantities = evaluate_run(tmp_path / "run", "validation", which).quantities
        assert quantities["kl"].value == pytest.approx(row["validation/kl"], rel=1e-5)
        drawn, error = (row[f"validation/{part}"] for part in ("reconstruction", "standard_error"))
        assert abs(quantities["reconstruction"].value - drawn) < 3 * error


@tiny
def test_checkpoints_hold_tensors_and_plain_values(whole):
    for which, epochs in (("last", {2}), ("best", {0, 1, 2})):
        loaded = checkpoint(whole(SMALL), which)
        assert loaded["epoch"] in epochs
        names = {name.removeprefix("vae.") for name in loaded["state_dict"]}
        assert names == set(load_vae(whole(SMALL), which).state_dict())


@tiny
def test_best_checkpoint_is_that_of_the_lowest_validation_bound(tmp_path):
    train(replace(SMALL, learning_rate=0.3, epochs=6), tmp_path / "run")
    bounds = [row["validation/bound_surrogate"] for row in rows_but_times(tmp_path / "run")]
    assert checkpoint(tmp_path / "run", "best")["epoch"] == int(np.argmin(bounds))


@tiny
def test_loaded_networks_are_those_that_were_trained(whole, tiny_images):
    run = whole(replace(SMALL, encoder="independent"))
    vae = load_vae(run, "last")
    assert not vae.training
    with torch.no_grad():
        unary = vae.encoder(torch.from_numpy(tiny_images.validation.images)).unary.double()
    p = unary.sigmoid()
    kl = (p * (2 * p).log() + (1 - p) * (2 * (1 - p)).log()).sum(dim=1).mean()
    row = rows_but_times(run)[-1]
    assert row["validation/kl"] == pytest.approx(kl.item(), rel=1e-4, abs=1e-5)


def test_loss_goes_down_on_the_embedded_images(tmp_path):
    train(replace(SMALL, n=8, hidden=50, epochs=2), tmp_path / "run")
    rows = rows_but_times(tmp_path / "run")
    for name in ("train/cost", "validation/bound", "test/bound_surrogate"):
        values = [row[name] for row in rows]
        assert values == sorted(values, reverse=True)
    assert rows[-1]["validation/reconstruction"] < 400  # 784 log 2 = 543 before any training


@tiny
@pytest.mark.filterwarnings("error")
def test_training_warns_of_nothing(tmp_path):
    train(replace(SMALL, epochs=1), tmp_path / "run")
    assert (tmp_path / "run" / "record.json").exists()


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize(("every", "epochs"), [(1, [1, 2, 3]), (2, [2, 3]), (3, [3]), (10, [3])])
def test_evaluations_at_their_epochs(tmp_path, whole, every, epochs):
    train(replace(SMALL, evaluate_every=every), tmp_path / "run")
    expected = [row for row in rows_but_times(whole(SMALL)) if row["epoch"] in epochs]
    assert rows_but_times(tmp_path / "run") == expected
    assert checkpoint(tmp_path / "run", "last")["epoch"] == 2
    assert checkpoint(tmp_path / "run", "best")["epoch"] + 1 in epochs


@tiny
def test_seconds_of_a_row_are_those_since_the_row_before(tmp_path, monkeypatch):
    clock = iter(range(1000))
    counter = SimpleNamespace(perf_counter=lambda: float(next(clock)))
    monkeypatch.setattr("structured_vae.training.record.time", counter)
    # a reading at each call, one apart
    train(replace(SMALL, epochs=5, evaluate_every=2), tmp_path / "run")
    rows = json.loads((tmp_path / "run" / "record.json").read_text())["epochs"]
    assert [row["seconds"] for row in rows] == [1 + 2, 1 + 2, 2]
    assert [row["ms_per_step"] for row in rows] == [
        pytest.approx(1000 / 3)
    ] * 3  # three steps to the evaluation


@tiny
def test_a_stopped_run_without_an_evaluation_goes_on(tmp_path):
    config = replace(SMALL, evaluate_every=3)
    train(config, tmp_path / "whole")
    with pytest.raises(PowerCutError):
        train(config, tmp_path / "parts", callbacks=power_cut_at("on_train_batch_start", 7))
    with pytest.raises(
        RunError, match=r"best.ckpt does not exist: the run has not come to its first eval"
    ):
        evaluate_run(tmp_path / "parts")
    resume(tmp_path / "parts")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


# --- where a run is gone on with ----------------------------------------------------------------


@tiny
def test_a_run_without_its_last_checkpoint_is_not_begun_anew(run, whole):
    (run / "checkpoints" / "last.ckpt").unlink()
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(
        RunError,
        match=rf"best.ckpt. Resume from that checkpoint: structured-vae resume {run} --from best",
    ):
        resume(run, epochs=2)
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    main(["resume", str(run), "--epochs", "2", "--from", "best"])
    assert_same_run(whole(replace(SMALL, epochs=2)), run, pictures=False)


@tiny
def test_a_run_goes_on_from_its_best_epoch_in_place_of_a_damaged_last_one(
    tmp_path, runs_read, tiny_images
):
    make_validation_hard(runs_read, tiny_images)
    config = replace(SMALL, hidden=100, learning_rate=1e-2)
    train(config, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "run")
    assert checkpoint(tmp_path / "run", "best")["epoch"] < 2
    (tmp_path / "run" / "checkpoints" / "last.ckpt").write_bytes(b"half of it")
    with pytest.raises(
        RunError, match=rf"last.ckpt is damaged.*resume {tmp_path / 'run'} --from best"
    ) as refusal:
        resume(tmp_path / "run")
    assert "delete" not in str(refusal.value)
    resume(tmp_path / "run", start="best")
    assert_same_run(tmp_path / "whole", tmp_path / "run")


@tiny
def test_a_run_without_a_best_checkpoint_is_gone_on_with_from_the_last(run):
    (run / "checkpoints" / "best.ckpt").unlink()
    with pytest.raises(
        RunError, match=rf"best.ckpt does not exist.*structured-vae resume {run} --from last"
    ):
        resume(run, epochs=2, start="best")
    resume(run, epochs=2)
    assert checkpoint(run)["epoch"] == 1


@tiny
def test_a_run_without_any_checkpoint_is_begun_anew_in_its_first_epoch_alone(run, whole):
    for which in ("last", "best"):
        (run / "checkpoints" / f"{which}.ckpt").unlink()
    first = (run / "metrics.csv").read_text()
    (run / "metrics.csv").write_text(first + first.splitlines()[1].replace("1,", "2,", 1) + "\n")
    with pytest.raises(RunError, match=r"the metrics of 2 epochs. Put last.ckpt .* --run FOLDER"):
        resume(run, epochs=2)
    (run / "metrics.csv").write_text("epoch\nx\n")
    with pytest.raises(RunError, match=r"metrics.csv is damaged"):
        resume(run, epochs=2)
    (run / "metrics.csv").write_text(first)
    resume(run, epochs=2)
    assert_same_run(whole(replace(SMALL, epochs=2)), run, pictures=False)


# --- pictures -----------------------------------------------------------------------------------


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize(("every", "epochs"), [(0, [3]), (1, [1, 2, 3]), (2, [2, 3]), (10, [3])])
def test_pictures_are_drawn_at_their_epochs(tmp_path, every, epochs):
    train(replace(SMALL, picture_every=every), tmp_path / "run")
    names = {path.name for path in (tmp_path / "run" / "pictures").iterdir()}
    kinds = ("samples", "reconstructions")
    assert names == {f"{kind}-{epoch:04d}.png" for kind in kinds for epoch in epochs}


@tiny
def test_pictures_have_ten_columns_and_ten_rows_of_doubled_images(tmp_path, tiny_images):
    train(replace(SMALL, epochs=1), tmp_path / "run")
    pictures = {path.name: image.imread(path) for path in (tmp_path / "run" / "pictures").iterdir()}
    assert {picture.shape[:2] for picture in pictures.values()} == {(280, 280)}
    top = pictures["reconstructions-0001.png"][::2, ::2][:14]
    originals = tiny_images.validation.images[:10].reshape(10, 14, 14)
    np.testing.assert_array_equal(top, 1 - np.concatenate(list(originals), axis=1))


@pytest.mark.parametrize(("images", "tiles"), [(15, (2, 10)), (3, (2, 3))])
def test_a_few_validation_images_are_reconstructed_in_whole_rows(
    tmp_path, runs_read, tiny_images, images, tiles
):
    few = replace(tiny_images.validation, images=tiny_images.validation.images[:images])
    few = replace(few, labels=few.labels[:images])
    runs_read(replace(tiny_images, validation=few))
    run = train(replace(SMALL, epochs=1), tmp_path / "run")
    picture = image.imread(run.pictures / "reconstructions-0001.png")
    assert picture.shape[:2] == (
        tiles[0] * 2 * tiny_images.height,
        tiles[1] * 2 * tiny_images.width,
    )


def test_grid_puts_images_side_by_side_row_by_row():
    tiles = torch.arange(24.0).reshape(4, 6)  # 4 images of 2 x 3
    expected = [
        [0, 1, 2, 6, 7, 8],
        [3, 4, 5, 9, 10, 11],
        [12, 13, 14, 18, 19, 20],
        [15, 16, 17, 21, 22, 23],
    ]
    np.testing.assert_array_equal(
        grid(tiles, columns=2, channels=1, height=2, width=3)[..., 0], expected
    )


def test_saved_grid_is_dark_on_light(tmp_path):
    save_grid(
        tmp_path / "a.png",
        torch.tensor([[0.0, 1.0, 0.5]]),
        columns=1,
        channels=1,
        height=1,
        width=3,
    )
    picture = image.imread(tmp_path / "a.png")
    assert picture.shape[:2] == (2, 6)
    assert picture[0, ::2].tolist() == pytest.approx([1.0, 0.0, 0.5], abs=0.01)


# --- folders and files that are not as they should be -------------------------------------------


@pytest.fixture
def run(whole, tmp_path):
    """A run of one epoch, to be damaged."""
    return shutil.copytree(whole(replace(SMALL, epochs=1)), tmp_path / "run")


@tiny
def test_a_taken_folder_is_left_alone(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match="already holds a run"):
        train(SMALL, run)
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


@tiny
@pytest.mark.parametrize("place", ["file", "file/run"])
def test_a_folder_that_cannot_be(tmp_path, place):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunError):
        train(SMALL, tmp_path / place)
    assert (tmp_path / "file").read_text() == "mine"


@tiny
@pytest.mark.parametrize(
    "change",
    [{"encoder": "bogus"}, {"recipe": "bogus"}, {"device": "bogus"}, {"solver": "bogus"}],
    ids=str,
)
def test_a_choice_that_does_not_exist_leaves_no_folder(tmp_path, change):
    with pytest.raises((ConfigError, UnknownSolverError), match="bogus"):
        train(replace(SMALL, **change), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("read", [resume, load_vae, evaluate_run])
@pytest.mark.parametrize("place", ["nowhere", "file", "folder"])
def test_a_folder_without_a_run(tmp_path, read, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="is not a run folder"):
        read(tmp_path / place)


@pytest.mark.parametrize("read", [resume, load_vae, evaluate_run])
@pytest.mark.parametrize("place", [None, 3, b"run", ["run"], "x" * 5000])
def test_what_is_no_path_of_a_run(read, place):
    with pytest.raises(RunError, match="expected the path of a run folder; got") as caught:
        read(place)
    assert len(str(caught.value)) < 1000


@tiny
@pytest.mark.parametrize("which", [None, 1, "first", "../best", ["best"]])
def test_what_is_no_checkpoint(run, which):
    with pytest.raises(RunError, match="which checkpoint must be best or last; got"):
        load_vae(run, which)


DAMAGES = {
    "empty": lambda whole: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "text": lambda whole: b"weights, allegedly",
    "one bit": lambda whole: flipped(whole),
}


def flipped(whole):
    """Flip a bit in the middle of the largest tensor; headers have bytes without a meaning."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        content = max((archive.read(name) for name in archive.namelist()), key=len)
    place = whole.index(content) + len(content) // 2
    return whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :]


@tiny
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("read", [lambda f: resume(f, 2), lambda f: load_vae(f, "last")])
def test_a_damaged_checkpoint(run, read, damage):
    file = run / "checkpoints" / "last.ckpt"
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.raises(RunError, match=r"last.ckpt is damaged or not a checkpoint of ours"):
        read(run)


@tiny
@pytest.mark.parametrize("content", [{}, [1], {"state_dict": {}}, {"epoch": "one"}], ids=str)
@pytest.mark.parametrize("read", [lambda f: resume(f, 2), lambda f: load_vae(f, "last")])
def test_a_checkpoint_of_something_else(run, read, content):
    torch.save(content, run / "checkpoints" / "last.ckpt")
    with pytest.raises(RunError, match=r"last.ckpt"):
        read(run)


class Reminder:
    """Unpickling it leaves a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@tiny
def test_nothing_in_a_checkpoint_is_executed(run, tmp_path):
    torch.save(
        {"epoch": 0, "x": Reminder(tmp_path / "executed")}, run / "checkpoints" / "last.ckpt"
    )
    for read in (lambda f: resume(f, 2), lambda f: load_vae(f, "last")):
        with pytest.raises(RunError, match="is damaged or not a checkpoint of ours"):
            read(run)
    assert not (tmp_path / "executed").exists()


def test_a_run_without_a_checkpoint(run):
    (run / "checkpoints" / "best.ckpt").unlink()
    with pytest.raises(RunError, match="has not come to its first evaluation"):
        load_vae(run)
    with pytest.raises(RunError, match=r"nothing.ckpt does not exist"):
        read_checkpoint(run / "nothing.ckpt")


@tiny
@pytest.mark.parametrize("read", [lambda f: resume(f, 2), lambda f: load_vae(f, "last")])
@pytest.mark.parametrize("change", [{"n": 5}, {"hidden": 9}, {"encoder": "independent"}], ids=str)
def test_a_configuration_that_does_not_fit_the_checkpoint(run, read, change):
    text = (run / "config.yaml").read_text()
    first, *_, last = text.splitlines()  # the marks of a whole file
    options = yaml.safe_dump({**yaml.safe_load(text), **change})
    (run / "config.yaml").write_text(f"{first}\n{options}{last}\n")
    with pytest.raises(RunError, match="does not fit"):
        read(run)


@tiny
@pytest.mark.parametrize(
    "content", [b"n: [", b"just words", b"\xff\xfe\x00", b"", b"- 1\n- 2"], ids=repr
)
def test_a_damaged_configuration(run, content):
    (run / "config.yaml").write_bytes(content)
    with pytest.raises(
        (RunError, ConfigError), match=r"config.yaml (is damaged|is not valid YAML|does not hold)"
    ):
        resume(run, 2)


def cuts(text):
    """What is left of a file that was cut off at the end of a line."""
    lines = text.splitlines(keepends=True)
    return ["".join(lines[:count]) for count in range(len(lines))]


@pytest.mark.spread(1)
@pytest.mark.parametrize("file", ["new", "older"])
def test_a_configuration_that_is_cut_off_is_refused(run, file):
    if file == "older":
        shutil.copyfile(
            Path(__file__).parent / "older" / "run" / "config.yaml", run / "config.yaml"
        )
    whole = (run / "config.yaml").read_text()
    for cut in (*cuts(whole), whole[:-2]):
        (run / "config.yaml").write_text(cut)
        with pytest.raises((RunError, ConfigError)):
            Run(run).config()
    (run / "config.yaml").write_text(whole)
    Run(run).config()


FIRST = """\
encoder: independent
solver: auto
recipe: paper
n: 4
hidden: 8
data:
  name: fashion-mnist-mini
  root: null
  binarisation: threshold
  batch_size: 100
epsilon:
  start: 0.1
  rate: 1.0e-05
  floor: 0.1
  every: 1000
learning_rate: 0.001
epochs: 3
seed: 7
picture_every: 10
device: auto
"""
SECOND = FIRST.replace("solver", "estimator: exact\nsolver").replace("hidden", "k: 9\nhidden").replace(
    "epsilon", "samples: 2\nsides: 1\nepsilon"
).replace("learning_rate", "epsilon_rule: schedule\ntemperature:\n  start: 2.0\nlearning_rate")  # fmt: skip
"""What the first two versions wrote."""


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    ("text", "n", "k"),
    [
        (FIRST, 4, TrainConfig().k),
        (SECOND, 4, TrainConfig().k),  # 9 in the file, where it had no effect
        (SECOND.replace("encoder: independent", "encoder: categorical"), TrainConfig().n, 9),
    ],
    ids=["first", "second", "categories"],
)
def test_the_oldest_configurations_are_read_unless_they_are_cut_off(tmp_path, text, n, k):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    config = Run(tmp_path).config()
    assert (config.seed, config.n, config.k, config.dropout) == (7, n, k, 0.0)
    for cut in cuts(text):
        file.write_text(cut)
        with pytest.raises(
            (RunError, ConfigError), match=r"is damaged|does not hold|must be a mapping"
        ):
            Run(tmp_path).config()


def test_a_configuration_edited_by_hand_is_read(run):
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(text.replace("seed: 0", "seed: 5  # mine") + "\n# mine too\n")
    assert Run(run).config().seed == 5


@tiny
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epocs": 3}, "epocs"),
        ({"data": {"nam": "mnist"}}, "nam"),
        ({"data": None}, "data"),
        ({"epsilon": {"start": 1.0, "speed": 2}}, "speed"),
        ({"epsilon": {"floor": 2.0}}, "floor"),
        ({"encoder": "bogus"}, "bogus"),
        ({"recipe": "bogus"}, "bogus"),
        ({"device": "bogus"}, "bogus"),
        ({"n": 0}, "n must be at least 1"),
        ({"n": "four"}, "n"),
        ({"n": 4.5}, "n"),
        ({"epochs": 2.5}, "epochs"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"learning_rate": math.nan}, "learning_rate"),
        ({"seed": -1}, "seed"),
        ({"precision": "16"}, "precision"),
        ({"kl_start": -1.0, "kl_warmup": 2}, "kl_start must be at least 0"),
        ({"kl_start": 10.0}, "set kl_warmup"),
        ({"data": {"batch_size": 0}}, "data.batch_size must be at least 1; got 0"),
        ({"data": {"train_on": "test"}}, "data.train_on"),
    ],
    ids=str,
)
def test_an_impossible_configuration_names_its_key(run, change, named):
    values = yaml.safe_load((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(yaml.safe_dump({**values, **change}))
    with pytest.raises(ConfigError, match=named):
        Run(run).config()


def test_a_configuration_survives_the_way_through_its_file(tmp_path):
    config = replace(
        SMALL, encoder="supermodular", data=replace(SMALL.data, batch_size=7), learning_rate=1e-5
    )
    Run(tmp_path / "run").create(config)
    assert Run(tmp_path / "run").config() == config


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"n": "four"}, "n must be a whole number; got 'four'"),
        ({"n": 4.0}, "n must be a whole number; got 4.0"),
        ({"n": True}, "n must be a whole number; got True"),
        ({"n": 10**400}, "n is 1000"),
        ({"samples": "2"}, "samples must be a whole number or None"),
        ({"learning_rate": "fast"}, "learning_rate must be a plain number or None"),
        ({"model": 3}, "model must be a text; got 3"),
        ({"encoder": np.array(["general", "x"])}, "encoder must be a text"),
        ({"encoder": "x" * 5000}, "encoder must be one of"),
        ({"sides": 2.0}, "sides must be a whole number"),
        ({"solver": None}, "solver must be a text"),
        ({"data": "mnist"}, "data must be an object of DataConfig"),
        ({"data": replace(SMALL.data, batch_size="7")}, "data.batch_size must be a whole number"),
        ({"data": replace(SMALL.data, name=None)}, "data.name must be a text"),
        ({"epsilon": "0.1"}, "epsilon must be an object of EpsilonConfig"),
        ({"seed": 10**5000}, "too many digits"),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_values_of_another_type_are_named(change, named):
    with pytest.raises(ConfigError, match=named) as caught:
        TrainConfig(**change)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("values", [None, 3, [("n", 4)], "n: 4", {1, 2}])
def test_options_that_are_no_mapping_are_named(values):
    with pytest.raises(ConfigError, match="expected a mapping; got"):
        TrainConfig.from_dict(values)


@pytest.mark.parametrize("schedule", [Constant, lambda value: ExponentialDecay(start=value), Ramp])
@pytest.mark.parametrize("value", ["1", None, [1.0], torch.ones(2)])
def test_schedules_are_of_numbers(schedule, value):
    with pytest.raises(ConfigError, match="must be a finite number; got"):
        schedule(value)


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path):
    config = replace(SMALL, n=np.int64(5), learning_rate=np.float64(1e-2), dropout=np.float32(0.5))
    assert (type(config.n), type(config.learning_rate), type(config.dropout)) == (int, float, float)
    Run(tmp_path / "run").create(config)
    assert Run(tmp_path / "run").config() == config


# --- divergence ---------------------------------------------------------------------------------


@tiny
@pytest.mark.parametrize(
    "change",
    [
        {"encoder": "general", "estimator": "direct"},
        {"encoder": "general", "estimator": "exact"},
        {"encoder": "independent", "estimator": "gumbel_softmax"},
        {"encoder": "categorical", "estimator": "score_function", "n": TrainConfig().n},
        {"model": "mixture", "k": 4, "n": 15, "hidden": 300, "encoder": "general"},
    ],
    ids=lambda change: " ".join(map(str, change.values())),
)
def test_a_training_that_diverges_says_what_to_do(tmp_path, change):
    config = replace(SMALL, learning_rate=1e30, evaluate_every=2, **change)
    with pytest.raises(
        DivergedError, match=r"Lower the learning rate, which is 1e\+30: --learning_rate 1e\+29"
    ):
        train(config, tmp_path / "run", progress=False)
    assert not (tmp_path / "run" / "checkpoints" / "best.ckpt").exists()


@tiny
def test_a_training_that_diverges_late_keeps_the_epochs_before(tmp_path):
    config = replace(SMALL, epochs=2)

    def poison(trainer, training, *_):
        if trainer.current_epoch:
            with torch.no_grad():
                training.vae.encoder.network[-1].bias.fill_(math.inf)

    callbacks = [at_every("on_train_batch_start", poison)]
    with pytest.raises(
        DivergedError,
        match=r"diverged in epoch 2, step 3: of the scores .* unary\[0, 0, 0\] is inf",
    ):
        train(config, tmp_path / "run", callbacks=callbacks)
    assert checkpoint(tmp_path / "run")["epoch"] == 0


# --- batches, files and random streams ----------------------------------------------------------


@pytest.mark.parametrize(("count", "size"), [(10, 3), (10, 5), (10, 100), (1, 1)])
def test_shuffled_batches_cover_every_index_once(count, size):
    sampler = ShuffledBatches(count, size, seed=0)
    sizes = [len(batch) for batch in sampler]
    assert len(sampler) == len(sizes) == math.ceil(count / size)
    assert all(each == size for each in sizes[:-1])
    assert sorted(torch.cat(list(sampler)).tolist()) == list(range(count))


def test_shuffled_batches_depend_on_seed_and_epoch_alone():
    def order(seed, epoch):
        sampler = ShuffledBatches(100, 7, seed)
        sampler.set_epoch(epoch)
        return tuple(torch.cat(list(sampler)).tolist())

    drawn = {(seed, epoch): order(seed, epoch) for seed in range(3) for epoch in range(3)}
    assert len(set(drawn.values())) == 9
    assert all(order(*key) == value for key, value in drawn.items())


@pytest.mark.parametrize("count", [10, 11, 12, 13, 20])
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_processes_share_the_batches_of_one(count, processes):
    shares = [list(ShuffledBatches(count, 4, 0, rank, processes)) for rank in range(processes)]
    whole = list(ShuffledBatches(count, 4 * processes, 0))
    for together in zip(*shares, strict=True):
        assert all(len(part) for part in together)
        assert sorted(torch.cat(together).tolist()) == sorted(whole.pop(0).tolist())
    assert all(len(batch) < processes for batch in whole)
    assert {len(share) for share in shares} == {len(ShuffledBatches(count, 4, 0, 0, processes))}


@pytest.mark.statistical
def test_shuffling_puts_every_image_everywhere():
    sampler, epochs = ShuffledBatches(4, 4, seed=0), 6_000
    counts = np.zeros((4, 4))
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        counts[np.arange(4), next(iter(sampler)).numpy()] += 1
    assert np.abs(counts - epochs / 4).max() < 4.5 * (epochs * 0.25 * 0.75) ** 0.5


def test_batches_in_order_are_the_images_in_order(tiny_images):
    split = tiny_images.test
    loaded = [x for x, _ in batches(split, InOrderBatches(len(split), 30))]
    assert [len(x) for x in loaded] == [30, 30, 30, 10]
    np.testing.assert_array_equal(torch.cat(loaded), split.images)


def test_image_data_gives_validation_then_test(tiny_images):
    data = ImageData(tiny_images, batch_size=30, seed=0)
    for loader, split in zip(
        data.val_dataloader(), (tiny_images.validation, tiny_images.test), strict=True
    ):
        np.testing.assert_array_equal(torch.cat([x for x, _ in loader]), split.images)
    train_images = torch.cat([x for (x,) in data.train_dataloader()]).numpy()
    assert not np.array_equal(train_images, tiny_images.train.images)
    drawn, stored = (np.sort(x.sum(axis=1)) for x in (train_images, tiny_images.train.images))
    np.testing.assert_array_equal(drawn, stored)


@pytest.mark.parametrize("before", [None, "old"])
def test_a_file_is_written_whole_or_not_at_all(tmp_path, before):
    target = tmp_path / "note.txt"
    if before:
        target.write_text(before)
    with pytest.raises(PowerCutError), whole_file(target) as part:  # noqa: PT012
        part.write_text("half of it")
        raise PowerCutError
    assert [path.read_text() for path in tmp_path.iterdir()] == ([before] if before else [])
    with whole_file(target) as part:
        part.write_text("all of it")
        assert target.exists() == bool(before)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["all of it"]


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    plain_sync, plain_replace, done = os.fsync, os.replace, []

    def sync(descriptor):
        plain_sync(descriptor)
        status = os.fstat(descriptor)
        done.append(("sync", status.st_ino))

    def replaced(source, target):
        plain_replace(source, target)
        done.append(("replace", os.stat(target).st_ino))

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replaced)
    target = tmp_path / "note.txt"
    with whole_file(target) as part:
        part.write_text("all of it")
    file, folder = target.stat().st_ino, tmp_path.stat().st_ino
    assert done == [("sync", file), ("replace", file), ("sync", folder)]


def test_random_streams_differ_by_seed_purpose_and_epoch():
    keys = [(seed, stream, epoch) for seed in range(4) for stream in Stream for epoch in range(4)]
    seeds = {generator(*key).initial_seed() for key in keys}
    assert len(seeds) == len(keys)
    # of 63 bits, lest many streams meet
    assert sum(seed >= 2**32 for seed in seeds) > 0.99 * len(seeds)
    first, again = (torch.rand(3, generator=generator(*keys[5])) for _ in range(2))
    assert torch.equal(first, again)


def test_an_epoch_without_a_number_does_not_hide_the_best_one(tmp_path):
    checkpoints, saved = EpochCheckpoints(tmp_path, "validation/bound"), []
    for epoch, bound in enumerate((5.0, math.nan, 9.0, 3.0)):
        trainer = SimpleNamespace(
            callback_metrics={"validation/bound": torch.tensor(bound)},
            save_checkpoint=lambda path, weights_only, epoch=epoch: saved.append(
                (epoch, path.name)
            ),
        )
        checkpoints.on_train_epoch_end(trainer, None)
    assert [epoch for epoch, name in saved if name == "best.ckpt"] == [0, 3]
