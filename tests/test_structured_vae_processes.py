"""Several processes that train one model together."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from structured_vae import ConfigError, TrainConfig
from structured_vae.training.batches import ShuffledBatches


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


@pytest.mark.parametrize("key", ["processes", "nodes"])
def test_there_is_at_least_one(key):
    with pytest.raises(ConfigError, match=f"{key} must be at least 1; got 0"):
        TrainConfig(**{key: 0})


def rows(folder):
    with (folder / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def run(folder, *arguments):
    command = [sys.executable, "-m", "structured_vae.cli", *arguments]
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_two_processes_learn_as_one_with_the_doubled_batch(tmp_path):
    common = ("--encoder", "independent", "--estimator", "exact", "--n", "6", "--epochs", "3")
    two = run(tmp_path, "train", *common, "--processes", "2", "--data.batch_size", "50", "--run", "two")
    one = run(tmp_path, "train", *common, "--data.batch_size", "100", "--run", "one")
    assert (two.returncode, one.returncode) == (0, 0), two.stderr + one.stderr
    assert two.stdout.count("files of this run") == 1
    curves = [[float(row["test/bound"]) for row in rows(tmp_path / name)] for name in ("two", "one")]
    # Exact gradients draw no noise in training: what is left is the order of sums.
    assert curves[0] == pytest.approx(curves[1], rel=2e-3)
    more = run(tmp_path, "resume", "two", "--epochs", "4")
    assert more.returncode == 0, more.stderr
    assert [row["epoch"] for row in rows(tmp_path / "two")] == ["1", "2", "3", "4"]
