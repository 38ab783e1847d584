"""Solvers in other packages' classes, held against those packages themselves; skipped where one is not installed."""

import numpy as np
import pytest

from solvers import (
    InfeasibleError,
    OptionError,
    Problem,
    ProblemError,
    UnsupportedProblemError,
    prepare,
    solve,
)
from solvers.conversions import from_dimod, from_max_cut, to_dimod
from solvers.formats import ProblemFileError, read_problem
from solvers.instances import dense
from solvers.testing import enumerate_scores

# --- dimod --------------------------------------------------------------------------------------


@pytest.fixture
def dimod():
    return pytest.importorskip("dimod", reason="dimod is not installed")


@pytest.fixture
def sampler(dimod):
    from solvers.adapters.dimod import ArgmaxSampler

    return ArgmaxSampler()


def random_model(dimod, vartype, n, seed):
    generator = np.random.default_rng(seed)
    quadratic = {(f"v{i}", f"v{j}"): generator.normal() for i in range(n) for j in range(i)}
    return dimod.BinaryQuadraticModel(
        {f"v{i}": generator.normal() for i in range(n)}, quadratic, generator.normal(), vartype
    )


def test_the_sampler_is_one_to_dimod(dimod, sampler):
    dimod.testing.assert_sampler_api(sampler)
    for vartype in ("BINARY", "SPIN"):
        model = random_model(dimod, vartype, 6, 0)
        dimod.testing.assert_response_energies(sampler.sample(model), model)


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_samples_have_the_energy_that_dimod_enumerates(dimod, sampler, vartype):
    for seed in range(40):
        model = random_model(dimod, vartype, 1 + seed % 9, seed)
        found = sampler.sample(model)
        lowest = dimod.ExactSolver().sample(model).first.energy
        assert found.first.energy == pytest.approx(lowest, abs=1e-9)
        assert found.vartype is model.vartype
        assert found.info["optimal"]
        assert found.info["lower_bound"] <= lowest + 1e-9


def test_the_other_entrances_of_a_sampler(dimod, sampler):
    assert sampler.sample_ising({"a": 0.5}, {("a", "b"): 1.0}).first.sample == {"a": -1, "b": 1}
    assert sampler.sample_qubo({(0, 0): -1.0, (0, 1): 2.0, (1, 1): -1.5}).first.energy == -1.5
    empty = sampler.sample(dimod.BinaryQuadraticModel({}, {}, 2.5, "SPIN"))
    assert empty.first.energy == 2.5
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning):
        sampler.sample_qubo({(0, 0): 1.0}, num_sweeps=7)


def test_composites_of_dwave_take_the_sampler(dimod, sampler):
    composites = pytest.importorskip(
        "dwave.preprocessing.composites", reason="dwave-preprocessing is not installed"
    )
    for seed in range(10):
        model = random_model(dimod, "SPIN", 7, seed)
        states = dimod.ExactSolver().sample(model)
        reversed_spins = composites.SpinReversalTransformComposite(sampler, seed=seed)
        assert reversed_spins.sample(model).first.energy == pytest.approx(states.first.energy)
        fixed = composites.FixVariablesComposite(sampler)
        among = min(datum.energy for datum in states.data() if datum.sample["v2"] == 1)
        found = fixed.sample(model, fixed_variables={"v2": 1}).first
        assert (found.sample["v2"], found.energy) == (1, pytest.approx(among))
        whole = fixed.sample(model, fixed_variables=dict(states.first.sample))
        assert whole.first.energy == pytest.approx(states.first.energy)


def test_a_time_limit_of_a_sampler(dimod):
    from solvers.adapters.dimod import ArgmaxSampler

    drawn = dense(150, 1, np.random.default_rng(0)).problem()
    for found in (
        ArgmaxSampler("cp_sat", time_limit=0.2).sample(to_dimod(drawn)),
        ArgmaxSampler("cp_sat").sample(to_dimod(drawn), time_limit=0.2),
    ):
        assert found.info["solver"] == "cp_sat"
        assert not found.info["optimal"]
        assert found.info["lower_bound"] < found.first.energy


