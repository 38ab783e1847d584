"""Other conventions, against their own formulas on every assignment."""

import itertools
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import (
    ArgmaxSolver,
    Capabilities,
    Maximiser,
    OptionError,
    Problem,
    ProblemError,
    ProblemTooLargeError,
    SolverError,
    gibbs,
    labels,
    solve,
    solver_class,
)
from solvers.conversions import (
    ConversionUnavailableError,
    from_dimod,
    from_ising,
    from_max_cut,
    from_min_cut,
    from_networkx,
    from_qubo,
    to_dimod,
    to_ising,
    to_networkx,
    to_qubo,
)

torch = optional("torch")

SEEDS = st.integers(0, 2**32 - 1)
SENSES = ["minimise", "maximise"]
few = examples(30)


def states(n):
    return [np.array(z) for z in itertools.product((0, 1), repeat=n)]


def check_values(conversion, objective):
    """The objective takes a label -> 0 or 1 dict; its optimum must be the maximiser of the score."""
    values = []
    for z in states(conversion.problem.n):
        score = conversion.problem.score(z)
        values.append(objective(dict(zip(conversion.names, z.tolist(), strict=True))))
        assert conversion.value(score) == pytest.approx(values[-1], abs=1e-9)
        assert conversion.score(values[-1]) == pytest.approx(float(score), abs=1e-9)
        assert conversion.objective(z) == pytest.approx(values[-1], abs=1e-9)
    problem = conversion.problem
    solution = solve(
        problem.unary[0], problem.pairwise[0], edges=problem.edges, solver="exhaustive"
    )
    best = max(values) if conversion.sign == 1 else min(values)
    assert conversion.value(solution.score) == pytest.approx(best, abs=1e-9)
    named = conversion.assignment(solution.z)
    assert set(named.values()) <= set(conversion.values)
    bits = {label: conversion.values.index(value) for label, value in named.items()}
    assert objective(bits) == pytest.approx(best, abs=1e-9)


def quadratic(terms, values):
    return sum(weight * values[i] * values[j] for (i, j), weight in terms.items())


def couplings(labels, generator, count=8):
    """Repeats, both orders and loops among them."""
    return {
        (labels[generator.integers(len(labels))], labels[generator.integers(len(labels))]): weight
        for weight in generator.normal(size=count).tolist()
    }


def random_problem(seed, n=5):
    generator = np.random.default_rng(seed)
    pairwise = np.triu(generator.integers(-3, 4, (n, n)).astype(float), 1)
    return Problem.from_arrays(generator.normal(size=n), pairwise)


def same(problem, other):
    assert np.array_equal(problem.edges, other.edges)
    assert other.unary == pytest.approx(problem.unary, abs=1e-12)
    assert other.pairwise == pytest.approx(problem.pairwise, abs=1e-12)


@pytest.mark.parametrize("sense", SENSES)
@few
@given(seed=SEEDS)
def test_qubo_of_labels(sense, seed):
    Q = couplings(["a", 3, (1, 2), "z"], np.random.default_rng(seed))
    conversion = from_qubo(Q, sense)
    assert conversion.sign == (1 if sense == "maximise" else -1)
    check_values(conversion, lambda z: quadratic(Q, z))


@pytest.mark.parametrize("sense", SENSES)
@few
@given(seed=SEEDS, n=st.integers(1, 5))
def test_qubo_of_a_matrix(sense, seed, n):
    Q = np.random.default_rng(seed).normal(size=(n, n))
    check_values(
        from_qubo(Q, sense), lambda z: np.array(list(z.values())) @ Q @ np.array(list(z.values()))
    )


@pytest.mark.parametrize("sense", SENSES)
@few
@given(seed=SEEDS)
def test_ising_of_labels(sense, seed):
    generator = np.random.default_rng(seed)
    h = {"a": generator.normal(), "b": generator.normal()}
    J = couplings(["a", "b", "c"], generator)

    def energy(z):
        spins = {label: 2 * value - 1 for label, value in z.items()}
        return sum(field * spins[label] for label, field in h.items()) + quadratic(J, spins)

    check_values(from_ising(h, J, sense), energy)


@pytest.mark.parametrize("as_dict", [False, True])
@few
@given(seed=SEEDS)
def test_ising_of_a_matrix(as_dict, seed):
    generator = np.random.default_rng(seed)
    h, J = generator.normal(size=4), generator.normal(size=(4, 4))

    def energy(z):
        spins = 2 * np.array(list(z.values())) - 1
        return h @ spins + spins @ J @ spins

    check_values(from_ising(h, dict(np.ndenumerate(J)) if as_dict else J), energy)


