"""Time limits, what does not count against them, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

from solvers import (
    ArgmaxSolver,
    Capabilities,
    Deadline,
    Maximiser,
    Problem,
    SolveInterrupted,
    instances,
    interrupt_solves,
    prepare,
    select_solver,
    solve,
    solver_class,
)
from solvers.algorithms.elimination.order import min_fill_order
from solvers.algorithms.local_search.tabu import tabu_search
from solvers.algorithms.mini_buckets.plan import mini_bucket_layout
from solvers.algorithms.mini_buckets.search import Search
from solvers.algorithms.precision.fixed_point import FixedPoint
from solvers.algorithms.presolve import model_building
from solvers.algorithms.presolve.one_by_one import one_by_one, states_without_search
from solvers.algorithms.presolve.roof_duality import halved, roof_duality
from solvers.backends import max_flow
from solvers.limits import deadline, interrupts
from solvers.limits.interrupts import in_threads
from solvers.solver import score_states
from solvers.testing import enumerate_scores

LATE = 1.0
"""Seconds over a limit that a busy machine is forgiven; what was mended was later than that by seconds."""

TIMED = (
    "branch_and_bound",
    "mini_buckets",
    "dual_ascent",
    "cycle_cuts",
    "clique_cover",
    "cplex",
    "cp_sat",
    "highs",
    "local_search",
)


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.time = 100.0

    def monotonic(self):
        return self.time


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(deadline, "time", made)
    monkeypatch.setattr(deadline, "_CLOCK", deadline._Clock())
    return made


def spins(n, degree, seed):
    """A random graph without a field, of which roof duality fixes nothing."""
    generator = np.random.default_rng(seed)
    ends = np.sort(generator.integers(0, n, (degree * n // 2, 2)), axis=1)
    edges = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    weights = generator.standard_normal(len(edges))
    return Problem.from_arrays(
        -np.bincount(edges.ravel(), np.repeat(weights / 2, 2), n), weights, edges=edges
    )


def seconds_used(solver, problem, limit):
    """Of the processor, which other work on the machine does not lengthen as it does those of the wall.

    Without those in which packages are loaded.
    """
    begin, paused = time.process_time(), time.monotonic() - deadline.now()
    solution = solve(problem, solver=solver, time_limit=limit)
    return time.process_time() - begin - (time.monotonic() - deadline.now() - paused), solution


# --- the clock ----------------------------------------------------------------------------------


def test_a_deadline_passes_when_its_seconds_are_over(clock):
    due, later = Deadline.after(2.0), Deadline.after(None)
    clock.time += 1.5
    assert (due.left, due.seconds, due.passed) == (0.5, 0.5, False)
    assert due.within(0.25).left == 0.25
    assert due.within(3.0) == due
    clock.time += 0.5
    assert due.passed
    assert due.seconds == 1e-3  # some backends take no zero
    assert (later.left, later.seconds, later.passed) == (np.inf, None, False)


def test_loading_packages_does_not_count(clock):
    due = Deadline.after(1.0)
    with deadline.uncounted():
        clock.time += 20.0
        with deadline.uncounted():  # a package that loads another
            clock.time += 20.0
        assert due.left == 1.0
    clock.time += 0.75
    assert due.left == 0.25


def test_an_alarm_rings_once_its_deadline_has_passed():
    rung = threading.Event()
    with Deadline.after(0.02).alarm(rung.set):
        assert rung.wait(30)
    late = threading.Event()
    with Deadline.after(None).alarm(late.set):
        pass
    assert not late.is_set()
    with Deadline.after(-1.0).flag() as flag:
        assert flag[0] == 1
    with Deadline.after(1000.0).flag(1e-6) as flag:
        assert flag[0] == 0


# --- searches -----------------------------------------------------------------------------------


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", TIMED)
def test_a_dense_problem_ends_in_time(name):
    problem = instances.dense(300, 1, np.random.default_rng(0)).problem()
    if missing := solver_class(name).missing_packages():
        pytest.skip(f"needs {missing}")
    solve(problem, solver=name, time_limit=0.1)  # loaded
    used, solution = seconds_used(name, problem, 0.1)
    assert used < 0.1 + LATE
    assert (solution.score > 0).all()
    assert (solution.bound >= solution.score).all()


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ["dual_ascent", "cycle_cuts", "cp_sat", "local_search"])
def test_a_large_sparse_problem_ends_in_time(name):
    problem = spins(50_000, 4, 0)
    solve(spins(200, 4, 1), solver=name, time_limit=0.1)
    used, solution = seconds_used(name, problem, 0.2)
    assert used < 0.2 + LATE
    assert solution.score > 0
    assert solution.bound >= solution.score


def test_a_large_dense_problem_takes_no_gigabytes_for_its_bound():
    problem = instances.dense(2000, 1, np.random.default_rng(1)).problem()
    solution = solver_class("local_search")().solve(problem, 0.3)
    assert solution.score > 0
    # near that of roof duality, without its flow
    assert solution.bound < 0.6 * problem.positive_part[0]


def test_cheap_bounds_and_states_hold():
    random = np.random.default_rng(2)
    for drawn in (instances.dense(8, 50, random), instances.spin_glass(2, 4, 50, random)):
        problem = drawn.problem()
        z, bound = halved(problem)
        assert (bound >= enumerate_scores(drawn).max(axis=1) - problem.rounding).all()
        assert (bound <= problem.positive_part).all()
        assert np.isin(z, (0, 1)).all()


@pytest.mark.parametrize("dense", [True, False])
def test_instances_that_no_search_reaches_get_a_state_and_a_bound(dense):
    random = np.random.default_rng(3)
    edges = instances.dense(22, 1, random).edges if dense else spins(22, 4, 3).edges
    pairwise = random.standard_normal((30, len(edges)))
    unary = np.array([-np.bincount(edges.ravel(), np.repeat(each / 2, 2), 22) for each in pairwise])
    # of which roof duality of sparse problems fixes some
    unary[:15] += random.standard_normal((15, 22))
    problem, free = Problem.from_arrays(unary, pairwise, edges=edges), np.full((30, 22), -1)

    def never(*_):
        raise AssertionError("the time is up")

    found = one_by_one(problem, deadline.Deadline.after(1e-9), never, threads=2)
    fixed = free if dense else roof_duality(problem).fixed
    assert dense == (fixed < 0).all()
    guessed = np.where(fixed < 0, halved(problem)[0], fixed)
    scores = problem.score_flat(found.z)
    assert found.stats["reached"] == (fixed >= 0).all(axis=1).sum() < 30
    assert (scores >= problem.score_flat(guessed) - problem.rounding).all()
    assert (scores >= -problem.rounding).all()
    assert scores.mean() > 1
    assert np.isfinite(found.bound).all()
    best = solver_class("local_search")().solve(problem).z
    kept = one_by_one(problem, deadline.Deadline.after(1e-9), never, start=best)
    assert (problem.score_flat(kept.z) >= problem.score_flat(best) - problem.rounding).all()
    worse = one_by_one(problem, deadline.Deadline.after(1e-9), never, start=1 - best)
    assert (problem.score_flat(worse.z) >= scores - problem.rounding).all()


def test_a_state_without_a_search_is_no_zero_where_no_variable_has_a_field():
    """There half of the pairwise scores says nothing."""
    problem = spins(3000, 4, 1)
    found = one_by_one(problem, deadline.Deadline.after(1e-9), None)
    assert found.stats["reached"] == 0
    assert problem.score_flat(found.z) > 0.5 * found.bound


def test_an_instance_that_is_not_reached_is_never_worse_than_zeros():
    """The pair makes both look worth it, but the second has a loss of its own."""
    problem = Problem.from_arrays([[-1.0, -10.0]], [[4.0]], edges=[[0, 1]])
    assert halved(problem)[0].tolist() == [[1, 0]]
    assert states_without_search(problem, np.full((1, 2), -1, np.int8), None).tolist() == [[0, 0]]


def test_an_answer_without_a_search_copies_no_pairs():
    """Copies of them took half a second beyond the limit, of 12 million pairs."""
    problems = [instances.dense(n, 1, np.random.default_rng(0)).problem() for n in (5, 1000)]
    states = [np.ones((1, problem.n), np.int8) for problem in problems]
    for problem, z in zip(problems, states, strict=True):
        tracemalloc.start()
        assert select_solver(problem)
        late = states_without_search(problem, np.full((1, problem.n), -1), None)
        (score,) = score_states(problem, z)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert problem.score_flat(late) >= 0
        assert score == pytest.approx(problem.unary.sum() + problem.pairwise.sum())
    assert peak < problems[1].topology.pairs.nbytes


def test_a_flow_that_is_cut_short_fixes_nothing_and_bounds(limits):
    drawn = instances.spin_glass(3, 4, 10, np.random.default_rng(4))
    problem, maxima = drawn.problem(), enumerate_scores(drawn).max(axis=1)
    whole = roof_duality(problem)
    limits(quick_roof_seconds=0.0)
    for seconds in (-1.0, 1e-9):
        cut = roof_duality(problem, Deadline.after(seconds))
        assert (cut.fixed == -1).all()
        assert (cut.bound >= maxima - problem.rounding).all()
        assert (cut.bound >= whole.bound - problem.rounding).all()


def test_a_tabu_search_stops_inside_a_run():
    problem = spins(20_000, 4, 5)
    arrays = problem.unary, problem.pairwise, problem.edges
    tabu_search(*arrays, deadline=Deadline.after(0.0), threads=1)
    begin = time.process_time()
    z = tabu_search(*arrays, deadline=Deadline.after(0.1), threads=1)
    assert time.process_time() - begin < LATE  # a run of 20,000 variables takes longer by itself
    assert problem.score_flat(z)[0] > 0


def far_flow(rows, columns):
    """A grid whose flow crosses all columns, so that a minimum cut takes seconds."""
    place = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack((place[:, :-1].ravel(), place[:, 1:].ravel()), axis=1)
    down = np.stack((place[:-1].ravel(), place[1:].ravel()), axis=1)
    edges = np.concatenate((across, down))
    weights = np.random.default_rng(0).integers(1, 10, len(edges)).astype(np.float64)
    unary = np.zeros(place.size)
    unary[place[:, 0]] = 100.0
    unary[place[:, -1]] = -100.0
    unary -= np.bincount(edges.ravel(), np.repeat(weights / 2, 2))
    return Problem.from_arrays(unary, weights, edges=edges)


def test_a_minimum_cut_ends_in_time():
    seconds, cut = seconds_used("max_flow", far_flow(700, 700), 0.05)
    assert seconds < 0.05 + LATE
    assert not cut.optimal
    assert 0 <= cut.score < cut.bound  # no worse than zeros
    small = far_flow(20, 300)
    whole = solve(small, solver="max_flow")
    assert whole.optimal
    assert solve(small, solver="max_flow", time_limit=1e-9).bound >= whole.score


def test_a_large_cut_without_time_for_its_graph_is_only_bounded(limits, monkeypatch):
    limits(large_flow_scores=1000)
    problem = far_flow(60, 60)
    whole = solve(problem, solver="max_flow")
    assert whole.optimal
    monkeypatch.setattr(FixedPoint, "of", lambda _: pytest.fail("the flow was prepared"))
    cut = solve(problem, solver="max_flow", time_limit=1e-9)
    assert cut.score <= whole.score <= cut.bound


def test_a_large_flow_that_the_limit_ends_has_a_state_without_a_search(limits, monkeypatch):
    problem = far_flow(300, 700)
    limits(large_flow_scores=1000)
    monkeypatch.setattr(max_flow, "late_states", lambda *_: pytest.fail("a search began"))
    cut = solve(problem, solver="max_flow", time_limit=0.2)
    assert not cut.optimal
    assert 0 <= cut.score < cut.bound


def test_tables_that_are_cut_short_leave_nothing_to_search():
    problem = instances.spin_glass(4, 5, 1, np.random.default_rng(6)).problem()
    order = min_fill_order(problem.n, problem.edges)
    never, over = Deadline.after(None), Deadline.after(-1.0)
    assert min_fill_order(problem.n, problem.edges, np.ones(1, np.uint8)) is None
    assert mini_bucket_layout(problem.n, problem.edges, order, 5, over) is None
    layout = mini_bucket_layout(problem.n, problem.edges, order, 5, never)
    search = Search(layout, FixedPoint.of(problem), np.zeros(problem.n, np.int8), over)
    assert search.cut_short
    search.run(None, never, 10)
    assert not search.finished


# --- models of others ---------------------------------------------------------------------------


def test_a_model_that_would_not_be_ready_is_not_begun():
    edges = np.stack(np.triu_indices(400, 1), axis=-1)
    with pytest.raises(model_building.NoTimeToBuildError):
        next(model_building.pairs_in_time(edges, np.ones(len(edges)), Deadline.after(0.01)))


def test_a_model_is_given_up_once_its_pairs_turn_out_slow(clock):
    edges = np.stack(np.triu_indices(100, 1), axis=-1)
    seen = []

    def build():
        for pair in model_building.pairs_in_time(edges, np.ones(len(edges)), Deadline.after(1.0)):
            clock.time += 1e-3
            seen.append(pair)

    with pytest.raises(model_building.NoTimeToBuildError):
        build()
    assert len(seen) == model_building.PAIRS_A_LOOK


@pytest.mark.parametrize("name", ["cplex", "cp_sat", "highs"])
def test_without_a_model_the_answer_is_that_of_tabu_search(name, limits):
    if missing := solver_class(name).missing_packages():
        pytest.skip(f"needs {missing}")
    limits(building_nanoseconds=1e9)
    problem = instances.dense(40, 1, np.random.default_rng(7)).problem()
    solution = solver_class(name)().solve(problem, 0.2)
    best = solver_class("local_search")().solve(problem, 0.2)
    assert not solution.optimal.any()
    assert np.abs(solution.score - best.score) <= problem.rounding
    assert solution.bound > solution.score


# --- Ctrl-C -------------------------------------------------------------------------------------


@pytest.fixture
def keyboard():
    """Presses Ctrl-C soon; a shell's background jobs would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timers = []

    def press(*seconds):
        timers.extend(
            threading.Timer(each, os.kill, (os.getpid(), signal.SIGINT)) for each in seconds
        )
        for timer in timers:
            timer.start()

    yield press
    for timer in timers:
        timer.cancel()  # what was soon over is not interrupted later
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", TIMED)
def test_the_keyboard_stops_a_search_which_says_what_it_has(name, keyboard):
    if missing := solver_class(name).missing_packages():
        pytest.skip(f"needs {missing}")
    problem = (
        spins(120, 8, 9)
        if name in ("mini_buckets", "dual_ascent")
        else instances.dense(200, 1, np.random.default_rng(9)).problem()
    )
    solve(problem, solver=name, time_limit=0.3)  # loaded
    begin = time.monotonic()
    keyboard(0.5)
    with pytest.raises(SolveInterrupted) as stopped:
        solve(problem, solver=name, time_limit=60)
    assert time.monotonic() - begin < 15
    solution = stopped.value.solution
    assert solution.score == pytest.approx(problem.score_flat(solution.z.reshape(1, -1))[0])
    assert solution.score > 0
    assert solution.bound >= solution.score
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("limit", [None, 60])
def test_the_keyboard_stops_a_search_on_a_device(limit, keyboard):
    torch = pytest.importorskip("torch")
    drawn = instances.dense(200, 1, np.random.default_rng(13))
    scores = torch.as_tensor(drawn.unary), torch.as_tensor(drawn.pairwise)
    problem = Problem.from_arrays(*scores, edges=drawn.edges)
    many_flips = solver_class("local_search")(starts=50_000)
    begin = time.monotonic()
    keyboard(0.5)
    with pytest.raises(SolveInterrupted) as stopped:
        many_flips.solve(problem, limit)
    assert time.monotonic() - begin < 15
    assert stopped.value.solution.score > 0


