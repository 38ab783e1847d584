"""Inference forms: the argmax without a solver, in programs that torch.export and ONNX keep."""

import importlib.util

import pytest
import torch
from enumeration import seeded
from paper_networks import paper_vae_of

from models import paper_vae
from structured_vae import ArgmaxLayer, Categories, KOfN, LinearChainCRF, tag_rules
from structured_vae.errors import StructureError
from structured_vae.inference import ArgmaxInference, ChainInference, VAEInference

EDGES = [[0, 1], [1, 2], [0, 3]]
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
        ArgmaxInference(17, [[0, 1]])
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
