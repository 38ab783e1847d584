"""`torch.func`, `torch.compile` and empty batches: the layer, losses, CRFs and structures."""

import inspect

import pytest
import torch
from enumeration import seeded
from torch import func, nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch.autograd import forward_ad

import structured_vae
from models import Potentials
from solvers.constraints import at_most
from structured_vae import (
    Arborescences,
    ArgmaxLayer,
    Assignments,
    DirectLoss,
    Gibbs,
    GibbsLikelihood,
    ImplicitMLELoss,
    Knapsack,
    KOfN,
    LinearChainCRF,
    Matchings,
    PairwiseCRF,
    Paths,
    PerturbedFenchelYoung,
    ScaleFree,
    SecondOrderChains,
    Segments,
    SpanningTrees,
    StructuredHinge,
    StructuredPerceptron,
    perturb_and_map,
    routing_weights,
    spaces,
)
from structured_vae.distributions import Autoregressive
from structured_vae.errors import ConfigError, EstimatorError, StructureError
from structured_vae.spaces import Bits, Categories, ConstrainedBits, PairwiseLabels

EDGES = torch.tensor([[0, 1], [1, 2], [2, 3]])
SCORES = torch.randn((3, 4), generator=seeded(), dtype=torch.float64)
PAIRS = torch.randn(3, generator=seeded(1), dtype=torch.float64)
TARGET = torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=torch.float64)

SUBSETS = GibbsLikelihood(KOfN(2))
CHAIN = LinearChainCRF(2, batch_first=True).double()
LABELS = PairwiseLabels(2, 2, [[0, 1]])
SEGMENTS = Segments(2, 1, 2)
SECOND_ORDER = SecondOrderChains(3, 2)
GRAPH = PairwiseCRF(2, 2, [[1, 0]]).double()
with torch.no_grad():
    GRAPH.pairwise.copy_(torch.randn(1, 2, 2, generator=seeded(2)))


def target(x):
    return TARGET.expand(x.shape)


def of_pairs(module):
    return lambda x: module(x, PAIRS.expand(len(x), 3), edges=EDGES)


def with_target(loss):
    return lambda x: loss(x, PAIRS.expand(len(x), 3), edges=EDGES, target=target(x))


def potentials(x):
    return Potentials(x, PAIRS.expand(len(x), 3), EDGES)


def emissions(x):
    return x.reshape(-1, 2, 2)


def tags(x):
    return torch.tensor([0, 1]).expand(len(x), 2)


def soft_tags(x):
    return torch.tensor([[0.3, 0.7], [0.5, 0.5]], dtype=x.dtype).expand(len(x), 2, 2)


def repeated(x, n):
    return torch.cat([x, x, x], dim=-1)[..., :n]


def marginals(space):
    return lambda x: space.gibbs(x).marginals


def marginals_of(space, *options):
    return lambda x: space(*options).gibbs(x).marginals


def argmax_of(space, *options):
    return lambda x: space(*options).argmax(x)


ONE_WAY = {
    "layer": ArgmaxLayer(seed=None),
    "layer of pairs": of_pairs(ArgmaxLayer(epsilon=0.7, seed=None)),
    "layer of a structure": ArgmaxLayer(KOfN(2), seed=None),
    "layer of an assignment": ArgmaxLayer(Assignments(2, 2), seed=None),
    "layer of labels": ArgmaxLayer(PairwiseLabels(2, 2), seed=None),
    "layer within constraints": ArgmaxLayer(constraints=[at_most(2, [0, 1, 2])], seed=None),
    "layer relative to a step": ArgmaxLayer(epsilon=ScaleFree(0.5), seed=None),
    "direct loss": with_target(DirectLoss()),
    "implicit MLE": with_target(ImplicitMLELoss(seed=None)),
    "graph": lambda x: GRAPH(emissions(x), tags(x), reduction="none"),
    "labels' marginals": lambda x: LABELS.gibbs(repeated(x, 8)).marginals,
    "graph's marginals": lambda x: GRAPH.marginals(emissions(x)),
}
"""Functions with derivatives in reverse mode only."""

