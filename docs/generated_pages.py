"""Make pages from the registry and the records, so that no number is copied by hand.

As a script it prints the table of backends: `python docs/generated_pages.py`.
"""

from __future__ import annotations

import json
import math
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
from benchmarks.regret import Row, best, by_family, factor
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
        structure_pages.decisions,
        structure_pages.decisions_seconds,
        structure_pages.decisions_from_pictures,
        structure_pages.pyepo_processes,
        structure_pages.experts,
        structure_pages.pixel_subsets,
        *learning_pages.TABLES,
    ):
        heading, *lines = rows()
        write_changed(HERE / "generated" / f"{rows.__name__}.md", table(heading, lines))
    of_outside = outside, outside_counts, outside_losses, outside_sources
    of_qplib = qplib_summary, qplib, qplib_peers
    for page in (backends, label_proofs, losses, *of_outside, *of_qplib, regret):
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
        "certifies optima",
        "pairwise scores",
        "largest n",
        "treewidth",
        "runs on",
        "time limit",
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


def qplib_summary() -> str:
    """How many of QPLIB's binary problems each solver proves, the best first."""
    lines = sorted(summary(_qplib_rows()), key=lambda line: -int(line[1].split()[0]))
    named = [(name.replace("ours", "`auto`"), *numbers) for name, *numbers in lines]
    return table(("solver", "proved ↑", "shifted geometric mean of the times, s ↓"), named)


def qplib() -> str:
    """Each of QPLIB's binary problems, and what the table shows."""
    rows = _qplib_rows()
    heading = ("problem", "n", "mean degree", "value ↑", "bound ↓", "proved by", "CPU time, s ↓")
    lines = []
    for name, row in rows.items():
        bound = "equal"
        backend = f"`{row['solver']}`"
        if not row["proved"]:
            bound = f"{row['bound']:.8g}"
            backend = "not proved"
        lines.append(
            (
                *(_number(name), str(row["n"]), f"{row['mean_degree']:.0f}"),
                *(f"{row['value']:.8g}", bound, backend, f"{row['seconds']:.2f}"),
                _published(min(row["published"].values())),
            )
        )
    notes = (_families(rows), _slower(rows), _conditions(rows), _better(rows))
    return table((*heading, "best published, s ↓"), lines) + "\n" + "".join(filter(None, notes))


def qplib_peers() -> str:
    """The instances that other solvers got on the same machine."""
    rows = _qplib_rows()
    beside = {name: row for name, row in rows.items() if row.get("peers")}
    peers = sorted({peer for row in beside.values() for peer in row["peers"]}, key=str.lower)
    lines = []
    for name, row in beside.items():
        ours = f"{row['seconds']:.2f}" if row["proved"] else "not proved"
        theirs = [_peer(row["peers"][peer]) if peer in row["peers"] else "-" for peer in peers]
        lines.append((_number(name), f"{row['value']:.8g}", ours, *theirs))
    longest = max((row["seconds"] for row in beside.values()), default=0.0)
    answers = [answer for row in beside.values() for answer in row["peers"].values()]
    limit = max((answer["limit"] for answer in answers), default=0.0)
    note = (
        f"\nThe limit was {limit:g} s, and `auto` needs at most {longest:.1f} s. "
        f"Only {len(beside)} of the {len(rows)} problems were given to these solvers.\n"
    )
    return (
        table(("problem", "value", "`auto`, s ↓", *(f"{peer}, s ↓" for peer in peers)), lines)
        + note
    )


def _qplib_rows() -> dict[str, Row]:
    """The rows of the record, the smallest problem first."""
    rows = json.loads((RESULTS / "qplib.json").read_text(encoding="utf-8"))["rows"]
    return dict(sorted(rows.items(), key=lambda item: item[1]["n"]))


def _number(name: str) -> str:
    return name.removeprefix("QPLIB_")


def _families(rows: dict[str, Row]) -> str:
    """How many instances only ours prove, and whether they are of one family: numbers that begin alike."""
    names = [_number(name) for name in proved_by_ours_alone(rows)]
    kinds = sorted({name[0] for name in names})
    one = (
        f"belong to one family, whose numbers begin with {kinds[0]}"
        if len(kinds) == 1
        else f"belong to {len(kinds)} families"
    )
    return f"- `auto` proves {len(names)} problems that no published solver proves. They {one}.\n"


