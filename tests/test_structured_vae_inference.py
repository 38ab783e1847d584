"""Inference forms: the argmax without a solver, in programs that torch.export and ONNX keep."""

import importlib.util
from itertools import product

import pytest
import torch
from enumeration import seeded
from paper_networks import paper_vae_of

from models import paper_vae
from structured_vae import (
    ArgmaxLayer,
    Assignments,
    Knapsack,
    KOfN,
    LinearChainCRF,
    SecondOrderChains,
    Segments,
    grid_paths,
    tag_rules,
)
from structured_vae.errors import StructureError
from structured_vae.inference import ArgmaxInference, ChainInference, VAEInference
from structured_vae.spaces import Categories

EDGES = [[0, 1], [1, 2], [0, 3]]
RING = [[0, 1], [1, 2], [2, 3], [3, 0]]
BATCH = torch.export.Dim("batch", min=1, max=1000)


def scores(*shape, seed=0):
    return torch.randn(shape, generator=seeded(seed))


def saved(program, folder):
    torch.export.save(program, folder / "form.pt2")
    return torch.export.load(folder / "form.pt2").module()


@pytest.mark.parametrize("space", [None, KOfN(2), KOfN(3, least=1), Categories(2)], ids=str)
def test_states_are_those_of_the_space(space):
    u = scores(50, 4)
    expected = (u > 0).float() if space is None else space.argmax(u)
    assert (ArgmaxInference(4, space=space)(u) == expected).all()


LONG = {
    "paths": (grid_paths(4, 4), 24, 20),
    "segments": (Segments(4, 2, longest=2), 32, 44),
    "second-order chains": (SecondOrderChains(5, 2), 28, 32),
    "assignments": (Assignments(5), 25, 120),
    "knapsack": (Knapsack([5] * 20, 10), 20, 211),
}
"""Structures with many entries and few states: the space, entries of a state, number of states."""


@pytest.mark.parametrize("name", LONG)
def test_structures_of_many_entries_and_few_states_are_listed(name):
    space, n, count = LONG[name]
    states = space.states(n, torch.zeros(1))
    assert states.shape == (count, n)
    assert space.contains(states).all()
    assert len(states.unique(dim=0)) == count
    if n <= 52:
        codes = states.double() @ 2.0 ** torch.arange(n, dtype=torch.float64)
        assert (codes.diff() > 0).all()
        assert torch.equal(space.index(states), torch.arange(count))
    u = scores(20, n)
    assert torch.equal(ArgmaxInference(n, space=space)(u), space.argmax(u))


def test_structures_of_too_many_states_are_not_listed():
    with pytest.raises(StructureError, match=r"at most 2\^20 states"):
        Knapsack([1] * 40, 20).states(40, torch.zeros(1))


GRAPHS = {
    "chain": (5, [[0, 1], [2, 1], [2, 3], [3, 4]]),
    "trees": (6, [[5, 0], [0, 3], [1, 2]]),
    "one edge of many bits": (5, [[1, 3]]),
    "ring": (4, RING),
    "both ways": (2, [[0, 1], [1, 0]]),
    "no edges": (3, []),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_forbidden_variables_and_pairs_have_no_place_in_the_best_state(name):
    n, edges = GRAPHS[name]
    u, w = scores(200, n), scores(200, len(edges), seed=1)
    u[torch.rand(200, n, generator=seeded(2)) < 0.2] = -torch.inf
    w[torch.rand(w.shape, generator=seeded(3)) < 0.2] = -torch.inf
    z = ArgmaxInference(n, edges)(u, w)
    states = torch.tensor(list(product((0.0, 1.0), repeat=n)))
    parts = [torch.where(states[:, None, i] > 0, u[:, i], 0.0) for i in range(n)]
    for number, (i, j) in enumerate(edges):
        both = states[:, None, i] * states[:, None, j]
        parts.append(torch.where(both > 0, w[:, number], 0.0))
    best = states[torch.stack(parts).sum(dim=0).argmax(dim=0)]
    assert torch.equal(z, best)


def test_a_long_chain_of_bits_takes_dynamic_programming(tmp_path):
    n = 25  # more than are enumerated
    edges = [[i, i + 1] for i in range(n - 1)]
    u, w = scores(8, n), scores(8, n - 1, seed=1)
    form = ArgmaxInference(n, edges)
    z = saved(torch.export.export(form, (u, w)), tmp_path)(u, w)
    assert torch.equal(z, ArgmaxLayer(seed=None)(u, w, edges=edges))


def test_forbidden_entries_of_structures():
    for space, n in ((Knapsack([3, 1, 2, 2], 4), 4), (Categories(2), 4), (KOfN(2, least=0), 4)):
        u = scores(50, n)
        u[:, 0] = -torch.inf
        assert torch.equal(ArgmaxInference(n, space=space)(u), space.argmax(u))


@pytest.mark.parametrize("batch_first", [True, False])
def test_padding_on_the_left_of_an_inference_form(batch_first):
    crf = LinearChainCRF(3, batch_first)
    for seed, parameter in enumerate(crf.parameters(), start=2):
        parameter.data = scores(*parameter.shape, seed=seed)
    emissions = scores(40, 5, 3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]]).bool()
    mask = mask.repeat(10, 1)
    emissions[:20, 0].masked_fill_(~mask[:20, :1], torch.nan)
    if not batch_first:
        emissions, mask = emissions.transpose(0, 1), mask.T
    tags = ChainInference(crf)(emissions, mask)
    assert torch.equal(tags, crf.solve(emissions, mask).labels)


