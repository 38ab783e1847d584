import csv
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import dataclass
from functools import partial
from io import BytesIO, StringIO, TextIOWrapper
from itertools import pairwise, product
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import torch
import yaml
from few_images import reading
from rich.console import Console
from training_hooks import add_to_trainers, at_call

from solvers import (
    ArgmaxSolver,
    Capabilities,
    Maximiser,
    Problem,
    SolveFailedError,
    SolveInterrupted,
    available_solvers,
    solve,
    solver_class,
)
from solvers.conversions import Conversion
from solvers.instances import dense
from solvers.limits.interrupts import interrupts
from structured_vae import TrainConfig, evaluate_run
from structured_vae.cli import main
from structured_vae.cli.evaluate import evaluation_table
from structured_vae.cli.gradients import gradient_table
from structured_vae.cli.solve.chunks import left_behind, solve_in_chunks
from structured_vae.cli.solve.command import FileSolver, solution_table
from structured_vae.runs import Run

COMMANDS = {
    "train": [
        *(
            "--config",
            "--run",
            "--encoder",
            "--solver",
            "--recipe",
            "--n",
            "--hidden",
            "--data.name",
        ),
        *(
            "--data.root",
            "--data.binarisation",
            "--epsilon.start",
            "--epsilon.rate",
            "--epsilon.floor",
        ),
        *(
            "--epsilon.every",
            "--learning_rate",
            "--rate_decay",
            "--dropout",
            "--epochs",
            "--seed",
            "--picture_every",
            "--device",
        ),
    ],
    "resume": ["RUN", "--epochs"],
    "evaluate": ["RUN", "--split", "--checkpoint", "--samples", "--refine"],
    "export": ["RUN", "FOLDER", "--checkpoint", "--license"],
    "explore": ["FOLDER", "--address", "--port"],
    "solve": ["FILE", "--solver", "--time_limit", "--threads", "--output"],
    "solvers": [],
}
SMALL = ["--n", "3", "--hidden", "4", "--epochs", "1"]
tiny = pytest.mark.usefixtures("on_tiny_images")


@pytest.fixture(autouse=True)
def elsewhere(in_empty_folder, set_columns):
    """Commands run in an empty folder, on a terminal that is wide enough for every message."""
    set_columns(200)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny_images):
    """Train the small model once."""
    folder = tmp_path_factory.mktemp("trained") / "mine"
    with reading(tiny_images):
        main(["train", "--run", str(folder), *SMALL])
    return folder


@pytest.fixture
def small_run(trained, elsewhere):
    """Copy the run of the small model into the current folder, as `mine`."""
    shutil.copytree(trained, "mine")


@pytest.fixture
def cli(capsys):
    """Runs a command in this process: exit status, standard output, standard error."""

    def run(*arguments):
        try:
            main([str(argument) for argument in arguments])
            status = 0
        except SystemExit as exit_:
            status = exit_.code
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


def files():
    return sorted(str(path) for path in Path().rglob("*") if path.is_file())


def assert_refused(answer, *words):
    """Exit status 2, a message with these words on standard error, and nothing printed beside."""
    status, out, err = answer
    assert status == 2, err
    assert out == ""
    assert "Traceback" not in err
    assert "error: " in err
    for word in words:
        assert word in err


# --- help ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_mentions_every_option(cli, command):
    status, out, _ = cli(command, "--help")
    assert status == 0
    assert f"structured-vae {command}" in out
    assert [option for option in COMMANDS[command] if option not in out] == []


def test_help_mentions_every_command(cli):
    status, out, _ = cli("--help")
    assert status == 0
    assert [command for command in COMMANDS if command not in out] == []


@pytest.mark.parametrize("arguments", [[], ["trian"], ["resume"], ["evaluate"], ["solve"]], ids=str)
def test_incomplete_commands(cli, arguments):
    assert_refused(cli(*arguments))


# --- train, resume, evaluate --------------------------------------------------------------------


@tiny
def test_train_leaves_a_run_and_says_so(cli):
    status, out, _ = cli("train", "--run", "mine", *SMALL, "--encoder", "supermodular", "--seed", 7)
    assert status == 0
    assert {"mine/config.yaml", "mine/metrics.csv", "mine/record.json"} <= set(files())
    assert [
        file for file in files() if file not in out and not Path(file).name.startswith(".")
    ] == []
    assert "evaluate it: structured-vae evaluate mine" in out
    expected = TrainConfig(encoder="supermodular", n=3, hidden=4, epochs=1, seed=7)
    assert Run(Path("mine")).config() == expected


@tiny
def test_train_names_the_run_after_its_settings(cli):
    assert cli("train", *SMALL, "--encoder", "independent", "--recipe", "elbo", "--seed", 4)[0] == 0
    assert [path.name for path in Path("runs").iterdir()] == [
        "fashion-mnist-mini-independent3-direct-auto-elbo-seed4"
    ]


@tiny
@pytest.mark.usefixtures("small_run")
def test_resume_trains_the_epochs_that_are_missing(cli):
    status, out, _ = cli("resume", "mine", "--epochs", 3)
    assert status == 0
    assert "mine/checkpoints/last.ckpt" in out
    record = json.loads(Path("mine/record.json").read_text())
    assert [row["epoch"] for row in record["epochs"]] == [1, 2, 3]


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_evaluate_writes_the_numbers_that_it_computes(cli, split):
    cli("train", "--run", "mine", *SMALL, "--encoder", "independent")
    status, out, _ = cli(
        "evaluate", "mine", "--split", split, "--checkpoint", "last", "--samples", 2
    )
    file = f"mine/evaluation-{split}-last.json"
    assert status == 0
    assert f"written: {file}" in out
    written = json.loads(Path(file).read_text())
    assert written == evaluate_run("mine", split, "last", samples=2).to_dict()
    assert written["images"] == {"train": 300, "validation": 100, "test": 100}[split]
    for name in ("bound", "reconstruction", "minus_log_p"):
        assert f"{written['quantities'][name]['value']:.3f}" in out


@tiny
@pytest.mark.usefixtures("small_run")
@pytest.mark.parametrize(("which", "other"), [("best", "last"), ("last", "best")])
def test_evaluate_reads_the_checkpoint_that_is_asked_for(cli, which, other):
    Path(f"mine/checkpoints/{other}.ckpt").unlink()
    assert cli("evaluate", "mine", "--checkpoint", which)[0] == 0
    assert_refused(cli("evaluate", "mine", "--checkpoint", other), f"{other}.ckpt does not exist")


