import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch
from few_images import few_images
from filelock import FileLock
from scipy.integrate import quad
from training_hooks import add_to_trainers, at_call

from structured_vae import ConfigError, TrainConfig, train
from structured_vae.cli import main
from structured_vae.errors import RunError
from structured_vae.evaluation import GradientReport
from structured_vae.reproduction import (
    Cell,
    Experiment,
    Outcome,
    Places,
    Record,
    experiment_names,
    experiments,
    read_record,
    run_cells,
    status,
    write_report,
)
from structured_vae.reproduction.curves import curves
from structured_vae.reproduction.plan import finished
from structured_vae.reproduction.quantities import differ, shown
from structured_vae.reproduction.records import record_of_run
from structured_vae.reproduction.report import VIEWS
from structured_vae.reproduction.verdict import attributes_verdict, gradients_verdict, verdict

tiny = pytest.mark.usefixtures("on_small_images")


@pytest.fixture
def on_small_images(runs_read):
    """Cells train on few images of sixteen pixels: no test here looks at what they learn."""
    runs_read(few_images)


TINY = """
title: Two encoders
view: curves
paper: {general: {bound: 145}}
base: {n: 3, hidden: 5, epochs: 2, picture_every: 0, picture: true, data: {batch_size: 100}}
cells:
  independent: {encoder: independent, estimator: arm, recipe: elbo}
  general: {encoder: general, draws: 1, refine: 2}
"""


@pytest.fixture
def two_cells(in_empty_folder, monkeypatch):
    """An experiment of two small cells, called tiny, and an empty folder to work in."""
    cells = in_empty_folder / "cells"
    cells.mkdir()
    (cells / "tiny.yaml").write_text(TINY)
    monkeypatch.setattr(experiments, "CELLS", cells)
    return Experiment.named("tiny")


class Killed(BaseException):
    """The end of the process."""