BOTH_WAYS = {
    "straight through": ArgmaxLayer(estimator="straight_through", seed=None),
    "perceptron": with_target(StructuredPerceptron()),
    "hinge": with_target(StructuredHinge()),
    "likelihood": with_target(GibbsLikelihood()),
    "likelihood of a structure": lambda x: SUBSETS(x, target=target(x)),
    "bits' marginals": lambda x: Gibbs(potentials(x)).marginals[0],
    "KL": lambda x: Gibbs(potentials(x)).kl().value,
    "entropy": lambda x: Gibbs(potentials(x)).entropy(),
    "autoregressive": lambda x: Autoregressive(potentials(x)).log_prob(target(x)),
    "routing": lambda x: routing_weights(x, target(x)),
    "subsets": marginals(KOfN(2)),
    "knapsack": marginals(Knapsack([1, 2, 1, 1], 3)),
    "paths": marginals(Paths([[0, 1], [1, 2], [0, 1], [1, 2]], 0, 2)),
    "trees": marginals(SpanningTrees([[0, 1], [1, 2], [0, 2], [0, 3]])),
    "arborescences": marginals(Arborescences([[0, 1], [1, 2], [0, 2], [2, 1]])),
    "segments": lambda x: SEGMENTS.gibbs(repeated(x, 7)).marginals,
    "second-order chain": lambda x: SECOND_ORDER.gibbs(repeated(x, 12)).marginals,
    "chain": lambda x: CHAIN(emissions(x), tags(x), reduction="none"),
    "chain with soft tags": lambda x: CHAIN(emissions(x), soft_tags(x), reduction="none"),
    "chain's marginals": lambda x: CHAIN.marginals(emissions(x)),
}
"""Functions with derivatives in either mode."""

FUNCTIONS = ONE_WAY | BOTH_WAYS

COMPILED = ("chain", "likelihood", "labels' marginals")
"""The functions that every run of the tests compiles; a compilation takes seconds."""

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's


def total(function):
    return lambda x: function(x).sum()


def gradient(function, x):
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


def close(values, expected):
    torch.testing.assert_close(values, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_per_sample_equal_those_of_a_loop(name):
    function = FUNCTIONS[name]
    close(func.grad(total(function))(SCORES), gradient(function, SCORES))
    rows = SCORES[:, None]
    loop = torch.cat([gradient(function, row) for row in rows])
    close(func.vmap(func.grad(total(function)))(rows)[:, 0], loop)
    values = torch.cat([function(row).detach() for row in rows])
    close(func.vmap(function)(rows)[:, 0], values)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_in_reverse_mode_equal_those_of_autograd(name):
    function = FUNCTIONS[name]
    expected = torch.autograd.functional.jacobian(function, SCORES)
    close(func.jacrev(function)(SCORES), expected)


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_forward_mode_and_second_derivatives_equal_those_of_autograd(name):
    function = BOTH_WAYS[name]
    along = torch.ones_like(SCORES)
    expected = torch.autograd.functional.jvp(function, SCORES, along)
    close(func.jvp(function, (SCORES,), (along,)), expected)
    hessian = torch.autograd.functional.hessian(total(function), SCORES[:1])
    close(func.hessian(total(function))(SCORES[:1]), hessian)
    close(func.jacrev(func.jacrev(total(function)))(SCORES[:1]), hessian)


@pytest.mark.parametrize("name", ONE_WAY)
def test_forward_mode_without_a_derivative_is_refused(name):
    function = ONE_WAY[name]
    with pytest.raises(EstimatorError, match=r"reverse mode only.*use grad, vjp or jacrev"):
        func.jvp(function, (SCORES,), (SCORES,))


def test_dual_numbers_are_refused_where_their_tangent_would_be_lost():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(SCORES, torch.ones_like(SCORES))
        with pytest.raises(EstimatorError, match="reverse mode only"):
            ArgmaxLayer(seed=None)(dual)
        assert ArgmaxLayer(seed=None)(SCORES).shape == SCORES.shape


def test_the_log_partition_of_many_states_has_two_derivatives_in_reverse_mode():
    n = 22  # more states than a table holds
    edges = torch.tensor([[i, i + 1] for i in range(n - 1)])
    pairs = torch.randn((1, n - 1), generator=seeded(3), dtype=torch.float64)
    x = torch.randn((1, n), generator=seeded(4), dtype=torch.float64)

    def log_z(x):
        return Gibbs(Potentials(x, pairs, edges)).log_partition.sum()

    close(func.jacrev(func.jacrev(log_z))(x), torch.autograd.functional.hessian(log_z, x))
    with pytest.raises(EstimatorError, match="reverse mode only"):
        func.hessian(log_z)(x)


compilable = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in COMPILED else pytest.mark.slow)
        for name in FUNCTIONS
        if name != "autoregressive"  # which reads its edges on the host, between two graphs
    ],
)