@tiny
@pytest.mark.usefixtures("small_run")
def test_evaluate_draws_as_many_samples_as_asked(cli, monkeypatch):
    draws = []
    monkeypatch.setattr(
        "structured_vae.spaces.space.gumbel_differences",
        lambda like, noise: draws.append(len(like)) or like,
    )
    for samples in (1, 4):
        draws.clear()
        cli("evaluate", "mine", "--samples", samples)
        assert draws == [samples]


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize(("encoder", "bound"), [("independent", True), ("general", False)])
def test_evaluate_says_which_sum_is_a_bound(cli, encoder, bound):
    cli("train", "--run", "mine", *SMALL, "--encoder", encoder)
    status, out, err = cli("evaluate", "mine")
    assert status == 0, err
    assert ("not a bound" in out) == (not bound)
    assert ("histogram" in out) == ("gibbs_bound" in out) == (not bound)


@tiny
def test_evaluate_shows_and_writes_importance_weighted_bounds(cli):
    cli("train", "--run", "mine", *SMALL, "--encoder", "independent")
    status, out, _ = cli("evaluate", "mine", "--samples", 3, "--importance", 1, 4)
    assert status == 0
    assert "importance_1 " in out
    assert "importance_4 " in out
    written = json.loads(Path("mine/evaluation-test-best.json").read_text())["quantities"]
    bounds = [written[name] for name in ("importance_1", "importance_4")]
    assert [bound["kind"] for bound in bounds] == ["bound", "bound"]
    assert all(bound["standard_error"] > 0 for bound in bounds)
    assert_refused(
        cli("evaluate", "mine", "--importance", 0), "importance must be at least 1; got 0"
    )
    cli("train", "--run", "mixture", "--model", "mixture", "--k", 3, "--epochs", 1)
    status, out, _ = cli("evaluate", "mixture", "--samples", 2, "--importance", 1, 4)
    assert status == 0
    assert "importance_4 " in out
    cli("train", "--run", "codes", "--model", "quantised", "--n", 3, "--epochs", 1)
    refused = cli("evaluate", "codes", "--importance", 4)
    assert_refused(refused, "its posterior is one code for each image")


@tiny
@pytest.mark.usefixtures("small_run")
def test_evaluate_again_gives_the_same_numbers(cli):
    cli("evaluate", "mine")
    first = Path("mine/evaluation-test-best.json").read_text()
    cli("evaluate", "mine")
    assert Path("mine/evaluation-test-best.json").read_text() == first


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("folder", ["with [brackets]", "closing[/tag]", "smile :smile:"])
def test_a_folder_is_printed_as_it_is(cli, folder):
    status, out, err = cli("train", "--run", folder, *SMALL)
    assert (status, err) == (0, "")
    assert f"structured-vae evaluate {shlex.quote(folder)}" in out
    status, out, err = cli("evaluate", folder)
    assert (status, err) == (0, "")
    assert f"written: {folder}/evaluation-test-best.json" in out


@pytest.mark.spread(4)
@tiny
@pytest.mark.usefixtures("small_run")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["train", "--run", "mine", *SMALL],
            ["mine already holds a run", "structured-vae resume mine"],
        ),
        (["resume", "mine"], ["trained all of its 1 epochs"]),
        (["resume", "mine", "--epochs", 0], ["epochs must be at least 1; got 0"]),
        (["resume", "mine", "--epochs", "many"], ["epochs"]),
        (["evaluate", "mine", "--samples", 0], ["samples must be at least 1; got 0"]),
        (["evaluate", "mine", "--split", "tset"], ["tset", "validation"]),
        (["evaluate", "mine", "--checkpoint", "first"], ["first", "best"]),
        (["evaluate", "nowhere"], ["nowhere is not a run folder"]),
        (["resume", "nowhere"], ["nowhere is not a run folder"]),
        (["evaluate", "mine/config.yaml"], ["is not a run folder"]),
        (["resume", "mine/config.yaml"], ["is not a run folder"]),
    ],
    ids=lambda part: " ".join(map(str, part)),
)
def test_a_run_is_not_touched_by_what_is_refused(cli, arguments, words):
    before = {file: Path(file).read_bytes() for file in files()}
    assert_refused(cli(*arguments), *words)
    assert {file: Path(file).read_bytes() for file in files()} == before


BAD_TRAINING = {
    "no epochs": (["--epochs", 0], ["epochs must be at least 1; got 0"]),
    "no variables": (["--n", 0], ["n must be at least 1; got 0"]),
    "no hidden units": (["--hidden", 0], ["hidden must be at least 1; got 0"]),
    "no images a step": (["--data.batch_size", 0], ["data.batch_size must be at least 1; got 0"]),
    "a seed below zero": (["--seed", -1], ["seed must be at least 0; got -1"]),
    "no learning": (["--learning_rate", 0], ["learning_rate must be positive and finite; got 0"]),
    "learning as NaN": (["--learning_rate", "nan"], ["learning_rate"]),
    "floor above start": (["--epsilon.floor", 2], ["0 < floor <= start", "floor=2"]),
    "rising epsilon": (["--epsilon.rate", -1], ["rate >= 0"]),
    "words for numbers": (["--n", "four"], ["error: n must be a whole number; got four"]),
    "fractions for counts": (["--epochs", 1.5], ["error: epochs must be a whole number; got 1.5"]),
    "binarisation": (["--data.binarisation", "treshold"], ["Did you mean 'threshold'"]),
    "dataset": (["--data.name", "fashion-mnist-midi"], ["Did you mean 'fashion-mnist-mini'"]),
    "data folder": (
        ["--data.name", "mnist", "--data.root", "nowhere"],
        ["nowhere", "--data.root DIR"],
    ),
    "encoder": (
        ["--encoder", "genral"],
        ["independent, supermodular", "got genral", "did you mean general?"],
    ),
    "recipe": (["--recipe", "soup"], ["recipe must be one of paper, elbo; got soup"]),
    "sides": (["--sides", 3], ["sides must be one of 1, 2; got 3"]),
    "epochs below zero": (["--epochs", -3], ["epochs must be at least 1; got -3"]),
    "a binary file": (["--config", torch._C.__file__], ["is not a YAML file of options"]),
    "solver": (
        ["--solver", "maxflow"],
        ["no solver is called 'maxflow'", "did you mean 'max_flow'"],
    ),
    "general max-flow": (
        ["--encoder", "general", "--solver", "max_flow"],
        ["solver 'max_flow' cannot take this problem", ">= 0", "Use one of: exhaustive, "],
    ),
    "independent solver": (
        ["--encoder", "supermodular", "--solver", "independent"],
        ["it takes none", "Use one of: exhaustive, max_flow, "],
    ),
    "2^40 states": (
        ["--solver", "exhaustive", "--n", 40],
        ["n = 40 and it takes at most 25", "Use one of: ", "cp_sat"],
    ),
    "option": (["--solvr", "auto"], ["--solvr"]),
    "nested option": (["--data.nmae", "mnist"], ["--data.nmae"]),
    "file for a folder": (["--run", "file"], ["file"]),
    "folder in a file": (["--run", "file/run"], ["file"]),
}


