"""What kernels share: the ways in which they are compiled."""

import math
from pathlib import Path

import numpy as np
import pytest

import solvers
from solvers.compiled import jit

VARIANTS = (jit.strict, jit.inlined, jit.fused, jit.reordered, jit.reduction)
GENERATOR = np.random.default_rng(0)


def compiled_here(variant, function):
    """The function compiled by a variant; not from the disk, where those of all variants are the same file."""
    kernel = variant(function)
    kernel._cache.disable()
    return kernel


def total(values):
    result = 0.0
    for i in range(len(values)):
        result += values[i]
    return result


def largest(values):
    result = values[0]
    for i in range(len(values)):
        result = max(result, values[i])
    return result


def quotient(a, b):
    return a / b


def test_one_module_says_how_kernels_are_compiled():
    root = Path(solvers.__file__).parent
    named = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if "njit" in path.read_text()]
    assert named == ["compiled/jit.py"]


def test_strict_sums_are_taken_in_the_order_of_the_source():
    values = GENERATOR.standard_normal(1001) * 10.0 ** GENERATOR.integers(-8, 8, 1001)
    for variant in (jit.strict, jit.fused):
        assert compiled_here(variant, total)(values) == total(values.tolist())


@pytest.mark.parametrize("variant", [jit.reordered, jit.reduction])
def test_reordered_sums_are_exact_where_whole_numbers_are(variant):
    values = GENERATOR.integers(-(2**40), 2**40, 1001).astype(np.float64)
    assert compiled_here(variant, total)(values) == total(values.tolist())


@pytest.mark.parametrize("variant", VARIANTS)
def test_infinities_keep_their_meaning(variant):
    values = GENERATOR.standard_normal(1001)
    values[::7] = -np.inf
    assert compiled_here(variant, largest)(values) == values.max()
    assert compiled_here(variant, total)(values) == -np.inf


@pytest.mark.parametrize("variant", VARIANTS)
def test_division_by_zero_raises_nothing(variant):
    assert compiled_here(variant, quotient)(1.0, 0.0) == math.inf
