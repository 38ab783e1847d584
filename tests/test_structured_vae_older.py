"""What an earlier state of the library left behind is read, gone on with and evaluated as it was.

`tests/older` was written by
`structured-vae train --n 4 --hidden 4 --epochs 1 --data.batch_size 500`, by `evaluate`
`--samples 10` and by `export`, at the state before the folders were laid out anew.
"""

import csv
import json
import shutil
from pathlib import Path

import pytest
import torch

from models import load_pretrained
from structured_vae import load_vae, resume
from structured_vae.cli import main

OLDER = Path(__file__).parent / "older"


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(OLDER / "run", tmp_path / "run"))


def test_an_older_run_is_evaluated_as_it_was(run):
    name = "evaluation-test-best.json"
    (run / name).unlink()
    main(["evaluate", str(run), "--samples", "10"])
    before, now = (
        json.loads((folder / name).read_text())["quantities"] for folder in (OLDER / "run", run)
    )
    assert list(now) == list(before)
    for quantity, value in before.items():
        assert now[quantity]["value"] == pytest.approx(value["value"], rel=1e-4, abs=1e-4), quantity
        assert now[quantity]["kind"] == value["kind"]


def test_an_older_run_goes_on(run):
    resume(run, epochs=2, progress=False)
    with (run / "metrics.csv").open() as file, (OLDER / "run" / "metrics.csv").open() as before:
        rows, first = list(csv.DictReader(file)), list(csv.DictReader(before))
    assert rows[0] == first[0]
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert float(rows[1]["validation/bound"]) < float(rows[0]["validation/bound"])


def test_an_older_export_has_the_weights_of_its_run():
    exported, trained = load_pretrained(OLDER / "exported"), load_vae(OLDER / "run", "best")
    for name, weights in trained.state_dict().items():
        assert torch.equal(exported.state_dict()[name], weights), name
