"""Pages made of the registry and of records in every build, so that none of their numbers is copied by hand.

As a script it prints the table of backends: `python docs/generated_pages.py`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))  # where the benchmarks lie
sys.path.insert(0, str(Path(__file__).parent))

import api_pages
import build_marks
import learning_pages
import structure_pages
from matplotlib.figure import Figure

from benchmarks.label_proofs import table_rows
from benchmarks.losses import at_step, ends, milliseconds
from benchmarks.outside_losses import all_losses, source_rows, standing
from benchmarks.outside_losses import table_rows as outside_rows
from benchmarks.qplib import PUBLISHED_LIMIT, commits_of, much_slower, proved_by_ours_alone, summary
from benchmarks.regret import Row, best, by_family, factor, kept
from solvers import available_solvers
from solvers.registry import SolverInfo
from structured_vae.reproduction.experiments import Experiment, experiment_names
from structured_vae.reproduction.report import records_of, write_report

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"


def write(app) -> None:
    """Writes the tables in `generated/`, and a page in `reproduction/` for each experiment that has records."""
    for folder in ("generated", "reproduction", "reference"):
        (HERE / folder).mkdir(exist_ok=True)
    for rows in (
        structure_pages.shortest_paths,
        structure_pages.pixel_subsets,
        *learning_pages.TABLES,
    ):
        heading, *lines = rows()
        write_changed(HERE / "generated" / f"{rows.__name__}.md", table(heading, lines))
    of_outside = outside, outside_counts, outside_losses, outside_sources
    for page in (backends, label_proofs, losses, *of_outside, qplib, regret):
        write_changed(HERE / "generated" / f"{page.__name__}.md", page())
    reference = api_pages.pages()
    for name, text in reference.items():
        write_changed(HERE / "reference" / f"{name}.md", text)
    for old in (HERE / "reference").glob("*.md"):
        if old.stem not in reference:
            old.unlink()
    mark = HERE / "generated" / ".drawn"
    sources = [RESULTS, HERE / "structure_pages.py", HERE / "learning_pages.py", Path(__file__)]
    if build_marks.changed(mark, sources):
        draw()
        build_marks.keep(mark, sources)


def draw() -> None:
    """The pictures and reports of the records."""
    loss_curves().savefig(HERE / "generated" / "losses.png", dpi=150)
    pictures = structure_pages.chosen_pixels, structure_pages.regret_by_degree
    along = learning_pages.bounds_of_two_hundred_bits, learning_pages.variance_of_two_hundred_bits
    for picture in (*pictures, *along):
        picture().savefig(HERE / "generated" / f"{picture.__name__}.png", dpi=150)
    for experiment in map(Experiment.named, experiment_names()):
        if records_of(experiment, RESULTS):
            write_report(experiment, RESULTS, HERE / "reproduction")


def write_changed(path: Path, text: str) -> None:
    """Writes a file whose content is another one, so that Sphinx reads no page again for nothing."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def backends() -> str:
    """The capabilities of the built-in solvers, as a table in Markdown."""
    heading = (
        "backend",
        "answer",
        "pairwise scores",
        "largest n",
        "treewidth",
        "runs on",
        "stops at a time limit",
    )
    return table(
        heading, [_row(info) for info in available_solvers() if info.capabilities is not None]
    )


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    return (
        "\n".join(f"| {' | '.join(line)} |" for line in [heading, ["---"] * len(heading), *rows])
        + "\n"
    )


def qplib() -> str:
    """What is proved of QPLIB's binary problems: in sum, beside what others published, and one by one."""
    rows = json.loads((RESULTS / "qplib.json").read_text(encoding="utf-8"))["rows"]
    others = sorted({peer for row in rows.values() for peer in row["published"]})
    heading = ("instance", "n", "mean degree", "proved by", "seconds", "value", "best published, s")
    lines = [
        (
            *(name.removeprefix("QPLIB_"), str(row["n"]), f"{row['mean_degree']:.0f}"),
            f"`{row['solver']}`" if row["proved"] else f"open, bound {row['bound']:.8g}",
            f"{row['seconds']:.2f}"
            if row["proved"]
            else f"{row['seconds']:.0f}, stopped at {row['limit']:.0f}",
            f"{row['value']:.8g}",
            _published(min(row["published"][peer] for peer in others)),
        )
        for name, row in sorted(rows.items(), key=lambda item: item[1]["n"])
    ]
    instances = {
        name: row
        for name, row in sorted(rows.items(), key=lambda item: item[1]["n"])
        if row.get("peers")
    }
    peers = sorted({peer for row in instances.values() for peer in row["peers"]}, key=str.lower)
    beside = [
        (
            name.removeprefix("QPLIB_"),
            f"{row['seconds']:.2f}" if row["proved"] else "open",
            *(_peer(row["peers"][peer]) if peer in row["peers"] else "" for peer in peers),
        )
        for name, row in instances.items()
    ]
    hardware = sorted({row["hardware"]["processor"] for row in rows.values()})
    limits, most = (
        [row["limit"] for row in rows.values()],
        max(row["seconds"] for row in rows.values()),
    )
    return (
        table(("solver", "proved", "shifted geometric mean, s"), summary(rows))
        + "\n"
        + table(heading, lines)
        + f"\n{len(rows)} instances were run, with limits of {min(limits):.0f} to {max(limits):.0f} s of the clock, on "
        f"a machine that did other work too; none had more than {most:.0f} s of CPU time, and the benchmark's limit is "
        f"3,600. Hardware: {', '.join(hardware)}. The shift is 10 s; what is open counts as 3,600.{_better(rows)}\n\n"
        f"{_families(rows)}{_slower(rows)}{_commits(rows)}\n\n"
        "Others on the same core, each with one thread, its default settings and a gap of zero (the formulations are "
        "those of `benchmarks/peers.py`): seconds of CPU time to the proof, or the bound at the limit.\n\n"
        + table(("instance", "`auto`", *peers), beside)
    )


