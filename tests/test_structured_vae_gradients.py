"""The report and the figure of gradient estimators."""

import itertools
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from enumeration import LEVEL, latent, seeded
from matplotlib import image
from paper_networks import paper_vae_of
from quiet_runs import train

from structured_vae import (
    ARM,
    RAM,
    REBAR,
    ConfigError,
    Constant,
    Direct,
    DisARM,
    Exact,
    GumbelSoftmax,
    ScoreFunction,
    TrainConfig,
    gradient_report,
)
from structured_vae.cli import main
from structured_vae.errors import EstimatorError
from structured_vae.estimators import ESTIMATORS, EstimatorOptions, TableDirect
from structured_vae.evaluation import GradientReport
from structured_vae.runs.gradients import (
    SETTINGS,
    bias_and_deviation,
    gradient_figure,
)

tiny = pytest.mark.usefixtures("on_tiny_images")
SMALL = TrainConfig(n=3, hidden=4, epochs=1, picture_every=0)
CATEGORIES = replace(SMALL, encoder="categorical", n=TrainConfig().n, k=4)
PIXELS = 5
LINES = (
    "direct",
    "direct, two-sided",
    "direct, exact cost",
    "Gumbel-softmax",
    "straight-through",
)
POINTS = {"score function, 2 samples", "REBAR", "ARM", "DisARM", "RAM"}


def tiny_vae(family, n=4, scale=0.6):
    vae = paper_vae_of(family, n, pixels=PIXELS, hidden=6).double()
    generator = seeded(1)
    for parameter in vae.parameters():
        parameter.data = scale * torch.randn(
            parameter.shape, generator=generator, dtype=torch.float64
        )
    return vae


def pictures(count=3):
    return torch.rand(count, PIXELS, generator=seeded(), dtype=torch.float64).round()


def exact_gradients(vae, x, family):
    """`[images, n + e]` and the values that they are gradients of, by numpy from the potentials."""
    h = vae.encoder(x)
    rows = []
    for i in range(len(x)):
        this = replace(latent(family, vae.n), unary=h.unary[i].detach().numpy())
        if h.pairwise is not None:
            this = replace(this, pairwise=h.pairwise[i].detach().numpy())
        z = torch.from_numpy(this.states)
        rows.append(this.gradient(vae.decoder.cost(x[i], z).detach().numpy()))
    return np.stack(rows)


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["independent", "general", "categorical"])
def test_unbiased_estimators_have_no_bias_within_error(family):
    vae, x = tiny_vae(family), pictures()
    draws = 6000
    estimators = {"score": ScoreFunction(4)}
    if family != "categorical":  # of which it has the gradient itself
        estimators["ram"] = RAM()
    if family != "general":
        estimators["rebar"] = REBAR()
    if family == "independent":
        estimators |= {"arm": ARM(), "disarm": DisARM()}
    reports = gradient_report(vae, x, estimators, draws, seeded())
    norms = np.linalg.norm(exact_gradients(vae, x, family), axis=1)
    for report in reports.values():
        assert report.z_score < LEVEL
        assert report.norm == pytest.approx(np.mean(norms**2) ** 0.5, abs=1e-9)
        assert report.resolution == pytest.approx((report.variance / draws) ** 0.5)
        assert report.bias < 3 * report.resolution
        assert report.cosine > 0.99
        assert report.draws == draws
        assert report.microseconds > 0


def test_the_exact_gradient_has_no_variance():
    for family in ("independent", "general", "categorical"):
        report = gradient_report(tiny_vae(family), pictures(), {"exact": Exact()}, 10, seeded())[
            "exact"
        ]
        assert max(report.bias, report.variance, report.deviation) < 1e-12
        assert report.z_score == 0
        assert report.cosine == pytest.approx(1)


@pytest.mark.statistical
def test_a_biased_estimator_shows_its_bias():
    family = "categorical"
    vae, x = tiny_vae(family, scale=1.0), pictures()
    estimators = {"table": TableDirect(Constant(1.0)), "direct": Direct(epsilon=Constant(1.0))}
    reports = gradient_report(vae, x, estimators, 20_000, seeded())
    exact, h = exact_gradients(vae, x, family), vae.encoder(x).unary.detach().numpy()
    gaps = []
    for i, row in enumerate(exact):
        this = replace(latent(family, vae.n), unary=h[i])
        cost = vae.decoder.cost(x[i], torch.eye(vae.n, dtype=torch.float64)).detach().numpy()
        gaps.append(np.linalg.norm(this.direct_gradient(cost, 1.0) - row))
    for report in reports.values():
        assert report.bias == pytest.approx(np.mean(np.square(gaps)) ** 0.5, rel=0.05)
        assert report.z_score > 2 * LEVEL
        assert 0 < report.stats["changed"] < 1
        assert 0 < report.stats["saturated"] <= 1


