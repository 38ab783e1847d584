"""Triangle inequalities in the search for dense problems: bounds against enumeration, and what is done with them."""

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from solvers import Deadline, Problem, instances, solve
from solvers.algorithms.branch_and_bound import search as search_module
from solvers.algorithms.branch_and_bound import strong_tree
from solvers.algorithms.branch_and_bound.forecast import Forecast
from solvers.algorithms.branch_and_bound.search import rank_dense, search_dense
from solvers.algorithms.branch_and_bound.strong_tree import SIGNS, StrongTree
from solvers.algorithms.branch_and_bound.tree import PLAIN, Incumbent, Lagrangian, Tree
from solvers.compiled._kernels.branch_and_bound import Relaxation
from solvers.compiled.best import Best, in_order
from solvers.limits.progress import Watch

HOSTILE = ["normal", "signs", "cubed", "one large", "nearly all zero", "large"]


def hostile(kind, n, generator):
    """Whole scores `[n]` and `[n, n]`, symmetric."""
    draw = generator.standard_normal
    scores = {
        "normal": lambda size: 1e6 * draw(size),
        "signs": lambda size: np.sign(draw(size)),
        "cubed": lambda size: 1e3 * draw(size) ** 9,
        "one large": lambda size: np.where(
            np.arange(math.prod(size)).reshape(size) == 1, 2.0**40, draw(size)
        ),
        "nearly all zero": lambda size: draw(size) * (generator.random(size) < 0.1),
        "large": lambda size: 2.0**44 * draw(size),
    }[kind]
    pairwise = np.triu(np.rint(scores((n, n))), 1)
    return np.rint(scores((n, 1)))[:, 0], pairwise + pairwise.T


def best_score(unary, pairwise):
    n = len(unary)
    states = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)
    return float((states @ unary + ((states @ pairwise) * states).sum(axis=1) / 2).max())


def tree_of(unary, pairwise, score=-math.inf):
    best = Best.of(np.zeros((1, len(unary)), np.int8), np.full(1, score), 1)
    incumbent = Incumbent(best, 0.0, np.full(1, -math.inf))
    return StrongTree(unary, pairwise, incumbent, math.inf)


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("n", [2, 5, 11])
def test_the_bound_of_a_node_is_one(kind, n):
    for seed in range(4):
        unary, pairwise = hostile(kind, n, np.random.default_rng(seed))
        tree, best = tree_of(unary, pairwise), best_score(unary, pairwise)
        if not np.abs(tree._couplings).any():
            continue
        kept = np.arange(n + 1)
        size = np.abs(unary).sum() + np.abs(pairwise).sum() / 2
        for below in (1e-2, 1e-6, 1e-12):  # a threshold that is too low is never reached
            tree._incumbent.best.scores[0] = best - below * size
            bound = tree._bound(tree._open[0], kept, np.zeros(1, np.uint8))
            assert bound >= best
            assert bound > tree._incumbent.best.scores[0]


@pytest.mark.parametrize("kind", ["normal", "signs", "cubed"])
def test_the_bound_of_a_node_with_fixed_variables_is_one(kind):
    n, size = 9, 10
    for seed in range(4):
        generator = np.random.default_rng(seed)
        unary, pairwise = hostile(kind, n, generator)
        spins = np.array([1, *generator.choice([-1, 0, 1], n)], np.int8)
        free = np.flatnonzero(spins[1:] == 0)
        state = (spins[1:] > 0).astype(float)
        rest = unary[free] + pairwise[free] @ state, pairwise[np.ix_(free, free)]
        best = unary @ state + state @ pairwise @ state / 2 + best_score(*rest)
        weight = np.abs(unary).sum() + np.abs(pairwise).sum() / 2
        tree = tree_of(unary, pairwise, score=best - 1e-6 * weight)
        node = replace(tree._open[0], spins=spins)
        kept = np.flatnonzero((spins == 0) | (np.arange(size) == 0))
        bound = tree._bound(node, kept, np.zeros(1, np.uint8))
        assert best <= bound <= best + 0.2 * weight


