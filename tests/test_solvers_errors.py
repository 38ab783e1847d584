"""Bad input: what is said about it."""

import copy
import itertools
import pickle
import re
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from optional import needs, optional

from solvers import (
    ArgmaxSolver,
    Capabilities,
    InfeasibleError,
    OptionError,
    Problem,
    ProblemError,
    ProblemTooLargeError,
    SolveInterrupted,
    SolverError,
    SolverUnavailableError,
    UnknownSolverError,
    UnsupportedProblemError,
    available_solvers,
    gibbs,
    labels,
    prepare,
    select_solver,
    solve,
    solve_labels,
    solve_many,
    solver_class,
    uniforms_shape,
)
from solvers.constraints import at_most
from solvers.registry import registry_of

torch = optional("torch")

MaxFlow = solver_class("max_flow")

EDGES = [[0, 1], [1, 2]]
NAN, INF = float("nan"), float("inf")

BAD_PROBLEMS = {
    "pairwise of another size": ((np.ones(3), np.zeros((4, 4))), {}, "must be [..., 3, 3]"),
    "pairwise without matrix or edges": ((np.ones(3), np.zeros(3)), {}, "pass edges"),
    "edges of another length": ((np.ones(3), np.zeros(3)), {"edges": EDGES}, "must be [..., 2]"),
    "edges without pairwise": ((np.ones(3),), {"edges": EDGES}, "without pairwise"),
    "edges of floats": (
        (np.ones(3), np.zeros(2)),
        {"edges": [[0.0, 1.0], [1.0, 2.0]]},
        "integers [e, 2]",
    ),
    "batches that do not broadcast": (
        (np.ones((2, 3)), np.zeros((5, 3, 3))),
        {},
        "do not broadcast",
    ),
    "NaN": ((np.array([[1.0, NAN]]),), {}, "unary[0, 1] is nan"),
    "infinity": ((np.ones(3), np.array([0, -INF])), {"edges": EDGES}, "pairwise[1] is -inf"),
    "NaN in a matrix": ((np.ones(2), np.array([[0, NAN], [0, 0]])), {}, "pairwise[0, 1] is nan"),
    "a number": ((1.0,), {}, "unary must be [..., n]"),
    "asymmetric pairwise": (
        (np.ones(2), np.array([[0, 1.0], [2.0, 0]])),
        {},
        "entry (0, 1) is 1.0 and (1, 0) is 2.0",
    ),
    "pairwise that is symmetric but for one entry": (
        (np.ones(3), np.array([[0, 1.0, 4.0], [1.0, 0, 3.0], [2.0, 3.0, 0]])),
        {},
        "entry (0, 2) is 4.0 and (2, 0) is 2.0",
    ),
    "lower triangular pairwise": ((np.ones(2), np.array([[0, 0], [2.0, 0]])), {}, "fold them"),
    "diagonal": ((np.ones(2), np.eye(2)), {}, "non-zero diagonal, at (0, 0)"),
    "a loop": ((np.ones(3), np.ones(1)), {"edges": [[1, 1]]}, "joins 1 to itself"),
    "a pair twice": (
        (np.ones(3), np.ones(2)),
        {"edges": [[0, 1], [1, 0]]},
        "are the same pair (0, 1)",
    ),
    "a pair outside": ((np.ones(3), np.ones(1)), {"edges": [[0, 3]]}, "variables are 0..2"),
    "complex numbers": ((np.ones(3, complex),), {}, "real numbers"),
    "words": ((np.array(["a"]),), {}, "real numbers"),
    "a masked array": ((np.ma.array([1.0, 2.0], mask=[0, 1]),), {}, "masked"),
    "lists of unequal lengths": (([[1.0, 2.0], [3.0]],), {}, "equal lengths"),
    "pairs of unequal lengths": (([1.0, 2.0], [1.0]), {"edges": [[0], [0, 1]]}, "equal lengths"),
    "overflowing sums": ((np.full(3, 1e308),), {}, "could overflow float64"),
    "sums that a solver doubles twice": ((np.full(3, 2.0**1021),), {}, "could overflow float64"),
    "a numpy scalar": ((np.float64(1.0),), {}, "unary must be [..., n]"),
    "a numpy scalar as pairwise": ((np.ones(2), np.float64(1.0)), {}, "its shape is ()"),
    "a numpy scalar by edges": (
        (np.ones(2), np.float32(1.0)),
        {"edges": [[0, 1]]},
        "its shape is ()",
    ),
    "a sparse tensor": (
        (torch.eye(3).to_sparse(),),
        {},
        "layout torch.sparse_coo; pass unary.to_dense()",
    ),
    "a sparse matrix of pairs": (
        (torch.ones(2), torch.eye(2).to_sparse()),
        {},
        "pairwise is a tensor of the layout torch.sparse_coo",
    ),
    "sparse edges": (
        (torch.ones(2), torch.ones(1)),
        {"edges": torch.tensor([[0, 1]]).to_sparse()},
        "edges is a tensor of the layout torch.sparse_coo",
    ),
    "a sparse matrix of scipy": (
        (np.ones(2), scipy.sparse.csr_array(np.eye(2))),
        {},
        "non-zero diagonal",
    ),
    "a tensor without numbers": (
        (torch.ones(3, device="meta"),),
        {},
        "unary is on the device meta",
    ),
    "edges without numbers": (
        (torch.ones(2), torch.ones(1)),
        {"edges": torch.ones(1, 2, device="meta")},
        "edges is on the device meta",
    ),
    "lists of tensors that are sparse": (
        ([torch.ones(2).to_sparse()],),
        {},
        "unary is not an array of numbers",
    ),
    "bfloat16 edges": (
        (torch.ones(2), torch.ones(1)),
        {"edges": torch.tensor([[0, 1]], dtype=torch.bfloat16)},
        "edges must be integers [e, 2]; got torch.bfloat16 (1, 2)",
    ),
    "records": ((np.zeros(3, [("a", "f8"), ("b", "i4")]),), {}, "unary must contain real numbers"),
    "bytes without a type": ((np.zeros(3, "V5"),), {}, "its type is |V5"),
    "records as edges": (
        (np.ones(2), np.ones(1)),
        {"edges": np.zeros((1, 2), "i4,i4")},
        "integers [e, 2]",
    ),
    "longer than float64": ((np.array(["1e400"]).astype(np.longdouble),), {}, "unary[0] is inf"),
    "a set": (
        ({1.0, 2.0},),
        {},
        "unary must be an array of real numbers, or lists of them; got {1.0, 2.0}",
    ),
    "nothing": ((None,), {}, "got None"),
    "a function": ((len,), {}, "got <built-in function len>"),
    "integers of many digits": (([10**400],), {}, "unary has numbers that float64 may round"),
}
HUGE_PROBLEMS = {
    "a view of one number": ((np.broadcast_to(1.0, (2**44, 3)),), {}, "unary takes"),
    "a tensor of one number": ((torch.ones(1).expand(2**44, 3),), {}, "unary takes"),
    "edges of one number": (
        (np.ones(3), np.ones(2)),
        {"edges": np.broadcast_to(1, (2**44, 2))},
        "edges takes",
    ),
    "small arrays of a huge batch": (
        (np.ones((2**20, 1, 2)), np.ones((1, 2**20, 1))),
        {"edges": [[0, 1]]},
        "the batch (1048576, 1048576) takes",
    ),
}


