"""What a configuration decides: the seed of every random choice, schedules, and what a card quotes."""

import json
import os
from dataclasses import replace

import pytest
import torch

from structured_vae import DataConfig, TrainConfig, export_run, train
from structured_vae.runs.assembly import data_of, initialised, training_of

SMALL = TrainConfig(n=4, hidden=8, epochs=2, picture_every=0)


def test_the_seed_shuffles_the_images(tiny_images):
    def first_batch(seed):
        return next(iter(data_of(replace(SMALL, seed=seed), tiny_images).train_dataloader()))[0]

    assert torch.equal(first_batch(1), first_batch(1))
    assert not torch.equal(first_batch(1), first_batch(2))


def test_the_seed_draws_what_an_estimator_learns_from(tiny_images):
    config = replace(SMALL, encoder="independent", estimator="relax", seed=5)

    def drawn(seed):
        own = replace(config, seed=seed)
        training = training_of(own, initialised(own, tiny_images.pixels))
        return torch.cat([each.flatten() for each in training.estimator.parameters()])

    assert torch.equal(drawn(5), drawn(5))
    assert not torch.equal(drawn(5), drawn(6))


@pytest.mark.parametrize(("decay", "shares"), [("cosine", [0.5, 0.25]), ("none", [0.5, 0.5])])
def test_dropout_decays_as_its_own_option_says(tiny_images, decay, shares):
    other = "none" if decay == "cosine" else "cosine"
    config = replace(SMALL, dropout=0.5, dropout_decay=decay, rate_decay=other)
    options = training_of(config, initialised(config, tiny_images.pixels)).options
    assert [options.dropout(epoch) for epoch in range(2)] == pytest.approx(shares)


@pytest.mark.usefixtures("on_tiny_images")
@pytest.mark.parametrize(("age", "quoted"), [(-5, False), (5, True)], ids=["older", "newer"])
def test_a_card_quotes_an_evaluation_only_if_it_is_newer_than_the_checkpoint(tmp_path, age, quoted):
    run = train(replace(SMALL, epochs=1, data=DataConfig()), tmp_path / "run", progress=False)
    found = {"value": 123.5, "standard_error": 0.5, "kind": "bound", "meaning": "of a test"}
    file = run.folder / "evaluation-test-best.json"
    file.write_text(json.dumps({"images": 100, "quantities": {"bound": found}}))
    now = run.checkpoint("best").stat().st_mtime
    os.utime(run.config_file, (now - 60, now - 60))
    os.utime(file, (now + age, now + age))
    export_run(run, tmp_path / "exported")
    assert ("123.5" in (tmp_path / "exported" / "README.md").read_text()) is quoted