def command(*arguments):
    """Exit status of a command."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return stop.code
    return 0


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_has_cells_with_checked_configurations(name):
    experiment = Experiment.named(name)
    cells = experiment.cells(seeds=(0, 1), epochs=7)
    assert len({(cell.name, cell.config.seed) for cell in cells}) == len(cells)
    assert all(isinstance(cell.config, TrainConfig) and cell.config.epochs == 7 for cell in cells)
    assert {cell.name for cell in cells} >= set(experiment.paper) or name != experiment.folder
    assert experiment.title
    assert bool(experiment.source) == bool(experiment.paper)
    assert experiment.view in VIEWS


def test_table_1_has_the_numbers_of_the_paper_in_45_cells():
    experiment = Experiment.named("table1")
    assert len(experiment.paper) == 45
    assert experiment.paper["fashion-mnist-k30-direct"] == {"bound": 189.44}
    cells = {cell.name: cell.config for cell in experiment.cells()}
    for name, config in cells.items():
        plain = name.endswith("-plain")
        assert name.removesuffix("-plain") == f"{config.data.name}-k{config.k}-{config.estimator}"
        assert config.encoder == "categorical"
        assert config.epochs == 60
        few = config.estimator == "direct" and config.k <= 20
        annealed = (few or config.estimator in ("exact", "gumbel_softmax")) and not plain
        assert config.kl_start == (30 if annealed else 0)


def test_table_2_has_the_numbers_of_the_paper_in_20_cells():
    experiment = Experiment.named("table2")
    assert len(experiment.paper) == 20
    numbers = {"accuracy": 71.6, "accuracy_sampled": 71.6, "bound": 129.973}
    assert experiment.paper["fashion-mnist-600labels-gumbel_softmax"] == numbers
    cells = {cell.name: cell.config for cell in experiment.cells()}
    for name, config in cells.items():
        own = "-own_styles" if config.styles == "own" else ""
        assert name == f"{config.data.name}-{config.labels}labels-{config.estimator}{own}"
        assert config.model == "mixture"


def test_curves_are_cells_of_the_table():
    names = {cell.name for cell in Experiment.named("curves").cells()}
    assert names
    assert all("-k10-" in name for name in names)
    assert {cell.experiment for cell in Experiment.named("curves").cells()} == {"table1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"only": "["}, "not a regular expression"),
        (
            {"only": "nothing"},
            "no cell of structured fits 'nothing'; there are: independent-direct",
        ),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"seeds": []}, "seeds is empty"),
    ],
)
def test_impossible_choices(arguments, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        Experiment.named("structured").cells(**arguments)


def test_cells_of_another_figure_are_not_offered():
    with pytest.raises(ConfigError, match="no cell of curves fits 'k20'") as caught:
        Experiment.named("curves").cells(only="k20")
    assert "k10-direct" in str(caught.value)
    assert "k20-direct" not in str(caught.value)


def test_unknown_experiment():
    with pytest.raises(ConfigError, match=r"no experiment is called 'table3'; there are: .*table1"):
        Experiment.named("table3")


@tiny
def test_cells_run_once_and_leave_records(two_cells, capsys):
    assert command("reproduce", "tiny") == 0
    places = Places(Path("results"), Path("runs/reproduce"))
    for cell in two_cells.cells():
        record = read_record(places.record(cell))
        assert record.config == cell.config.to_dict()
        assert [row["epoch"] for row in record.epochs] == [1, 2]
        assert record.evaluation["quantities"]["bound"]["value"] > 0
        assert record.argmaxes == (0 if cell.name == "independent" else 2 * 40 * 2)
        assert (
            places.picture(cell).read_bytes()
            == places.run(cell).pictures.joinpath("samples-0002.png").read_bytes()
        )
        assert record.seconds == pytest.approx(sum(row["seconds"] for row in record.epochs))
        assert {"commit", "versions", "hardware"} <= set(
            json.loads(places.record(cell).read_text())
        )
    found = record.evaluation["quantities"]  # of the general encoder
    assert found["kl"]["value"] == pytest.approx(3 * math.log(2))  # one draw has no entropy
    assert found["refined_bound"]["value"] <= found["bound"]["value"]
    before = {path: path.stat().st_mtime_ns for path in Path("results").rglob("*.json")}
    capsys.readouterr()
    assert command("reproduce", "tiny") == 0
    assert "2 of 2 cells are finished" in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in Path("results").rglob("*.json")}


@tiny
def test_a_stopped_cell_goes_on(two_cells):
    (cell,) = two_cells.cells(only="general")
    places = Places(Path("results"), Path("runs/reproduce"))
    train(replace(cell.config, epochs=1), places.run(cell).folder)
    assert status(cell, places).done == 1
    assert not status(cell, places).evaluated
    assert command("reproduce", "tiny", "--only", "general") == 0
    state = status(cell, places)
    assert (state.done, state.left, state.evaluated) == (2, 0, True)
    longer = two_cells.cells(only="general", epochs=3)[0]
    assert not status(longer, places).evaluated
    assert command("reproduce", "tiny", "--only", "general", "--epochs", 3) == 0
    assert len(read_record(places.record(cell)).epochs) == 3


@tiny
def test_dry_run_trains_nothing(two_cells, capsys):
    assert command("reproduce", "tiny", "--dry_run", "--seeds", "[0,1]") == 0
    out = capsys.readouterr().out
    assert all(
        f"{name}-seed{seed}" in out for name in ("independent", "general") for seed in (0, 1)
    )
    assert out.count("?") >= 4  # nothing is known of their time
    assert not Path("results").exists()
    assert not Path("runs").exists()


@tiny
def test_a_failing_cell_does_not_stop_the_others(two_cells, capsys):
    places = Places(Path("results"), Path("runs/reproduce"))
    broken, whole = two_cells.cells()
    folder = places.run(broken).folder
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("not: a configuration")
    assert command("reproduce", "tiny") == 2
    err = capsys.readouterr().err
    assert "1 of 2 cells failed" in err
    assert broken.title in err
    assert status(whole, places).evaluated


@tiny
def test_a_missing_solver_does_not_stop_the_others(two_cells, capsys):
    (experiments.CELLS / "tiny.yaml").write_text(TINY.replace("estimator: arm", "solver: cplexx"))
    broken, whole = Experiment.named("tiny").cells()
    assert command("reproduce", "tiny") == 2
    assert "cplexx" in capsys.readouterr().err
    places = Places(Path("results"), Path("runs/reproduce"))
    assert [finished(cell, places) for cell in (broken, whole)] == [False, True]


@tiny
def test_a_cell_killed_in_its_last_epoch_trains_it_again(two_cells, monkeypatch):
    (cell,) = two_cells.cells(only="general")
    places = Places(Path("results"), Path("runs/reproduce"))

    def kill():
        raise Killed

    with monkeypatch.context() as patch:
        add_to_trainers(patch, at_call("on_validation_epoch_end", 2, kill))
        with pytest.raises(Killed):
            command("reproduce", "tiny", "--only", "general")
    assert not status(cell, places).evaluated
    assert command("reproduce", "tiny", "--only", "general") == 0
    assert torch.load(places.run(cell).checkpoint("last"))["epoch"] == 1  # counted from 0
    assert len(read_record(places.record(cell)).epochs) == 2


@tiny
def test_two_processes_do_not_train_one_cell(two_cells, capsys):
    (cell,) = two_cells.cells(only="general")
    folder = Places(Path("results"), Path("runs/reproduce")).run(cell).folder
    folder.mkdir(parents=True)
    with FileLock(folder / ".lock"):
        assert command("reproduce", "tiny", "--only", "general") == 2
    assert "another process is at work" in capsys.readouterr().err
    assert command("reproduce", "tiny", "--only", "general") == 0


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize(
    ("before", "after", "key"),
    [("hidden: 5", "hidden: 9", "hidden"), ("epochs: 2", "epochs: 3", "epochs")],
)
def test_a_run_with_other_settings_is_not_gone_on_with(two_cells, capsys, before, after, key):
    falling = TINY.replace("n: 3", "n: 3, rate_decay: cosine")
    (experiments.CELLS / "tiny.yaml").write_text(falling)
    assert command("reproduce", "tiny", "--only", "general") == 0
    Path("results/tiny/general-seed0.json").unlink()
    (experiments.CELLS / "tiny.yaml").write_text(falling.replace(before, after))
    assert command("reproduce", "tiny", "--only", "general") == 2
    assert f"was trained with other settings ({key}): delete it" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.slow
@tiny
def test_terminated_cells_end_all_and_the_same_command_goes_on(two_cells, monkeypatch, capsys):
    end = partial(signal.raise_signal, signal.SIGTERM)
    handler = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        add_to_trainers(patch, at_call("on_train_batch_start", 2, end))
        assert command("reproduce", "tiny") == 143
    assert signal.getsignal(signal.SIGTERM) == handler
    assert "the same command resumes" in capsys.readouterr().err
    assert sorted(path.name for path in Path("runs/reproduce/tiny").iterdir()) == [
        "independent-seed0"
    ]
    assert command("reproduce", "tiny") == 0


@pytest.mark.slow
def test_outcomes_come_from_parallel_workers(tmp_path):
    cells = [Cell("x", str(number), TrainConfig(seed=number)) for number in range(4)]
    places = Places(tmp_path, tmp_path)
    found = {outcome.cell.title for outcome in run_cells(cells, places, jobs=2, run_one=nothing)}
    assert found == {f"{number}-seed{number}" for number in range(4)}


@pytest.mark.slow
def test_a_dask_cluster_trains_cells(tmp_path):
    distributed = pytest.importorskip("distributed")
    config = TrainConfig(encoder="independent", n=4, hidden=8, epochs=1, picture_every=0)
    cells = [Cell("x", "cell", replace(config, seed=seed)) for seed in (0, 1)]
    places = Places(tmp_path / "results", tmp_path / "runs")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert [outcome.failure for outcome in run_cells(cells, places, jobs=2)] == [None, None]
    assert all(finished(cell, places) for cell in cells)


def nothing(cell):
    return Outcome(cell)


@tiny
def test_report_shows_the_records_beside_the_paper(two_cells, capsys):
    assert command("report", "tiny") == 2
    assert "structured-vae reproduce tiny" in capsys.readouterr().err
    assert command("reproduce", "tiny", "--seeds", "[0,1]") == 0
    assert command("report") == 0
    page = Path("results/report/tiny.md").read_text()
    rows = {
        line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("|")
    }
    assert "| 145 |" in rows["general"]
    assert "±" in rows["independent"]
    places = Places(Path("results"), Path("runs/reproduce"))
    records = [read_record(places.record(cell)) for cell in two_cells.cells((0, 1), only="general")]
    bounds = [record.evaluation["quantities"]["bound"]["value"] for record in records]
    assert f"{sum(bounds) / 2:.2f} ±" in rows["general"]
    assert Path("results/report/tiny.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in Path("results/report/tiny.svg").read_text()


def test_a_mean_over_seeds_has_its_standard_error():
    assert shown([1.0, 3.0]) == "2.00 ± 1.00"
    assert shown([1.0, 2.0, 3.0, 4.0], 3) == "2.500 ± 0.645"
    assert [shown([2.0]), shown([])] == ["2.00", ""]


GRID = """
title: A grid
view: grid
beside: direct
quantities: {bound: lower, accuracy: higher}
paper: {k2-direct: {bound: 1000, accuracy: 90}, k2-exact: {bound: 1, accuracy: 20}}
base: {encoder: categorical, hidden: 5, epochs: 1}
named: {"exact$": {samples: 2, epochs: 3}, "k2-": {hidden: 7}}
grid: {data.name: [mnist], k: [2], estimator: [direct, exact]}
"""


def record_with(**quantities):
    """A record of one epoch in which only the evaluation matters."""
    return Record(
        cell="",
        config=TrainConfig().to_dict(),
        commit=None,
        versions={"torch": "0"},
        hardware={"processor": "none"},
        seconds=3600.0,
        argmaxes=0,
        epochs=[
            {
                "epoch": 1,
                "ms_per_step": 1.0,
                "seconds": 3600.0,
                "test/bound": 3.0,
                "test/bound_surrogate": 3.0,
            }
        ],
        evaluation={"quantities": {name: {"value": value} for name, value in quantities.items()}},
    )


def test_a_grid_marks_what_is_as_good_as_the_paper(two_cells, tmp_path):
    text = GRID.replace("k2-", "mnist-k2-")
    (experiments.CELLS / "tiny.yaml").write_text(text)
    experiment = Experiment.named("tiny")
    places = Places(Path("results"), Path("runs"))
    direct, exact = experiment.cells()
    assert (direct.config.epochs, direct.config.hidden) == (1, 7)
    assert (exact.config.epochs, exact.config.hidden, exact.config.samples) == (3, 7, 2)
    record_with(bound=999.0, accuracy=0.95).write(places.record(direct))
    record_with(bound=2.0, accuracy=0.1).write(places.record(exact))
    page = write_report(experiment, Path("results"), Path("report")).page.read_text()
    assert "| 2 | **999.00** | 1000 | 2.00 | 1 |" in page
    assert "| 2 | **95.00** | 90 | 10.00 | 20 |" in page
    assert page.split("\n\n")[1] == "**Cells as good as the paper's**"
    assert "| bound, nats | direct | 1 of 1 | 1 of 1 |" in page
    assert "| bound, nats | exact | 0 of 1 | 1 of 1 |" in page


@pytest.mark.usefixtures("empty_figures")
def test_what_is_apart_is_shown_and_not_counted(two_cells):
    (experiments.CELLS / "tiny.yaml").write_text(
        GRID.replace("k2-", "mnist-k2-") + "apart: [mnist]\npaper_epochs: 7\n"
    )
    experiment = Experiment.named("tiny")
    places = Places(Path("results"), Path("runs"))
    record_with(bound=999.0, accuracy=0.95).write(places.record(experiment.cells()[0]))
    page = write_report(experiment, Path("results"), Path("report")).page.read_text()
    assert "| 2 | 999.00 | 1000 |" in page
    assert "as good as" not in page
    assert "not compared" not in page
    assert page.split("\n\n")[1].startswith("**Best accuracy, %**")


def answers(tables, title):
    """The rows of a table of a verdict, by the names of its columns."""
    (table,) = (table for table in tables if table.title.startswith(title))
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def with_an_order():
    with (experiments.CELLS / "tiny.yaml").open("a") as file:
        file.write("\norders:\n  by its recipe: [general, independent]\n")
    return Experiment.named("tiny")


@pytest.mark.parametrize(
    ("general", "independent", "standing"),
    [
        ([2.0], [3.0], "untested"),
        ([2.0, 2.2], [3.0], "untested"),
        ([2.0, 2.2], [3.0, 3.2], "ahead"),
        ([3.0, 3.2], [2.0, 2.2], "behind"),
        ([2.0, 2.2], [2.4, 2.6], "level"),
        ([2.0, 2.2, 2.1], [2.4, 2.6, 2.5], "ahead"),
        # Welch's test, and not Student's, since one of the two varies more
        ([1.0, 3.0, 5.0], [6.4, 6.5, 6.6], "level"),
        ([2.0, 6.0], [2.9, 3.1], "level"),
        ([2.0, 2.0], [3.0, 3.0], "ahead"),
        ([2.0, 2.0], [2.0, 2.0], "level"),
    ],
)
def test_neighbours_in_the_papers_order_are_compared_by_welchs_test(
    two_cells, general, independent, standing
):
    values = {"general": general, "independent": independent}
    records = {
        name: [record_with(bound=9.0, bound_surrogate=value) for value in of_seeds]
        for name, of_seeds in values.items()
    }
    row, *_ = answers(verdict(with_an_order(), records), "The paper's order")
    assert row["training"] == "by its recipe"
    assert row["number"] == "paper's number"
    assert (row["first in the paper"], row["second in the paper"]) == ("general", "independent")
    assert row["first is"] == standing


@pytest.mark.parametrize("size", [2, 3, 8])
def test_the_threshold_of_welchs_test_is_five_percent(size):
    generator = np.random.default_rng(size)
    for _ in range(50):
        first, second = generator.normal(size=size), 1.5 + 2 * generator.normal(size=size)
        spread = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / size)
        shares = np.array([first.var(ddof=1), second.var(ddof=1)]) / size
        freedom = shares.sum() ** 2 / (shares**2 / (size - 1)).sum()
        area, _ = quad(student_density(freedom), 0, abs(first.mean() - second.mean()) / spread)
        assert differ(first.tolist(), second.tolist()) == (1 - 2 * area < 0.05)


def student_density(freedom):
    """Student's density, from its definition."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    return lambda t: (
        scale / math.sqrt(freedom * math.pi) * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
    )


