"""README and pages: examples run, links lead somewhere, tables and numbers are those of registry and records."""

import ast
import doctest
import importlib
import json
import math
import re
import runpy
from itertools import combinations, product
from pathlib import Path
from statistics import mean, median

import pytest
from PIL import Image
from scipy.stats import ttest_ind

import solvers
from benchmarks.losses import at_step, ends, milliseconds
from benchmarks.outside_cliques import CLIQUES
from benchmarks.outside_losses import proves, standing
from benchmarks.regret import kept
from solvers import solver_class
from solvers.labels import solve as solve_labels
from solvers.registry import BUILT_IN
from structured_vae import TrainConfig
from structured_vae.data import dataset_names
from structured_vae.estimators import ESTIMATORS, EstimatorOptions
from structured_vae.reproduction import Experiment
from structured_vae.reproduction.quantities import shown
from structured_vae.reproduction.report import records_of
from structured_vae.reproduction.verdict import verdict
from structured_vae.spaces import SPACES

ROOT = Path(__file__).parent.parent
MODULES = [
    "solvers",
    "solvers.conversions",
    "solvers.formats",
    "models",
    "structured_vae",
    "structured_vae.data",
    "structured_vae.learn",
]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def record(path):
    return json.loads(text(f"results/{path}"))


def test_the_examples_of_the_readme_run():
    found = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert found.attempted > 10
    assert not found.failed


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "results/README.md"])
def test_links_to_files_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)", text(page)):
        assert target.startswith("https://") or (ROOT / page).parent.joinpath(target).exists(), (
            target
        )


def test_the_check_of_built_pages_names_what_leads_nowhere(tmp_path):
    page = """<h1 id="top"></h1><a href="#top"></a><a href="b.html#there"></a><a href="https://example.org/x"></a>
    <a href="#gone"></a><a href="b.html#gone"></a><a href="c.html"></a><img src="gone.png">"""
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="there"></p>', encoding="utf-8")
    found = runpy.run_path(str(ROOT / "docs" / "built_html.py"))["broken_targets"](tmp_path)
    assert list(found) == [
        "a.html: #gone",
        "a.html: b.html#gone",
        "a.html: c.html",
        "a.html: gone.png",
    ]


def test_a_build_that_is_heavy_or_does_not_know_a_word_is_refused_and_pictures_come_late(tmp_path):
    built = runpy.run_path(str(ROOT / "docs" / "built_html.py"))
    page = tmp_path / "a.html"
    page.write_text(
        '<img src="1.png"><p><img src="2.png"><img loading="eager" src="3.png">', encoding="utf-8"
    )
    for _ in range(2):
        built["fetch_late"](page)
        assert page.read_text(encoding="utf-8") == (
            '<img src="1.png"><p><img loading="lazy" src="2.png"><img loading="eager" src="3.png">'
        )
    assert list(built["heavy_pages"](tmp_path)) == []
    page.write_text("x" * 300_001, encoding="utf-8")
    assert list(built["heavy_pages"](tmp_path)) == [(page, 300_001)]
    index = tmp_path / "searchindex.js"
    known = {word: 0 for word in built["WORDS"] if word != "qubo"}
    index.write_text(
        f"Search.setIndex({json.dumps({'terms': known, 'titleterms': {}})})", encoding="utf-8"
    )
    assert built["unknown_words"](index) == ["qubo"]


def test_what_was_made_is_made_again_where_a_file_is_another(tmp_path):
    marks = runpy.run_path(str(ROOT / "docs" / "build_marks.py"))
    source, mark = tmp_path / "source", tmp_path / "made" / "mark"
    source.mkdir()
    (source / "a.py").write_text("1")
    assert marks["changed"](mark, [source])
    marks["keep"](mark, [source])
    assert not marks["changed"](mark, [source])
    (source / "a.py").write_text("2")
    assert marks["changed"](mark, [source])
    marks["keep"](mark, [source])
    (source / "b.py").write_text("")
    assert marks["changed"](mark, [source])


def test_every_topic_of_the_reference_has_a_summary_of_its_objects():
    pages = runpy.run_path(str(ROOT / "docs" / "api_pages.py"))
    topics = {topic.name: topic for topic in pages["topics"]()}
    assert set(pages["ALSO"]) <= set(topics)
    assert len(topics) > 30
    listed = dict(topics["solvers-solving"].entries())
    assert listed["solvers.solve"] is solvers.solve
    assert "| {py:obj}`solve <solvers.solve>` | " in pages["page"](topics["solvers-solving"])
    assert dict(topics["solvers-labels"].entries())["solvers.labels.solve"] is solve_labels


def counts_of(name):
    """By quantity and line, how many cells are as good as the paper's, level, and as another's."""
    experiment = Experiment.named(name)
    counts, *_ = verdict(experiment, records_of(experiment, ROOT / "results"))
    return {(quantity, line): shares for quantity, line, *shares in counts.rows}


def documented():
    """Full names of what the API pages have, with the members of modules that are shown whole."""
    names = set()
    for page in (ROOT / "docs" / "api").glob("*.md"):
        current = "solvers" if page.stem == "solvers" else "models"
        directives = r"^\.\. (\w+):: ([\w.]+)(?:\n   :(\w+):)?"
        for kind, name, option in re.findall(
            directives, page.read_text(encoding="utf-8"), re.MULTILINE
        ):
            if kind == "currentmodule":
                current = name
            elif kind == "automodule" and option == "members":
                names |= {f"{name}.{each}" for each in dir(importlib.import_module(name))}
            elif kind.startswith("auto"):
                names |= {name, f"{current}.{name}"}
    return names


@pytest.mark.parametrize("module", MODULES)
def test_every_public_object_is_on_an_api_page(module):
    last = {
        name.rpartition(".")[2]
        for name in documented()
        if name.split(".")[0] == module.split(".")[0]
    }
    missing = sorted(set(importlib.import_module(module).__all__) - last)
    assert not missing, f"put them on docs/api/{module.split('.')[0]}.md: {missing}"


def test_every_backend_is_on_the_api_page():
    classes = {f"{cls.__module__}.{cls.__name__}" for cls in map(solver_class, BUILT_IN)}
    assert classes <= documented()


@pytest.mark.parametrize("table", [ESTIMATORS, SPACES], ids=["estimators", "spaces"])
def test_every_estimator_and_every_space_is_on_the_api_page(table):
    classes = {f"{table[name].__module__}.{table[name].__name__}" for name in table.built_in}
    missing = sorted(classes - documented())
    assert not missing, f"put them on docs/api/structured_vae.md: {missing}"


def test_every_data_set_has_a_row_on_its_page():
    first_table = text("docs/data_sets.md").partition("## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \|", first_table, re.MULTILINE)
    assert sorted(rows) == sorted(dataset_names())


def test_the_figure_of_the_readme_is_that_of_the_records():
    script = "docs/figures/bound_by_wall_clock.py"
    figure = runpy.run_path(str(ROOT / script))
    with Image.open(figure["PICTURE"]) as picture:
        assert picture.text["Description"] == figure["digest"](), f"draw it anew: python {script}"


TEN, THIRTY = "fashion-mnist-n15-10-epochs", "fashion-mnist-n15-30-epochs"


def quantities(path):
    return {key: each["value"] for key, each in record(path)["evaluation"]["quantities"].items()}


def last_row(name):
    row = record(f"{TEN}/{name}.json")["epochs"][-1]
    return row["test/bound_surrogate"], row["test/bound"]


def of_qplib():
    rows = record("qplib.json")["rows"].values()
    return [sum(row["proved"] for row in rows), len(rows)]


def of_exact_benchmarks():
    rows = record("qplib.json")["rows"].values()
    open_rows = [row for row in rows if not row["proved"]]
    assert [row["n"] for row in open_rows] == [500]
    assert all(seconds >= 3600 for seconds in open_rows[0]["published"].values())
    published = {
        name: sum(row["published"][name] < 3600 for row in rows)
        for name in open_rows[0]["published"]
    }
    best = max(published, key=published.get)
    yield "{}, the best published solver, solves {} on another machine.", [best, published[best]]
    regret = record("regret.json")["rows"]
    ours, others = (
        re.search(r"on (\d+) of (\d+) families", kept(regret, third)).groups()
        for third in (False, True)
    )
    words = "families of problems, `auto` takes at most twice the time of our best backend."
    yield f"On {{}} of {{}} {words}** The count is the same if", ours
    assert ours == others
    assert int(others[1]) - int(others[0]) == 1
    yield "for one of {} families of problems: chimera graphs", [ours[1]]
    chimera = regret["chimera, +-1, 6"]["answers"]
    assert not any(answer["proved"] for answer in chimera.values())
    gaps = {name: answer["bound"] - answer["score"] for name, answer in chimera.items()}
    assert round(gaps["auto"] / gaps["branch_and_bound"]) == 6  # "six times that of"
    longest = max(row["seconds"] for row in rows if row["proved"])
    yield "`auto` needs at most {:.0f} s of CPU time for each of its proofs", [longest]
    quick = sum(row["proved"] and row["seconds"] <= 2 for row in rows)
    yield "seven of the {} problems that `auto` proves in two seconds", [quick]
    yield "`auto` solves {} of the {} binary problems of QPLIB", [*of_qplib()]


def of_known_optima():
    collections = record("library.json")["collections"].values()
    by_search = [row for rows in collections for row in rows if row["solver"] == "local_search"]
    others = [row for rows in collections for row in rows if row["solver"] != "local_search"]
    reached = sum(row["reached"] for row in by_search)
    yield "reaches the best known value of {} of {} others", [reached, len(by_search)]
    assert all(row["proved"] and row["reached"] for row in others)
    yield "proves all {} problems", [len(others)]
    yield "of the {} + {} problems were seen", [len(by_search), len(others)]
    for title, name in {
        "all with n <= 125": "qubo, n <= 125",
        "Markov grids, n <= 400": "Markov grids, n <= 400",
        "maximum flows": "maximum flows",
    }.items():
        rows = record("library.json")["collections"][name]
        longest = max(row["seconds"] for row in rows)
        yield f"{title} | {{}} | {{}} | {{:.2f}} |", [len(rows), len(rows), longest]


def lead_of_the_gaussian(dimensions=50):
    """By how much a Gaussian is ahead of bits, both with a learnt prior."""
    bits, gaussian = (
        quantities(f"many_bits/{name}-seed0.json")["bound"]
        for name in ("bits400-made-reinmax", f"gaussian{dimensions}-made")
    )
    return bits - gaussian


def of_readme():
    proved, instances = of_qplib()
    limits = {row["limit"] for row in record("qplib.json")["rows"].values()}
    assert limits == {3600}  # "one hour per problem"
    yield "`auto` solves {} of the {} [unconstrained binary problems of QPLIB]", [proved, instances]
    cells = [
        ("| one variable of 50 categories | 60", "table1/fashion-mnist-k50-direct-seed0.json"),
        (
            "| 400 bits, learnt autoregressive prior | 200",
            "many_bits/bits400-made-reinmax-seed0.json",
        ),
        ("| Gaussian, 15 dimensions, standard prior | 100", "structured/gaussian-seed0.json"),
        (
            "| Gaussian, 50 dimensions, learnt autoregressive prior | 200",
            "many_bits/gaussian50-made-seed0.json",
        ),
    ]
    bounds = [
        quantities(f"many_bits/{name}-seed0.json")["bound"]
        for name in ("bits400-made-reinmax", "gaussian50-made")
    ]
    yield "learnt prior has the best bound, {:.1f} nats", bounds[:1]
    yield (
        "A Gaussian code with 50 dimensions and a learnt prior is still better: {:.1f} nats",
        bounds[1:],
    )
    for words, path in cells:
        values = quantities(path)
        yield f"{words} | 1 | {{:.1f}} | {{:.1f}} |", [values["bound"], values["minus_log_p"]]
    chain = [mean(by_seed(DROPOUT, "larger", name)) for name in ("bound", "minus_log_p")]
    yield "50 bits on a chain, Gibbs posterior | 70 | 3 | {:.1f} | {:.1f} |", chain
    coupled = [
        mean(by_seed("general-gibbs-annealed", "structured", name))
        for name in ("bound", "minus_log_p")
    ]
    yield "15 coupled bits, Gibbs posterior | 100 | 3 | {:.1f} | {:.1f} |", coupled
    times = record("fifteen_bits.json")["cpu_us_an_instance"]
    general, cuts, others = (
        times[kind] for kind in ("general", "supermodular", "general, beside others")
    )
    for name, solver, scores in (("exhaustive", general, "any sign"), ("max_flow", cuts, ">= 0")):
        ours = [solver[f"{name}, one at a time"], solver[f"{name}, the batch"]]
        yield f"| {scores} | `{name}`, this library | {{:.0f}} us | {{:.1f}} us |", ours
    peer = [cuts["PyMaxflow, one at a time"], cuts["PyMaxflow, the batch as one graph"]]
    yield "| >= 0 | PyMaxflow | {:.0f} us | {:.1f} us (all 100 in one graph) |", peer
    titles = {
        "toulbar2": "toulbar2",
        "CP-SAT": "OR-Tools CP-SAT",
        "CPLEX": "CPLEX",
        "HiGHS": "HiGHS",
    }
    assert others["HiGHS without presolve"] < others["HiGHS"]
    for name, title in titles.items():
        yield f"| any sign | {title} | {{:.1f}} ms | not measured |", [_alone(others, name) / 1000]