def test_only_what_is_no_better_than_the_margin_is_pruned():
    tree = tree_of(*hostile("normal", 5, np.random.default_rng(0)), score=1000.0)
    assert not tree._prune(1000.5)
    assert tree._prune(1000.0)
    assert tree._incumbent.ceiling[0] == 1000.0


def test_triangle_inequalities_close_the_gap_of_an_odd_cycle():
    """A complete graph of 5 nodes has its cut of 6 within the triangle inequalities, not without."""
    pairwise = -2.0 * (np.ones((5, 5)) - np.eye(5))
    unary = np.full(5, 4.0)
    assert best_score(unary, pairwise) == 6
    tree = tree_of(unary, pairwise, score=5.0)
    bound = tree._bound(tree._open[0], np.arange(6), np.zeros(1, np.uint8))
    assert 6 <= bound < 6.7
    pentagon = np.zeros((5, 5))
    for i in range(5):
        pentagon[i, (i + 1) % 5] = pentagon[(i + 1) % 5, i] = -2.0
    tree = tree_of(np.full(5, 2.0), pentagon, score=3.0)
    assert tree._bound(tree._open[0], np.arange(6), np.zeros(1, np.uint8)) < 4.05  # 4.52 without


def test_every_state_satisfies_what_is_added():
    for state in product((-1.0, 1.0), repeat=3):
        pairs = np.array([state[i] * state[j] for i, j in combinations(range(3), 2)])
        assert (1 + SIGNS @ pairs >= 0).all()


def test_merged_inequalities_say_the_same():
    generator = np.random.default_rng(0)
    corners = [np.sort(generator.permutation(9)[:3])[::-1] for _ in range(300)]
    inequalities = np.column_stack((np.array(corners), generator.integers(0, 4, 300)))
    spins = np.array([1, 0, -1, 0, 1, 0, 0, -1, 0], np.int8)
    kept = np.flatnonzero((spins == 0) | (np.arange(9) == 0))
    node = strong_tree.Node(0.0, 0, spins, np.zeros((4, 9)), inequalities, generator.random(300))
    merged, multipliers = strong_tree._restricted(node, kept)

    def total(nodes, weights, state):
        i, j, k = nodes[:, :3].T
        pairs = np.stack((state[i] * state[j], state[i] * state[k], state[j] * state[k]), axis=1)
        return float(weights @ (1 + (SIGNS[nodes[:, 3]] * pairs).sum(axis=1)))

    assert (np.diff(merged[:, :3], axis=1) < 0).all()
    assert len(np.unique(merged, axis=0)) == len(merged)
    fixed = {0, *np.flatnonzero(spins).tolist()}
    proper = np.array([len(fixed & set(row[:3])) <= 1 for row in inequalities.tolist()])
    assert (
        0 < len(merged) < proper.sum()
    )  # some say the same; those of two fixed corners say only |X_0i| <= 1
    for free in product((-1.0, 1.0), repeat=len(kept) - 1):
        state = spins.astype(float)
        state[kept[1:]] = free
        before = total(inequalities[proper], node.multipliers[proper], state)
        assert total(merged, multipliers, state[kept]) == pytest.approx(before)


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_tree_alone_ends_at_a_maximiser(kind, monkeypatch, limits):
    """No probe but of leaves of two variables: the bounds decide."""
    limits(leaf_variables=2)
    for seed in range(3):
        unary, pairwise = hostile(kind, 9, np.random.default_rng(seed))
        if not (np.abs(unary).any() or np.abs(pairwise).any()):
            continue
        tree = tree_of(unary, pairwise, score=0.0)
        monkeypatch.setattr(StrongTree, "_probe", lambda self, spins, free, bound, stop: bound)
        tree.search(Deadline.after(None))
        assert len(tree.open_bounds) == 0
        assert tree._incumbent.best.scores[0] == best_score(unary, pairwise)
        (z,) = in_order(tree._incumbent.best)
        assert z @ unary + z @ pairwise @ z / 2 == tree._incumbent.best.scores[0]


