"""Every estimator with every encoder: those that fit train and resume, the others are refused at once."""

import math
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from quiet_runs import resume, train

from models import Potentials
from structured_vae import (
    ConfigError,
    CostOfBits,
    Direct,
    Estimator,
    ExponentialDecay,
    ImplicitMLE,
    KOfN,
    ScoreFunction,
    TrainConfig,
    evaluate_run,
    load_vae,
)
from structured_vae.distributions import Gibbs, PerturbAndMAP
from structured_vae.errors import EstimatorError, RunError
from structured_vae.estimators import ESTIMATORS, PerturbedArgmax
from structured_vae.runs.assembly import initialised, training_of

tiny = pytest.mark.usefixtures("on_tiny_images")
SMALL = TrainConfig(
    n=3, hidden=4, epochs=1, picture_every=0, recipe="paper", epsilon=ExponentialDecay(start=0.1)
)
CATEGORIES = {"n": TrainConfig().n, "k": 4}
ENCODERS = ["independent", "general", "supermodular", "categorical"]
REINMAX = {"reinmax", "reinmax_rao", "reinmax_cv"}
HARD = {"straight_through", "gumbel_rao", "gapped_straight_through", *REINMAX}
FACTORISED = {"gumbel_softmax", *HARD, "rebar", "relax"}
OF_GIBBS = {"score_function", "stochastic_softmax"}
LEARNING = {"rebar", "relax", "adaptive_implicit_mle", "nvil", "double_cv", "rodeo"}


def fits(estimator, encoder):
    if estimator in ("arm", "disarm", "arms", "local_disarm"):
        return encoder == "independent"
    if estimator == "carms":
        return encoder == "categorical"
    if estimator == "rodeo":
        return encoder != "categorical"
    return estimator not in FACTORISED or encoder in ("independent", "categorical")


def small(encoder="general", **change):
    size = CATEGORIES if encoder == "categorical" else {}
    return replace(SMALL, encoder=encoder, **{**size, **change})


PAIRS = [(estimator, encoder) for estimator in ESTIMATORS for encoder in ENCODERS]
FITTING = [pair for pair in PAIRS if fits(*pair)]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The networks are tiny, and threads that wait for each other slow down on a busy machine."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


def test_every_registered_name_is_an_estimator_that_a_configuration_takes():
    for name, estimator in ESTIMATORS.items():
        assert issubclass(estimator, Estimator)
        assert small(estimator=name).estimator == name


def take_step(training, optimizer, images):
    loss = training.training_step((images,), batch_idx=1)
    optimizer.zero_grad()
    loss.backward()
    assert loss.isfinite()
    optimizer.step()


@pytest.mark.spread(20)
@pytest.mark.parametrize("recipe", ["paper", "elbo"])
@pytest.mark.parametrize(("estimator", "encoder"), FITTING)
def test_every_combination_that_fits_trains_and_goes_on_from_its_state(estimator, encoder, recipe):
    epsilon = ExponentialDecay(start=1.0)
    config = small(encoder, estimator=estimator, recipe=recipe, epsilon=epsilon)
    random = torch.Generator().manual_seed(0)
    vae = initialised(config, pixels=6)
    for parameter in vae.parameters():  # large enough for a step of epsilon to change some argmax
        parameter.data = 2 * torch.randn(parameter.shape, generator=random)
    images = torch.rand(200, 6, generator=random).round()
    training = training_of(config, vae)
    optimizer = training.configure_optimizers()
    training.on_train_epoch_start()
    before = deepcopy(training.state_dict())
    take_step(training, optimizer, images)

    resumed = training_of(config, initialised(config, pixels=6))
    resumed.load_state_dict(training.state_dict())
    other = resumed.configure_optimizers()
    other.load_state_dict(deepcopy(optimizer.state_dict()))
    resumed.on_train_epoch_start()
    resumed._noise.set_state(training._noise.get_state())
    take_step(training, optimizer, images)
    take_step(resumed, other, images)

    after = training.state_dict()
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in after.items())
    assert all(value.isfinite().all() for value in after.values())
    still = [name for name, value in after.items() if torch.equal(value, before[name])]
    assert not still, "some weights never learn"
    assert any(name.startswith("estimator.") for name in after) == (estimator in LEARNING)


def weights_of(seed):
    return initialised(replace(SMALL, seed=seed), pixels=6).state_dict()


