"""Files of other programs, against their own formulas over all assignments."""

import gzip
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import needs, optional

from solvers import solve
from solvers.formats import FORMATS, ProblemFileError, read_problem, read_problems, write_problem
from solvers.labels import formats as label_formats

dimod = optional("dimod")
dimod_coo = optional("dimod.serialization.coo")
networkx = optional("networkx")

MAX_CUT_PAIRS = "4 5\n1 2\n2 3\n1 2\n4 4\n1 4\n"
FROM_ZERO = "4 4\n0 1 2\n1 2 -3\n0 1 4\n3 0 1.5\n"
WEL = "7 3 2.5\n3 10 -1\n10 7 4\n7 3 1\n"
COO = "# vartype=SPIN\n0 0 0.5\n0 2 -1 # a comment\n2 0 2\n# more\n5 5 -2\n"
COO_BINARY = "# vartype=BINARY\n0 0 0.5\n0 2 -1\n5 5 -2\n"
BQPJSON = json.dumps(
    {
        "version": "1.0.0",
        "id": 0,
        "metadata": {},
        "variable_ids": [3, 1, 8],
        "variable_domain": "spin",
        "scale": 2.0,
        "offset": 1.5,
        "linear_terms": [{"id": 3, "coeff": 1.0}, {"id": 3, "coeff": 0.5}],
        "quadratic_terms": [
            {"id_tail": 3, "id_head": 1, "coeff": -2.0},
            {"id_tail": 1, "id_head": 3, "coeff": 0.5},
        ],
    }
)
MTX = (
    "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 4\n"
    "1 1 -2\n2 1 1.5\n3 2 -4\n3 3 1\n"
)
MTX_GENERAL = "%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 -2\n2 1 3\n1 2 -4\n"
MTX_DENSE = "%%MatrixMarket matrix array real symmetric\n2 2\n-1\n0.5\n2\n"
MTX_GRAPH = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 1\n3 3\n"
GML = (
    'graph [ node [ id 0 label "a" unary 1.5 ] node [ id 1 label "b" unary -2 ]\n'
    "edge [ source 0 target 1 pairwise 3.5 ] ]\n"
)
GML_GRAPH = (
    'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] node [ id 2 label "c" ]\n'
    "edge [ source 0 target 1 weight 2.5 ] edge [ source 1 target 2 ] ]\n"
)
LP = (
    "Maximize\n obj: 2 x - 3 y + 4 z + [ 4 x * y - 2 x ^2 + 6 y * z ] / 2 + 5\n"
    "Subject To\n c1: x + y + z <= 2\n c2: x - z >= 0\nBounds\n y = 1\nBinary\n x y z\nEnd\n"
)
MPS = (
    "NAME small\nROWS\n N cost\n L c1\n G c2\nCOLUMNS\n"
    "    x cost 1 c1 1\n    y cost -2 c1 1\n    y c2 1\n    z cost 3\n    z c2 2\n"
    "RHS\n    rhs c1 1 c2 1\nBOUNDS\n BV bnd x\n BV bnd y\n BV bnd z\n"
    "QUADOBJ\n    x x 4\n    x z -8\nENDATA\n"
)
WCNF = "c old\np wcnf 4 6 100\n3 1 -2 0\n2 -1 0\n100 1 2 0\n5 1 2 -3 0\n1 4 -4 0\n7 -3 -2 0\n"
WCNF_2022 = "c new\n3 1 -2 0\n2 -1 0\nh 1 2 0\n5 1 2 -3 0\n1 4 -4 0\n7 -3 -2 0\n"
CNF = "p cnf 2 3\n1 2 0\n-1 0\n-2 0\n"
QAP = "3\n\n0 2 1\n3 0 0\n4 5 1\n\n0 1 2\n6 0 3\n2 7 1\n"
TSP = (
    "NAME: four\nTYPE: TSP\nCOMMENT: corners\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\n"
    "NODE_COORD_SECTION\n1 0 0\n2 10 0\n3 0 10\n4 10 11\nEOF\n"
)
ATSP = (
    "NAME: four\nTYPE: ATSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
    "EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n"
    "0 1 2 3\n9 0 4 5\n8 7 0 6\n3 2 1 0\nEOF\n"
)
COL = "c a graph\np edge 5 6\ne 1 2\ne 2 3\ne 3 4\ne 4 5\ne 5 1\ne 1 3\n"
TEXTS = {
    "maxcut": MAX_CUT_PAIRS,
    "edges": WEL,
    "coo": COO,
    "bqpjson": BQPJSON,
    "mtx": MTX,
    "mtxcut": MTX_GRAPH,
    "gml": GML,
    "lp": LP,
    "mps": MPS,
    "wcnf": WCNF,
    "qaplib": QAP,
    "tsplib": TSP,
}


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """Writes text or bytes, and gives the path."""
    folder = tmp_path_factory.mktemp("others")

    def write(content, name="file"):
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def cut(z, edges):
    return sum(weight for u, v, weight in edges if z[u] != z[v])


