"""What kernels share: the ways in which they are compiled, and their random numbers."""

import math
from pathlib import Path

import numpy as np
import pytest

import solvers
from solvers.compiled import jit
from solvers.compiled.random import below, random_bits, random_states, seeded, uniform

VARIANTS = (jit.strict, jit.borrowing, jit.inlined, jit.fused, jit.reordered, jit.reduction)
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
    named = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if "njit" in path.read_text()}
    assert named == {"compiled/jit.py", "compiled/cache.py"}  # the second asks where kernels can be kept


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


def test_random_bits_are_those_of_xorshift64_star():
    state, x, mask = seeded(5), 5 * 0x9E3779B97F4A7C15 + 1 & 2**64 - 1, 2**64 - 1
    for _ in range(1000):
        x ^= x >> 12
        x ^= x << 25 & mask
        x ^= x >> 27
        assert random_bits(state) == (x * 2685821657736338717 & mask) >> 4
    assert state[0] == x


@pytest.mark.parametrize("states", [[*map(seeded, range(20))], random_states(20, GENERATOR)[:, None]])
def test_streams_are_even_and_apart(states):
    draws = np.array([[uniform(state) for _ in range(5000)] for state in states])
    assert draws.min() >= 0
    assert draws.max() < 1
    deviation = math.sqrt(1 / 12 / draws.shape[1])
    assert abs(draws.mean(axis=1) - 0.5).max() < 4.5 * deviation
    correlation = np.corrcoef(draws) - np.eye(len(draws))
    assert abs(correlation).max() < 4.5 / math.sqrt(draws.shape[1])


def test_numbers_below_a_limit_are_even():
    state, counts = seeded(1), np.zeros(7)
    for _ in range(70_000):
        counts[below(7, random_bits(state))] += 1
    assert abs(counts - 10_000).max() < 4.5 * math.sqrt(10_000)
