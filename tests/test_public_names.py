"""The public names of `structured_vae`, `models` and `solvers`, and the former ones."""

import importlib
import re
from pathlib import Path

import pytest


@pytest.mark.parametrize("package", ["structured_vae", "models", "solvers", "solvers.labels"])
def test_tab_completion_lists_exactly_the_public_names(package):
    module = importlib.import_module(package)
    assert sorted(dir(module)) == sorted(module.__all__)


@pytest.mark.parametrize("package", ["structured_vae", "models", "solvers", "solvers.labels"])
def test_names_that_left_the_top_level_warn_and_name_their_module(package):
    module = importlib.import_module(package)
    table = importlib.import_module(f"{package}.former_names")
    former = table.MODULE_OF
    renamed = getattr(table, "RENAMED", {})
    calls = getattr(table, "CALLS", {})
    assert former
    for name, home in former.items():
        present = renamed.get(name, name)
        message = re.escape(f"use `{calls.get(name, f'from {home} import {present}')}`")
        with pytest.warns(DeprecationWarning, match=message) as caught:
            value = getattr(module, name)
        assert caught[0].filename == __file__
        assert value is getattr(importlib.import_module(home), present)
        assert name not in module.__all__


@pytest.mark.parametrize("package", ["structured_vae", "models", "solvers", "solvers.labels"])
def test_a_name_that_never_was_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match=r"attribute .*no_such_name"):
        importlib.import_module(package).no_such_name  # noqa: B018


@pytest.mark.parametrize("package", ["structured_vae", "models", "solvers", "solvers.labels"])
def test_the_decision_about_public_names_counts_them(package):
    (page,) = (Path(__file__).parents[1] / "docs" / "decisions").glob("0019-*.md")
    row = re.search(rf"^\| `{package}` \| \d+ \| (\d+) \|$", page.read_text(), re.MULTILINE)
    assert int(row[1]) == len(importlib.import_module(package).__all__)
