"""Pages and tools say which records mix several versions of the code, and which times do not compare."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def module(monkeypatch, from_checkout):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield from_checkout
    for name in (
        "generated_pages",
        "api_pages",
        "learning_pages",
        "structure_pages",
        "build_marks",
    ):
        sys.modules.pop(name, None)


def commits_in(part):
    """All commits that a record or a part of one names."""
    found = Counter()
    if isinstance(part, dict):
        found.update([part["commit"]] if isinstance(part.get("commit"), str) else [])
        part = part.values()
    if not isinstance(part, str | int | float | None):
        for each in part:
            found += commits_in(each)
    return found


def test_the_page_of_records_lists_those_whose_rows_are_of_several_commits():
    page = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    section = page.split("## Records of several commits")[1].split("\n## ")[0]
    listed = dict(re.findall(r"^\| `([\w.-]+)` \| (\d+) \|", section, re.MULTILINE))
    counted = {}
    for path in (ROOT / "results").glob("*.json"):
        commits = commits_in(json.loads(path.read_text(encoding="utf-8")))
        if len(commits) > 1:
            counted[path.name] = str(len(commits))
    assert listed == counted


BINARISATION_AND_EPOCHS = {
    "measurements_table1.md": "table1",
    "reproduce.md": "table1",
    "semi_supervised_results.md": "table2",
}


@pytest.mark.parametrize("name", BINARISATION_AND_EPOCHS)
def test_pages_that_compare_with_the_paper_say_what_differs(name):
    folder = ROOT / "results" / BINARISATION_AND_EPOCHS[name]
    configs = [
        json.loads(path.read_text(encoding="utf-8"))["config"] for path in folder.glob("*.json")
    ]
    assert {config["data"]["binarisation"] for config in configs} == {"threshold"}
    (epochs,) = {config["epochs"] for config in configs}
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    paragraphs = [" ".join(part.split()) for part in page.split("\n\n")]
    (claim, *_) = [part for part in paragraphs if re.search(r"^\*\*.*as good as the paper's", part)]
    for word in ("thresholded", f"{epochs} epochs"):
        assert word in claim, f"docs/{name} should say: {word}"
    assert re.search("recipe|settings", claim)


def rows_of(commits, seconds=5.0):
    row = {"proved": True, "seconds": seconds, "published": {"A": 3600.0, "B": 3600.0}, "peers": {}}
    about = {
        "n": 3,
        "mean_degree": 1.0,
        "solver": "auto",
        "value": 1.0,
        "best_known": 1.0,
        "limit": 9.0,
    }
    hardware = {"hardware": {"processor": "none"}}
    return {
        f"QPLIB_3{k}": row | about | hardware | {"commit": commit}
        for k, commit in enumerate(commits)
    }


def test_the_qplib_page_says_when_its_rows_are_of_several_commits(module):
    pages = module("generated_pages")
    assert "All rows are of one version" in pages._versions(rows_of(["a" * 40] * 2))
    said = pages._versions(rows_of(["a" * 40, "b" * 40, "a" * 40]))
    assert "The rows are of 2 versions of the library" in said


def test_the_qplib_page_says_where_others_are_much_faster_and_that_new_proofs_are_of_one_family(
    module,
):
    pages, rows = module("generated_pages"), rows_of(["a" * 40] * 3)
    families = pages._families(rows)
    assert (
        "proves 3 problems that no published solver proves. They belong to one family" in families
    )
    assert pages._slower(rows) == ""
    rows["QPLIB_31"] |= {"seconds": 269.2, "published": {"A": 1.0, "B": 3600.0}}
    assert "published solver on 31 (269 s, published 1 s)." in pages._slower(rows)
    assert "proves 2 problems" in pages._families(rows)
    page = pages.qplib()
    assert "takes longer than the best published solver on 5721" in page
    assert "They belong to one family, whose numbers begin with 3" in page


def test_the_qplib_page_says_why_a_search_stopped(module):
    page = module("generated_pages").qplib()
    assert re.search(
        r"The limit was 3,600 s of wall-clock time, .* It stopped the search of 5922 after", page
    )


def test_ratios_of_the_regret_page_have_two_decimals(module):
    page = module("generated_pages").regret()
    ratios = re.findall(r"\| ([\d.]+) \| `", page)
    assert len(ratios) == 2 * 40
    assert all(re.fullmatch(r"\d+\.\d\d", ratio) for ratio in ratios)


def test_the_regret_page_says_which_backend_proves_what_auto_does_not(module):
    pages = module("generated_pages")
    answer = {"seconds": 2.0, "score": 1.0, "bound": 1.5, "proved": False}
    proof = {"seconds": 1.0, "score": 1.0, "bound": 1.0, "proved": True}
    row = {"n": 1000, "limit": 2.0, "answers": {"auto": answer, "highs": proof}}
    said = pages._regretted({"grid, 1000": row})
    assert "grid: with 1,000 variables, `auto` left a gap of 5.0e-01 after 2 s" in said
    assert "`highs` proves the optimum in 1.0 s" in said


def test_the_qplib_page_says_that_peers_got_a_selection(module):
    page = module("generated_pages").qplib_peers()
    assert re.search(r"Only \d+ of the 23 problems were given to these solvers", page)


def write_tiny(folder):
    folder.mkdir(parents=True)
    about = {"n": 3, "mean_degree": 4 / 3, "best_known": 2.0, "published_seconds": {"SCIP": 5.0}}
    instances = {}
    for name in ("first", "second"):
        text = f"{name}\nQBB\nmaximize\n3\n2\n1 2 -6.0\n2 3 4.0\n1.0\n1\n3 -2.5\n0.5\n"
        (folder / f"{name}.qplib").write_text(text)
        instances[name] = about | {"file": f"{name}.qplib"}
    (folder / "index.json").write_text(json.dumps({"instances": instances}))


def test_qplib_measures_all_rows_of_another_commit_anew_and_resumes(module, tmp_path):
    write_tiny(tmp_path / "problems" / "qplib")
    output, commit, solved = tmp_path / "record.json", ["a" * 40], []

    def solve_here(work, path, solver, seconds):
        solved.append(path.stem)
        return work(path, solver, seconds)

    qplib = module(
        "benchmarks.qplib", environment=lambda: {"commit": commit[0]}, in_a_process=solve_here
    )
    call = ["--root", str(tmp_path), "--seconds", "60", "--output", str(output)]
    qplib.main(call)
    assert solved == ["first", "second"]
    commit[0] = "b" * 40
    qplib.main(call)
    qplib.main([*call, "--anew", "--only", "second"])
    assert solved == ["first", "second", "second"]
    assert list(qplib.commits_of(json.loads(output.read_text())["rows"])) == ["a" * 40, "b" * 40]
    qplib.main([*call, "--anew"])
    qplib.main([*call, "--anew"])
    assert solved == ["first", "second", "second", "first"]
    assert list(qplib.commits_of(json.loads(output.read_text())["rows"])) == ["b" * 40]


def test_qplib_refuses_a_table_of_one_commit_from_a_changed_checkout(module, tmp_path, capsys):
    qplib = module("benchmarks.qplib", environment=lambda: {"commit": "c" * 40 + "-dirty"})
    with pytest.raises(SystemExit):
        qplib.main(["--root", str(tmp_path), "--anew"])
    assert "--anew needs a checkout without changes" in capsys.readouterr().err


def test_times_below_the_start_of_a_process_are_not_compared(module):
    proofs = module("benchmarks.label_proofs")
    assert proofs.seconds_shown(0.0499) == proofs.seconds_shown(0.003) == "< 0.05 s"
    assert proofs.seconds_shown(0.0501) == "0.05 s"
    table = module("generated_pages").label_proofs()
    times = re.findall(r", (<? ?[\d.]+) s", table)
    assert len(times) == 24
    assert {time for time in times if float(time.strip("< ")) < 0.05} == set()
    assert "| GEOM40_3 | 40, 3 | -64.47238, < 0.05 s | -64.47238, < 0.05 s |" in table


def test_the_page_of_calls_beside_other_packages_says_what_the_record_says():
    rows = json.loads((ROOT / "results" / "calls.json").read_text(encoding="utf-8"))["calls"]
    refused = [row["peer"] for row in rows if "refused" in row]
    assert refused == ["pytorch-crf"] * 4
    factors = {row["peer"]: row["theirs"] / row["ours"] for row in rows if "theirs" in row}
    assert factors["torch-struct"] > 100
    assert {peer for peer, factor in factors.items() if factor < 1} == {"entmax", "optax"}
    page = (ROOT / "docs" / "side_by_side.md").read_text(encoding="utf-8")
    assert "pytorch-crf raises an error for four of these calls" in page
    assert "torch-struct takes over 100 times as long" in page
    assert "entmax and optax are\nfaster" in page
