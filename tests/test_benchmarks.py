"""The benchmarks run, at their smallest and without other people's solvers, and their verdicts are right."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations, pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest
import torch

from models import convolutional_vae, paper_vae
from structured_vae import TrainConfig
from structured_vae.reproduction import Experiment

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benchmark(from_checkout):
    return lambda name, **values: from_checkout(f"benchmarks.{name}", **values)


def test_every_benchmark_can_be_started_by_its_path():
    """Its folder has a `solvers.py`, which would hide the package from a script in it."""
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if 'if __name__ == "__main__":' not in text:
            continue
        guard = text.index("sys.path[0] = ")
        packages = re.search(
            r"^(from|import) (benchmarks|models|solvers|structured_vae)", text, re.M
        )
        assert guard < packages.start(), path.name


@pytest.mark.slow
def test_label_batches_starts_by_its_path():
    pytest.importorskip("pytoulbar2")
    script = str(ROOT / "benchmarks" / "label_batches.py")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, script, "--help"]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def test_the_table_of_solvers(benchmark, tmp_path):
    output = tmp_path / "solvers.json"
    names = "supermodular grid 32x32$|spin glass 10x10|dense n=30|degree 3$"
    options = ["--only", names, "--peers", "^PyMaxflow$", "--rounds", "1", "--patience", "0.2"]
    benchmark("solvers").main([*options, "--output", str(output)])
    tasks = {task["task"]: task for task in json.loads(output.read_text())["tasks"]}
    assert set(tasks) == {
        *("dense n=30", "supermodular grid 32x32", "spin glass 10x10", "sparse n=200, degree 3"),
    }
    for task in tasks.values():
        for name, system in task["systems"].items():
            assert (system["proved"] == system["solved"]) == (name != "local_search"), (
                task["task"],
                name,
            )
            assert set(system["microseconds"]) == ({"1"} if name == "PyMaxflow" else {"1", "2"})
    assert tasks["dense n=30"]["goals"] == {"proved in 60 s": True}
    assert tasks["spin glass 10x10"]["goals"] == {"faster than every peer": None}


@pytest.mark.slow
def test_qplib_beside_a_peer_goes_on_where_it_was_stopped(benchmark, tmp_path):
    qplib = benchmark("qplib")
    folder = tmp_path / "problems" / "qplib"
    folder.mkdir(parents=True)
    (folder / "tiny.qplib").write_text(
        "tiny\nQBB\nmaximize\n3\n2\n1 2 -6.0\n2 3 4.0\n1.0\n1\n3 -2.5\n0.5\n"
    )
    about = {
        "file": "tiny.qplib",
        "n": 3,
        "mean_degree": 4 / 3,
        "best_known": 2.0,
        "published_seconds": {"SCIP": 5.0},
    }
    (folder / "index.json").write_text(json.dumps({"instances": {"tiny": about}}))
    called = ["--root", str(tmp_path), "--seconds", "60", "--output", str(tmp_path / "record.json")]
    qplib.main(called)
    qplib.main([*called, "--peers", "^CP-SAT$", "--peer-seconds", "60"])
    row = json.loads((tmp_path / "record.json").read_text())["rows"]["tiny"]
    peer = row["peers"]["CP-SAT"]
    assert row["value"] == row["bound"] == peer["value"] == 1.5  # x1 alone, or x2 in its place
    assert peer["bound"] == pytest.approx(1.5)
    assert row["proved"]
    assert peer["proved"]
    benchmark("qplib", in_a_process=lambda *_: pytest.fail("all of it is known"))
    qplib.main([*called, "--peers", "^CP-SAT$", "--peer-seconds", "60"])
    assert qplib.summary({"tiny": row})[1] == ("SCIP (published)", "1 of 1", "5.0")


@pytest.mark.slow
def test_answers_that_are_held_against_enumeration(benchmark, tmp_path):
    ranked = benchmark("ranked_and_constrained")
    options = ["--instances", "6", "--together", "3", "--output", str(tmp_path / "x.json")]
    assert ranked.main(options) == 0
    assert ranked.main([*options, "--times", "1"]) == 0
    record = json.loads((tmp_path / "x.json").read_text())
    assert {"auto", "elimination"} <= set(record["k_best"])
    assert all(row["ratio"] > 0 for row in record["ten best"]["cpu_ms"].values())
    assert all(row["instances"] == 6 for row in record["constraints"].values())
    problem = ranked.Problem.from_arrays(np.array([[1.0, -1.0]]))
    solution = ranked.solve(problem, k_best=2)
    everything = np.ones(4, bool)
    assert ranked.wrong(problem, solution, everything, 2) == (0, 0)
    assert ranked.wrong(problem, solution, everything & [True, False, True, True], 2) == (1, 0)
    assert ranked.wrong(problem, replace(solution, score=solution.score + 1e-9), everything, 2) == (
        1,
        0,
    )
    assert ranked.wrong(problem, replace(solution, optimal=~solution.optimal), everything, 2) == (
        0,
        1,
    )
    twice = replace(solution, z=solution.z[:, [0, 0]])
    assert ranked.wrong(problem, twice, everything, 2) == (1, 0)


def test_a_false_proof_of_a_peer_is_counted(benchmark):
    """HiGHS 1.14 with its own presolve claims a state of a spin glass that others beat."""
    solvers, tasks, peers = (benchmark(name) for name in ("solvers", "tasks", "peers"))
    drawn = tasks.instances.dense(6, 1, np.random.default_rng(0))
    task = tasks.Task("six", drawn, ("exhaustive",), ("liar",))

    def says_zero(problem, seconds, threads):
        return peers.Answer(np.zeros(problem.n, np.int8), proved=True)

    results = solvers.run(task, [peers.Peer("liar", "numpy", says_zero)], 1, 1.0, 1.0, 1.0)
    assert (results["liar"].proved, results["liar"].refuted) == (0, 1)
    assert any("0/1, 1 false" in line for line in solvers.rows(task, results))


def test_a_false_proof_of_ours_stops_the_benchmark(benchmark):
    solvers, tasks = benchmark("solvers"), benchmark("tasks")
    task = tasks.Task(
        "six", tasks.instances.dense(6, 1, np.random.default_rng(0)), ("exhaustive",), ()
    )
    call = solvers.Ours(task, "exhaustive", 1, 1.0)
    call()
    beaten = replace(
        call, answer=replace(call.answer, z=1 - call.answer.z, score=call.answer.score - 1)
    )
    with pytest.raises(AssertionError, match="says optimal and is beaten"):
        solvers._best_scores([call, beaten], 1)


def test_medians_count_full_rounds_and_stop_at_the_limit(benchmark):
    medians = benchmark("interleaved").medians
    calls = {"quick": 0, "slow": 0}

    def call(name):
        calls[name] += 1

    def wait():
        call("slow")
        time.sleep(0.02)

    times = medians(
        {"quick": lambda: call("quick"), "slow": wait}, rounds=5, warm_up=2, seconds=0.01
    )
    assert calls == {"quick": 7, "slow": 1}
    assert times["slow"] >= 20 > times["quick"]


@pytest.mark.slow
def test_the_library_minds_senses_reports_what_is_missed_and_updates_rows(benchmark, tmp_path):
    folders = {name: tmp_path / "problems" / name for name in ("maxcut", "qubo", "maxflow", "mrf")}
    for folder in folders.values():
        folder.mkdir(parents=True)
        (folder / "index.json").write_text("[]")
    (folders["maxcut"] / "triangle").write_text("3 3\n1 2 1\n2 3 1\n1 3 5\n")
    (folders["qubo"] / "pair").write_text("2 3\n1 1 1\n1 2 -3\n2 2 1\n")
    (folders["maxflow"] / "path.max").write_text("p max 3 2\nn 1 s\nn 3 t\na 1 2 5\na 2 3 3\n")
    rows = {
        "maxcut": {"name": "w05_3", "file": "triangle", "n": 3, "best_known": 6},
        "qubo": {"name": "bqp50-1", "file": "pair", "n": 2, "best_known": -5},
        "maxflow": {"name": "path.max", "file": "path.max", "n": 3, "optimal": 3},
    }
    for name, row in rows.items():
        (folders[name] / "index.json").write_text(json.dumps([row]))
    output = tmp_path / "library.json"
    benchmark("library").main(["--root", str(tmp_path), "--output", str(output)])
    found = json.loads(output.read_text())["collections"]
    values = {name: answer["value"] for name, (answer,) in found.items()}
    assert values == {"qubo, n <= 125": -4, "max-cut: rudy": 6, "maximum flows": 3}
    reached = {name: answer["reached"] for name, (answer,) in found.items()}
    assert reached == {"qubo, n <= 125": False, "max-cut: rudy": True, "maximum flows": True}
    assert found["qubo, n <= 125"][0]["gap"] == pytest.approx(0.2)
    (folders["maxcut"] / "triangle").write_text("3 3\n1 2 1\n2 3 1\n1 3 4\n")
    benchmark("library").main(["--root", str(tmp_path), "--output", str(output), "--only", "w05_3"])
    later = json.loads(output.read_text())["collections"]
    assert [later[name] for name in ("qubo, n <= 125", "maximum flows")] == [
        found[name] for name in ("qubo, n <= 125", "maximum flows")
    ]
    assert [answer["value"] for answer in later["max-cut: rudy"]] == [5]


def test_kernels_beside_those_of_another_checkout(benchmark, tmp_path):
    """The other checkout is this one, so both find the same results."""
    output = tmp_path / "numba.json"
    options = ["--old", str(ROOT), "--only", "n=15, batch 100", "--levels", "4"]
    benchmark("beside_numba").main(
        [*options, "--rounds", "3", "--seconds", "0.01", "--output", str(output)]
    )
    record = json.loads(output.read_text())
    (row,) = record["microseconds"]["4"].values()
    assert 0.2 < row["ratio"] < 5
    assert record["mean_ratio"]["4"] == pytest.approx(row["ratio"])


def test_ratios_of_kernels_are_medians_of_paired_turns(benchmark):
    beside = benchmark("beside_numba")
    row = beside.summary([(1.0, 2.0), (30.0, 10.0), (8.0, 10.0)])
    assert row == {"ours": 8.0, "numba": 10.0, "ratio": 0.8}
    assert beside.mean_ratio({"a": {"ratio": 0.5}, "b": {"ratio": 2.0}}) == pytest.approx(1.0)
    beside.check_agreement({"a": 1.0}, {"a": 1.0 + 1e-12, "b": 3.0})
    with pytest.raises(AssertionError, match="a"):
        beside.check_agreement({"a": 1.0}, {"a": 1.001})


@pytest.mark.slow
def test_auto_beside_every_backend(benchmark, tmp_path):
    regret, families = benchmark("regret"), benchmark("families").FAMILIES
    assert len(families) == 40
    for sizes, draw in families.values():
        problem = draw(sizes[0], np.random.default_rng(0))
        assert problem.batch == 1
        assert problem.e > 0
    output = tmp_path / "regret.json"
    options = ["--seconds", "0.05", "--only", "^tree, normal$|^number", "--sizes", "1"]
    for _ in range(2):  # the second finds both rows
        regret.main([*options, "--output", str(output)])
        rows = json.loads(output.read_text())["rows"]
        assert set(rows) == {"tree, normal, 100", "number partitioning, 25"}
    for row in rows.values():
        assert not regret.missed(row)
        assert row["answers"]["auto"]["proved"]
        assert regret.factor(row) >= 1


def test_regret_is_a_factor_of_time_to_a_proof_or_of_the_gap(benchmark):
    regret = benchmark("regret")

    def answer(seconds, score, bound):
        return {"seconds": seconds, "score": score, "bound": bound, "proved": score == bound}

    def row(answers):
        return {"limit": 10.0, "answers": answers}

    answers = {
        "auto": answer(3.0, 5, 5),
        "quick": answer(1.0, 5, 5),
        "local_search": answer(1.0, 5, 9),
    }
    assert regret.factor(row(answers)) == 3
    assert regret.best(row(answers)) == "quick"
    answers = {
        "auto": answer(3.0, 4, 9),
        "tight": answer(3.0, 5, 6),
        "none": {"refused": "too large"},
    }
    assert regret.factor(row(answers)) == 4
    assert regret.best(row(answers)) == "tight"
    assert regret.missed(row(answers))
    assert regret.factor(row(answers | {"quick": answer(1.0, 5, 5)})) == np.inf
    third = row({"auto": answer(3.0, 5, 5), "cplex": answer(1.0, 5, 5), "slow": answer(4.0, 5, 5)})
    assert (regret.factor(third), regret.factor(third, True)) == (1, 3)
    assert (regret.best(third, False), regret.best(third)) == ("slow", "cplex")
    late = row(
        {"auto": answer(10.0, 5, 7), "tables": answer(13.0, 5, 5), "search": answer(10.0, 5, 6)}
    )
    assert regret.factor(late) == 2
    assert regret.kept({"family, 1": third, "family, 2": third}, True).endswith("0 of 1 families")


@pytest.mark.slow
def test_losses_beside_each_other(benchmark, tmp_path):
    losses = benchmark("losses")
    quick = {
        name: replace(
            losses.METHODS[name], settings=(1.0,), rates=(0.01, 0.03), steps=(0, 25), batch=4
        )
        for name in ("StructuredHinge", "ArgmaxLayer, cost=1 - IoU")
    }
    benchmark("losses", METHODS=quick, HELD_OUT=20)
    output = tmp_path / "losses.json"
    for name in quick:  # the second keeps the row of the first
        losses.main(
            ["--seeds", "0", "1", "--selection", "100", "--output", str(output), "--only", name]
        )
    rows = json.loads(output.read_text())["rows"]
    assert set(rows) == set(quick)
    for row in rows.values():
        assert [tried["iou"] for tried in row["tried"]] == sorted(
            (tried["iou"] for tried in row["tried"]), reverse=True
        )
        assert losses.at_step(row, 25) == losses.ends(row)
        assert losses.milliseconds(row) > 0
    hinge = rows["StructuredHinge"]
    assert min(losses.ends(hinge)) > 0.4 > max(losses.at_step(hinge, 0))


def test_overlap_is_intersection_over_union(benchmark):
    z, truth = (
        torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 0]]),
        torch.tensor([[1.0, 0, 1, 0], [0, 0, 0, 0]]),
    )
    assert benchmark("losses").overlap(z, truth).tolist() == pytest.approx([1 / 3, 0])


DECISIONS = ("shortest_paths", "tours", "terrain", "matchings")


@pytest.fixture
def decisions(benchmark):
    for name in ("of_pyepo", "paths"):
        benchmark(f"decisions.{name}", WITH_PYEPO=False)
    images = torch.rand(50, 784, generator=torch.Generator().manual_seed(0))
    digits = torch.arange(50) % 10
    benchmark("decisions.matchings", digits=lambda: (images, digits))
    return benchmark("decisions.__main__")


def random_tours(count, degree, seed):
    """Data as of `tours.data`, for tests without PyEPO."""
    module = importlib.import_module("benchmarks.decisions.tours")
    task = importlib.import_module("benchmarks.decisions.task")
    draws = torch.Generator().manual_seed(seed)
    costs = 5 * torch.rand(count, 28, generator=draws)
    return task.Data(torch.randn(count, 5, generator=draws), costs, module.TOURS)


def small_record(benchmark, decisions, name, output, *options):
    """Run a task at its smallest, and return its record."""
    small = {"train": 16, "held_out": 4, "epochs": 1, "rates": (0.03,)}
    if name == "tours":
        small["data"] = random_tours
    task = replace(decisions.TASKS[name], **small)
    benchmark("decisions.__main__", TASKS={**decisions.TASKS, name: task})
    degree = str(task.degrees[0])
    decisions.main([name, "--seeds", "0", "--degrees", degree, "--output", str(output), *options])
    return json.loads(output.read_text())


def test_decisions_of_two_methods_are_recorded(benchmark, decisions, tmp_path):
    methods = ["SPO+ through the structure", "ArgmaxLayer, implicit MLE"]
    output = tmp_path / "tours.json"
    record = small_record(benchmark, decisions, "tours", output, "--only", *methods)
    assert record["pyepo"] is None
    assert [row["method"] for row in record["rows"]] == methods
    assert all(row["regret"][0] >= 0 for row in record["rows"])
    assert all(set(row["validation"]) == {"0.03"} for row in record["rows"])


def test_options_choose_the_sizes_the_rates_and_the_degrees_of_decisions(decisions, tmp_path):
    output = tmp_path / "paths.json"
    options = [
        "--train",
        "16",
        "--held-out",
        "4",
        "--epochs",
        "1",
        "--rates",
        "0.03",
        "0.1",
        "--seeds",
        "0",
    ]
    degrees = [str(degree) for degree in decisions.TASKS["shortest_paths"].degrees]
    decisions.main(["shortest_paths", *options, "--only", "least squares", "--output", str(output)])
    record = json.loads(output.read_text())
    assert (record["train"], record["held_out"], record["epochs"]) == (16, 4, 1)
    assert [str(row["degree"]) for row in record["rows"]] == degrees == ["1", "2", "4", "6", "8"]
    assert all(set(row["validation"]) == {"0.03", "0.1"} for row in record["rows"])


@pytest.mark.slow
@pytest.mark.parametrize("name", DECISIONS)
def test_every_method_learns_decisions(benchmark, decisions, name, tmp_path):
    task = decisions.TASKS[name]
    rows = small_record(benchmark, decisions, name, tmp_path / "record.json")["rows"]
    expected = [method for method in decisions.OURS if method not in task.without]
    if name == "matchings":
        expected = [method for method in expected if method not in decisions.SUMS]
    assert [row["method"] for row in rows] == expected
    for row in rows:
        assert row["regret"][0] >= 0
        assert 0 <= row["best_decisions"][0] <= 1


@pytest.mark.slow
def test_shortest_paths_learned(decisions, benchmark):
    training = benchmark("decisions.training")
    task = replace(decisions.TASKS["shortest_paths"], train=200, held_out=50)
    prepared = training.Prepared(task, 2, 0)
    untrained, _ = training.regret(task.network(prepared.training.data), prepared)
    for name, method in decisions.OURS.items():
        net, _ = training.trained(method, 0.05, prepared, epochs=4)
        regret, best = training.regret(net, prepared)
        assert 0 <= regret < 0.8 * untrained, name
        assert best > 0, name


@pytest.mark.slow
def test_every_method_of_pyepo_learns_a_knapsack(benchmark, tmp_path):
    pytest.importorskip("pyepo")
    pytest.importorskip("ortools")
    decisions = benchmark("decisions.__main__")
    small = {"train": 64, "held_out": 16, "epochs": 1, "rates": (0.1,), "without": decisions.OURS}
    task = replace(decisions.TASKS["knapsack"], **small)
    benchmark("decisions.__main__", TASKS={**decisions.TASKS, "knapsack": task})
    output = tmp_path / "knapsack.json"
    decisions.main(["knapsack", "--seeds", "0", "--output", str(output)])
    record = json.loads(output.read_text())
    assert len(record["rows"]) == 10
    assert record["pyepo"]["values_differ_by"] < 1e-5
    assert all(row["regret"][0] >= 0 for row in record["rows"])


def test_the_generator_is_the_formula_of_the_paper(benchmark):
    paths = benchmark("decisions.paths")
    draws = np.random.RandomState(3)
    matrix, x = draws.binomial(1, 0.5, (40, 5)), draws.normal(0, 1, (6, 5))
    expected = [[((row @ b) / 5**0.5 + 3) ** 2 + 1 for b in matrix] for row in x]
    features, costs = paths.by_formula(6, 2, 3)
    np.testing.assert_array_equal(features, x)
    ratio = costs * 3.5**2 / expected
    assert ratio.min() > 0.5
    assert ratio.max() < 1.5


def test_spo_plus_bounds_what_the_decision_costs_too_much(decisions, benchmark):
    task = benchmark("decisions.task")
    paths = benchmark("decisions.paths").PATHS
    values = -paths_costs(20)
    best = paths.argmax(values)
    scores = -torch.rand(20, 40)
    training = task.Training(task.Data(torch.zeros(20, 5), -values, paths), -1.0, 20)
    loss = benchmark("decisions.ours").spo_plus(training)
    batch = task.Batch(torch.arange(20), scores, values, best, torch.Generator())
    too_much = (values * (best - paths.argmax(scores))).sum(dim=1).mean()
    assert loss(batch) >= too_much > 0
    assert abs(loss(replace(batch, scores=values))) < 1e-5


def paths_costs(count):
    paths = importlib.import_module("benchmarks.decisions.paths")
    return torch.from_numpy(paths.by_formula(count, 4, 0)[1]).float()


def test_tours_are_those_of_all_orders_of_nodes(benchmark):
    tours = benchmark("decisions.tours").Tours(5)
    edges = list(combinations(range(5), 2))
    states = set()
    for order in permutations(range(1, 5)):
        nodes = (0, *order, 0)
        used = {tuple(sorted(pair)) for pair in pairwise(nodes)}
        states.add(tuple(float(edge in used) for edge in edges))
    assert len(states) == 12
    listed = torch.tensor(sorted(states))
    scores = torch.randn(4, 10, generator=torch.Generator().manual_seed(0))
    values = scores @ listed.T
    assert torch.equal(tours.argmax(scores), listed[values.argmax(dim=1)])
    sums = tours.gibbs(scores)
    torch.testing.assert_close(sums.log_partition, values.logsumexp(dim=1))
    torch.testing.assert_close(sums.marginals, values.softmax(dim=1) @ listed)


def test_matchings_of_the_grid_pair_every_cell_at_the_least_cost(benchmark):
    module = benchmark("decisions.matchings")
    edges = [tuple(pair) for pair in module.EDGES.tolist()]
    matchings = [[]]
    for cell in range(16):
        matchings = [
            extended
            for matching in matchings
            for extended in (
                [matching]
                if any(cell in edge for edge in matching)
                else [[*matching, edge] for edge in edges if edge[0] == cell]
            )
            if len({used for edge in extended for used in edge}) == 2 * len(extended)
        ]
    assert len(matchings) == 36
    states = torch.tensor([[float(edge in matching) for edge in edges] for matching in matchings])
    scores = torch.randn(5, 24, generator=torch.Generator().manual_seed(0))
    best = (scores @ states.T).amax(dim=1)
    z = module.GridMatchings().argmax(scores)
    assert {tuple(row) for row in z.tolist()} <= {tuple(row) for row in states.tolist()}
    torch.testing.assert_close((scores * z).sum(dim=1), best)


def test_routing_weights_are_the_softmax_of_the_top_two(benchmark):
    experts = benchmark("experts")
    usual, ours = (
        experts.one(experts.METHODS[name], 0.02, seed=0, steps=20)["error"]
        for name in ("softmax of the top two, torch", "routing weights")
    )
    assert usual == pytest.approx(ours, rel=1e-5)


def test_every_gate_gives_two_experts_all_the_weight(benchmark, tmp_path):
    experts = benchmark("experts", TEST=64, RATES=(0.02,))
    output = tmp_path / "experts.json"
    experts.main(["--steps", "2", "--seeds", "0", "--output", str(output)])
    rows = json.loads(output.read_text())["rows"]
    assert [row["method"] for row in rows] == list(experts.METHODS)
    assert all(row["error"][0] > 0 for row in rows)
    scores = torch.randn(16, 8)
    for name, make in experts.METHODS.items():
        weights = make()(scores, torch.Generator().manual_seed(0))
        assert ((weights > 0).sum(dim=1) == 2).all(), name
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(16))


def test_pixel_subsets(benchmark, tmp_path):
    draws = np.random.default_rng(0)
    x, y = (
        torch.from_numpy(draws.random((300, 400))).float(),
        torch.from_numpy(draws.integers(0, 10, 300)),
    )
    splits = dict.fromkeys(("train", "validation", "test"), (x, y))
    subsets = benchmark("pixel_subsets", images=lambda: splits)
    output = tmp_path / "pixels.json"
    options = ["--sizes", "10", "--epochs", "1", "--outsider_epochs", "1", "--output", str(output)]
    for name in ("random pixels", "implicit MLE"):  # the second keeps the row of the first
        subsets.main([*options, "--only", name])
    rows = json.loads(output.read_text())["rows"]
    assert [row["method"] for row in rows] == ["random pixels", "implicit MLE"]
    for row in rows:
        assert 0 <= row["accuracy"][0] <= 1
        assert [len(pixels) for pixels in row["pixels"]] == [10] * subsets.SHOWN


def test_relaxed_masks_show_at_most_k_pixels_and_have_a_gradient(benchmark):
    subsets, scores = benchmark("pixel_subsets"), torch.randn(4, 30).requires_grad_()
    mask = subsets.METHODS["L2X, relaxed"](5)
    z = mask(scores, torch.Generator().manual_seed(0))
    assert (z.sum(dim=1) <= 5 + 1e-4).all()
    (z * torch.arange(30.0)).sum().backward()
    assert scores.grad.any(dim=1).all()
    assert torch.equal(mask(scores.detach(), None), subsets.KOfN(5).argmax(scores.detach()))


def test_masks_have_k_ones_and_a_gradient(benchmark):
    subsets = benchmark("pixel_subsets")
    scores = torch.randn(4, 30, generator=torch.Generator().manual_seed(0))
    for name in ("straight-through", "implicit MLE", "exact sample and marginals"):
        mask, learnt = subsets.METHODS[name](5), scores.clone().requires_grad_()
        z = mask(learnt, torch.Generator().manual_seed(0))
        torch.testing.assert_close(z.sum(dim=1), torch.full((4,), 5.0))
        (z * torch.arange(30.0)).sum().backward()
        assert learnt.grad.any(dim=1).all()
        assert torch.equal(mask(scores, None).sum(dim=1), torch.full((4,), 5.0))


@pytest.mark.slow
def test_each_pair_has_the_settings_that_are_best_on_validation_images(benchmark, tmp_path):
    small = {
        "fully connected": lambda encoder, n: paper_vae(encoder, pixels=16, n=3, hidden=4),
        "convolutional": lambda encoder, n: convolutional_vae(
            encoder, size=(1, 4, 4), n=3, channels=2, hidden=4
        ),
    }
    convolutional = benchmark("convolutional", PAIRS=small)
    images = np.random.default_rng(0).integers(0, 256, (40, 4, 4), np.uint8)
    arrays = {"train": images[:20], "validation": images[20:30], "test": images[30:]}
    np.savez(tmp_path / "images.npz", **{f"{name}_images": each for name, each in arrays.items()})
    options = [
        "--data",
        str(tmp_path / "images.npz"),
        "--epochs",
        "2",
        "--seeds",
        "2",
        "--kl-starts",
        "1",
        "20",
    ]
    convolutional.main(
        [*options, "--rates", "0.01", "1e-9", "--output", str(tmp_path / "pairs.json")]
    )
    record = json.loads((tmp_path / "pairs.json").read_text())
    for pair in small:
        bounds = {
            (row["learning_rate"], row["kl_start"]): row["validation_bound"]
            for row in record["tried"]
            if row["pair"] == pair
        }
        runs = [row for row in record["runs"] if row["pair"] == pair]
        assert len(bounds) == 4
        assert {(row["learning_rate"], row["kl_start"]) for row in runs} == {
            min(bounds, key=bounds.get)
        }
        assert [row["seed"] for row in runs] == [0, 1]
        assert runs[0]["validation_bound"] == min(bounds.values())
        assert all(row["minus_log_p"] < row["bound"] for row in runs)


@pytest.mark.slow
def test_the_benchmark_of_estimators_counts_decodes_and_argmaxes(benchmark, tmp_path):
    output = tmp_path / "which.json"
    names = ["direct", "exact", "score_function", "implicit_mle", "rebar"]
    options = [
        "--epochs",
        "1",
        "--rates",
        "0.001",
        "--images",
        "2",
        "--draws",
        "200",
        "--encoders",
        "general",
    ]
    benchmark("which_estimator").main([*options, "--only", *names, "--output", str(output)])
    rows = {row["estimator"]: row for row in json.loads(output.read_text())["rows"]}
    assert list(rows) == names[:4]  # rebar is for independent bits
    counts = {
        name: [row[key] for key in ("decodes", "shared_decodes", "argmaxes")]
        for name, row in rows.items()
    }
    assert counts == {
        "direct": [12, 0, 2],
        "exact": [0, 1024, 0],
        "score_function": [4, 0, 0],
        "implicit_mle": [1, 0, 2],
    }
    assert rows["exact"]["bias"] < 1e-4
    assert rows["score_function"]["noise"] > rows["exact"]["noise"]
    assert all(row["minus_log_p"] < row["bound"] for row in rows.values())
    again = json.loads(output.read_text())
    for draws, left in ((200, names[:3]), (100, [])):
        settings = {name: again[name] for name in ("epochs", "images", "n")} | {"draws": draws}
        rows = benchmark("which_estimator").kept(output, settings, names[3:])
        assert [row["estimator"] for row in rows] == left


def test_every_estimator_costs_the_decodes_and_argmaxes_that_the_page_says(benchmark):
    module = benchmark("which_estimator")
    table, expected = (
        (0, 2**10, 0),
        {"direct": (12, 0, 2), "ram": (11, 0, 0), "score_function": (4, 0, 0)},
    )
    expected |= dict.fromkeys(("table_direct", "exact", "maximum_likelihood"), table)
    expected |= {
        "implicit_mle": (1, 0, 2),
        "adaptive_implicit_mle": (1, 0, 2),
        "perturbed_argmax": (1, 0, 8),
        **dict.fromkeys(("stochastic_softmax", "stochastic_straight_through"), (1, 0, 1)),
        module.TWO_SIDED: (12, 0, 3),
    }
    expected |= {"nvil": (1, 0, 0), "unordered_set": (4, 0, 0)}
    expected |= dict.fromkeys(("muprop", "double_cv", "rodeo"), (2, 0, 0))
    one_decode = ("gumbel_softmax", "straight_through", "gumbel_rao", "gapped_straight_through")
    alone = dict.fromkeys((*one_decode, "reinmax", "reinmax_rao", "reinmax_cv"), (1, 0, 0))
    alone |= {"arms": (4, 0, 0)}
    weighted = ("vimco", "ovis", "wake_wake", "wake_sleep", "reweighted_wake_sleep")
    expected |= dict.fromkeys(weighted, (5, 0, 0))
    alone |= dict.fromkeys(("rebar", "relax"), (3, 0, 0)) | dict.fromkeys(
        ("arm", "disarm"), (2, 0, 0)
    )
    alone["local_disarm"] = (10, 0, 0)
    for encoder, counts in (("independent", expected | alone), ("general", expected)):
        configs = {name: module.configured(name, encoder, 1) for name in module.NAMES}
        fits = {name: config for name, config in configs.items() if module.made(config)}
        found = {name: tuple(module.counted(config).values()) for name, config in fits.items()}
        decodes, shared, argmaxes = found.pop("sparse_map")
        assert 1 <= decodes <= argmaxes <= 100
        assert shared == 0
        assert found == counts


@pytest.mark.slow
def test_the_benchmark_of_learnt_priors(benchmark, tmp_path):
    output = tmp_path / "priors.json"
    small = ["--data", "fashion-mnist-mini", "--epochs", "1", "--n", "4"]
    benchmark("learnt_prior").main([*small, "--output", str(output)])
    runs = {row["prior"]: row for row in json.loads(output.read_text())["runs"]}
    assert list(runs) == ["uniform", "factorised", "gibbs"]
    assert all(row["minus_log_p"] < row["bound"] for row in runs.values())
    assert len({row["bound"] for row in runs.values()}) == 3


@pytest.mark.slow
def test_the_benchmark_of_the_bare_loop(benchmark, tmp_path):
    output = tmp_path / "loop.json"
    benchmark("bare_loop").main(["--epochs", "1", "--rounds", "1", "--output", str(output)])
    record = json.loads(output.read_text())
    assert record["steps"] == 50
    assert record["ratio"]["loop"] == 1
    assert record["ratio"]["train, one evaluation"] > 1


@pytest.mark.slow
def test_the_benchmark_beside_other_packages_runs_without_them(benchmark, tmp_path):
    module, output = benchmark("side_by_side", find_spec=lambda name: None), tmp_path / "side.json"
    module.main(["--tasks", "vae", "--vae-epochs", "1", "--seeds", "0", "--output", str(output)])
    record = json.loads(output.read_text())
    gaussian, bits = record["vae"]
    assert gaussian["minus_log_p"][0] < gaussian["bound"][0] < 350
    assert bits["bound"][0] < 350
    assert record["peers"].keys() == {"pythae", "torch-imle"}


def test_calls_beside_packages_that_are_not_installed_have_no_row(benchmark):
    module = benchmark("calls_beside_peers", find_spec=lambda name: None)
    assert list(module.call_rows(rounds=1)) == []
    assert {call.item for call in module.CALLS} == {1, 2, 3, 4, 7}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of other packages
def test_calls_beside_other_packages_return_the_same_values(benchmark):
    pytest.importorskip("torchcrf")
    rows = list(benchmark("calls_beside_peers").call_rows(rounds=1))
    assert rows
    for row in rows:
        assert row["ours"] > 0
        assert ("refused" in row) != ("theirs" in row)


@pytest.mark.filterwarnings("ignore")  # what pythae's own code warns of is not ours
def test_networks_of_pythae_are_judged_by_the_same_evaluation(benchmark):
    pytest.importorskip("pythae")
    module = benchmark("side_by_side")
    theirs, mine = module.of_pythae(1, 0), module.ours(1, 0, encoder="gaussian")
    assert theirs["bound"] == pytest.approx(mine["bound"], abs=10)


@pytest.mark.filterwarnings("ignore:'saved_variables' is deprecated")
def test_torch_imle_chooses_pixels_and_has_a_gradient(benchmark):
    pytest.importorskip("imle.wrapper")
    scores = torch.randn((3, 400), generator=torch.Generator().manual_seed(0)).requires_grad_()
    z = benchmark("side_by_side").of_imle(100.0)(scores, torch.Generator())
    assert z.sum(dim=-1).tolist() == [20, 20, 20]
    (z * torch.arange(400.0)).sum().backward()
    assert scores.grad.any()


def test_chunks_are_counted_as_by_conlleval(benchmark):
    chunking = benchmark("chunking")
    tags = ["B-NP", "I-NP", "O", "I-VP", "B-NP", "B-NP", "I-PP"]
    chunks = {(0, 2, "NP"), (3, 4, "VP"), (4, 5, "NP"), (5, 6, "NP"), (6, 7, "PP")}
    assert chunking.chunks_of(tags) == chunks
    assert (
        chunking.f1([tags, ["O"]], [["B-NP", "I-NP", "O", "O", "B-NP", "I-NP", "I-NP"], ["B-NP"]])
        == 100 * 2 / 8
    )
    names = chunking.attributes([["He", "PRP", "B-NP"], ["ran", "VBD", "B-VP"]])
    assert [len(token) for token in names] == [19, 19]
    assert {"w(0,):He", "w(-1, 0):_B-1/He", "p(0, 1, 2):PRP/VBD/_B+1"} <= {*names[0]}


def test_a_snake_is_a_grid_of_neighbourhoods(benchmark):
    image = np.full((2, 3, 3), [0, 0, 255], np.uint8)
    image[1, 2] = [255, 0, 0]
    features, edges, of_pairs = benchmark("structured_data")._graph_of(image)
    assert edges.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    around = features.reshape(6, 5, 9)
    assert (around.sum(axis=1) == 1).all()
    assert around[1].argmax(axis=0).tolist() == [3, 3, 3, 3, 3, 3, 3, 3, 0]
    assert around[5].argmax(axis=0).tolist() == [3, 3, 3, 3, 0, 3, 3, 3, 3]
    parts = of_pairs.reshape(7, 4, 45)
    assert np.array_equal(parts[3, :2], features[[4, 5]])
    assert np.array_equal(parts[6, 2:], features[[2, 5]])
    assert not parts[:4, 2:].any()
    assert not parts[4:, :2].any()


def test_a_stereo_row_has_energy_bound_and_errors(benchmark):
    stereo = benchmark("stereo")
    problem = stereo.LabelProblem.from_arrays(
        np.eye(6, 3)[[0, 0, 1, 1, 2, 2]], potts=0.1, edges=stereo.grid_edges(2, 3)
    )
    disparity = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, np.nan]])
    task = stereo.Task(problem, 7.0, disparity)
    found = stereo.row(task, "dual_ascent", 60.0)
    assert found["optimal"]
    assert found["energy"] == pytest.approx(7.0 - float(problem.score([0, 0, 1, 1, 2, 2])))
    assert found["energy"] >= found["bound"]
    assert task.wrong(np.array([0, 0, 1, 1, 2, 2])) == pytest.approx(1 / 5)
    assert stereo.applicable(problem)


@pytest.mark.slow
def test_two_hundred_bits_are_trained_evaluated_and_not_run_again(benchmark, tmp_path):
    output, only = tmp_path / "bits.json", "1 flip|3 completions"
    options = [
        "--data",
        "fashion-mnist-mini",
        "--seeds",
        "0",
        "--runs",
        str(tmp_path),
        "--output",
        str(output),
    ]
    benchmark("two_hundred_bits").main([*options, "--steps", "200", "--only", only, "--train"])
    assert not output.exists()
    seconds = 0.0
    # evaluated, as it is, longer, as it is
    for steps, epochs in ((200, 2), (200, 2), (300, 3), (200, 3)):
        benchmark("two_hundred_bits").main([*options, "--steps", str(steps), "--only", only])
        rows = json.loads(output.read_text())["runs"]
        names = [
            "direct, one side, 1 flip",
            "direct, two sides, 1 flip",
            "RAM, chain, 3 completions",
        ]
        assert [row["estimator"] for row in rows] == names
        for row in rows:
            assert row["bound_is"] == "bound"
            assert row["kl_is"] == "exact"
            assert row["minus_log_p"] < row["bound"] < 500
            assert len(row["curves"]["gradient/variance"]) == row["epochs"] == epochs
        assert rows[0]["seconds"] >= seconds
        seconds = rows[0]["seconds"]
    one, two, chain = (row["curves"]["gradient/variance"][-1] for row in rows)
    assert max(two, chain) < one


def test_rows_that_are_not_made_again_are_kept(benchmark, tmp_path):
    output, settings = tmp_path / "which.json", {"epochs": 5, "rates": [0.001]}
    rows = [
        {"encoder": encoder, "estimator": name}
        for encoder in ("independent", "general")
        for name in ("ram", "arm")
    ]
    output.write_text(json.dumps({**settings, "rows": rows}))
    kept = benchmark("which_estimator").kept
    assert kept(output, settings, ["general"], ["ram"]) == [rows[0], rows[1], rows[3]]
    assert kept(output, {**settings, "rates": [0.003]}, ["general"], ["ram"]) == []


def test_settings_beside_the_defaults_are_what_they_are_called(benchmark, tmp_path):
    defaults = benchmark("defaults")
    for size, setting in product(defaults.SIZES, defaults.SETTINGS):
        config = defaults.configured(size, 8, setting)
        assert (config.kl_start > 1) == ("annealed" in setting) == (config.kl_warmup == 2)
        assert (config.sides == 2) == ("two sides" in setting)
        assert (config.recipe == "paper") == ("paper" in setting or "no KL" in setting)
    path = tmp_path / "defaults.json"
    for _ in range(2):  # the second time there is nothing to do
        defaults.main(
            ["--sizes", "8 bits", "--epochs", "1", "--settings", "two sides", "--output", str(path)]
        )
    (row,) = json.loads(path.read_text())["rows"]
    assert (row["size"], row["epochs"], row["setting"], row["seed"]) == (
        "8 bits",
        1,
        "two sides",
        0,
    )
    assert 200 < row["bound"] < 400


@pytest.mark.slow
def test_settings_of_cells_are_tried_as_their_names_say_and_one_is_that_of_the_cell(benchmark):
    settings = benchmark("cell_settings")
    for cell, choice in settings.CHOICES.items():
        experiment, _, name = cell.partition("/")
        (found,) = Experiment.named(experiment).cells(only=f"^{name}$")
        tried = {setting: settings.configured(cell, setting) for setting in choice.settings}
        for setting, config in tried.items():
            assert (
                (config.kl_warmup > 0) == (config.kl_start > 0) == ("not annealed" not in setting)
            )
            assert config.epochs == choice.epochs
        own = [
            setting
            for setting, config in tried.items()
            if replace(config, epochs=found.config.epochs, kl_warmup=found.config.kl_warmup)
            == found.config
        ]
        assert len(own) == 1, cell


def test_settings_that_defaults_are_chosen_from_differ_where_nothing_is_said(benchmark):
    defaults = benchmark("defaults")
    for size, epochs in product(defaults.SIZES, (10, 30, 100)):
        chosen = [defaults.configured(size, epochs, name).to_dict() for name in defaults.SETTINGS]
        assert all(one not in chosen[:place] for place, one in enumerate(chosen)), (size, epochs)


def test_the_defaults_are_the_best_of_the_record_or_level_with_them(benchmark):
    defaults = benchmark("defaults")
    rows = json.loads((ROOT / "results" / "defaults.json").read_text())["rows"]
    found = {}
    for row in rows:
        found.setdefault((row["size"], row["epochs"], row["setting"]), []).append(row["bound"])
    deviations = {}
    # Of the seeds of that code and length, else of all.
    for size, epochs in product(defaults.SIZES, (10, 30, 100)):
        seeds = [
            bounds for key, bounds in found.items() if len(bounds) > 1 and key[:2] == (size, epochs)
        ]
        seeds = seeds or [bounds for bounds in found.values() if len(bounds) > 1]
        squares = sum(np.var(bounds, ddof=1) * (len(bounds) - 1) for bounds in seeds)
        deviations[size, epochs] = np.sqrt(squares / sum(len(bounds) - 1 for bounds in seeds))
    for size, epochs in product(defaults.SIZES, (10, 30, 100)):
        best = {
            setting: found[size, epochs, setting]
            for setting in defaults.SETTINGS
            if (size, epochs, setting) in found
        }
        of_itself = TrainConfig(**defaults.SIZES[size], epochs=epochs)
        (own,) = (
            best[name] for name in best if defaults.configured(size, epochs, name) == of_itself
        )
        for name, bounds in best.items():
            spread = deviations[size, epochs] * np.sqrt(1 / len(own) + 1 / len(bounds))
            assert np.mean(own) - np.mean(bounds) < 2 * spread, (size, epochs, name)


@pytest.mark.slow
def test_peers_of_fifteen_bits_are_called_by_themselves_and_agree(benchmark, tmp_path):
    fifteen = benchmark("fifteen_bits", BATCH=3, SLOW_BATCH=2, TURN_SECONDS=0.0)
    output = tmp_path / "x.json"
    fifteen.main(["--rounds", "1", "--slow_rounds", "1", "--output", str(output)])
    times = json.loads(output.read_text())["cpu_us_an_instance"]
    assert {"max_flow, the batch", "PyMaxflow, the batch as one graph"} <= set(
        times["supermodular"]
    )
    assert {"max_flow, one at a time", "PyMaxflow, one at a time"} <= set(times["supermodular"])
    assert {"CPLEX", "CPLEX through docplex", "here, cplex"} <= set(times["general, beside others"])


def test_a_peer_that_is_wrong_stops_the_benchmark_of_fifteen_bits(benchmark):
    fifteen = benchmark("fifteen_bits")
    drawn = fifteen.instances.dense(15, 2, np.random.default_rng(0))
    ways = fifteen.ours(drawn, "exhaustive") | {"liar": lambda: np.zeros((2, 15), np.int8)}
    with pytest.raises(AssertionError, match="liar"):
        fifteen._timed(drawn, ways, 1)


@pytest.mark.parametrize("name", ["CPLEX", "CP-SAT", "HiGHS", "toulbar2", "PyMaxflow"])
def test_peers_find_the_maximum_of_sparse_and_dense_instances(benchmark, name):
    peers, tasks = benchmark("peers"), benchmark("tasks")
    if not peers.PEERS[name].installed:
        pytest.skip(f"{name} is not installed")
    draws = [tasks.instances.supermodular(6, 1, np.random.default_rng(1))]
    if name != "PyMaxflow":
        draws += [tasks.instances.dense(6, 1, np.random.default_rng(seed)) for seed in (2, 3)]
        draws.append(tasks.instances.grid(2, 3, 1, np.random.default_rng(4)))
    for drawn in draws:
        problem = drawn.problem()
        answer = peers.PEERS[name].solve(problem, 60.0, 1)
        states = np.array(list(product((0, 1), repeat=6)), np.int8)
        best = max(float(problem.score_flat(state[None])[0]) for state in states)
        assert float(problem.score_flat(answer.z[None])[0]) == pytest.approx(best, abs=1e-5)
        assert answer.proved
        assert answer.bound >= best - 1e-5
    # A timer that a peer leaves running would end the process of later tests.
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


def test_a_turn_that_is_measured_as_a_whole_counts_as_one_call(benchmark):
    medians = benchmark("interleaved").medians
    ticks = iter(range(1000))
    times = medians(
        {"quick": lambda: None}, 3, 0, turn_seconds=4.0, clock=lambda: next(ticks), whole_turns=True
    )
    assert times == {"quick": 1000.0}


def test_the_time_of_a_call_does_not_grow_with_the_number_of_calls(benchmark):
    medians = benchmark("interleaved").medians
    clock = time.process_time
    contender = {"quick": lambda: None}
    short, long = (
        medians(contender, 5, turn_seconds=seconds, clock=clock, whole_turns=True)["quick"]
        for seconds in (0.0002, 0.02)
    )
    assert long < 3 * short
