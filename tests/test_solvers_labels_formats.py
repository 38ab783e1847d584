"""Files and models of other libraries whose variables have several values, against the sums that they stand for."""

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import OptionError, ProblemError, ProblemTooLargeError, solve_many
from solvers.formats import ProblemFileError
from solvers.labels import (
    LabelProblem,
    from_dimod,
    from_factors,
    from_pgmpy,
    gibbs,
    solve,
)
from solvers.labels.formats import read_problem

dimod = optional("dimod")

seeds = st.integers(0, 2**32 - 1)
few = examples(40)


def drawn_factors(seed, forbidden=0.1):
    """Sizes, and factors of up to four variables with a few forbidden tuples."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 4, random.integers(2, 5)).tolist()
    factors = []
    for _ in range(random.integers(1, 7)):
        scope = random.permutation(len(sizes))[: random.integers(0, len(sizes) + 1)].tolist()
        table = random.normal(size=[sizes[v] for v in scope])
        factors.append(
            (scope, np.where(random.random(table.shape) < forbidden * bool(scope), -np.inf, table))
        )
    return sizes, factors


def sums(sizes, factors):
    """The sum of the factors for every assignment, in order."""
    return np.array(
        [
            sum(float(table[tuple(x[v] for v in scope)]) for scope, table in factors)
            for x in itertools.product(*map(range, sizes))
        ]
    )


@few
@given(seed=seeds)
def test_factors_of_any_scope_are_their_sum(seed):
    sizes, factors = drawn_factors(seed)
    total = sums(sizes, factors)
    if total.max() == -np.inf:
        return
    found = from_factors(sizes, factors, constant=1.5)
    answer = solve(found, solver="elimination")
    np.testing.assert_allclose(answer.value, total.max() + 1.5, atol=1e-9)
    assert answer.optimal
    best = sums(sizes, factors)[np.ravel_multi_index(list(answer.assignment.values()), sizes)]
    np.testing.assert_allclose(best, total.max(), atol=1e-9)
    log_z = np.log(np.exp(total).sum())
    np.testing.assert_allclose(
        float(gibbs(found.problem).log_partition) + found.constant - 1.5, log_z, atol=1e-9
    )
    least = solve(
        from_factors(sizes, [(scope, -table) for scope, table in factors], sense="minimise")
    )
    np.testing.assert_allclose(least.value, -total.max(), atol=1e-9)
    np.testing.assert_allclose(least.bound, -total.max(), atol=1e-9)


def test_names_come_back_and_fix():
    vote = from_factors(
        [2, 2],
        [((0, 1), np.array([[3.0, 0.0], [0.0, 2.0]]))],
        names=["a", "b"],
        values=[["x", "y"], ["u", "v"]],
    )
    assert solve(vote).assignment == {"a": "x", "b": "u"}
    assert solve(vote, fix={"b": "v"}).assignment == {"a": "y", "b": "v"}
    for fix in ({"c": "v"}, {"b": "x"}):
        with pytest.raises(OptionError, match=r"'c' is no variable|cannot be 'x'"):
            solve(vote, fix=fix)
    with pytest.raises(ProblemError, match="alone"):
        solve(vote, potts=1.0)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([((0, 0), np.zeros((2, 2)))], "each once"),
        ([((0, 2), np.zeros((2, 2)))], "each once"),
        ([((0,), np.zeros(3))], "must have the shape"),
        ([((), np.array(-np.inf))], "every assignment is forbidden"),
    ],
)
def test_what_is_no_factor_is_refused(factors, message):
    with pytest.raises(ProblemError, match=message):
        from_factors([2, 2], factors)


def test_large_factors_are_refused_by_number():
    with pytest.raises(ProblemError, match="factor 1 has 13 variables and allows 8192"):
        from_factors([2] * 13, [((0,), np.zeros(2)), (range(13), np.zeros([2] * 13))])


def uai(sizes, factors):
    """The file of a network."""
    lines = ["BAYES", str(len(sizes)), " ".join(map(str, sizes)), str(len(factors))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope, _ in factors]
    for _, table in factors:
        lines += [str(table.size), " ".join(f"{value:.17g}" for value in np.exp(table).ravel())]
    return "\n".join(lines) + "\n"


def wcsp(sizes, factors, top):
    """The file of whole costs; every tuple that does not have the default cost is listed."""
    lines = [f"name {len(sizes)} {max(sizes)} {len(factors)} {top}", " ".join(map(str, sizes))]
    for scope, table in factors:
        listed = [place for place in np.ndindex(table.shape) if table[place] != 1]
        lines.append(" ".join(map(str, [len(scope), *scope, 1, len(listed)])))
        lines += [" ".join(map(str, [*place, int(table[place])])) for place in listed]
    return "\n".join(lines) + "\n"


def cfn(sizes, factors, top):
    """The same in JSON; variables of names, and every second function in full."""
    functions = {}
    for number, (scope, table) in enumerate(factors):
        content = {"scope": [f"v{v}" for v in scope], "costs": table.ravel().tolist()}
        if number % 2:
            costs = [
                part for place in np.ndindex(table.shape) for part in (*place, int(table[place]))
            ]
            content |= {"defaultcost": 7, "costs": costs}
        functions[f"f{number}"] = content
    variables = {
        f"v{v}": [f"x{a}" for a in range(size)] if v % 2 else size for v, size in enumerate(sizes)
    }
    return json.dumps(
        {
            "problem": {"name": "p", "mustbe": f"<{top}"},
            "variables": variables,
            "functions": functions,
        }
    )


@few
@given(seed=seeds)
def test_files_are_their_factors(seed, tmp_path_factory):
    sizes, factors = drawn_factors(seed)
    folder = tmp_path_factory.mktemp("files")
    total = sums(sizes, factors)
    if total.max() > -np.inf:
        (folder / "a.uai").write_text(uai(sizes, factors))
        np.testing.assert_allclose(
            solve(read_problem(folder / "a.uai")).value, total.max(), atol=1e-9
        )
    costs = [
        (scope, np.rint(3 * np.abs(np.where(np.isinf(table), 30, table))))
        for scope, table in factors
    ]
    top = 20
    over = [(scope, np.where(table >= top, np.inf, table)) for scope, table in costs]
    least = sums(sizes, over).min()
    if least < np.inf:
        (folder / "a.wcsp").write_text(wcsp(sizes, costs, top))
        (folder / "a.cfn").write_text(cfn(sizes, costs, top))
        for name in ("a.wcsp", "a.cfn"):
            np.testing.assert_allclose(solve(read_problem(folder / name)).value, least, atol=1e-9)


def test_cost_networks_keep_their_names(tmp_path):
    sizes, factors = [2, 3], [((0, 1), np.array([[5.0, 4.0, 9.0], [6.0, 1.0, 7.0]]))]
    (tmp_path / "a.cfn").write_text(cfn(sizes, factors, 100))
    assert solve(read_problem(tmp_path / "a.cfn")).assignment == {"v0": 1, "v1": "x1"}


def test_costs_are_compared_with_the_bound_in_all_digits(tmp_path):
    problem = {"name": "large", "mustbe": f"<{2**53 + 1}"}
    functions = {"f": {"scope": ["x"], "costs": [2**53, 2**53 + 1]}}
    content = {"problem": problem, "variables": {"x": 2}, "functions": functions}
    (tmp_path / "a.cfn").write_text(json.dumps(content))
    assert solve(read_problem(tmp_path / "a.cfn")).assignment == {"x": 0}


@pytest.mark.parametrize("text", ["2 0 1 2 0\n", "1\n2 0 1 2 0\n"])
def test_evidence_keeps_values(text, tmp_path):
    sizes, factors = [2, 2, 2], [((0, 1, 2), np.arange(8.0).reshape(2, 2, 2))]
    (tmp_path / "a.uai").write_text(uai(sizes, factors))
    (tmp_path / "a.uai.evid").write_text(text)
    found = solve(read_problem(tmp_path / "a.uai", evidence=tmp_path / "a.uai.evid"))
    assert found.assignment == {0: 1, 1: 1, 2: 0}


WCSP = "name 2 2 1 9\n2 2\n2 0 1 0 1\n1 1 3\n"
CFN = '{"problem": {"mustbe": "<9"}, "variables": {"a": 2}, "functions": {"f": {"scope": ["a"], "costs": [1, 2]}}}'
BAD = [
    ("uai", "MARKOV 1 3 1 1 0 3 0.2 0.5 -0.3", "must be positive"),
    ("uai", "MARKOV 1 3 1 1 0 2 0.2 0.5", "the size of the table is 2"),
    ("uai", "MARKOV 1 3 1 1 0 3 0.2 0.5", "the file ends"),
    ("wcsp", WCSP.replace("2 0 1 0 1", "2 0 1 -1 salldiff"), "global one 'salldiff'"),
    ("wcsp", WCSP.replace("2 0 1 0 1", "-2 0 1 0 1"), "shared"),
    ("wcsp", WCSP.replace("2 0 1 0 1", "2 0 1 0 -1"), "shared"),
    ("wcsp", WCSP.replace("1 1 3", "1 2 3"), "a value is 2"),
    ("wcsp", WCSP + "1", "followed by"),
    ("cfn", "[" * 100_000, "not JSON"),
    ("cfn", "[]", "the file must be an object"),
    ("cfn", '{"problem": [], "variables": [], "functions": []}', "'problem' must be an object"),
    ("cfn", CFN.replace("<9", "9"), "mustbe"),
    ("cfn", CFN.replace('{"a": 2}', "{}"), "no variables"),
    ("cfn", CFN.replace('{"a": 2}', '{"a": -2}'), "values of 'a'"),
    ("cfn", CFN.replace('["a"]', '["b"]'), "names no variable: b"),
    ("cfn", CFN.replace("[1, 2]", "[1]"), "has 1 costs for 2"),
    ("cfn", CFN.replace("[1, 2]", '[1, "x"]'), "is no number"),
    ("cfn", CFN.replace('"costs"', '"type": "salldiff", "params"'), "global ones are not read"),
    ("cfn", CFN.replace("[1, 2]", '[1], "defaultcost": 0'), "tuples, each with its cost"),
]


@pytest.mark.parametrize(("format", "text", "message"), BAD)
def test_bad_files_are_named(format, text, message, tmp_path):
    (tmp_path / "bad").write_text(text)
    with pytest.raises(ProblemFileError, match=message):
        read_problem(tmp_path / "bad", format)


@pytest.mark.parametrize("text", ["2 0 1\n", "1 0 5\n", "1 9 0\n", "x\n"])
def test_bad_evidence_is_named(text, tmp_path):
    (tmp_path / "a.uai").write_text("MARKOV 1 3 1 1 0 3 0.2 0.5 0.3")
    (tmp_path / "evidence").write_text(text)
    with pytest.raises(ProblemFileError):
        read_problem(tmp_path / "a.uai", evidence=tmp_path / "evidence")


def test_the_most_probable_explanation_of_a_pgmpy_model():
    pytest.importorskip("pgmpy")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork([("rain", "wet"), ("tap", "wet")])
    network.add_cpds(
        TabularCPD("rain", 2, [[0.8], [0.2]], state_names={"rain": ["no", "yes"]}),
        TabularCPD("tap", 2, [[0.9], [0.1]], state_names={"tap": ["off", "on"]}),
        TabularCPD(
            "wet",
            2,
            [[0.99, 0.1, 0.2, 0.01], [0.01, 0.9, 0.8, 0.99]],
            evidence=["rain", "tap"],
            evidence_card=[2, 2],
            state_names={"wet": ["no", "yes"], "rain": ["no", "yes"], "tap": ["off", "on"]},
        ),
    )
    assert solve(from_pgmpy(network)).assignment == {"rain": "no", "tap": "off", "wet": "no"}
    wet = from_pgmpy(network, evidence={"wet": "yes"})
    assert solve(wet).assignment == {"rain": "yes", "tap": "off", "wet": "yes"}
    np.testing.assert_allclose(
        np.exp(gibbs(wet.problem).log_partition),
        0.8 * 0.9 * 0.01 + 0.8 * 0.1 * 0.9 + 0.2 * 0.9 * 0.8 + 0.2 * 0.1 * 0.99,
    )


def test_other_models_are_refused():
    with pytest.raises(ProblemError, match="pgmpy"):
        from_pgmpy({})


def test_a_stream_of_label_problems():
    random = np.random.default_rng(0)
    problems = [LabelProblem.from_arrays(random.normal(size=(4, 3))) for _ in range(5)]
    found = list(solve_many([*problems, "none"], jobs=2))
    for problem, solution in zip(problems, found[:-1], strict=True):
        np.testing.assert_array_equal(solution.labels, problem.unary[0].argmax(axis=-1))
    assert isinstance(found[-1].error, ProblemError)
    with pytest.raises(ProblemError, match="iterable"):
        list(solve_many(3))


@pytest.mark.parametrize(
    ("sizes", "factors", "options"),
    [
        (3, [], {}),
        ([0], [], {}),
        ([2.5], [], {}),
        ([2], 3, {}),
        ([2], [3], {}),
        ([2], [(0, [1.0, 2.0])], {}),
        ([2], [(["x"], [1.0, 2.0])], {}),
        ([2], [([0], ["x", "y"])], {}),
        ([2], [([0], [np.nan, 1.0])], {}),
        ([2], [], {"constant": "x"}),
        ([2], [], {"constant": np.inf}),
        ([2], [], {"names": ["a", "b"]}),
        ([2], [], {"values": [["a"]]}),
    ],
)
def test_what_are_no_factors_is_said(sizes, factors, options):
    with pytest.raises(ProblemError):
        from_factors(sizes, factors, **options)


def test_other_senses_and_names_are_refused():
    with pytest.raises(OptionError, match="sense"):
        from_factors([2], [], sense=np.zeros(2))
    with pytest.raises(OptionError, match="fix must be"):
        solve(from_factors([2], []), fix=3)


@few
@given(seed=seeds)
def test_discrete_quadratic_models_are_minimised(seed):
    random = np.random.default_rng(seed)
    names, model = ["a", 1, ("b", 2), "c"][: random.integers(1, 5)], dimod.DiscreteQuadraticModel()
    for name in names:
        cases = int(random.integers(1, 4))
        model.set_linear(model.add_variable(cases, label=name), random.normal(size=cases))
    for first, second in itertools.combinations(random.permutation(len(names)), 2):
        u, v = names[first], names[second]
        if random.random() < 0.7:
            model.set_quadratic(u, v, random.normal(size=(model.num_cases(u), model.num_cases(v))))
    model.offset = 2.5
    cases = [
        dict(zip(names, x, strict=True))
        for x in itertools.product(*(range(model.num_cases(v)) for v in names))
    ]
    found = from_dimod(model)
    answer = solve(found)
    least = min(model.energy(case) for case in cases)
    np.testing.assert_allclose(answer.value, least, atol=1e-9)
    np.testing.assert_allclose(model.energy(answer.assignment), least, atol=1e-9)
    assert answer.optimal
    for case in cases:
        x = [case[name] for name in names]
        np.testing.assert_allclose(
            found.value(found.problem.score(x)), model.energy(case), atol=1e-9
        )


def test_what_is_no_discrete_quadratic_model_is_refused():
    binary = dimod.BinaryQuadraticModel({"a": 1.0}, {}, 0.0, "BINARY")
    for wrong in (None, 3, binary):
        with pytest.raises(ProblemError):
            from_dimod(wrong)


@pytest.mark.slow
def test_sums_of_published_networks_agree_to_their_digits():
    folder = Path(os.environ.get("STRUCTURED_VAE_DATA", "")) / "structured" / "uai"
    if "STRUCTURED_VAE_DATA" not in os.environ or not folder.is_dir():
        pytest.skip("STRUCTURED_VAE_DATA names no folder with structured/uai")
    published = [
        each
        for each in json.loads((folder / "index.json").read_text())
        if "PR_log10_published" in each
    ]
    within = [each for each in published if each["log2_max_table"] <= 24]
    assert within
    for each in within:
        problem = read_problem(folder / f"{each['name']}.uai.gz").problem
        found = gibbs(
            problem.unary[0], problem.all_pairwise()[0], edges=problem.edges, sizes=problem.sizes
        )
        log10 = float(found.log_partition) / np.log(10)
        assert f"{log10:.6g}" == f"{each['PR_log10_published']:.6g}", each["name"]
        marginals = np.load(folder / f"{each['name']}.ans.npz")["mar_published"]
        own = np.concatenate(
            [row[:size] for row, size in zip(found.unary_marginals, problem.sizes, strict=True)]
        )
        np.testing.assert_allclose(own, marginals, rtol=1e-5, atol=5e-6, err_msg=each["name"])


@pytest.mark.parametrize("text", [b"MARKOV 40 " + b"1073741824 " + b"2 " * 39 + b"0"])
def test_a_short_file_does_not_take_what_there_is_not(tmp_path, text):
    path = tmp_path / "large.uai"
    path.write_bytes(text)
    with pytest.raises(ProblemTooLargeError, match="40 variables"):
        read_problem(path)


def test_two_functions_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.cfn"
    path.write_text(
        '{"problem": {"name": "p", "mustbe": "<10.0"}, "variables": {"x": 2}, '
        '"functions": {"f": {"scope": ["x"], "costs": [1, 2]}, "f": {"scope": ["x"], "costs": [5, 0]}}}'
    )
    with pytest.raises(ProblemFileError, match="two members have the name 'f'"):
        read_problem(path)


@pytest.mark.parametrize("given", [{"names": 3}, {"values": 3}])
def test_names_that_are_none_are_refused(given):
    with pytest.raises(ProblemError, match="names and values must be"):
        from_factors([2], [], **given)


RELAXED = {
    "comments": "// one\n# two\n/* three\n lines */" + CFN,
    "unquoted": "{problem:{mustbe:<9},variables:{a:2},functions:{f:{scope:[a],costs:[1 2]}}}",
    "trailing commas": CFN.replace("2]}}}", "2,],},},}"),
    "functions in a list": CFN.replace('{"f": {', "[{").replace("2]}}}", "2]}]}"),
    "variables in a list": CFN.replace('{"a": 2}', "[2]").replace('["a"]', "[0]"),
    "shared costs": CFN.replace("2]}}}", '2]}, "g": {"scope": ["a"], "costs": "f"}}}'),
    "one long line": CFN + " " * 2**20,
}


@pytest.mark.parametrize("name", RELAXED)
def test_a_network_is_read_as_toulbar2_reads_it(tmp_path, name):
    path = tmp_path / "a.cfn"
    path.write_text(RELAXED[name])
    expected = 2.0 if name == "shared costs" else 1.0
    answer = solve(read_problem(path))
    assert (answer.value, list(answer.assignment.values())) == (expected, [0])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("{problem: {}\nvariables: {a: 2}\n", 3, "ends before '}'"),
        ("{problem: {} problem: {}}", 1, "two members have the name 'problem'"),
        ("{problem: {},\nname }", 2, "unexpected '}'"),
        ("{a /* no end", 1, "unexpected '/'"),
        ("{} {}", 1, "expected the end of the text"),
        ("[" * 30, 1, "unexpected '['"),
    ],
)
def test_what_is_no_relaxed_json_is_refused(tmp_path, text, line, message):
    path = tmp_path / "a.cfn"
    path.write_text(text)
    with pytest.raises(ProblemFileError) as caught:
        read_problem(path)
    assert message in str(caught.value)
    assert caught.value.line in (line, None)


@pytest.mark.parametrize(
    "title", ["c 2 2 1 9", "# 2 2 1 9", "#name 2 2 1 9223372036854775807", "c one\n#\nx 2 2 1 9"]
)
def test_a_problem_may_have_any_name(tmp_path, title):
    path = tmp_path / "a.wcsp"
    path.write_text(WCSP.replace("name 2 2 1 9", title))
    assert solve(read_problem(path)).value == 0
    assert read_problem(path).objective([1, 1]) == 3


INF = np.inf
COMPARISONS = {
    ">= 1 1": [[1, INF, INF, INF], [0, 1, INF, INF], [0, 0, 1, INF]],
    "> 1 1": [[INF, INF, INF, INF], [1, INF, INF, INF], [0, 1, INF, INF]],
    "<= -1 1": [[1, 0, 0, 0], [INF, 1, 0, 0], [INF, INF, 1, 0]],
    "< 1 1": [[0, 0, 0, 0], [1, 0, 0, 0], [INF, 1, 0, 0]],
    "= 1 1": [[1, INF, INF, INF], [0, 1, INF, INF], [1, 0, 1, INF]],
    "disj 1 2 7": [[7, 0, 0, 0], [7, 7, 0, 0], [0, 7, 7, 0]],
    "sdisj 1 2 2 3 5 6": [[INF, 0, 0, 6], [INF, INF, 0, 6], [5, 5, 5, 11]],
}


@pytest.mark.parametrize("function", COMPARISONS)
def test_named_comparisons_cost_what_toulbar2_says(tmp_path, function):
    """The tables are those that toulbar2 1.4 gives."""
    path = tmp_path / "a.wcsp"
    path.write_text(f"name 2 4 1 100\n3 4\n2 0 1 -1 {function}\n")
    conversion = read_problem(path)
    costs = [[conversion.objective([x, y]) for y in range(4)] for x in range(3)]
    assert costs == COMPARISONS[function]


def opengm(h5py, path, **changes):
    """A model of two tables and a Potts function, in OpenGM's layout."""
    arrays = {
        "header": [2, 0, 3, 4, 3, 16000, 2, 16006, 1, 16003, 1, 1],
        "numbers-of-states": [2, 3, 3],
        "factors": [0, 0, 1, 1, 1, 0, 2, 0, 1, 0, 1, 2, 1, 2, 0, 2, 2, 1, 2],
        "function-id-16000/indices": [1, 3, 2, 2, 3],
        "function-id-16000/values": [0.5, 0.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "function-id-16006/indices": [3, 3],
        "function-id-16006/values": [0.0, 2.5],
        "function-id-16003/indices": [3, 3],
        "function-id-16003/values": [1.0, 4.0],
    }
    with h5py.File(path, "w") as file:
        for name, numbers in (arrays | changes).items():
            kind = np.float32 if name.endswith("values") else np.uint64
            file.create_dataset(f"gm/{name}", data=np.array(numbers, kind))
    return path


def opengm_energy(x, y, z):
    table = [[1, 3, 5], [2, 4, 6]]  # the first variable changes fastest
    potts = 0.0 if y == z else 2.5
    return [0.5, 0, -1][y] + table[x][y] + potts + 4 * min(abs(y - z), 1)


def test_a_model_of_opengm_is_the_sum_of_its_functions(tmp_path):
    h5py = pytest.importorskip("h5py")
    conversion = read_problem(opengm(h5py, tmp_path / "a.h5"))
    states = itertools.product(range(2), range(3), range(3))
    assert all(conversion.objective(x) == opengm_energy(*x) for x in states)
    assert solve(conversion).value == 1.5


@pytest.mark.parametrize(
    ("name", "numbers", "message"),
    [
        ("header", [1, 0], "not one of version 2"),
        ("header", [2, 0, 3, 4, 9, 16000, 2], "too short"),
        ("numbers-of-states", [2, 3, 0], "must have 1 to 2"),
        ("factors", [0, 0, 1], "ends too early"),
        ("factors", [7, 0, 1, 1], "has the function 7"),
        ("function-id-16000/indices", [1, 3, 2, 2**29, 2**29], "more than"),
        ("function-id-16000/values", [1.0], "end too early"),
        ("function-id-16006/indices", [2, 3], "has a function of shape"),
    ],
)
def test_what_is_no_model_of_opengm_is_named(tmp_path, name, numbers, message):
    h5py = pytest.importorskip("h5py")
    path = opengm(h5py, tmp_path / "a.h5", **{name: numbers})
    with pytest.raises(ProblemFileError, match=message):
        read_problem(path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ProblemFileError, match="h5py cannot read"):
        read_problem(path)