def test_constrained_models_without_constraints(dimod):
    a, spin = dimod.Binary("a"), dimod.Spin("s")
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(2 * a - 3 * a * spin + spin + 5)
    conversion = from_dimod(model)
    z = solve(
        conversion.problem.unary, conversion.problem.pairwise, edges=conversion.problem.edges
    ).z[0]
    assert conversion.assignment(z) == {"a": 0, "s": -1}
    values = {
        conversion.value(conversion.problem.score([i, j])): (i, j) for i in (0, 1) for j in (0, 1)
    }
    expected = {2 * x - 3 * x * s + s + 5 for x in (0, 1) for s in (-1, 1)}
    assert {float(value) for value in values} == expected
    real = dimod.ConstrainedQuadraticModel()
    real.set_objective(dimod.Real("k") + a)
    with pytest.raises(ProblemError, match="there are BINARY, REAL"):
        from_dimod(real)


def random_constrained(dimod, seed):
    """A model of binaries and spins with linear constraints."""
    generator = np.random.default_rng(seed)
    n = 2 + seed % 6
    makers = [
        dimod.Spin if seed % 3 == 0 and generator.random() < 0.5 else dimod.Binary for _ in range(n)
    ]
    variables = [make(f"v{i}") for i, make in enumerate(makers)]
    model = dimod.ConstrainedQuadraticModel()
    products = [generator.normal() * x * y for i, x in enumerate(variables) for y in variables[:i]]
    model.set_objective(
        sum(products) + sum(generator.normal() * x for x in variables) + generator.normal()
    )
    for number in range(1 + seed % 2):
        weights = generator.integers(-9, 10, n) / 10
        left = sum(weight * x for weight, x in zip(weights, variables, strict=True)) + 0.1 * (
            seed % 4
        )
        right = float(generator.integers(-5, 10)) / 10
        kind = generator.integers(3)
        comparison = (
            left <= right if kind == 0 else left >= right if kind == 1 else sum(variables) == 1
        )
        model.add_constraint(comparison, label=f"c{number}")
    return model


@pytest.mark.spread(20)
@pytest.mark.parametrize("seed", range(60))
def test_constrained_models_against_dimods_enumeration(dimod, sampler, seed):
    model = random_constrained(dimod, seed)
    feasible = dimod.ExactCQMSolver().sample_cqm(model).filter(lambda datum: datum.is_feasible)
    if not len(feasible):
        with pytest.raises(InfeasibleError) as error:
            sampler.sample_cqm(model)
        assert error.value.constraints == tuple(model.constraints)
        return
    found = sampler.sample_cqm(model)
    assert found.first.is_feasible
    assert found.first.energy == pytest.approx(feasible.first.energy, abs=1e-9)
    assert found.info["optimal"]
    answer = solve(from_dimod(model))
    assert answer.value == pytest.approx(feasible.first.energy, abs=1e-9)
    ranked = solve(from_dimod(model), k_best=min(3, len(feasible)))
    energies = sorted(datum.energy for datum in feasible.data())
    assert [each.value for each in ranked] == pytest.approx(energies[: len(ranked)], abs=1e-9)