def _families(rows: dict[str, Row]) -> str:
    """How many instances only ours prove, and whether they are of one family: numbers that begin alike."""
    names = [name.removeprefix("QPLIB_") for name in proved_by_ours_alone(rows)]
    kinds = sorted({name[0] for name in names})
    one = (
        f"one family, whose numbers begin with {kinds[0]}"
        if len(kinds) == 1
        else f"{len(kinds)} families"
    )
    return f"No published solver proves {len(names)} of the instances that we prove; these are of {one}."


def _slower(rows: dict[str, Row]) -> str:
    """Which instances take us more than ten times as long as the best published solver."""
    found = []
    for name in much_slower(rows):
        ours, theirs = rows[name]["seconds"], min(rows[name]["published"].values())
        number = name.removeprefix("QPLIB_")
        found.append(
            f" Instance {number} takes us {ours:.0f} s, and the best published solver {theirs:.0f} s."
        )
    return "".join(found)


def _commits(rows: dict[str, Row]) -> str:
    """Which commits the rows of ours are of; more than one do not compare."""
    found = commits_of(rows)
    if len(found) == 1:
        return f" All rows of `auto` are of commit {next(iter(found))[:7]}."
    parts = ", ".join(
        f"{commit[:7]} ({', '.join(name.removeprefix('QPLIB_') for name in names)})"
        for commit, names in found.items()
    )
    return f" The rows of `auto` are of {len(found)} commits, so the table describes no single version: {parts}."


def _better(rows: dict[str, Row]) -> str:
    """Where the state that was found is better than the one stored beside the files; all are maximised."""
    found = [
        f"{name.removeprefix('QPLIB_')} ({row['value']:.8g}, stored {row['best_known']:.8g})"
        for name, row in rows.items()
        if row["value"] > row["best_known"]
    ]
    return (
        f" Better states than those stored with the files were found of {', '.join(found)}."
        if found
        else ""
    )


def _peer(row: Row) -> str:
    if row["proved"]:
        return f"{row['seconds']:.2f}"
    if "refused" in row:
        return "refused"
    bound = "" if row["bound"] is None else f", bound {row['bound']:.8g}"
    return f"open after {row['limit']:.0f}{bound}"