def test_a_node_is_rounded_to_a_state_that_no_flip_betters():
    unary, pairwise = hostile("normal", 40, np.random.default_rng(3))
    tree = tree_of(unary, pairwise)
    tree._bound(tree._open[0], np.arange(41), np.ones(1, np.uint8))
    tree._round(tree._open[0].spins, np.arange(41))
    (z,) = in_order(tree._incumbent.best)
    assert z @ unary + z @ pairwise @ z / 2 == tree._incumbent.best.scores[0] > 0
    assert ((1 - 2 * z) * (unary + pairwise @ z) <= 0).all()


@pytest.mark.parametrize("best_first_seconds", [0.0, math.inf])
@pytest.mark.parametrize("most_open", [strong_tree.MOST_OPEN, 2])
def test_a_search_with_triangles_ends_with_the_same_proof(most_open, best_first_seconds, limits):
    limits(calls_before_forecast=0, triangle_seconds=0.0, best_first_seconds=best_first_seconds)
    limits(open_nodes=most_open, probe_nodes=1, leaf_variables=2, relaxation_rounds=2)
    n = 20
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    for seed in (2, 3):
        couplings = np.random.default_rng(seed).choice([-1.0, 1.0], len(edges))
        unary = -np.bincount(edges.ravel(), np.repeat(couplings, 2), n) / 2
        problem = Problem.from_arrays(unary, couplings, edges=edges)
        z, bound, _ = search_dense(problem, Deadline.after(None))
        score = unary @ z + couplings @ (z[edges[:, 0]] & z[edges[:, 1]])
        assert score == bound == solve(unary, couplings, edges=edges, solver="exhaustive").score


class StopAfter(Watch):
    """Keeps the news of a search, and stops it after some reports."""

    def __init__(self, reports):
        super().__init__(None)
        self.reports = reports
        self.news = []

    @property
    def stopped(self):
        return len(self.news) >= self.reports

    def tell(self, news):
        self.take(news())

    def take(self, news):
        self.news.append(news)

    def poll(self):
        pass


def test_the_bound_on_other_states_holds_wherever_a_search_is_stopped(limits):
    """The states found so far are not the best ones, so open nodes contain better states."""
    limits(work_per_call=1)
    n = 18
    generator = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    unary = generator.integers(-9, 10, n)
    pairwise = generator.integers(-9, 10, len(edges))
    problem = Problem.from_arrays(unary * 1.0, pairwise * 1.0, edges=edges)
    states = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    scores = states @ unary + (states[:, edges[:, 0]] & states[:, edges[:, 1]]) @ pairwise
    for reports in range(27, 46, 6):
        watch = StopAfter(reports)
        ranked, bound, _ = rank_dense(problem, replace(Deadline.after(None), watch=watch), 400)
        others = np.ones(1 << n, bool)
        others[ranked @ (1 << np.arange(n))] = False
        assert scores[others].max() <= bound


@pytest.mark.parametrize("best_first_seconds", [0.0, math.inf])
def test_a_search_with_triangles_has_a_bound_wherever_it_is_stopped(best_first_seconds, limits):
    """Two rounds leave a gap at the root, so the searches below it have something to do."""
    limits(calls_before_forecast=0, triangle_seconds=0.0, best_first_seconds=best_first_seconds)
    limits(work_per_call=1, relaxation_rounds=2, probe_nodes=1, leaf_variables=2)
    n = 22
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    couplings = np.random.default_rng(1).choice([-1.0, 1.0], len(edges))
    problem = Problem.from_arrays(np.zeros((1, n)), couplings[None], edges=edges)
    (best,) = solve(problem, solver="exhaustive").score
    bounds = []
    finished = False
    while not finished:
        watch = StopAfter(len(bounds))
        z, bound, _ = search_dense(problem, replace(Deadline.after(None), watch=watch))
        assert problem.score_flat(z[None])[0] <= best <= bound
        assert all(news.bound[0] >= best for news in watch.news)
        finished = len(watch.news) < len(bounds)
        bounds.append(bound)
    assert len(bounds) > 2
    assert bounds[-1] == best
    # While a node is open, its bound exceeds the best score. Only the last report may precede the
    # last node.
    assert bounds.count(best) <= 2