def test_an_order_is_looked_for_in_the_valid_bound_and_in_log_p_too(two_cells):
    values = {
        "general": ([2.0, 2.2], [5.0, 5.2], [8.0, 8.2]),
        "independent": ([3.0, 3.2], [5.1, 5.3], [7.0, 7.2]),
    }
    columns = ("bound_surrogate", "bound", "minus_log_p")
    records = {
        name: [
            record_with(**dict(zip(columns, run, strict=True)))
            for run in zip(*numbers, strict=True)
        ]
        for name, numbers in values.items()
    }
    rows = answers(verdict(with_an_order(), records), "The paper's order")
    assert {row["number"]: row["first is"] for row in rows} == {
        "paper's number": "ahead",
        "valid bound": "level",
        "-log p(x)": "behind",
    }
    assert rows[0]["first, mean ± sd"] == "2.10 ± 0.14"


def test_margins_that_are_less_than_what_seeds_differ_by_are_level(two_cells):
    (experiments.CELLS / "tiny.yaml").write_text(GRID.replace("k2-", "mnist-k2-"))
    experiment = Experiment.named("tiny")
    direct, exact = experiment.cells()
    paper = experiment.paper[direct.name]["bound"]
    other = experiment.paper[exact.name]["bound"]
    several = [paper - 3.0, paper + 1.0]  # a mean 1 below the paper's, a deviation of 2.83
    records = {
        direct.name: [record_with(bound=value) for value in several],
        exact.name: [record_with(bound=other + 2.8)],
    }

    def verdicts():
        tables = verdict(experiment, records)
        rows = answers(tables, "Compared with the paper")
        level = [row["level"] for row in answers(tables, "Cells as good")]
        return [row["verdict"] for row in rows], level

    assert verdicts() == (["level", "level"], ["1 of 1", "1 of 1"])
    records[exact.name] = [record_with(bound=other + 2.9)]
    assert verdicts() == (["level", "worse"], ["1 of 1", "0 of 1"])
    records[direct.name] = records[direct.name][:1]
    assert verdicts() == (["better", "worse"], ["", ""])