def _slower(rows: dict[str, Row]) -> str:
    """The instances that take ours longer than the best published solver."""
    slow = [
        f"{_number(name)} ({rows[name]['seconds']:.3g} s, published "
        f"{min(rows[name]['published'].values()):.0f} s)"
        for name in much_slower(rows, 1.0)
    ]
    if not slow:
        return ""
    return f"- `auto` takes longer than the best published solver on {_listed(slow)}.\n"


def _better(rows: dict[str, Row]) -> str:
    """Where the state of ours is better than the one stored beside the files; all are maximised."""
    better = [
        (_number(name), f"{row['value']:.8g}", f"{row['best_known']:.8g}")
        for name, row in rows.items()
        if row["value"] > row["best_known"]
    ]
    if not better:
        return ""
    return (
        "\nOn these problems, the value is higher than that of the state stored with the files. We "
        "did not compare with the values that QPLIB's website lists today:\n\n"
        + table(("problem", "our value ↑", "stored value ↑"), better)
    )


def _conditions(rows: dict[str, Row]) -> str:
    """The limit and whom it stopped, machines and versions."""
    limit = max(row["limit"] for row in rows.values())
    hardware = sorted({row["hardware"]["processor"] for row in rows.values()})
    late = [
        f"{_number(name)} after {row['seconds']:,.0f} s of CPU time"
        for name, row in rows.items()
        if row["wall"] >= row["limit"]
    ]
    stopped = f" It stopped the search of {_listed(late)}." if late else ""
    return (
        f"- The limit was {limit:,.0f} s of wall-clock time, on machines ({_listed(hardware)}) that "
        f"also did other work.{stopped}{_versions(rows)}\n"
    )


def _versions(rows: dict[str, Row]) -> str:
    """Whether the rows of ours compare: those of several commits do not."""
    commits = commits_of(rows)
    if len(commits) == 1:
        return " All rows are of one version of the library."
    return f" The rows are of {len(commits)} versions of the library ([records](records.md))."


def _listed(names: Sequence[str]) -> str:
    """Return names in words, such as "a, b and c"."""
    *first, last = names
    if not first:
        return last
    return f"{', '.join(first)} and {last}"


def _peer(row: Row) -> str:
    if row["proved"]:
        return f"{row['seconds']:.2f}"
    if "refused" in row:
        return "refused"
    bound = "" if row["bound"] is None else f", bound {row['bound']:.8g}"
    return f"not proved{bound}"