@pytest.mark.spread(12)
@pytest.mark.parametrize("case", BAD_TRAINING)
def test_impossible_training_is_refused_and_leaves_nothing(cli, case):
    arguments, words = BAD_TRAINING[case]
    Path("file").write_text("mine")
    where = [] if "--run" in arguments else ["--run", "new"]
    assert_refused(cli("train", "--n", 3, "--hidden", 4, "--epochs", 1, *where, *arguments), *words)
    assert list(Path().rglob("*")) == [Path("file")]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_training_on_a_device_that_is_not_there(cli):
    assert_refused(
        cli("train", "--run", "new", *SMALL, "--device", "cuda"),
        "torch finds no CUDA device",
        "--device cpu",
    )
    assert files() == []


# --- configuration files ------------------------------------------------------------------------


def test_printed_configuration_goes_in_again(cli):
    chosen = ["--n", 5, "--encoder", "independent", "--epsilon.floor", 0.25, "--data.batch_size", 7]
    status, printed, _ = cli("train", *chosen, "--print_config")
    assert status == 0
    Path("mine.yaml").write_text(printed)
    status, again, _ = cli("train", "--config", "mine.yaml", "--print_config")
    assert (status, again) == (0, printed)
    values = yaml.safe_load(printed)
    assert values.pop("run") is None
    expected = TrainConfig(n=5, encoder="independent").to_dict()
    expected["epsilon"]["floor"], expected["data"]["batch_size"] = 0.25, 7
    # chosen when all else is known
    expected["data"]["binarisation"] = expected["epsilon"]["start"] = None
    expected |= dict.fromkeys(
        ("recipe", "sides", "learning_rate", "rate_decay", "kl_warmup", "kl_start", "dropout")
    )
    assert {name: values[name] for name in expected} == expected
    of_other_models = {"labels", "label_weight", "consistency", "channels", "styles"}
    of_other_models |= {"networks", "quantiser", "codes", "dimensions", "code_prior"}
    of_other_models |= {"code_entropy", "commitment"}
    assert values.keys() - expected.keys() == of_other_models
    assert files() == ["mine.yaml"]


@tiny
def test_configuration_of_a_run_starts_another(cli):
    cli("train", "--run", "first", *SMALL, "--seed", 5)
    assert cli("train", "--config", "first/config.yaml", "--run", "second")[0] == 0
    first, second = (
        torch.load(f"{name}/checkpoints/last.ckpt", weights_only=True)["state_dict"]
        for name in ("first", "second")
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


@tiny
def test_flags_after_a_configuration_file_win(cli):
    Path("mine.yaml").write_text("n: 3\nhidden: 4\nepochs: 9\n")
    assert cli("train", "--config", "mine.yaml", "--epochs", 1, "--run", "new")[0] == 0
    config = Run(Path("new")).config()
    assert (config.n, config.hidden, config.epochs) == (3, 4, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epocs: 3", ["epocs"]),
        ("data:\n  nmae: mnist", ["data.nmae"]),
        ("epsilon:\n  speed: 1", ["epsilon.speed"]),
        ("epochs: many", ["epochs", "many"]),
        ("epochs: 0", ["epochs must be at least 1"]),
        ("epsilon:\n  floor: 3", ["floor=3"]),
        ("encoder: general\nsolver: max_flow", ["Use one of: exhaustive"]),
        ("n: [", ["mine.yaml is not valid YAML"]),
        ("just words", ["mine.yaml does not hold a mapping"]),
        (None, ["mine.yaml"]),
    ],
    ids=str,
)
def test_a_bad_configuration_file_is_refused_and_leaves_nothing(cli, text, words):
    before = []
    if text is not None:
        Path("mine.yaml").write_text(text)
        before = ["mine.yaml"]
    assert_refused(cli("train", "--config", "mine.yaml", "--run", "new"), *words)
    assert files() == before


# --- interruptions ------------------------------------------------------------------------------


@pytest.fixture
def signal_in_training(monkeypatch):
    """Sends this process a signal in the fifth step; handlers that are changed then come back."""
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

    def arrange(number):
        act = partial(signal.raise_signal, number)
        add_to_trainers(monkeypatch, at_call("on_train_batch_start", 5, act))

    yield arrange
    for each, handler in handlers.items():
        signal.signal(each, handler)


@tiny
def test_training_stopped_from_the_keyboard_says_how_to_go_on(cli, signal_in_training):
    signal_in_training(signal.SIGINT)
    status, _, err = cli("train", "--run", "mine", *SMALL, "--epochs", 3)
    assert status == 130
    assert err.splitlines()[-1].endswith("structured-vae resume mine")


@tiny
def test_terminated_training_says_how_to_go_on(cli, signal_in_training):
    signal_in_training(signal.SIGTERM)
    status, _, err = cli("train", "--run", "mine", *SMALL, "--epochs", 3)
    assert status == 143
    assert err.splitlines()[-1].endswith("structured-vae resume mine")


# --- solve --------------------------------------------------------------------------------------


UNARY = np.array([[1.0, -2.0, 0.5], [-1.0, -1.0, -1.0]])
MATRIX = np.array([[[0, 3.0, -1.0], [0, 0, 0.25], [0, 0, 0]], [[0, 3.0, 0], [0, 0, 0], [0, 0, 0]]])
EDGES = np.array([[0, 1], [0, 2], [1, 2]])


def best_scores(unary, matrix):
    """The largest score of each instance, over all states."""
    z = np.array(list(product([0, 1], repeat=unary.shape[-1])))
    return (z @ unary.T + np.einsum("si,bij,sj->sb", z, matrix, z)).max(axis=0)


@pytest.mark.parametrize("form", ["matrix", "edges"])
@pytest.mark.parametrize("solver", ["auto", "exhaustive", "cp_sat"])
def test_solve_finds_the_best_states(cli, form, solver):
    dense = {"unary": UNARY, "pairwise": MATRIX}
    listed = {"unary": UNARY, "pairwise": MATRIX[:, *EDGES.T], "edges": EDGES}
    np.savez("problem.npz", **(dense if form == "matrix" else listed))
    status, out, _ = cli(
        "solve", "problem.npz", "--solver", solver, "--output", "answers/mine.json"
    )
    assert status == 0
    answer = json.loads(Path("answers/mine.json").read_text())
    best = best_scores(UNARY, MATRIX)
    z = np.array(answer["z"])
    scores = (UNARY * z).sum(axis=1) + np.einsum("bi,bij,bj->b", z, MATRIX, z)
    np.testing.assert_allclose(scores, best, rtol=1e-9)
    np.testing.assert_allclose(answer["score"], best, rtol=1e-9)
    assert answer["optimal"] == [True, True]
    assert answer["solver"] == ("exhaustive" if solver == "auto" else solver)
    assert answer["seconds"] > 0
    assert answer["stats"]
    assert "2 instances of n = 3, e = 3" in out
    assert "written: answers/mine.json" in out
    assert files() == ["answers/mine.json", "problem.npz"]