@few
@given(seed=SEEDS)
def test_max_cut(seed):
    generator = np.random.default_rng(seed)
    edges, weights = generator.integers(0, 5, (9, 2)), generator.normal(size=9)

    def cut(z):
        return sum(weight for (u, v), weight in zip(edges, weights, strict=True) if z[u] != z[v])

    check_values(from_max_cut(5, edges, weights), cut)


def test_max_cut_without_weights():
    assert float(from_max_cut(4, [[0, 1], [1, 2], [2, 3], [3, 0]]).value(4.0)) == 4
    assert from_max_cut(3, []).problem.e == 0


@few
@given(seed=SEEDS)
def test_min_cut(seed):
    generator = np.random.default_rng(seed)
    n = 5
    arcs, capacities = generator.integers(0, n, (12, 2)), generator.integers(0, 9, 12).astype(float)
    source, sink = generator.permutation(n)[:2].tolist()

    def cut(z):
        sides = {**z, source: 1, sink: 0}
        return sum(c for (u, v), c in zip(arcs, capacities, strict=True) if sides[u] > sides[v])

    conversion = from_min_cut(n, arcs, capacities, source, sink)
    assert conversion.problem.negative_pair() is None
    check_values(conversion, cut)
    network = nx.DiGraph()
    network.add_nodes_from(range(n))
    for (u, v), capacity in zip(arcs.tolist(), capacities, strict=True):
        before = network.get_edge_data(u, v, {"capacity": 0.0})["capacity"]
        network.add_edge(u, v, capacity=before + capacity)
    solution = solve(
        conversion.problem.unary[0], conversion.problem.pairwise[0], edges=conversion.problem.edges
    )
    assert conversion.value(solution.score) == pytest.approx(
        nx.maximum_flow_value(network, source, sink)
    )


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@few
@given(seed=SEEDS)
def test_networkx(kind, seed):
    generator = np.random.default_rng(seed)
    graph = kind()
    graph.add_nodes_from((name, {"u": generator.normal()}) for name in "abcd")
    ends = generator.choice(list("abcd"), (7, 2)).tolist()
    graph.add_edges_from((u, v, {"w": generator.normal()}) for u, v in ends)

    def score(z):
        linear = sum(value * z[node] for node, value in graph.nodes(data="u"))
        return linear + sum(weight * z[u] * z[v] for u, v, weight in graph.edges(data="w"))

    conversion = from_networkx(graph, unary="u", pairwise="w")
    assert (conversion.sign, conversion.constant) == (1, 0.0)
    check_values(conversion, score)


def test_labels_are_integers_in_order_or_as_they_come():
    assert from_qubo({(7, 2): 1.0, (2, 5): 1.0}).names == (2, 5, 7)
    assert from_qubo({("b", "a"): 1.0, ("a", 1): 1.0}).names == ("b", "a", 1)
    assert tuple(from_ising({5: 1.0}, {(1, 0): 2.0}).names) == (0, 1, 5)
    assert from_qubo({("b", "a"): 1.0}).assignment([1, 0]) == {"b": 1, "a": 0}


def test_zeros_and_pairs_that_cancel_are_left_out():
    assert from_qubo({(0, 1): 1.0, (1, 0): -1.0, (1, 2): 0.0}).problem.e == 0
    assert from_qubo(np.diag([1.0, 2.0])).problem.n == 2


@few
@given(seed=SEEDS)
def test_energies_written_are_minus_the_score(seed):
    problem = random_problem(seed)
    Q, (h, J, offset), graph = to_qubo(problem), to_ising(problem), to_networkx(problem)
    for z in states(problem.n):
        score = float(problem.score(z))
        spins = 2 * z - 1
        assert quadratic(Q, z) == pytest.approx(-score)
        energy = sum(h[i] * spins[i] for i in h) + quadratic(J, spins) + offset
        assert energy == pytest.approx(-score)
        nodes = sum(value * z[i] for i, value in graph.nodes(data="unary"))
        assert nodes + sum(
            w * z[i] * z[j] for i, j, w in graph.edges(data="pairwise")
        ) == pytest.approx(score)


