import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from faces import few_faces
from matplotlib import image
from quiet_runs import resume, train
from run_metrics import rows_but_times
from torch.distributions import Normal

from models import AttributeVAE, CategoricalPotentials, Potentials
from structured_vae import (
    ConfigError,
    DataConfig,
    TrainConfig,
    evaluate_run,
    export_run,
    load_vae,
)
from structured_vae.cli import main
from structured_vae.data import ATTRIBUTES, TYPICAL, Split
from structured_vae.distributions import Gibbs
from structured_vae.estimators import ESTIMATORS
from structured_vae.noise import gumbel_differences
from structured_vae.objectives import ArgmaxLoss, RelaxedLoss, exact_loss
from structured_vae.objectives.consistency import consistency_loss, one_switched
from structured_vae.reproduction import Experiment
from structured_vae.runs.assembly import data_of, dataset_of, initialised, training_of
from structured_vae.schedules import Constant
from structured_vae.training import drawn_labels
from structured_vae.training.batches import ImageData, InOrderBatches, batches
from structured_vae.vaes import attribute_columns, combinations, evaluate_attributes, switched
from structured_vae.vaes.attributes.appearance import appearance, recognised
from structured_vae.vaes.attributes.evaluation import kl_of_code
from structured_vae.vaes.attributes.recogniser import recogniser
from structured_vae.vaes.attributes.training import SWITCHED

PIXELS = 3 * 64 * 64
CELEBA = DataConfig(name="celeba", batch_size=8)
SMALL = TrainConfig(
    model="attributes", data=CELEBA, labels=4, channels=1, epochs=2, picture_every=0, label_weight=1
)
STATES = torch.tensor(list(itertools.product((0.0, 1.0), repeat=3)), dtype=torch.float64)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


@pytest.fixture(scope="module")
def tiny_faces():
    return few_faces()


@pytest.fixture
def on_tiny_faces(runs_read, tiny_faces):
    runs_read(tiny_faces)


# --- losses of labelled images ------------------------------------------------------------------


def potentials_of(batch, coupled):
    unary = torch.tensor([0.8, -0.5, 0.1], dtype=torch.float64).requires_grad_()
    pairwise = torch.tensor([0.9, -1.2, 0.4], dtype=torch.float64).requires_grad_()
    edges = torch.tensor([[0, 1], [0, 2], [1, 2]])
    if not coupled:
        return unary, Potentials(unary.expand(batch, 3))
    return unary, Potentials(unary.expand(batch, 3), pairwise.expand(batch, 3), edges)


def scores_of_states():
    pairs = STATES[:, [0, 0, 1]] * STATES[:, [1, 2, 2]]
    unary = torch.tensor([0.8, -0.5, 0.1], dtype=torch.float64)
    return STATES @ unary + pairs @ torch.tensor([0.9, -1.2, 0.4], dtype=torch.float64)


def test_the_exact_loss_is_minus_log_q_of_the_attributes():
    _, potentials = potentials_of(8, coupled=True)
    found = exact_loss(potentials, STATES.long(), torch.Generator())
    torch.testing.assert_close(found, -scores_of_states().log_softmax(0))


@pytest.mark.statistical
def test_the_argmax_loss_of_independent_attributes_has_the_gradient_of_the_cross_entropy():
    draws, label = 40_000, torch.tensor([1, 0, 0])
    unary, potentials = potentials_of(draws, coupled=False)
    losses = ArgmaxLoss()(potentials, label.expand(draws, 3), torch.Generator().manual_seed(0))
    found = torch.autograd.grad(losses.sum(), unary)[0] / draws
    q = torch.tensor([0.8, -0.5, 0.1], dtype=torch.float64).sigmoid()
    error = (q * (1 - q) / draws).sqrt()
    assert ((found - (q - label)) / error).abs().max() < 4.5
    assert ((1.1 * found - (q - label)) / error).abs().max() > 4.5