def test_a_comparison_has_the_papers_number_ours_and_the_seeds(two_cells):
    (experiments.CELLS / "tiny.yaml").write_text(GRID.replace("k2-", "mnist-k2-"))
    experiment = Experiment.named("tiny")
    direct, exact = experiment.cells()
    records = {
        direct.name: [record_with(bound=value) for value in (3.0, 5.0)],
        exact.name: [record_with(bound=999.0)],
    }
    rows = answers(verdict(experiment, records), "Compared with the paper")
    assert rows[0] == {
        "cell": direct.name,
        "quantity": "bound, nats",
        "paper": f"{experiment.paper[direct.name]['bound']:g}",
        "ours, mean ± sd": "4.00 ± 1.41",
        "seeds": "2",
        "verdict": "better",
    }
    assert (rows[1]["ours, mean ± sd"], rows[1]["verdict"]) == ("999.00", "worse")


def test_an_order_has_the_epoch_from_which_it_holds(two_cells):
    curves = {"general": [9.0, 3.0, 4.0, 2.0], "independent": [8.0, 4.0, 3.5, 3.0]}
    records = {
        name: [
            replace(
                record_with(bound=losses[-1]),
                epochs=[
                    {"epoch": 5 * place, "ms_per_step": 1.0, "seconds": 1.0, "test/bound": loss}
                    for place, loss in enumerate(losses, 1)
                ],
            )
        ]
        for name, losses in curves.items()
    }
    rows = answers(verdict(with_an_order(), records), "The paper's order")
    assert [row["all in order from epoch"] for row in rows] == ["20", ""]


