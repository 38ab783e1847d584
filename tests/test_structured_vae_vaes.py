"""Kinds of VAE: where their parts lie, and what a new one needs."""

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("training.attributes", "vaes.attributes.training", "switched"),
        ("evaluation.attributes", "vaes.attributes.evaluation", "evaluate_attributes"),
        ("evaluation.mixture", "vaes.mixture.evaluation", "evaluate_mixture"),
    ],
)
def test_names_at_their_old_place_warn_and_still_work(old, new, name):
    with pytest.warns(DeprecationWarning, match=rf"structured_vae\.{new}\.{name}"):
        value = getattr(import_module(f"structured_vae.{old}"), name)
    assert value is getattr(import_module(f"structured_vae.{new}"), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        import_module(f"structured_vae.{old}").no_such_name  # noqa: B018