@pytest.mark.slow
def test_an_exported_argmax_of_pairs_is_that_of_the_layer(tmp_path):
    u, w = scores(50, 4), scores(50, 3, seed=1)
    form = ArgmaxInference(4, EDGES)
    program = torch.export.export(form, (u, w), dynamic_shapes=({0: BATCH}, {0: BATCH}))
    z = saved(program, tmp_path)(u[:7], w[:7])
    assert (z == ArgmaxLayer(seed=None)(u, w, edges=EDGES)[:7]).all()


@pytest.mark.parametrize("batch_first", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_exported_chain_gives_the_best_tags(batch_first, tmp_path):
    crf = LinearChainCRF(3, batch_first)
    emissions = scores(8, 5, 3)
    mask = torch.arange(5) < torch.tensor([5, 1, 2, 3, 4, 5, 5, 2])[:, None]
    if not batch_first:
        emissions, mask = emissions.transpose(0, 1), mask.T
    batch = 0 if batch_first else 1
    shapes = ({batch: BATCH}, {batch: BATCH})
    program = torch.export.export(ChainInference(crf), (emissions, mask), dynamic_shapes=shapes)
    tags = saved(program, tmp_path)(emissions, mask)
    assert tags.tolist() == crf.solve(emissions, mask).labels.tolist()
    assert ChainInference(crf)(emissions).tolist() == crf.decode(emissions)


def test_the_inference_form_of_a_chain_keeps_its_rules():
    crf = LinearChainCRF(3, batch_first=True, rules=tag_rules(["O", "B-A", "I-A"], "BIO"))
    emissions = torch.tensor([0.0, 0.0, 5.0]).expand(2, 4, 3)  # I-A cannot come first
    tags = ChainInference(crf)(emissions).tolist()
    assert tags == [[1, 2, 2, 2]] * 2 == crf.decode(emissions)


@pytest.mark.parametrize("encoder", ["independent", "general", "categorical"])
def test_an_exported_vae_encodes_and_decodes(encoder, tmp_path):
    vae = paper_vae_of(encoder, 4, pixels=9)
    x = scores(5, 9)
    unary, z, mean = saved(torch.export.export(VAEInference(vae), (x,)), tmp_path)(x)
    h = vae.encoder(x)
    torch.testing.assert_close(unary, h.unary.detach())
    states = h.states()
    best = states[h.table(states).argmax(dim=-1)]
    assert (z == best).all()
    torch.testing.assert_close(mean, vae.decoder.mean(best).detach())


def test_what_has_no_form_is_refused():
    with pytest.raises(StructureError, match=r"at most 65,536 states.*call ArgmaxLayer"):
        ArgmaxInference(17, [[0, 1], [1, 2], [2, 0]])
    with pytest.raises(StructureError, match="none of pairs"):
        ArgmaxInference(4, EDGES, KOfN(2))
    with pytest.raises(StructureError, match="has other states for each instance"):
        ArgmaxInference(4, space=KOfN([1, 2]))


def test_an_inference_form_of_subsets_lists_no_states():
    scores = torch.randn(2, 60, generator=torch.Generator().manual_seed(0))
    z = ArgmaxInference(60, space=KOfN(20))(scores)
    assert z.sum(dim=-1).tolist() == [20, 20]
    torch.testing.assert_close((z * scores).sum(dim=-1), scores.topk(20).values.sum(dim=-1))


@pytest.mark.slow
@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="ONNX is an extra: pip install 'structured-vae[onnx]' onnxruntime",
)
@pytest.mark.filterwarnings("ignore")  # of the exporter
def test_onnx_runs_the_same_program(tmp_path):
    import onnxruntime

    u, w = scores(5, 4), scores(5, 3, seed=1)
    emissions = scores(2, 5, 3)
    mask = torch.arange(5) < torch.tensor([5, 3])[:, None]
    crf = LinearChainCRF(3, batch_first=True)
    forms = (
        (ArgmaxInference(4, EDGES), (u, w)),
        (ArgmaxInference(4, RING), (u, scores(5, 4, seed=1))),
        (ArgmaxInference(4, space=KOfN(2)), (u,)),
        (ChainInference(crf), (emissions, mask)),
        (VAEInference(paper_vae("general", n=4, pixels=9)), (scores(5, 9),)),
    )
    for form, inputs in forms:
        file = tmp_path / f"{type(form).__name__}.onnx"
        shapes = tuple({0: BATCH} for _ in inputs)
        torch.onnx.export(form, inputs, file, dynamo=True, dynamic_shapes=shapes)
        session = onnxruntime.InferenceSession(file)
        names = [value.name for value in session.get_inputs()]
        twice = [torch.cat([value, value]) for value in inputs]  # another batch size
        arrays = [value.numpy() for value in twice]
        answers = session.run(None, dict(zip(names, arrays, strict=True)))
        expected = form(*twice)
        if isinstance(expected, torch.Tensor):
            expected = (expected,)
        for answer, value in zip(answers, expected, strict=True):
            torch.testing.assert_close(torch.as_tensor(answer), value.detach())