@compilable
def test_compiled_code_is_one_graph_with_the_same_gradient(name):
    torch._dynamo.reset()
    function = FUNCTIONS[name]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    close(compiled(SCORES), function(SCORES))
    close(gradient(compiled, SCORES), gradient(function, SCORES))


@compilable
def test_batches_of_other_sizes_are_compiled_once_more_at_most(name):
    torch._dynamo.reset()
    function = FUNCTIONS[name]
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(function, fullgraph=True, backend=counter)
    for size in (3, 5, 7, 9):
        x = torch.randn((size, 4), generator=seeded(size), dtype=torch.float64)
        close(compiled(x), function(x))
    assert counter.frame_count <= 2


CONSTRUCTED = {
    "ArgmaxLayer": lambda x: ArgmaxLayer(seed=None)(x),
    "DirectLoss": lambda x: DirectLoss()(x, target=target(x)),
    "GibbsLikelihood": lambda x: GibbsLikelihood()(x, target=target(x)),
    "ImplicitMLELoss": lambda x: ImplicitMLELoss(seed=None)(x, target=target(x)),
    "PerturbedFenchelYoung": lambda x: PerturbedFenchelYoung()(x, target=target(x)),
    "StructuredHinge": lambda x: StructuredHinge()(x, target=target(x)),
    "StructuredPerceptron": lambda x: StructuredPerceptron()(x, target=target(x)),
    "LinearChainCRF": lambda x: LinearChainCRF(2).double().marginals(emissions(x)),
    "PairwiseCRF": lambda x: PairwiseCRF(2, 2, [[1, 0]]).double()(emissions(x), tags(x)) * x,
    "Arborescences": marginals_of(Arborescences, [[0, 1], [1, 2], [0, 2], [2, 1]]),
    "Assignments": argmax_of(Assignments, 2, 2),
    "Bits": argmax_of(Bits),
    "Categories": argmax_of(Categories, 2),
    "ConstrainedBits": argmax_of(ConstrainedBits, [at_most(2, [0, 1, 2])]),
    "KOfN": marginals_of(KOfN, (2, 1, 2)),
    "Knapsack": marginals_of(Knapsack, [1, 2, 1, 1], 3),
    "Matchings": argmax_of(Matchings, 2, 2),
    "PairwiseLabels": argmax_of(PairwiseLabels, 2, 2),
    "Paths": marginals_of(Paths, [[0, 1], [1, 2], [0, 1], [1, 2]], 0, 2),
    "SecondOrderChains": argmax_of(SecondOrderChains, 2, 2),
    "Segments": lambda x: Segments(1, 2, 1).argmax(repeated(x, 6)),
    "SpanningTrees": marginals_of(SpanningTrees, [[0, 1], [1, 2], [0, 2], [0, 3]]),
}
"""By the name of a public class, a function that constructs an object of it and calls it."""

