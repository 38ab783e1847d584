"""The compiled kernels as a whole: which level is loaded, what their bindings refuse, their random numbers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solvers.compiled import _kernels
from solvers.compiled._kernels import common, exhaustive, presolve
from solvers.compiled.best import Best, in_order, take
from solvers.compiled.random import random_states

ROOT = Path(__file__).parents[1]


def imported_level(**environment):
    code = "from solvers.compiled import _kernels; print(_kernels.level_module.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


def test_the_highest_level_that_the_processor_has_is_loaded():
    assert _kernels.level_module.__name__.rsplit("_", 1)[1].isdigit()


@pytest.mark.parametrize("level", _kernels._installed_levels())
def test_a_lower_level_is_loaded_where_it_is_asked_for(level):
    assert imported_level(STRUCTURED_VAE_KERNELS=str(level)).endswith(f"_level_{level}")


def test_a_level_that_is_not_there_ends_with_advice():
    assert "install the package again on this machine" in imported_level(
        STRUCTURED_VAE_KERNELS="-1"
    )


def test_the_seed_of_a_stream_gives_its_state():
    assert common.seeded(5) == (5 * 0x9E3779B97F4A7C15 + 1) % 2**64
    states = random_states(1000, np.random.default_rng(0))
    assert states.min() > 0
    assert len(np.unique(states)) == 1000


def test_the_best_states_stay_in_order_and_apart():
    random = np.random.default_rng(0)
    best = Best.of(np.zeros((3, 4), np.int8), np.full(3, -np.inf), 3)
    seen = {}
    for _ in range(200):
        z = random.integers(0, 2, 4).astype(np.int8)
        score = float(random.integers(0, 9)) if z.tobytes() not in seen else seen[z.tobytes()]
        seen[z.tobytes()] = score
        take(best, score, z)
    assert best.scores.tolist() == sorted(seen.values(), reverse=True)[:3]
    states = in_order(best)
    assert len({z.tobytes() for z in states}) == 3
    assert [seen[z.tobytes()] for z in states] == best.scores.tolist()


NO_PAIRS = np.zeros((1, 0))
Z = np.zeros((1, 2), np.int8)


TWO = exhaustive.Pairs(2, np.zeros((0, 2), np.int64))


@pytest.mark.parametrize(
    "arguments",
    [
        (TWO, np.zeros((1, 3)), NO_PAIRS, Z),
        (TWO, np.zeros((1, 2)), np.zeros((1, 1)), Z),
        (TWO, np.zeros((1, 2)), NO_PAIRS, np.zeros((1, 3), np.int8)),
        (TWO, np.zeros((3, 2)), NO_PAIRS, Z),
        (TWO, np.zeros((1, 2)), np.zeros((3, 0)), Z),
    ],
)
def test_kernels_refuse_shapes_that_do_not_fit(arguments):
    pairs, unary, pairwise, z = arguments
    with pytest.raises(ValueError, match="row"):
        exhaustive.maximise(*arguments)
    assert not exhaustive.maximise_batch(pairs, unary, pairwise, 1e300, z, np.zeros(len(z)))


def test_kernels_decline_scores_of_another_number_of_instances():
    assert exhaustive.maximise_batch(TWO, np.ones((1, 2)), NO_PAIRS, 1e300, Z, np.zeros(1))
    assert not exhaustive.maximise_batch(TWO, np.ones((1, 2)), NO_PAIRS, 1e300, Z, np.zeros(2))


@pytest.mark.parametrize(
    ("n", "edges", "message"),
    [
        (0, [], "n is outside"),
        (26, [], "n is outside"),
        (3, [[0, 3]], "does not exist"),
        (3, [[-1, 1]], "does not exist"),
        (3, [[1, 1]], "first variable"),
        (3, [[1, 0]], "first variable"),
        (2, [[0, 1], [0, 1]], "comes twice"),
    ],
)
def test_kernels_refuse_pairs_that_do_not_fit(n, edges, message):
    with pytest.raises(ValueError, match=message):
        exhaustive.Pairs(n, np.array(edges, np.int64).reshape(-1, 2))


def test_a_negative_number_of_variables_is_called_that():
    edges = np.zeros((0, 2), np.int64)
    nothing = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="n is negative"):
        presolve.blocks_of(-1, edges, np.zeros(1, np.uint8))
    with pytest.raises(ValueError, match="n is negative"):
        common.neighbour_lists(-1, edges, nothing, nothing, nothing)


@pytest.mark.parametrize(
    "z",
    [
        np.zeros((1, 2), np.int64),
        np.zeros((2, 2), np.int8).T[::-1],
        [[0, 0]],
        np.zeros((1, 4), np.int8)[:, ::2],
    ],
)
def test_kernels_convert_no_arrays(z):
    with pytest.raises(TypeError):
        exhaustive.maximise(TWO, np.zeros((1, 2)), NO_PAIRS, z)


def test_kernels_may_not_write_into_what_is_read_only():
    z = np.zeros((1, 2), np.int8)
    z.flags.writeable = False
    with pytest.raises(TypeError):
        exhaustive.maximise(TWO, np.zeros((1, 2)), NO_PAIRS, z)