@pytest.mark.parametrize("case", BAD_PROBLEMS)
def test_bad_problems(case):
    arguments, options, message = BAD_PROBLEMS[case]
    with pytest.raises(ProblemError) as caught:
        solve(*arguments, **options)
    print(f"{case}: {caught.value}")
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("case", HUGE_PROBLEMS)
def test_problems_that_no_memory_holds(case):
    arguments, options, message = HUGE_PROBLEMS[case]
    begin = time.process_time()
    with pytest.raises(
        ProblemTooLargeError, match="GiB of memory are free; pass it in parts"
    ) as caught:
        solve(*arguments, **options)
    assert time.process_time() - begin < 1
    assert message in str(caught.value)
    assert isinstance(caught.value, MemoryError)


def test_more_dimensions_than_numpy_has():
    many = np.ones((1,) * 40 + (2,))
    with pytest.raises(ProblemError, match="unary has 41 dimensions, and pairwise scores 2: "):
        solve(many, np.ones((1, 1)), edges=[[0, 1]])


@pytest.mark.parametrize("n", [2**62, -1, 1.5])
def test_pairs_are_prepared_for_as_many_variables_as_can_be_numbered(n):
    with pytest.raises(ProblemError, match=r"n must be a whole number from 0 to 2\^31; got"):
        prepare([[0, 1]], n)


