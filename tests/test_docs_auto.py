"""The pages of the rules of `auto` state the thresholds of the code, and no others, in their order."""

import math
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from solvers import Problem, instances, select_solver, solver_class
from solvers.algorithms.elimination import treewidth
from solvers.algorithms.local_search import improvement
from solvers.algorithms.presolve import constrained, one_by_one, penalties
from solvers.backends import local_search
from solvers.labels import messages_first
from solvers.labels import selection as label_selection
from solvers.solving import portfolio
from solvers.solving.bits import (
    clique_turns,
    selection,
    sparse,
    sparse_turns,
    third_parties,
    turn_lengths,
)

DOCS = Path(__file__).parents[1] / "docs"


def largest(name):
    return solver_class(name).capabilities.max_size


def power(number):
    """Return a power of two as pages write it."""
    exponent = int(math.log2(number))
    assert number == 2**exponent
    return f"2^{exponent}"


def share(number):
    return f"{number:.0%}"


def of_words():
    assert penalties.LEAST_COVERED == 0.5  # "at least half"
    assert penalties.LEAST_CLIQUE == 3  # "three"
    size = f"{penalties.MOST_VARIABLES:,} variables and {power(penalties.MOST_PAIRS)} pairs"
    yield f"at most {size}"


def of_words_of_components():
    assert sparse_turns.FIELDS == 0.5  # "at least half"
    excluded = share(clique_turns.EXCLUDED)
    yield f"has *exclusive pairs* if at least {excluded} of its pairs are exclusive |"
    yield f"a component in which at least {excluded} of the pairs score no more together"
    yield f"| none | `cplex` for n at most {third_parties.CPLEX_COMMUNITY:,}, else `cp_sat` |"


def of_the_first_choice():
    quick = f"{selection.QUICKLY_ENUMERABLE + 1} to {selection.QUICKLY_CUT} variables"
    yield f"| 2 | one instance of {quick}, all pairwise scores at least 0 |"
    yield f"| 3 | n at most {selection.ENUMERABLE} |"
    yield f"| 4 | width at most {selection.TREE_LIKE}: "
    states = power(selection.ELIMINABLE_STATES)
    yield f"| 6a | width w at most {selection.ELIMINABLE}, and n 2^w at most {states} |"
    shared = f"width at most {selection.SHARED_WIDTH}"
    entries = power(selection.SHARED_ENTRIES)
    several = f"at least {selection.MANY} instances, {shared}"
    yield f"| 6b | {several}, and at most {entries} entries per instance |"
    yield f"| 7 | n at most {largest('exhaustive')} |"
    yield f"| 9 | mean degree at most {selection.SPARSE_DEGREE} |"
    yield f"| 10 | at most {power(selection.QUICK_ENTRIES)} entries |"
    yield f"| 11 | n at most {largest('branch_and_bound')} |"
    memory = f"{share(treewidth.SHARE)} of the free memory"
    yield f"| 12 | width at most {treewidth.WIDEST}, and the tables fit into {memory} |"


def of_the_rows():
    yield f"| denser graphs, up to {largest('branch_and_bound')} variables | `branch_and_bound` |"
    yield f"if the [mean degree](auto_rules.md#words) is at most {one_by_one.SPARSE_DEGREE} ([how]"
    yield f"| P1 | at most {power(turn_lengths.QUICK_ENTRIES)} entries |"
    yield "| its tables take about 10 ms |"
    yield f"| P2 | exclusive pairs, and n at most {largest('clique_cover'):,} |"
    few_groups = f"one-hot penalties: at most {penalties.FEW_GROUPS} groups per variable"
    yield f"| P3 | an independent set with {few_groups} on average |"
    degree = f"mean degree at most {turn_lengths.EDGE_DEGREE}"
    dense = f"mean degree above {turn_lengths.EDGE_DEGREE};"
    yield f"| P4 | n at most {sparse_turns.MOST_TURNED}, and {dense}"
    yield f"| P5 | at most {power(turn_lengths.SOON_ENTRIES)} entries |"
    largest_part = largest("branch_and_bound")
    yield f"a short run of `branch_and_bound`, if n is at most {largest_part}; then a package |"
    yield f"| P8 | {degree}, and n at most {sparse_turns.MOST_CUT:,} |"
    yield f"| P9 | n at most {largest_part} |"
    yield "`dual_ascent` may run for 10 to 40 ms."
    yield f"if the mean degree is at most {sparse_turns.MESSAGES_DEGREE},"
    yield f"has many fields or at most {sparse_turns.MOST_TURNED} variables."