def of_hardware():
    steps = record("gpu_steps.json")["ms_a_step"]
    titles = {
        "15 independent bits | `straight_through`": "15 independent bits, straight_through",
        "15 independent bits | `ram`": "15 independent bits, ram",
        "15 independent bits | `relax`": "15 independent bits, relax",
        "one variable of 4 values | `direct`": "one variable of 4 values, direct",
        "15 coupled bits | `score_function`": "15 coupled bits, score_function",
        "15 coupled bits | `exact`": "15 coupled bits, exact",
        "200 independent bits, [MADE](glossary.md#learning) prior | `straight_through`": (
            "200 independent bits, straight-through, MADE prior"
        ),
        "400 independent bits, MADE prior | `reinmax`": (
            "400 independent bits, ReinMax, MADE prior"
        ),
    }
    for title, name in titles.items():
        yield f"| {title} | {{:.2f}} | {{:.2f}} |", list(steps[name].values())
    for title, name in {"`ram`": "ram", "`direct`, the default of `train`": "direct"}.items():
        times = list(steps[f"15 coupled bits, {name}"].values())
        yield f"15 coupled bits | {title} | {{:.2f}} | not measured |", times
    recorded = {name: times["as a graph"] for name, times in steps.items() if len(times) == 2}
    of_independent = [ms for name, ms in recorded.items() if "independent bits" in name]
    of_coupled = [ms for name, ms in recorded.items() if "coupled bits" in name]
    assert median(of_independent) < 1  # "usually less than a millisecond"
    assert 1 < min(of_coupled) < max(of_coupled) < 4  # "1 to 4 milliseconds"
    on_a_core = record("estimators.json")["ms_a_step"]["n = 15"]
    yield (
        "15 independent bits with RAM take about {:.0f} milliseconds",
        [on_a_core["independent, RAM"]],
    )
    steps = record("estimators_gpu.json")["ms_a_step"]
    mixed = [of["bf16-mixed"] / of["32-true"] for of in steps.values() if "bf16-mixed" in of]
    yield "takes {:.2f} to {:.2f} times as long", [min(mixed), max(mixed)]


def of_estimators_on_a_gpu():
    steps = record("estimators_gpu.json")["ms_a_step"]
    rows = [
        ("15 independent bits", "n = 15", "independent"),
        ("15 bits, general scores", "n = 15", "general"),
        ("50 bits on a chain", "n = 50", "chain"),
        ("five variables of 8 values, independent", "5 variables of 8 values", "independent"),
        ("five variables of 8 values, a chain", "5 variables of 8 values", "chain"),
        ("five variables of 8 values, Potts scores", "5 variables of 8 values", "Potts"),
        ("five variables of 8 values, general scores", "5 variables of 8 values", "general"),
    ]
    for words, table, kind in rows:
        ratio = steps[table][f"{kind}, RAM"] / steps[table][f"{kind}, direct, two-sided"]
        yield f"| {words} | {{:.2f}} |", [ratio]
    steps = record("estimators.json")["ms_a_step"]
    on_a_core = [
        steps[table][f"{kind}, RAM"] / steps[table][f"{kind}, direct, two-sided"]
        for _, table, kind in rows
    ]
    yield "these ratios are [at most {:.2f}](", [max(on_a_core)]
    measured = {}
    for row in record("which_estimator.json")["rows"]:
        measured.setdefault(row["estimator"], []).append(row)
    to_avoid = "implicit_mle", "adaptive_implicit_mle", "perturbed_argmax", "sparse_map", "nvil"
    for k, two_sided in enumerate(measured["direct, two sides"]):  # of both encoders
        for name in to_avoid:
            assert measured[name][k]["encoder"] == two_sided["encoder"]
            assert measured[name][k]["bound"] > two_sided["bound"] + 30
    # No other row of the page's tables is that far behind with every encoder that it fits.
    far_behind = {
        name
        for name, rows in measured.items()
        if "bias" in rows[0]
        and all(
            row["bound"] > two_sided["bound"] + 30
            for row, two_sided in zip(rows, measured["direct, two sides"], strict=False)
        )
    }
    assert far_behind == {*to_avoid, "arm"}
    compared = [row for row in record("which_estimator.json")["rows"] if "noise" in row]
    of_independent = [row for row in compared if row["encoder"] == "independent"]
    unbiased = [row for row in of_independent if row["bias"] < 2 * row["resolution"]]
    noisiest = sorted(unbiased, key=lambda row: row["noise"])[-2:]
    assert [row["estimator"] for row in noisiest] == ["arm", "nvil"]
    one, two = (measured[name][-1]["bias"] for name in ("direct", "direct, two sides"))
    yield "raises its bias here, from {:.1f} to {:.1f}", [one, two]
    one, two = (measured[name][-1]["bound"] for name in ("direct", "direct, two sides"))
    yield "is better: {:.1f} instead of {:.1f} nats", [two, one]
    for encoder in ("independent", "general"):
        ends = {row["estimator"]: row["bound"] for row in compared if row["encoder"] == encoder}
        best = {"exact", "ram", "unordered_set"}
        if encoder == "independent":
            best.add("direct, two sides")
        assert set(sorted(ends, key=ends.get)[: len(best)]) == best
    assert {row["decodes"] for row in measured["unordered_set"]} == {4}
    assert {row["decodes"] for row in measured["ram"]} == {11}


def of_score_functions():
    rows = {
        (row["encoder"], row["estimator"]): row for row in record("which_estimator.json")["rows"]
    }

    def noise(encoder, name):
        value = rows[encoder, name]["noise"]
        if value < 1:
            return f"{value:.2f}"
        return f"{value:.2g}"

    sections = {"double_cv": "double-control-variates"}
    for name in ("unordered_set", "score_function", "rodeo", "double_cv", "muprop", "nvil"):
        section = sections.get(name, name.replace("_", "-"))
        decodes = rows["independent", name]["decodes"]
        assert decodes == rows["general", name]["decodes"]
        cells = [noise(encoder, name) for encoder in ("independent", "general")]
        yield f"| [`{name}`](#{section}) | {decodes:.0f} | {' | '.join(cells)} |", []
    alike = {noise("independent", name) for name in ("rebar", "relax")}
    assert len(alike) == 1
    assert ("general", "rebar") not in rows
    link = "[`rebar`, `relax`](#rebar-and-relax)"
    yield f"| {link} | 3 | {alike.pop()} | independent bits only |", []


def of_reproduce():
    for kind, paper in (("general", 145), ("supermodular", 148), ("independent", 153.5)):
        ours = mean(by_seed(f"{kind}-direct", "structured", "bound_surrogate"))
        target = "](measurements_15_bits_recipes.md#the-papers-recipe)" if kind == "general" else ""
        verdict_ = "yes |" if ours <= paper else f"no, {ours - paper:.2f} nats worse |"
        yield f"{kind} bits{target} ↓ | {paper} | {ours:.2f} | {verdict_}", []
    ours = [mean(by_seed(f"{kind}-direct", "structured", "bound_surrogate")) for kind in KINDS]
    yield (
        "difference between general and independent bits ↑ | 8.5 | {:.2f} | no, about half |",
        [ours[1] - ours[0]],
    )
    counts = counts_of("table1")
    yield f"| 10 numbers | {counts['bound, nats', 'direct'][0]} as good | yes |", []
    yield f"| 10 numbers | {counts['bound, nats', 'exact'][0]} as good | mostly |", []
    counts = counts_of("table2")["accuracy, %", "direct"]
    yield f"direct optimization | 10 numbers | {counts[0]} as good | yes |", []
    yield from of_the_lead_of_direct_optimization()
    rows = [
        ("15 coupled bits, Gibbs posterior", "structured", "general-gibbs-annealed", 100),
        ("15 coupled bits, direct optimization", "structured", "general-direct-cosine", 100),
        ("50 bits on a chain, RAM", "larger", DROPOUT, 70),
    ]
    for words, folder, cell, epochs in rows:
        bounds = [shown(by_seed(cell, folder, name), 1) for name in ("bound", "minus_log_p")]
        yield f"| {words} | {epochs} epochs | {' | '.join(bounds)} | 3 |", []
    larger = quantities("larger/n30-direct-two_sided-seed0.json")
    yield "30 coupled bits, direct optimization | 10 epochs | {:.1f} |", [larger["bound"]]
    cells = [
        (
            "400 bits, learnt autoregressive prior, ReinMax | 200",
            "many_bits/bits400-made-reinmax-seed0.json",
        ),
        ("Gaussian, 15 dimensions | 100", "structured/gaussian-seed0.json"),
        (
            "Gaussian, 50 dimensions, learnt autoregressive prior | 200",
            "many_bits/gaussian50-made-seed0.json",
        ),
        ("one variable of 50 categories | 60", "table1/fashion-mnist-k50-direct-seed0.json"),
    ]
    for words, path in cells:
        values = quantities(path)
        yield (
            f"| {words} epochs | {{:.1f}} | {{:.1f}} | 1 |",
            [values["bound"], values["minus_log_p"]],
        )
    lead = [lead_of_the_gaussian()]
    yield "[{:.1f} nats better](learnt_priors.md#bits-and-gaussians)", lead
    fifty = mean(by_seed(DROPOUT, "larger", "bound"))
    gaussian = quantities("structured/gaussian-seed0.json")["bound"]
    yield "[They are {:.1f} nats worse]", [fifty - gaussian]
    step = record("training_step.json")["ms_a_step"]
    slower = 100 * (step["general"] / step["independent"] - 1)
    yield "a step is {:.0f}% slower", [slower]


KINDS = ("general", "independent")
"""The encoders whose bounds the first table compares."""


def of_the_lead_of_direct_optimization():
    """By how many points direct optimization classifies better than Gumbel-softmax."""
    theirs = Experiment.named("table2").paper
    for data, title in (("mnist", ", MNIST"), ("fashion-mnist", "Fashion-MNIST")):
        cells = [
            [f"{data}-{labels}labels-{name}" for name in ("direct", "gumbel_softmax")]
            for labels in (50, 100, 300, 600, 1200)
        ]
        paper = [theirs[one]["accuracy"] - theirs[other]["accuracy"] for one, other in cells]
        ours = [
            100
            * (
                mean(by_seed(one, "table2", "accuracy"))
                - mean(by_seed(other, "table2", "accuracy"))
            )
            for one, other in cells
        ]
        first = [
            quantities(f"table2/{one}-seed0.json")["accuracy"]
            - quantities(f"table2/{other}-seed0.json")["accuracy"]
            for one, other in cells
        ]
        numbers = [(sum(lead > 0 for lead in leads), max(leads)) for leads in (paper, ours)]
        if data == "mnist":
            parts = [
                f"in {count} of 5 cells, by up to {most:.1f} points" for count, most in numbers
            ]
            assert sum(lead > 0 for lead in first) == 3  # "in three of the five cells"
        else:
            parts = [f"in {count} of 5 cells" for count, _ in numbers]
        yield f"{title} | {' | '.join(parts)} |", []


def of_protocol():
    ends = [
        mean(record(path)["epochs"][-1]["validation/bound"] for path in paths)
        for paths in (
            [f"larger/{DROPOUT}-seed{seed}.json" for seed in range(3)],
            ["larger/n50-chain-ram-seed0.json"],
        )
    ]
    yield "the bound is {:.1f} nats with dropout and {:.1f} without", ends
    yield (
        "direct optimization is {:.1f} to {:.1f} nats better",
        gains_of_a_small_epsilon(chosen_bounds()),
    )
    best, chosen = (
        mean(by_seed(f"general-direct-{name}", "structured", "bound"))
        for name in ("annealed", "cosine")
    )
    yield "makes our bounds better | by {:.1f} nats in one row", [chosen - best]
    means = counts_of("table2")["accuracy, %", "direct"][0]
    yield f"from 9 to {means} cases", []