def test_the_papers_number_is_that_after_as_many_epochs_where_it_is_known(two_cells):
    with (experiments.CELLS / "tiny.yaml").open("a") as file:
        file.write("\npaper_after:\n  1: {general: {bound: 150}}\n")
    experiment = Experiment.named("tiny")
    assert experiment.paper_of("general", 1) == {"bound": 150}
    assert experiment.paper_of("general", 2) == {"bound": 145}

    def comparison(record):
        tables = verdict(experiment, {"general": [record]})
        (row,) = answers(tables, "Compared with the paper")
        return row["paper"], row["verdict"]

    assert comparison(record_with(bound=149.0)) == ("150 after 1", "better")
    longer = replace(
        record_with(bound=149.0),
        epochs=[{"epoch": 2, "ms_per_step": 1.0, "seconds": 1.0, "test/bound": 3.0}],
    )
    assert comparison(longer) == ("145", "worse")


def test_hours_leave_out_an_epoch_in_which_the_training_stood_still():
    seconds = [3600.0, 18000.0, 72000.0, 3600.0, 3600.0]
    rows = [{"epoch": place, "seconds": each} for place, each in enumerate(seconds, 1)]
    assert replace(record_with(), epochs=rows).hours == pytest.approx([1, 6, 7, 8, 9])


def test_hours_of_several_epochs_to_a_row_are_no_pause():
    rows = [{"epoch": epoch, "seconds": 3600.0} for epoch in (1, 2, 3)] + [
        {"epoch": 23, "seconds": 72000.0}
    ]
    assert replace(record_with(), epochs=rows).hours == pytest.approx([1, 2, 3, 23])


@pytest.mark.usefixtures("empty_figures")
def test_a_report_says_what_a_cell_holds_beside_references_and_of_code_in_no_commit(
    two_cells, capsys
):
    with (experiments.CELLS / "tiny.yaml").open("a") as file:
        file.write("\nreferences: [other/gaussian, other/not-run]\n")
    places = Places(Path("results"), Path("runs"))
    independent, general = two_cells.cells()
    clean, dirty = (
        record_with(bound=2.0, refined_bound=1.0),
        replace(record_with(bound=3.0), commit="0a1b-dirty"),
    )
    replace(clean, config=independent.config.to_dict(), commit="0a1b").write(
        places.record(independent)
    )
    replace(dirty, config=general.config.to_dict()).write(places.record(general))
    gaussian = {**general.config.to_dict(), "encoder": "gaussian"}
    replace(record_with(bound=1.5), config=gaussian).write(
        Path("results/other/gaussian-seed0.json")
    )
    page = write_report(Experiment.named("tiny"), Path("results"), Path("report")).page.read_text()
    rows = table_of(page)
    assert [row["cell"] for row in rows] == ["independent", "general", "for reference: gaussian"]
    assert [row["holds at most"] for row in rows] == ["2.1", "2.1", ""]  # 3 log 2
    assert [row["code"] for row in rows] == ["", "in no commit", ""]
    assert rows[2]["bound"] == "1.50"
    replace(
        clean, config=general.config.to_dict(), commit="0a1b", commits=["0a1b-dirty", "0a1b"]
    ).write(places.record(general))
    assert command("report", "tiny") == 0
    assert "in no commit" in capsys.readouterr().out


@pytest.mark.usefixtures("empty_figures")
def test_a_refined_bound_stands_beside_what_it_costs(two_cells):
    places = Places(Path("results"), Path("runs"))
    for cell in two_cells.cells():
        record_with(bound=2.0, refined_bound=1.0).write(places.record(cell))
    page = write_report(two_cells, Path("results"), Path("report")).page.read_text()
    general = next(row for row in table_of(page) if row["cell"] == "general")
    # two moves, n + 1 decodes each
    assert general["decodes to refine"] == str(2 * (TrainConfig().n + 1))


def table_of(page):
    """The rows, by column, of the last table of a page."""
    *_, table, _ = page.split("\n\n")
    lines = [line[1:-1].split("|") for line in table.splitlines()]
    header, _, *body = [[cell.strip() for cell in line] for line in lines]
    return [dict(zip(header, row, strict=True)) for row in body]


