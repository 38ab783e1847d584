"""Constants of objectives, and problems without variables or instances."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import (
    InfeasibleError,
    Problem,
    ProblemError,
    available_solvers,
    gibbs,
    prepare,
    solve,
    solve_many,
    uniforms_shape,
)
from solvers.constraints import at_least, cardinality
from solvers.conversions import (
    from_dimod,
    from_ising,
    from_max_cut,
    from_networkx,
    from_qubo,
    to_ising,
    to_qubo,
)

dimod = optional("dimod")
torch = optional("torch")

few = examples(25)
NUMBERS = st.integers(-9, 9).map(lambda number: number / 4)
KEYS = st.lists(st.sampled_from("abc"), max_size=2).map(tuple)


def lowest(terms, values):
    """The minimum over all assignments of a sum of products, by enumeration."""
    names = sorted({name for key in terms for name in key})
    return min(
        sum(
            number * math.prod(dict(zip(names, state, strict=True))[name] for name in key)
            for key, number in terms.items()
        )
        for state in itertools.product(values, repeat=len(names))
    )


@few
@given(terms=st.dictionaries(KEYS, NUMBERS), offset=NUMBERS)
def test_keys_of_every_size_and_an_offset_are_summed(terms, offset):
    assert solve(from_qubo(terms, offset)).value == lowest(terms, (0, 1)) + offset
    assert solve(from_qubo(terms, offset=offset)).value == lowest(terms, (0, 1)) + offset
    assert solve(from_ising({}, terms, offset)).value == lowest(terms, (-1, 1)) + offset


@few
@given(fields=st.dictionaries(st.sampled_from("abc"), NUMBERS), constant=NUMBERS, offset=NUMBERS)
def test_fields_have_a_constant_too(fields, constant, offset):
    answer = solve(from_ising({**fields, (): constant}, {}, offset=offset))
    assert answer.value == constant + offset - sum(map(abs, fields.values()))
    assert set(answer.assignment) == set(fields)


@few
@given(seed=st.integers(0, 2**32 - 1))
def test_an_ising_model_that_is_written_is_read_again(seed):
    generator = np.random.default_rng(seed)
    pairwise = np.triu(generator.integers(-4, 5, (4, 4)), 1)
    problem = Problem.from_arrays(generator.integers(-4, 5, 4), pairwise)
    score = float(solve(problem).score)
    assert solve(from_ising(*to_ising(problem))).value == -score
    assert from_ising(*to_ising(problem)).constant == 0.0
    assert (
        solve(from_ising(*to_ising(problem), sense="max")).value
        == solve(from_qubo(to_qubo(problem), sense="max")).value
    )


@pytest.mark.parametrize("kind", ["BINARY", "SPIN"])
def test_pairs_of_dimod_have_the_energy_of_the_model(kind):
    bqm = dimod.BQM({"a": 1.0, "b": -2.5}, {("a", "b"): 2.0}, 5.0, kind)
    energy = float(dimod.ExactSolver().sample(bqm).first.energy)
    for conversion in (
        from_qubo(*bqm.to_qubo()),
        from_ising(*bqm.to_ising()),
        from_qubo(bqm.to_qubo()[0], offset=bqm.to_qubo()[1]),
        from_dimod(bqm),
    ):
        answer = solve(conversion)
        assert (answer.value, answer.bound) == (energy, energy)


@pytest.mark.parametrize("offset", [math.nan, math.inf, [1.0], None, 1j])
def test_an_offset_is_a_finite_number(offset):
    with pytest.raises(ProblemError, match=r"the offset (must be|is not)"):
        from_qubo({("a", "b"): 1.0}, offset=offset)
    with pytest.raises(ProblemError, match=r"the offset (must be|is not)"):
        from_ising({}, {("a", "b"): 1.0}, offset=offset)


def test_keys_of_three_variables_are_refused():
    with pytest.raises(ProblemError, match="has 3 labels"):
        from_qubo({("a", "b", "c"): 1.0})


INSTALLED = [info.name for info in available_solvers() if info.installed]


@pytest.mark.spread(40)
@pytest.mark.parametrize("solver", ["auto", *INSTALLED])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (0, 40), (2, 0, 3)])
def test_every_solver_answers_where_nothing_is_to_decide(shape, solver):
    solution = solve(np.zeros(shape), np.zeros((shape[-1],) * 2), solver=solver)
    assert solution.z.shape == shape
    for array in (solution.score, solution.bound, solution.optimal):
        assert np.shape(array) == shape[:-1]
    assert np.all(solution.score == 0)
    assert np.all(solution.bound == 0)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (0, 40)])
def test_sums_where_nothing_is_to_decide(shape):
    problem = Problem.from_arrays(np.zeros(shape))
    uniforms = np.zeros(uniforms_shape(problem, 2))
    sums = gibbs(problem, uniforms=uniforms)
    assert sums.log_partition.shape == shape[:-1]
    assert (sums.log_partition == 0).all()
    assert sums.samples.shape == (2, *shape)


def test_the_one_state_of_no_variables_is_ranked_and_constrained():
    ranked = solve([], k_best=2)
    assert ranked.score.tolist() == [0.0, -math.inf]
    assert ranked.bound.tolist() == [0.0, -math.inf]
    assert solve([], constraints=[cardinality(0)]).optimal
    with pytest.raises(InfeasibleError):
        solve([], constraints=[at_least(1)])


def test_conversions_of_nothing_have_the_constant_as_their_value():
    assert solve(from_qubo({}, 3.5)).value == 3.5
    assert len(solve(from_qubo({}), k_best=3)) == 1
    assert solve(from_ising({}, {}, offset=2.0)).value == 2.0
    assert solve(from_max_cut(0, [])).value == 0.0
    assert solve(from_networkx(nx.Graph())).assignment == {}
    assert solve(from_networkx(nx.DiGraph(), kind="max_cut")).value == 0.0
    assert gibbs(from_qubo({}, 2.0)).log_partition == -2.0
    assert to_qubo(Problem.from_arrays([])) == {}


def test_empty_batches_pass_through_loops_and_streams():
    assert prepare([], 0)([]).score == 0.0
    assert prepare([[0, 1]], 2)(np.zeros((0, 2)), np.zeros((0, 1))).z.shape == (0, 2)
    shapes = [one.z.shape for one in solve_many([Problem.from_arrays(np.zeros((0, 2)))])]
    assert shapes == [(0, 2)]


def test_empty_tensors_stay_tensors():
    solution = solve(torch.zeros(0, 3))
    assert isinstance(solution.z, torch.Tensor)
    assert tuple(solution.z.shape) == (0, 3)