def of_measurements():
    """By how much a search lowers the bounds of coupled bits: the least and the most."""
    ends = []
    of_15_bits = ["structured/general-*.json", "structured/supermodular-*.json"]
    for patterns in (of_15_bits, ["larger/*.json"]):
        gains = []
        paths = [path for pattern in patterns for path in (ROOT / "results").glob(pattern)]
        for path in paths:
            values = quantities(f"{path.parent.name}/{path.name}")
            if "refined_bound" in values:
                gains.append(values["bound"] - values["refined_bound"])
        ends += [min(gains), max(gains)]
    words = "for 15 bits by {:.0f} to {:.0f} nats, and for 20 to 50 bits by {:.0f} to {:.0f} nats"
    yield words, ends


def _alone(others, name):
    """The time of a package by itself, with the better of its settings."""
    return min(time for of, time in others.items() if of in (name, f"{name} without presolve"))


def of_choose():
    rows = record("outside.json")["rows"].values()
    for row in rows:
        if row["family"] in CLIQUES and row["n"] <= 256:
            assert row["answers"]["auto"]["proved"]
            assert row["answers"]["auto"]["seconds"] < 1.0  # "about 200 variables, within a second"
    times = record("fifteen_bits.json")["cpu_us_an_instance"]
    for kind, solver, names in (
        ("general", "`exhaustive`", ("exhaustive, one at a time", "exhaustive, the batch")),
        ("supermodular", "`max_flow`", ("max_flow, one at a time", "max_flow, the batch")),
        (
            *("supermodular", "PyMaxflow, called directly"),
            ("PyMaxflow, one at a time", "PyMaxflow, the batch as one graph"),
        ),
    ):
        yield f"| {solver} | {{:.0f}} us | {{:.1f}} us", [times[kind][name] for name in names]
    others = times["general, beside others"]
    for own, name in (("cplex", "CPLEX"), ("cp_sat", "CP-SAT"), ("highs", "HiGHS")):
        yield (
            f"| `{own}` | {{:.1f}} ms | {{:.1f}} ms (",
            [others[f"here, {own}"] / 1000, _alone(others, name) / 1000],
        )


def of_epsilon_and_sides():
    words = "50,000 steps (batches) | `--sides 1` | weak: [its bound was {:.1f} nats better]"
    yield words, [gain_of_one_side()]
    rows = record("which_estimator.json")["rows"]
    by_name = {(row["encoder"], row["estimator"]): row for row in rows}
    for encoder, word in (("independent", "independent"), ("general", "coupled")):
        sides = [by_name[encoder, name] for name in ("direct", "direct, two sides")]
        numbers = [row[name] for name in ("noise", "cosine") for row in sides]
        yield f"| {word} | {{:.2f}} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", numbers
    names = ("direct, two sides", "exact")
    ends = [by_name["independent", name]["bound"] for name in names]
    yield "after five epochs, their bounds are {:.1f} and {:.1f} nats", ends
    reports = record("bias-variance/gradients.json")["reports"]
    for epsilon, digits in (("0.1", 3), ("0.2", 3), ("0.5", 2)):
        cosines = [
            reports[f"{name} {epsilon}"]["cosine"] for name in ("direct", "direct, two-sided")
        ]
        cells = " | ".join(f"{cosine:.{digits}f}" for cosine in cosines)
        yield f"| epsilon {epsilon} | {cells} |", []


def of_own_styles(paper):
    """With a style for every class, seed 0, beside one style for all."""
    lost = []
    for labels in (50, 100, 300, 600, 1200):
        for data in ("mnist", "fashion-mnist"):
            cell = f"{data}-{labels}labels-direct"
            seeds = by_seed(f"{cell}-own_styles", "table2")
            own, shared = seeds[0], quantities(f"table2/{cell}-seed0.json")
            shares = [
                [100 * run[name] for run in seeds] for name in ("accuracy", "accuracy_sampled")
            ]
            above = min(map(mean, shares)) > paper[cell]["accuracy"]
            # "All means are above the paper's but those"
            assert above != (cell == "mnist-50labels-direct")
            if not above:
                yield "its two accuracies are {:.1f}% and {:.1f}%", [*map(min, shares)]
            bound = shown([run["bound"] for run in seeds])
            both = " | ".join(shown(share, 1) for share in shares)
            yield f"| {labels} | {both} | {{:.1f}} | {bound} |", [paper[cell]["accuracy"]]
            lower = shared["bound"] - own["bound"]
            higher = shares[0][0] - 100 * shared["accuracy"]
            assert lower > 0  # "improves the bound with every number of labels"
            assert (higher > 0) == above  # "except for MNIST with 50 labels"
            name = NAMES_OF_DATA[data]
            yield f"| {name} | {labels} | {{:.1f}} | {{:.1f}} |", [lower, higher]
            lost.append(shares[0][0] - shares[1][0])
    assert max(lost) < 3  # "at most three points lower"


CELLS_OF_TABLE2 = list(product(("mnist", "fashion-mnist"), (50, 100, 300, 600, 1200)))
NAMES_OF_DATA = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}


def of_cells_with_few_labels(name, unit, form):
    """The rows of a quantity with seed 0, and how many of direct optimization are as good as the paper's."""
    paper = Experiment.named("table2").paper
    as_good = 0
    for data, labels in CELLS_OF_TABLE2:
        cells = [f"{data}-{labels}labels-{name_}" for name_ in ("direct", "gumbel_softmax")]
        numbers = [
            value
            for cell in cells
            for value in (unit * quantities(f"table2/{cell}-seed0.json")[name], paper[cell][name])
        ]
        as_good += numbers[0] >= numbers[1]
        yield f"| {NAMES_OF_DATA[data]} | {labels} | " + " | ".join([form] * 4) + " |", numbers
    if name != "bound":
        first, means = f"{as_good} of 10", counts_of("table2")[TITLES_OF_SHARES[name]][0]
        if name == "accuracy":
            yield f"| accuracy, direct optimization | {first} | {means} |", []
        else:
            yield f"| drawn | {first} cells | {means} cells |", []


TITLES_OF_SHARES = {
    "accuracy": ("accuracy, %", "direct"),
    "accuracy_sampled": ("accuracy of a drawn class, %", "direct"),
}


def of_semi_supervised():
    estimators = {"direct": "direct", "gumbel_softmax": "Gumbel-softmax"}
    for data, title in NAMES_OF_DATA.items():
        names = [
            [f"{data}-{labels}labels-{name}" for name in estimators]
            for labels in (50, 100, 300, 600, 1200)
        ]
        theirs = Experiment.named("table2").paper
        paper = sum(theirs[one]["accuracy"] > theirs[other]["accuracy"] for one, other in names)
        first, means = (
            sum(of(one) > of(other) for one, other in names)
            for of in (
                lambda cell: by_seed(cell, "table2", "accuracy")[0],
                lambda cell: mean(by_seed(cell, "table2", "accuracy")),
            )
        )
        yield f"| {title} | {paper} of 5 | {first} of 5 | {means} of 5 |", []
    yield from of_cells_with_few_labels("accuracy", 100, "{:.1f}")
    yield from of_cells_with_few_labels("bound", 1, "{:.2f}")
    near = [
        ("fashion-mnist", 50, "direct"),
        *(("mnist", labels, "direct") for labels in (300, 600, 1200)),
    ]
    for data, labels, estimator in [
        *near,
        *((data, 100, estimator) for data, estimator in product(NAMES_OF_DATA, estimators)),
    ]:
        runs = [
            quantities(f"table2/{data}-{labels}labels-{estimator}-seed{seed}.json")
            for seed in range(3)
        ]
        shares = [
            shown([100 * run[key] for run in runs], 1) for key in ("accuracy", "accuracy_sampled")
        ]
        title = f"{NAMES_OF_DATA[data]}, {labels} labels, {estimators[estimator]}"
        yield f"| {title} | {' | '.join(shares)} | {shown([run['bound'] for run in runs])} |", []


def of_the_styles():
    yield from of_own_styles(Experiment.named("table2").paper)


def of_variants_with_few_labels():
    yield from of_cells_with_few_labels("accuracy_sampled", 100, "{:.1f}")
    costs = [
        mean(100 * (run["accuracy"] - run["accuracy_sampled"]) for run in by_seed(cell, "table2"))
        for cell in (f"{data}-{labels}labels-direct" for data, labels in CELLS_OF_TABLE2)
    ]
    yield "the accuracy is at most {:.1f} points lower", [max(costs)]
    paper = Experiment.named("table2").paper
    cells = [f"{data}-{labels}labels-direct" for data, labels in CELLS_OF_TABLE2]
    first = sum(
        quantities(f"table2/{cell}-seed0.json")["accuracy"] >= paper[cell]["accuracy"] / 100
        for cell in cells
    )
    means = counts_of("table2")["accuracy, %", "direct"][0]
    yield f"| the most probable one | {first} of {len(cells)} cells | {means} cells |", []
    yield from of_the_changed_rule()
    steps = record("estimators.json")["ms_a_step"]["mixture"]
    yield (
        "| time of a step of direct optimization | {:.2f} times that of Gumbel-softmax",
        [steps["direct"] / steps["gumbel_softmax"]],
    )


def of_the_changed_rule():
    """Which bounds the earlier rule for the reported epoch makes worse than the paper's."""
    paper = Experiment.named("table2").paper
    titles = {"direct": "direct optimization", "gumbel_softmax": "Gumbel-softmax"}
    worse = []
    gains = []
    costs = []
    for (name, title), (data, labels) in product(titles.items(), CELLS_OF_TABLE2):
        cell = f"{data}-{labels}labels-{name}"
        of_seeds = []
        for seed in range(len(by_seed(cell, "table2"))):
            epochs = record(f"table2/{cell}-seed{seed}.json")["epochs"]
            of_seeds.append(max(epochs, key=lambda epoch: epoch["validation/accuracy"]))
        earlier, now = of_seeds[0], quantities(f"table2/{cell}-seed0.json")
        if earlier["test/bound"] <= paper[cell]["bound"]:
            continue
        assert data == "fashion-mnist"  # "all on Fashion-MNIST"
        averaged = mean(epoch["test/bound"] for epoch in of_seeds)
        worse.append((title, labels, averaged > paper[cell]["bound"]))
        accuracies = [100 * earlier["test/accuracy"], 100 * now["accuracy"]]
        bounds = [earlier["test/bound"], now["bound"], paper[cell]["bound"]]
        gains.append(bounds[0] - bounds[1])
        costs.append(accuracies[0] - accuracies[1])
        row = f"| {title}, {labels} labels | {{:.2f}} | {{:.2f}} | {{:.2f}} | {{:.1f}} | {{:.1f}} |"
        yield row, [*bounds, *accuracies]
        if len(of_seeds) > 1:
            row = f"| {title}, {labels} labels | {{:.2f}} | {{:.2f}} | {{:.2f}} |"
            reported = mean(run["bound"] for run in by_seed(cell, "table2"))
            yield row, [averaged, reported, paper[cell]["bound"]]
    assert len(worse) == 4  # "16 of the 20 are better than the paper's"
    numbers = [min(gains), max(gains), max(costs)]
    yield "by {:.0f} to {:.0f} nats, and costs up to {:.1f} points of accuracy.**", numbers
    by_means = [(title, labels) for title, labels, of_means in worse if of_means]
    assert ("Gumbel-softmax", 100) not in by_means
    assert {("direct optimization", 50), ("direct optimization", 100)} < set(by_means)
    epochs = record("table2/fashion-mnist-100labels-direct-seed0.json")["epochs"]
    best = min(
        epochs, key=lambda epoch: epoch["validation/bound"] - 30 * epoch["validation/accuracy"]
    )
    assert best["epoch"] == 55
    gain, loss = (
        best[f"test/{name}"] - epochs[-1][f"test/{name}"] for name in ("accuracy", "bound")
    )
    words = "the accuracy would be {:.1f} points higher, and the bound {:.2f} nats worse"
    yield words, [100 * gain, loss]


