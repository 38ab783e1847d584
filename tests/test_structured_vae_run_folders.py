"""Run folders that are in use, removed, or hold files of another kind than they should."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from io import BytesIO
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import pytest
from few_images import on_few_images  # noqa: F401  # used by itself
from PIL import Image, ImageFilter

from structured_vae import (
    ConfigError,
    DataConfig,
    TrainConfig,
    evaluate_run,
    export_run,
    load_vae,
    resume,
    train,
)
from structured_vae.cli import main
from structured_vae.errors import RunError
from structured_vae.explorer.upload import read_colours, read_upload
from structured_vae.runs import Run
from structured_vae.runs.folder.lock import locked
from structured_vae.runs.trainer.processes import BY_HAND, NODE_COUNTS, check_nodes

TINY = TrainConfig(
    n=2, hidden=2, epochs=2, picture_every=0, logger="none", data=DataConfig(batch_size=20)
)
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(__file__).parent.parent),
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train(TINY, tmp_path_factory.mktemp("trained") / "run", progress=False).folder


@pytest.fixture
def run(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "run"))


# --- one training at a time ---------------------------------------------------------------------


def test_two_trainings_of_one_folder_exclude_each_other(run):
    with (
        locked(Run(run)),
        pytest.raises(RunError, match=f"process {os.getpid()} on .* is training in"),
    ):
        resume(run, 4, progress=False)
    with locked(Run(run)):
        load_vae(run)
        evaluate_run(run, samples=1)
    resume(run, 3, progress=False)


HOLDING = """
import sys, time
from pathlib import Path
from structured_vae.runs.folder import Run
from structured_vae.runs.folder.lock import locked
with locked(Run(Path(sys.argv[1]))):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_released(run):
    command = [sys.executable, "-c", HOLDING, str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(RunError, match=f"process {holder.pid} on"):
            resume(run, 3, progress=False)
        holder.send_signal(signal.SIGKILL)
    resume(run, 3, progress=False)


def test_a_new_training_does_not_begin_where_another_one_is_beginning(tmp_path):
    run = Run(tmp_path / "new")
    with locked(run), pytest.raises(RunError, match="is training in"):
        train(TINY, run.folder, progress=False)
    assert not run.config_file.exists()
    train(TINY, run.folder, progress=False)


def test_a_training_that_fails_releases_the_lock(run):
    class Fail(pl.Callback):
        def on_train_epoch_end(self, *_):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        resume(run, 4, progress=False, callbacks=[Fail()])
    resume(run, 4, progress=False)


def test_a_lock_that_is_a_link_is_not_followed(run, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (run / "checkpoints" / ".structured-vae.lock").unlink()
    (run / "checkpoints" / ".structured-vae.lock").symlink_to(precious)
    with pytest.raises(RunError, match="not a regular file"):
        resume(run, 3, progress=False)
    assert precious.read_text() == "precious"


# --- folders that go away -----------------------------------------------------------------------


@pytest.mark.parametrize("logger", ["none", "csv", "tensorboard"])
@pytest.mark.filterwarnings("ignore::structured_vae.errors.SkippedWarning")
@pytest.mark.parametrize("hook", ["on_train_batch_end", "on_validation_end"])
def test_a_training_ends_when_its_folder_is_removed(tmp_path, logger, hook):
    folder = tmp_path / "run"

    class Remove(pl.Callback):
        pass

    setattr(Remove, hook, lambda *_: shutil.rmtree(folder, ignore_errors=True))
    with pytest.raises(RunError, match="was removed or moved during the training"):
        train(TINY, folder, progress=False, callbacks=[Remove()], logger=logger)
    assert not folder.exists()


def test_a_training_ends_when_its_folder_is_moved(tmp_path):
    class Move(pl.Callback):
        def on_train_epoch_start(self, trainer, pl_module):
            if trainer.current_epoch == 1:
                (tmp_path / "run").rename(tmp_path / "moved")

    with pytest.raises(RunError, match="resume NEW_PLACE"):
        train(TINY, tmp_path / "run", progress=False, callbacks=[Move()])
    assert not (tmp_path / "run").exists()
    resume(tmp_path / "moved", progress=False)


# --- nodes --------------------------------------------------------------------------------------


@pytest.fixture
def launched(monkeypatch):
    """Sets what launchers set, after what this process has of it is gone."""
    for name in (*NODE_COUNTS, *BY_HAND):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


def test_nodes_that_no_launcher_has_started_are_refused(tmp_path, launched):
    with pytest.raises(
        ConfigError, match="nodes is 1,000, and no launcher has started this process"
    ):
        train(TINY, tmp_path / "run", nodes=1000, progress=False)
    assert not (tmp_path / "run").exists()
    launched("SLURM_NNODES", "2")
    with pytest.raises(ConfigError, match="started for 2"):
        check_nodes(1000)


@pytest.mark.parametrize(
    "told", [{"SLURM_NNODES": "3"}, {"GROUP_WORLD_SIZE": "3"}, dict.fromkeys(BY_HAND, "0")]
)
def test_nodes_that_a_launcher_has_started_are_taken(launched, told):
    for name, value in told.items():
        launched(name, value)
    check_nodes(3)


# --- files of another kind ----------------------------------------------------------------------

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


def replaced_by(file, kind):
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    else:
        with file.open("wb") as sparse:
            sparse.truncate(300 << 20 if file.suffix == ".yaml" else 3 << 30)


@pytest.mark.spread(5)
@needs_pipes
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "huge"])
@pytest.mark.parametrize(
    "name", ["config.yaml", "metrics.csv", "record.json", "checkpoints/last.ckpt"]
)
def test_a_file_of_another_kind_is_an_error_at_once(run, tmp_path, kind, name):
    replaced_by(run / name, kind)
    opening = {
        "config.yaml": lambda: resume(run, 3, progress=False),
        "metrics.csv": lambda: Run(run).recorded_epochs(),
        "record.json": lambda: export_run(run, tmp_path / "exported"),
        "checkpoints/last.ckpt": lambda: load_vae(run, "last"),
    }[name]
    begin = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises((RunError, ConfigError)) as refused:
            opening()
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()
    assert time.monotonic() - begin < 20
    assert Path(name).name in str(refused.value)