def test_solve_one_problem_without_pairs(cli):
    np.savez("problem.npz", unary=UNARY[0])
    status, out, _ = cli("solve", "problem.npz", "--output", "mine.json")
    answer = json.loads(Path("mine.json").read_text())
    assert status == 0
    assert (answer["z"], answer["score"], answer["solver"]) == ([1, 0, 1], 1.5, "independent")
    assert (answer["optimal"], answer["bound"]) == (True, 1.5)
    assert "1.5" in out


def test_solve_shows_some_of_many_answers(cli):
    np.savez("problem.npz", unary=np.ones((25, 2)))
    status, out, _ = cli("solve", "problem.npz")
    assert status == 0
    assert "15 more" in out
    assert files() == ["problem.npz"]


def test_solve_takes_several_files(cli):
    np.savez("a.npz", unary=UNARY, pairwise=MATRIX)
    Path("[b].mc").write_text("3 3\n1 2 1\n2 3 1\n1 3 5\n")
    status, out, err = cli("solve", "a.npz", "[b].mc", "--output", "mine.json")
    assert (status, err) == (0, "")
    assert "a.npz, solver exhaustive" in out
    assert "[b].mc, solver elimination" in out or "[b].mc, solver exhaustive" in out
    first, second = json.loads(Path("mine.json").read_text())
    assert (first["file"], second["file"]) == ("a.npz", "[b].mc")
    assert first["score"] == pytest.approx(best_scores(UNARY, MATRIX))
    assert second["value"] == 6.0


@pytest.mark.parametrize("bad_at", [0, 1, 2])
def test_one_bad_file_does_not_lose_the_others(cli, bad_at):
    np.savez("good.npz", unary=UNARY)
    Path("bad.npz").write_text("nothing")
    names = ["good.npz", "good.npz"]
    names.insert(bad_at, "bad.npz")
    status, out, err = cli("solve", *names, "--output", "mine.json")
    assert status == 2
    assert out.count("good.npz, solver independent") == 2
    assert err.startswith("error: bad.npz: ")
    records = json.loads(Path("mine.json").read_text())
    assert [record["file"] for record in records] == names
    assert [("error" in record, "z" in record) for record in records] == [
        (name == "bad.npz", name == "good.npz") for name in names
    ]


def test_an_unsuitable_solver_names_the_file(cli):
    np.savez("a.npz", unary=UNARY, pairwise=MATRIX)
    np.savez("b.npz", unary=UNARY)
    status, out, err = cli("solve", "a.npz", "b.npz", "--solver", "independent")
    assert status == 2
    assert err.startswith("error: a.npz: solver 'independent' cannot take this problem")
    assert "b.npz, solver independent" in out


def test_solve_explains_the_choice_and_counts_the_proofs(cli):
    np.savez("problem.npz", unary=UNARY, pairwise=MATRIX)
    _, out, _ = cli("solve", "problem.npz")
    assert "2 proved optimal" in out
    assert "chosen because n = 3 is at most 20" in out
    _, out, _ = cli("solve", "problem.npz", "--solver", "local_search")
    assert "0 proved optimal" in out
    assert "chosen" not in out


def test_threads_are_an_option_of_some_solvers(cli):
    np.savez("problem.npz", unary=UNARY, pairwise=MATRIX)
    for solver in ("cp_sat", "cplex", "branch_and_bound", "auto"):
        assert cli("solve", "problem.npz", "--solver", solver, "--threads", 2)[0] == 0
    assert_refused(
        cli("solve", "problem.npz", "--solver", "highs", "--threads", 2), "no option 'threads'"
    )
    assert_refused(cli("solve", "problem.npz", "--threads", 0), "threads must be at least 1")


def test_a_format_that_there_is_not_brings_those_of_both_kinds(cli):
    np.savez("problem.npz", unary=UNARY)
    assert_refused(
        cli("solve", "problem.npz", "--format", "foo"),
        "no format is called 'foo'",
        "qplib",
        "wcsp, cfn",
    )


def test_a_batch_in_chunks_is_the_batch():
    generator = np.random.default_rng(0)
    problem = dense(12, 700, generator).problem()
    seen = []
    answers = solve_in_chunks(problem, solver_class("branch_and_bound")(), None, seen.append)
    whole = solver_class("exhaustive")().solve(problem)
    np.testing.assert_allclose(answers.solution.score, whole.score, rtol=1e-13)
    assert answers.solution.optimal.all()
    assert (answers.reached, answers.stopped) == (700, None)
    assert answers.solution.stats["reached"] == 700
    assert seen[-1] == 700
    assert seen == sorted(seen)
    assert len(set(seen)) > 2


class EndsLate(solver_class("exhaustive")):
    """Ends a while after the keyboard, and has found everything."""

    def solve(self, problem, time_limit=None):
        before = interrupts()
        while interrupts() == before:
            time.sleep(0.01)
        time.sleep(0.3)
        raise SolveInterrupted(super().solve(problem))


def test_a_search_gets_a_while_to_say_what_it_has_after_the_keyboard(monkeypatch, limits):
    limits(stop_seconds=60.0)
    monkeypatch.setattr("structured_vae.cli.solve.chunks.cpu_count", lambda: 2)  # both at once
    problem = Problem.from_arrays(UNARY, MATRIX)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    press = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    try:
        answers = solve_in_chunks(problem, EndsLate(), None)
    finally:
        press.cancel()
        signal.signal(signal.SIGINT, before)
    assert isinstance(answers.stopped, SolveInterrupted)
    assert answers.solution.score == pytest.approx(best_scores(UNARY, MATRIX))
    assert not left_behind()


class NamesOthers(ArgmaxSolver):
    """Says that another solver answered, by the first unary score."""

    name = "names_others"
    capabilities = Capabilities(exact=True)

    def _argmax(self, problem, deadline):
        z = np.ones((problem.batch, problem.n), np.int8)
        by = "one" if problem.unary[0, 0] < 2 else "two + three"
        return Maximiser(z, stats={"bounds_one": problem.batch}, solver=by)


CHAIN = """chain 3 3 2 100
3 3 2
2 0 1 2 2
0 0 0
1 1 1
2 1 2 5 2
0 1 1
2 0 4
"""
"""Of toulbar2: x0 and x1 cost 2, but (0, 0) nothing and (1, 1) 1; x1 and x2 cost 5, but (0, 1) 1 and (2, 0) 4."""