def _published(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds < PUBLISHED_LIMIT else "not proved"


def regret() -> str:
    """Each family's worst factors, and which solver would have been the best there."""
    record = json.loads((RESULTS / "regret.json").read_text(encoding="utf-8"))["rows"]
    heading = (
        "family",
        "variables",
        "backends of `auto`",
        "ratio to our best ↓",
        "our best backend",
        "ratio to the best of all ↓",
        "best of all backends",
    )
    lines = []
    for name, rows in by_family(record).items():
        sizes = ", ".join(str(row["n"]) for row in rows)
        names = (name for row in rows for name in row["took"].split(" + "))
        took = ", ".join(f"`{each}`" for each in dict.fromkeys(names))
        title = name.replace("portfolio", "portfolio of assets")  # not a portfolio of backends
        lines.append((title, sizes, took, *_worst(rows, False), *_worst(rows, True)))
    return table(heading, lines) + f"\n{_regretted(record)}"


def _regretted(record: dict[str, Row]) -> str:
    """What `auto` lost where it proved nothing and another backend proved the optimum."""
    lines = []
    for name, row in record.items():
        auto = row["answers"]["auto"]
        if factor(row, True) < math.inf or "refused" in auto:
            continue
        winner = best(row, True)
        gap = (auto["bound"] - auto["score"]) / abs(auto["score"])
        lines.append(
            f'"No proof" for {name.rpartition(", ")[0]}: with {row["n"]:,} variables, `auto` left '
            f"a gap of {gap:.1e} "
            f"after {row['limit']:g} s, and `{winner}` proves the optimum in "
            f"{row['answers'][winner]['seconds']:.1f} s."
        )
    return "\n".join(lines) + "\n"


def label_proofs() -> str:
    """The networks that come with toulbar2: who finds and who proves their optima, and how soon."""
    record = json.loads((RESULTS / "label_proofs.json").read_text(encoding="utf-8"))
    heading = (
        "problem",
        "variables, labels",
        "toulbar2: cost ↓, CPU time ↓",
        "`auto`: cost ↓, CPU time ↓",
        "backend of `auto`",
    )
    return table(heading, table_rows(record["rows"]))


def outside() -> str:
    """Each outside instance: what `auto` reached by which backend, beside the best other solver."""
    heading = ("problem", "size", "`auto`", "backend", "best other solver", "which")
    return table(heading, outside_rows(_outside()))


def outside_counts() -> str:
    """Count the outside instances on which `auto` is ahead of all others, level, or behind."""
    counts = Counter(standing(row) for row in _outside().values())
    lines = [(kind, str(counts[kind])) for kind in ("ahead", "level", "behind")]
    return table(("`auto` is", "problems"), lines)


def outside_sources() -> str:
    """The families of the outside instances, and who published the generator or the problem."""
    return table(("family", "source", "sizes"), source_rows(_outside()))


def outside_losses() -> str:
    """Every way in which another solver was ahead of `auto` on an outside instance."""
    heading = ("problem", "`auto` is behind in", "`auto`", "best other solver", "which")
    kinds = {
        "no answer": "finding an answer",
        "no proof": "the proof",
        "value": "the value ↑",
        "bound": "the upper bound ↓",
        "time": "the CPU time of the proof ↓",
    }
    lines = [
        (loss.instance, kinds[loss.kind], loss.ours, loss.theirs, loss.peer)
        for loss in all_losses(_outside())
    ]
    if not lines:
        return "No other solver is ahead on any problem of this record.\n"
    return table(heading, lines)


def _outside() -> dict[str, Row]:
    record = json.loads((RESULTS / "outside.json").read_text(encoding="utf-8"))
    rows: dict[str, Row] = record["rows"]
    return rows


def _worst(rows: Sequence[Row], third_parties: bool) -> tuple[str, str]:
    """The largest factor of a family, and who was the best there."""
    worst = max(rows, key=partial(factor, third_parties=third_parties))
    times = factor(worst, third_parties)
    shown = "no proof" if times == math.inf else f"{times:.2f}"
    return shown, f"`{best(worst, third_parties)}`"


def losses() -> str:
    """How well each loss learns to segment: after few steps, at the end, and how much its setting matters."""
    record = json.loads((RESULTS / "losses.json").read_text(encoding="utf-8"))
    heading = (
        *("loss", "argmaxes", "IoU after 25 steps ↑", "IoU at the end ↑"),
        *("best minus worst trial ↓", "ms a step ↓"),
    )
    titles = {"GibbsLikelihood": "GibbsLikelihood, after 50 images only"}
    lines = [
        (
            *(titles.get(name, name), str(row["argmaxes"]), f"{median(at_step(row, 25)):.3f}"),
            f"{median(ends(row)):.3f} ({min(ends(row)):.3f})",
            f"{row['tried'][0]['iou'] - row['tried'][-1]['iou']:.3f}",
            f"{milliseconds(row):.0f}",
        )
        for name, row in sorted(record["rows"].items(), key=lambda item: -median(ends(item[1])))
    ]
    versions = ", ".join(f"{name} {record['versions'][name]}" for name in ("torch", "numpy"))
    return (
        table(heading, lines)
        + f"\nThe numbers are medians of {len(row_seeds(record))} seeds on {record['held_out']} test images. "
        f"They were measured on one core of {record['hardware']['processor']}, with {versions}.\n"
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
    signs = "any"
    if not can.pairwise:
        signs = "none"
    elif can.supermodular_only:
        signs = "at least 0, if necessary after bit flips"
    return (
        f"`{info.name}`",
        "yes" if can.exact else "no",
        signs,
        f"{can.max_size:,}" if can.max_size else "any",
        "any" if can.max_treewidth is None else f"at most {can.max_treewidth}",
        "host, device" if can.on_device else "host",
        "stops" if can.time_limit else "ignored",
    )


if __name__ == "__main__":
    print(backends(), end="")