@pytest.mark.slow
def test_the_keyboard_does_not_wait_for_a_linear_program():
    """Of these pairs HiGHS solves one for seconds, in which it hears nothing, and the process ends after it."""
    code = """
import signal, time
import numpy as np
from solvers import SolveInterrupted, instances, prepare, solve
signal.signal(signal.SIGINT, signal.default_int_handler)
problem = instances.dense(200, 1, np.random.default_rng(9)).problem()
solve(problem, solver="highs", time_limit=0.3)
print("ready", flush=True)
try:
    solve(problem, solver="highs", time_limit=60)
except SolveInterrupted as stopped:
    print(time.monotonic(), stopped.solution.score[0], flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(2)
        pressed = time.monotonic()
        run.send_signal(signal.SIGINT)
        heard, score = map(float, run.stdout.readline().split())
        assert heard - pressed < 10
        assert score > 0
        assert run.wait(60) == 0
        assert run.stderr.read() == ""


def test_the_keyboard_does_not_wait_for_a_kernel(keyboard):
    """A batch of enumerations is one call of a kernel for each thread, of minutes."""
    problem = instances.dense(25, 4000, np.random.default_rng(10)).problem()
    solver = solver_class("exhaustive")()
    solver.solve(problem.instances(slice(0, 1)))
    begin = time.monotonic()
    keyboard(0.5)
    with pytest.raises(KeyboardInterrupt):
        solver.solve(problem)
    assert time.monotonic() - begin < 15


def test_a_search_in_a_thread_stops_when_asked():
    problem = instances.dense(120, 1, np.random.default_rng(11)).problem()
    solver = solver_class("local_search")()
    solver.solve(problem, 0.05)
    threading.Timer(0.3, interrupt_solves).start()
    errors = []

    def work():
        try:
            solver.solve(problem, 60)
        except SolveInterrupted as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert errors[0].solution.score > 0
    # an interrupt is over with the solves that it ended
    assert solver.solve(problem, 0.05).score > 0


def test_a_handler_of_the_caller_is_left_alone(keyboard):
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    problem = instances.dense(60, 1, np.random.default_rng(12)).problem()
    keyboard(0.2)
    solver_class("local_search")().solve(problem, 0.5)
    assert heard == [1]


def test_threads_return_in_order_and_raise_the_first_error():
    assert in_threads([lambda k=k: k * k for k in range(20)], 3) == [k * k for k in range(20)]
    assert in_threads([], 3) == []

    def fails():
        raise ValueError("the first")

    with pytest.raises(ValueError, match="the first"):
        in_threads([fails, lambda: 1], 1)


def test_a_plug_in_gets_its_seconds_in_a_thread():
    seen = []

    class Watched(ArgmaxSolver):
        name = "watched"
        capabilities = Capabilities(exact=False, time_limit=True)

        def _argmax(self, problem, deadline):
            seen.append((deadline.seconds, threading.current_thread() is threading.main_thread()))
            return Maximiser(np.zeros((problem.batch, problem.n), np.int8), problem.positive_part)

    problem = Problem.from_arrays([1.0, 2.0])
    Watched().solve(problem)
    Watched().solve(problem, 10)
    assert seen[0] == (None, False)
    assert 9 < seen[1][0] <= 10


def test_a_solver_written_for_seconds_still_gets_seconds():
    seen = []
    with pytest.warns(DeprecationWarning, match=r"InSeconds._argmax takes `time_limit` in seconds"):

        class InSeconds(ArgmaxSolver):
            name = "in_seconds"
            capabilities = Capabilities(exact=False)

            def _argmax(self, problem, time_limit):
                seen.append(time_limit)
                return Maximiser(np.zeros((problem.batch, problem.n), np.int8))

    problem = Problem.from_arrays([1.0, 2.0])
    InSeconds().solve(problem)
    solve(problem, solver=InSeconds(), time_limit=10)
    assert seen[0] is None
    assert 9 < seen[1] <= 10


def test_one_deadline_serves_several_solves():
    problem = Problem.from_arrays([1.0, 2.0])
    limit = deadline.Deadline.after(1e-9)
    moments = []

    class Remembers(ArgmaxSolver):
        name = "remembers"
        capabilities = Capabilities(exact=False, time_limit=True)

        def _argmax(self, problem, deadline):
            moments.append(deadline.end)
            return Maximiser(np.zeros((problem.batch, problem.n), np.int8))

    Remembers().solve(problem, limit)
    Remembers().solve(problem, limit)
    assert moments == [limit.end, limit.end]


def test_prepared_calls_end_at_one_deadline():
    seen = []

    class Remembers(ArgmaxSolver):
        name = "remembers"
        capabilities = Capabilities(exact=False, time_limit=True)

        def _argmax(self, problem, deadline):
            seen.append(deadline.end)
            return Maximiser(np.zeros((problem.batch, problem.n), np.int8))

    limit = deadline.Deadline.after(60.0)
    chain = prepare([[0, 1]], 2, solver=Remembers(), time_limit=limit)
    for _ in range(2):
        chain([1.0, 2.0], [3.0])
    assert seen == [limit.end, limit.end]


# --- the clock of all deadlines -----------------------------------------------------------------


def test_a_pause_that_a_signal_left_open_ends_with_the_next_work():
    deadline.loading_begins()  # and no end: an exception came between them
    limit = deadline.Deadline.after(0.05)
    time.sleep(0.1)
    assert limit.passed
    deadline.loading_ends()  # which may still come
    assert deadline.Deadline.after(60).left > 59


def test_a_pause_of_a_thread_that_is_no_more_ends_with_the_next_work():
    thread = threading.Thread(target=deadline.loading_begins)
    thread.start()
    thread.join()
    limit = deadline.Deadline.after(0.05)
    time.sleep(0.1)
    assert limit.passed


def test_a_pause_of_another_thread_holds():
    ready, over = threading.Event(), threading.Event()

    def loads():
        deadline.loading_begins()
        ready.set()
        over.wait()
        deadline.loading_ends()

    thread = threading.Thread(target=loads)
    thread.start()
    ready.wait()
    limit = deadline.Deadline.after(0.05)
    time.sleep(0.1)
    assert not limit.passed
    over.set()
    thread.join()
    time.sleep(0.1)
    assert limit.passed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_does_not_inherit_the_pauses_of_other_threads():
    code = """
import os, threading, time
from solvers.limits import deadline
threading.Thread(target=lambda: (deadline.loading_begins(), time.sleep(2)), daemon=True).start()
time.sleep(0.2)
if not os.fork():
    limit = deadline.Deadline.after(0.05)
    time.sleep(0.1)
    os._exit(0 if limit.passed else 1)
print(os.waitpid(-1, 0)[1])
"""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "0\n"


def test_a_signal_while_threads_are_started_ends_the_queue(monkeypatch):
    begun, start = [], threading.Thread.start

    def interrupted(self):
        if isinstance(self, interrupts._Worker) and begun:
            raise KeyboardInterrupt
        start(self)

    def call():
        begun.append(1)
        time.sleep(0.2)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        in_threads([call] * 20, 5)
    time.sleep(0.5)
    assert len(begun) <= 2