def of_exclusive_pairs():
    part = f"{share(portfolio.CUT_SHARE)} of R"
    yield "`clique_cover` first runs for about 20 ms."
    yield f"if there are at most {power(turn_lengths.SOON_ENTRIES)} entries."
    few_groups = f"one-hot penalties: at most {penalties.FEW_GROUPS} groups per variable"
    first = f"a package for {part}; a short run of `clique_cover`"
    limited = f"{first}; its linear programs for {part}; the package until the end"
    yield f"| {few_groups} | a package | {limited} |"
    degree = f"mean degree at most {turn_lengths.EDGE_DEGREE}"
    yield f"| {degree} | `clique_cover` for {clique_turns.CLIQUE_SECONDS:g} s; then a package"
    first = f"a short run of `clique_cover`; a package for {part}"
    limited = f"{first}; linear programs for {part}; `clique_cover` until the end"
    yield f"| any other | `clique_cover` | {limited} |"
    most = f"{turn_lengths.MOST_SECONDS:g} s"
    yield f"need `highspy`, and n at most {clique_turns.MOST_PROGRAMMED:,}. They take at most {most}."


def of_short_runs():
    usual = f"{share(turn_lengths.TURN_SHARE)} of R"
    ends = f"at least {turn_lengths.LEAST_SECONDS:g} s and at most {turn_lengths.MOST_SECONDS:g} s"
    yield f"{usual}, but {ends}. Without a time limit, it takes {turn_lengths.CUT_SECONDS:g} s |"
    yield f"No run except the last one takes more than {share(portfolio.CUT_SHARE)} of R."


def of_sparse_components():
    yield f"{turn_lengths.SECONDS_AN_ENTRY * 1e9:.1f} ns per entry"
    entries = f"{power(sparse_turns.MOST_ENTRIES)} entries"
    yield f"| at most {entries}, which take at most R; many fields | `elimination` |"
    yield f"| they take at most {share(sparse_turns.TABLES_SHARE)} of R |"
    yield f"as long as the tables would take, and at most {turn_lengths.MOST_SECONDS:g} s;"
    fields = f"at least {sparse_turns.BRANCHED_DEGREE} with many fields"
    yield f"{fields}, or at least {sparse_turns.RACED_DEGREE} with few fields."
    yield f"It needs at most {largest('branch_and_bound')} variables:"
    yield f"| few fields, n at most {sparse_turns.MOST_TURNED} |"
    yield "`dual_ascent` for about 80 ms,"
    larger = f"more than {entries}, or they take too long |"
    yield f"| many fields, n at most {sparse_turns.BRANCHED} | {larger}"
    yield f"| any other | {larger} short runs"
    gap = f"a gap of at most {share(sparse_turns.WIDE_GAP)} of the sum of all absolute scores"
    yield f"If the short run of `cycle_cuts` leaves {gap}"
    yield f"It then runs for {sparse_turns.CLOSING:g} short runs more before `branch_and_bound` does"
    yield "leaves a component of 815 variables,"
    yield "A torus of 40 x 40 spins"


def of_large_problems():
    n = f"{largest('semidefinite'):,}"
    pairs = f"{sparse_turns.MOST_MODELLED:,}"
    part = share(portfolio.CUT_SHARE)
    yield f"| at most {n} | any number | none | `semidefinite` for {sparse_turns.BOUND_SECONDS:g} s;"
    first = f"`semidefinite` for {part} of R"
    turns = f"{first}; a package for {part} of R"
    yield f"| at most {n} | at most {pairs} | set | {turns}"
    yield f"| at most {n} | more than {pairs} | set |"
    yield f"| more than {n} |"


def of_constraints():
    yield f"| C1 | n at most {selection.ENUMERABLE} | any |"
    degree = f"mean degree above {selection.COUNTED_DEGREE}"
    yield f"| C3 | {degree}, and n at most {largest('branch_and_bound')} |"
    yield f"| C4 | {degree}, and n at most {third_parties.CPLEX_COMMUNITY:,} |"
    yield f"`exhaustive` for n at most {largest('exhaustive')},"


