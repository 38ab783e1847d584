"""Every public structure: masks against enumeration, copies, and wrong scores and states."""

import copy
import inspect
import pickle

import numpy as np
import pytest
import torch
from enumeration import seeded

from solvers.constraints import at_most
from solvers.errors import SolverError
from structured_vae import (
    Arborescences,
    Assignments,
    Knapsack,
    KOfN,
    Matchings,
    Paths,
    SecondOrderChains,
    Segments,
    SpanningTrees,
    StateSpace,
    StructuredVAEError,
    spaces,
)
from structured_vae.spaces import Bits, Categories, ConstrainedBits, PairwiseLabels

STRUCTURES = {
    "Arborescences": (Arborescences([[0, 1], [1, 2], [0, 2], [2, 1]]), 4),
    "Assignments": (Assignments(2, 3), 6),
    "Bits": (Bits(), 4),
    "Categories": (Categories(2), 6),
    "ConstrainedBits": (ConstrainedBits([at_most(2, [0, 1, 2])]), 4),
    "KOfN": (KOfN(2), 4),
    "Knapsack": (Knapsack([1, 2, 1, 1], 3), 4),
    "Matchings": (Matchings(2, 2), 4),
    "PairwiseLabels": (PairwiseLabels(2, 2, [[0, 1]]), 8),
    "Paths": (Paths([[0, 1], [1, 2], [0, 1], [1, 2]], 0, 2), 4),
    "SecondOrderChains": (SecondOrderChains(3, 2), 12),
    "Segments": (Segments(2, 1, 2), 7),
    "SpanningTrees": (SpanningTrees([[0, 1], [1, 2], [0, 2], [0, 3]]), 4),
}
every_structure = pytest.mark.parametrize("name", STRUCTURES)

OURS = (SolverError, StructuredVAEError)


def test_every_public_structure_is_in_the_table():
    public = {
        name
        for name in spaces.__all__
        if inspect.isclass(value := getattr(spaces, name))
        and issubclass(value, StateSpace)
        and value not in (StateSpace, spaces.CustomSpace)
    }
    assert set(STRUCTURES) == public


@every_structure
def test_a_mask_leaves_the_states_without_the_variable(name):
    structure, n = STRUCTURES[name]
    scores = torch.randn((1, n), generator=seeded(1), dtype=torch.float64)
    states = structure.states(n, scores)
    tried = 0
    for variable in range(n):
        mask = torch.arange(n) != variable
        allowed = states[states[:, variable] == 0]
        if not len(allowed):
            with pytest.raises(OURS, match=rf"every state of {name}|values of variable"):
                structure.argmax(scores, mask)
            continue
        tried += 1
        best = structure.argmax(scores, mask)
        totals = allowed @ scores[0]
        torch.testing.assert_close((best * scores).sum(), totals.max())
        if structure.tractable:
            sums = structure.gibbs(scores, mask)
            torch.testing.assert_close(sums.log_partition[0], totals.logsumexp(dim=0))
            torch.testing.assert_close(sums.marginals[0], totals.softmax(dim=0) @ allowed)
    assert tried
    if not (states == 0).all(dim=-1).any():
        with pytest.raises(OURS, match=rf"every state of {name}|values of variable"):
            structure.argmax(scores, torch.zeros(n, dtype=torch.bool))


@every_structure
def test_scores_that_a_mask_forbids_get_no_gradient(name):
    structure, n = STRUCTURES[name]
    if not structure.tractable:
        pytest.skip("there are no sums")
    states = structure.states(n, torch.zeros(1))
    variable = int((states == 0).any(dim=0).nonzero()[0])
    scores = torch.randn((2, n), generator=seeded(2), requires_grad=True)
    sums = structure.gibbs(scores, torch.arange(n) != variable)
    (sums.log_partition.sum() + sums.marginals[:, -1].sum()).backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[:, variable] == 0).all()