@few
@given(seed=SEEDS)
def test_round_trips(seed):
    problem = random_problem(seed)
    h, J, offset = to_ising(problem)
    for back in (
        from_qubo(to_qubo(problem)),
        from_ising(h, J),
        from_networkx(to_networkx(problem)),
    ):
        same(problem, back.problem)
    assert from_ising(h, J).constant == pytest.approx(-offset)
    names = list("vwxyz")
    back = from_qubo(to_qubo(problem, labels=names))
    assert list(back.names) == names
    same(problem, back.problem)


def test_other_arrays():
    torch = pytest.importorskip("torch")
    Q = torch.tensor([[1.0, -3.0], [0.0, 1.0]])
    conversion = from_qubo(Q)
    same(from_qubo(Q.numpy()).problem, conversion.problem)
    assert conversion.value(torch.tensor([1.0, 2.0])).tolist() == [-1.0, -2.0]
    assert conversion.assignment(torch.tensor([1, 0])) == {0: 1, 1: 0}
    assert to_qubo(Problem.from_arrays(torch.tensor([1.0, 0.0]))) == {(0, 0): -1.0, (1, 1): 0.0}


@pytest.mark.parametrize("spins", [False, True])
@few
@given(seed=SEEDS)
def test_dimod(spins, seed):
    dimod = pytest.importorskip("dimod")
    generator = np.random.default_rng(seed)
    linear = dict(zip("abc", generator.normal(size=3), strict=True))
    terms = {
        (i, j): weight for (i, j), weight in couplings(list("abc"), generator).items() if i != j
    }
    bqm = dimod.BinaryQuadraticModel(
        linear, terms, generator.normal(), "SPIN" if spins else "BINARY"
    )
    conversion = from_dimod(bqm)
    check_values(
        conversion, lambda z: bqm.energy({k: 2 * v - 1 if spins else v for k, v in z.items()})
    )
    back = to_dimod(conversion.problem, conversion.names)
    for z in states(3):
        energy = back.energy(dict(zip(conversion.names, z.tolist(), strict=True)))
        assert energy == pytest.approx(-float(conversion.problem.score(z)))


@pytest.mark.parametrize("spins", [False, True])
def test_what_looks_like_a_model_of_dimod_is_read(spins):
    model = SimpleNamespace(
        vartype=SimpleNamespace(name="SPIN" if spins else "BINARY"),
        linear={"a": 1.5, "b": -2.0},
        quadratic={("a", "b"): 0.75},
        offset=0.25,
    )

    def energy(z):
        a, b = (2 * z[name] - 1 if spins else z[name] for name in "ab")
        return 1.5 * a - 2.0 * b + 0.75 * a * b + 0.25

    check_values(from_dimod(model), energy)


def test_dimod_exact_solver_agrees():
    dimod = pytest.importorskip("dimod")
    problem = random_problem(3)
    best = dimod.ExactSolver().sample(to_dimod(problem)).first.energy
    assert -best == pytest.approx(
        float(solve(problem.unary[0], problem.pairwise[0], edges=problem.edges).score)
    )


def test_dimod_missing(hide_packages):
    hide_packages()
    with pytest.raises(ConversionUnavailableError, match="pip install dimod") as caught:
        to_dimod(random_problem(0))
    assert isinstance(caught.value, SolverError)
    assert isinstance(caught.value, ImportError)