def test_solve_reads_variables_of_several_values(cli):
    Path("chain.wcsp").write_text(CHAIN)
    Path("dice.uai").write_text("MARKOV 1 3 1 1 0 3 0.2 0.5 0.3")
    status, out, _ = cli("solve", "chain.wcsp", "dice.uai", "--output", "x.json")
    assert status == 0
    assert "chosen because" in out
    chain, dice = json.loads(Path("x.json").read_text())
    costs = {(a, b): {(0, 0): 0, (1, 1): 1}.get((a, b), 2) for a, b in product(range(3), repeat=2)}
    pairs = {(b, c): {(0, 1): 1, (2, 0): 4}.get((b, c), 5) for b, c in product(range(3), range(2))}
    best = min(costs[a, b] + pairs[b, c] for a, b, c in product(range(3), range(3), range(2)))
    a, b, c = chain["labels"]
    assert chain["value"] == best == costs[a, b] + pairs[b, c]
    assert chain["optimal"]
    assert dice["labels"] == [1]
    assert dice["value"] == pytest.approx(np.log(0.5))
    for name in ("elimination", "cp_sat"):
        assert cli("solve", "chain.wcsp", "--solver", name, "--output", "x.csv")[0] == 0
        with Path("x.csv").open(newline="") as file:
            assert float(next(iter(csv.DictReader(file)))["value"]) == best


PROGRAM = (
    "Maximize\n obj: 2 x - 3 y + 4 z + [ 4 x * y ] / 2 + 5\n"
    "Subject To\n c1: x + y + z <= 1\nBinary\n x y z\nEnd\n"
)


def test_solve_keeps_to_the_constraints_of_a_file(cli):
    Path("small.lp").write_text(PROGRAM)
    status, out, _ = cli("solve", "small.lp", "--output", "x.json")
    assert status == 0
    record = json.loads(Path("x.json").read_text())
    assert (record["value"], record["z"], record["optimal"]) == (9.0, [0, 0, 1], True)
    assert "the file has constraints (1)" in out
    assert_refused(cli("solve", "small.lp", "--threads", 1), "--threads needs --solver")
    assert cli("solve", "small.lp", "--threads", 1, "--solver", "cp_sat")[0] == 0
    Path("none.lp").write_text(PROGRAM.replace("<= 1", ">= 4"))
    assert_refused(cli("solve", "none.lp"), "no state satisfies")


def test_solve_reads_standard_input(cli, monkeypatch):
    stream = TextIOWrapper(BytesIO(b"c\np edge 3 2\ne 1 2\ne 2 3\n"))
    monkeypatch.setattr("sys.stdin", stream)
    status, _, _ = cli("solve", "-", "--output", "x.json")
    assert status == 0
    record = json.loads(Path("x.json").read_text())
    assert (record["file"], record["value"]) == ("-", 2.0)
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"MARKOV x")))
    assert_refused(cli("solve", "-"), "standard input, line 1: the number of variables must be")


def test_solve_takes_all_problems_of_a_file(cli):
    Path("two.txt").write_text("2\n2 2\n1 1 5\n1 2 -2\n3 1\n1 3 4\n")
    status, out, _ = cli("solve", "two.txt", "--format", "orlib", "--output", "x.json")
    assert status == 0
    assert "two.txt (problem 2), solver" in out
    assert [record["value"] for record in json.loads(Path("x.json").read_text())] == [5.0, 8.0]


def test_convert_says_how_the_objectives_are_related(cli):
    Path("path.mc").write_text("3 2\n1 2\n2 3\n")
    for target, relation in (
        ("path.qubo", "the negative of the objective"),
        ("path.cfn", "the objective"),
        ("path.wcsp", "4 - the objective"),
    ):
        status, out, _ = cli("convert", "path.mc", target)
        assert status == 0
        assert f"the objective of path.mc is {relation} of {target}" in out
    assert cli("convert", "path.mc", "path.txt", "--to", "coo")[0] == 0
    assert Path("path.txt").read_text().startswith("# vartype=BINARY\n0 0 -1\n")
    Path("graph.col").write_text("p edge 3 2\ne 1 2\ne 2 3\n")
    before = files()
    assert_refused(cli("convert", "path.mc", "a.coo", "--max_bytes", 5), "pass a larger max_bytes")
    assert_refused(cli("solve", "path.mc", "--max_bytes", 5), "pass a larger max_bytes")
    assert_refused(cli("convert", "graph.col", "graph.qubo"), "can be written as uai, wcsp, cfn")
    assert_refused(cli("convert", "path.mc", "path.doc"), "does not say which format to write")
    assert_refused(cli("convert", "path.cfn", "path.mc"), "can be written as uai, wcsp, cfn")
    assert files() == before


def test_solve_says_what_is_wrong_with_files_of_several_values(cli):
    Path("short.wcsp").write_text("chain 3 3 2 100\n3 3")
    status, _, err = cli("solve", "short.wcsp")
    assert status == 2
    assert "short.wcsp" in err
    status, _, err = cli("solve", "short.wcsp", "--solver", "eliminaton")
    assert status == 2
    assert "did you mean 'elimination'" in " ".join(err.split())


@pytest.mark.parametrize(
    ("name", "of_bits", "of_labels"),
    [
        ("viterbi", "did you mean 'elimination'?", "did you mean 'elimination'?"),
        ("min_cut", "did you mean 'max_flow'?", "did you mean 'expansion_moves'?"),
        ("alpha_expansion", "there are: independent", "did you mean 'expansion_moves'?"),
    ],
)
def test_names_of_methods_get_the_suggestions_for_bits_and_for_labels(
    name, of_bits, of_labels, cli
):
    status, _, err = cli("solve", "not read.csv", "--solver", name)
    assert status == 2
    text = " ".join(err.split())
    unknown = f"no solver is called '{name}'; "
    assert f"error: {unknown}{of_bits}" in text
    assert f"And for variables of several values, {unknown}{of_labels}" in text