def test_a_search_that_the_time_limit_ends_has_a_bound():
    generator = np.random.default_rng(1)
    edges = np.stack(np.triu_indices(200, 1), axis=1)
    couplings = generator.choice([-1.0, 1.0], len(edges))
    solution = solve(
        np.zeros(200), couplings, edges=edges, solver="branch_and_bound", time_limit=1.0
    )
    assert solution.score <= solution.bound <= np.maximum(couplings, 0.0).sum()
    assert not solution.optimal


def test_inequalities_that_find_no_room_are_left_out():
    n, generator = 30, np.random.default_rng(2)
    couplings = np.triu(generator.choice([-1.0, 1.0], (n, n)), 1)
    couplings += couplings.T
    for room in (1, 20, 2000):
        relaxation = Relaxation(n, 20, room)
        points, none = generator.standard_normal((20, n)), np.zeros((0, 4), np.int16)
        stop = np.zeros(1, np.uint8)
        bound = relaxation.tighten(
            couplings, 0.0, points, none, np.zeros(0), 3.0, -math.inf, 3, 10, stop
        )
        assert len(relaxation.inequalities) == len(relaxation.multipliers) <= room
        assert len(np.unique(relaxation.inequalities, axis=0)) == len(relaxation.inequalities)
        state = np.sign(generator.standard_normal(n))
        assert bound >= state @ couplings @ state / 2


def test_pairs_that_exclude_each_other_need_no_triangles(monkeypatch):
    random = np.random.default_rng(80)
    edges = np.stack(np.triu_indices(80, 1), axis=-1)
    edges = edges[random.random(len(edges)) < 0.5]
    weights = random.integers(1, 10, 80).astype(float)
    problem = Problem.from_arrays(weights, -(weights[edges].sum(axis=1) + 1.0), edges=edges)
    monkeypatch.setattr(search_module, "StrongTree", None)
    z, bound, nodes = search_dense(problem, Deadline.after(None))
    assert bound == problem.score_flat(z[None])[0]
    assert nodes < 10_000


def refuse(*_):
    raise AssertionError("the search with triangle inequalities began")