def of_several_states():
    yield f"`exhaustive`, with n above {selection.ENUMERABLE} |"
    yield f"if there are at most {power(turn_lengths.QUICK_ENTRIES)} entries."
    yield f"`dual_ascent` for about 40 ms ([{power(turn_lengths.MORE_VISITS)} visits]"
    yield f"at most {sparse.RANKED_SECONDS:g} seconds each"
    yield f"If the mean degree is above {turn_lengths.EDGE_DEGREE}"


RULES = {
    "auto_rules": (of_words, of_the_first_choice),
    "auto_portfolio": (
        of_words_of_components,
        of_the_rows,
        of_exclusive_pairs,
        of_short_runs,
        of_sparse_components,
        of_large_problems,
    ),
    "auto_constraints": (of_constraints, of_several_states),
}
"""The rules that each page states."""


def of_explanations():
    yield f"mean degree](auto_rules.md#words) above {one_by_one.SPARSE_DEGREE}"
    rest = f"all but {one_by_one.MOST_IMPROVED:g} seconds if this is longer"
    yield f"| the exact search | {share(1 - one_by_one.IMPROVED_SHARE)}, or {rest} |"
    assert one_by_one.MOST_IMPROVED == 30  # "half a minute"
    assert one_by_one.IMPROVED_SHARE == 0.1  # "a ninth of what the exact search took"


def of_backends():
    fewest, most = improvement.RECOMBINED_FROM, improvement.MOST_EDGES
    yield f"| fewer than {fewest} variables, or more than {most:,} pairs | tabu search |"
    tabu = local_search.TABU_SHARE
    shares = f"tabu search for {share(tabu)} of the time; then recombination"
    yield f"| mean degree at most {improvement.SUBGRAPH_DEGREE} | {shares}"
    yield f"recombination of local optima for {share(1 - tabu)} |"
    half = improvement.RECOMBINED_SHARE
    found = "recombination of local optima, found by tabu search,"
    yield f"| all others | {found} for {share(half)} of the time;"
    yield f"then tabu search for {share(1 - half)} |"
    assert constrained.FIRST_SHARE == 0.1  # three steps: "three tenths of the time limit"
    seconds = 3 * constrained.FIRST_SECONDS
    yield f"at most {seconds:g} seconds, and at most three tenths of the time limit |"
    yield f"with a time limit | at most {constrained.LINEAR_FIRST_SECONDS:g} seconds |"


def of_labels():
    quick, short = label_selection.QUICK_ENTRIES, label_selection.SHORT_ENTRIES
    yield f"at most {power(short)} = {short:,} entries in all"
    forest = label_selection.FOREST_ENTRIES
    yield f"tables have at most {power(forest)} = {forest / 1e6:.0f} million entries |"
    entries = f"{power(quick)} = {quick / 2**20:.0f} million entries"
    yield f"Or at most {entries}, and at most {label_selection.QUICK_SHARE} for each pairwise score"
    assert messages_first.ENTRIES_A_VISIT == 4  # "5% of the estimated time"


def words_of(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("page", "rules"),
    [
        *((page, rules) for page, several in RULES.items() for rules in several),
        ("inside_auto", of_explanations),
        ("backend_searches", of_backends),
        ("label_solvers", of_labels),
    ],
)
def test_pages_state_the_thresholds_of_the_code(page, rules):
    missing = [phrase for phrase in rules() if phrase not in words_of(page)]
    assert not missing, f"docs/{page}.md should say: {missing}"


@pytest.mark.parametrize("page", RULES)
def test_no_number_on_a_page_of_rules_is_written_without_a_constant(page):
    text = words_of(page)
    for phrase in (phrase for rules in RULES[page] for phrase in rules()):
        text = text.replace(phrase, "")
    text = re.sub(r"```text.*?```|\]\([^)]*\)", "", text)  # examples, and targets of links
    text = re.sub(r"\| \d+ \|", "|", text)  # numbers of rows and stages
    text = re.sub(
        r"at (?:least|most) 0\b|2\^w|values 0 and 1|variables? (?:of a group )?to 1|[-+]1\b",
        "",
        text,
    )
    text = re.sub(r"others are 0|other one is 1", "", text)
    text = re.sub(r"[Rr]ows? \d+[ab]?(, \d+[ab]?)*( (to|and) \d+[ab]?)?|\b[CEPS]\d+\b", "", text)
    text = re.sub(r"stages? \d( and \d)?|[Ss]teps? \d|group are 1|n = 576", "", text)
    text = re.sub(r"(?<= )\d\. ", "", text)  # numbered steps
    assert not re.findall(r".{30}\d.{10}", text)