def energies_of(samples):
    return [datum.energy for datum in samples.data(sorted_by=None)]


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_several_reads_are_the_samples_of_lowest_energy(dimod, sampler, vartype):
    model = random_model(dimod, vartype, 5, 3)
    every = sorted(datum.energy for datum in dimod.ExactSolver().sample(model).data())
    found = sampler.sample(model, num_reads=6)
    assert energies_of(found) == pytest.approx(every[:6])
    assert found.info["optimal"]
    assert 0 < found.info["seconds"] < 60
    assert len(sampler.sample(model, num_reads=100)) == 32
    assert len(sampler.sample_ising({"a": 0.5}, {}, num_reads=2)) == 2
    with pytest.raises(OptionError, match="k_best"):
        sampler.sample(model, num_reads=0)


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_polynomials_against_dimods_enumeration(dimod, sampler, vartype):
    generator = np.random.default_rng(0)
    for _ in range(4):
        scopes = [generator.choice(list("abcde"), 1 + k % 4, replace=False) for k in range(9)]
        terms = {tuple(scope.tolist()): float(generator.normal()) for scope in scopes}
        model = dimod.BinaryPolynomial({**terms, (): 1.5}, vartype)
        every = sorted(datum.energy for datum in dimod.ExactPolySolver().sample_poly(model).data())
        best = sampler.sample_poly(model)
        assert best.first.energy == pytest.approx(every[0])
        assert best.info["optimal"]
        assert best.vartype is model.vartype
        several = sampler.sample_poly(model, num_reads=4)
        assert energies_of(several) == pytest.approx(every[:4])
        assert solve(from_dimod(model)).value == pytest.approx(every[0])
    assert sampler.sample_hubo({("a", "b", "c"): -1.0}).first.energy == -1.0
    assert sampler.sample_hising({"a": 1.0}, {("a", "b", "c"): 1.0}).first.energy == -2.0
    assert sampler.sample_poly(dimod.BinaryPolynomial({(): 2.0}, vartype)).first.energy == 2.0


def test_discrete_models_against_dimods_enumeration(dimod, sampler):
    generator = np.random.default_rng(0)
    model = dimod.DiscreteQuadraticModel()
    for name, size in (("x", 3), ("y", 2), ("z", 4)):
        model.add_variable(size, name)
        model.set_linear(name, generator.normal(size=size))
    for u, v in (("x", "y"), ("y", "z")):
        shape = model.num_cases(u), model.num_cases(v)
        model.set_quadratic(u, v, generator.normal(size=shape))
    model.offset = 1.5
    every = sorted(datum.energy for datum in dimod.ExactDQMSolver().sample_dqm(model).data())
    assert sampler.sample_dqm(model).first.energy == pytest.approx(every[0])
    several = sampler.sample_dqm(model, num_reads=5)
    assert energies_of(several) == pytest.approx(every[:5])
    assert several.info["optimal"]
    assert sampler.sample_dqm(dimod.DiscreteQuadraticModel()).first.energy == 0.0


def test_models_with_integers_and_soft_constraints_have_samples(dimod, sampler):
    i, j = dimod.Integer("i", upper_bound=4), dimod.Integer("j", upper_bound=3)
    s = dimod.Spin("s")
    model = dimod.ConstrainedQuadraticModel()
    model.set_objective(i * i - 2 * i * j + s)
    model.add_constraint(i + j + s <= 4, label="few")
    every = dimod.ExactCQMSolver().sample_cqm(model).filter(lambda datum: datum.is_feasible)
    energies = sorted(datum.energy for datum in every.data())
    several = sampler.sample_cqm(model, num_reads=3)
    assert energies_of(several) == energies[:3]
    assert all(datum.is_feasible for datum in several.data())
    a, b = dimod.Binary("a"), dimod.Binary("b")
    wish = dimod.ConstrainedQuadraticModel()
    wish.set_objective(a + b)
    wish.add_constraint(a + b >= 2, label="two", weight=0.25)
    wish.add_constraint(a * b <= 0, label="not both")
    found = sampler.sample_cqm(wish)
    assert found.first.energy == found.info["lower_bound"] == 0.5
    with pytest.raises(UnsupportedProblemError, match="auxiliary"):
        sampler.sample_cqm(wish, num_reads=2)


# --- PyEPO --------------------------------------------------------------------------------------


def model_of_pyepo(drawn, solver="auto"):
    pytest.importorskip("pyepo", reason="PyEPO is not installed")
    from solvers.adapters.pyepo import PairwiseModel

    return PairwiseModel(drawn.edges, drawn.unary.shape[1], solver)


