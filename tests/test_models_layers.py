import pytest
import torch

from models import AttributeVAE, MixtureVAE, paper_vae
from models.networks import train_mixed


def outputs(vae, x):
    found = vae.encoder(x)
    potentials = found[0] if isinstance(found, tuple) else found
    return potentials.unary


@pytest.mark.parametrize(
    ("vae", "pixels"),
    [
        (paper_vae("general", n=4), 784),
        (paper_vae("categorical", k=4), 784),
        (MixtureVAE(), 784),
        (AttributeVAE("general", n=3, channels=4), 3 * 64 * 64),
    ],
    ids=["bits", "categories", "mixture", "attributes"],
)
def test_products_are_rounded_in_training_alone(vae, pixels):
    x = torch.rand(5, pixels, generator=torch.Generator().manual_seed(0))
    exact = outputs(vae, x)
    train_mixed(vae)
    rounded = outputs(vae.train(), x)
    assert rounded.dtype == torch.float32
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, rtol=0.05, atol=0.02)
    assert torch.equal(outputs(vae.eval(), x), exact)


def test_gradients_of_rounded_products_are_those_of_exact_ones_nearly():
    torch.manual_seed(0)
    vae = paper_vae("general", n=6)
    x, z = torch.rand(20, 784).round(), torch.rand(20, 6).round()
    gradients = []
    for mixed in (False, True):
        if mixed:
            train_mixed(vae)
        vae.zero_grad()
        vae.decoder.cost(x, z).mean().backward()
        gradients.append(vae.decoder.last.weight.grad.clone())
    assert gradients[1].dtype == torch.float32
    error = (gradients[1] - gradients[0]).norm() / gradients[0].norm()
    assert 0 < error < 0.02
