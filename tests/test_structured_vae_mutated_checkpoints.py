"""A checkpoint with any wrong value is resumed or refused with our own error; it never crashes the process."""

import copy
import math
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from few_images import on_few_images  # noqa: F401  # used by itself
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structured_vae import (
    DataConfig,
    TrainConfig,
    evaluate_run,
    export_run,
    load_vae,
    resume,
    train,
)
from structured_vae.errors import RunError, StructuredVAEError

KINDS = {
    "early stopping": {"patience": 5},
    "a learnt prior": {"estimator": "exact", "recipe": "elbo", "prior": "gibbs"},
    "an estimator with weights": {"encoder": "independent", "estimator": "relax"},
    "gaussian": {"encoder": "gaussian"},
}
SMALL = {"n": 3, "hidden": 4}
EXAMPLES = int(os.environ.get("STRUCTURED_VAE_EXAMPLES", "40"))


def config_of(kind):
    return TrainConfig(
        **SMALL,
        **KINDS[kind],
        epochs=1,
        picture_every=0,
        logger="none",
        data=DataConfig(batch_size=20),
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory, on_few_images):  # noqa: F811  # a fixture
    """A finished run of one epoch of each kind, and what its checkpoint holds."""
    place = tmp_path_factory.mktemp("runs")
    trained = {}
    for kind in KINDS:
        run = train(config_of(kind), place / kind, progress=False)
        trained[kind] = run.folder, torch.load(run.checkpoint("last"), weights_only=True)
    return trained


@pytest.fixture
def base(runs, tmp_path):
    """A copy of the run of bits, its checkpoint's content, and the file."""
    folder, content = runs["early stopping"]
    copied = Path(shutil.copytree(folder, tmp_path / "run"))
    return copied, copy.deepcopy(content), copied / "checkpoints" / "last.ckpt"


def leaves(value, path=()):
    """The keys to every part of nested dictionaries, lists and tuples, the inner ones too."""
    yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from leaves(part, (*path, number))


