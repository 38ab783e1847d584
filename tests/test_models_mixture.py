import pytest
import torch
from torch.distributions import Bernoulli, Normal, kl_divergence

from models import MixtureVAE
from models.gaussian import Gaussian

PIXELS, K, C = 12, 4, 3


@pytest.fixture
def vae():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return MixtureVAE(PIXELS, K, C).double()


@pytest.fixture
def x():
    return torch.rand((5, PIXELS), generator=torch.Generator().manual_seed(1)).round().double()


def gaussian():
    random = torch.Generator().manual_seed(2)
    mean, log_variance = (torch.randn((5, C), generator=random).double() for _ in range(2))
    return Gaussian(mean, log_variance), Normal(mean, (log_variance / 2).exp())


def test_the_layers_are_those_of_the_paper():
    vae = MixtureVAE()
    sizes = {
        part: [tuple(layer.weight.shape) for layer in module if isinstance(layer, torch.nn.Linear)]
        for part, module in (
            ("base", vae.encoder.base),
            ("z_d", vae.encoder.classes),
            ("z_c", vae.encoder.style),
        )
    }
    assert sizes == {
        "base": [(400, 784), (200, 400)],
        "z_d": [(100, 200), (10, 100)],
        "z_c": [(100, 200), (66, 100), (40, 66)],
    }
    assert vae.decoder.first.weight.shape == (400, 200)
    assert vae.decoder.last.weight.shape == (784, 400)


def test_only_the_row_of_the_class_reaches_the_decoder(vae):
    style = torch.randn((5, C), generator=torch.Generator().manual_seed(3)).double()
    z = torch.eye(K).double()[[0, 3, 1, 1, 2]]
    matrix = torch.diag_embed(z) @ style[:, None, :].expand(-1, K, -1)
    first, last = vae.decoder.first, vae.decoder.last
    expected = last(torch.relu(first(matrix.reshape(5, K * C))))
    torch.testing.assert_close(vae.decoder(z, style), expected)
    torch.testing.assert_close(vae.decoder.every_class(style)[range(5), z.argmax(-1)], expected)


def test_costs_given_a_style_are_those_of_the_bernoulli_distribution(vae, x):
    style = torch.randn((5, C), generator=torch.Generator().manual_seed(3)).double()
    given, states = vae.decoder.given(style), torch.eye(K).double()
    expected = torch.stack(
        [-Bernoulli(logits=vae.decoder(z.expand(5, K), style)).log_prob(x).sum(-1) for z in states],
        dim=-1,
    )
    torch.testing.assert_close(given.table(x, states), expected)
    torch.testing.assert_close(given.table(x, states.roll(1, 0)), expected.roll(1, 1))
    z = states[torch.tensor([[0, 1, 2, 3, 0], [3, 3, 3, 3, 3]])]
    at_z = expected.gather(1, z.argmax(-1).T).T
    torch.testing.assert_close(given.cost(x, z), at_z)
    around = given.around(x, z)
    torch.testing.assert_close(around.cost, at_z)
    torch.testing.assert_close(around.slope, expected.expand(2, 5, K))
    assert around.cost.requires_grad
    assert not around.slope.requires_grad


def test_a_relaxed_class_reaches_every_row(vae, x):
    style = torch.randn((5, C), generator=torch.Generator().manual_seed(3)).double()
    z = torch.full((1, 5, K), 1 / K).double().requires_grad_()
    vae.decoder.given(style).cost(x, z).sum().backward()
    assert (z.grad != 0).all()


def test_the_kl_of_the_style_is_exact():
    ours, theirs = gaussian()
    torch.testing.assert_close(ours.kl(), kl_divergence(theirs, Normal(0.0, 1.0)).sum(-1))


def test_the_log_ratio_is_of_prior_over_posterior():
    ours, theirs = gaussian()
    style = ours.sample(torch.Generator().manual_seed(4))
    expected = (Normal(0.0, 1.0).log_prob(style) - theirs.log_prob(style)).sum(-1)
    torch.testing.assert_close(ours.log_ratio(style), expected)


def test_samples_of_the_style_have_its_moments_and_gradients():
    mean, log_variance = torch.tensor([[0.5, -1.0]]), torch.tensor([[0.0, 1.2]])
    many = Gaussian(mean.expand(40_000, 2), log_variance.expand(40_000, 2))
    drawn = many.sample(torch.Generator().manual_seed(5))
    deviation = (log_variance / 2).exp()
    assert ((drawn.mean(0) - mean) / (deviation / 200)).abs().max() < 4.5
    assert (drawn.std(0) / deviation - 1).abs().max() < 4.5 / (2 * 40_000) ** 0.5
    parameters = [mean.clone().requires_grad_(), log_variance.clone().requires_grad_()]
    Gaussian(*parameters).sample(torch.Generator().manual_seed(6)).sum().backward()
    noise = Gaussian(mean, log_variance).sample(torch.Generator().manual_seed(6)) - mean
    torch.testing.assert_close(parameters[0].grad, torch.ones(1, 2))
    torch.testing.assert_close(parameters[1].grad, noise / 2)


def test_a_grid_has_a_row_for_each_style_and_a_column_for_each_class(vae):
    grid = vae.grid(2, torch.Generator().manual_seed(7))
    style = torch.randn(
        (2, C), generator=torch.Generator().manual_seed(7), dtype=torch.float32
    ).double()
    expected = [vae.decoder(z, s).sigmoid() for s in style for z in torch.eye(K).double()]
    torch.testing.assert_close(grid, torch.stack(expected))