@pytest.mark.usefixtures("empty_figures")
def test_a_report_prints_its_verdict_and_whole_names(two_cells, set_columns, capsys):
    set_columns(30)
    places = Places(Path("results"), Path("runs"))
    for cell in two_cells.cells():
        record_with(bound=1234.56789).write(places.record(cell))
    assert command("report", "tiny") == 0
    out = capsys.readouterr().out
    assert out.count(" 1234.57 ") == 3  # each cell, and the one that is compared with the paper
    assert "Compared with the paper" in out
    assert out.count(" worse ") == 1
    assert all(f" {cell.name} " in out for cell in two_cells.cells())


def test_hours_are_those_of_cells_of_the_same_kind(two_cells, capsys):
    cell = two_cells.cells()[0]
    record_with(bound=2.0).write(Places(Path("results"), Path("runs")).record(cell))
    assert command("reproduce", "tiny", "--dry_run", "--seeds", "[0,1]", "--epochs", "3") == 0
    out = capsys.readouterr().out
    assert out.count("3.00") == 2  # an hour an epoch, for both seeds of that cell
    assert out.count("?") >= 2


def test_hours_of_a_plan_are_those_of_epochs_where_a_row_has_several(two_cells, capsys):
    cell = two_cells.cells()[0]
    rows = [{"epoch": epoch, "seconds": 5 * 3600.0} for epoch in (5, 10)]
    replace(record_with(bound=2.0), epochs=rows).write(
        Places(Path("results"), Path("runs")).record(cell)
    )
    assert command("reproduce", "tiny", "--dry_run", "--seeds", "[0,1]", "--epochs", "3") == 0
    assert "3.00" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("estimator", "encoder", "note"),
    [
        ("ram", "general", ""),
        ("score_function", "general", ""),
        ("direct", "general", " (no bound)"),
        ("direct", "independent", ""),
    ],
)
def test_a_curve_is_called_no_bound_where_states_are_perturbed(two_cells, estimator, encoder, note):
    settings = {**TrainConfig().to_dict(), "estimator": estimator, "encoder": encoder}
    rows = [{"epoch": 1, "seconds": 1.0, "test/bound": 5.0, "test/bound_surrogate": 4.0}]
    figure = curves(two_cells, {"cell": [replace(record_with(), config=settings, epochs=rows)]})
    (line,) = [
        line for line in figure.subfigs[0].axes[0].get_lines() if line.get_label() == "cell" + note
    ]
    assert line.get_ydata() == pytest.approx([4.0 if note else 5.0])


def test_a_curve_that_leaves_the_numbers_is_drawn_as_far_as_it_goes(two_cells):
    rows = [
        {"epoch": epoch, "seconds": 1.0, "test/bound": loss}
        for epoch, loss in ((1, 5.0), (2, math.nan))
    ]
    settings = {**TrainConfig().to_dict(), "encoder": "independent"}
    records = [replace(record_with(), config=settings, epochs=each) for each in (rows, rows[:1])]
    for of_seeds in (records, records[1:]):
        low, high = curves(two_cells, {"cell": of_seeds}).subfigs[0].axes[0].get_ylim()
        assert low < 5.0 < high