@pytest.mark.statistical
def test_variance_and_deviation_are_those_of_the_draws():
    vae, x = tiny_vae("independent", n=1), pictures(1)
    report = gradient_report(vae, x, {"arm": ARM()}, 40_000, seeded())["arm"]
    p = torch.sigmoid(vae.encoder(x).unary).item()
    costs = [
        vae.decoder.cost(x, torch.full((1, 1), float(z), dtype=torch.float64)).item()
        for z in (0, 1)
    ]
    u = (np.arange(100_000) + 0.5) / 100_000
    first, second = (np.array(costs)[(each < p).astype(int)] for each in (u, 1 - u))
    gradient = (second - first) * (u - 0.5)
    assert report.norm == pytest.approx(abs(gradient.mean()), rel=2e-3)
    assert report.variance == pytest.approx(gradient.var(), rel=0.03)
    assert report.deviation == pytest.approx(math.sqrt(report.variance), rel=1e-9)


@pytest.mark.statistical
def test_the_variance_of_few_draws_is_not_biased():
    vae, x = tiny_vae("independent", n=1), pictures(1)
    many = gradient_report(vae, x, {"arm": ARM()}, 40_000, seeded())["arm"]
    few = gradient_report(vae, x.repeat(20_000, 1), {"arm": ARM()}, 2, seeded())["arm"]
    assert few.variance == pytest.approx(many.variance, rel=0.1)


def test_the_time_of_a_report_is_that_of_a_draw_for_an_image(monkeypatch):
    seconds = SimpleNamespace(perf_counter=itertools.count().__next__)
    monkeypatch.setattr(sys.modules["structured_vae.evaluation.gradients"], "time", seconds)
    report = gradient_report(
        tiny_vae("independent"), pictures(5), {"exact": Exact()}, 20, seeded()
    )["exact"]
    assert report.microseconds == pytest.approx(1e6 / (20 * 5))


def test_a_report_does_not_depend_on_its_chunks(limits):
    vae, x = tiny_vae("independent"), pictures()
    whole = gradient_report(vae, x, {"exact": Exact(), "arm": ARM()}, 50, seeded())
    limits(gradient_rows=7)
    parts = gradient_report(vae, x, {"exact": Exact()}, 50, seeded())
    assert parts["exact"].norm == pytest.approx(whole["exact"].norm)
    assert parts["exact"].variance == pytest.approx(0, abs=1e-20)
    assert parts["exact"].draws == 50


def test_report_refuses_misfits_and_trains_nothing():
    vae, x = tiny_vae("general"), pictures()
    with pytest.raises(EstimatorError, match="GumbelSoftmax cannot take"):
        gradient_report(vae, x, {"gumbel": GumbelSoftmax()}, 5, seeded())
    gradient_report(vae, x, {"direct": Direct()}, 5, seeded())
    assert all(parameter.grad is None for parameter in vae.parameters())


# --- the figure ---------------------------------------------------------------------------------


def call(*arguments):
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return stop.code
    return 0


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("encoder", ["categorical", "independent", "general"])
def test_gradients_writes_a_picture_and_its_record(tmp_path, capsys, encoder, set_columns):
    set_columns(200)
    run = tmp_path / "run"
    train(CATEGORIES if encoder == "categorical" else replace(SMALL, encoder=encoder), run)
    capsys.readouterr()
    assert call("gradients", run, "--images", 2, "--draws", 20, "--checkpoint", "last") == 0
    out = capsys.readouterr().out
    record = json.loads((run / "gradients.json").read_text())
    assert (record["images"], record["draws"], record["checkpoint"]) == (2, 20, "last")
    assert record["config"]["encoder"] == encoder
    expected = {f"{name} {value:g}" for name in LINES for value in SETTINGS} | POINTS
    softmaxes = {name for name in expected if name.startswith(("Gumbel", "straight"))}
    of_pairs = softmaxes | {"REBAR", "ARM", "DisARM"}
    left_out = {"general": of_pairs, "categorical": {"ARM", "DisARM"}, "independent": set()}[
        encoder
    ]
    assert set(record["reports"]) == expected - left_out
    for name, report in record["reports"].items():
        assert name in out
        assert report["draws"] == 20
        assert all(math.isfinite(value) for value in report.values() if isinstance(value, float))
    assert "gradients.png" in out
    picture = image.imread(run / "gradients.png")
    assert picture.shape[:2] == (600, 1200)
    assert picture[..., :3].std() > 0.05
    assert not list(run.glob("*.part*"))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_of_an_expected_cost_is_compared_and_the_others_say_why_not(name):
    forms = ESTIMATORS[name].compared()
    if ESTIMATORS[name].other_objective:
        assert not forms
        with pytest.raises(ConfigError, match=f"{name} cannot be compared .* its encoder minimis"):
            gradient_figure("no_such_run", estimators=[name])
        return
    family = "categorical" if name == "carms" else "independent"
    vae = tiny_vae(family, n=3)
    for form in forms:
        estimator = form.of_options(EstimatorOptions.at(0.5, vae.n)).double()
        report = gradient_report(vae, pictures(), {form.name: estimator}, 2, seeded())
        assert math.isfinite(report[form.name].bias)


