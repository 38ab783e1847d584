import itertools
import math

import pytest
import torch

from models import AttributeVAE

N = 3
LEVELS = 255
PIXELS = 3 * 64 * 64


def with_prior(decoder):
    """Its prior's mean depends on the attributes, as after training; a fresh one's is zero."""
    torch.nn.init.normal_(decoder.prior.weight, generator=torch.Generator().manual_seed(7))
    torch.nn.init.normal_(decoder.prior.bias, generator=torch.Generator().manual_seed(8))
    return decoder


def new_decoder():
    return AttributeVAE("independent", n=N, c=2, channels=2).decoder


DECODER = with_prior(new_decoder())


def images(batch, seed=0):
    return torch.rand((batch, PIXELS), generator=torch.Generator().manual_seed(seed))


def codes(batch, seed=1):
    return torch.randn((batch, 2), generator=torch.Generator().manual_seed(seed))


def every_state():
    return torch.tensor(list(itertools.product((0.0, 1.0), repeat=N)))


def normal_reconstruction(x, z, code):
    """-log of the normal density at each value times the width of a step, by torch's own normal."""
    density = torch.distributions.Normal(DECODER(z, code), DECODER.scale)
    return -(density.log_prob(x) - math.log(LEVELS)).sum(dim=-1)


def normal_cost(x, z, code):
    """With the code's prior given z, in the place of the standard normal."""
    mean = z @ DECODER.prior.weight.T + DECODER.prior.bias
    standard, prior = (torch.distributions.Normal(m, 1.0).log_prob(code) for m in (0 * mean, mean))
    return normal_reconstruction(x, z, code) + (standard - prior).sum(dim=-1)


def test_the_reconstruction_is_that_of_a_normal_distribution_of_stored_intensities():
    x, code, z = images(2), codes(2), torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.3, 1.0]])
    torch.testing.assert_close(
        DECODER.reconstruction(x, z, code), normal_reconstruction(x, z, code)
    )


def test_the_cost_of_attributes_has_the_prior_of_the_code_in_it():
    x, code, z = images(2), codes(2), torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.3, 1.0]])
    torch.testing.assert_close(
        DECODER.given(code).cost(x, z), normal_cost(x, z, code), rtol=1e-6, atol=1e-2
    )
    difference = normal_cost(x, z, code) - normal_reconstruction(x, z, code)
    torch.testing.assert_close(DECODER.prior_cost(z, code), difference, rtol=1e-4, atol=1e-2)


def test_the_prior_of_a_fresh_decoder_is_the_standard_normal_for_all_attributes():
    z = torch.rand((4, N), generator=torch.Generator().manual_seed(0))
    assert (new_decoder().prior_cost(z, codes(4)) == 0).all()


def test_the_prior_takes_out_of_the_code_what_the_attributes_say():
    """Codes z M + noise: what is left of them by the prior that costs least is that noise."""
    draw = torch.Generator().manual_seed(3)
    z = torch.randint(2, (2000, N), generator=draw).float()
    step, noise = (
        torch.tensor([[2.0, 0.0], [0.0, -1.0], [0.5, 0.5]]),
        torch.randn((2000, 2), generator=draw),
    )
    code = z @ step + noise
    decoder = new_decoder()
    optimiser = torch.optim.LBFGS(decoder.prior.parameters(), line_search_fn="strong_wolfe")

    def cost():
        optimiser.zero_grad()
        mean = decoder.prior_cost(z, code).mean()
        mean.backward()
        return mean

    for _ in range(5):
        optimiser.step(cost)
    torch.testing.assert_close(decoder.prior.weight.detach().T, step, rtol=0, atol=0.2)
    left = code - decoder.prior(z).detach()
    assert (z - z.mean(dim=0)).T.mul(1 / len(z)).mm(left).abs().max() < 1e-3