def test_a_plan_needs_neither_data_nor_slow_packages():
    lines = (
        "import atexit, os, sys; from structured_vae.cli import main; "
        "atexit.register(lambda: os._exit(1) if {'torch', 'matplotlib'} & sys.modules.keys() else None); "
        "main(['reproduce', 'table1', '--dry_run'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "omniglot-k50-direct-seed0" in done.stdout


@pytest.mark.parametrize("name", experiment_names())
def test_a_plain_call_finds_the_records_of_this_repository(name):
    places, experiment = (
        Places(Path(__file__).parents[1] / "results", Path("runs")),
        Experiment.named(name),
    )
    cells = experiment.cells(seeds=range(3))
    records = [
        (cell, record) for cell in cells if (record := read_record(places.record(cell))) is not None
    ]
    assert records
    assert {cell.title: cell.config.epochs for cell, _ in records} == {
        cell.title: record.config["epochs"] for cell, record in records
    }
    assert all(finished(cell, places) for cell, _ in records)


def test_a_cell_has_the_defaults_of_its_model():
    assert Experiment.named("celeba").cells()[0].config.data.binarisation == "none"
    settings = [("model", "mixture"), ("epsilon.rate", 0.5), ("epsilon", {"floor": 0.05})]
    config = experiments._config(settings)
    assert config.dropout == TrainConfig(model="mixture").dropout == 0.2
    assert asdict(config.epsilon) == {"start": 0.1, "rate": 0.5, "floor": 0.05, "every": 1000}


@tiny
def test_a_lost_picture_fails_its_cell_alone_and_leaves_no_record(two_cells, capsys):
    places = Places(Path("results"), Path("runs/reproduce"))
    cell = two_cells.cells()[0]
    assert command("reproduce", "tiny", "--epochs", 1) == 0
    places.record(cell).unlink()
    (places.run(cell).pictures / "samples-0001.png").unlink()
    assert command("reproduce", "tiny", "--epochs", 1) == 2
    assert "samples-0001.png is missing: put it back, or delete" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not places.record(cell).exists()


@tiny
def test_pictures_of_the_cells_are_shown_side_by_side(two_cells):
    text = "title: Samples\nview: pictures\ncells_of: tiny\nonly: independent\n"
    (experiments.CELLS / "samples.yaml").write_text(text)
    samples, places = Experiment.named("samples"), Places(Path("results"), Path("runs/reproduce"))
    assert command("reproduce", "samples") == 0
    found = write_report(samples, places.results, Path("report"))
    assert all(path.stat().st_size > 1000 for path in found.pictures)
    places.picture(samples.cells()[0]).unlink()
    with pytest.raises(RunError, match=r"independent-seed0.png is missing; delete the record"):
        write_report(samples, places.results, Path("report"))


def test_the_gradients_of_the_repository_are_drawn(tmp_path):
    results = Path(__file__).parents[1] / "results"
    found = write_report(Experiment.named("bias-variance"), results, tmp_path)
    assert "mnist-k10-exact" in found.page.read_text()
    assert all(path.stat().st_size > 10_000 for path in found.pictures)
    assert "\n".join(found.verdict[0].markdown()) in found.page.read_text()


def test_the_verdict_on_gradients_takes_each_estimator_at_its_best_setting():
    report = GradientReport(
        0.3, 0, 0, 0.16, cosine=1, z_score=0, norm=2, microseconds=1, stats={}, draws=9
    )
    reports = {
        "direct 0.1": replace(report, bias=3.0),
        "direct 0.5": report,
        "RAM": replace(report, bias=0.0),
    }
    (table,) = gradients_verdict(reports)
    assert table.rows == [
        ["RAM", "", "0.4"],
        ["direct", "0.5", "0.5"],
        ["norm of the gradient", "", "2"],
    ]


def test_the_verdict_on_attributes_has_the_majority_and_what_another_network_finds():
    shares = {"appears_Male": 0.9, "appears_Smiling": 0.7}
    records = {
        "one": [record_with(accuracy=0.8, majority=0.6)],
        "two": [record_with(accuracy=0.7, majority=0.6, **shares)],
    }
    best, faces = attributes_verdict(records)
    assert best.title == "Best accuracy, %"
    assert best.rows == [
        ["one", "80.00", "1", "best"],
        ["two", "70.00", "1", "untested"],
        ["majority", "60.00", "", "reference"],
    ]
    assert faces.rows == [["two", "80.0"], ["chance", "50.0"]]


def without_the_paper(experiment):
    return Experiment(
        "", {key: experiment.content[key] for key in experiment.content.keys() - {"paper"}}
    )


def test_where_the_paper_has_nothing_the_verdict_has_the_references(two_cells):
    references = {"other": [record_with(bound=5.0), record_with(bound=6.0)]}
    records = {"first": [record_with(bound=7.0)], "second": [record_with(bound=8.0)]}
    (table,) = verdict(without_the_paper(two_cells), records, references)
    assert table.title == "Best bound, nats"
    assert table.rows == [
        ["first", "7.00", "1", "best"],
        ["second", "8.00", "1", "untested"],
        ["other", "5.50 ± 0.71", "2", "reference"],
    ]
    (table,) = verdict(without_the_paper(two_cells), {"first": records["first"] * 2})
    assert table.rows == [["first", "7.00 ± 0.00", "2", "best"]]
    assert verdict(without_the_paper(two_cells), {}) == []


@pytest.mark.parametrize(
    ("first", "second", "standing"),
    [
        ([7.0, 7.1, 7.2], [8.0, 8.1, 8.2], "behind"),
        ([7.0, 7.9, 8.1], [7.2, 8.0, 8.2], "level"),
        ([7.0, 7.1, 7.2], [8.0], "untested"),
        ([7.0], [8.0, 8.1], "untested"),
    ],
)
@pytest.mark.parametrize(("quantity", "sign"), [("bound", 1), ("accuracy", -1)])
def test_the_second_best_is_behind_where_seeds_say_so(
    two_cells, first, second, standing, quantity, sign
):
    records = {
        name: [record_with(**{quantity: sign * value}) for value in values]
        for name, values in (("second", second), ("first", first))
    }
    (table,) = verdict(without_the_paper(two_cells), records)
    assert [(row[0], row[-1]) for row in table.rows] == [("first", "best"), ("second", standing)]


@pytest.mark.parametrize(
    ("recipe", "rate_decay", "dropout", "paper_epochs", "epochs", "said"),
    [
        ("elbo", "none", 0.0, 300, "300", "another"),
        ("paper", "cosine", 0.0, 300, "300", "another"),
        ("paper", "none", 0.5, None, "not stated", "another"),
        ("paper", "none", 0.0, 300, "300", "paper"),
    ],
)
def test_the_verdict_has_the_setting_of_the_compared_cells(
    two_cells, recipe, rate_decay, dropout, paper_epochs, epochs, said
):
    if paper_epochs is not None:
        path = experiments.CELLS / "tiny.yaml"
        path.write_text(path.read_text() + f"\npaper_epochs: {paper_epochs}\n")
    record = record_with(bound=1.0)
    record.config.update(recipe=recipe, rate_decay=rate_decay, dropout=dropout)
    tables = verdict(Experiment.named("tiny"), {"general": [record]})
    assert answers(tables, "Setting") == [
        {"setting": "binarisation", "ours": "threshold", "paper": ""},
        {"setting": "epochs", "ours": "1", "paper": epochs},
        {"setting": "recipe", "ours": said, "paper": "paper"},
    ]


def test_the_setting_names_another_binarisation(two_cells):
    record = record_with(bound=1.0)
    record.config["data"]["binarisation"] = "sample"
    row, *_ = answers(verdict(two_cells, {"general": [record]}), "Setting")
    assert row["ours"] == "sample"


def test_the_papers_bounds_of_coupled_bits_are_not_called_bounds(two_cells):
    record = record_with(bound=146.0, bound_surrogate=144.0)
    for kind, name in (
        ("bound", "bound, nats"),
        ("not a bound", "number (not a bound where bits are coupled), nats"),
    ):
        record.evaluation["quantities"]["bound_surrogate"]["kind"] = kind
        (row,) = answers(verdict(two_cells, {"general": [record]}), "Cells as good")
        assert (row["quantity"], row["as good as the paper's"]) == (name, "1 of 1")


@tiny
def test_a_record_of_other_settings_is_not_taken_for_the_cell(two_cells, set_columns, capsys):
    assert command("reproduce", "tiny", "--only", "general") == 0
    record = Path("results/tiny/general-seed0.json")
    values = json.loads(record.read_text())
    del values["config"]["bandwidth"]  # a default that came later, and one that changed
    values["config"]["data"]["train_on"] = "all"
    record.write_text(json.dumps(values))
    (experiments.CELLS / "tiny.yaml").write_text(
        TINY.replace("picture_every: 0", "picture_every: 1")
    )
    assert command("reproduce", "tiny", "--only", "general") == 0
    assert "1 of 1 cells are finished" in capsys.readouterr().out
    (experiments.CELLS / "tiny.yaml").write_text(
        TINY.replace("hidden: 5", "hidden: 9").replace("size: 100", "size: 50")
    )
    before = record.read_bytes()
    assert command("reproduce", "tiny", "--only", "general") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "is of other settings (hidden, data.batch_size): choose its own, delete it" in said
    assert record.read_bytes() == before
    set_columns(200)
    assert command("reproduce", "tiny", "--only", "general", "--dry_run") == 0
    assert "with other hidden, data.batch_size" in capsys.readouterr().out


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("decay", ["cosine", "none"])
def test_a_record_of_other_epochs_is_another_where_the_rate_falls_over_them(two_cells, decay):
    (experiments.CELLS / "tiny.yaml").write_text(TINY.replace("n: 3", f"n: 3, rate_decay: {decay}"))
    assert command("reproduce", "tiny", "--only", "general") == 0
    falls = decay == "cosine"
    for epochs, code in ((1, 2 * falls), (2, 0), (3, 2 * falls)):
        assert command("reproduce", "tiny", "--only", "general", "--epochs", epochs) == code


def test_damaged_records_are_named(two_cells):
    path = Places(Path("results"), Path("runs")).record(two_cells.cells()[0])
    path.parent.mkdir(parents=True)
    path.write_text("{")
    with pytest.raises(RunError, match=r"independent-seed0.json is not a record"):
        write_report(two_cells, Path("results"), Path("report"))


@pytest.mark.parametrize(
    ("epochs", "words"),
    [
        ([{"epoch": 1, "seconds": 2.0}, {"epoch": 1, "seconds": 2.0}], "row 1 is of epoch 1, and"),
        ([{"epoch": 1}], "row 0 of its epochs lacks epoch or seconds"),
        ([[1, 2.0]], "row 0 of its epochs lacks epoch or seconds"),
    ],
)
def test_rows_of_epochs_edited_by_hand_are_named(two_cells, epochs, words):
    cell = two_cells.cells()[0]
    places = Places(Path("results"), Path("runs"))
    replace(record_with(), epochs=epochs).write(places.record(cell))
    with pytest.raises(RunError, match=f"is not a record: {words}"):
        write_report(two_cells, Path("results"), Path("report"))
    run = places.run(cell)
    run.folder.mkdir(parents=True)
    (run.folder / "record.json").write_text(json.dumps({"epochs": epochs}))
    with pytest.raises(RunError, match=rf"record.json is missing or damaged \({words}"):
        record_of_run(cell, run, 1, 10, None)


def test_hours_of_a_curve_are_the_median_of_the_seeds(two_cells):
    settings = {**TrainConfig().to_dict(), "encoder": "independent"}
    of_seeds = [
        replace(
            record_with(),
            config=settings,
            epochs=[{"epoch": 1, "seconds": 3600.0 * hours, "test/bound": 5.0}],
        )
        for hours in (9.0, 1.0, 2.0)
    ]
    _, right = curves(two_cells, {"cell": of_seeds}).subfigs[0].axes
    assert right.get_lines()[0].get_xdata() == pytest.approx([2.0])


def test_long_names_of_cells_are_not_cut_off(two_cells):
    settings = {**TrainConfig().to_dict(), "encoder": "independent"}
    rows = [{"epoch": 1, "seconds": 1.0, "test/bound": 5.0}]
    names = [f"supermodular-direct-annealed-in-its-own-way-{number}" for number in range(3)]
    figure = curves(
        two_cells, {name: [replace(record_with(), config=settings, epochs=rows)] for name in names}
    )
    figure.draw_without_rendering()
    (legend,) = figure.subfigs[0].legends
    assert legend.get_window_extent().x1 <= figure.bbox.x1
