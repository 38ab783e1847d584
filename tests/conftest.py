import contextlib
import functools
import gc
import importlib.util
import inspect
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import hypothesis
import jaxtyping
import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from few_images import reading
from jaxtyping import AbstractArray
from limits import LIMITS

from solvers import SolverUnavailableError
from structured_vae.data import ImageDataset, Split, load_dataset

# The same examples every time, unless one asks for twice as many others:
# pytest --hypothesis-profile search. An example has no time limit, which a busy machine would
# exceed.
hypothesis.settings.register_profile("search", derandomize=False, deadline=None, max_examples=100)
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.load_profile("fixed")

TESTS = Path(__file__).parent

collect_ignore = ["toy_kind"]  # a test copies this folder into the package


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector from going over all that imports make, again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


class FilesWithDoctests:
    """Look for doctests in modules that have some, and not in tests, which would be imported twice.

    In every other module of the packages, pytest would go through all names.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path):
        collectors = yield
        return [
            collector
            for collector in collectors
            if not isinstance(collector, DoctestModule) or self._has_some(file_path)
        ]

    def _has_some(self, path):
        return TESTS not in path.parents and ">>>" in path.read_text(encoding="utf-8")


def pytest_configure(config):
    """Add what counts in the packages too; hooks of this file are called for tests alone."""
    config.pluginmanager.register(FilesWithDoctests())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow all cases of a test with `spread(n)` but n of them, which are evenly spread."""
    cases = {}
    for item in items:
        if item.get_closest_marker("spread"):
            cases.setdefault((item.path, item.originalname), []).append(item)
    for of_a_test in cases.values():
        (fast,) = of_a_test[0].get_closest_marker("spread").args
        steps = [index * fast // len(of_a_test) for index in range(len(of_a_test) + 1)]
        for index, item in enumerate(of_a_test):
            if steps[index] == steps[index + 1]:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Where `solvers` is installed alone, a test of a solver whose package is not there is skipped, and says so."""
    try:
        return (yield)
    except SolverUnavailableError as error:
        if importlib.util.find_spec("torch"):
            raise
        pytest.skip(str(error))


SEARCHING = ("lightning.fabric.utilities.registry", "models.named_classes", "importlib.metadata")
"""Modules that ask all installed packages for their plug-ins."""


@pytest.fixture(scope="session", autouse=True)
def packages_are_searched_once():
    """A search takes 10 to 40 ms; each trainer makes one, and each parser of options seven.

    What is added to the path of imports is searched again.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in SEARCHING:
            if module := sys.modules.get(name):
                patch.setattr(module, "entry_points", _kept_for_each_path(module.entry_points))
        yield


def _kept_for_each_path(entry_points):
    @functools.cache
    def kept(path, **what):
        return entry_points(**what)

    return lambda **what: kept(tuple(sys.path), **what)


@pytest.fixture(scope="session", autouse=True)
def files_stay_in_memory():
    """Files of tests need not outlive a power cut: the disk takes 6 ms for each of thousands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which raises for a descriptor that is not open
        yield


@pytest.fixture(autouse=True)
def numbers_print_as_before():
    """Restores how numpy prints, which other packages change for their process."""
    before = np.get_printoptions()
    yield
    if np.get_printoptions() != before:
        np.set_printoptions(**before)


@pytest.fixture
def shape_checked():
    """Calls a function and holds arguments and result against the shapes that it declares."""

    def call(function, *arguments):
        declared = get_type_hints(function)
        given = inspect.signature(function).bind(*arguments).arguments
        with jaxtyping.jaxtyped("context"):
            result = function(*arguments)
            values = {**given, "return": result}
            arrays = [name for name in values if _is_array(declared[name])]
            for name in arrays:
                shape = getattr(values[name], "shape", None)
                assert isinstance(values[name], declared[name]), f"{name} {shape}: {declared[name]}"
        assert arrays, "the function declares no shapes"
        return result

    return call


def _is_array(declared):
    return inspect.isclass(declared) and issubclass(declared, AbstractArray)


@pytest.fixture
def empty_figures(monkeypatch):
    """Files of figures stay empty, for a test that looks at what is written beside them."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, file, **_: file.touch())


@pytest.fixture(scope="session")
def tiny_images():
    """The first images of the embedded data set: 300 to train on, 100 and 100 beside.

    They have every other row and column, since a training of four times as many pixels takes half
    as long again.
    """
    full = load_dataset("fashion-mnist-mini")
    return replace(
        full,
        height=full.height // 2,
        width=full.width // 2,
        train=_first(full, "train", 300),
        validation=_first(full, "validation", 100),
        test=_first(full, "test", 100),
    )


def _first(full: ImageDataset, name: str, count: int) -> Split:
    split = full.split(name)
    images = split.images[:count].reshape(count, full.height, full.width)[:, ::2, ::2]
    return Split(images.reshape(count, -1), split.labels[:count])


@pytest.fixture
def on_tiny_images(runs_read, tiny_images: ImageDataset):
    """Runs that ask for the embedded data set get a small part of it, so that they last no second."""

    def tiny(name, root=None, binarisation="threshold"):
        return tiny_images if name == tiny_images.name else load_dataset(name, root, binarisation)

    runs_read(tiny)
    return tiny_images


@pytest.fixture
def runs_read():
    """Give the images that all further runs of a test read, or the function that loads them."""
    with contextlib.ExitStack() as stack:
        yield lambda images: stack.enter_context(reading(images))


@pytest.fixture
def hide_packages(monkeypatch):
    """Hide packages by their names, or all if there is no name, as if they were not installed."""
    real = importlib.util.find_spec

    def hide(*names):
        def find_spec(name, *rest):
            return None if name in names or not names else real(name, *rest)

        monkeypatch.setattr(importlib.util, "find_spec", find_spec)

    return hide


@pytest.fixture
def limits(monkeypatch):
    """Change limits of the code by the names of `limits.LIMITS`."""

    def change(**values):
        for name, value in values.items():
            monkeypatch.setattr(LIMITS[name], value)

    return change


@pytest.fixture
def free_memory(monkeypatch):
    """Set how many bytes of memory are free."""

    def change(count):
        for part in ("machine", "group", "process"):
            monkeypatch.setattr(f"solvers.limits.memory._of_{part}", lambda: count)

    return change


@pytest.fixture
def in_empty_folder(tmp_path):
    """Work in an empty folder."""
    with contextlib.chdir(tmp_path):
        yield tmp_path


@pytest.fixture
def set_columns(monkeypatch):
    """Set how many columns the terminal has."""
    return lambda columns: monkeypatch.setenv("COLUMNS", str(columns))


@pytest.fixture
def from_checkout(monkeypatch):
    """Import a module of a folder that is not installed, such as `benchmarks.outside`.

    Keywords replace names of the module: how many images a benchmark takes, or what it asks.
    """
    monkeypatch.syspath_prepend(Path(__file__).parents[1])

    def import_module(name, **values):
        module = importlib.import_module(name)
        for key, value in values.items():
            monkeypatch.setattr(module, key, value)
        return module

    return import_module