def test_labels_take_threads_for_solvers_of_their_bits(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("labels.uai").write_text("MARKOV\n2\n3 3\n1\n2 0 1\n9\n1 2 3 4 5 6 7 8 9\n")
    assert cli("solve", "labels.uai", "--solver", "branch_and_bound", "--threads", 1)[0] == 0
    assert cli("solve", "labels.uai", "--solver", "dual_ascent", "--threads", 1)[0] == 0


def test_solve_writes_a_table(cli):
    Path("edges.csv").write_text("i,j,score\nann,,1.5\nann,ben,-2\nben,,1\ncem,ben,0.5\n")
    problem = dense(3, 2, np.random.default_rng(0))
    np.savez("two.npz", unary=problem.unary, pairwise=problem.pairwise, edges=problem.edges)
    assert cli("solve", "edges.csv", "two.npz", "--output", "x.csv")[0] == 0
    with Path("x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["file"], row["instance"]) for row in rows] == [
        ("edges.csv", "0"),
        ("two.npz", "0"),
        ("two.npz", "1"),
    ]
    named = {name: rows[0][f"z {name}"] for name in ("ann", "ben", "cem")}
    best = max(
        (1.5 * a + b - 2 * a * b + 0.5 * b * c, (a, b, c)) for a, b, c in product((0, 1), repeat=3)
    )
    assert float(rows[0]["value"]) == best[0]
    a, b, c = (int(named[name]) for name in ("ann", "ben", "cem"))
    assert 1.5 * a + b - 2 * a * b + 0.5 * b * c == best[0]
    assert rows[0]["z 0"] == ""
    solution = solve(problem.problem())
    assert [[int(row[f"z {i}"]) for i in range(3)] for row in rows[1:]] == solution.z.tolist()
    assert [float(row["score"]) for row in rows[1:]] == solution.score.tolist()
    assert [row["optimal"] for row in rows] == ["True"] * 3


@pytest.mark.spread(1)
@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_what_a_search_knows(tmp_path, limits, terminal):
    limits(progress_delay=0.0)
    problem = dense(250, 1, np.random.default_rng(0)).problem()
    np.savez(
        tmp_path / "one.npz", unary=problem.unary, pairwise=problem.pairwise, edges=problem.edges
    )
    errors = Console(file=StringIO(), force_terminal=terminal, width=200, markup=False)
    solver = FileSolver("auto", None, 1.5, None, Console(file=StringIO()), errors)
    assert solver.solve([str(tmp_path / "one.npz")], None) == 0
    shown = re.findall(r"best (\S+), bound (\S+)", errors.file.getvalue())
    assert bool(shown) == terminal
    assert all(float(value) <= float(bound) for value, bound in shown)
    (record,) = solver.records
    assert "callback" not in record["stats"]
    if terminal:
        assert float(shown[-1][0]) <= record["score"][0] * (1 + 1e-7)  # shown with eight digits
        assert float(shown[-1][0]) > 0


def test_chunks_name_all_solvers_that_answered():
    problem = Problem.from_arrays(np.arange(1.0, 701.0)[:, None])
    solution = solve_in_chunks(problem, NamesOthers(), None).solution
    assert solution.solver == "one + two + three"
    assert solution.stats == {"bounds_one": 700}


@dataclass(frozen=True)
class FailsAt(ArgmaxSolver):
    """Fails at instances whose first unary score is large."""

    name = "fails_at"
    capabilities = Capabilities(exact=True)

    def _argmax(self, problem, deadline):
        if problem.unary[:, 0].max() > 9:
            raise SolveFailedError("an unlucky instance")
        return solver_class("exhaustive")()._argmax(problem, deadline)


def test_a_failure_keeps_the_chunks_before_it():
    problem = dense(4, 500, np.random.default_rng(0)).problem()
    problem.unary[400, 0] = 10.0
    answers = solve_in_chunks(problem, FailsAt(), None)
    assert str(answers.stopped) == "an unlucky instance"
    assert 0 < answers.reached <= 400
    assert answers.solution.optimal[: answers.reached].all()
    problem.unary[0, 0] = 10.0
    with pytest.raises(SolveFailedError, match="unlucky"):
        solve_in_chunks(problem, FailsAt(), None)


def test_time_limit_is_for_the_whole_file():
    problem = dense(90, 40, np.random.default_rng(0)).problem()
    start = time.monotonic()
    answers = solve_in_chunks(problem, solver_class("cp_sat")(), 0.5)
    assert time.monotonic() - start < 10  # 20 s if the limit were that of each instance
    assert answers.solution.z.shape == (40, 90)
    assert not answers.solution.optimal.any()
    assert answers.reached < 40
    untouched = slice(answers.reached, None)
    assert (answers.solution.bound[untouched] <= problem.positive_part[untouched]).all()
    assert (answers.solution.bound[untouched] > answers.solution.score[untouched]).all()


def test_a_chunk_may_take_what_is_left_of_the_time():
    given = []

    class Waits(ArgmaxSolver):
        name = "waits"
        capabilities = Capabilities(exact=True, time_limit=True)

        def _argmax(self, problem, deadline):
            given.append(deadline.seconds)
            time.sleep(0.05)
            return solver_class("exhaustive")()._argmax(problem, None)

    assert (
        solve_in_chunks(dense(4, 500, np.random.default_rng(0)).problem(), Waits(), 20.0).reached
        == 500
    )
    assert len(given) > 1
    assert all(after <= before - 0.04 for before, after in pairwise(given))


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    ("stream", "seconds", "shown"),
    [(Terminal, 1.5, True), (Terminal, 0.1, False), (StringIO, 1.5, False)],
    ids=["long", "short", "no terminal"],
)
def test_progress_is_for_long_work_on_a_terminal_and_goes_away(stream, seconds, shown):
    np.savez("a[b].npz", unary=UNARY, pairwise=MATRIX)
    errors = stream()
    consoles = {"console": Console(file=StringIO()), "errors": Console(file=errors)}
    solve(UNARY, MATRIX, solver="local_search")
    solver = FileSolver("local_search", None, time_limit=seconds, threads=1, **consoles)
    assert solver.solve(["a[b].npz"], None) == 0
    written = errors.getvalue()
    assert bool(re.search(r"a\[b\]\.npz .*0/2.*0:00:0\d", written)) == shown
    assert bool(written) == shown
    assert not shown or written.endswith("\x1b[2K")  # the line is erased


def npz(**arrays):
    return lambda path: np.savez(path, **arrays)


def half_an_archive(path):
    np.savez(path, unary=np.ones(1000))
    path.write_bytes(path.read_bytes()[:4000])


def damaged_archive(path):
    np.savez_compressed(path, unary=np.random.default_rng(0).normal(size=1000))
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(byte ^ 0x55 for byte in content[200:260])
    path.write_bytes(content)


def one_array(path):
    with path.open("wb") as file:
        np.save(file, np.ones(3))