@needs_pipes
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "huge"])
def test_options_in_a_file_of_another_kind_are_an_error_at_once(tmp_path, kind, capsys):
    replaced_by(tmp_path / "options.yaml", kind)
    with pytest.raises(SystemExit) as stop:
        main(["train", "--config", str(tmp_path / "options.yaml")])
    assert stop.value.code == 2
    assert "options.yaml" in capsys.readouterr().err


def test_a_small_file_may_be_a_link(run, tmp_path):
    text = (run / "config.yaml").read_text(encoding="utf-8")
    (run / "config.yaml").unlink()
    (tmp_path / "target").write_text(text.replace("root: null", "root: ä"), encoding="utf-8")
    (run / "config.yaml").symlink_to(tmp_path / "target")
    assert Run(run).config().data.root == "ä"


# --- uploads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1"])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_large_upload_looks_as_it_would_unreduced(limits, mode, kind):
    if kind == "JPEG" and mode != "RGB":
        pytest.skip("JPEG has no transparency and no palette")
    noise = Image.effect_noise((500, 300), 90).filter(ImageFilter.GaussianBlur(20))
    drawing = noise.point(lambda value: 255 * (value > 128)).convert(mode)
    file = BytesIO()
    drawing.save(file, kind, **({"quality": 95} if kind == "JPEG" else {}))
    read = [
        lambda: read_colours(file.getvalue(), (6, 6)),
        lambda: read_upload(file.getvalue(), (6, 6), "none"),
    ]
    reduced = [call() for call in read]
    limits(finer_pixels=10_000)
    for small, plain in zip(reduced, (call() for call in read), strict=True):
        assert np.abs(small - plain).max() < 0.05


MEASURED = """
import resource, sys
from structured_vae.explorer.upload import read_colours, read_upload
content = open(sys.argv[1], "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read_colours(content, (64, 64))
read_upload(content, (28, 28), "threshold")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
@pytest.mark.parametrize(
    ("mode", "kind"), [("RGBA", "PNG"), ("RGB", "PNG"), ("P", "PNG"), ("RGB", "JPEG")]
)
def test_an_upload_of_25_megapixels_takes_little_more_than_its_pixels(tmp_path, mode, kind):
    Image.new(mode, (5000, 5000)).save(tmp_path / "large", kind)
    command = [sys.executable, "-c", MEASURED, str(tmp_path / "large")]
    said = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert int(said.stdout) < 160


def test_commands_in_messages_quote_the_name_of_a_folder(tmp_path):
    folder = tmp_path / "my first run"
    Run(folder).create(TINY)
    with pytest.raises(RunError) as raised:
        train(TINY, folder)
    command = str(raised.value).partition("Resume it: ")[2].partition(", or")[0]
    assert shlex.split(command) == ["structured-vae", "resume", str(folder)]
    resumed = Run(folder).how_to_resume(TINY, epochs=3)
    assert shlex.split(resumed) == ["structured-vae", "resume", str(folder), "--epochs", "3"]