def replaced(content, path, value):
    """The content with another value at a place; a tuple on the way becomes a list and back."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(content, dict):
        return {
            key: replaced(part, rest, value) if key == first else part
            for key, part in content.items()
        }
    parts = [replaced(part, rest, value) if i == first else part for i, part in enumerate(content)]
    return type(content)(parts)


def without(content, path):
    """The content without a key or an item."""
    first, rest = path[0], path[1:]
    if rest:
        return replaced(content, (first,), without(content[first], rest))
    if isinstance(content, dict):
        return {key: part for key, part in content.items() if key != first}
    return type(content)(part for i, part in enumerate(content) if i != first)


def at(content, path):
    for key in path:
        content = content[key]
    return content


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([2**31, 2**63, 10**30, -(2**63)]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["0.9.0", "1.4.0", "99.0", "2.6.6---", "nan", "(0.9, 0.999)"]),
    st.sampled_from(
        [[], {}, (), [1], {"a": 1}, {0: 1}, ("0.9", "0.999"), (0.9,), (0.9, 0.999, 0.5)]
    ),
    st.builds(
        torch.full,
        st.sampled_from([(), (0,), (1,), (3,), (2, 3), (4, 16), (3, 4)]),
        st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e30, 1.0]),
    ),
    st.sampled_from(
        [
            torch.zeros(1).expand(10**9),
            torch.zeros(1).expand(4, 16),
            torch.zeros(16, 4).T,
            torch.zeros(4, 16, dtype=torch.float64),
            torch.zeros(4, 16, dtype=torch.complex64),
            torch.zeros(4, 16, dtype=torch.int64),
            torch.zeros(4, 16).to_sparse(),
            torch.zeros(4, 16, device="meta"),
        ]
    ),
)


@dataclass(frozen=True)
class Mutation:
    """A change of a checkpoint at one place."""

    change: Callable
    text: str

    def __repr__(self):
        return self.text


@st.composite
def mutations(draw, content):
    path = draw(st.sampled_from([path for path in leaves(content) if path]))
    what = draw(st.sampled_from(["replace", "replace", "remove", "add", "tensor"]))
    old = at(content, path)
    if what == "remove":
        return Mutation(lambda c: without(c, path), f"without {path}")
    if what == "add" and isinstance(old, dict):
        value = draw(VALUES)
        return Mutation(
            lambda c: replaced(c, (*path, "foreign"), value), f"{path} with a foreign {value!r}"
        )
    if what == "tensor" and isinstance(old, torch.Tensor):
        number = draw(st.sampled_from([math.nan, math.inf, -1.0, 1e38]))
        return Mutation(
            lambda c: replaced(c, path, torch.full_like(old, number)), f"{path} all {number}"
        )
    value = draw(VALUES)
    return Mutation(lambda c: replaced(c, path, value), f"{path} = {value!r}")


def resumed_or_refused(folder, content):
    """Whether a run with this content in its checkpoint was resumed; any error but ours is raised."""
    torch.save(content, folder / "checkpoints" / "last.ckpt")
    try:
        resume(folder, 2, progress=False)
    except StructuredVAEError as error:
        assert len(str(error)) < 1500  # noqa: PT017  # beside what is asserted of success
        return False
    return True


GROUP = ("optimizer_states", 0, "param_groups", 0)
MOMENTS = ("optimizer_states", 0, "state", 0)
LOOP = ("loops", "fit_loop")
WRONG = {
    "moments of three values": ((*MOMENTS, "exp_avg"), torch.zeros(3)),
    "moments without values": ((*MOMENTS, "exp_avg"), torch.zeros(0)),
    "transposed moments": ((*MOMENTS, "exp_avg_sq"), torch.zeros(16, 4)),
    "moments in another order in memory": ((*MOMENTS, "exp_avg"), torch.zeros(16, 4).T),
    "moments that share one value": ((*MOMENTS, "exp_avg"), torch.zeros(1).expand(4, 16)),
    "moments in float64": ((*MOMENTS, "exp_avg"), torch.zeros(4, 16, dtype=torch.float64)),
    "moments that are nan": ((*MOMENTS, "exp_avg"), torch.full((4, 16), math.nan)),
    "negative squares": ((*MOMENTS, "exp_avg_sq"), torch.full((4, 16), -1.0)),
    "steps of a weight": ((*MOMENTS, "step"), torch.zeros(4, 16)),
    "steps in a list": ((*MOMENTS, "step"), [1]),
    "a foreign moment": ((*MOMENTS, "max_exp_avg_sq"), torch.zeros(4, 16)),
    "moments of no weight": (("optimizer_states", 0, "state", 99), {}),
    "betas as texts": ((*GROUP, "betas"), ("0.9", "0.999")),
    "one beta": ((*GROUP, "betas"), (0.9,)),
    "a learning rate of nan": ((*GROUP, "lr"), math.nan),
    "a learning rate as a text": ((*GROUP, "lr"), "0.1"),
    "weights in another order": ((*GROUP, "params"), [1, 0, 2, 3, 4, 5, 6, 7]),
    "weights that are not there": ((*GROUP, "params"), [0, 1, 2, 3, 4, 5, 6, 99]),
    "too few weights": ((*GROUP, "params"), [0]),
    "a maximum": ((*GROUP, "maximize"), True),
    "another Adam": ((*GROUP, "amsgrad"), True),
    "no optimizer": (("optimizer_states",), []),
    "two optimizers": (("optimizer_states",), [{}, {}]),
    "epoch -5": (("epoch",), -5),
    "epoch True": (("epoch",), True),
    "epoch 1.0": (("epoch",), 1.0),
    "an epoch of 30 digits": (("epoch",), 10**30),
    "another epoch": (("epoch",), 0),
    "more steps": (("global_step",), 7),
    "a version that is none": (("pytorch-lightning_version",), "2.6.6---"),
    "no texts as version": (("pytorch-lightning_version",), 2.6),
    "nan weights": (("state_dict", "vae.encoder.network.0.bias"), torch.full((4,), math.nan)),
    "weights of another shape": (("state_dict", "vae.encoder.network.0.bias"), torch.zeros(5)),
    "complex weights": (
        ("state_dict", "vae.encoder.network.0.bias"),
        torch.zeros(4, dtype=torch.complex64),
    ),
    "a text for weights": (("state_dict", "vae.encoder.network.0.bias"), "abc"),
    "foreign weights": (("state_dict", "vae.foreign"), torch.zeros(4)),
    "a number for a name": (("state_dict", 3), torch.zeros(4)),
    "a huge tensor": (("foreign",), torch.zeros(1).expand(10**12)),
    "loops as a list": (("loops",), []),
    "a loop without progress": ((*LOOP, "epoch_progress"), {}),
    "progress of other epochs": ((*LOOP, "epoch_progress", "current", "ready"), 5),
    "progress in the middle of an epoch": (
        (*LOOP, "epoch_loop.batch_progress", "is_last_batch"),
        False,
    ),
    "no callbacks": (("callbacks",), {}),
    "rows that are texts": (("callbacks", "RunRecord", "rows"), ["a"]),
    "seconds of nan": (("callbacks", "RunRecord", "seconds"), math.nan),
    "a best value of nan": (("callbacks", "EpochCheckpoints", "best"), math.nan),
    "a best value as a text": (("callbacks", "EpochCheckpoints", "best"), "x"),
    "images as a text": (("ImageData",), "x"),
    "a number for the images": (("ImageData", "digest"), 3),
}


@pytest.mark.spread(10)
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_value_is_refused_before_it_is_used(base, case):
    folder, content, file = base
    path, value = WRONG[case]
    if case == "another epoch":
        content, path = at(content, ()), ("epoch",)
        value = content["epoch"] + 1
    parent = at(content, path[:-1])
    torch.save(replaced(content, path[:-1], {**parent, path[-1]: value}), file)
    with pytest.raises(RunError, match=r"damaged") as refused:
        resume(folder, 5, progress=False)
    assert len(str(refused.value)) < 1500


def foreign_tensors(values):
    """The same values as tensors that torch stores in another way, by what they are."""
    rounded = torch.quantize_per_tensor(values.float(), 0.1, 0, torch.quint8)
    return {
        "without memory": values.to("meta"),
        "sparse": values.to_sparse(),
        "quantised": rounded,
        "nested": torch.nested.nested_tensor([values, values]),
        "nested and jagged": torch.nested.nested_tensor([values, values], layout=torch.jagged),
        "conjugated": values.to(torch.complex64).conj(),
        "negated": values.to(torch.complex64).conj().imag,
        "of eight bits": values.to(torch.float8_e4m3fn),
    }


FOREIGN = [
    "without memory",
    "sparse",
    "quantised",
    "nested",
    "nested and jagged",
    "conjugated",
    "negated",
    "of eight bits",
]
PLACES = {
    "a weight": ("state_dict", "vae.encoder.network.0.weight"),
    "a moment": (*MOMENTS, "exp_avg"),
    "the number of steps": (*MOMENTS, "step"),
    "a foreign key": ("foreign",),
}


@pytest.mark.spread(8)
@pytest.mark.filterwarnings("ignore")  # torch warns of kinds that it deprecates
@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("place", PLACES)
def test_a_tensor_that_is_no_dense_array_is_refused(base, place, kind, tmp_path):
    folder, content, file = base
    path = PLACES[place]
    values = torch.zeros(2)
    if path != ("foreign",):
        values = at(content, path)
    if values.ndim == 0:  # torch nests no scalars
        values = values.reshape(1)
    foreign = foreign_tensors(values)[kind]
    parent = at(content, path[:-1])
    changed = replaced(content, path[:-1], {**parent, path[-1]: foreign})
    for which in ("last", "best"):
        torch.save(changed, file.with_name(f"{which}.ckpt"))
    for load in (
        lambda: resume(folder, 5, progress=False),
        lambda: load_vae(folder),
        lambda: export_run(folder, tmp_path / "exported"),
    ):
        with pytest.raises(RunError, match="damaged") as refused:
            load()
        assert len(str(refused.value)) < 1500


NEEDED = ["epoch", "global_step", "pytorch-lightning_version", "state_dict", "loops", "callbacks"]


@pytest.mark.spread(3)
@pytest.mark.parametrize("key", [*NEEDED, "optimizer_states", "lr_schedulers"])
def test_a_checkpoint_that_lacks_a_part_is_refused(base, key):
    folder, content, file = base
    torch.save(without(content, (key,)), file)
    with pytest.raises(RunError, match="damaged"):
        resume(folder, 2, progress=False)


@pytest.mark.spread(1)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_finite_are_refused_by_all_that_load_them(base, number, tmp_path):
    folder, content, file = base
    name = "vae.decoder.last.bias"
    weights = content["state_dict"][name].clone()
    weights[3] = number
    for which in ("last", "best"):
        torch.save(
            replaced(content, ("state_dict", name), weights), file.with_name(f"{which}.ckpt")
        )
    for load in (
        lambda: load_vae(folder, "last"),
        lambda: load_vae(folder),
        lambda: evaluate_run(folder, samples=1),
        lambda: export_run(folder, tmp_path / "exported"),
        lambda: resume(folder, 2, progress=False),
    ):
        with pytest.raises(RunError, match="nan or infinite"):
            load()


def test_a_compressed_checkpoint_is_refused(base):
    folder, _, file = base
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    for load in (lambda: load_vae(folder, "last"), lambda: resume(folder, 2, progress=False)):
        with pytest.raises(RunError, match="compressed"):
            load()


def test_a_checkpoint_that_was_not_changed_is_resumed(base):
    folder, content, _ = base
    assert resumed_or_refused(folder, content)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_any_mutated_checkpoint_is_resumed_or_refused(runs, tmp_path_factory, kind):
    folder, content = runs[kind]
    place = tmp_path_factory.mktemp("mutated")

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(mutation=mutations(content))
    def check(mutation):
        target = place / "run"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
        resumed_or_refused(target, mutation.change(copy.deepcopy(content)))

    check()