def spins(z):
    return [2 * bit - 1 for bit in z]


def coo_value(z):
    a, b, c = spins(z)
    return 0.5 * a + a * b - 2 * c


def bqpjson_value(z):
    b, a, _ = spins(z)
    return 2 * (1.5 + 1.5 * a - 1.5 * a * b)


def lp_value(z):
    x, y, z = z
    return 5 + 2 * x - 3 * y + 4 * z + 2 * x * y - x + 3 * y * z


MEANINGS = {
    "pairs without weights": (
        "maxcut",
        MAX_CUT_PAIRS,
        1,
        lambda z: cut(z, [(0, 1, 2), (1, 2, 1), (0, 3, 1)]),
    ),
    "vertices from zero": (
        "maxcut",
        FROM_ZERO,
        1,
        lambda z: cut(z, [(0, 1, 6), (1, 2, -3), (3, 0, 1.5)]),
    ),
    "edges": ("edges", WEL, 1, lambda z: cut(z, [(0, 1, 3.5), (0, 2, -1), (1, 2, 4)])),
    "both triangles": (
        "qubo",
        "3 5\n1 2 4\n2 1 4\n3 3 -1\n2 3 -2.5\n3 2 -2.5\n",
        -1,
        lambda z: 8 * z[0] * z[1] - z[2] - 5 * z[1] * z[2],
    ),
    "a matrix from zero": (
        "qubo",
        "3 3\n0 0 2\n0 1 -3\n2 2 1\n",
        -1,
        lambda z: 2 * z[0] - 6 * z[0] * z[1] + z[2],
    ),
    "coo of spins": ("coo", COO, -1, coo_value),
    "coo of bits": ("coo", COO_BINARY, -1, lambda z: 0.5 * z[0] - z[0] * z[1] - 2 * z[2]),
    "bqpjson": ("bqpjson", BQPJSON, -1, bqpjson_value),
    "mtx": (
        "mtx",
        MTX,
        -1,
        lambda z: -2 * z[0] + 3 * z[0] * z[1] - 8 * z[1] * z[2] + z[2],
    ),
    "mtx of both triangles": ("mtx", MTX_GENERAL, -1, lambda z: -2 * z[0] - z[0] * z[1]),
    "a dense mtx": ("mtx", MTX_DENSE, -1, lambda z: -z[0] + z[0] * z[1] + 2 * z[1]),
    "mtx as a graph": ("mtxcut", MTX_GRAPH, 1, lambda z: cut(z, [(0, 1, 1), (0, 2, 1)])),
    "gml": ("gml", GML, 1, lambda z: 1.5 * z[0] - 2 * z[1] + 3.5 * z[0] * z[1]),
    "gml as a graph": ("gml", GML_GRAPH, 1, lambda z: cut(z, [(0, 1, 2.5), (1, 2, 1)])),
    "lp": ("lp", LP, 1, lp_value),
    "mps": (
        "mps",
        MPS,
        -1,
        lambda z: z[0] - 2 * z[1] + 3 * z[2] + 2 * z[0] - 8 * z[0] * z[2],
    ),
    "cnf": ("wcnf", CNF, -1, lambda z: (1 - z[0]) * (1 - z[1]) + z[0] + z[1]),
}
NEEDS = {"lp": "highs", "mps": "highs"}


