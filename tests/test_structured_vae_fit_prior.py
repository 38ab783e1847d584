"""A prior fitted to the codes of a trained run."""

import json

import pytest
import torch
from enumeration import seeded

from models import load_pretrained, paper_vae
from models.priors import PriorOptions, States, named_prior
from structured_vae import TrainConfig, load_vae, train
from structured_vae.cli import main
from structured_vae.errors import ConfigError, DivergedError, RunError
from structured_vae.runs.fit_prior import fit_prior
from structured_vae.training import fit_to_codes


def run_of(tmp_path, data, **options):
    config = TrainConfig(
        **{"estimator": "score_function", "n": 6, "hidden": 8, "epochs": 1} | options,
        logger="none",
        device="cpu",
    )
    return train(config, tmp_path / "run", False, data=data).folder


def test_the_fit_approaches_the_distribution_of_the_codes():
    source = named_prior("linear", States(3))
    for number, weight in enumerate(source.parameters()):
        weight.data = 1.5 * torch.randn(weight.shape, generator=seeded(number))
    entropy = -source.log_prob(source.sample(20_000, seeded(9))).mean().item()
    images = [(torch.zeros(200, 1),)] * 20

    def codes(x, noise):
        return source.sample(len(x), noise)

    fitted = named_prior(PriorOptions("made", hidden=8), States(3))
    costs = fit_to_codes(fitted, codes, images, images, epochs=6, learning_rate=0.05)
    assert len(costs) == 6
    assert min(costs) == pytest.approx(entropy, abs=0.05)
    z = source.sample(4_000, seeded(0))
    assert -fitted.log_prob(z).mean().item() == pytest.approx(entropy, abs=0.05)


@pytest.mark.spread(1)
@pytest.mark.parametrize("prior", ["factorised", "linear"])
def test_the_bound_improves_by_the_prior_alone(tmp_path, tiny_images, prior):
    folder = run_of(tmp_path, tiny_images)
    before = load_vae(folder)
    fitted = fit_prior(
        folder, prior, epochs=2, learning_rate=0.02, data=tiny_images, target=tmp_path / "out"
    )
    names = ("reconstruction", "kl", "bound", "minus_log_p")
    old, new = ([e.quantities[name].value for name in names] for e in (fitted.before, fitted.after))
    assert new[0] == pytest.approx(old[0])
    assert new[1] < old[1]
    assert new[2] == pytest.approx(new[0] + new[1])
    assert new[3] <= new[2]
    for name, weight in before.encoder.state_dict().items():
        assert torch.equal(weight, fitted.vae.encoder.state_dict()[name])
    loaded = load_pretrained(tmp_path / "out")
    assert loaded.arguments["prior"] == prior
    x = torch.rand(3, tiny_images.pixels)
    assert torch.equal(loaded.encoder(x).unary, fitted.vae.encoder(x).unary)
    stored = json.loads((tmp_path / "out" / "config.json").read_text())
    assert stored["training"]["prior"] == prior


def test_the_prior_of_a_gaussian_model_is_fitted(tmp_path, tiny_images):
    config = TrainConfig(model="gaussian", n=3, hidden=8, epochs=1, logger="none", device="cpu")
    folder = train(config, tmp_path / "run", False, data=tiny_images).folder
    options = {"epochs": 3, "learning_rate": 0.05, "data": tiny_images, "samples": 20}
    fitted = fit_prior(folder, "linear", target=tmp_path / "out", **options)
    old, new = fitted.before.quantities, fitted.after.quantities
    assert new["reconstruction"].value == old["reconstruction"].value
    assert new["kl"].value < old["kl"].value
    assert new["bound"].value == pytest.approx(new["reconstruction"].value + new["kl"].value)
    loaded = load_pretrained(tmp_path / "out")
    assert loaded.arguments["prior"] == "linear"
    x = torch.rand(2, tiny_images.pixels)
    assert torch.equal(loaded.posterior(x).mean, load_vae(folder).posterior(x).mean)
    with pytest.raises(ConfigError, match="no prior of continuous variables is called 'gibbs'"):
        fit_prior(folder, "gibbs", data=tiny_images)
    with pytest.raises(ConfigError, match="the prior standard has nothing to fit"):
        fit_prior(folder, "standard", data=tiny_images)


def test_the_command(tmp_path, capsys):
    arguments = "--n 4 --hidden 8 --epochs 1 --estimator exact --logger none --device cpu"
    main(["train", "--run", str(tmp_path / "run"), *arguments.split()])
    target = tmp_path / "out"
    options = ["--prior", "made", "--hidden", "8", "--epochs", "1", "--samples", "5"]
    main(["fit-prior", str(tmp_path / "run"), str(target), *options])
    shown = capsys.readouterr().out
    assert "before" in shown
    assert "after" in shown
    assert load_pretrained(target).arguments["prior_hidden"] == 8
    with pytest.raises(SystemExit):
        main(["fit-prior", str(tmp_path / "run"), str(tmp_path / "run"), *options])


def test_what_cannot_be_is_refused(tmp_path, tiny_images):
    folder = run_of(tmp_path, tiny_images)
    for options, message in [
        ({"epochs": 0}, "epochs must be"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"prior": "uniform"}, "has nothing to fit"),
        ({"prior": "linear", "hidden": 4}, "has no hidden layers"),
        ({"prior": "nothing"}, "no prior is called"),
    ]:
        with pytest.raises(ConfigError, match=message):
            fit_prior(folder, data=tiny_images, **options)
    mixture = TrainConfig(
        model="mixture", estimator="exact", epochs=1, picture_every=0, logger="none", device="cpu"
    )
    other = train(mixture, tmp_path / "other", False, data=tiny_images).folder
    with pytest.raises(RunError, match="MixtureVAE, whose prior is part of the model"):
        fit_prior(other, data=tiny_images)
    assert paper_vae("independent").prior is None


def test_the_folder_of_a_run_is_refused_before_the_fit(tmp_path, tiny_images, monkeypatch):
    folder = run_of(tmp_path, tiny_images)
    monkeypatch.setattr("structured_vae.runs.fit_prior.fit_to_codes", None)
    with pytest.raises(RunError, match="is the folder of a run"):
        fit_prior(folder, "linear", epochs=1, data=tiny_images, target=folder)


def test_a_fit_that_diverges_at_once_says_so():
    images = [(torch.zeros(4, 1),)]

    def nothing(x, noise):
        return torch.full((len(x), 3), torch.nan)

    prior = named_prior("linear", States(3))
    with pytest.raises(DivergedError, match="learning_rate"):
        fit_to_codes(prior, nothing, images, images, epochs=2, learning_rate=0.1)