WHOLE = ("Bits", "Categories")
"""Classes that compiled code can construct inside of one graph."""


def test_every_public_layer_loss_random_field_and_structure_is_tried():
    kinds = (nn.Module, structured_vae.StateSpace)
    others = (structured_vae.Estimator, structured_vae.estimators.Epsilon, spaces.CustomSpace)
    public = set()
    for name in [*structured_vae.__all__, *spaces.__all__]:
        value = getattr(structured_vae if name in structured_vae.__all__ else spaces, name)
        if not inspect.isclass(value) or inspect.isabstract(value):
            continue
        if issubclass(value, kinds) and not issubclass(value, others):
            public.add(name)
    assert set(CONSTRUCTED) == public


@pytest.mark.spread(5)
@pytest.mark.parametrize("name", CONSTRUCTED)
def test_compiled_code_that_constructs_an_object_is_refused_or_breaks_the_graph(name):
    torch._dynamo.reset()
    function = CONSTRUCTED[name]
    whole = torch.compile(function, fullgraph=True, backend="eager")
    if name in WHOLE:
        close(whole(SCORES), function(SCORES))
        return
    with pytest.raises(torch._dynamo.exc.Unsupported, match="construct it once, outside"):
        whole(SCORES)
    results = []
    for call in (torch.compile(function, backend="eager"), function):
        torch.manual_seed(0)
        results.append(call(SCORES))
    close(*results)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_without_instances_has_no_gradient_and_no_error(name):
    x = torch.zeros((0, 4), dtype=torch.float64, requires_grad=True)
    result = FUNCTIONS[name](x)
    assert len(result) == 0
    result.sum().backward()
    assert x.grad.shape == (0, 4)


def test_random_fields_decode_a_batch_without_instances():
    nothing = torch.zeros(0, 2, 2)
    assert CHAIN.decode(nothing) == []
    assert GRAPH.decode(nothing).shape == (0, 2)
    assert CHAIN.solve(nothing).optimal.shape == (0,)


def test_chains_of_different_lengths_and_parameters_have_gradients_per_sample():
    x = torch.randn((3, 4, 2), generator=seeded(5), dtype=torch.float64)
    mask = torch.arange(4) < torch.tensor([[4], [2], [1]])
    labels = torch.zeros((3, 4), dtype=torch.long)
    parameters = dict(CHAIN.named_parameters())

    def likelihood(parameters, x, labels, mask):
        arguments = x[None], labels[None], mask[None]
        return func.functional_call(CHAIN, parameters, arguments)

    vmapped = func.vmap(func.grad(likelihood), in_dims=(None, 0, 0, 0))
    per_sample = vmapped(parameters, x, labels, mask)
    CHAIN.zero_grad()
    CHAIN(x, labels, mask).backward()
    for name, parameter in CHAIN.named_parameters():
        close(per_sample[name].sum(dim=0), parameter.grad)


@pytest.mark.parametrize("result", ["likelihood", "marginals"])
def test_chains_with_padding_on_the_left_have_gradients_per_sample(result):
    x = torch.randn((3, 4, 2), generator=seeded(5), dtype=torch.float64)
    mask = torch.arange(4) >= torch.tensor([[0], [2], [3]])
    labels = torch.ones((3, 4), dtype=torch.long)

    def scalar(x, labels, mask):
        if result == "likelihood":
            return CHAIN(x, labels, mask)
        return (CHAIN.marginals(x, mask)[..., 0] * torch.arange(4)).sum()

    def of_one(x, labels, mask):
        return scalar(x[None], labels[None], mask[None])

    per_sample = func.vmap(func.grad(of_one))(x, labels, mask)
    close(per_sample, gradient(lambda x: scalar(x, labels, mask), x))