def test_the_argmax_loss_of_coupled_attributes_is_that_of_every_state_enumerated():
    draws, label = 500, torch.tensor([0, 1, 1])
    unary, potentials = potentials_of(draws, coupled=True)
    losses = ArgmaxLoss("exhaustive")(
        potentials, label.expand(draws, 3), torch.Generator().manual_seed(3)
    )
    noise = gumbel_differences(
        unary.detach().expand(1, draws, 3), torch.Generator().manual_seed(3)
    )[0]
    best = (scores_of_states() + noise @ STATES.T).argmax(dim=-1)
    label_score = scores_of_states()[(label == STATES).all(dim=-1)]
    torch.testing.assert_close(losses, scores_of_states()[best] - label_score)
    (found,) = torch.autograd.grad(losses.sum(), unary)
    torch.testing.assert_close(found, (STATES[best] - label).sum(dim=0))


def test_the_relaxed_loss_of_attributes_is_the_cross_entropy_of_relaxed_bits():
    unary, potentials = potentials_of(4, coupled=False)
    labels = torch.tensor([[1, 0, 1]]).expand(4, 3)
    found = RelaxedLoss(Constant(0.7))(potentials, labels, torch.Generator().manual_seed(1), 5)
    noise = gumbel_differences(unary.detach().expand(1, 4, 3), torch.Generator().manual_seed(1))[0]
    soft = ((unary.detach() + noise) / 0.7).sigmoid()
    torch.testing.assert_close(
        found.detach(), -torch.where(labels == 1, soft, 1 - soft).log().sum(dim=-1)
    )


def test_losses_of_classes_are_what_they_were():
    unary = torch.tensor([[0.3, -1.0, 0.4]], dtype=torch.float64)
    found = exact_loss(CategoricalPotentials(unary), torch.tensor([2]), torch.Generator())
    assert found.item() == pytest.approx(
        -math.log(math.exp(0.4) / sum(map(math.exp, (0.3, -1.0, 0.4))))
    )


def test_labelled_images_have_their_bound_at_the_true_attributes(tiny_faces):
    """All of the loss that is not of the unlabelled images nor of the scores, for a code without variance."""
    config = replace(SMALL, dropout=0.0)
    training = training_of(config, initialised(config, tiny_faces.pixels))
    prior = training.vae.decoder.prior
    with torch.no_grad():
        prior.weight.normal_(std=3.0, generator=torch.Generator().manual_seed(5))
        training.vae.encoder.style.weight.zero_()
        training.vae.encoder.style.bias[:] = torch.cat(
            [torch.linspace(-1, 1, 64), torch.full((64,), -40.0)]
        )
    training.on_train_epoch_start()
    x = torch.from_numpy(tiny_faces.train.images[:3]).float() / 255
    labels = torch.from_numpy(tiny_faces.train.labels[:3])
    _, bound = training._labelled(x, labels)
    code = torch.linspace(-1, 1, 64)
    means = training.vae.decoder(labels.float(), code.expand(3, 64))
    density = torch.distributions.Normal(means, training.vae.decoder.scale).log_prob(x) - math.log(
        255
    )
    kl = ((code - labels.float() @ prior.weight.T).square() - 1 + 40).sum(dim=-1) / 2
    torch.testing.assert_close(bound, kl - density.sum(dim=-1), rtol=1e-4, atol=0.0)


def test_one_attribute_of_each_state_is_switched_all_as_often():
    labels = STATES.repeat(200, 1)
    switches = one_switched(labels, torch.Generator().manual_seed(0)) != labels
    assert (switches.sum(dim=1) == 1).all()
    counts = switches.sum(dim=0)
    expected = len(labels) / 3
    assert ((counts - expected) ** 2 / expected).sum() < 23  # chi-squared, 2 degrees: 1 in 100,000


def test_the_consistency_loss_is_that_of_images_decoded_from_persons_of_the_prior():
    torch.manual_seed(0)
    vae, labels = AttributeVAE("general", n=3, c=2, channels=1), STATES[:5].float()
    torch.nn.init.normal_(vae.decoder.prior.weight, generator=torch.Generator().manual_seed(5))
    seed, given = torch.Generator().manual_seed(1), []

    def label_loss(scores, states, generator, step):
        given.append(states)
        return exact_loss(scores, states, generator, step)

    losses = consistency_loss(vae, labels, label_loss, lambda x: x / 2, seed, 0)
    persons = torch.randn((5, 2), generator=torch.Generator().manual_seed(1))
    images = vae.decoder(
        given[0], persons + given[0] @ vae.decoder.prior.weight.T + vae.decoder.prior.bias
    )
    expected = exact_loss(vae.encoder.scores(images / 2), given[0], seed)
    torch.testing.assert_close(losses, expected)
    losses.sum().backward()
    assert all(weight.grad is None for weight in vae.encoder.parameters())
    parts = (vae.decoder.first, vae.decoder.prior, vae.decoder.layers[-1])
    found = [part.weight.grad for part in parts]
    right = torch.autograd.grad(expected.sum(), [part.weight for part in parts])
    torch.testing.assert_close(found, list(right))