def test_the_first_weights_are_those_of_the_seed():
    first, again, other = (weights_of(seed) for seed in (0, 0, 1))
    assert all(torch.equal(value, again[name]) for name, value in first.items())
    assert not any(
        torch.equal(value, other[name]) for name, value in first.items() if value.ndim > 1
    )


def trained_by(estimator, encoder="general"):
    config = small(encoder, estimator=estimator)
    return training_of(config, initialised(config, pixels=6))


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [("direct", PerturbAndMAP), ("implicit_mle", PerturbAndMAP), ("score_function", Gibbs)],
)
def test_a_model_is_evaluated_with_the_posterior_that_its_estimator_draws_from(estimator, kind):
    training = trained_by(estimator)
    q = training.estimator.posterior(training.vae.encoder(torch.zeros(2, 6)))
    assert type(q) is kind


def test_an_evaluation_of_coupled_bits_is_that_of_their_pairs_too(tmp_path, on_tiny_images):
    config = replace(small("general", estimator="score_function"), epochs=1)
    train(config, tmp_path / "run", progress=False)
    vae = load_vae(tmp_path / "run")
    with torch.no_grad():
        x = torch.from_numpy(on_tiny_images.test.images).float()
        q = vae.encoder(x)
        pairs = Gibbs(q).kl().value.mean()
        assert abs(pairs - Gibbs(q.unary_alone()).kl().value.mean()) > 1e-3
    measured = evaluate_run(tmp_path / "run", samples=2).quantities["kl"]
    assert measured.value == pytest.approx(float(pairs), rel=1e-5)


@pytest.mark.parametrize(
    ("estimator", "samples"),
    [("direct", 1), ("score_function", 4), ("perturbed_argmax", 8), ("vimco", 5)],
)
def test_an_estimator_takes_its_usual_samples_where_none_are_asked_for(estimator, samples):
    assert trained_by(estimator).estimator.samples == samples


STATES = [
    ("rebar", {"encoder": "independent"}),
    ("relax", {"encoder": "categorical"}),
    ("table_direct", {"encoder": "general", "epsilon_rule": "adaptive", "sides": 2}),
    ("direct", {"encoder": "categorical", "epsilon_rule": "adaptive"}),
    (
        "direct",
        {"encoder": "general", "epsilon_rule": "scale_free", "recipe": "elbo", "samples": 2},
    ),
    ("score_function", {"encoder": "general"}),
    ("gumbel_softmax", {"encoder": "independent"}),
    ("maximum_likelihood", {"encoder": "categorical"}),
    ("perturbed_argmax", {"encoder": "general"}),
    ("vimco", {"encoder": "general"}),
    ("reweighted_wake_sleep", {"encoder": "independent", "prior": "factorised"}),
]


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize(("estimator", "change"), STATES, ids=str)
def test_a_run_resumes_with_all_that_its_estimator_has_learned(tmp_path, estimator, change):
    config = small(estimator=estimator, epochs=2, **change)
    train(config, tmp_path / "whole")
    train(replace(config, epochs=1), tmp_path / "parts")
    resume(tmp_path / "parts", epochs=2)
    first, second = (
        torch.load(tmp_path / name / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
        for name in ("whole", "parts")
    )
    assert first.keys() == second.keys()
    assert all(torch.equal(value, second[name]) for name, value in first.items())
    adaptive = change.get("epsilon_rule") == "adaptive"
    assert any(name.startswith("estimator.") for name in first) == (
        estimator in LEARNING or adaptive
    )
    if adaptive:
        assert first["estimator.epsilon.log_epsilon"].item() != pytest.approx(
            math.log(0.1), abs=1e-6
        )
    found = evaluate_run(tmp_path / "parts", which="last", samples=3).to_dict()
    assert found["images"] == 100
    assert load_vae(tmp_path / "parts").n in (3, 4)


@pytest.mark.spread(12)
@pytest.mark.parametrize(("estimator", "encoder"), [pair for pair in PAIRS if not fits(*pair)])
@tiny
def test_misfits_are_refused_before_anything_is_written(tmp_path, estimator, encoder):
    config = small(encoder, estimator=estimator)
    with pytest.raises(ConfigError) as refusal:
        train(config, tmp_path / "run")
    message = str(refusal.value)
    assert f"the estimator {estimator} does not fit the encoder {encoder}" in message
    named = set(message.partition("Estimators that fit: ")[2].split(", "))
    assert named == {name for name in ESTIMATORS if fits(name, encoder)}
    assert not list(tmp_path.iterdir())


LARGE = {
    "exact": {"independent": 21},
    "table_direct": {"independent": 21},
    "maximum_likelihood": {"independent": 21},
    "score_function": {"supermodular": 40},
    "stochastic_softmax": {"supermodular": 40},
}


@pytest.mark.parametrize("estimator", LARGE)
@tiny
def test_too_many_bits_are_refused_and_what_fits_is_named(tmp_path, estimator):
    ((encoder, n),) = LARGE[estimator].items()
    config = replace(SMALL, estimator=estimator, encoder=encoder, n=n)
    with pytest.raises(ConfigError, match=f"does not fit the encoder {encoder}") as refusal:
        train(config, tmp_path / "run")
    named = set(str(refusal.value).partition("Estimators that fit: ")[2].split(", "))
    assert "direct" in named
    assert not named & set(LARGE) - (OF_GIBBS if encoder == "independent" else set())
    assert not list(tmp_path.iterdir())


@pytest.mark.spread(1)
@tiny
def test_noise_on_pairs_is_refused_where_the_solver_is_a_minimum_cut(tmp_path):
    config = replace(
        SMALL, estimator="perturbed_argmax", encoder="supermodular", solver="max_flow", n=4
    )
    with pytest.raises(ConfigError, match="solver 'max_flow' cannot take that") as refusal:
        train(config, tmp_path / "run")
    assert "perturbed_argmax" not in str(refusal.value).partition("Estimators that fit: ")[2]
    assert not list(tmp_path.iterdir())


@tiny
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimator": "arm", "encoder": "independent", "samples": 0}, "at least 1; got 0"),
        ({"estimator": "score_function", "samples": 1}, "at least 2; got 1"),
        ({"estimator": "perturbed_argmax", "samples": 1}, "at least 2; got 1"),
    ],
    ids=str,
)
def test_impossible_options_are_refused_before_anything_is_written(tmp_path, change, words):
    with pytest.raises(EstimatorError, match=words):
        train(replace(SMALL, **change), tmp_path / "run")
    assert not list(tmp_path.iterdir())