def test_bad_scores_are_refused_under_transforms():
    bad = SCORES.clone()
    bad[1, 2] = torch.nan
    for name in ("hinge", "subsets", "chain", "layer"):
        with pytest.raises(ValueError, match=r"finite|at most|nan"):
            func.vmap(FUNCTIONS[name])(bad[:, None])


def test_what_leaves_torch_is_refused_with_the_way_to_go():
    calls = {
        "call ArgmaxLayer": lambda x: PairwiseLabels(2, 2).argmax(x),
        "without a cost": lambda x: ArgmaxLayer()(x, cost=lambda z: z.sum(-1)).surrogate,
        "needs a module": lambda x: perturb_and_map(Potentials(x), "auto", seeded())[0],
        "outside of torch.func": lambda x: CHAIN.solve(emissions(x)).score,
    }
    for message, call in calls.items():
        with pytest.raises((EstimatorError, ConfigError), match=message):
            func.grad(total(call))(SCORES)


def test_vmap_over_edges_is_refused():
    layer = ArgmaxLayer(seed=None)
    call = func.vmap(lambda x, pairs, edges: layer(x, pairs, edges=edges))
    with pytest.raises(EstimatorError, match="in_dims=None"):
        call(SCORES[:, None], PAIRS.expand(3, 1, 3), EDGES.expand(3, 3, 2))


SAMPLED = {
    "bits": lambda x: Gibbs(Potentials(x)),
    "pairs": lambda x: Gibbs(potentials(x)),
    "autoregressive bits": lambda x: Autoregressive(potentials(x)),
    "subsets": KOfN(2).gibbs,
    "knapsack": Knapsack([1, 2, 1, 1], 3).gibbs,
    "paths": Paths([[0, 1], [1, 2], [0, 1], [1, 2]], 0, 2).gibbs,
    "trees": SpanningTrees([[0, 1], [1, 2], [0, 2], [0, 3]]).gibbs,
    "arborescences": Arborescences([[0, 1], [1, 2], [0, 2], [2, 1]]).gibbs,
}


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_of_instances_of_vmap_are_those_of_a_loop(name):
    def sample(row):
        return SAMPLED[name](row[None]).sample(seeded(6), 3)[:, 0]

    mapped = func.vmap(sample, randomness="same")(SCORES)
    # A transform that changes nothing: pairs are drawn from a table inside of it, too.
    loop = [func.vmap(sample, randomness="same")(row[None])[0] for row in SCORES]
    assert torch.equal(mapped, torch.stack(loop))
    with pytest.raises(EstimatorError, match="pass randomness= to vmap"):
        func.vmap(sample)(SCORES)


STRUCTURES = {
    "subsets": KOfN(2),
    "knapsack": Knapsack([1, 2, 1, 1], 3),
    "paths": Paths([[0, 1], [1, 2], [0, 1], [1, 2]], 0, 2),
    "trees": SpanningTrees([[0, 1], [1, 2], [0, 2], [0, 3]]),
    "arborescences": Arborescences([[0, 1], [1, 2], [0, 2], [2, 1]]),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_argmaxes_of_instances_of_vmap_are_those_of_the_batch(name):
    structure = STRUCTURES[name]
    assert torch.equal(func.vmap(structure.argmax)(SCORES), structure.argmax(SCORES))
    forbidden = SCORES.clone()
    forbidden[1] = -torch.inf
    if name == "knapsack":  # which may be empty
        return
    with pytest.raises(StructureError, match=r"instance .* has no allowed state"):
        func.vmap(structure.argmax)(forbidden)


def test_completions_of_a_structure_have_gradients_per_sample():
    def conditionals(row):
        q = Gibbs(Potentials(row[None], space=KOfN(2)))
        return q.completions(seeded(6), 2).conditionals.square().sum()

    loop = torch.stack([gradient(conditionals, row) for row in SCORES])
    close(func.vmap(func.grad(conditionals), randomness="same")(SCORES), loop)