def _published(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds < PUBLISHED_LIMIT else "open"


def regret() -> str:
    """Each family's worst factors, and which solver would have been the best there."""
    record = json.loads((RESULTS / "regret.json").read_text(encoding="utf-8"))["rows"]
    heading = (
        "family",
        "n",
        "proved by",
        "factor to ours",
        "best of ours",
        "factor to all",
        "best of all",
    )
    lines = []
    for name, rows in by_family(record).items():
        sizes = ", ".join(str(row["n"]) for row in rows)
        names = (name for row in rows for name in row["took"].split(" + "))
        took = ", ".join(f"`{each}`" for each in dict.fromkeys(names))
        lines.append((name, sizes, took, *_worst(rows, False), *_worst(rows, True)))
    counts = f"To ours {kept(record, False)}; third parties included, {kept(record, True)}."
    return table(heading, lines) + f"\n{counts}\n"


def label_proofs() -> str:
    """The networks that come with toulbar2: who finds and who proves their optima, and how soon."""
    record = json.loads((RESULTS / "label_proofs.json").read_text(encoding="utf-8"))
    heading = (
        "network",
        "variables, labels",
        "toulbar2: cost, CPU time",
        "`auto`: cost, CPU time",
        "by",
    )
    return table(heading, table_rows(record["rows"]))


def outside() -> str:
    """Each outside instance: what `auto` reached by which backend, beside the best other solver."""
    heading = ("instance", "size", "`auto`", "by", "best other", "which")
    return table(heading, outside_rows(_outside()))


def outside_counts() -> str:
    """On how many outside instances `auto` is ahead of all others, level with the best, or behind."""
    counts = Counter(standing(row) for row in _outside().values())
    meanings = {
        "ahead": "ahead of every other solver",
        "level": "level with the best",
        "behind": "behind another solver in some way",
    }
    lines = [(words, str(counts[kind])) for kind, words in meanings.items()]
    return table(("`auto` is", "problems"), lines)


def outside_sources() -> str:
    """The families of the outside instances, and who published the generator or the problem."""
    return table(("family", "source", "sizes"), source_rows(_outside()))


def outside_losses() -> str:
    """Every way in which another solver was ahead of `auto` on an outside instance."""
    heading = ("instance", "loss", "`auto`", "other", "which")
    lines = [
        (loss.instance, loss.kind, loss.ours, loss.theirs, loss.peer)
        for loss in all_losses(_outside())
    ]
    return table(heading, lines)


def _outside() -> dict[str, Row]:
    record = json.loads((RESULTS / "outside.json").read_text(encoding="utf-8"))
    rows: dict[str, Row] = record["rows"]
    return rows


def _worst(rows: Sequence[Row], third_parties: bool) -> tuple[str, str]:
    """The largest factor of a family, and who was the best there."""
    worst = max(rows, key=partial(factor, third_parties=third_parties))
    return f"{factor(worst, third_parties):.2g}", f"`{best(worst, third_parties)}`"


def losses() -> str:
    """How well each loss learns to segment: after few steps, at the end, and how much its setting matters."""
    record = json.loads((RESULTS / "losses.json").read_text(encoding="utf-8"))
    heading = (
        *("loss", "convex", "argmaxes", "IoU after 25 steps", "at the end", "worst seed"),
        *("validation, best rate", "worst rate", "steps", "ms a step"),
    )
    lines = [
        (
            *(name, "yes" if row["convex"] else "no", str(row["argmaxes"])),
            *(
                f"{value:.3f}"
                for value in (median(at_step(row, 25)), median(ends(row)), min(ends(row)))
            ),
            *(f"{tried:.3f}" for tried in (row["tried"][0]["iou"], row["tried"][-1]["iou"])),
            *(f"{row['runs'][0]['step'][-1]} of {row['batch']}", f"{milliseconds(row):.0f}"),
        )
        for name, row in sorted(record["rows"].items(), key=lambda item: -median(ends(item[1])))
    ]
    versions = ", ".join(f"{name} {record['versions'][name]}" for name in ("torch", "numpy"))
    return (
        table(heading, lines)
        + f"\nMedian of {len(row_seeds(record))} seeds and the worst of them, {record['held_out']} test images; "
        f"{record['hardware']['processor']}, one core, {versions}.\n"
    )


def row_seeds(record: dict) -> list[int]:
    """The seeds of a record of losses, which are those of every row."""
    (seeds,) = {tuple(row["seeds"]) for row in record["rows"].values()}
    return list(seeds)


def loss_curves() -> Figure:
    """The median quality of every loss against steps, and against seconds."""
    rows = json.loads((RESULTS / "losses.json").read_text(encoding="utf-8"))["rows"]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    by_step, by_second = figure.subplots(1, 2, sharey=True)
    for number, (name, row) in enumerate(rows.items()):
        iou, seconds = (
            [median(run[key][i] for run in row["runs"]) for i in range(len(row["runs"][0]["step"]))]
            for key in ("iou", "seconds")
        )
        style = {"color": f"C{number % 10}", "linestyle": "-" if number < 10 else "--"}
        by_step.plot(row["runs"][0]["step"], iou, label=name, **style)
        by_second.plot(seconds[1:], iou[1:], **style)
    by_step.set(xlabel="steps", ylabel="intersection over union, test images", ylim=(0, 1))
    by_second.set(xlabel="seconds of CPU time", xscale="log")
    figure.legend(loc="outside right center", fontsize=8, frameon=False)
    return figure


def _row(info: SolverInfo) -> Sequence[str]:
    can = info.capabilities
    signs = (
        "none"
        if not can.pairwise
        else ">= 0, if need be after bit flips"
        if can.supermodular_only
        else "any"
    )
    return (
        f"`{info.name}`",
        "exact" if can.exact else "no proof",
        signs,
        str(can.max_size or "any"),
        "any" if can.max_treewidth is None else f"at most {can.max_treewidth}",
        "host, device" if can.on_device else "host",
        "yes" if can.time_limit else "no need" if can.exact else "no",
    )


if __name__ == "__main__":
    print(backends(), end="")