@every_structure
def test_copies_have_the_same_states(name):
    structure, n = STRUCTURES[name]
    scores = torch.randn((3, n), generator=seeded(3))
    expected = structure.argmax(scores)
    pickled = pickle.loads(pickle.dumps(structure))  # noqa: S301  # ours
    for same in (copy.deepcopy(structure), pickled):
        assert torch.equal(same.argmax(scores), expected)


WRONG = {
    "none": None,
    "text": "x",
    "array": np.zeros((2, 4)),
    "lists": [[0.0] * 4],
    "integers": torch.zeros(2, 4, dtype=torch.long),
    "booleans": torch.zeros(2, 4, dtype=torch.bool),
    "complex": torch.zeros(2, 4, dtype=torch.complex64),
    "sparse": torch.zeros(2, 4).to_sparse(),
}


@every_structure
@pytest.mark.parametrize("what", WRONG)
def test_values_that_are_no_scores_get_an_error_of_ours(name, what):
    structure, _ = STRUCTURES[name]
    with pytest.raises(OURS, match="dense floating-point tensor"):
        structure.argmax(WRONG[what])


@every_structure
@pytest.mark.parametrize("states", [None, "x", np.zeros((2, 4)), [[0.0] * 4], torch.tensor(1.0)])
def test_values_that_are_no_states_get_an_error_of_ours(name, states):
    structure, _ = STRUCTURES[name]
    with pytest.raises(OURS, match=r"dense tensor|shape|must be \["):
        structure.contains(states)


EMISSIONS = torch.randn((4, 3, 2), generator=seeded(4), dtype=torch.float64)
LENGTHS = torch.tensor([3, 1, 2, 3])
SEGMENTS = Segments(3, 2, 2)
TRIPLES = SecondOrderChains(3, 2)
PATHS = Paths([[0, 1], [1, 2], [0, 1], [1, 2]], 0, 2)
NODES = torch.ones((4, 3), dtype=torch.bool)


def segment_scores(emissions, lengths):
    return SEGMENTS.scores(SEGMENTS.segment_scores(emissions), lengths=lengths)


COMPILED = {
    "segments": lambda: SEGMENTS.parts(
        SEGMENTS.gibbs(segment_scores(EMISSIONS, LENGTHS)).marginals
    ),
    "triples": lambda: TRIPLES.gibbs(TRIPLES.scores(EMISSIONS, lengths=LENGTHS)).log_partition,
    "nodes": lambda: PATHS.gibbs(EMISSIONS.flatten(1)[:, :4], PATHS.mask_of_nodes(NODES)).marginals,
}


@pytest.mark.parametrize("name", COMPILED)
def test_scores_of_lengths_and_nodes_are_compiled_to_one_graph(name):
    torch.compiler.reset()
    result = torch.compile(COMPILED[name], fullgraph=True, backend="eager")()
    torch.testing.assert_close(result, COMPILED[name]())


@pytest.mark.parametrize("length", [0, 4])
def test_lengths_out_of_range_are_refused_or_nan_in_compiled_code(length):
    torch.compiler.reset()
    lengths = torch.tensor([3, length, 2, 3])
    for scores in (segment_scores, lambda *both: TRIPLES.scores(both[0], lengths=both[1])):
        with pytest.raises(StructuredVAEError, match="integers from 1 to 3"):
            scores(EMISSIONS, lengths)
        vectors = torch.compile(scores, fullgraph=True, backend="eager")(EMISSIONS, lengths)
        assert vectors.isnan().all(dim=-1).tolist() == [False, True, False, False]


@pytest.mark.parametrize("call", ["contains", "neighbours"])
def test_lists_of_states_break_the_graph_of_compiled_code(call):
    torch.compiler.reset()
    z = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    method = getattr(KOfN(2), call)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="leave out fullgraph=True"):
        torch.compile(lambda: method(z), fullgraph=True, backend="eager")()
    assert torch.equal(torch.compile(lambda: method(z), backend="eager")(), method(z))
