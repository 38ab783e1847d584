"""Runs of VAEs over a space of states: trained, resumed, evaluated, exported, explored."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models import DiscreteVAE, load_pretrained, paper_vae
from models.errors import PretrainedError, SettingError
from structured_vae import (
    ConfigError,
    KOfN,
    Matchings,
    ScoreFunction,
    SpanningTrees,
    TrainConfig,
    evaluate_run,
    export_run,
    load_vae,
    resume,
    train,
)
from structured_vae.cli import main
from structured_vae.errors import RunError
from structured_vae.explorer import Explored, open_model
from structured_vae.spaces import SPACES, Assignments

tiny = pytest.mark.usefixtures("on_tiny_images")
SUBSET = TrainConfig(space="subset", k=2, n=5, hidden=4, epochs=2, picture_every=1)
ASSIGNMENT = TrainConfig(space="assignment", n=4, hidden=4, epochs=2, picture_every=1)


@pytest.mark.spread(2)
@tiny
@pytest.mark.parametrize(
    ("config", "space", "exact"),
    [
        (SUBSET, KOfN(2), False),
        (replace(SUBSET, estimator="ram"), KOfN(2), True),
        (replace(SUBSET, estimator="score_function", prior="factorised"), KOfN(2), True),
        (ASSIGNMENT, Assignments(2, 2), False),
        (replace(ASSIGNMENT, estimator="implicit_mle"), Assignments(2, 2), False),
        (replace(ASSIGNMENT, space="matching", n=6, rows=2), Matchings(2, 3), False),
        (replace(ASSIGNMENT, n=25), Assignments(5, 5), False),
    ],
    ids=["direct", "ram", "score function", "assignment", "implicit mle", "matching", "5 x 5"],
)
def test_a_run_over_a_space_resumes_and_says_what_its_bound_is(tmp_path, config, space, exact):
    train(config, tmp_path / "whole", progress=False)
    train(replace(config, epochs=1), tmp_path / "parts", progress=False)
    resume(tmp_path / "parts", 2, progress=False)
    vae = load_vae(tmp_path / "whole", "last")
    again = load_vae(tmp_path / "parts", "last")
    assert vae.space == space
    for name, value in vae.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    quantities = evaluate_run(tmp_path / "whole", samples=30).quantities
    assert quantities["kl"].kind == ("exact" if exact else "bound")
    assert quantities["bound"].kind == "bound"
    assert quantities["minus_log_p"].kind == "exact"
    assert quantities["bound"].value > quantities["minus_log_p"].value


@tiny
def test_an_exported_model_draws_states_of_its_space(tmp_path):
    run = train(replace(SUBSET, estimator="ram"), tmp_path / "run", progress=False)
    folder = export_run(run.folder, tmp_path / "exported", "last")
    loaded = load_pretrained(folder)
    assert isinstance(loaded, DiscreteVAE)
    assert loaded.space == KOfN(2)
    x = torch.rand(2, loaded.pixels)
    assert loaded.encoder(x).space == KOfN(2)
    means = loaded.decoder.mean(KOfN(2).states(5, x))
    drawn = loaded.sample(10, torch.Generator().manual_seed(0))
    assert ((drawn[:, None] - means[None]).abs().amax(dim=-1).amin(dim=-1) < 1e-6).all()


def test_a_space_without_a_name_is_not_exported(tmp_path):
    vae = paper_vae("independent", pixels=4, n=3, space=SpanningTrees([[0, 1], [1, 2], [0, 2]]))
    with pytest.raises(PretrainedError, match="has no name"):
        vae.save_pretrained(tmp_path / "model")


def test_pairwise_scores_and_categories_exclude_a_space():
    for name, size in (("general", "n"), ("categorical", "k")):
        with pytest.raises(SettingError, match=f"without pairwise scores.*; got {name}"):
            paper_vae(name, pixels=4, **{size: 3}).restrict(KOfN(2))


def test_an_unknown_space_of_a_file_names_those_that_there_are():
    with pytest.raises(SettingError, match="there are: subset, assignment, matching"):
        DiscreteVAE.of_arguments("independent", 4, 3, 5, space="os.system")
    with pytest.raises(SettingError, match="cannot be made of"):
        DiscreteVAE.of_arguments("independent", 4, 3, 5, space="subset", rows=2)


@tiny
def test_an_estimator_over_a_structure_makes_the_model_one_over_it(tmp_path):
    config = TrainConfig(encoder="independent", n=5, hidden=4, epochs=1, picture_every=1)
    estimator = ScoreFunction(4, KOfN(5, least=3))
    train(config, tmp_path / "run", progress=False, estimator=estimator)
    quantities = evaluate_run(tmp_path / "run", estimator=estimator).quantities
    assert quantities["kl"].kind == "exact"


def test_the_page_fixes_bits_of_listed_states():
    torch.manual_seed(0)
    vae = paper_vae("independent", pixels=9, n=5, hidden=4, space=KOfN(2))
    model = Explored(vae.eval(), None, (3, 3))
    scored = model.score(np.zeros(9, dtype=np.float32))
    encoded = model.encode(scored, {1: 1}, count=3)
    assert (encoded.best.states.sum(axis=1) == 2).all()
    assert (encoded.best.states[:, 1] == 1).all()
    assert encoded.best.optimal.all()
    assert encoded.marginals.sum() == pytest.approx(2)
    assert np.exp(encoded.best.log_given).sum() < 1
    assert model.samples(4, 0, {1: 1}).size
    assert not model.parts.has_paths
    with pytest.raises(RunError, match="no state has all of these bits"):
        model.encode(scored, {0: 1, 1: 1, 2: 1})


def test_a_space_of_too_many_states_is_not_shown():
    vae = paper_vae("independent", pixels=9, n=60, hidden=4, space=KOfN(20))
    with pytest.raises(RunError, match="the explorer lists up to 65536"):
        _ = Explored(vae.eval(), None, (3, 3)).parts


@tiny
def test_the_page_opens_a_run_over_a_space(tmp_path):
    train(SUBSET, tmp_path / "run", progress=False)
    model = open_model(tmp_path / "run")
    assert model.bits
    assert len(model.encode(model.score(model.test_image(0))).best.states) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": "subset", "k": 9, "n": 5}, "space subset of n = 5 bits: k = 9 is more than"),
        ({"space": "subset", "encoder": "supermodular"}, "no scores of pairs"),
        ({"space": "subset", "k": 2, "prior": "gibbs"}, "prior gibbs"),
        ({"space": "assignment", "n": 4, "prior": "factorised"}, "needs sums over the states"),
        ({"space": "subset", "k": 2, "solver": "max_flow"}, "need no solver"),
        ({"space": "assignment", "n": 5}, "n must be rows times columns"),
        ({"space": "matching", "n": 6, "rows": 4}, "n must be rows times columns"),
        ({"rows": 4}, "rows is an option of the spaces"),
        ({"space": "subsets"}, r"space must be one of .*Did you mean subset\?"),
        ({"space": "subset", "k": 2, "rows": 2}, "space subset has no option rows"),
        ({"space": "subset", "k": 2, "space_options": "least"}, "names with whole numbers"),
        ({"space": "subset", "k": 2, "space_options": "leats=1"}, "has no option leats"),
        ({"space": "subset", "k": 2, "space_options": "least=3"}, "least must be at most k"),
        ({"space_options": "least=1"}, "need a space other than bits"),
    ],
)
def test_impossible_spaces_are_refused_before_any_work(options, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**options)


@tiny
def test_an_export_of_a_space_that_is_not_installed_says_so(tmp_path, monkeypatch, capsys):
    run = train(SUBSET, tmp_path / "run", progress=False)
    monkeypatch.delitem(SPACES.built_in, "subset")
    monkeypatch.setattr("models.named_classes.entry_points", lambda **_: ())
    with pytest.raises(SystemExit) as stopped:
        main(["export", str(run.folder), str(tmp_path / "exported")])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert "space must be one of bits, assignment, matching" in message
    assert "got 'subset'" in message


@pytest.mark.statistical
@pytest.mark.parametrize("fixed", [{}, {1: 1}, {0: 0, 4: 1}], ids=str)
def test_the_page_shows_the_posterior_of_the_training_over_a_space(fixed):
    torch.manual_seed(0)
    vae = paper_vae("independent", pixels=9, n=5, hidden=4, space=KOfN(2)).eval()
    for weight in vae.encoder.parameters():
        torch.nn.init.normal_(weight)
    image = np.zeros(9, dtype=np.float32)
    states = np.array([z for z in np.ndindex(2, 2, 2, 2, 2) if sum(z) == 2])
    allowed = states[[all(z[i] == value for i, value in fixed.items()) for z in states]]
    unary = vae.encoder(torch.zeros(1, 9)).unary[0].detach().double().numpy()
    weights = np.exp(allowed @ unary)
    gibbs = weights @ allowed / weights.sum()
    noise = np.random.default_rng(0).logistic(size=(100_000, 5))
    best = allowed[((unary + noise) @ allowed.T).argmax(axis=1)]
    error = 4 / np.sqrt(2000)

    by_sums = Explored(vae, replace(SUBSET, estimator="ram"), (3, 3))
    exact = by_sums.encode(by_sums.score(image), fixed)
    assert exact.how == "the Gibbs distribution, exact"
    np.testing.assert_allclose(exact.marginals, gibbs, atol=1e-6)

    by_argmax = Explored(vae, replace(SUBSET, estimator="direct"), (3, 3))
    scored = by_argmax.score(image)
    drawn = by_argmax.encode(scored, fixed)
    assert drawn.how == "perturb-and-MAP, 2000 draws"
    assert "those of perturb-and-MAP are not known" in scored.posterior.density
    np.testing.assert_allclose(drawn.marginals, best.mean(axis=0), atol=error / 2)
    if not fixed:  # otherwise both are close
        assert np.abs(best.mean(axis=0) - gibbs).max() > error / 2
    assert drawn.state == exact.state


def test_the_page_shows_permutations_whose_training_is_not_known():
    vae = paper_vae("independent", pixels=9, n=25, hidden=4, space=Assignments(5)).eval()
    model = Explored(vae, None, (3, 3))
    encoded = model.encode(model.score(np.zeros(9, dtype=np.float32)), {0: 1})
    assert encoded.how == "the Gibbs distribution, exact"
    assert encoded.marginals[0] == pytest.approx(1)
    assert encoded.marginals.sum() == pytest.approx(5)
