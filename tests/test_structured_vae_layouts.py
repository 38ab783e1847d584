"""Nested, sparse and integer tensors: every public call that takes scores refuses them by name."""

import pytest
import torch

from models import CategoricalPotentials, Potentials
from models.errors import ModelsError
from solvers.errors import SolverError
from structured_vae import (
    Arborescences,
    ArgmaxLayer,
    Assignments,
    DirectLoss,
    Gibbs,
    GibbsLikelihood,
    Hamming,
    ImplicitMLELoss,
    Knapsack,
    KOfN,
    LinearChainCRF,
    Matchings,
    PairwiseCRF,
    Paths,
    PerturbAndMAP,
    PerturbedFenchelYoung,
    SecondOrderChains,
    Segments,
    SpanningTrees,
    StructuredHinge,
    StructuredPerceptron,
    routing_weights,
)
from structured_vae.errors import StructuredVAEError
from structured_vae.spaces import Bits, Categories, PairwiseLabels, as_space

OURS = (ModelsError, SolverError, StructuredVAEError)
DENSE = torch.tensor([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
TAGS = torch.zeros((2, 2), dtype=torch.long)
CHAIN = LinearChainCRF(2, batch_first=True)
GRAPH = PairwiseCRF(2, 2, [[0, 1]])

SPACES = {
    "bits": Bits(),
    "categories": Categories(2),
    "subsets": KOfN(2),
    "knapsack": Knapsack([1, 2, 1, 1], 3),
    "paths": Paths([[0, 1], [1, 2], [0, 1], [1, 2]], 0, 2),
    "trees": SpanningTrees([[0, 1], [1, 2], [0, 2], [0, 3]]),
    "arborescences": Arborescences([[0, 1], [1, 2], [0, 2], [2, 1]]),
    "labels": PairwiseLabels(2, 2),
    "segments": Segments(2, 1, 1),
    "second-order chains": SecondOrderChains(2, 1),
    "matchings": Matchings(2),
    "assignments": Assignments(2),
}

LOSSES = (
    StructuredHinge,
    StructuredPerceptron,
    GibbsLikelihood,
    PerturbedFenchelYoung,
    ImplicitMLELoss,
    DirectLoss,
)


def of_sums(space):
    return {
        "log Z": lambda x: space.gibbs(x).log_partition,
        "marginals": lambda x: space.gibbs(x).marginals,
        "samples": lambda x: space.gibbs(x).sample(torch.Generator()),
    }


def calls():
    made = {}
    for name, space in SPACES.items():
        made[f"argmax of {name}"] = space.argmax
        if name not in ("matchings", "assignments"):
            sums = of_sums(space)
            made.update({f"{quantity} of {name}": call for quantity, call in sums.items()})
    for loss in LOSSES:
        name = loss.__name__
        made[name] = lambda x, loss=loss: loss()(x, target=DENSE)
        made[f"{name} of subsets"] = lambda x, loss=loss: loss(KOfN(2))(x, target=DENSE)
    return made


CALLS = calls() | {
    "layer": ArgmaxLayer(),
    "layer's certificates": ArgmaxLayer().solve,
    "layer, straight through": ArgmaxLayer(estimator="straight_through"),
    "layer of bits": ArgmaxLayer(Bits()),
    "layer of categories": ArgmaxLayer(Categories(2)),
    "layer of subsets": ArgmaxLayer(KOfN(2)),
    "layer with a cost": lambda x: ArgmaxLayer()(x, cost=lambda z: z.sum(-1)),
    "routing": lambda x: routing_weights(x, DENSE),
    "chain": lambda x: CHAIN(x, TAGS),
    "chain's tags": CHAIN.decode,
    "chain's marginals": CHAIN.marginals,
    "chain's log Z": CHAIN.log_partition,
    "chain's certificates": CHAIN.solve,
    "graph": lambda x: GRAPH(x, TAGS),
    "graph's tags": GRAPH.decode,
    "graph's marginals": GRAPH.marginals,
    "graph's certificates": GRAPH.solve,
    "scores of labels": SPACES["labels"].scores,
}

OF_STATES = {
    **{f"membership in {name}": as_space(space).contains for name, space in SPACES.items()},
    **{loss.__name__: lambda x, loss=loss: loss()(DENSE, target=x) for loss in LOSSES},
    "routing": lambda x: routing_weights(DENSE, x),
    "Gibbs": lambda x: Gibbs(Potentials(DENSE)).log_prob(x),
    "perturb-and-MAP": lambda x: PerturbAndMAP(Potentials(DENSE)).log_prob(x),
    "distance": Hamming,
    "potentials": Potentials,
    "potentials of categories": CategoricalPotentials,
}
"""Calls that take states, which may be integers, and potentials, which training casts."""

LAYOUTS = {
    "nested": lambda: torch.nested.nested_tensor([torch.ones(4), torch.ones(4)]),
    "ragged": lambda: torch.nested.nested_tensor([torch.ones(3), torch.ones(4)]),
    "jagged": lambda: torch.nested.nested_tensor(
        [torch.ones(3, 4), torch.ones(2, 4)], layout=torch.jagged
    ),
    "sparse": DENSE.to_sparse,
}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # nested tensors are a prototype


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*CALLS, *OF_STATES])
def test_tensors_of_another_layout_are_refused(name, layout):
    call = {**OF_STATES, **CALLS}[name]
    with pytest.raises(OURS):
        call(LAYOUTS[layout]())


@pytest.mark.parametrize("name", CALLS)
def test_scores_that_are_integers_are_refused(name):
    with pytest.raises(OURS):
        CALLS[name](torch.ones((2, 4), dtype=torch.long))


def test_the_message_says_that_a_tensor_is_nested():
    for space in (Bits(), Categories(2), KOfN(2)):
        with pytest.raises(StructuredVAEError, match=r"must be a dense .* got a nested tensor"):
            space.argmax(LAYOUTS["nested"]())