def of_celeba():
    found = quantities("celeba/general-seed0.json")
    names = [key.removeprefix("accuracy_") for key in found if key.startswith("accuracy_")]
    for name in names:
        both = [100 * found[f"accuracy_{name}"], 100 * found[f"majority_{name}"]]
        yield f"| {name.replace('_', ' ')} | {{:.1f}} | {{:.1f}} |", both
    yield "| all | {:.1f} | {:.1f} |", [100 * found["accuracy"], 100 * found["majority"]]
    cells = ("general-consistency0", "general", "general-consistency300")
    runs = [quantities(f"celeba/{cell}-seed0.json") for cell in cells]
    for name in ("Eyeglasses", "Smiling", "Male"):
        shares = [100 * run[f"appears_{name}"] for run in runs]
        known = 100 * runs[-1][f"recognised_{name}"]
        yield f"| {name} | {{:.1f}} | {{:.1f}} | {{:.1f}} | {{:.1f}} |", [*shares, known]
        changes = [run[f"change_{name}"] for run in runs]
        yield f"| {name} | {{:.3f}} | {{:.3f}} | {{:.3f}} |", changes
    for cell, run in zip(cells, runs, strict=True):
        yield f"(`{cell}`) | {{:.1f}} | {{:,.0f}} |", [100 * run["accuracy"], run["bound"]]


DROPOUT = "n50-chain-ram-dropout"
"""The cell of `larger` by which bits are as good as Gaussians."""


def by_seed(cell, folder="structured", name=None):
    """The quantities of each seed, or one of them."""
    paths = sorted((ROOT / "results" / folder).glob(f"{cell}-seed*.json"))
    found = [quantities(f"{folder}/{path.name}") for path in paths]
    return found if name is None else [each[name] for each in found]


def curve_of(encoder, cell, seeds, key="test/bound_surrogate"):
    """The mean over seeds in each epoch."""
    runs = [
        record(f"structured/{encoder}-{cell}-seed{seed}.json")["epochs"] for seed in range(seeds)
    ]
    return [mean(epoch[key] for epoch in epochs) for epochs in zip(*runs, strict=True)]


def of_the_order_of_encoders():
    names = ("independent", "supermodular", "general")
    curves = [curve_of(name, "direct", 3) for name in names]
    for epoch in (50, 100, 150, 200, 300):
        numbers = [curve[epoch - 1] for curve in curves]
        yield f"| {epoch} | " + " | ".join(["{:.2f}"] * 3) + " |", numbers


ROWS_OF_15_BITS = {
    "general | Gibbs | 10 | falling": "general-gibbs-annealed",
    "independent | Gibbs | 10 | falling": "independent-gibbs-annealed",
    "general | direct | 4 | falling": "general-direct-annealed",
    "supermodular | direct | 4 | falling": "supermodular-direct-annealed",
    "independent | direct | 4 | falling": "independent-direct-annealed",
    "supermodular | direct | 10 | falling": "supermodular-direct-annealed-own",
    "independent | direct | 2 | falling": "independent-direct-annealed-own",
    "general | direct | 1 | falling": "general-direct-cosine",
    "supermodular | direct | 1 | falling": "supermodular-direct-cosine",
    "independent | direct | 1 | falling": "independent-direct-cosine",
    "general | direct | 1 | constant": "general-direct-elbo",
    "general | direct, two-sided | 1 | falling": "general-direct-two_sided",
    "general | Gibbs | 1 | falling": "general-gibbs-elbo",
    "supermodular | direct | 1 | constant": "supermodular-direct-elbo",
    "supermodular | Gibbs | 1 | falling": "supermodular-gibbs-elbo",
    "general | the paper's recipe": "general-direct",
    "supermodular | the paper's recipe": "supermodular-direct",
    "independent | direct | 1 | constant": "independent-direct-elbo",
    "independent | the paper's recipe": "independent-direct",
    "independent | the released code's recipe": "independent-direct-release",
    "independent | REBAR | 1 | constant": "independent-rebar",
    "independent | RELAX | 1 | constant": "independent-relax",
    "independent | Gumbel-softmax | 1 | constant": "independent-gumbel_softmax",
    "independent | ARM | 1 | constant": "independent-arm",
}


def of_the_best_of_each_encoder():
    cells = {}
    for title, name in ROWS_OF_15_BITS.items():
        if "recipe" not in title:
            pair = tuple(title.split(" | ")[:2])
            bound = mean(by_seed(name, "structured", "bound"))
            cells.setdefault(pair, []).append((bound, title, name))
    for rows in cells.values():
        _, title, name = min(rows)
        numbers = [shown(by_seed(name, "structured", key)) for key in ("bound", "minus_log_p")]
        yield f"| {title} | {' | '.join(numbers)} |", []
    gaussian = quantities("structured/gaussian-seed0.json")
    yield (
        "reference: Gaussian, 15 dimensions | | 1 | falling | {:.2f} | {:.2f} |",
        [gaussian["bound"], gaussian["minus_log_p"]],
    )
    yield "its KL is {:.1f} nats", [gaussian["kl"]]
    best = [
        mean(by_seed(name, "structured", "bound"))
        for name in ("general-gibbs-annealed", "independent-direct-annealed")
    ]
    yield "their bound is {:.2f} nats. The best bound of independent bits is {:.2f} nats.**", best
    for words, key in (("valid bound", "bound"), ("-log p(x)", "minus_log_p")):
        gains = []
        for training in ("gibbs-annealed", "direct-annealed"):
            general, independent = (
                by_seed(f"{name}-{training}", name=key) for name in ("general", "independent")
            )
            assert len(general) == len(independent) == 3
            gains.append(mean(independent) - mean(general))
            significant = ttest_ind(general, independent, equal_var=False).pvalue < 0.05
            assert significant == (training == "gibbs-annealed")
        yield f"| {words} | {{:.1f}} | {{:.1f}} |", gains
    yield from of_the_start_of_the_kl(cells)


def lowest_validation_bound(cell):
    """The mean over seeds."""
    paths = sorted((ROOT / "results" / "structured").glob(f"{cell}-seed*.json"))
    return mean(
        min(row["validation/bound"] for row in record(f"structured/{path.name}")["epochs"])
        for path in paths
    )


def of_the_start_of_the_kl(cells):
    """Which start of the KL validation and test images choose, for one-sided direct optimization."""
    short = chosen_bounds()
    for encoder in ("general", "supermodular", "independent"):
        trainings = cells[encoder, "direct"]
        by_validation = min((lowest_validation_bound(name), title) for _, title, name in trainings)
        long = [title.split(" | ")[2] for title in (by_validation[1], min(trainings)[1])]
        own = {
            setting: bound
            for (cell, setting), bound in short.items()
            if cell == f"structured/{encoder}-direct-annealed"
        }
        start = min(own, key=own.get).removeprefix("annealed from ")
        yield f"| {encoder} | {start} | {' | '.join(long)} |", []
    for rows in cells.values():
        _, title, _ = min(rows)
        _, chosen, name = min(
            (lowest_validation_bound(name), title, name) for _, title, name in rows
        )
        if chosen != title:
            assert title.startswith("general | direct | 4")
            bound = mean(by_seed(name, "structured", "bound"))
            best = mean(by_seed(min(rows)[2], "structured", "bound"))
            yield (
                "they choose KL from 1. Its test bound is {:.2f} instead of {:.2f}",
                [bound, best],
            )


def of_structured():
    columns = ("bound", "refined_bound", "minus_log_p", "bound_surrogate")
    for title, name in ROWS_OF_15_BITS.items():
        seeds = by_seed(name)
        numbers = [
            shown([found[column] for found in seeds if column in found]) for column in columns
        ]
        yield " ".join(f"| {title} | {' | '.join(numbers)} |".split()), []
    starts = {
        "general, Gibbs | 10": ("general-gibbs-annealed", "general-gibbs-elbo"),
        "supermodular, direct | 10": (
            "supermodular-direct-annealed-own",
            "supermodular-direct-cosine",
        ),
        "independent, direct | 4": ("independent-direct-annealed", "independent-direct-cosine"),
        "general, direct | 4": ("general-direct-annealed", "general-direct-cosine"),
    }
    for title, names in starts.items():
        falling, constant = (mean(by_seed(name, "structured", "bound")) for name in names)
        numbers = [falling, constant, constant - falling]
        yield f"| {title} | {{:.2f}} | {{:.2f}} | {{:.1f}} |", numbers
    yield from of_chosen_settings("structured")


def chosen_bounds():
    """Of validation images, by cell and setting."""
    rows = record("cell_settings.json")["rows"]
    assert not [row for row in rows if row["commit"].endswith("-dirty")]
    return {(row["cell"], row["setting"]): row["bound"] for row in rows}


def gains_of_a_small_epsilon(bounds):
    cells = ("table1/mnist-k20-direct", "table1/fashion-mnist-k20-direct")
    return [bounds[cell, "annealed from 30"] - bounds[cell, "epsilon 0.1"] for cell in cells]


def of_chosen_settings(kind):
    bounds = chosen_bounds()
    starts = {"structured": (2, 4, 10, 30), "table1": (10, 30, 100)}[kind]
    columns = ["not annealed", *(f"annealed from {start}" for start in starts)]
    if kind == "structured":
        columns.insert(0, "not annealed, half the rate")
        titles = {
            "general, direct": "general-direct-annealed",
            "supermodular, direct": "supermodular-direct-annealed",
            "independent, direct": "independent-direct-annealed",
            "general, Gibbs": "general-gibbs-annealed",
            "independent, Gibbs": "independent-gibbs-annealed",
        }
    else:
        titles = {
            "exact, MNIST": "mnist-k20-exact",
            "direct, MNIST": "mnist-k20-direct",
            "direct, Fashion-MNIST": "fashion-mnist-k20-direct",
            "Gumbel-softmax, MNIST": "mnist-k20-gumbel_softmax",
        }
    for title, name in titles.items():
        own = {
            setting: bound for (cell, setting), bound in bounds.items() if cell == f"{kind}/{name}"
        }
        line = " | ".join(f"{own[column]:.2f}" if column in own else "" for column in columns)
        others = [(setting, bound) for setting, bound in own.items() if setting not in columns]
        yield " ".join(f"| {title} | {line} |".split()), []
        if kind == "table1":
            for setting, bound in others:
                yield f"| {title} | {setting} | {bound:.2f} |", []
            if others:
                usual = "epsilon from 1"
                if "temperature" in others[0][0]:
                    usual = "temperature 0.3"
                yield f"| {title} | {usual} (ours) | {own['annealed from 30']:.2f} |", []


def of_variables():
    rows = {
        "5 variables of 8 values, independent": (
            "structured/5x8-independent-direct-elbo-seed0.json"
        ),
        "15 bits, independent": "structured/independent-direct-elbo-seed0.json",
        "5 variables of 8 values on a chain": "structured/5x8-chain-gibbs-elbo-seed0.json",
        "15 bits, all pairs, supermodular": "structured/supermodular-gibbs-elbo-seed0.json",
        "15 bits, all pairs, general": "structured/general-gibbs-elbo-seed0.json",
    }
    tenth = {}
    for title, path in rows.items():
        bounds = [record(path)["epochs"][epoch - 1]["test/bound"] for epoch in (1, 5, 10)]
        tenth[title] = bounds[-1]
        yield f"| {title} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", bounds
    five, bits = list(tenth.values())[:2]
    yield "both have a capacity of {:.1f} nats", [15 * math.log(2)]
    yield "are worse than 15 bits, by {:.1f} nats after 10 epochs", [five - bits]
    chain, *coupled = list(tenth.values())[2:]
    words = "{:.1f} nats worse without couplings, and {:.1f} to {:.1f} nats worse with couplings"
    yield words, [five - bits, chain - max(coupled), chain - min(coupled)]