BINARY = SimpleNamespace(name="BINARY")
BAD = {
    "not square": (lambda: from_qubo(np.ones((2, 3))), "must be square"),
    "ragged": (lambda: from_qubo([[1.0], [1.0, 2.0]]), "equal lengths"),
    "a matrix with nan": (
        lambda: from_qubo([[1.0, 0.0], [np.nan, 1.0]]),
        "the term of 1 and 0 is nan",
    ),
    "an infinite entry": (
        lambda: from_qubo({("a", "a"): np.inf, ("a", "b"): 1.0}),
        "the term of 'a' is inf",
    ),
    "a field that is nan": (
        lambda: from_ising({"a": np.nan}, {("a", "b"): 1.0}),
        "the term of 'a' is nan",
    ),
    "a set": (lambda: from_qubo({1.0, 2.0}), "the couplings must be an array"),
    "nothing at all": (lambda: from_ising(None, None), "h must be an array of real numbers"),
    "a sparse tensor": (lambda: from_qubo(torch.eye(2).to_sparse()), "layout torch.sparse_coo"),
    "no numbers of bfloat16": (
        lambda: from_max_cut(2, torch.ones(1, 2, dtype=torch.bfloat16)),
        "edges must be integers",
    ),
    "a number of vertices that is none": (
        lambda: from_max_cut("2", [[0, 1]]),
        "n must be a whole number",
    ),
    "half a vertex": (lambda: from_max_cut(2.5, [[0, 1]]), "n must be a whole number"),
    "more vertices than there can be": (
        lambda: from_max_cut(10**400, [[0, 1]]),
        "n must be a whole number",
    ),
    "a source that is none": (
        lambda: from_min_cut(3, [[0, 1]], [1.0], "0", 2),
        "source '0' and sink 2",
    ),
    "an array of sinks": (
        lambda: from_min_cut(3, [[0, 1]], [1.0], 0, np.ones(2)),
        "must be two nodes",
    ),
    "no graph": (lambda: from_networkx([(0, 1)]), "expected a networkx graph; got [(0, 1)]"),
    "no graph of networkx": (lambda: from_networkx(np.eye(2)), "expected a networkx graph"),
    "no name of an attribute": (
        lambda: from_networkx(nx.path_graph(2), unary=["x"]),
        "name of an attribute",
    ),
    "a model of lists": (
        lambda: from_dimod(SimpleNamespace(vartype=BINARY, linear=[1.0], quadratic={}, offset=0.0)),
        "must be mappings to numbers",
    ),
    "an infinite offset": (
        lambda: from_dimod(
            SimpleNamespace(vartype=BINARY, linear={0: 1.0}, quadratic={}, offset=-np.inf)
        ),
        "the offset must be a finite number; got -inf",
    ),
    "an offset that is no number": (
        lambda: from_dimod(
            SimpleNamespace(vartype=BINARY, linear={0: 1.0}, quadratic={}, offset=None)
        ),
        "the offset must be",
    ),
    "no problem": (lambda: to_qubo(np.ones(3)), "expected a Problem"),
    "labels that are none": (lambda: to_ising(random_problem(0), 5), "labels must be names"),
    "labels that are lists": (
        lambda: to_qubo(random_problem(0), [[1]] * 5),
        "labels must be names",
    ),
    "z of other numbers": (lambda: from_qubo({(0, 1): 1.0}).assignment([0.5, 1]), "zeros and ones"),
    "words": (lambda: from_qubo([["a"]]), "real numbers"),
    "complex": (lambda: from_qubo(np.eye(2) * 1j), "real numbers"),
    "no pairs": (lambda: from_qubo({0: 1.0, 1: 2.0}), "pairs of labels"),
    "no numbers": (lambda: from_qubo({(0, 1): "x"}), "real numbers"),
    "not a number": (lambda: from_qubo({(0, 1): float("nan")}), "is nan"),
    "overflow": (lambda: from_qubo({(0, 1): 1e308, (1, 0): 1e308}), "is -inf"),
    "Ising overflow": (lambda: from_ising([1e308, 1e308], {}), "constant"),
    "Ising coupling overflow": (lambda: from_ising([0, 0], {(0, 1): 1e308}), "is inf"),
    "fields in a matrix": (lambda: from_ising([[1.0]], {}), "dimension"),
    "a vertex outside": (lambda: from_max_cut(2, [[0, 2]]), "0..1"),
    "a negative vertex": (lambda: from_max_cut(2, [[0, -1]]), "0..1"),
    "vertices of floats": (lambda: from_max_cut(2, [[0.0, 1.0]]), "integers"),
    "weights of another length": (lambda: from_max_cut(2, [[0, 1]], [1.0, 2.0]), "2 weights"),
    "a weight that is no number": (lambda: from_max_cut(2, [[0, 0]], [float("nan")]), "is nan"),
    "a negative capacity": (
        lambda: from_min_cut(3, [[0, 1]], [-1.0], 0, 2),
        "capacities[0] is -1.0",
    ),
    "source and sink the same": (lambda: from_min_cut(3, [[0, 1]], [1.0], 2, 2), "two nodes"),
    "sink outside": (lambda: from_min_cut(3, [[0, 1]], [1.0], 0, 3), "two nodes"),
    "capacities overflow": (lambda: from_min_cut(3, [[0, 1], [0, 1]], [1e308, 1e308], 0, 2), "inf"),
    "a node without a score": (lambda: from_networkx(nx.path_graph(2)), "'unary'"),
    "not a model": (lambda: from_dimod({"a": 1}), "BinaryQuadraticModel; got dict"),
    "a batch": (lambda: to_qubo(Problem.from_arrays(np.ones((3, 2)))), "batch of 3"),
    "labels too few": (lambda: to_ising(random_problem(0), ["a"]), "5 different"),
    "labels twice": (lambda: to_networkx(random_problem(0), list("aabcd")), "5 different"),
    "z of another length": (lambda: from_qubo({(0, 1): 1.0}).assignment([1]), "must be [2]"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, message = BAD[case]
    with pytest.raises(ProblemError) as caught:
        call()
    assert message in str(caught.value)


def test_more_vertices_than_memory_holds():
    with pytest.raises(ProblemTooLargeError, match="a problem of 1099511627776 variables takes"):
        from_max_cut(2**40, [[0, 1]])


@pytest.mark.parametrize(
    ("sense", "sign"),
    [("minimize", -1), ("min", -1), ("Minimise", -1), ("maximize", 1), ("max", 1), ("MAX", 1)],
)
def test_every_spelling_of_a_sense(sense, sign):
    assert from_qubo({(0, 1): 1.0}, sense).sign == sign
    assert from_qubo({(0, 1): 1.0}, sense=sense).sign == sign
    assert from_ising([1.0], {}, sense=sense).sign == sign
    assert labels.from_factors([2], [], sense=sense).sign == sign


class Bare(ArgmaxSolver):
    """Returns its states alone."""

    name = "bare"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        return (problem.unary > 0).astype(np.int8)


FRUIT = {("apple", "apple"): -1.0, ("pear", "pear"): 1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve(FRUIT), "solvers.conversions.from_qubo"),
        (lambda: gibbs(FRUIT), "solvers.conversions.from_qubo"),
        (lambda: solve(nx.path_graph(3)), "solvers.conversions.from_networkx"),
        (lambda: solve(SimpleNamespace(vartype=1)), "solvers.conversions.from_dimod"),
        (lambda: from_qubo({"apple": -1.0}), "write ('apple', 'apple'): -1.0"),
        (lambda: solve(from_qubo(FRUIT), fix={"appel": 1}), "did you mean 'apple'?"),
        (lambda: solve(from_qubo(FRUIT), start={"pera": 1}), "did you mean 'pear'?"),
        (lambda: solve(from_qubo(FRUIT), fix={7: 1}), "the first one is 'apple'"),
        (lambda: solve(from_qubo({}), fix={7: 1}), "there are none"),
        (lambda: solve([1.0], solver=Bare()), "return Maximiser(z)"),
        (lambda: solve([1.0], solver=Bare), "solver=Bare()"),
        (lambda: solver_class("cp_sat")().with_options(thread=1), "did you mean 'threads'?"),
        (lambda: gibbs([1.0], method="meanfield"), "did you mean 'mean_field'?"),
        (lambda: from_networkx(nx.path_graph(2), kind="maxcut"), "did you mean 'max_cut'?"),
    ],
)
def test_messages_name_the_call_that_was_meant(call, message):
    with pytest.raises(SolverError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("sense", ["maximse", 3, None])
def test_a_misspelt_sense_gets_the_nearest_one(sense):
    with pytest.raises(OptionError) as caught:
        from_qubo({(0, 1): 1.0}, sense=sense)
    assert ("did you mean 'maximise'?" in str(caught.value)) == (sense == "maximse")


def constrained_model():
    """A model of dimod with spins, offsets in the objective and in a constraint."""
    dimod = pytest.importorskip("dimod", reason="dimod is not installed")
    model = dimod.ConstrainedQuadraticModel()
    spin, bit = dimod.Spin("s"), dimod.Binary("b")
    model.set_objective(2 * spin * bit - bit + 10)
    model.add_constraint(bit + 3 <= 3, label="none")
    return model


def test_a_constrained_model_keeps_its_offsets():
    answer = solve(from_dimod(constrained_model()))
    assert answer.assignment["b"] == 0  # where 3 counts on the other side, it is 1
    assert answer.value == 10.0
    assert answer.optimal


def test_a_constrained_model_is_left_as_it_was():
    model = constrained_model()
    from_dimod(model)
    assert model.vartype("s").name == "SPIN"


def test_edges_without_a_weight_weigh_one_in_a_cut():
    graph = nx.path_graph(4)
    graph.edges[1, 2]["weight"] = 0.5
    assert solve(from_networkx(graph, kind="max_cut")).value == 2.5


class ZerosWithABound(ArgmaxSolver):
    """Returns zeros, and the sum of all absolute scores as the bound."""

    name = "zeros"
    capabilities = Capabilities(exact=True)

    def _argmax(self, problem, deadline):
        return Maximiser(np.zeros(problem.unary.shape, np.int8), np.asarray(problem.magnitude))


@pytest.mark.parametrize("sense", SENSES)
def test_an_answer_that_is_not_proved_has_the_bound_of_the_original(sense):
    conversion = from_qubo(np.array([[1.0, -3.0, 2.0], [0.0, 1.0, -1.5], [0.0, 0.0, 0.5]]), sense)
    answer = solve(conversion, solver=ZerosWithABound())
    assert answer.value == 0.0
    assert answer.bound == (-9.0 if sense == "minimise" else 9.0)
    assert not answer.optimal


def test_the_sides_of_spins_are_the_lower_and_the_higher_value():
    answer = solve(from_ising({"a": 1.0, "b": -1.0, "c": 2.0}, {}))
    assert answer.sides == ({"a", "c"}, {"b"})


@pytest.mark.parametrize("z", [[0, 2], [1, -1], [0.5, 1.0]])
def test_an_assignment_is_of_zeros_and_ones_alone(z):
    with pytest.raises(ProblemError, match="zeros and ones"):
        from_qubo({("a", "b"): 1.0}).assignment(z)


def test_former_names_of_conversions_warn():
    conversion = from_qubo({("a", "b"): -1.0})
    with pytest.warns(DeprecationWarning, match=r"now Conversion\.names"):
        assert conversion.labels == conversion.names
    vote = labels.from_factors([2, 2], [((0, 1), np.eye(2))], names=["coat", "shoe"])
    with pytest.warns(DeprecationWarning, match="now states"):
        assert vote.labels({"shoe": 1}) == vote.states({"shoe": 1}) == {1: 1}


def test_conversions_of_both_kinds_say_the_same_of_themselves():
    bits = from_ising({"a": 0.5}, {})
    assert (list(bits.names), list(bits.values_of(0)), bits.constraints) == (["a"], [-1, 1], ())
    of_labels = labels.from_factors([3], [((0,), np.zeros(3))], names=["x"], values=["abc"])
    assert (of_labels.names, list(of_labels.values_of(0)), of_labels.fixed) == (["x"], [*"abc"], {})


GRAPHS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@pytest.mark.parametrize("cls", GRAPHS)
@few
@given(seed=SEEDS)
def test_minimum_cuts_of_graphs_of_every_class(cls, seed):
    generator = np.random.default_rng(seed)
    graph = cls()
    graph.add_nodes_from("sabt")
    for _ in range(7):
        u, v = generator.choice(list("sabt"), 2, replace=False)
        graph.add_edge(str(u), str(v), capacity=float(generator.integers(0, 5)))
    answer = solve(from_networkx(graph, kind="min_cut", source="s", sink="t"))
    cuts = []
    for side in itertools.product((0, 1), repeat=2):
        z = {"s": 1, "a": side[0], "b": side[1], "t": 0}
        arcs = list(graph.edges(data="capacity"))
        if not graph.is_directed():
            arcs += [(v, u, weight) for u, v, weight in arcs]
        cuts.append(sum(weight for u, v, weight in arcs if z[u] > z[v]))
    assert (answer.value, answer.optimal) == (min(cuts), True)
    assert answer.assignment["s"] == 1
    assert answer.assignment["t"] == 0


@pytest.mark.parametrize("cls", GRAPHS)
def test_graphs_with_edge_weights_alone_add_parallel_edges(cls):
    graph = cls([("a", "b", {"weight": 2.0}), ("b", "c", {"weight": -3.0})])
    graph.add_edge("b", "a", weight=1.0)
    both = 1.0 if cls is nx.Graph else 3.0  # a Graph keeps the last one
    assert solve(from_networkx(graph)).value == both
    assert solve(from_networkx(graph, kind="max_cut")).value == both


def test_an_edge_without_a_capacity_is_never_cut():
    graph = nx.DiGraph([("s", "a"), ("a", "t", {"capacity": 2.0})])
    answer = solve(from_networkx(graph, kind="min_cut", source="s", sink="t"))
    assert (answer.value, answer.assignment) == (2.0, {"s": 1, "a": 1, "t": 0})
    with pytest.raises(ProblemError, match="a sink among the nodes; got 'x'"):
        from_networkx(graph, kind="min_cut", source="s", sink="x")
