import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from few_images import reading
from matplotlib import image
from quiet_runs import resume, train
from run_metrics import rows_but_times
from training_hooks import at_call

from models import CategoricalPotentials, MixtureVAE
from structured_vae import (
    ConfigError,
    DataConfig,
    Reconstruction,
    TrainConfig,
    evaluate_run,
    load_vae,
)
from structured_vae.cli import main
from structured_vae.data import Split
from structured_vae.estimators import ESTIMATORS
from structured_vae.noise import gumbel
from structured_vae.objectives import ArgmaxLoss, RelaxedLoss, exact_loss
from structured_vae.runs.assembly import training_of
from structured_vae.training import balanced_labels
from structured_vae.training.batches import ImageData
from structured_vae.vaes import evaluate_mixture, mixture_columns

SMALL = TrainConfig(model="mixture", labels=20, epochs=2, picture_every=0)
tiny = pytest.mark.usefixtures("on_tiny_images")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, tiny_images):
    """Train the small mixture once, for all tests that only read the run."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    with reading(tiny_images):
        train(SMALL, folder)
    return folder


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


def assert_same_run(first, second):
    assert rows_but_times(first) == rows_but_times(second)
    for which in ("best", "last"):
        one, other = (
            torch.load(f / "checkpoints" / f"{which}.ckpt")["state_dict"] for f in (first, second)
        )
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


# --- losses of labelled images ------------------------------------------------------------------


def scores(batch):
    unary = torch.tensor([[1.0, -0.5, 0.2, 0.0]], dtype=torch.float64).requires_grad_()
    return unary, CategoricalPotentials(unary.expand(batch, 4)), torch.full((batch,), 2)


@pytest.mark.statistical
def test_the_argmax_loss_has_the_gradient_of_the_cross_entropy():
    draws = 40_000
    unary, potentials, classes = scores(draws)
    losses = ArgmaxLoss()(potentials, classes, torch.Generator().manual_seed(0))
    chosen = torch.autograd.grad(losses.sum(), unary)[0][0] / draws
    q = torch.tensor([1.0, -0.5, 0.2, 0.0], dtype=torch.float64).softmax(-1)
    expected = q - torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    error = (q * (1 - q) / draws).sqrt()
    assert ((chosen - expected) / error).abs().max() < 4.5
    assert ((1.1 * chosen - expected) / error).abs().max() > 4.5


def test_the_exact_loss_is_minus_log_q_of_the_class():
    _, potentials, classes = scores(3)
    exponentials = [math.exp(score) for score in (1.0, -0.5, 0.2, 0.0)]
    expected = -math.log(exponentials[2] / sum(exponentials))
    assert exact_loss(potentials, classes, torch.Generator()).tolist() == pytest.approx(
        [expected] * 3
    )


def test_the_relaxed_loss_is_the_cross_entropy_of_a_relaxed_sample():
    _, potentials, classes = scores(3)
    found = RelaxedLoss(lambda step: step / 10)(
        potentials, classes, torch.Generator().manual_seed(1), 7
    )
    noise = gumbel(potentials.unary.detach()[None], torch.Generator().manual_seed(1))[0]
    relaxed = ((potentials.unary + noise) / 0.7).softmax(dim=-1)
    torch.testing.assert_close(found, -relaxed[:, 2].log())


# --- the labelled set ---------------------------------------------------------------------------


def test_labels_are_balanced_distinct_and_of_the_seed_alone(tiny_images):
    classes = tiny_images.train.labels
    drawn = [balanced_labels(classes, 10, 100, seed) for seed in (0, 0, 1)]
    assert np.bincount(classes[drawn[0]]).tolist() == [10] * 10
    assert len(drawn[0].unique()) == 100
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0].sort().values, drawn[2].sort().values)


def test_the_labels_of_a_seed_stay_the_same():
    assert balanced_labels(np.arange(40) % 4, 4, 8, seed=0).tolist() == [
        24,
        16,
        1,
        5,
        34,
        10,
        35,
        7,
    ]


def test_more_labels_contain_the_fewer(tiny_images):
    few, many = (balanced_labels(tiny_images.train.labels, 10, count, 0) for count in (20, 100))
    assert set(few.tolist()) < set(many.tolist())


@pytest.mark.parametrize(
    ("k", "count", "message"),
    [
        (10, 15, "a multiple of the number of classes, 10; got 15"),
        (5, 20, "10 classes, and the model has k = 5"),
        (10, 10_000, r"labels can be at most \d+, \d+ a class; got 10000"),
    ],
)
def test_impossible_labels_are_refused(tiny_images, k, count, message):
    with pytest.raises(ConfigError, match=message):
        balanced_labels(tiny_images.train.labels, k, count, 0)


def test_a_step_gets_images_and_labelled_ones_with_their_classes(tiny_images):
    labelled = balanced_labels(tiny_images.train.labels, 10, 20, 0)
    data = ImageData(tiny_images, batch_size=80, seed=0, labelled=labelled)
    steps = list(data.train_dataloader())
    assert [len(x) for x, _, _ in steps] == [80, 80, 80, 60]
    stored = {
        tuple(x): c
        for x, c in zip(
            *map(_rows, (tiny_images.train.images, tiny_images.train.labels)), strict=True
        )
    }
    wanted = {tuple(x) for x in tiny_images.train.images[labelled].tolist()}
    for _, x, classes in steps:
        assert {tuple(each) for each in x.tolist()} == wanted
        assert [stored[tuple(each)] for each in x.tolist()] == classes.tolist()


def _rows(array):
    return array.tolist()


def test_many_labels_come_a_hundred_at_a_time_and_all_in_time(tiny_images):
    images = np.arange(300, dtype=np.float32)[:, None].repeat(2, axis=1)
    train_ = Split(images, tiny_images.train.labels)
    data = ImageData(replace(tiny_images, train=train_), 20, seed=0, labelled=torch.arange(250))
    steps = [x[:, 0].tolist() for _, x, _ in data.train_dataloader()]
    assert all(len(set(step)) == 100 for step in steps)
    assert {value for step in steps for value in step} == set(range(250))


def test_dynamic_images_are_new_in_every_epoch_and_depend_on_seed_and_epoch_alone(tiny_images):
    grey = np.full((300, tiny_images.pixels), 0.5, np.float32)
    grey[:, 0], grey[:, 1] = 0, 1
    train_ = Split(np.zeros_like(grey), tiny_images.train.labels, grey)
    drawn = {}
    for seed, epoch in ((0, 0), (0, 1), (1, 1), (0, 1)):
        data = ImageData(replace(tiny_images, train=train_), 100, seed)
        loader = data.train_dataloader()
        loader.sampler.set_epoch(epoch)
        x = torch.cat([x for (x,) in loader])
        assert torch.equal(x.unique(), torch.tensor([0.0, 1.0]))
        assert (x[:, 0] == 0).all()
        assert (x[:, 1] == 1).all()
        assert abs(x[:, 2:].mean() - 0.5) < 4.5 * 0.5 / (300 * 782) ** 0.5
        again = drawn.setdefault((seed, epoch), x)
        assert torch.equal(again, x)
    assert len({x.numpy().tobytes() for x in drawn.values()}) == 3
    assert len(torch.cat(list(drawn.values())).unique(dim=0)) == 900


# --- the bound ----------------------------------------------------------------------------------


@pytest.fixture(params=["shared", "own"])
def vae(request):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return MixtureVAE(pixels=6, k=3, c=2, styles=request.param).double()


def kl_of(style, q):
    """`[batch]`: by torch's own, that of a class's style in expectation over classes."""
    normal = torch.distributions.Normal(style.mean, (style.log_variance / 2).exp())
    kl = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum(-1)
    return kl if kl.ndim == 1 else (kl * q).sum(-1)


def some_images():
    return torch.rand(
        (4, 6), generator=torch.Generator().manual_seed(1)
    ).round().double(), torch.tensor([0, 1, 2, 0])


def test_without_labels_a_mixture_may_have_fewer_classes_than_the_images(vae):
    x = some_images()[0]
    noise = torch.Generator().manual_seed(2)
    found = evaluate_mixture(
        vae, [(x, torch.tensor([9, 8, 7, 6]))], noise, samples=1, supervised=False
    )
    assert found.images == 4
    assert not any(name.startswith("accuracy") for name in found.quantities)


def test_the_bound_is_the_sum_of_its_parts_over_all_classes(vae):
    x, classes = some_images()
    found = mixture_columns(vae, x, classes, torch.Generator().manual_seed(2))
    potentials, style = vae.encoder(x)
    drawn = style.sample(torch.Generator().manual_seed(2))
    q = potentials.unary.softmax(-1).detach().numpy()
    expected = np.zeros(4)
    for i in range(4):
        for category in range(3):
            z = torch.eye(3).double()[category]
            p = torch.distributions.Bernoulli(logits=vae.decoder(z, drawn[i]))
            expected[i] -= q[i, category] * p.log_prob(x[i]).sum().item()
    np.testing.assert_allclose(found["reconstruction"], expected)
    kl_discrete = (q * np.log(3 * q)).sum(axis=1)
    np.testing.assert_allclose(found["kl_discrete"], kl_discrete)
    kl_continuous = kl_of(style, torch.from_numpy(q)).detach().numpy()
    np.testing.assert_allclose(found["kl_continuous"], kl_continuous)
    np.testing.assert_allclose(found["bound"], expected + kl_discrete + kl_continuous)
    np.testing.assert_array_equal(found["accuracy"], q.argmax(1) == classes.numpy())
    np.testing.assert_allclose(found["accuracy_sampled"], q[range(4), classes])


def test_minus_log_p_is_exact_where_the_style_does_not_matter(vae):
    x, classes = some_images()
    torch.nn.init.zeros_(vae.decoder.first.weight)
    with torch.no_grad():
        vae.encoder.style[-1].weight.zero_()
        vae.encoder.style[-1].bias.zero_()
    found = mixture_columns(vae, x, classes, torch.Generator().manual_seed(2), samples=3)
    logits = vae.decoder(torch.eye(3).double()[0], torch.zeros(2).double())
    expected = -torch.distributions.Bernoulli(logits=logits).log_prob(x).sum(-1)
    torch.testing.assert_close(found["minus_log_p"], expected.detach())
    torch.testing.assert_close(found["reconstruction"], expected.detach())


def test_importance_weights_of_styles_bound_the_likelihood_at_each_number(vae):
    x, classes = some_images()
    four = mixture_columns(vae, x, classes, torch.Generator().manual_seed(2), samples=4)
    found = mixture_columns(
        vae, x, classes, torch.Generator().manual_seed(2), samples=1, importance=[2, 4]
    )
    torch.testing.assert_close(found["importance_4"], four["minus_log_p"])
    torch.testing.assert_close(found["reconstruction"], four["reconstruction"])
    assert (found["minus_log_p"] > found["importance_2"]).all()
    assert (found["importance_2"] > found["importance_4"]).all()


@pytest.mark.statistical
def test_styles_of_the_encoder_are_weighted_by_prior_over_posterior(vae):
    x, classes = some_images()
    torch.nn.init.zeros_(vae.decoder.first.weight)
    with torch.no_grad():
        vae.encoder.style[-1].weight.zero_()
        of_each = len(vae.encoder.style[-1].bias) // 2
        vae.encoder.style[-1].bias.copy_(
            torch.tensor([0.7] * of_each + [0.0] * of_each)
        )  # means, log-variances
    found = mixture_columns(vae, x, classes, torch.Generator().manual_seed(2), samples=500)
    logits = vae.decoder(torch.eye(3).double()[0], torch.zeros(2).double())
    exact = -torch.distributions.Bernoulli(logits=logits).log_prob(x).sum(-1)
    error = (math.exp(2 * 0.7**2) - 1) ** 0.5 / 500**0.5
    assert ((found["minus_log_p"] - exact) / error).abs().max() < 4.5


@pytest.mark.statistical
def test_minus_log_p_is_that_of_samples_of_the_prior(vae):
    x, classes = some_images()
    found = mixture_columns(vae, x, classes, torch.Generator().manual_seed(2), samples=500)[
        "minus_log_p"
    ]
    style = torch.randn((4_000, 2), generator=torch.Generator().manual_seed(3)).double()
    with torch.no_grad():
        log_p = torch.distributions.Bernoulli(
            logits=vae.decoder.every_class(style)[:, :, None, :]
        ).log_prob(x)
        p = log_p.sum(-1).exp().mean(dim=1)
    error = p.std(0) / p.mean(0) / 4_000**0.5
    # the importance weights of an untrained encoder vary about as little as the prior's
    assert ((found + p.mean(0).log()) / (error + 0.02)).abs().max() < 4.5


def bound_of(vae, x):
    """`[batch]`: over all classes, with the style of one draw."""
    potentials, style = vae.encoder(x)
    given = vae.decoder.given(style.sample(torch.Generator().manual_seed(4)))
    q = potentials.unary.softmax(-1)
    return (q * (given.table(x, torch.eye(3).double()) + (3 * q).log())).sum(-1) + kl_of(style, q)


def test_a_class_with_a_style_of_its_own_is_decoded_with_that_and_costs_its_kl():
    torch.manual_seed(0)
    vae, x = MixtureVAE(pixels=6, k=3, c=2, styles="own").double(), some_images()[0]
    _, style = vae.encoder(x)
    assert style.mean.shape == (4, 3, 2)
    given, left = vae.given(style, torch.Generator().manual_seed(4))
    drawn = style.sample(torch.Generator().manual_seed(4))
    assert left == 0
    for category, z in enumerate(torch.eye(3).double()):
        # as of a style that all classes share
        rows = vae.decoder(z.expand(4, 3), drawn[:, category])
        cost = (
            -torch.distributions.Bernoulli(logits=rows).log_prob(x).sum(-1)
            + style.kl()[:, category]
        )
        torch.testing.assert_close(given.cost(x, z.expand(2, 4, 3)), cost.expand(2, 4))
        torch.testing.assert_close(given.table(x, z[None])[:, 0], cost)
        torch.testing.assert_close(
            given.around(x, z.expand(4, 3)).slope[:, category], cost.detach()
        )


@tiny
def test_styles_of_the_classes_train_resume_and_travel(tmp_path, tiny_images):
    config = replace(SMALL, styles="own", epochs=2)
    train(config, tmp_path / "whole")
    train(replace(config, epochs=1), tmp_path / "parts")
    resume(tmp_path / "parts", 2, progress=False)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")
    vae = load_vae(tmp_path / "whole")
    vae.save_pretrained(tmp_path / "out")
    again = MixtureVAE.from_pretrained(tmp_path / "out")
    pixels = tiny_images.pixels
    assert again.arguments == vae.arguments == {"pixels": pixels, "k": 10, "c": 20, "styles": "own"}
    for one, other in zip(vae.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(ConfigError, match="styles has no meaning with model discrete; got 'own'"):
        TrainConfig(styles="own")
    with pytest.raises(ValueError, match="no styles are called 'each'; there are: shared, own"):
        MixtureVAE(styles="each")


def test_a_step_has_the_gradient_of_the_bound(vae):
    x, _ = some_images()
    config = TrainConfig(model="mixture", k=3, labels=0, estimator="exact", dropout=0.0)
    training = training_of(config, vae)
    training._noise = torch.Generator().manual_seed(4)
    found = torch.autograd.grad(training.loss(x), list(vae.parameters()))
    bound = bound_of(vae, x)
    for one, other in zip(
        found, torch.autograd.grad(bound.mean(), list(vae.parameters())), strict=True
    ):
        torch.testing.assert_close(one, other)


# --- configurations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"encoder": "independent"},
            "encoder has no meaning with model mixture; got 'independent'",
        ),
        ({"recipe": "elbo"}, "recipe has no meaning with model mixture"),
        ({"n": 3}, "n has no meaning with model mixture; got 3"),
        ({"model": "discrete"}, "labels has no meaning with model discrete; got 20"),
        (
            {"model": "discrete", "labels": 0, "label_weight": 2.0},
            "label_weight has no meaning with model discrete",
        ),
        ({"kl_start": -1.0}, "kl_start has no meaning with model mixture; got -1.0"),
        ({"labels": -1}, "labels must be at least 0"),
        ({"label_weight": 0.0}, "label_weight must be positive"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1; got 1.0"),
        (
            {"dropout": 0.0, "dropout_decay": "cosine"},
            "dropout_decay has no effect without dropout",
        ),
        ({"evaluate_every": 0}, "evaluate_every must be at least 1; got 0"),
        (
            {"model": "mixed"},
            "model must be one of discrete, gaussian, mixture, attributes, quantised, own; got 'mixed'",
        ),
    ],
    ids=str,
)
def test_settings_without_a_meaning_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **settings)


@tiny
def test_estimators_of_bits_or_of_another_objective_are_refused(tmp_path):
    for estimator in ("arm", "maximum_likelihood", "vimco"):
        with pytest.raises(ConfigError, match=estimator):
            train(replace(SMALL, estimator=estimator), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@tiny
def test_impossible_labels_are_refused_before_there_is_a_folder(tmp_path):
    with pytest.raises(ConfigError, match="labels must be a multiple"):
        train(replace(SMALL, labels=7), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_class_that_the_model_does_not_have_is_refused(tmp_path, runs_read, tiny_images, split):
    images = getattr(tiny_images, split)
    other = replace(tiny_images, **{split: replace(images, labels=images.labels + 1)})
    runs_read(other)
    with pytest.raises(
        ConfigError, match=f"a {split} image has the class 10, and the model has 0 to 9"
    ):
        train(SMALL, tmp_path / "run")
    assert not (tmp_path / "run").exists()


# --- runs ---------------------------------------------------------------------------------------


@pytest.mark.spread(4)
@tiny
@pytest.mark.parametrize(
    "estimator",
    [
        name
        for name, estimator in ESTIMATORS.items()
        if name not in ("arm", "disarm", "arms", "rodeo")
        and estimator.kl not in ("none", "weighted")
    ],
)
def test_every_estimator_of_categories_trains_a_mixture(tmp_path, estimator):
    train(replace(SMALL, estimator=estimator, epochs=1), tmp_path / "run")
    (row,) = rows_but_times(tmp_path / "run")
    assert all(math.isfinite(value) for value in row.values())
    kl = row["validation/kl_discrete"] + row["validation/kl_continuous"]
    assert row["validation/bound"] == pytest.approx(row["validation/reconstruction"] + kl, rel=1e-5)
    wrong = 1 - row["validation/accuracy"]
    assert row["validation/objective"] == pytest.approx(
        row["validation/bound"] + 30 * wrong, rel=1e-5
    )


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("binarisation", ["threshold", "dynamic"])
def test_a_resumed_run_equals_an_uninterrupted_one(
    tmp_path, runs_read, tiny_images, finished, binarisation
):
    whole = finished
    if binarisation == "dynamic":
        train_ = replace(tiny_images.train, grey=0.2 + 0.6 * tiny_images.train.images)
        runs_read(replace(tiny_images, train=train_))
    config = replace(SMALL, data=DataConfig(binarisation=binarisation))
    if binarisation == "dynamic":
        whole = tmp_path / "whole"
        train(config, whole)
    train(replace(config, epochs=1), tmp_path / "parts")
    resume(tmp_path / "parts", epochs=2)
    assert_same_run(whole, tmp_path / "parts")


@pytest.mark.slow
@tiny
def test_a_run_cut_off_goes_on_as_if_it_had_not_been(tmp_path):
    train(SMALL, tmp_path / "whole")

    def cut():
        raise KeyError("power")

    callbacks = [at_call("on_train_batch_start", 5, cut)]
    with pytest.raises(KeyError, match="power"):
        train(SMALL, tmp_path / "parts", callbacks=callbacks)
    resume(tmp_path / "parts")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("dropout", [0.0, 0.75])
def test_dropout_hides_pixels_from_the_encoder_alone(tmp_path, monkeypatch, dropout):
    seen, explained = [], []
    encoder_class = type(MixtureVAE(pixels=6, k=3, c=2).encoder)
    encode = encoder_class.forward
    build = Reconstruction.__init__

    def encoding(self, x):
        seen.append(x)
        return encode(self, x)

    def building(self, decoder, x):
        explained.append(x)
        build(self, decoder, x)

    monkeypatch.setattr(encoder_class, "forward", encoding)
    monkeypatch.setattr(Reconstruction, "__init__", building)
    train(replace(SMALL, dropout=dropout, epochs=1), tmp_path / "run")
    steps = len(explained)
    assert steps == 3
    for hidden, x in zip(seen[:steps], explained, strict=True):
        assert torch.equal(x.unique(), torch.tensor([0.0, 1.0]))
        assert set(hidden.unique().tolist()) == {0.0, 1 / (1 - dropout)}
        share = (hidden[x == 1] == 0).float().mean().item()
        assert share == pytest.approx(dropout, abs=0.02)
    # evaluation sees all
    assert all(torch.equal(x.unique(), torch.tensor([0.0, 1.0])) for x in seen[steps:])


@tiny
def test_labels_are_learned_and_the_best_epoch_has_the_lowest_objective(tmp_path):
    train(replace(SMALL, labels=100, label_weight=1000.0, epochs=6), tmp_path / "run")
    table = rows_but_times(tmp_path / "run")
    assert table[-1]["train/label_accuracy"] > 0.6
    assert max(row["validation/accuracy"] for row in table) > 0.4
    values = [row["validation/bound"] + 1000 * (1 - row["validation/accuracy"]) for row in table]
    best = torch.load(tmp_path / "run" / "checkpoints" / "best.ckpt")["epoch"]
    assert best == values.index(min(values))


@tiny
def test_without_labels_there_is_no_accuracy_and_the_bound_decides(tmp_path):
    train(replace(SMALL, labels=0), tmp_path / "run")
    table = rows_but_times(tmp_path / "run")
    assert not any(
        name.endswith(("accuracy", "accuracy_sampled", "/objective")) for name in table[0]
    )
    bounds = [row["validation/bound"] for row in table]
    assert torch.load(tmp_path / "run" / "checkpoints" / "best.ckpt")["epoch"] == bounds.index(
        min(bounds)
    )
    quantities = evaluate_run(tmp_path / "run").quantities
    assert "accuracy" not in quantities
    assert quantities["active"].value >= 1


@tiny
@pytest.mark.usefixtures("in_empty_folder")
def test_the_command_trains_evaluates_and_draws_classes_by_styles(tmp_path, capsys):
    main(["train", "--model", "mixture", "--labels", "100", "--epochs", "1", "--run", "mine"])
    main(["evaluate", "mine", "--samples", "2"])
    printed = capsys.readouterr().out
    assert all(
        word in printed
        for word in ("kl_discrete", "kl_continuous", "accuracy_sampled", "minus_log_p")
    )
    picture = image.imread(tmp_path / "mine" / "pictures" / "samples-0001.png")[::2, ::2]
    vae = load_vae("mine", "last")
    assert isinstance(vae, MixtureVAE)
    assert picture.shape == (140, 140)
    with pytest.raises(SystemExit):
        main(["gradients", "mine"])
    assert "mixture" in capsys.readouterr().err


@tiny
def test_an_evaluation_is_that_of_the_checkpoint(finished):
    found = evaluate_run(finished, "validation", "last", samples=4).quantities
    row = rows_but_times(finished)[-1]
    for name in ("accuracy", "accuracy_sampled", "kl_discrete", "kl_continuous"):
        assert found[name].value == pytest.approx(row[f"validation/{name}"], abs=1e-4)
    error = 4.5 * found["reconstruction"].standard_error
    assert found["reconstruction"].value == pytest.approx(
        row["validation/reconstruction"], abs=error
    )
    assert found["minus_log_p"].value < found["bound"].value