@pytest.mark.parametrize("name", MEANINGS)
def test_the_objective_of_a_file_is_its_formula(file, name):
    format, text, sign, objective = MEANINGS[name]
    if format in NEEDS:
        needs(NEEDS[format])
    conversion = read_problem(file(text), format)
    assert conversion.sign == sign
    for z in itertools.product((0, 1), repeat=conversion.problem.n):
        if all(z[place] == value for place, value in conversion.fixed.items()):
            assert conversion.objective(z) == pytest.approx(objective(z), abs=1e-12)
            score = float(conversion.problem.score(z))
            assert conversion.value(score) == pytest.approx(objective(z), abs=1e-12)


def best(values):
    return min(value for value in values if value is not None)


def clause_cost(z, soft, hard):
    """The weight of the clauses that are not satisfied; None if a hard one is not."""

    def holds(clause):
        return any((literal > 0) == bool(z[abs(literal) - 1]) for literal in clause)

    if not all(map(holds, hard)):
        return None
    return sum(weight for weight, clause in soft if not holds(clause))


def test_weights_of_clauses_are_compared_in_all_digits(file):
    text = "p wcnf 1 2 9007199254740993\n9007199254740992 1 0\n9007199254740993 -1 0\n"
    assert solve(read_problem(file(text), "wcnf")).value == 2.0**53
    with pytest.raises(ProblemFileError, match="9007199254740993, which float64 rounds"):
        read_problem(file("p wcnf 1 1\n9007199254740993 1 0\n"), "wcnf")


@pytest.mark.parametrize("text", [WCNF, WCNF_2022])
def test_hard_clauses_hold_and_soft_ones_cost(file, text):
    soft = [(3, (1, -2)), (2, (-1,)), (5, (1, 2, -3)), (7, (-3, -2))]
    expected = best(clause_cost(z, soft, [(1, 2)]) for z in itertools.product((0, 1), repeat=4))
    answer = solve(read_problem(file(text), "wcnf"))
    assert answer.value == expected
    z = [answer.assignment[variable] for variable in range(1, 5)]
    assert clause_cost(z, soft, [(1, 2)]) == expected


def test_a_long_soft_clause_costs_its_weight(file):
    text = "9 1 2 3 0\nh -1 0\nh -2 0\nh -3 0\n"
    answer = solve(read_problem(file(text), "wcnf"))
    assert (answer.value, answer.assignment["clause 1"]) == (9.0, 1)


def test_a_quadratic_assignment_is_a_permutation(file):
    flows, distances = np.array(QAP.split()[1:], float).reshape(2, 3, 3)
    costs = {p: (flows * distances[np.ix_(p, p)]).sum() for p in itertools.permutations(range(3))}
    answer = solve(read_problem(file(QAP), "qaplib"))
    assert answer.value == min(costs.values())
    places = [pair for pair, value in answer.assignment.items() if value]
    assert costs[tuple(location - 1 for _, location in sorted(places))] == answer.value


def tour_length(distances):
    n = len(distances)
    tours = ((0, *rest) for rest in itertools.permutations(range(1, n)))
    return min(sum(distances[a, b] for a, b in zip(t, (*t[1:], 0), strict=True)) for t in tours)


def test_a_tour_visits_every_city(file):
    corners = np.array([[0, 0], [10, 0], [0, 10], [10, 11]], float)
    straight = np.sqrt(((corners[:, None] - corners) ** 2).sum(axis=-1))
    answer = solve(read_problem(file(TSP), "tsplib"))
    assert answer.value == tour_length(np.floor(straight + 0.5))
    matrix = np.array(ATSP.split("SECTION\n")[1].split()[:-1], float).reshape(4, 4)
    assert solve(read_problem(file(ATSP), "tsplib")).value == tour_length(matrix)


