"""Packages that an environment of `solvers` alone does not have: tests that use one are skipped there."""

import importlib

import pytest

from solvers import solver_class


class _Missing:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        pytest.skip(f"{self.name} is not installed", allow_module_level=True)


def optional(name):
    """The module, or what skips the test, or the file of tests, that first uses it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return _Missing(name)


def needs(*names):
    """Skips a test where the packages of these solvers are not installed."""
    for name in names:
        if missing := solver_class(name).missing_packages():
            pytest.skip(f"solver '{name}' needs {', '.join(missing)}")