def of_table1():
    experiment = Experiment.named("table1")
    counts, _, setting = verdict(experiment, records_of(experiment, ROOT / "results"))
    titles = {
        "exact": "exact gradient",
        "direct": "direct optimization",
        "gumbel_softmax": "Gumbel-softmax",
        "maximum_likelihood": "maximum likelihood",
    }
    for _, name, as_good, _, as_direct in counts.rows:
        if as_good:
            yield f"| {titles[name]} | {as_good} | {as_direct} |", []
        else:
            assert name == "maximum_likelihood"
            yield f"trains -log p(x) itself | the paper has none | {as_direct} |", []
    shares = [row[2].split(" of ") for row in counts.rows if row[2]]
    all_good, all_cells = (sum(map(int, part)) for part in zip(*shares, strict=True))
    yield "{} of {} bounds are as good as the paper's or better", [all_good, all_cells]
    theirs = experiment.paper
    won = [
        theirs[f"{data}-k{k}-direct"]["bound"] < theirs[f"{data}-k{k}-exact"]["bound"]
        for data, k in product(("mnist", "fashion-mnist"), (10, 20, 30, 40, 50))
    ]
    cells = len(won)
    assert sum(won) == 7  # "the paper's best bound in seven of the ten cells"
    settings = {name: both for name, *both in setting.rows}
    yield "| epochs | {} | {} |", settings["epochs"]
    assert settings["recipe"] == ["another", "paper"]
    assert settings["binarisation"] == ["threshold", ""]  # the same
    assert settings["not compared"] == ["omniglot", "other images"]
    for data, k in (("mnist", 10), ("mnist", 20), ("fashion-mnist", 10)):
        for name, weight in (("exact", "falls from 30"), ("exact-plain", "constant 1")):
            run = quantities(f"table1/{data}-k{k}-{name}-seed0.json")
            row = f"| {NAMES_OF_DATA[data]}, k = {k} | {weight} | {{:.2f}} | {{:.0f}} |"
            yield row, [run["bound"], run["active"]]

    gaps = [
        mean(both[0]) - mean(both[1])
        for both in (
            [by_seed(f"{data}-k{k}-{name}", "table1", "bound") for name in ("direct", "exact")]
            for data, k in product(("mnist", "fashion-mnist"), (10, 20, 30, 40, 50))
        )
    ]
    ahead = [gap for gap in gaps if gap > 0]
    assert max(ahead) < 1  # "by less than a nat"
    lost = cells - sum(won)
    behind = len(gaps) - len(ahead)
    yield f"| direct optimization | {sum(won)} of {cells} | {behind} of {cells} |", []
    yield f"| exact gradient | {lost} of {cells} | {len(ahead)} of {cells} |", []
    gains = gains_of_a_small_epsilon(chosen_bounds())
    yield "by {:.1f} nats on MNIST, and by {:.1f} nats on Fashion-MNIST", gains
    yield from of_chosen_settings("table1")


def of_dropout():
    without, seeds = quantities("larger/n50-chain-ram-seed0.json"), by_seed(DROPOUT, "larger")
    gains = [
        without[name] - mean(each[name] for each in seeds) for name in ("bound", "minus_log_p")
    ]
    words = "improve the bound of 50 bits by {:.1f} nats, and -log p(x) by {:.1f} nats"
    yield words, gains


def gain_of_one_side():
    """By how many nats one side is better than two for 15 coupled bits, after 50,000 steps."""
    two, one = (
        mean(by_seed(f"general-direct-{name}", "structured", "bound"))
        for name in ("two_sided", "cosine")
    )
    return two - one


def first_epoch_of_one_side():
    """From which epoch on one side always has the better test bound, for 15 coupled bits."""
    one, two = (
        [
            row["test/bound"]
            for row in record(f"structured/general-direct-{name}-seed0.json")["epochs"]
        ]
        for name in ("cosine", "two_sided")
    )
    behind = [epoch for epoch, (a, b) in enumerate(zip(one, two, strict=True), 1) if a >= b]
    return behind[-1] + 1


def of_default_settings():
    yield "#one-side-or-two)) | {:.1f} after 50,000 steps |", [gain_of_one_side()]
    encoders = ("independent", "supermodular", "general")
    won = [last_row(name)[1] - last_row(f"{name}-epsilon0.1")[1] for name in encoders]
    yield "its bound is {:.0f} to {:.0f} nats better, depending", [min(won), max(won)]
    settings = {}
    for row in record("defaults.json")["rows"]:
        if (row["size"], row["epochs"]) == ("10 categories", 100):
            settings.setdefault(row["setting"], []).append(row["bound"])
    numbers = [mean(settings[name]) for name in ("paper", "paper, epsilon 0.1")]
    yield "(k = 10, 100 epochs of 5,000 images) | {1:.1f} | {0:.1f} |", numbers
    chosen = chosen_bounds()
    cell = "table1/fashion-mnist-k20-direct"
    row = [chosen[cell, "epsilon 0.1"], chosen[cell, "annealed from 30"]]
    yield "the default (k = 20, 20 epochs) | {:.2f} | {:.2f} |", row
    for side, name in (("one side", "cosine"), ("two sides", "two_sided")):
        rows = record(f"structured/general-direct-{name}-seed0.json")["epochs"]
        numbers = [rows[epoch - 1]["test/bound"] for epoch in (1, 3, 10, 20, 50, 100)]
        yield f"| {side} ↓ | " + " | ".join(["{:.1f}"] * 6) + " |", numbers
    yield "one side is better in every epoch from {} on", [first_epoch_of_one_side()]
    cells = ("n20-direct-two_sided", "n20-direct")
    for side, cell in zip(("two sides", "one side"), cells, strict=True):
        yield f"| {side} | {{:.1f}} |", [quantities(f"larger/{cell}-seed0.json")["bound"]]


def of_all_default_settings():
    """The only default that is not within two nats of the best, and how far seeds differ."""
    rows = record("defaults.json")["rows"]
    bounds = {}
    for row in rows:
        bounds.setdefault((row["size"], row["setting"], row["epochs"]), []).append(row["bound"])
    worse = set()
    for size, epochs in {(row["size"], row["epochs"]) for row in rows}:
        means = {
            name: mean(several)
            for (code, name, length), several in bounds.items()
            if (code, length) == (size, epochs)
        }
        if means[default_of(size, epochs)] > min(means.values()) + 2:
            worse.add((size, epochs))
    assert worse == {("50 categories", 10)}
    ends = {name: mean(bounds["50 categories", name, 10]) for name in DEFAULTS_BESIDE}
    assert min(ends, key=ends.get) == "one side, annealed from 10"
    ends = {name: mean(bounds["50 categories", name, 30]) for name in DEFAULTS_BESIDE}
    assert min(ends, key=ends.get) == "two sides, annealed from 30"
    cases = {(row["size"], row["epochs"]) for row in rows}
    yield (
        f"In {len(cases) - 1} of {len(cases)} cases, the best setting is at most two nats better",
        [],
    )
    yield "The exception is 50 categories with 10 epochs. There, *one-sided, KL from 10*", []
    ranges = [max(several) - min(several) for several in bounds.values() if len(several) == 3]
    yield "between the best and the worst of three seeds is {:.1f} nats", [median(ranges)]
    yield "{} of the bounds are means of three seeds.", [len(ranges)]
    yield "The largest difference between two seeds of one setting is {:.1f} nats.", [max(ranges)]
    yield from of_the_gains_of_other_settings(bounds)
    for size in ("15 bits", "30 bits"):
        for epochs in (10, 30):
            of_sides = {"two": [], "other": []}
            for (code, name, length), several in bounds.items():
                if (code, length) == (size, epochs):
                    sides = "two" if name.startswith("two sides") else "other"
                    of_sides[sides].append(mean(several))
            assert max(of_sides["two"]) < min(of_sides["other"])
    worse_by = [
        mean(bounds[size, "two sides, twice the rate", 100])
        - mean(bounds[size, default_of(size, 100), 100])
        for size in ("10 categories", "50 categories")
    ]
    yield "with two sides, a constant KL weight of 1 is {:.0f} and {:.0f} nats worse", worse_by
    worse_by = [
        mean(bounds[size, "one side, twice the rate", 100])
        - mean(bounds[size, default_of(size, 100), 100])
        for size in ("10 categories", "50 categories")
    ]
    yield "with one side, {:.0f} and {:.0f} nats |", worse_by


def of_the_gains_of_other_settings(bounds):
    """By how much the settings that the page names are better or worse than the defaults."""
    best, default = DEFAULTS_BESIDE
    early, late = (
        mean(bounds["50 categories", default, epochs]) - mean(bounds["50 categories", best, epochs])
        for epochs in (10, 30)
    )
    yield "is {:.1f} nats better than the default", [early]
    yield "With 30 epochs, it is {:.1f} nats worse", [-late]


DEFAULTS_BESIDE = ("one side, annealed from 10", "two sides, annealed from 30")
"""The better setting of 50 categories with 10 epochs, and the default."""


def default_of(size, epochs):
    """The name in `defaults.json` of what `train` does for a code if nothing is set."""
    count, kind = size.split()
    options = {"n": int(count)}
    if kind == "categories":
        options = {"encoder": "categorical", "k": int(count)}
    default = TrainConfig(**options, epochs=epochs)
    sides = {1: "one side", 2: "two sides"}[default.sides]
    if default.kl_warmup == 0:
        return f"{sides}, twice the rate"
    return f"{sides}, annealed from {default.kl_start:g}"


TITLES_OF_MORE_BITS = {
    "n20-gibbs": "20, Gibbs, KL from 10",
    "n20-direct": "20, direct, one-sided",
    "n20-direct-two_sided": "20, direct, two-sided",
    "n30-direct-local_search": "30, direct, one-sided",
    "n30-direct-two_sided": "30, direct, two-sided",
    "n50-direct-two_sided": "50, direct, two-sided",
    "n50-chain-ram": "50 bits on a chain, RAM",
    DROPOUT: "50 bits on a chain, RAM, dropout",
}


def of_larger():
    for path in sorted((ROOT / "results" / "larger").glob("*-seed0.json")):
        name = path.name.removesuffix("-seed0.json")
        found, epochs = quantities(f"larger/{path.name}"), record(f"larger/{path.name}")["epochs"]
        title = TITLES_OF_MORE_BITS[name]
        if "-chain-" in name:
            bound, kl, exact = (
                by_seed(name, "larger", key) for key in ("bound", "kl", "minus_log_p")
            )
            words = f"| {title} | {{:d}} | {shown(bound)} | {{:.2f}} | {shown(exact)} |"
            yield words, [len(epochs), mean(kl)]
            continue
        numbers = [found[key] for key in ("bound", "kl", "refined_bound")]
        yield f"| {title} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", numbers


def of_references():
    models = {
        "Gaussian, 15 dimensions": ("structured/gaussian-seed0.json", (1, 5, 10, 30, 50, 100)),
        "one variable of 50 categories, direct": (
            "table1/fashion-mnist-k50-direct-seed0.json",
            (1, 5, 10, 30, 50),
        ),
    }
    for title, (path, shown_epochs) in models.items():
        epochs = record(path)["epochs"]
        end = quantities(path)
        bounds = [epochs[epoch - 1]["test/bound"] for epoch in shown_epochs]
        yield f"| {title} | " + " | ".join(["{:.2f}"] * len(bounds)) + " |", bounds
        best = min(epochs, key=lambda epoch: epoch["validation/bound"])["epoch"]
        if title.startswith("one"):
            yield "that of epoch {}, which has the best validation bound", [best]
        row = [len(epochs), end["bound"], end["kl"], end["minus_log_p"]]
        yield f"| {title} | {{}} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", row


def of_more_bits():
    gaussian = quantities("structured/gaussian-seed0.json")
    row = [gaussian["bound"], gaussian["kl"], gaussian["minus_log_p"]]
    yield "| Gaussian, 15 dimensions | 100 | {:.2f} | {:.2f} | {:.2f} |", row
    bound, kl, exact = (
        by_seed("general-gibbs-annealed", "structured", key)
        for key in ("bound", "kl", "minus_log_p")
    )
    words = "| 15 general bits, Gibbs, KL from 10 | 100"
    yield f"{words} | {shown(bound)} | {{:.2f}} | {shown(exact)} |", [mean(kl)]
    fewer = mean(bound) - mean(by_seed(DROPOUT, "larger", "bound"))
    yield "50 bits on a chain are {:.1f} nats better than 15 bits", [fewer]
    yield from of_larger()
    yield from of_dropout()


def of_other_codes():
    yield from of_references()
    yield from of_variables()


def of_fifteen_bits():
    yield from of_the_order_of_encoders()
    for kind, paper in (("general", 145), ("supermodular", 148), ("independent", 153.5)):
        ours = by_seed(f"{kind}-direct", "structured", "bound_surrogate")
        yield f"| {kind} | {shown(ours)} | {paper} |", []
        if kind == "general":
            yield "is {:.2f} nats worse than the paper's", [mean(ours) - paper]
    curve = curve_of("independent", "direct", 3)
    yield (
        "| after 100 epochs | {:.2f} | 152 | | after 300 epochs | {:.2f} | 153.5 |",
        [
            curve[99],
            curve[299],
        ],
    )
    trainings = {
        "score function with a Gibbs posterior": "score_function-elbo",
        "the paper's recipe, but with epsilon 0.1": "direct-paper",
    }
    for words, name in trainings.items():
        row = quantities(f"{THIRTY}/general-{name}.json")
        numbers = [row[key] for key in ("bound", "minus_log_p", "gap")]
        yield f"| {words} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", numbers
    for encoder in ("independent", "supermodular", "general"):
        numbers = [last_row(f"{encoder}{end}")[1] for end in ("", "-epsilon0.1")]
        yield f"| {encoder} | {{:.1f}} | {{:.1f}} |", numbers