def test_consistency_has_the_decoder_show_what_the_encoder_knows():
    """An encoder that takes the mean of red for the first attribute: trained decoders have it red or not."""
    torch.manual_seed(0)
    vae, noise = AttributeVAE("independent", n=1, c=2, channels=4), torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(vae.decoder.parameters(), lr=0.005)
    vae.encoder.forward = lambda x: (
        Potentials(100 * (x[:, : 64 * 64].mean(dim=1, keepdim=True) - 0.5)),
        None,
    )
    for _ in range(60):
        labels = torch.randint(2, (8, 1), generator=noise)
        consistency_loss(vae, labels, ArgmaxLoss(), lambda x: x, noise, 0).mean().backward()
        optimiser.step()
        optimiser.zero_grad()
    red = vae.decoded(vae.persons(4, noise), torch.tensor([[0.0], [1.0]]))[:, : 64 * 64].mean(dim=1)
    assert (red.view(4, 2)[:, 1] > red.view(4, 2)[:, 0] + 0.01).all()


# --- the labelled set and the batches -------------------------------------------------------------


def test_labels_are_drawn_by_the_seed_and_nested():
    few, many, other = drawn_labels(50, 10, 0), drawn_labels(50, 30, 0), drawn_labels(50, 10, 1)
    assert set(few.tolist()) < set(many.tolist()) < set(range(50))
    assert set(few.tolist()) != set(other.tolist())
    with pytest.raises(
        ConfigError, match="labels can be at most 50, the images to train on; got 51"
    ):
        drawn_labels(50, 51, 0)


def test_stored_bytes_become_intensities(tiny_faces):
    labelled = torch.tensor([3, 5])
    stored = torch.from_numpy(tiny_faces.train.images).double() / 255
    steps = list(ImageData(tiny_faces, 8, 0, labelled).train_dataloader())
    images = torch.cat([x for x, _, _ in steps]).double()
    assert sorted(images.sum(dim=1).tolist()) == pytest.approx(
        sorted(stored.sum(dim=1).tolist()), rel=1e-6
    )
    for _, x, labels in steps:
        order = (
            [3, 5]
            if torch.equal(labels[0], torch.from_numpy(tiny_faces.train.labels[3]))
            else [5, 3]
        )
        torch.testing.assert_close(x.double(), stored[order], rtol=1e-6, atol=1e-7)
        assert labels.tolist() == tiny_faces.train.labels[order].tolist()
    (x, labels), *_ = batches(tiny_faces.test, InOrderBatches(6, 4))
    torch.testing.assert_close(x, torch.from_numpy(tiny_faces.test.images[:4]).float() / 255)
    assert labels.tolist() == tiny_faces.test.labels[:4].tolist()


# --- evaluation -----------------------------------------------------------------------------------


@pytest.fixture
def vae():
    """Three attributes, coupled; the code hardly varies, so that states alone are random."""
    torch.manual_seed(0)
    vae = AttributeVAE("general", n=3, c=2, channels=1)
    with torch.no_grad():
        vae.encoder.attributes.network[-1].bias[:] = torch.tensor([0.5, -1, 0.2, 1.5, -0.7, 0.4])
        vae.encoder.style.weight.zero_()
        vae.encoder.style.bias[:] = torch.tensor([0.3, -0.2, -60.0, -60.0])
        vae.decoder.prior.bias[:] = torch.tensor([0.7, -0.1])
    return vae.double()


@torch.no_grad()
def by_enumeration(vae, x):
    """q of every state, and every state's cost, of one image."""
    potentials, code = vae.encoder(x)
    pairs = STATES[:, [0, 0, 1]] * STATES[:, [1, 2, 2]]
    scores = STATES @ potentials.unary[0] + pairs @ potentials.pairwise[0]
    costs = torch.stack([vae.decoder.reconstruction(x, z[None], code.mean)[0] for z in STATES])
    return scores.softmax(0), costs