@pytest.mark.parametrize("mean", [0.5, 0.501, 0.3333])
@pytest.mark.parametrize("steps", [1.0, 1.5, 4.0])
def test_the_256_probabilities_of_an_intensity_add_up_to_no_more_than_one(mean, steps):
    intensities = torch.arange(LEVELS + 1, dtype=torch.float64) / LEVELS
    density = torch.distributions.Normal(torch.tensor(mean, dtype=torch.float64), steps / LEVELS)
    total = (density.log_prob(intensities).exp() / LEVELS).sum()
    assert total <= 1 + 6e-9
    assert total == pytest.approx(1, abs=1e-6)


def test_the_scale_stays_above_a_step():
    decoder = new_decoder()
    with torch.no_grad():
        decoder.log_scale.fill_(-50)
    assert decoder.scale >= 1 / LEVELS


def test_slopes_are_differences_between_states():
    x, code, states = images(2), codes(2), every_state()
    given = DECODER.given(code)
    for z in states:
        around = given.around(x, z.expand(2, -1))
        torch.testing.assert_close(around.cost, normal_cost(x, z.expand(2, -1), code))
        for i in range(N):
            one, zero = z.clone(), z.clone()
            one[i], zero[i] = 1, 0
            change = normal_cost(x, one.expand(2, -1), code) - normal_cost(
                x, zero.expand(2, -1), code
            )
            torch.testing.assert_close(around.slope[:, i], change, rtol=1e-4, atol=0.1)
    assert not around.slope.requires_grad
    assert around.cost.requires_grad


def test_the_table_holds_the_cost_of_every_state_with_its_gradient():
    x, code, states = images(2), codes(2).requires_grad_(), every_state()
    table = DECODER.given(code).table(x, states)
    expected = torch.stack([normal_cost(x, z.expand(2, -1), code) for z in states], dim=-1)
    torch.testing.assert_close(table, expected)
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2))
    wanted = (code, DECODER.first.weight)
    for found, right in zip(
        *(torch.autograd.grad((t * weights).sum(), wanted) for t in (table, expected)), strict=True
    ):
        torch.testing.assert_close(found, right, rtol=1e-3, atol=1e-2)
    with torch.no_grad():
        torch.testing.assert_close(DECODER.given(code).table(x, states), expected)


def test_samples_share_the_code_of_their_image():
    x, code, states = images(2), codes(2), every_state()
    found = DECODER.given(code).cost(x, states[:, None].expand(-1, 2, -1))
    expected = torch.stack([normal_cost(x, z.expand(2, -1), code) for z in states])
    torch.testing.assert_close(found, expected)


def test_a_row_of_decoded_persons_has_one_under_every_state():
    vae = AttributeVAE(n=N, c=2, channels=2)
    with_prior(vae.decoder)
    persons, states = codes(2), every_state()
    rows = vae.decoded(persons, states).reshape(2, len(states), PIXELS)
    for row, person in zip(rows, persons, strict=True):
        for image, z in zip(row, states, strict=True):
            code = person + vae.decoder.prior.weight @ z + vae.decoder.prior.bias
            torch.testing.assert_close(image, vae.decoder(z, code).detach())
    assert 0 <= rows.min() <= rows.max() <= 1


@pytest.mark.parametrize(
    ("encoder", "pairs"), [("independent", 0), ("supermodular", 6), ("general", 6)]
)
def test_encoders_give_potentials_and_a_code(encoder, pairs):
    network = AttributeVAE(encoder, n=4, c=5, channels=2).encoder
    potentials, code = network(images(2))
    assert potentials.unary.shape == (2, 4)
    assert (potentials.pairwise is None) == (pairs == 0)
    if pairs:
        assert potentials.pairwise.shape == (2, pairs)
        assert encoder == "general" or (potentials.pairwise >= 0).all()
    assert code.mean.shape == code.log_variance.shape == (2, 5)
    torch.testing.assert_close(network.scores(images(2)).unary, potentials.unary)


@pytest.mark.parametrize("encoder", ["categorical", "other"])
def test_attributes_are_bits(encoder):
    with pytest.raises(ValueError, match=f"no encoder of bits is called '{encoder}'"):
        AttributeVAE(encoder, n=4, c=5, channels=2)