def test_no_two_estimators_share_a_line_of_the_figure():
    names = [form.name for name in ESTIMATORS for form in ESTIMATORS[name].compared()]
    assert len(set(names)) == len(names)
    assert {"direct", "direct, two-sided", "GumbelRao", "NVIL"} <= set(names)
    with pytest.raises(ConfigError, match="no estimator is called 'nvli'; did you mean nvil"):
        gradient_figure("no_such_run", estimators=["nvli"])


@tiny
def test_a_named_estimator_that_does_not_fit_the_encoder_is_refused(tmp_path):
    run = train(CATEGORIES, tmp_path / "run").folder
    reports = gradient_figure(run, "last", 1, 2, estimators=["carms", "gumbel_rao"]).reports
    assert reports.keys() == {"CARMS", *(f"GumbelRao {value:g}" for value in SETTINGS)}
    with pytest.raises(ConfigError, match="ARM does not fit the encoder: they are of categories"):
        gradient_figure(run, "last", 1, 2, estimators=["arm"])


def test_the_rounding_of_sums_is_not_drawn_as_noise():
    direct = GradientReport(
        0.1, 0.01, 0.2, 0.4, cosine=1, z_score=0, norm=2, microseconds=1, stats={}, draws=9
    )
    reports = {"direct 0.1": direct, "direct 1": direct, "RAM": replace(direct, deviation=1e-17)}
    _, right = bias_and_deviation(reports).axes
    assert right.get_title() == "standard deviation (RAM: none)"
    assert right.get_ylim()[0] > 1e-3


@pytest.mark.slow
@tiny
def test_the_figure_is_reproducible_and_gives_what_it_wrote(tmp_path):
    train(CATEGORIES, tmp_path / "run")
    first, second = (gradient_figure(tmp_path / "run", "last", 2, 5) for _ in range(2))
    for name, report in first.reports.items():
        assert replace(report, microseconds=0) == replace(second.reports[name], microseconds=0)
    assert json.loads(second.record.read_text())["reports"].keys() == first.reports.keys()


@tiny
@pytest.mark.usefixtures("empty_figures")
def test_a_record_of_gradients_says_of_how_many_images_and_lies_where_it_should(tmp_path):
    train(CATEGORIES, tmp_path / "run")
    found = gradient_figure(tmp_path / "run", "last", 1000, 2, output=str(tmp_path))
    assert found.record == tmp_path / "gradients.json"
    assert json.loads(found.record.read_text())["images"] == 100  # of the test split


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--images", 0], "images >= 1"),
        (["--draws", 1], "draws >= 2"),
        (["--draws", "many"], "draws"),
        (["--checkpoint", "first"], "checkpoint"),
    ],
    ids=str,
)
def test_bad_options_are_refused(tmp_path, capsys, options, words):
    run = tmp_path / "run"
    train(SMALL, run)
    before = sorted(run.rglob("*"))
    capsys.readouterr()
    assert call("gradients", run, *options) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert "Traceback" not in out + err
    assert sorted(run.rglob("*")) == before


@tiny
def test_no_figure_where_there_is_nothing_exact_to_compare_with(tmp_path, capsys):
    assert call("gradients", tmp_path / "nowhere") == 2
    assert "is not a run folder" in capsys.readouterr().err
    run = tmp_path / "run"
    train(replace(SMALL, encoder="independent", n=21), run)
    capsys.readouterr()
    assert call("gradients", run, "--draws", 2) == 2
    assert "n = 21 bits" in capsys.readouterr().err
    assert not Path(run / "gradients.png").exists()