BURMA = (
    "16.47 96.10 16.47 94.44 20.09 92.54 22.39 93.37 25.23 97.24 22.00 96.05 20.47 97.02 "
    "17.20 96.29 16.30 97.38 14.05 98.12 16.53 97.38 21.52 95.59 19.41 97.13 20.09 94.55"
)


def test_geographical_distances_give_the_published_tour(file):
    """The published length of burma14 is 3,323."""
    numbers = BURMA.split()
    rows = "".join(f"{i + 1} {numbers[2 * i]} {numbers[2 * i + 1]}\n" for i in range(14))
    header = "NAME: burma14\nTYPE: TSP\nDIMENSION: 14\nEDGE_WEIGHT_TYPE: GEO\n"
    conversion = read_problem(file(f"{header}NODE_COORD_SECTION\n{rows}EOF\n", "burma14.tsp"))
    # A tour of the published length, found by dynamic programming over sets of cities.
    n = 13
    problem = conversion.problem
    first = -problem.unary[0].reshape(n, n)[:, 0]
    last = -problem.unary[0].reshape(n, n)[:, -1]
    step = np.full((n, n), np.inf)
    for (a, b), weight in zip(problem.edges, problem.pairwise[0], strict=True):
        if {a % n, b % n} == {0, 1}:
            begin, end = (a, b) if a % n == 0 else (b, a)
            step[begin // n, end // n] = -weight
    lengths = np.full((1 << n, n), np.inf)
    lengths[1 << np.arange(n), np.arange(n)] = first
    for visited in range(1, 1 << n):
        longer = (lengths[visited][:, None] + step).min(axis=0)
        new = np.flatnonzero(~visited >> np.arange(n) & 1)
        rows = visited | 1 << new
        lengths[rows, new] = np.minimum(lengths[rows, new], longer[new])
    assert (lengths[-1] + last).min() == 3323


TRIANGLES = {
    "UPPER_ROW": "1 2 3",
    "LOWER_ROW": "1 2 3",
    "UPPER_DIAG_ROW": "0 1 2 0 3 0",
    "LOWER_DIAG_ROW": "0 1 0 2 3 0",
    "LOWER_COL": "1 2 3",
    "UPPER_COL": "1 2 3",
}


@pytest.mark.parametrize("layout", TRIANGLES)
def test_layouts_of_a_distance_matrix(file, layout):
    header = ATSP.replace("FULL_MATRIX", layout).replace("DIMENSION: 4", "DIMENSION: 3")
    text = header[: header.index("0 1 2 3")] + TRIANGLES[layout] + "\nEOF\n"
    conversion = read_problem(file(text), "tsplib")
    # cities 2 and 3 at places 2 and 3: 1 to 2, 2 to 3 and 3 to 1
    assert conversion.objective([1, 0, 0, 1]) == 6
    assert conversion.problem.unary[0].tolist() == [-1, -1, -2, -2]


def test_constraints_of_a_program_hold(file):
    needs("highs")
    conversion = read_problem(file(LP), "lp")
    allowed = [
        z for z in itertools.product((0, 1), repeat=3) if sum(z) <= 2 and z[0] >= z[2] and z[1] == 1
    ]
    answer = solve(conversion)
    assert answer.value == max(map(lp_value, allowed))
    assert answer.assignment["y"] == 1
    mps = solve(read_problem(file(MPS), "mps"))
    values = [
        3 * x - 2 * y + 3 * z - 8 * x * z
        for x, y, z in itertools.product((0, 1), repeat=3)
        if x + y <= 1 and y + 2 * z >= 1
    ]
    assert mps.value == min(values)


def written(model):
    with model.to_file() as stream:
        return stream.read()


def test_models_of_dimod_are_read_as_dimod_writes_them(file):
    needs("highs")
    x, y, z = map(dimod.Binary, "xyz")
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(2 * x - 3 * y + 4 * x * y + 1.5 * z + 7)
    model.add_constraint(x + y + z >= 2, label="two")
    least = dimod.ExactCQMSolver().sample_cqm(model).filter(lambda row: row.is_feasible)
    expected = least.first.energy
    for content, name in (
        (written(model), "a.cqm"),
        (dimod.lp.dumps(model).encode(), "a.lp"),
    ):
        assert solve(read_problem(file(content, name))).value == expected
    spins = dimod.BinaryQuadraticModel({"a": 1.0, "b": 0.5}, {("a", "b"): -2.0}, 0.25, "SPIN")
    read = solve(read_problem(file(written(spins), "a.bqm")))
    assert read.value == dimod.ExactSolver().sample(spins).first.energy
    assert spins.energy(read.assignment) == read.value
    text = dimod_coo.dumps(
        dimod.BinaryQuadraticModel({0: 1.0, 1: 0.5}, {(0, 1): -2.0}, 0.0, "SPIN"),
        vartype_header=True,
    )
    assert solve(read_problem(file(text, "a.coo"))).value == -3.5


def test_discrete_models_of_dimod_are_read(file):
    model = dimod.DiscreteQuadraticModel()
    model.add_variable(3, label="u")
    model.add_variable(2, label="v")
    model.set_linear("u", [0.5, 0, 1])
    model.offset = 0.25
    model.set_quadratic("u", "v", {(1, 0): 3.0, (1, 1): 2.0, (0, 1): -1.0})
    answer = solve(label_formats.read_problem(file(written(model), "a.dqm")))
    assert (answer.value, answer.assignment) == (-0.25, {"u": 0, "v": 1})


@pytest.mark.slow
def test_soft_constraints_and_integers_of_a_model_are_read(file):
    x, y = dimod.Binary("x"), dimod.Binary("y")
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(-2 * x - 3 * y)
    model.add_constraint(x + y <= 1, weight=0.5, penalty="linear")
    path = file(written(model), "soft.cqm")
    read = read_problem(path)
    assert solve(read).value == -4.5
    relation = write_problem(read, path.with_suffix(".lp"))
    assert relation.value(solve(read_problem(path.with_suffix(".lp"))).value) == -4.5
    whole = dimod.ConstrainedQuadraticModel()
    i = dimod.Integer("i", lower_bound=2, upper_bound=5)
    whole.set_objective(i * i - 7 * i)
    whole.add_constraint(i >= 4)
    path = file(written(whole), "whole.cqm")
    assert solve(label_formats.read_problem(path)).assignment == {"i": 4}
    with pytest.raises(ProblemFileError, match=r"solvers\.labels\.formats reads it"):
        read_problem(path)


def test_a_damaged_model_of_dimod_is_refused(file):
    """dimod itself crashes where a number of a pair is damaged."""
    names = [f"v{i}" for i in range(50)]
    chain = dict.fromkeys(itertools.pairwise(names), 1.0)
    model = dimod.BinaryQuadraticModel(dict.fromkeys(names, 1.0), chain, 0.0, "SPIN")
    content = bytearray(written(model))
    for place in range(len(content) - 900, len(content) - 300, 3):
        content[place] = 127
    with pytest.raises(ProblemFileError, match="dimod cannot read the model"):
        read_problem(file(bytes(content), "a.bqm"))
    discrete = dimod.DiscreteQuadraticModel()
    discrete.add_variable(2)
    with pytest.raises(ProblemFileError, match="variables of several values"):
        read_problem(file(written(discrete), "a.dqm"), "dimod")


def test_several_problems_of_one_file(file):
    path = file("2\n2 2\n1 1 5\n1 2 -2\n3 1\n1 3 4\n")
    first, second = read_problems(path, "orlib")
    assert (solve(first).value, solve(second).value) == (5, 8)
    with pytest.raises(ProblemFileError, match=r"has 2 problems; .*read_problems"):
        read_problem(path, "orlib")
    assert len(read_problems(file(WEL), "edges")) == 1


def fewest_colours(n, edges):
    for colours in range(1, n + 1):
        for x in itertools.product(range(colours), repeat=n):
            if all(x[u] != x[v] for u, v in edges):
                return colours
    return None


@pytest.mark.parametrize("seed", range(3))
def test_the_fewest_colours_of_a_graph(file, seed):
    generator = np.random.default_rng(seed)
    edges = [pair for pair in itertools.combinations(range(5), 2) if generator.random() < 0.6]
    text = f"p edge 5 {len(edges)}\n" + "".join(f"e {v + 1} {u + 1}\n" for u, v in edges)
    answer = solve(label_formats.read_problem(file(text, "a.col")))
    assert answer.value == fewest_colours(5, edges)
    assert all(answer.assignment[u + 1] != answer.assignment[v + 1] for u, v in edges)


def test_names_of_vertices(file):
    assert list(read_problem(file(WEL), "edges").names) == [3, 7, 10]
    assert list(read_problem(file("b a\na 3\n"), "edges").names) == ["b", "a", "3"]
    assert list(read_problem(file(FROM_ZERO), "maxcut").names) == [0, 1, 2, 3]
    assert list(read_problem(file(MAX_CUT_PAIRS), "maxcut").names) == [1, 2, 3, 4]
    assert list(read_problem(file(BQPJSON), "bqpjson").names) == [1, 3, 8]


GUESSES = {
    "a.el": ("edges", "1 2\n"),
    "a.wel": ("edges", WEL),
    "a.coo": ("coo", COO),
    "a.json": ("bqpjson", BQPJSON),
    "mtx": ("mtx", MTX),
    "a.gml": ("gml", GML),
    "a.lp": ("lp", LP),
    "a.mps": ("mps", MPS),
    "old": ("wcnf", WCNF),
    "a.wcnf": ("wcnf", WCNF_2022),
    "cnf": ("wcnf", CNF),
    "a.dat": ("qaplib", QAP),
    "a.tsp": ("tsplib", TSP),
    "lower case": ("uai", "Markov\n1\n2\n1\n1 0 # a comment\n2 0.5 0.5\n"),
    "a.tsv": ("csv", "i\tj\tscore\n1\t2\t3\n"),
}


@pytest.mark.parametrize("name", GUESSES)
def test_the_format_is_guessed(file, name):
    format, text = GUESSES[name]
    if format in NEEDS:
        needs(NEEDS[format])
    packed = file(gzip.compress(text.encode()), f"{name}.gz")
    guessed = read_problem(file(text, name))
    for other in (read_problem(packed), read_problem(packed, format)):
        assert np.array_equal(other.problem.unary, guessed.problem.unary)
        assert np.array_equal(other.problem.pairwise, guessed.problem.pairwise)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_tables_have_other_separators(file, separator):
    rows = [("i", "j", "score"), ("a, b", "c", "1.5"), ("c", "", "-1")]
    text = "\n" + "\n".join(separator.join(row) for row in rows[:1] + rows[2:]) + "\n"
    assert solve(read_problem(file(text), "csv")).assignment == {"c": 0}
    whole = "\n".join(separator.join(row) for row in rows)
    assert solve(read_problem(file(whole), "csv")).assignment == {"a, b": 1, "c": 1}


def edited(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


BAD = {
    "numbered twice": ("maxcut", "2 2\n0 1\n1 2\n", 3, "line 2 has the variable 0"),
    "some weights": ("maxcut", "3 2\n1 2 5\n2 3\n", 3, "expected 'i j weight'; the line has 2"),
    "one triangle and a half": (
        "qubo",
        "3 3\n1 2 1\n2 1 1\n2 3 1\n",
        3,
        "not every pair comes in both orders",
    ),
    "no edges": ("edges", "# none\n", 1, "the file has no edges"),
    "a weight missing": ("edges", "1 2 3\n2 3\n", 2, "'u v weight' in every line"),
    "problems missing": ("orlib", "3\n2 1\n1 2 1\n", 3, "ends before problem 2"),
    "problems too many": ("orlib", "1\n2 1\n1 2 1\n2 0\n", 4, "there are more lines"),
    "problems that take memory": (
        "orlib",
        "4\n" + "10000 0\n" * 4,
        3,
        "claims 20000 variables",
    ),
    "no vartype": ("coo", "0 0 1\n", 1, "'# vartype=BINARY' for 0 and 1"),
    "two words of coo": ("coo", COO + "1 2\n", 7, "expected 'i j bias'; the line has 2"),
    "no JSON": ("bqpjson", BQPJSON[:-1], 1, "the text is not JSON"),
    "a JSON list": ("bqpjson", "[]", None, "the problem must be an object"),
    "another domain": ("bqpjson", edited(BQPJSON, '"spin"', '"real"'), None, "'spin' or 'bool"),
    "a term of no variable": (
        "bqpjson",
        edited(BQPJSON, '"id": 3, "coeff": 1.0', '"id": 4, "coeff": 1.0'),
        None,
        "'id' of linear term 0 is 4",
    ),
    "a coefficient that is a text": (
        "bqpjson",
        edited(BQPJSON, "-2.0", '"x"'),
        None,
        "'coeff' of quadratic term 0 must be a finite number; it is 'x'",
    ),
    "no scale": (
        "bqpjson",
        edited(BQPJSON, '"scale"', '"scales"'),
        None,
        "the problem has no 'scale'",
    ),
    "a huge coefficient": ("bqpjson", edited(BQPJSON, "-2.0", "1e400"), None, "must be a finite"),
    "not MatrixMarket": ("mtx", "3 3 1\n1 1 1\n", 1, "expected the first line '%%MatrixMarket"),
    "a pattern": ("mtx", MTX_GRAPH, 5, "format='mtxcut' reads it"),
    "a complex matrix": ("mtx", edited(MTX, "real", "complex"), 1, "'complex' cannot be read"),
    "not square": ("mtx", edited(MTX, "3 3 4", "3 2 4"), 3, "3 rows and 2 columns"),
    "a huge matrix": ("mtx", MTX_DENSE.replace("2 2", "40000 40000"), 2, "claims"),
    "an entry twice": ("mtx", edited(MTX, "3 2 -4", "1 2 -4"), 6, "already in line 5"),
    "numbers missing": ("mtx", MTX_DENSE[:-2], 4, "has 3 entries, and the file has 2"),
    "a graph of one direction": ("mtxcut", MTX_GENERAL, 5, "must equal its transpose"),
    "not GML": ("gml", "graph [ node [ id 0", None, "networkx cannot read the graph"),
    "no nodes": ("gml", "graph [ ]", None, "the graph has no nodes"),
    "a score missing": ("gml", edited(GML, "unary -2", "unari -2"), None, "'b' has no score"),
    "not LP": ("lp", "Minimize\n x +\n", None, "HiGHS cannot read the file as .lp"),
    "an integer": ("lp", LP.replace("Binary", "General"), None, "'x' is an integer from 0 to inf"),
    "a continuous variable": ("mps", edited(MPS, " BV bnd z", " UP bnd z 1"), None, "'z' is cont"),
    "products in a constraint": (
        "lp",
        edited(LP, "x + y + z <= 2", "x + [ y * z ] <= 2"),
        None,
        "products must be in the objective alone",
    ),
    "a tiny product": ("lp", edited(LP, "[ ", "[ 1e-13 x * z + "), None, "coefficient 1e-13 of a"),
    "a header twice": ("wcnf", WCNF + "p wcnf 4 6\n", 9, "there may be only one"),
    "a clause missing": (
        "wcnf",
        edited(WCNF, "2 -1 0\n", ""),
        7,
        "claims 6 clauses, and the file has 5",
    ),
    "a literal too large": ("wcnf", edited(WCNF, "2 -1 0", "2 -5 0"), 4, "must lie in -4..4"),
    "a clause without an end": ("wcnf", "1 2\n", 1, "must end with 0"),
    "two clauses in a line": ("wcnf", "1 2 0 1 3 0\n", 1, "more words follow in its line"),
    "an empty hard clause": ("wcnf", "h 0\n1 1 0\n", 1, "no assignment satisfies it"),
    "a negative weight": ("wcnf", "-1 1 0\n", 1, "it must be >= 0"),
    "a huge variable": ("wcnf", "1 99999999999 0\n", 1, "claims 99999999999 variables"),
    "a matrix missing": (
        "qaplib",
        "2\n0 1\n1 0\n1 100000\n",
        4,
        "have 8 entries, and the file has 6",
    ),
    "a huge assignment": ("qaplib", "5000\n1\n", 1, "claims 25000000 variables"),
    "another TSPLIB type": ("tsplib", edited(TSP, "TYPE: TSP", "TYPE: CVRP"), 6, "it is 'CVRP'"),
    "another distance": ("tsplib", edited(TSP, "EUC_2D", "XRAY1"), 6, "'XRAY1' cannot be read"),
    "an unknown keyword": ("tsplib", edited(TSP, "COMMENT", "COMENT"), 3, "'COMENT' is unknown"),
    "a city missing": ("tsplib", edited(TSP, "4 10 11\n", ""), 10, "the file has 3 cities"),
    "a city twice": ("tsplib", edited(TSP, "4 10 11", "3 10 11"), 10, "the city 3 comes twice"),
    "distances missing": ("tsplib", edited(ATSP, "3 2 1 0\n", ""), 10, "and the file has 12"),
    "distances too many": ("tsplib", edited(ATSP, "3 2 1 0", "3 2 1 0 5"), 10, "file has more"),
    "a huge tour": ("tsplib", edited(TSP, "DIMENSION: 4", "DIMENSION: 60"), 6, "would take"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named(file, case):
    format, content, line, message = BAD[case]
    if format in NEEDS:
        needs(NEEDS[format])
    path = file(content, "bad")
    with pytest.raises(ProblemFileError) as caught:
        read_problem(path, format, max_bytes=2**20)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)


BAD_GRAPHS = {
    "no header": ("e 1 2\n", "expected the header 'p edge"),
    "an edge missing": (edited(COL, "e 1 3\n", ""), "claims 6 edges, and the file has 5"),
    "a loop": (edited(COL, "e 1 3", "e 3 3"), "the vertex 3 is adjacent to itself"),
    "a vertex outside": (edited(COL, "e 1 3", "e 1 6"), "must lie in 1..5"),
    "another line": (COL + "n 1 5\n", "starts with 'n'"),
}


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_bad_graphs_are_named(file, case):
    text, message = BAD_GRAPHS[case]
    with pytest.raises(ProblemFileError, match=message):
        label_formats.read_problem(file(text), "col")


@pytest.mark.parametrize("formats", [FORMATS, label_formats.FORMATS])
def test_the_table_of_formats_names_them_all(formats):
    page = Path(__file__).parents[1] / "docs" / "file_formats.md"
    if not page.exists():
        pytest.skip("the pages are not here")
    table = page.read_text(encoding="utf-8")
    for name, kind in formats.items():
        row = next(line for line in table.splitlines() if line.startswith(f"| `{name}` "))
        assert all(f"`{suffix}`" in table for suffix in kind.suffixes), row


NUMBERS = "0 1 2 3 -1 1e308 nan inf 99999999999 999999999999999999999 0x1 + . h p : [ ] { }"
WORDS = st.sampled_from([*NUMBERS.split(), "\n", "\0", "é", '"', ",", "max", "EOF"])
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["put", "drop", "swap"]), WORDS), max_size=4
)


def scrambled(text, edits):
    words = text.replace("\n", " \n ").split(" ")
    for where, what, word in edits:
        place = int(where * (len(words) - 1))
        words[place : place + (what != "put")] = [] if what == "drop" else [word]
    return " ".join(words).encode()


@pytest.mark.parametrize("format", TEXTS)
@examples(20)
@given(edits=EDITS)
def test_scrambled_files_are_read_or_refused(file, format, edits):
    if format in NEEDS:
        needs(NEEDS[format])
    path = file(scrambled(TEXTS[format], edits), f"scrambled-{format}")
    try:
        conversion = read_problem(path, format, max_bytes=2**20)
    except ProblemFileError as error:
        assert error.path == path  # noqa: PT017  # most files are refused, some are not
    else:
        assert np.isfinite(conversion.problem.unary).all()
        assert math.isfinite(conversion.constant)