class Hungry(ArgmaxSolver):
    """Wants more than there is."""

    name = "hungry"
    capabilities = Capabilities(exact=True)

    def _argmax(self, problem, deadline):
        raise MemoryError("Allocation failed")


def test_a_backend_without_memory_says_what_to_do():
    with pytest.raises(
        ProblemTooLargeError, match=r"'hungry' needs more memory .*n = 2 .*take another one"
    ):
        solve([1.0, 2.0], solver=Hungry())


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="what is in use is read from /proc"
)
def test_a_limit_of_the_process_leaves_no_more_memory_than_it_says():
    resource = pytest.importorskip("resource")
    code = """
import resource
from solvers.limits.memory import free_memory
resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31))
print(free_memory())
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 2**29 < int(said.stdout) < 2**31
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] != 2**31


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors(layout):
    with pytest.raises(ProblemError, match="unary is a nested tensor; pass its parts one by one"):
        solve(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout))


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantized_tensors():
    with pytest.raises(ProblemError, match=r"pass unary.dequantize\(\)"):
        solve(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))


@pytest.mark.parametrize("given", [np.ones(2), None, "problem", {"unary": [1.0]}])
def test_what_is_no_problem(given):
    with pytest.raises(ProblemError, match=r"expected a Problem, made by Problem\.from_arrays"):
        solver_class("independent")().solve(given)
    (failure,) = solve_many([given])
    assert "expected a Problem" in str(failure.error)


def test_solvers_of_labels_name_the_problem_of_a_conversion():
    solver = solver_class("elimination", "labels")()
    with pytest.raises(ProblemError, match=r"expected a LabelProblem, .*; pass its \.problem"):
        solver.solve(labels.from_factors([2], [((0,), np.zeros(2))]))


def test_negative_pair_for_max_flow():
    unary, pairwise = np.ones((2, 3)), np.array([[1.0, 2.0, 3.0], [0.5, -0.25, 1.0]])
    with pytest.raises(UnsupportedProblemError) as caught:
        solve(unary, pairwise, edges=[*EDGES, [0, 2]], solver="max_flow")
    print(caught.value)
    assert "pair (1, 2) in instance 1 is -0.25" in str(caught.value)
    assert {"exhaustive", "cplex", "cp_sat"} <= set(caught.value.alternatives)
    assert "local_search" not in caught.value.alternatives  # it proves nothing


def test_balanced_signs_for_max_flow():
    generator = np.random.default_rng(0)
    unary, pairwise = (
        generator.standard_normal((20, 8)),
        np.abs(generator.standard_normal((20, 8, 8))),
    )
    flips = generator.choice([-1.0, 1.0], (20, 8))
    pairwise = np.triu(pairwise * flips[:, :, None] * flips[:, None, :], 1)
    solution = solve(unary, pairwise, solver="max_flow")
    np.testing.assert_allclose(
        solution.score, solve(unary, pairwise, solver="exhaustive").score, rtol=1e-12
    )
    assert solution.optimal.all()


def test_forty_variables_for_exhaustive():
    with pytest.raises(UnsupportedProblemError) as caught:
        solve(np.ones(40), np.array([1.0]), edges=[[0, 1]], solver="exhaustive")
    print(caught.value)
    assert "n = 40 and it takes at most 25" in caught.value.reasons[0]
    assert "max_flow" in str(caught.value)


def test_pairwise_for_independent():
    with pytest.raises(UnsupportedProblemError, match="it takes none"):
        solve(np.ones(3), np.ones(2), edges=EDGES, solver="independent")


@pytest.mark.parametrize(
    ("shape", "variables", "flat"),
    [((4, 5), 20, "-1"), ((3, 4, 5), 20, "3, -1"), ((3, 4, 5), 60, "-1")],
)
def test_edges_over_an_image_whose_scores_are_a_batch_of_rows_say_how_to_reshape(
    shape, variables, flat
):
    chain = np.stack([np.arange(variables - 1), np.arange(1, variables)], axis=1)
    advice = re.escape(
        f"variables are 0..4. unary {list(shape)} is read as a batch of {np.prod(shape[:-1])} "
        f"problems of 5 variables; for problems of {variables} variables, pass "
        f"unary.reshape({flat})"
    )
    with pytest.raises(ProblemError, match=advice):
        solve(np.ones(shape), np.ones(len(chain)), edges=chain)
    with pytest.raises(ProblemError, match=r"reshape\(" + flat + r", 2\)"):
        solve_labels(np.ones((*shape, 2)), np.eye(2), edges=chain)


@pytest.mark.parametrize(
    ("shape", "variables", "flat"),
    [((4, 5), 20, "-1"), ((3, 4, 5), 20, "3, -1"), ((3, 4, 5), 60, "-1")],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_matrix_over_an_image_whose_scores_are_a_batch_of_rows_says_how_to_reshape(
    shape, variables, flat, sparse
):
    matrix = np.zeros((variables, variables))
    if sparse:
        matrix = scipy.sparse.csr_matrix(matrix)
    advice = re.escape(
        f"its shape is {(variables, variables)}. unary {list(shape)} is read as a batch of "
        f"{np.prod(shape[:-1])} problems of 5 variables; for problems of {variables} variables, "
        f"pass unary.reshape({flat})"
    )
    with pytest.raises(ProblemError, match=advice):
        solve(np.ones(shape), matrix)
    assert np.all(solve(np.ones((*shape[: flat.count(",")], variables)), matrix).optimal)


@pytest.mark.parametrize("matrix", [np.zeros((19, 19)), np.zeros((20, 5)), np.zeros(20)])
def test_a_matrix_of_another_size_is_not_told_to_reshape(matrix):
    with pytest.raises(ProblemError, match="For a list of pairs pass edges"):
        solve(np.ones((4, 5)), matrix)


@pytest.mark.parametrize(("unary", "last"), [(np.ones(4), 4), (np.ones((2, 4)), 8)])
def test_edges_beyond_all_scores_are_not_told_to_reshape(unary, last):
    with pytest.raises(ProblemError, match=r"variables are 0\.\.3$"):
        solve(unary, np.ones(1), edges=[[0, last]])


def test_unknown_solver():
    with pytest.raises(UnknownSolverError, match="did you mean 'max_flow'") as caught:
        solve(np.ones(3), solver="maxflow")
    print(caught.value)
    assert isinstance(caught.value, LookupError)


def test_an_unknown_name_suggests_to_pass_the_object():
    with pytest.raises(UnknownSolverError, match=r"pass the object, solver=MySolver\(\)"):
        solve(np.ones(3), solver="quantum")


METHODS = {
    "min_cut": "max_flow",
    "maxflow": "max_flow",
    "graphcut": "max_flow",
    "Graph-Cuts": "max_flow",
    "qpbo": "auto",
    "viterbi": "elimination",
    "brute force": "exhaustive",
    "sat": "cp_sat",
    "CP-SAT": "cp_sat",
    "milp": "highs",
    "ilp": "highs",
    "bnb": "branch_and_bound",
    "tabu": "local_search",
    "simulated_anealing": "local_search",
    "mini_bucket": "mini_buckets",
    "TRW-S": "dual_ascent",
}


@pytest.mark.parametrize("name", METHODS)
def test_the_name_of_a_method_suggests_the_solver_that_uses_it(name):
    with pytest.raises(UnknownSolverError, match=f"; did you mean '{METHODS[name]}'"):
        solve(np.ones(3), solver=name)


@pytest.mark.parametrize("kind", ["bits", "labels"])
def test_what_the_names_of_methods_suggest_exists(kind):
    registry = registry_of(kind)
    names = {"auto", *registry.built_in}
    for name, suggested in registry.method_names.items():
        assert suggested in names, name
        assert name not in names


@pytest.mark.parametrize(
    "solver", [None, 3, [], {"a": 1}, np.array(["auto", "auto"]), MaxFlow, "", "x" * 5000]
)
def test_what_names_no_solver(solver):
    with pytest.raises(
        UnknownSolverError, match=r"a solver is a name of|no solver is called"
    ) as caught:
        solve(np.ones(3), solver=solver)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("solver", "package"), [("cplex", "docplex"), ("cp_sat", "ortools")])
def test_missing_package(hide_packages, solver, package):
    hide_packages(package)
    with pytest.raises(SolverUnavailableError, match="pip install") as caught:
        solve(np.ones(3), solver=solver)
    print(caught.value)
    assert package in str(caught.value)
    assert isinstance(caught.value, ImportError)
    row = next(info for info in available_solvers() if info.name == solver)
    assert not row.installed
    assert row.missing == (package,)


@pytest.mark.parametrize(
    "limit", [0, -1.0, NAN, "1", [1.0], 10**400, -(10**400), Decimal(1), torch.ones(2)]
)
def test_time_limit_out_of_range(limit):
    with pytest.raises(OptionError, match="time_limit"):
        solve(np.ones(3), time_limit=limit)


def test_a_time_limit_that_python_does_not_write_out():
    with pytest.raises(OptionError, match="got int of too many digits"):
        solve(np.ones(3), time_limit=10**5000)


@pytest.mark.parametrize("solver", ["local_search", "branch_and_bound", "cp_sat", "cplex", "highs"])
@pytest.mark.parametrize("limit", [float("inf"), np.float32(60), np.int64(60)])
def test_time_limits_of_any_number_type(solver, limit):
    if solver == "local_search" and limit < np.inf:
        limit = np.float32(0.01)  # it uses the time up
    solution = solve([1.0, -2.0, 3.0], [5.0], edges=[[0, 1]], solver=solver, time_limit=limit)
    assert float(solution.score) == 7.0


def test_cplex_says_before_any_work_what_its_community_edition_does_not_take():
    needs("cplex")
    cplex = solver_class("cplex")()
    edges = [(i, (i + step) % 1001) for i in range(1001) for step in range(1, 12)]
    large = Problem.from_arrays(np.ones(1001), -np.ones(len(edges)), edges=edges)
    reason = "1,001 variables and 0 constraints, and CPLEX's community edition takes 1,000"
    assert reason in cplex.why_not(large)[0]
    with pytest.raises(UnsupportedProblemError, match="leave out solver=, name another solver"):
        solve(large, solver=cplex)
    small = Problem.from_arrays(np.ones(60))
    pairs = list(itertools.combinations(range(60), 2))[:1001]
    with pytest.raises(UnsupportedProblemError, match="60 variables and 1,001 constraints"):
        solve(small, solver=cplex, constraints=[at_most(1, pair) for pair in pairs])
    # Presolve may leave less of a sparse problem than CPLEX takes.
    assert not cplex.why_not(Problem.from_arrays(np.ones(1001), np.ones(1), edges=[[0, 1]]))


def test_limits_that_every_state_satisfies_are_no_constraints_of_cplex():
    needs("cplex")
    pairs = list(itertools.combinations(range(34), 2))  # of 561, each with two limits
    solution = solve(
        Problem.from_arrays(np.ones(34)),
        solver="cplex",
        constraints=[at_most(1, pair) for pair in pairs],
    )
    assert solution.optimal
    assert solution.score == 1.0


def test_every_error_is_ours():
    assert issubclass(OptionError, SolverError)
    assert issubclass(UnsupportedProblemError, (SolverError, ValueError))


def test_errors_come_before_work():
    with pytest.raises(ProblemError):
        Problem.from_arrays(np.full((2, 3), NAN))


def test_a_refusal_without_a_search_for_others_names_none():
    with pytest.raises(UnsupportedProblemError) as caught:
        solver_class("independent")().solve(
            Problem.from_arrays(np.ones(3), np.ones(2), edges=EDGES)
        )
    assert caught.value.alternatives is None
    assert "other" not in str(caught.value)
    with pytest.raises(UnsupportedProblemError) as caught:
        gibbs(np.ones(21), np.ones(2), edges=EDGES, method="enumeration")
    assert "No other installed solver can" not in str(caught.value)  # elimination would


BAD_OPTIONS = {
    "threads": (
        ("exhaustive", "max_flow", "cp_sat"),
        [0, -1, 1.5, "2", 2**31, 10**400, np.float32(2), torch.ones(2)],
    ),
    "starts": (("local_search",), [0, "4", None, 10**400]),
    "seed": (("local_search",), [-1, 0.5, 2**63, Decimal("nan")]),
    "visits": (("dual_ascent",), [0, 0.5, float("inf"), 10**400]),
    "memory": (("exhaustive",), [0, None, "2**28"]),
    "start": (
        ("cp_sat", "highs", "cycle_cuts", "branch_and_bound", "dual_ascent"),
        ["zeros", [0.5, 0.5], [[0], [0, 1]], np.zeros(2, "i4,i4"), {0, 1}],
    ),
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_options_of_another_kind(option):
    solvers, values = BAD_OPTIONS[option]
    problem = Problem.from_arrays([1.0, 1.0], [1.0], edges=[[0, 1]])
    for solver in solvers:
        for value in values:
            with pytest.raises((OptionError, ProblemError), match=option) as caught:
                solver_class(solver)().with_options(**{option: value}).solve(problem, 1)
            assert len(str(caught.value)) < 300


@pytest.mark.parametrize("jobs", [0, -2, 1.5, None, "all", 10**6])
def test_jobs_out_of_range(jobs):
    with pytest.raises(OptionError, match="jobs must be"):
        list(solve_many([Problem.from_arrays([1.0])], jobs=jobs))


def test_streams_of_what_is_no_problem():
    with pytest.raises(ProblemError, match="problems must be an iterable of problems; got 3"):
        list(solve_many(3))
    good, bad = solve_many([Problem.from_arrays([1.0]), [1.0]], jobs=1)
    assert float(good.score) == 1.0
    assert isinstance(bad.error, ProblemError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": None}, "method must be one of"),
        ({"method": ["auto"]}, "method must be one of"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"threads": {1}}, "threads must be a whole number"),
        ({"uniforms": np.zeros(2, "f8,f8")}, "uniforms must be numbers"),
        ({"uniforms": ["0.5"]}, "uniforms must be numbers"),
        ({"uniforms": [0.5j]}, "uniforms must be numbers"),
        ({"uniforms": {0.5}}, "uniforms must be an array"),
    ],
)
def test_gibbs_of_other_kinds(options, message):
    with pytest.raises(SolverError, match=message):
        gibbs([1.0, 2.0], **options)


@pytest.mark.parametrize("direction", ["ab", [1j, 1.0], np.zeros(2, "f8,f8"), [[1.0], [1.0, 2.0]]])
def test_directions_of_other_kinds(direction):
    with pytest.raises(ProblemError, match="unary"):
        gibbs([1.0, 2.0]).covariance_product(direction)


def test_a_state_of_other_numbers():
    problem = Problem.from_arrays([1.0, 2.0])
    for z in ([0.5, 1], [NAN, 1], [-1, 1], ["0", "1"], [0j, 1]):
        with pytest.raises(ProblemError, match=r"z must contain"):
            problem.score(z)


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedProblemError("max_flow", ("a", "b"), ("auto",)),
        InfeasibleError(("cardinality(3)", "one_of([0, 1])")),
        InfeasibleError(),
        SolveInterrupted(solve([1.0, -1.0])),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_another_process(error):
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == str(error)
    assert vars(again).keys() == vars(error).keys()
    if isinstance(error, SolveInterrupted):
        assert again.solution.z.tolist() == [1, 0]
    else:
        assert vars(again) == vars(error)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_problems_survive_another_process(kind):
    unary = [1.0, -2.0] if kind == "numpy" else torch.tensor([1.0, -2.0])
    problem = Problem.from_arrays(unary)
    for again in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):  # noqa: S301
        solution = solve(again)
        assert solution.z.tolist() == [1, 0]
        assert type(solution.score) is type(solve(problem).score)
    assert copy.deepcopy(Problem.from_arrays([1.0])).home is Problem.from_arrays([1.0]).home


def test_what_is_no_problem_is_named():
    for call in (lambda: select_solver([1.0]), lambda: uniforms_shape([1.0], 3)):
        with pytest.raises(ProblemError, match="expected a Problem"):
            call()