def of_own_networks():
    runs = record("convolutional.json")["runs"]
    whole, convolutional = (
        {
            key: mean(run[key] for run in runs if run["pair"] == pair)
            for key in ("bound", "minus_log_p", "seconds")
        }
        for pair in ("fully connected", "convolutional")
    )
    yield (
        "after {:.0f} epochs. Each of the two kinds of networks",
        [record("convolutional.json")["epochs"]],
    )
    for words, key in (("valid bound on the test images", "bound"), ("-log p(x)", "minus_log_p")):
        yield f"| {words} | {{:.1f}} nats better |", [whole[key] - convolutional[key]]
    times = convolutional["seconds"] / whole["seconds"]
    yield "| time of a training | {:.1f} times as long |", [times]


def of_learnt_priors():
    yield "50 dimensions is still {:.1f} nats better than 400 bits", [lead_of_the_gaussian()]
    yield "With 15 dimensions, it is only {:.1f} nats better", [lead_of_the_gaussian(15)]
    bounds = {
        name: quantities(f"couplings/{name}-seed0.json")["bound"]
        for name in ("independent-uniform", "independent-linear", "chain-uniform", "chain-linear")
    }
    gain = bounds["independent-uniform"] - bounds["independent-linear"]
    yield "| learnt prior, independent bits | {:.1f} |", [gain]
    gain = bounds["independent-uniform"] - bounds["chain-uniform"]
    yield "| couplings of a chain posterior, uniform prior | {:.1f} |", [gain]
    gain = bounds["independent-linear"] - bounds["chain-linear"]
    yield "| couplings of a chain posterior, learnt prior | {:.1f} |", [gain]
    autoregressive = quantities("couplings/autoregressive-linear-seed0.json")["bound"]
    gain = bounds["independent-linear"] - autoregressive
    yield "| autoregressive posterior, learnt prior | {:.1f} |", [gain]
    priors = record("learnt_prior.json")
    uniform, *learnt = priors["runs"]
    yield "are trained for {:.0f} epochs on 50,000 images", [priors["epochs"]]
    # "by little more than half a nat"
    assert all(0.5 < uniform["bound"] - run["bound"] < 0.7 for run in learnt)
    worse = [run["minus_log_p"] - uniform["minus_log_p"] for run in learnt]
    assert [round(nats) for nats in worse] == [0, 1]  # "stays the same", "one nat worse"


def of_label_batches():
    for row, name in (
        ("trees of 100 nodes | `elimination`", "tree"),
        ("10x10 grids, Potts | `dual_ascent`", "grid, Potts"),
        ("10x10 grids, a table for each edge | `dual_ascent`", "grid, tables"),
    ):
        found = record("label_batches.json")["rows"][name]
        wide = "{:.3g} | {:.3f}" if found["toulbar2"] < 10 else "{:.2f} | {:.1f}"
        yield f"| {row} | {wide} | {{:.2g}} |", [found["ours"], found["toulbar2"], found["ratio"]]
    ratios = [row["ratio"] for row in record("label_batches.json")["rows"].values()]
    yield "yes, {:.1f} to {:.0f} times", [min(ratios), max(ratios)]
    scen = record("label_proofs.json")["rows"]["scen07"]
    assert round(scen["toulbar2"]["seconds"] / scen["ours"]["seconds"]) == 8
    yield "a much lower cost in eight times the CPU time", []
    stereo = record("stereo.json")
    yield "a limit of {:g} seconds of wall-clock time", [stereo["limit"]]
    rows = [row for task in stereo["tasks"].values() for row in task["rows"]]
    yield (
        "{:.0f} to {:.0f} seconds of CPU time",
        [
            min(row["seconds"] for row in rows),
            max(row["seconds"] for row in rows),
        ],
    )
    ours = [row["gap"] for row in rows if row["solver"] != "toulbar2"]
    yield "within about {:.1%} of a bound on three stereo problems", [max(ours)]


def of_two_hundred_bits():
    every = record("two_hundred_bits.json")["runs"]
    fashion = [run for run in every if run["data"] == "fashion-mnist"]
    ends_of = {
        name: mean(run["bound"] for run in fashion if run["estimator"] == name)
        for name in {run["estimator"] for run in fashion}
    }
    order = sorted(ends_of, key=ends_of.__getitem__)
    assert (order[1], order[-1]) == ("straight-through", "direct, one side, 1 flip")
    runs = [run for run in every if run["data"] == "mnist"]
    assert {run["epochs"] for run in runs} == {100}  # of 1,000 steps
    early = ("RAM, chain, 1 completion", "direct, two sides, 1 flip")
    best = [run["curves"]["validation/bound"] for run in every if run["estimator"] in early]
    best = [1 + found.index(min(found)) for found in best]
    ends = [min(best), max(best)]
    yield "lowest after {},000 to {},000 of the 100,000 steps, and higher at the end", ends
    names = dict.fromkeys(run["estimator"] for run in runs)
    of = {
        name: {
            key: mean(run[key] for run in runs if run["estimator"] == name)
            for key in ("reconstruction", "kl", "bound")
        }
        for name in names
    }
    one = "direct, one side, 1 flip"
    assert max(names, key=lambda name: of[name]["bound"]) == one
    assert min(names, key=lambda name: of[name]["bound"]) == "straight-through"
    noise = {
        name: mean(
            mean(run["curves"]["gradient/variance"][-10:])
            for run in runs
            if run["estimator"] == name
        )
        for name in names
    }
    titles = {
        "RAM, chain, 1 completion": "RAM on a chain, one completion",
        one: "one-sided direct optimization, one flip",
        "direct, two sides, 1 flip": "two-sided direct optimization, one flip",
        "direct, two sides, 3 flips": "two-sided direct optimization, three flips",
    }
    bounds = ("kl", "reconstruction", "bound")
    yield "| `disarm` | {:.1f} | {:.1f} | {:.1f} | 1 |", [of["DisARM"][key] for key in bounds]
    for name, title in titles.items():
        row = [*(of[name][key] for key in bounds), noise[name] / noise["DisARM"]]
        yield f"| {title} | {{:.1f}} | {{:.1f}} | {{:.1f}} | {{:.2f}} |", row
    rest = [noise[name] / noise["DisARM"] for name in ("REBAR", "RELAX")]
    there = {
        name: mean(
            mean(run["curves"]["gradient/variance"][-10:])
            for run in fashion
            if run["estimator"] == name
        )
        for name in names
    }
    shares = [each["straight-through"] / each["DisARM"] for each in (noise, there)]
    yield "| `disarm` | {:.1f} | {:.1f} | 1 | 1 |", [of["DisARM"]["bound"], ends_of["DisARM"]]
    for name, share in zip(("REBAR", "RELAX"), rest, strict=True):
        row = [of[name]["bound"], ends_of[name], share, there[name] / there["DisARM"]]
        yield f"| `{name.lower()}` | {{:.1f}} | {{:.1f}} | {{:.2f}} | {{:.2f}} |", row
    row = [of["straight-through"]["bound"], ends_of["straight-through"], *shares]
    yield "| `straight_through` | {:.1f} | {:.1f} | {:.2f} | {:.2f} |", row


def of_seeds_of_two_hundred_bits():
    """By how much the bounds of the two seeds of an estimator differ."""
    every = record("two_hundred_bits.json")["runs"]
    names = dict.fromkeys(run["estimator"] for run in every)
    apart = {"mnist": [], "fashion-mnist": []}
    of_direct = []
    for name, data in product(names, apart):
        ends_ = [run["bound"] for run in every if (run["estimator"], run["data"]) == (name, data)]
        kept = of_direct if data == "fashion-mnist" and name.startswith("direct") else apart[data]
        kept.append(max(ends_) - min(ends_))
    ends = [max(map(max, apart.values())), max(of_direct)]
    words = (
        "differ by up to {:.1f} nats, and those of direct optimization on Fashion-MNIST by up to"
    )
    yield f"{words} {{:.1f}}", ends


def bounds_of(runs, data):
    """Of each estimator, the mean over seeds."""
    of_data = [run for run in runs if run["data"] == data]
    names = {run["estimator"] for run in of_data}
    return {
        name: mean(run["bound"] for run in of_data if run["estimator"] == name) for name in names
    }


def runs_of_all_flips():
    """Of cheap estimators, the runs on MNIST with seed 0; and those of all flips, one-sided first."""
    first = [
        run
        for run in record("two_hundred_bits.json")["runs"]
        if run["data"] == "mnist" and not run["seed"]
    ]
    return {run["estimator"]: run for run in first}, record("two_hundred_bits_all_flips.json")[
        "runs"
    ]


def of_time_for_all_flips():
    others, (_, two) = runs_of_all_flips()
    end = two["curves"]["test/bound"][-1]
    row = [end, two["seconds"] / 60]
    yield "| `direct`, two-sided, all flips | 10,000 | {:.1f} | {:.1f} |", row
    for name, title in (("straight-through", "straight_through"), ("DisARM", "disarm")):
        run = others[name]
        row = [run["curves"]["test/bound"][-1], run["seconds"] / 60]
        yield f"| `{title}` | 100,000 | {{:.1f}} | {{:.1f}} |", row
    ahead = [name for name, run in others.items() if run["curves"]["test/bound"][-1] < end]
    assert len(ahead) == 6  # "six of them then have a better bound"
    assert len(others) == 12  # "all twelve cheap ones"
    assert all(run["seconds"] < two["seconds"] for run in others.values())
    every = record("two_hundred_bits.json")["runs"]
    last, _ = of_last_steps("one side")
    for data, bound in zip(("mnist", "fashion-mnist"), last, strict=True):
        # "eight of the twelve cheap estimators have a better bound"
        assert sum(other < bound for other in bounds_of(every, data).values()) == 8


def of_all_flips():
    others, (one, two) = runs_of_all_flips()
    assert {len(run["curves"]["epoch"]) for run in (one, two)} == {10}
    tenth = {name: run["curves"]["test/bound"][9] for name, run in others.items()}
    assert min(tenth, key=tenth.__getitem__) == "straight-through"
    assert two["curves"]["test/bound"][-1] < tenth["straight-through"]
    yield from of_longer_trainings()


def of_longer_trainings():
    every = record("two_hundred_bits.json")["runs"]
    runs = record("two_hundred_bits_all_flips_gpu.json")["runs"]
    two, one = (
        [
            [run for run in runs if run["data"] == data and sides in run["estimator"]]
            for data in ("mnist", "fashion-mnist")
        ]
        for sides in ("two sides", "one side")
    )
    assert [sorted(run["epochs"] for run in of) for of in two] == [[32, 32], [31]]
    assert [sorted(run["epochs"] for run in of) for of in one] == [[40, 41], [40]]
    assert all("H100" in run["hardware"]["gpu"] for run in runs)
    ends = [mean(run["bound"] for run in of) for of in two]
    yield "`direct`, two-sided, all flips | 32,000 | {:.1f} | 31,000 | {:.1f} |", ends
    names = {run["estimator"] for run in every}
    best = [min(bounds_of(every, data).values()) for data in ("mnist", "fashion-mnist")]
    yield "best cheap estimator (two seeds) | 100,000 | {:.1f} | 100,000 | {:.1f} |", best
    last = {sides: of_last_steps(sides) for sides in ("one side", "two sides")}
    for sides, title in (("one side", "one-sided"), ("two sides", "two-sided")):
        _, exact = last[sides]
        yield f"| `direct`, {title}, all flips | {{:.1f}} | {{:.1f}} |", exact
    theirs = [
        min(
            (
                mean(
                    run["minus_log_p"]
                    for run in every
                    if (run["data"], run["estimator"]) == (data, name)
                ),
                name,
            )
            for name in names
        )
        for data in ("mnist", "fashion-mnist")
    ]
    assert {name for _, name in theirs} == {"straight-through"}
    words = "| `straight_through`, the best cheap estimator | {:.1f} | {:.1f} |"
    yield words, [bound for bound, _ in theirs]
    row = [mean(run["bound"] for run in of) for of in one]
    yield "`direct`, one-sided, all flips | 40,000 | {:.1f} | 40,000 | {:.1f} |", row