def a_huge_promise(path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    with zipfile.ZipFile(path, "w") as archive, archive.open("unary.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header)


def unreadable_member(flag_at, method_at, value):
    """An archive whose only member claims encryption, or a compression that does not exist."""

    def write(path):
        np.savez(path, unary=np.ones(3))
        content = bytearray(path.read_bytes())
        central = content.index(b"PK\x01\x02")
        content[flag_at], content[central + method_at] = value, value
        path.write_bytes(content)

    return write


BAD_FILES = {
    "missing": (lambda path: None, ["no such file"]),
    "a folder": (lambda path: path.mkdir(), ["not a regular file"]),
    "empty": (lambda path: path.touch(), ["format"]),
    "text": (lambda path: path.write_text("1 2 3"), ["format"]),
    "half": (half_an_archive, ["damaged"]),
    "damaged": (damaged_archive, ["damaged"]),
    "one array": (one_array, ["format"]),
    "huge": (a_huge_promise, ["bytes"]),
    "encrypted": (unreadable_member(6, 8, 1), ["encrypted"]),
    "unknown compression": (unreadable_member(8, 10, 77), ["compress"]),
    "pickled": (npz(unary=np.array([None, 1])), ["unary"]),
    "unknown arrays": (
        npz(unary=np.ones(3), weights=np.ones(3)),
        ["weights", "unary, pairwise, edges"],
    ),
    "no unary": (npz(pairwise=np.ones((3, 3))), ["unary, pairwise, edges"]),
    "nothing": (npz(), ["problem.npz"]),
    "edges alone": (npz(unary=np.ones(3), edges=EDGES), ["edges were passed without pairwise"]),
    "shape": (npz(unary=np.ones(3), pairwise=np.zeros((4, 4))), ["must be [..., 3, 3]", "(4, 4)"]),
    "edges of floats": (
        npz(unary=np.ones(3), pairwise=np.ones(3), edges=EDGES * 1.0),
        ["edges must be integers"],
    ),
    "words": (npz(unary=np.array(["a", "b"])), ["real numbers"]),
    "NaN": (npz(unary=np.array([1.0, np.nan])), ["unary[1] is nan"]),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("case", BAD_FILES)
def test_solve_refuses_what_is_no_problem(cli, case):
    write, words = BAD_FILES[case]
    write(Path("problem.npz"))
    before = files()
    assert_refused(cli("solve", "problem.npz", "--output", "mine.json"), "problem.npz", *words)
    assert files() == before


class Reminder:
    """Unpickling it leaves a file."""

    def __reduce__(self):
        return open, ("executed", "w")


def test_nothing_in_a_problem_file_is_executed(cli):
    np.savez("problem.npz", unary=np.array([Reminder()], dtype=object))
    assert_refused(cli("solve", "problem.npz"), "not an array of real numbers")
    assert files() == ["problem.npz"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--solver", "maxflow"], ["did you mean 'max_flow'"]),
        (["--solver", "max_flow"], ["pair (0, 2) in instance 0 is -1", "Use one of: exhaustive"]),
        (["--solver", "independent"], ["it takes none"]),
        (["--time_limit", 0], ["time_limit must be positive"]),
        (["--time_limit", "soon"], ["time_limit"]),
        (["--colour", "red"], ["--colour"]),
    ],
    ids=str,
)
def test_solve_refuses_impossible_options(cli, arguments, words):
    np.savez("problem.npz", unary=UNARY, pairwise=MATRIX)
    assert_refused(cli("solve", "problem.npz", "--output", "mine.json", *arguments), *words)
    assert files() == ["problem.npz"]


@pytest.mark.parametrize(
    "arguments",
    [
        "solve problem.npz --threads 0",
        "solve problem.npz --threads 5000",
        "solve problem.npz --max_bytes 0",
        "convert problem.npz problem.qubo --max_bytes=-1",
        "evaluate nowhere --samples 0",
        "evaluate nowhere --refine=-1",
        "evaluate nowhere --importance 10 0",
        "fit-prior nowhere target --hidden=-1",
        "fit-prior nowhere target --layers=-1",
        "fit-prior nowhere target --epochs 0",
        "gradients nowhere --images 0",
        "gradients nowhere --draws 0",
        "reproduce table1 --epochs 0 --dry_run",
        "reproduce table1 --jobs 0 --dry_run",
        "reproduce table1 --seeds [-1] --dry_run",
        "explore nowhere --port 0",
        "explore nowhere --port 70000",
    ],
)
def test_numbers_outside_their_range_are_refused_before_any_work(cli, arguments):
    option = re.search(r"--(\w+)", arguments)[1]
    assert_refused(cli(*arguments.split()), f"{option} must be at ")
    assert files() == []


@pytest.mark.parametrize("output", ["folder", "problem.npz/mine.json"])
def test_solve_says_where_it_cannot_write(cli, output):
    np.savez("problem.npz", unary=UNARY, pairwise=MATRIX)
    Path("folder").mkdir()
    status, _, err = cli("solve", "problem.npz", "--output", output)
    assert status == 2
    assert output.split("/")[0] in err
    assert files() == ["problem.npz"]


# --- solvers ------------------------------------------------------------------------------------


def test_solvers_names_every_backend(cli):
    status, out, _ = cli("solvers")
    assert status == 0
    rows = {line.split("│")[1].strip(): line for line in out.splitlines() if "│" in line}
    assert {info.name for info in available_solvers()} <= rows.keys()
    assert ">= 0" in rows["max_flow"]
    assert "25" in rows["exhaustive"]
    assert "<= 30" in rows["elimination"]


def test_solvers_says_what_plug_ins_take(cli, tmp_path, monkeypatch):
    (tmp_path / "halves_solver.py").write_text(
        "from solvers import ArgmaxSolver, Capabilities\n"
        "class Halves(ArgmaxSolver):\n"
        "    name = 'halves'\n"
        "    capabilities = Capabilities(exact=False, max_size=77)\n"
    )
    metadata = tmp_path / "halves_solver-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: halves-solver\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[structured_vae.solvers]\nhalves = halves_solver:Halves\nbroken = no_such_module:X\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    status, out, _ = cli("solvers")
    assert status == 0
    rows = {line.split("│")[1].strip(): line for line in out.splitlines() if "│" in line}
    assert "77" in rows["halves"]
    assert "?" in rows["broken"]
    assert "broken, of halves-solver" in out
    assert "no_such_module" in out


# --- spelling -----------------------------------------------------------------------------------


def test_options_take_hyphens_and_underscores_alike(cli):
    np.savez("a-b.npz", unary=UNARY, pairwise=MATRIX)
    for option in ("--time-limit", "--time_limit"):
        assert cli("solve", "a-b.npz", option, 5, "--output=c-d.json")[0] == 0
    assert files() == ["a-b.npz", "c-d.json"]
    status, out, _ = cli(
        "train", "--data.batch-size", 7, "--rate-decay", "cosine", "--print-config"
    )
    assert (status, yaml.safe_load(out)["data"]["batch_size"]) == (0, 7)


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["trian"], "train"),
        (["train", "--batch_size", 3], "--data.batch_size"),
        (["train", "--batch-size=3"], "--data.batch_size"),
        (["train", "--learning_rat2", 3], "--learning_rate"),
        (["train", "--binarizaton", "none"], "--data.binarisation"),
        (["train", "--encoder", "generl"], "general"),
        (["train", "--recipe", "elb"], "elbo"),
        (["train", "--epsilon", "0.5"], "--epsilon.start"),
        (["train", "--data", "mnist"], "--data.name"),
        (["train", "--dataset", "mnist"], "--data.name"),
        (["train", "--lr", "0.1"], "--learning_rate"),
        (["train", "--estimator", "score_functoin"], "score_function"),
        (["solve", "x.npz", "--timelimit", 3], "--time_limit"),
        (["gradients", "x", "--checkpoint", "bst"], "best"),
    ],
    ids=str,
)
def test_what_may_be_meant_is_suggested(cli, arguments, meant):
    status, _, err = cli(*arguments)
    assert status == 2
    assert err.splitlines()[-1] == f"did you mean {meant}?"


