"""Several processes that train one model together."""

import csv
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from structured_vae import ConfigError, TrainConfig, train

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(__file__).parent.parent),
    "OMP_NUM_THREADS": "1",
}
CORES = os.cpu_count()
needs_two_cores = pytest.mark.skipif(CORES < 2, reason="two processes need two cores")


@pytest.mark.parametrize("key", ["processes", "nodes"])
def test_there_is_at_least_one(key):
    with pytest.raises(ConfigError, match=f"{key} must be at least 1; got 0"):
        TrainConfig(**{key: 0})


@pytest.mark.parametrize("count", [10**6, CORES + 1])
def test_more_processes_than_cores_are_refused(tmp_path, monkeypatch, count):
    # should they not be: a machine that starts them is lost
    monkeypatch.setattr(subprocess, "Popen", None)
    config = TrainConfig(processes=count, device="cpu")
    with pytest.raises(ConfigError, match=f"processes is {count:,} per node, .* has {CORES} cores"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


LAUNCHED = """
import time
from structured_vae.runs.trainer.processes import end_with_launcher
end_with_launcher()
print("launched", flush=True)
time.sleep(20)
print("outlived its launcher", flush=True)
"""
LAUNCHING = """
import subprocess, sys
from structured_vae.runs.trainer.processes import launching
with launching():
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="processes keep their parent there")
def test_a_launched_process_ends_with_the_one_that_launched_it():
    command = [sys.executable, "-c", LAUNCHING, LAUNCHED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as launcher:
        said = {launcher.stdout.readline().strip() for _ in range(2)}
        assert "launched" in said
        (child,) = map(int, said - {"launched"})
        assert lives(child)
        launcher.kill()
        assert launcher.stdout.read() == ""  # both ends of the pipe are closed
    wait_until(lambda: not lives(child), seconds=20)


def lives(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return (
        Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"
        if Path("/proc").exists()
        else True
    )


def rows(folder):
    with (folder / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def run(folder, *arguments):
    command = [sys.executable, "-m", "structured_vae", *arguments]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600
    )


@pytest.mark.slow
@needs_two_cores
def test_two_processes_learn_as_one_with_the_doubled_batch(tmp_path):
    common = ("--encoder", "independent", "--estimator", "exact", "--n", "6", "--epochs", "3")
    two = run(
        tmp_path, "train", *common, "--processes", "2", "--data.batch_size", "50", "--run", "two"
    )
    one = run(tmp_path, "train", *common, "--data.batch_size", "100", "--run", "one")
    assert (two.returncode, one.returncode) == (0, 0), two.stderr + one.stderr
    assert two.stdout.count("files of this run") == 1
    curves = [
        [float(row["test/bound"]) for row in rows(tmp_path / name)] for name in ("two", "one")
    ]
    # Exact gradients draw no noise in training: what is left is the order of sums.
    assert curves[0] == pytest.approx(curves[1], rel=2e-3)
    more = run(tmp_path, "resume", "two", "--epochs", "4")
    assert more.returncode == 0, more.stderr
    assert [row["epoch"] for row in rows(tmp_path / "two")] == ["1", "2", "3", "4"]


SMALL = (
    "--encoder",
    "independent",
    "--n",
    "4",
    "--hidden",
    "8",
    "--processes",
    "2",
    "--run",
    "mine",
)


@pytest.fixture
def two(tmp_path):
    """A training of two processes after its first epoch, with both in a group of their own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "structured_vae", "train", *SMALL, "--epochs", "1000"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(
            lambda: process.poll() is not None or (tmp_path / "mine/checkpoints/last.ckpt").exists()
        )
        assert process.poll() is None, process.stderr.read()
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(true, seconds=240):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def members(group):
    """The living processes of a group."""
    found = [
        path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")
    ]
    return [state for state, _, its_group, *_ in found if int(its_group) == group and state != "Z"]


@pytest.mark.slow
@needs_two_cores
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
def test_a_killed_training_takes_its_other_process_along(two):
    assert len(members(two.pid)) == 2
    two.kill()
    wait_until(lambda: not members(two.pid), seconds=20)


@pytest.mark.slow
@needs_two_cores
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
def test_a_terminated_training_ends_its_other_process_and_says_how_to_go_on(two):
    two.terminate()
    _, said = two.communicate(timeout=60)
    assert two.returncode == 143, said
    assert "structured-vae resume mine" in said
    wait_until(lambda: not members(two.pid), seconds=20)