def of_last_steps(sides):
    """Bounds, and those on -log p(x), of all flips after 100,000 steps: means of two seeds for each data set."""
    runs = [
        [
            run
            for run in record("two_hundred_bits_all_flips_longer.json")["runs"]
            if (run["data"], run["epochs"], run["estimator"])
            == (data, 100, f"direct, {sides}, all flips")
        ]
        for data in ("mnist", "fashion-mnist")
    ]
    assert [sorted(run["seed"] for run in of) for of in runs] == [[0, 1], [0, 1]]
    return [[mean(run[key] for run in of) for of in runs] for key in ("bound", "minus_log_p")]


def of_the_choice_for_two_hundred_bits():
    every = record("two_hundred_bits.json")["runs"]
    few = [bounds_of(every, data) for data in ("mnist", "fashion-mnist")]
    rows = [
        ("| `straight_through` | 1 | yes", "straight-through"),
        ("| `disarm` | 2 | no", "DisARM"),
        ("| `score_function` with 4 samples | 4 | no", "leave-one-out, 4 samples"),
    ]
    for words, name in rows:
        numbers = [bounds[name] for bounds in few]
        yield f"{words} | {{:.1f}} | {{:.1f}} |", numbers
    words = "| `direct`, two-sided, all flips | 202 | no | {:.1f} | {:.1f} |"
    yield words, of_last_steps("two sides")[0]
    for bounds in few:
        worst = sorted(bounds, key=bounds.get)[-2:]
        assert set(worst) == {"direct, one side, 1 flip", "direct, two sides, 1 flip"}, worst


def of_the_study_of_two_hundred_bits():
    yield from of_the_choice_for_two_hundred_bits()
    yield from of_seeds_of_two_hundred_bits()
    yield from of_time_for_all_flips()


def of_the_bias_of_a_certain_bit():
    """Gradients where the score of a bit is what it saves, for logistic noise and an epsilon of 1."""

    def below(noise):
        return 1 / (1 + math.exp(-noise))

    scores = (2, 6)
    rows = {
        "exact, equal to that of the KL": [s * below(s) * below(-s) for s in scores],
        # the argmaxes differ if the noise is between -2s and 0
        "two-sided direct optimization": [(below(0) - below(-2 * s)) / 2 for s in scores],
        # they differ if the sample is 0 and the noise is above -2s
        "one-sided direct optimization": [below(-s) - below(-2 * s) for s in scores],
    }
    for title, sizes in rows.items():
        yield f"| {title} | {{:.3f}} | {{:.3f}} |", sizes


def of_causes_in_two_hundred_bits():
    yield from of_two_hundred_bits()
    yield from of_the_bias_of_a_certain_bit()
    yield from of_all_flips()


def of_estimators():
    steps = record("estimators.json")["ms_a_step"]

    def beside_direct(table, kind, name="RAM"):
        return steps[table][f"{kind}, {name}"] / steps[table][f"{kind}, direct, two-sided"]

    five = "5 variables of 8 values"
    rows = [
        ("50 bits on a chain", "n = 50", "chain", "RAM"),
        ("50 bits on a chain, ten completions", "n = 50", "chain", "RAM, 10 completions"),
        ("15 bits, scores for all pairs (RAM sums over all states)", "n = 15", "general", "RAM"),
        ("15 bits without pairs", "n = 15", "independent", "RAM"),
        (f"{five}, without couplings", five, "independent", "RAM"),
        (f"{five}, on a chain", five, "chain", "RAM"),
        (f"{five}, Potts scores for all pairs", five, "Potts", "RAM"),
        (f"{five}, a table for each pair", five, "general", "RAM"),
    ]
    ratios = [beside_direct(*row) for _, *row in rows]
    for (words, *_), ratio in zip(rows, ratios, strict=True):
        yield f"| {words} | {{:.2f}} |", [ratio]
    assert max(ratios) < 1.5  # "at most 1.5 times as long"


def of_the_costs_of_a_step():
    costs = record("bare_loop.json")["ms_a_step_by_cause"]
    slower = {name: 100 * (each["ratio of a step"] - 1) for name, each in costs.items()}
    words = "a step of `train` takes {:.0f}% longer with independent bits, and about {:.0f}% longer"
    yield words, [slower["independent"], slower["general"]]
    assert round(slower["supermodular"]) == round(slower["general"])
    shares = [
        100 * (each["validation"] + each["metrics"] + each["files"]) / each["bare"]
        for each in costs.values()
    ]
    yield "work after each epoch adds {:.0f} to {:.0f}%", [min(shares), max(shares)]


def of_crfs():
    chains = record("labels_chains.json")
    ours, *peers = ("structured-vae", "pytorch-crf", "torch-struct")
    ratios = {name: [] for name in peers}
    for title, words in (
        ("full length", "100 positions"),
        ("other lengths", "10 to 100 positions"),
    ):
        tasks = [chains[title][task] for task in ("decode", "log Z", "gradient")]
        yield (
            f"| {words}: {ours} | " + " | ".join(["{:.1f}"] * 3) + " |",
            [task[ours] for task in tasks],
        )
        for name in peers:
            if name in tasks[0]:
                own = [task[name] / task[ours] for task in tasks]
                ratios[name] += own
                cells = [
                    f"{task[name]:,.0f} ({ratio:,.{1 if ratio < 10 else 0}f} x)"
                    for task, ratio in zip(tasks, own, strict=True)
                ]
                yield f"| {words}: {name} | {' | '.join(cells)} |", []
    ends = [min(ratios["pytorch-crf"]), max(ratios["pytorch-crf"])]
    yield "`LinearChainCRF` is {:.0f} to {:.0f} times as fast as pytorch-crf", ends
    assert min(ratios["torch-struct"]) > 700
    for task, published in (("letters", 78.8), ("snakes", 99.6)):
        for name, row in record(f"labels_{task}.json")["rows"].items():
            best = row["test"]
            assert best["proved"] == 1
            numbers = [best["C"], 100 * best["accuracy"], published]
            numbers += [best["fit_seconds"], best["predict_seconds"]]
            yield (
                f"| {task} | `{name}` | {{:g}} | {{:.2f}} | {{:g}} | {{:.1f}} | {{:.2f}} |",
                numbers,
            )
    for path in ("labels_chunking.json", "labels_chunking_c1.json"):
        chunks = record(path)
        assert chunks[ours]["proved"] == 1
        if chunks[ours]["C"] != 1:
            yield (
                "With the C that we chose, it is {:.2f} points lower",
                [93.75 - chunks[ours]["f1"]],
            )
        for name, words in ((ours, "`ChainCRF`"), ("sklearn-crfsuite", "sklearn-crfsuite")):
            if name not in chunks:
                continue
            row = chunks[name]
            published = "| 93.75 " if name == ours else "| "
            numbers = [row["C"], row["f1"], row["fit_seconds"], row["predict_seconds"]]
            yield f"{words} | {{:g}} | {{:.2f}} {published}| {{:.0f}} | {{:.1f}} |", numbers


def of_layer_examples():
    rows = {row["method"]: row for row in record("experts.json")["rows"]}
    errors = [
        mean(rows[name]["error"])
        for name in ("routing weights, straight-through", "softmax of the top two, torch")
    ]
    yield "three seeds with overlapping ranges | {1:.2f} | {0:.2f} |", errors
    yield "lowers the mean squared error from {1:.2f} to {0:.2f}", errors
    assert errors[0] == min(mean(row["error"]) for row in rows.values())
    for way in ("one half each", "routing weights"):
        silent = mean(rows[f"{way}, implicit MLE"]["error"])
        assert silent > mean(rows[f"{way}, implicit MLE, noise"]["error"])


def of_loss_experiment():
    rows = record("losses.json")["rows"]
    named = {
        "`StructuredHinge`": "StructuredHinge",
        "[`ArgmaxLayer`](argmax_layer.md), defaults": "ArgmaxLayer, defaults",
        "`ImplicitMLELoss`": "ImplicitMLELoss",
        "`ArgmaxLayer`, cost=1 - IoU": "ArgmaxLayer, cost=1 - IoU",
        "`ArgmaxLayer`, defaults | yes": "ArgmaxLayer, defaults",
        "`ArgmaxLayer`, `seed=None` | no": "ArgmaxLayer, seed=None",
        "`DirectLoss, noise`, with a `generator=` | yes": "DirectLoss, noise",
        "`DirectLoss`, defaults | no": "DirectLoss",
    }
    for words, name in named.items():
        found = ends(rows[name])
        yield f"| {words} | {{:.3f}} | {{:.3f}} |", [median(found), min(found)]
    medians = sorted((median(ends(row)) for row in rows.values()), reverse=True)
    words = "Four losses are equally good here, with medians of {:.3f} to {:.3f}"
    yield words, [medians[3], medians[0]]
    best = [ends(row) for row in rows.values() if median(ends(row)) >= medians[3]]
    ranges = [max(found) - min(found) for found in best]
    yield "The five seeds of each differ by {:.3f} to {:.3f}", [min(ranges), max(ranges)]
    noisy = rows["DirectLoss, noise"]
    words = "falls from {:.3f} after 25 steps to {:.3f} at the end"
    yield words, [median(at_step(noisy, 25)), median(ends(noisy))]
    gibbs = rows["GibbsLikelihood"]
    ratio = milliseconds(gibbs) / gibbs["batch"] * 32 / milliseconds(rows["StructuredHinge"])
    assert ratio > 1000  # "over a thousand times as long"


def of_pyepo():
    tasks = ("shortest_paths", "knapsack", "two_knapsacks", "tours", "portfolio")
    rows = {
        task: {row["method"]: row for row in record(f"decisions/{task}.json")["rows"]}
        for task in tasks
    }
    three_draws = "ArgmaxLayer, implicit MLE, 3 draws"
    pairs = [
        ("SPO+ through the structure", "PyEPO, SPO+"),
        ("PerturbedFenchelYoung", "PyEPO, perturbed Fenchel-Young"),
        (three_draws, "PyEPO, implicit MLE"),
    ]

    def points(task, name):
        return 100 * mean(rows[task][name]["regret"])

    titles = {task: task.replace("_", " ") for task in tasks}
    titles["two_knapsacks"] = "knapsack with two capacities"
    for task, title in titles.items():
        differences = []
        ratios = []
        for ours, theirs in pairs:
            regrets = [rows[task][name]["regret"] for name in (ours, theirs)]
            assert ttest_ind(*regrets, equal_var=False).pvalue > 0.05
            differences.append(points(task, ours) - points(task, theirs))
            our_seconds, their_seconds = (
                mean(rows[task][name]["seconds"]) for name in (ours, theirs)
            )
            ratios.append(their_seconds / our_seconds)
        assert min(ratios) > 1
        yield f"| {title} | {{:z.1f}} | {{:z.1f}} | {{:z.1f}} |", differences
        digits = " | ".join("{:.0f}" if ratio >= 10 else "{:.1f}" for ratio in ratios)
        yield f"| {title} | {digits} |", ratios
    above = [
        points(task, "SPO+ through the structure") - min(points(task, name) for name in rows[task])
        for task in tasks
    ]
    yield (
        "its regret is at most {:.1f} percentage points above that of the best method",
        [max(above)],
    )
    one_draw = "ArgmaxLayer, implicit MLE, noise"
    saved = {task: points(task, one_draw) - points(task, three_draws) for task in tasks}
    assert saved.pop("shortest_paths") < 0.1  # "and not on shortest paths"
    yield (
        "three draws lower our regret by {:.1f} to {:.1f} points on four tasks",
        [min(saved.values()), max(saved.values())],
    )
    behind = [
        points(task, "least squares") - min(points(task, name) for name in rows[task])
        for task in tasks
    ]
    yield "its regret is up to {:.1f} points above that of the best method", [max(behind)]
    for of_task in rows.values():
        fastest = min(of_task.values(), key=lambda row: mean(row["seconds"]))
        assert fastest["method"] == "least squares"
    portfolios = [points("portfolio", name) for name in rows["portfolio"]]
    yield "all are within {:.1f} points", [max(portfolios) - min(portfolios)]
    assert min(rows["tours"], key=lambda name: points("tours", name)) == "PyEPO, listwise LTR"
    processes = record("decisions/processes.json")["rows"]
    medians = {(row["loss"], row["processes"]): row["median"] for row in processes}
    for loss in ("SPO+", "perturbed Fenchel-Young"):
        assert medians[loss, 2] > medians[loss, 1]
    for task in ("terrain", "matchings"):
        found = {row["method"]: row for row in record(f"decisions/{task}.json")["rows"]}
        best = min(found.values(), key=lambda row: mean(row["regret"]))
        assert best["method"] == "SPO+ through the structure"
        assert mean(best["seconds"]) < 2.1 * mean(found["least squares"]["seconds"])