def test_a_depth_first_search_that_will_end_sooner_is_not_given_up(monkeypatch, limits):
    problem = instances.dense(80, 1, np.random.default_rng(0)).problem()
    _, expected, nodes = search_dense(problem, Deadline.after(None))
    limits(work_per_call=80**3, calls_before_forecast=nodes // 2)
    monkeypatch.setattr(search_module, "StrongTree", refuse)
    limits(triangle_seconds=1.0)
    assert search_dense(problem, Deadline.after(None))[1] == expected
    limits(triangle_seconds=0.0)
    with pytest.raises(AssertionError, match="began"):
        search_dense(problem, Deadline.after(None))


def test_the_forecast_of_a_depth_first_search_follows_how_fast_it_rises():
    depths = [40] * 250 + [30] * 250 + [20] * 500
    steady = Forecast(100, 1000)
    for depth in depths:
        assert not steady.is_due
        steady.note(depth)
    assert steady.is_due
    assert steady.factor == 2.0 ** (20 / 10) - 1.0
    assert not steady.depth_first_ends_sooner(2.0, -1.0)
    assert not steady.is_due
    stuck = Forecast(100, 1000)
    for depth in [5] * 100 + [30] * 900:
        stuck.note(depth)
    assert stuck.factor == math.inf
    assert not stuck.depth_first_ends_sooner(2.0, math.inf)
    assert Forecast(100, 0).factor == math.inf


def compare_twice(depths, more_depths, limits):
    """Return the answers at the first comparison and after more calls, at no cost of time."""
    limits(triangle_seconds=1e6)
    compared = Forecast(100, len(depths))
    answers = []
    for calls in (depths, more_depths):
        for depth in calls:
            compared.note(depth)
        assert compared.is_due
        answers.append(compared.depth_first_ends_sooner(2.0, math.inf))
    return answers


def test_a_depth_first_search_whose_forecast_does_not_fall_is_given_up(limits):
    """On QPLIB 5721 (n = 299) the factor was 18.7 and then 19.8, and the search did not end."""
    depths = [53] * 500 + [43] * 500
    assert compare_twice(depths, [33] * 1000, limits) == [True, True]
    assert compare_twice(depths, [35] * 1000, limits) == [True, False]


def test_a_large_gap_makes_the_search_with_triangles_slow_in_the_forecast():
    small, large = Forecast(100, 1), Forecast(200, 1)
    assert small.seconds_by_triangles(2.0) < small.seconds_by_triangles(2.5)
    assert small.seconds_by_triangles(2.5) < large.seconds_by_triangles(2.5)
    assert math.isfinite(Forecast(600, 1).seconds_by_triangles(math.inf))
    assert small.seconds_by_triangles(0.1) == small.seconds_by_triangles(0.2) > 0.0


def test_a_search_from_the_best_state_is_given_up_as_well(monkeypatch, limits):
    """The gap of the root is small there, and may yet leave many nodes."""
    problem = instances.dense(80, 1, np.random.default_rng(0)).problem()
    states, _, nodes = search_dense(problem, Deadline.after(None))
    limits(work_per_call=80**3, calls_before_forecast=nodes // 2)
    monkeypatch.setattr(search_module, "StrongTree", refuse)
    monkeypatch.setattr(search_module, "_ratio", lambda gap, scale: 0.0)
    limits(triangle_seconds=0.0)
    with pytest.raises(AssertionError, match="began"):
        search_dense(problem, Deadline.after(None), start=states)


def test_the_bound_of_the_root_stays_when_its_children_are_searched():
    unary, pairwise = hostile("normal", 30, np.random.default_rng(0))
    incumbent = Incumbent(
        Best.of(np.zeros((1, 30), np.int8), np.zeros(1), 1), 0.0, np.full(1, -math.inf)
    )
    tree = Tree(unary, pairwise, incumbent, np.zeros(1, np.uint8))
    assert tree.root_bound == math.inf
    tree.run(1)
    bound = tree.root_bound
    tree.run(1 << 60)
    assert not tree.is_open
    assert tree.root_bound == bound >= incumbent.best.scores[0]


def test_no_search_by_triangles_begins_after_the_deadline(monkeypatch):
    monkeypatch.setattr(search_module, "StrongTree", lambda *_: pytest.fail("a search began"))
    generator = np.random.default_rng(0)
    pairwise = np.triu(generator.standard_normal((1, 80, 80)), 1)
    problem = Problem.from_arrays(generator.standard_normal((1, 80)), pairwise)
    z, bound, _ = search_module.rank_dense(problem, Deadline.after(1e-9), 1)
    assert problem.score_flat(z)[0] <= bound


def random_inequalities(n, largest, generator):
    """300 inequalities of n variables and the constant, with very different multipliers."""
    nodes = generator.permuted(np.tile(np.arange(n + 1), (300, 1)), axis=1)[:, :3]
    rows = np.column_stack((-np.sort(-nodes, axis=1), generator.integers(0, 4, 300)))
    multipliers = largest * generator.random(300) ** 4
    return Lagrangian(rows.astype(np.int16), multipliers, largest * generator.random())


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("size", [1e-9, 1e-2, 1.0, 100.0])
def test_a_depth_first_search_with_any_multipliers_finds_what_is_better_by_a_unit(kind, size):
    """More variables than a leaf has and a level fixes, so that levels inherit inequalities."""
    n = 16
    for seed in range(3):
        generator = np.random.default_rng(seed)
        unary, pairwise = hostile(kind, n, generator)
        best = best_score(unary, pairwise)
        largest = size * float(np.abs(pairwise).max())
        lagrangian = random_inequalities(n, largest, generator)
        states = Best.of(np.zeros((1, n), np.int8), np.full(1, best - 1.0), 1)
        incumbent = Incumbent(states, 0.0, np.full(1, -math.inf))
        tree = Tree(unary, pairwise, incumbent, np.zeros(1, np.uint8), lagrangian)
        tree.run(1)
        assert tree.root_bound >= best
        while tree.is_open:
            tree.run(1)
            assert max([incumbent.best.scores[0], *tree.open_bounds]) >= best
        assert incumbent.best.scores[0] == best
        (z,) = in_order(incumbent.best)
        assert z @ unary + z @ pairwise @ z / 2 == best


def test_coefficients_that_lose_small_multipliers_prune_no_better_state():
    """Float64 holds 2^50 in steps of 1/4, so a constant of 2^50 stays when a multiplier is added."""
    n = 17
    generator = np.random.default_rng(3)
    pairwise = np.triu(generator.choice([-30.0, 30.0], (n, n)), 1)
    pairwise[:4] = 0.0
    pairwise += pairwise.T
    unary = -pairwise.sum(axis=0) / 2
    best = 2.0**50 + best_score(unary[4:], pairwise[4:, 4:])
    unary[:4] = 2.0**48
    inequality = np.array([[6, 5, 1, 1]], np.int16)
    repeated = Lagrangian(np.repeat(inequality, 20_000, axis=0), np.full(20_000, 0.06), 0.0)
    states = Best.of(np.zeros((1, n), np.int8), np.full(1, best - 1.0), 1)
    incumbent = Incumbent(states, 0.0, np.full(1, -math.inf))
    tree = Tree(unary, pairwise, incumbent, np.zeros(1, np.uint8), repeated)
    tree.run(1)
    assert tree.root_bound >= best
    tree.run(1 << 60)
    assert incumbent.best.scores[0] == best


def test_the_inequalities_of_the_root_halve_the_gap_of_a_depth_first_search():
    unary, pairwise = hostile("normal", 60, np.random.default_rng(0))
    incumbent = Incumbent(
        Best.of(np.zeros((1, 60), np.int8), np.zeros(1), 1), 0.0, np.full(1, -math.inf)
    )
    strong = StrongTree(unary, pairwise, incumbent, math.inf)
    lagrangian = strong.bound_root(Deadline.after(None))
    bounds = []
    for terms in (PLAIN, lagrangian):
        tree = Tree(unary, pairwise, incumbent, np.zeros(1, np.uint8), terms)
        tree.run(1)
        bounds.append(tree.root_bound)
        tree.run(1 << 60)
    best = incumbent.best.scores[0]
    assert best <= bounds[1] < best + 0.5 * (bounds[0] - best)
    assert -strong._open[0].priority >= best


def test_the_inequalities_of_the_root_save_nodes_below_it():
    """Fixed variables keep their signs in the inequalities; with other signs they save none."""
    unary, pairwise = hostile("normal", 60, np.random.default_rng(0))
    incumbent = Incumbent(
        Best.of(np.zeros((1, 60), np.int8), np.zeros(1), 1), 0.0, np.full(1, -math.inf)
    )
    lagrangian = StrongTree(unary, pairwise, incumbent, math.inf).bound_root(Deadline.after(None))
    Tree(unary, pairwise, incumbent, np.zeros(1, np.uint8)).run(1 << 60)
    nodes = []
    for terms in (PLAIN, lagrangian):
        tree = Tree(unary, pairwise, incumbent, np.zeros(1, np.uint8), terms)
        tree.run(1 << 60)
        nodes.append(tree.nodes)
    assert 1 < nodes[1] < nodes[0] / 2


@pytest.mark.parametrize("multiplier", [-1.0, math.nan, math.inf])
def test_multipliers_are_finite_and_not_negative(multiplier):
    inequality = np.array([[2, 1, 0, 0]], np.int16)
    tree = Lagrangian(inequality, np.full(1, multiplier), 0.0)
    with pytest.raises(ValueError, match="multipliers"):
        Tree(np.zeros(2), np.zeros((2, 2)), None, np.zeros(1, np.uint8), tree)


def test_a_node_whose_search_is_interrupted_stays_open():
    tree = tree_of(*hostile("normal", 5, np.random.default_rng(0)), score=-math.inf)
    (node,) = tree._open
    assert list(tree._handle(node, np.ones(1, np.uint8))) == [node]
    assert list(tree._handle(node, np.zeros(1, np.uint8))) == []