OVER_A_STRUCTURE = [
    Direct(KOfN(1)),
    ImplicitMLE(KOfN(1)),
    PerturbedArgmax(KOfN(1)),
    ScoreFunction(structure=KOfN(1)),
]


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize("estimator", OVER_A_STRUCTURE, ids=lambda each: type(each).__name__)
def test_a_vae_is_trained_over_the_states_that_its_estimator_draws(tmp_path, estimator):
    config = replace(SMALL, encoder="independent")
    run = train(config, tmp_path / "run", estimator=estimator)
    assert (run.folder / "record.json").exists()


@tiny
@pytest.mark.parametrize("estimator", OVER_A_STRUCTURE, ids=lambda each: type(each).__name__)
def test_coupled_bits_have_no_states_of_a_structure(tmp_path, estimator):
    with pytest.raises(
        ConfigError, match=f"this {type(estimator).__name__} draws only states of KOfN"
    ):
        train(replace(SMALL, encoder="general"), tmp_path / "run", estimator=estimator)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("estimator", OVER_A_STRUCTURE, ids=lambda each: type(each).__name__)
def test_estimators_over_a_structure_take_no_pairs(estimator):
    potentials = Potentials(torch.zeros(1, 3), torch.zeros(1, 1), torch.tensor([[0, 2]]))
    with pytest.raises(
        EstimatorError, match="they have pairwise scores, and KOfN has scores of variables"
    ):
        estimator(potentials, CostOfBits(lambda z: z.sum(dim=-1)), torch.Generator())


@tiny
def test_the_last_epoch_of_another_estimator_is_not_resumed(tmp_path):
    run = Path(tmp_path / "run")
    train(replace(SMALL, encoder="independent", estimator="rebar"), run)
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("estimator: rebar", "estimator: arm"))
    kept = (run / "config.yaml").read_text()
    with pytest.raises(
        RunError, match=r"does not fit the run's configuration: [\s\S]*estimator\.eta"
    ):
        resume(run, 2)
    assert (run / "config.yaml").read_text() == kept


def test_epsilon_options_reach_the_estimator():
    config = replace(SMALL, epsilon=ExponentialDecay(start=0.3), sides=2, samples=3)
    training = training_of(config, initialised(config, pixels=6))
    assert (training.estimator.sides, training.estimator.samples) == (2, 3)
    assert training.estimator.epsilon(0, torch.ones(1)) == 0.3