def of_side_by_side():
    rows = record("shortest_paths.json")["rows"]
    seconds = {}
    for row in rows:
        seconds.setdefault(row["method"], []).extend(row.get("seconds", ()))
    pairs = [
        ("PyEPO, SPO+", "SPO+ through the structure"),
        ("PyEPO, perturbed Fenchel-Young", "PerturbedFenchelYoung"),
    ]
    ratios = [mean(seconds[theirs]) / mean(seconds[ours]) for theirs, ours in pairs]
    yield "| {:.0f} to {:.0f} times ours", ratios
    yield "PyEPO takes {:.0f} to {:.0f} times the CPU time", ratios
    ours, imle = record("side_by_side.json")["subsets"]
    lead = 100 * (mean(imle["accuracy"]) - mean(ours["accuracy"]))
    yield "torch-imle is {:.1f} points more accurate, if its option `beta` is tuned", [lead]
    yield "**torch-imle is {:.1f} points more accurate, but only if `beta` is tuned.**", [lead]
    yield "| {:.1f} times ours |", [mean(imle["seconds"]) / mean(ours["seconds"])]
    tried = {(setting, rate): value for setting, rate, value in imle["validation"]}
    assert imle["setting"] == "beta 100"
    lost = 100 * (tried["beta 100", imle["rate"]] - tried["beta 10", imle["rate"]])
    yield "With a `beta` of 10 instead of 100, torch-imle loses {:.0f} points.", [lost]
    gaussian, bits, pythae = record("side_by_side.json")["vae"]
    lower = mean(pythae["bound"]) - mean(gaussian["bound"])
    assert max(gaussian["bound"]) < min(pythae["bound"]) < min(bits["bound"])
    yield "our bound is {:.1f} nats lower, of {:.0f}", [lower, mean(pythae["bound"])]
    yield "| {:.1f} times ours |", [mean(pythae["seconds"]) / mean(gaussian["seconds"])]


def of_outside():
    outside = record("outside.json")
    rows, limit = outside["rows"], outside["limit"]
    families = (len(rows) - 10) // 2
    numbers = [len(rows), families]
    yield "There are {} problems: ten well-known ones, and two from each of {} families", numbers
    yield "Each solver gets {:g} seconds of CPU time and one core", [limit]
    proofs = sum(row["answers"]["auto"]["proved"] for row in rows.values())
    yield "`auto` proves {} of the {} problems", [proofs, len(rows)]
    standings = [standing(row) for row in rows.values()]
    numbers = [len(rows) - standings.count("behind"), len(rows), standings.count("ahead")]
    words = "no other solver is ahead of `auto`. On {} of them, `auto` is ahead of all others.**"
    yield f"**On {{}} of the {{}} problems, {words}", numbers
    assert "behind" not in standings  # "No solver is ahead on any problem of the record"


def of_cliques_outside():
    """What the record says of the families in `benchmarks/outside_cliques.py`."""
    rows = record("outside.json")["rows"].values()
    rows = [row for row in rows if row["family"] in CLIQUES]
    sizes = [row["n"] for row in rows]
    names = ("CP-SAT", "HiGHS", "SCIP", "Gurobi", "toulbar2")
    proofs = {name: sum(proves(row, name) for row in rows) for name in ("auto", *names)}
    others = max(proofs[name] for name in names)
    words = "Of {} such problems of {} to {} variables, `auto` proves {} within 3 s, and the best other solver {}"
    yield words, [len(rows), min(sizes), max(sizes), proofs["auto"], others]


def of_first_calls():
    rows = record("first_call.json")["rows"]
    # A run that ends by its time limit says nothing about the first call.
    rows = [row for row in rows if row["solver"] != "local_search"]
    longest = max(row["first"] - row["second"] for row in rows)
    assert longest <= 0.1
    yield "**The first call of a process takes at most 0.1 s longer than the second one.**", []
    yield "`import solvers` takes {:.0f} ms more", [1000 * median(row["import"] for row in rows)]
    for row in rows:
        names = [row["problem"], row["solver"]]
        milliseconds = [1000 * row[name] for name in ("first", "second")]
        yield "| {} | `{}` | {:.0f} | {:.1f} |", [*names, *milliseconds]


def of_kernels():
    kernels = record("beside_numba.json")
    means = [kernels["mean_ratio"][level] for level in "43"]
    yield "the geometric mean is {:.2f} at level 4 and {:.2f} at level 3", means
    high, low = (kernels["microseconds"][level] for level in "43")
    assert max(row["ratio"] for row in high.values()) <= 1  # "Level 3 has the only ratios above 1"
    assert max(low, key=lambda task: low[task]["ratio"]) == "exhaustive: n=20, batch 5"
    for folder in dict.fromkeys(task.split(":")[0] for task in high):
        cells = []
        for rows in (high, low):
            ratios = [row["ratio"] for task, row in rows.items() if task.startswith(f"{folder}:")]
            cells.append(" to ".join(f"{end:.2f}" for end in sorted({min(ratios), max(ratios)})))
        yield "| `{}` | {} | {} | {} |", [folder, len(ratios), *cells]


QUOTED = {
    "CHANGELOG.md": of_cliques_outside,
    "docs/decisions/0010-kernels-compiled-with-the-package.md": of_kernels,
    "docs/install.md": of_first_calls,
    "README.md": of_readme,
    "docs/choose_a_solver.md": of_choose,
    "docs/exact_benchmarks.md": of_exact_benchmarks,
    "docs/reproduce.md": of_reproduce,
    "docs/reproduce_protocol.md": of_protocol,
    "docs/celeba.md": of_celeba,
    "docs/estimator_costs.md": of_estimators,
    "docs/step_cost.md": of_the_costs_of_a_step,
    "docs/hardware.md": of_hardware,
    "docs/estimator_measurements.md": of_estimators_on_a_gpu,
    "docs/estimators_score.md": of_score_functions,
    "docs/default_settings.md": of_default_settings,
    "docs/default_settings_tables.md": of_all_default_settings,
    "docs/label_benchmarks.md": of_label_batches,
    "docs/crf_benchmarks.md": of_crfs,
    "docs/solver_measurements.md": of_known_optima,
    "docs/epsilon_and_sides.md": of_epsilon_and_sides,
    "docs/outside.md": of_outside,
    "docs/own_networks.md": of_own_networks,
    "docs/layer_examples.md": of_layer_examples,
    "docs/learnt_priors.md": of_learnt_priors,
    "docs/loss_experiment.md": of_loss_experiment,
    "docs/pyepo_results.md": of_pyepo,
    "docs/side_by_side.md": of_side_by_side,
    "docs/semi_supervised_results.md": of_semi_supervised,
    "docs/semi_supervised_details.md": of_variants_with_few_labels,
    "docs/semi_supervised_styles.md": of_the_styles,
    "docs/two_hundred_bits.md": of_the_study_of_two_hundred_bits,
    "docs/two_hundred_bits_details.md": of_causes_in_two_hundred_bits,
    "docs/measurements.md": of_measurements,
    "docs/measurements_15_bits.md": of_the_best_of_each_encoder,
    "docs/measurements_15_bits_recipes.md": of_fifteen_bits,
    "docs/measurements_15_bits_settings.md": of_structured,
    "docs/measurements_table1.md": of_table1,
    "docs/measurements_more_bits.md": of_more_bits,
    "docs/measurements_other_codes.md": of_other_codes,
}


def test_the_table_of_records_says_which_are_of_code_in_no_commit():
    rows = [line for line in text("results/README.md").splitlines() if line.startswith("| `")]
    folder = ROOT / "results"
    for name in (str(path.relative_to(folder)) for path in folder.rglob("*.json*")):
        if '-dirty"' in text(f"results/{name}"):
            assert [line for line in rows if f"| `{name}` |" in line and "dirty" in line], name


class ReadOptions:
    """The options of an estimator, which note the names that are read."""

    def __init__(self):
        self.options = EstimatorOptions(n=4, samples=4)
        self.names = set()

    def __getattr__(self, name):
        names = {"new_epsilon": {"epsilon", "epsilon_rule"}, "n": set()}
        self.names |= names.get(name, {name})
        return getattr(self.options, name)


def test_the_page_of_options_names_those_that_each_estimator_reads():
    rows = re.findall(
        r"^\| (`.+) \| (\d|not used) \| (.*)\|$", text("docs/estimator_settings.md"), re.MULTILINE
    )
    listed = {}
    for names, samples, others in rows:
        options = set(re.findall(r"`(\w+)`", others))
        for name in re.findall(r"`(\w+)`", names):
            listed[name] = (samples, options)
    read = {}
    for name in ESTIMATORS.built_in:
        options = ReadOptions()
        ESTIMATORS[name].of_options(options)
        samples = "not used"
        if "samples" in options.names:
            samples = str(ESTIMATORS[name].usual_samples)
        read[name] = (samples, options.names - {"samples"})
    assert listed == read


@pytest.mark.parametrize("page", QUOTED)
def test_quoted_numbers_are_those_of_the_records(page):
    found = " ".join(text(page).split())
    missing = [
        say for words, numbers in QUOTED[page]() if (say := words.format(*numbers)) not in found
    ]
    assert not missing, f"{page} should say: {missing}"


TOLD_APART = {
    "by its recipe": ("gi si", "gi si", ""),
    "with a falling rate": ("gs gi si", "gs gi si", "gs gi"),
    "with the KL weight from 4 to 1": ("", "", ""),
    "with the KL weight from 2, 4 or 10 to 1, by encoder": ("gi si", "si", ""),
}
"""Whom pages say that seeds tell apart, by first letters: by the paper's number, the valid bound and -log p(x)."""


@pytest.mark.parametrize("how", TOLD_APART)
def test_seeds_tell_those_encoders_apart_of_which_pages_say_it(how):
    cells = {name[0]: by_seed(name) for name in Experiment.named("structured").orders[how]}
    for quantity, said in zip(
        ("bound_surrogate", "bound", "minus_log_p"), TOLD_APART[how], strict=True
    ):
        values = {letter: [run[quantity] for run in runs] for letter, runs in cells.items()}
        told = [
            one + other
            for one, other in combinations(values, 2)
            if ttest_ind(values[one], values[other], equal_var=False).pvalue < 0.05
        ]
        assert told == said.split(), quantity


@pytest.mark.parametrize(
    "script", sorted((ROOT / "docs" / "gallery").glob("*/*.py")), ids=lambda path: path.stem
)
def test_a_figure_is_finished_in_the_cell_that_makes_it(script):
    """Sphinx-Gallery shows and closes it at the end of the cell: what a later one drew was never seen."""
    drawn_on = set()
    for cell in script.read_text().split("# %%"):
        nodes = list(ast.walk(ast.parse(cell)))
        named = [node for node in nodes if isinstance(node, ast.Name)]
        own = {node.id for node in named if isinstance(node.ctx, ast.Store)}
        assert not drawn_on & ({node.id for node in named} - own)
        made = [
            node
            for node in nodes
            if isinstance(node, ast.Assign) and "subplots" in ast.unparse(node.value)
        ]
        drawn_on |= {
            node.id
            for each in made
            for node in ast.walk(each.targets[0])
            if isinstance(node, ast.Name)
        }


def test_every_fixed_fault_of_the_review_has_tests_that_exist():
    rows = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", text("tests/README.md"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 25))
    for number, cell in rows:
        named = re.findall(r"`([a-z0-9_]+)::(test_[a-z0-9_]+)`", cell)
        assert named, number
        for file, test in named:
            assert f"def {test}(" in text(f"tests/test_{file}.py"), test


def test_the_tests_of_what_torch_users_ask_for_exist():
    _, section = text("tests/README.md").split("## What torch users ask for")
    titles = re.findall(r"^### (\d)\. ", section, re.MULTILINE)
    assert titles == [str(item) for item in range(1, 9)]
    rows = [row for row in section.splitlines() if row.startswith("| ") and "`" in row]
    assert len(rows) > 35
    for row in rows:
        named = re.findall(r"`([a-z0-9_]+)::(test_[a-z0-9_]+)`", row)
        assert named, row
        for file, test in named:
            assert f"def {test}(" in text(f"tests/test_{file}.py"), test