@pytest.mark.statistical
def test_the_bound_of_attributes_is_that_of_all_states_enumerated(vae):
    x = torch.rand((1, PIXELS), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    q, costs = by_enumeration(vae, x)
    draws = 150
    noise, labels = torch.Generator().manual_seed(2), torch.tensor([[1, 0, 1]])
    columns = attribute_columns(vae, x, labels, "abc", noise, samples=draws)
    kl = (q * (q * len(q)).log()).sum()
    assert columns["kl_discrete"].item() == pytest.approx(kl.item())
    mean, deviation = (q * costs).sum(), ((q * costs**2).sum() - (q * costs).sum() ** 2).sqrt()
    difference = columns["reconstruction"].item() - mean.item()
    assert abs(difference) < 4.5 * deviation.item() / draws**0.5
    code_kl = 0.5 * (0.4**2 + 0.1**2 + 2 * math.exp(-60.0) - 2 + 120)
    assert columns["kl_continuous"].item() == pytest.approx(code_kl)
    assert columns["kl"].item() == pytest.approx(kl.item() + code_kl)
    assert columns["bound"].item() == pytest.approx(
        columns["reconstruction"].item() + columns["kl"].item()
    )
    # With the code as good as fixed, all that importance weighting adds over states is their sum.
    exact = math.log(len(q)) - (-costs).logsumexp(0) + code_kl
    assert columns["minus_log_p"].item() == pytest.approx(exact.item(), abs=2.0)
    most = STATES[q.argmax()].tolist()
    assert [columns[f"accuracy_{name}"].item() for name in "abc"] == [
        float(found == true) for found, true in zip(most, (1, 0, 1), strict=True)
    ]


def test_importance_weights_of_attributes_bound_the_likelihood_at_each_number():
    torch.manual_seed(0)
    vae = AttributeVAE("general", n=3, c=2, channels=1).double()
    x = torch.rand((2, PIXELS), dtype=torch.float64)
    labels = torch.ones((2, 3))
    four = attribute_columns(vae, x, labels, "abc", torch.Generator().manual_seed(2), samples=4)
    found = attribute_columns(
        vae, x, labels, "abc", torch.Generator().manual_seed(2), importance=[2, 4]
    )
    torch.testing.assert_close(found["importance_4"], four["minus_log_p"])
    torch.testing.assert_close(found["reconstruction"], four["reconstruction"])
    assert (found["minus_log_p"] > found["importance_2"]).all()
    assert (found["importance_2"] > found["importance_4"]).all()


def test_the_weight_of_a_sample_is_its_joint_density_over_that_of_the_posterior():
    torch.manual_seed(0)
    vae = AttributeVAE("general", n=3, c=2, channels=1).double()
    for parameter in vae.decoder.prior.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.rand((4, PIXELS), dtype=torch.float64)
    found = attribute_columns(vae, x, torch.ones((4, 3)), "abc", torch.Generator().manual_seed(2))
    with torch.no_grad():
        (potentials, code), noise = vae.encoder(x), torch.Generator().manual_seed(2)
        drawn, q = code.sample(noise), Gibbs(potentials)
        z = q.sample(noise)[0]
        prior, posterior = (
            Normal(vae.decoder.prior(z), 1.0),
            Normal(code.mean, (code.log_variance / 2).exp()),
        )
        log_p = (
            prior.log_prob(drawn).sum(-1)
            - 3 * math.log(2)
            - vae.decoder.reconstruction(x, z, drawn)
        )
        log_q = posterior.log_prob(drawn).sum(-1) + q.log_prob(z)
    torch.testing.assert_close(found["minus_log_p"], log_q - log_p)


@pytest.mark.parametrize("encoder", ["independent", "general"])
def test_the_kl_of_the_code_is_that_of_all_states_enumerated(encoder):
    torch.manual_seed(0)
    vae = AttributeVAE(encoder, n=3, c=2, channels=1).double()
    for parameter in (*vae.decoder.prior.parameters(), vae.encoder.attributes.network[-1].bias):
        torch.nn.init.normal_(parameter)
    with torch.no_grad():
        potentials, code = vae.encoder(torch.rand((4, PIXELS), dtype=torch.float64))
        q = Gibbs(potentials)
        given = torch.stack([code.kl() + vae.decoder.prior_cost(z, code.mean) for z in STATES])
        expected = (q.log_prob(STATES[:, None]).exp() * given).sum(dim=0)
        torch.testing.assert_close(kl_of_code(vae, q, code), expected)


def test_accuracy_stands_beside_that_of_the_majority(vae):
    x = torch.rand((5, PIXELS), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.tensor([[1, 0, 1], [1, 0, 0], [1, 0, 1], [0, 1, 1], [1, 0, 1]])
    found = evaluate_attributes(
        vae, [(x[:3], labels[:3]), (x[3:], labels[3:])], "abc", torch.Generator(), samples=1
    )
    values = {name: quantity.value for name, quantity in found.quantities.items()}
    assert [values[f"majority_{name}"] for name in "abc"] == pytest.approx([0.8, 0.8, 0.8])
    states = [STATES[by_enumeration(vae, each[None])[0].argmax()] for each in x]
    right = (torch.stack(states) == labels).double()
    assert [values[f"accuracy_{name}"] for name in "abc"] == pytest.approx(
        right.mean(dim=0).tolist()
    )
    assert values["accuracy"] == pytest.approx(right.mean().item())
    assert values["majority"] == pytest.approx(0.8)
    unsupervised = evaluate_attributes(
        vae, [(x, labels)], "abc", torch.Generator(), samples=1, supervised=False
    )
    assert not [
        name for name in unsupervised.quantities if "accuracy" in name or "majority" in name
    ]


# --- the figure -----------------------------------------------------------------------------------


def test_the_columns_of_the_figure_are_all_combinations_on_a_typical_face():
    states = combinations(torch.zeros(1))
    places = [ATTRIBUTES.index(name) for name in SWITCHED]
    assert states[:, places].tolist() == STATES.tolist()
    rest = [place for place in range(8) if place not in places]
    assert states[:, rest].tolist() == [[float(TYPICAL[place]) for place in rest]] * 8


def test_a_row_of_the_figure_is_one_person():
    vae = AttributeVAE(channels=1)
    torch.nn.init.normal_(vae.decoder.prior.weight, generator=torch.Generator().manual_seed(5))
    images, columns = switched(vae, torch.Generator().manual_seed(4), persons=2)
    assert columns == 8
    persons = torch.randn((2, 64), generator=torch.Generator().manual_seed(4))
    for number, (row, state) in enumerate(itertools.product(range(2), combinations(persons))):
        code = persons[row] + vae.decoder.prior.weight @ state
        torch.testing.assert_close(
            images[number], vae.decoder(state, code).detach(), rtol=1e-4, atol=1e-5
        )


class Shown:
    """Decodes a person under a state as a picture of both: the state's bits, then the person's number."""

    decoder = None

    def persons(self, count, generator):
        return torch.arange(float(count))[:, None]

    def decoded(self, persons, states):
        number = persons.repeat_interleave(len(states), dim=0)
        return torch.cat([states.repeat(len(persons), 1), number], dim=1)


def test_appearance_is_what_another_network_finds_and_how_much_a_switch_changes():
    states = combinations(torch.zeros(1))
    places = {name: ATTRIBUTES.index(name) for name in SWITCHED}
    glasses = places["Eyeglasses"]

    def found(images):
        seen = images[:, :8].clone()
        seen[images[:, 8] >= 3, glasses] = 0  # of the last of four persons it sees no glasses
        return seen

    quantities = appearance(Shown(), found, states, places, torch.Generator(), persons=4)
    shares = {name: quantities[f"appears_{name}"].value for name in SWITCHED}
    assert shares == {"Eyeglasses": (3 + 0.5) / 4, "Smiling": 1, "Male": 1}
    for name in SWITCHED:  # one of nine values, by one
        assert quantities[f"change_{name}"].value == pytest.approx(1 / 9)
    assert quantities["change_person"].value == pytest.approx((1 + 1 + 1 + 3) / 4 / 9)


class Random(Shown):
    def persons(self, count, generator):
        return torch.randn(count, 1, generator=generator)


def test_errors_of_persons_know_that_neighbours_share_one():
    states, generator = combinations(torch.zeros(1)), torch.Generator().manual_seed(0)
    found = [
        appearance(Random(), lambda images: images[:, :8], states, {}, generator, persons=50)[
            "change_person"
        ]
        for _ in range(200)
    ]
    spread = np.std([each.value for each in found])
    reported = np.mean([each.standard_error**2 for each in found]) ** 0.5
    assert reported == pytest.approx(
        spread, rel=0.15
    )  # 1.4 times as large where pairs were taken for independent


@pytest.mark.slow
def test_a_recogniser_learns_what_is_there_to_see(tiny_faces):
    labels = np.tile(np.array([[0], [1]]), (20, 8))
    dark_or_light = np.repeat(labels[:, :1] * 255, PIXELS, axis=1).astype(np.uint8)
    dataset = replace(tiny_faces, train=Split(dark_or_light, labels))
    judge = recogniser(dataset, seed=0, epochs=30)
    found = recognised(judge.found, batches(dataset.train, InOrderBatches(40, 10)), {"Male": 1})
    assert found["recognised_Male"].value == 1
    again = recogniser(dataset, seed=0, epochs=30)
    for one, other in zip(judge.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)


# --- runs -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_tiny_faces")
def test_a_resumed_run_is_the_uninterrupted_one_and_shows_no_face_of_the_data(tmp_path):
    config = replace(SMALL, encoder="general", picture_every=1)
    whole = train(config, tmp_path / "whole")
    train(replace(config, epochs=1), tmp_path / "parts")
    parts = resume(tmp_path / "parts", 2)
    assert rows_but_times(whole.folder) == rows_but_times(parts.folder)
    for which in ("best", "last"):
        one, other = (torch.load(run.checkpoint(which))["state_dict"] for run in (whole, parts))
        assert all(torch.equal(one[name], other[name]) for name in one)
    names = {path.name for path in whole.pictures.iterdir()}
    assert names == {"samples-0001.png", "samples-0002.png"}
    picture = image.imread(whole.pictures / "samples-0002.png")
    assert picture.shape[:2] == (10 * 128, 8 * 128)
    assert np.ptp(picture[..., :3], axis=-1).max() > 0  # in colour
    last = rows_but_times(whole.folder)[-1]
    assert {f"validation/accuracy_{name}" for name in ATTRIBUTES} <= last.keys()
    assert "train/consistency" in last
    wrong = config.label_weight * (1 - last["validation/accuracy"])
    assert last["validation/objective"] == pytest.approx(last["validation/bound"] + wrong)
    assert last["test/bound"] == pytest.approx(
        last["test/reconstruction"] + last["test/kl"], rel=1e-5
    )


@pytest.mark.slow
@pytest.mark.usefixtures("on_tiny_faces")
def test_the_commands_train_and_evaluate_attributes(tmp_path, capsys):
    where = str(tmp_path / "run")
    options = [
        "--data.name",
        "celeba",
        "--labels",
        "6",
        "--channels",
        "1",
        "--epochs",
        "1",
        "--encoder",
        "supermodular",
    ]
    main(["train", "--model", "attributes", *options, "--solver", "max_flow", "--run", where])
    main(["evaluate", where, "--samples", "2", "--appearance"])
    out = capsys.readouterr().out
    assert all(
        f"{kind}_{name}" in out for kind in ("appears", "change", "recognised") for name in SWITCHED
    )
    assert all(f"{kind}_{name}" in out for kind in ("accuracy", "majority") for name in ATTRIBUTES)
    assert (
        TrainConfig(**{**SMALL.__dict__, "data": DataConfig(name="celeba")}).data.binarisation
        == "none"
    )
    vae = load_vae(where)
    assert isinstance(vae, AttributeVAE)
    with pytest.raises(SystemExit):
        main(["gradients", where])
    assert (
        "for runs of the model discrete; this run has the model attributes"
        in capsys.readouterr().err
    )
    with pytest.raises(ConfigError, match=r"the terms of celeba .* name a license, such as other"):
        export_run(where, tmp_path / "out")
    card = export_run(where, tmp_path / "out", license="other") / "README.md"
    assert "recipe" not in card.read_text()


@pytest.mark.usefixtures("on_tiny_faces")
def test_without_labels_no_accuracy_is_claimed(tmp_path):
    run = train(replace(SMALL, labels=0, epochs=1), tmp_path / "run")
    assert not [
        name for name in rows_but_times(run.folder)[0] if "accuracy" in name or "objective" in name
    ]
    assert not [
        name for name in evaluate_run(run.folder, samples=1).quantities if "accuracy" in name
    ]
    with pytest.raises(
        ConfigError, match=r"appearance needs the model attributes with labels; .* with 0 labels"
    ):
        evaluate_run(run.folder, samples=1, appearance=True)


@pytest.mark.spread(6)
@pytest.mark.usefixtures("on_tiny_faces")
# whose table is exact's
@pytest.mark.spread(3)
@pytest.mark.parametrize("estimator", sorted(set(ESTIMATORS) - {"table_direct", "carms"}))
def test_every_estimator_gives_every_parameter_a_gradient(tmp_path, estimator):
    samples = None if estimator != "perturbed_argmax" else 2
    config = replace(SMALL, encoder="independent", estimator=estimator, samples=samples)
    if ESTIMATORS[estimator].kl in ("none", "weighted"):
        with pytest.raises(
            ConfigError, match="does not train the bound, which is what the model attributes needs"
        ):
            train(config, tmp_path / "run")
        return
    dataset = dataset_of(config)
    training = training_of(config, initialised(config, dataset.pixels))
    training.on_train_epoch_start()
    x, *labelled = next(iter(data_of(config, dataset).train_dataloader()))
    training.loss(x[:3], *labelled).backward()
    gradients = [each.grad for each in training.vae.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)
    assert training.vae.encoder.attributes.network[0].weight.grad.abs().max() > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data": DataConfig()}, "the model attributes needs the images of celeba"),
        ({"model": "mixture", "channels": 32}, "celeba needs the model attributes or quantised"),
        (
            {"model": "discrete", "labels": 0, "label_weight": 30.0, "channels": 32},
            "celeba needs the model attributes or quantised",
        ),
        (
            {"encoder": "categorical"},
            "encoder must be one of independent, supermodular, general; got 'categorical'",
        ),
        ({"n": 5}, "n has no meaning with model attributes; got 5"),
        ({"k": 5}, "k has no meaning with model attributes; got 5"),
        ({"hidden": 5}, "hidden has no meaning with model attributes; got 5"),
        ({"recipe": "elbo"}, "recipe has no meaning with model attributes; got 'elbo'"),
        (
            {"model": "mixture", "data": DataConfig()},
            "channels has no meaning with model mixture; got 1",
        ),
        ({"channels": 0}, "channels must be at least 1; got 0"),
        ({"consistency": -1.0}, "consistency must be at least 0; got -1"),
        (
            {"model": "mixture", "channels": 32, "data": DataConfig(), "consistency": 0.0},
            "consistency has no",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **settings)


@pytest.mark.usefixtures("on_tiny_faces", "in_empty_folder")
@pytest.mark.slow
def test_an_experiment_with_attributes_is_run_and_reported(monkeypatch, capsys):
    plain = Experiment.cells

    def small(self, *arguments, **options):
        cells = plain(self, *arguments, **options)
        return [replace(cell, config=replace(cell.config, channels=1, labels=4)) for cell in cells]

    monkeypatch.setattr(Experiment, "cells", small)
    main(["reproduce", "celeba", "--epochs", "1", "--only", "general"])
    main(["report", "celeba"])
    lines = [
        line
        for line in Path("results/report/celeba.md").read_text().splitlines()
        if line.startswith("|")
    ]
    first = next(i for i, line in enumerate(lines) if line.startswith("| cell | all"))
    found = {
        line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ")
        for line in reversed(lines[first:])
    }
    assert found["cell"] == ["cell", "all", *ATTRIBUTES]
    assert len(found["general"]) == len(found["majority"]) == len(found["cell"])
    assert any("by 0." in line for line in lines if line.startswith("| general-consistency300"))
    assert len(found["real faces"]) == 1 + len(SWITCHED)
    assert all(50 <= float(rate) <= 100 for rate in found["majority"][1:])
    assert Path("results/report/celeba.png").read_bytes().startswith(b"\x89PNG")