def chain_of(weights):
    ends = np.arange(len(weights))
    return Problem.from_arrays(
        np.linspace(-1, 1, len(weights) + 1), weights, edges=np.stack([ends, ends + 1], axis=1)
    )


def dense(n, sign=None):
    weights = np.random.default_rng(0).normal(size=(n, n))
    if sign is not None:
        weights = sign * np.abs(weights)
    return Problem.from_arrays(np.linspace(-1, 1, n), np.triu(weights, 1))


def scattered(n, degree):
    """Random pairs, of a mean degree."""
    edges = np.random.default_rng(0).integers(0, n, (degree * n, 2))
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)[::2]
    weights = np.where(np.arange(len(edges)) % 3, 1.0, -1.0)
    return Problem.from_arrays(np.zeros(n), weights, edges=edges)


def cliques(count, size):
    weights = np.kron(np.eye(count), np.ones((size, size)))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], weights.shape)
    return Problem.from_arrays(np.zeros(count * size), np.triu(weights * signs, 1))


def one_hot(groups, size):
    """Groups that a penalty makes one-hot, with random scores between them."""
    random = np.random.default_rng(0)
    n = groups * size
    between = random.normal(size=(n, n))
    same = np.kron(np.eye(groups), np.ones((size, size))) > 0
    weights = np.triu(np.where(same, -100.0 * n, between), 1)
    return Problem.from_arrays(random.normal(size=n), weights)


def grid(rows, columns, sign=None):
    scores = instances.spin_glass(rows, columns, 1, np.random.default_rng(0))
    weights = scores.pairwise
    if sign is not None:
        weights = sign * np.abs(weights)
    return Problem.from_arrays(scores.unary, weights, edges=scores.edges)


ROWS = {
    1: lambda: (Problem.from_arrays(np.ones(30)), "no pairwise scores"),
    2: lambda: (dense(40, 1.0), "one instance of at most"),
    3: lambda: (dense(20), "is at most 20"),
    4: lambda: (chain_of(np.tile([1.0, -1.0], 15)), "treewidth is at most"),
    5: lambda: (grid(30, 30, -1.0), "bit flips"),
    "6a": lambda: (grid(12, 30), "treewidth is at most"),
    7: lambda: (dense(22), "is at most 25"),
    8: lambda: (one_hot(9, 4), "penalties"),
    9: lambda: (grid(24, 24), "mean degree"),
    10: lambda: (cliques(3, 22), "its tables have"),
    11: lambda: (dense(80), "is at most 600"),
    13: lambda: (scattered(610, 24), "semidefinite bound"),
}
"""A problem for each row of the first choice, and words of the reason. Row 12 depends on memory."""


@pytest.mark.parametrize("row", ROWS)
def test_auto_takes_the_backend_of_the_row(row):
    line = re.search(rf"^\| {row} \|.*\|$", (DOCS / "auto_rules.md").read_text(), re.MULTILINE)
    backend = line[0].split("|")[3].strip().strip("`").removeprefix("a ")
    problem, words = ROWS[row]()
    chosen = select_solver(problem)
    assert chosen.solver.name == backend
    assert words in chosen.reason


@pytest.mark.parametrize(("n", "pairs", "seed"), [(80, 160, 84), (42, 158, 0)])
def test_a_batch_shares_the_tables_of_elimination(n, pairs, seed):
    edges = np.array(nx.gnm_random_graph(n, pairs, seed=seed).edges)
    scores = np.tile([1.0, -1.0], pairs // 2)
    one = Problem.from_arrays(np.ones(n), scores, edges=edges)
    several = Problem.from_arrays(np.ones((8, n)), scores, edges=edges)
    assert select_solver(one).solver.name == "portfolio"
    assert select_solver(several).solver.name == "elimination"