def test_nothing_is_suggested_for_what_is_near_to_nothing(cli):
    for arguments in (["zzzzzz"], ["solve", "x.npz", "--qqqqqq"], ["train", "--encoder", "zzzzzz"]):
        status, _, err = cli(*arguments)
        assert status == 2
        assert "did you mean" not in err


def test_help_of_train_has_every_list_of_choices_once(cli):
    text = " ".join(cli("train", "--help")[1].split())
    assert "Literal" not in text
    assert "{" not in text.replace("checkpoints/{best,last}", "")
    for hint in get_type_hints(TrainConfig).values():
        for part in (hint, *get_args(hint)):
            if get_origin(part) is Literal:
                assert all(str(choice) in text for choice in get_args(part))
    assert text.count("gumbel_softmax, straight_through") == 1


TABLES = {
    "evaluation": lambda: evaluation_table(
        {
            "images": 10_000,
            "quantities": {
                name: {
                    "value": -1234.5678,
                    "standard_error": 12.3456,
                    "kind": "upper bound",
                    "meaning": "m " * 40,
                }
                for name in ("bound", "refined_bound", "reconstruction_surrogate")
            },
        },
        "runs/general, best epoch, test split",
    ),
    "gradients": lambda: gradient_table(
        {
            "perturbed_argmax samples 8": {
                "bias": 1.2e-5,
                "deviation": 1.2e-5,
                "z_score": -1.2e5,
                "microseconds": 1.2e6,
                "stats": {"changed": 0.25, "saturated": 0.25},
            }
        },
        "gradients",
    ),
    "answers": lambda: solution_table(
        Conversion(Problem.from_arrays(1e15 * UNARY, 1e15 * MATRIX), 1, 0.0, range(3)),
        solve(1e15 * UNARY, 1e15 * MATRIX),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_fit_80_columns(name):
    console = Console(file=StringIO(), width=80)
    console.print(TABLES[name]())
    printed = console.file.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_the_table_of_solvers_fits_80_columns(cli, set_columns):
    set_columns(80)
    status, printed, _ = cli("solvers")
    assert status == 0
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_stats_in_the_answers_are_numbers(cli):
    np.savez("problem.npz", unary=UNARY, pairwise=MATRIX)
    for solver, name in (("exhaustive", "states"), ("dual_ascent", "fixed_share")):
        assert cli("solve", "problem.npz", "--solver", solver, "--output", "mine.json")[0] == 0
        stats = json.loads(Path("mine.json").read_text())["stats"]
        assert isinstance(stats[name], int | float)


# --- as a program -------------------------------------------------------------------------------


def program(*arguments):
    root = Path(__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-m", "structured_vae", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
    )


def test_program_solves_and_refuses():
    np.savez("problem.npz", unary=UNARY, pairwise=MATRIX)
    both = program("solve", "problem.npz", "nothing.npz", "--output", "mine.json")
    assert (both.returncode, both.stderr) == (2, "error: nothing.npz: there is no such file\n")
    assert "written: mine.json" in both.stdout
    solved, _ = json.loads(Path("mine.json").read_text())
    assert solved["score"] == pytest.approx(best_scores(UNARY, MATRIX))


def test_the_keyboard_keeps_what_was_found():
    np.savez("easy.npz", unary=UNARY, pairwise=MATRIX)
    hard = dense(150, 2, np.random.default_rng(0))
    np.savez("hard.npz", unary=hard.unary, pairwise=hard.pairwise, edges=hard.edges)
    root = Path(__file__).parent.parent
    files_and_options = [
        "easy.npz",
        "hard.npz",
        "easy.npz",
        "--solver",
        "cp_sat",
        "--output",
        "mine.json",
    ]
    # what is ignored is inherited
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "structured_vae", "solve", *files_and_options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONUNBUFFERED": "1"},
    )
    signal.signal(signal.SIGINT, before)
    try:
        assert "easy.npz" in process.stdout.readline()
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "written: mine.json" in out
    assert "Traceback" not in err
    reached = int(re.search(r"stopped; hard.npz: ([01]) of 2 solved", err)[1])  # as far as it came
    easy, stopped = json.loads(Path("mine.json").read_text())
    assert easy["optimal"] == [True, True]
    assert (stopped["file"], stopped["reached"], stopped["optimal"]) == (
        "hard.npz",
        reached,
        [False, False],
    )
    assert stopped["score"][0] > 0 or not reached
    assert stopped["bound"][0] > stopped["score"][0]


def test_commands_without_networks_and_the_options_of_train_do_not_load_torch():
    code = (
        "import sys; from structured_vae.vaes.config import TrainConfig; TrainConfig(); "
        "from structured_vae.cli.train import train_options; train_options().format_help(); "
        "from structured_vae.cli import main; main(['solvers']); print('torch' in sys.modules)"
    )
    root = Path(__file__).parent.parent
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=True,
    )
    assert answer.stdout.splitlines()[-1] == "False"


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert importlib.metadata.version("structured-vae") in capsys.readouterr().out


@pytest.mark.parametrize(("shape", "rows"), [((0,), 1), ((2, 0), 2), ((0, 3), 0), ((0, 0), 0)])
def test_problems_without_variables_or_instances_are_solved(cli, shape, rows):
    np.savez("empty.npz", unary=np.zeros(shape))
    status, output, _ = cli("solve", "empty.npz", "--output", "x.csv")
    assert status == 0
    assert f"{rows} instances of n = {shape[-1]}" in output
    with Path("x.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["score"] for row in read] == ["0.0"] * rows


def test_no_command_replaces_the_problem_that_it_reads(cli):
    problem = Path("path.mc")
    problem.write_text("2 1\n1 2 3\n")
    Path("link.mc").symlink_to(problem)
    for target in ("path.mc", "link.mc"):
        refused = cli("solve", "path.mc", "--output", target)
        assert_refused(refused, "would replace the problem path.mc")
        assert_refused(cli("convert", "path.mc", target), "is the file to convert")
    assert problem.read_text() == "2 1\n1 2 3\n"