def test_decisions_of_pyepo_are_maxima():
    for seed in range(40):
        drawn = dense(1 + seed % 9, 2, np.random.default_rng(seed))
        model = model_of_pyepo(drawn)
        best = enumerate_scores(drawn).max(axis=1)
        for costs, value in zip(
            np.concatenate([drawn.unary, drawn.pairwise], axis=1), best, strict=True
        ):
            model.setObj(costs)
            x, objective = model.solve()
            assert len(x) == model.num_cost
            assert objective == pytest.approx(value)
            assert costs @ x == pytest.approx(value)
    with pytest.raises(ProblemError, match="costs must be"):
        model.setObj(costs[1:])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_spo_plus_of_pyepo_learns_through_the_model(capsys):
    torch = pytest.importorskip("torch")
    model = model_of_pyepo(dense(6, 1, np.random.default_rng(0)))
    from pyepo.data.dataset import optDataset
    from pyepo.func import SPOPlus
    from pyepo.metric import regret

    generator = np.random.default_rng(1)
    features = generator.normal(size=(24, 5)).astype(np.float32)
    costs = (features @ generator.normal(size=(5, model.num_cost))).astype(np.float32)
    data = optDataset(model, features, costs)
    torch.manual_seed(0)
    network = torch.nn.Linear(5, model.num_cost)
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    before = regret(network, model, loader)
    loss_of = SPOPlus(model, processes=1)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
    for _ in range(15):
        for x, c, w, z in loader:
            loss = loss_of(network(x), c, w, z)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    assert regret(network, model, loader) < 0.6 * before


# --- edges of PyTorch Geometric -----------------------------------------------------------------


def test_edge_index_is_taken_for_edges():
    drawn = dense(6, 3, np.random.default_rng(0))
    expected = solve(drawn.unary, drawn.pairwise, edges=drawn.edges).score
    index = drawn.edges.T
    for edges in (index, np.asfortranarray(index), index[::-1], index.tolist()):
        np.testing.assert_allclose(solve(drawn.unary, drawn.pairwise, edges=edges).score, expected)
    np.testing.assert_allclose(prepare(index, 6)(drawn.unary, drawn.pairwise).score, expected)
    graph = from_max_cut(4, [[0, 1, 2], [1, 2, 3]])
    assert graph.problem.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    single = Problem.from_arrays([0.0, 0.0, 0.0], [1.0], edges=[[0], [2]])
    assert single.edges.tolist() == [[0, 2]]


def test_two_edges_are_read_row_by_row():
    assert Problem.from_arrays(np.zeros(4), [1.0, 2.0], edges=[[0, 1], [2, 3]]).edges.tolist() == [
        [0, 1],
        [2, 3],
    ]


# --- tables -------------------------------------------------------------------------------------


def test_edges_in_a_csv_file(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text('i,j,score\n"b",c d,3\nb,,-1\nc d,c d,-1.5\n\nc,b,2e0\nb,c d,0.5\n')
    conversion = read_problem(path)
    assert list(conversion.names) == ["b", "c d", "c"]
    problem = conversion.problem
    found = solve(problem.unary[0], problem.pairwise[0], edges=problem.edges)
    assert (float(found.score), conversion.assignment(found.z)) == (3.0, {"b": 1, "c d": 1, "c": 1})


def test_a_table_of_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    drawn = dense(7, 1, np.random.default_rng(3))
    rows = [
        (i, j, w)
        for (i, j), w in zip(drawn.edges.tolist(), drawn.pairwise[0].tolist(), strict=True)
    ]
    rows += [(i, None, u) for i, u in enumerate(drawn.unary[0].tolist())]
    table = pandas.DataFrame(rows, columns=["i", "j", "score"]).astype({"j": "Int64"})
    table.to_csv(tmp_path / "table.csv", index=False)
    conversion = read_problem(tmp_path / "table.csv")
    problem = conversion.problem
    best = solve(problem.unary[0], problem.pairwise[0], edges=problem.edges).score
    assert float(best) == pytest.approx(enumerate_scores(drawn).max())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("i,j\n", "no column 'score'"),
        ("i,j,score\n", "no rows"),
        ("i,j,score\na,b\n", "line 2: the line has 2 cells"),
        ("i,j,score\n,b,1\n", "line 2: i is empty, and every row needs a variable"),
        ("i,j,score\na,b,much\n", "the score must be a finite number"),
        ("i,j,score\na,b,nan\n", "the score must be a finite number"),
    ],
)
def test_what_is_no_table(tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ProblemFileError, match=words):
        read_problem(path)
