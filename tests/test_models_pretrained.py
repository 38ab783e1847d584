import json
import pickle
import struct
from dataclasses import replace

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from torch import nn

from models import (
    AttributeVAE,
    DiscreteVAE,
    MixtureVAE,
    ModelCard,
    Pretrained,
    load_pretrained,
    paper_vae,
    quantised_vae,
)
from models.errors import PretrainedError
from models.pretrained import Figure
from models.vaes import GaussianVAE

MAKE = {
    "independent": lambda: paper_vae("independent", pixels=9, n=4, hidden=5),
    "supermodular": lambda: paper_vae("supermodular", pixels=9, n=4, hidden=5),
    "general": lambda: paper_vae("general", pixels=9, n=4, hidden=5),
    "one bit": lambda: paper_vae("general", pixels=9, n=1, hidden=5),
    "categorical": lambda: paper_vae("categorical", pixels=9, k=4, hidden=5),
    "chain": lambda: paper_vae("general", pixels=9, n=4, hidden=5, bandwidth=1),
    "variables": lambda: paper_vae(
        "categorical", pixels=9, k=3, hidden=5, variables=4, couplings="potts", bandwidth=2
    ),
    "double": lambda: paper_vae("general", pixels=9, n=4, hidden=5).double(),
    "bfloat16": lambda: MixtureVAE(9, k=3, c=2).bfloat16(),
    "mixture": lambda: MixtureVAE(9, k=3, c=2),
    "attributes": lambda: AttributeVAE("supermodular", n=3, c=2, channels=1),
}


@pytest.fixture
def folder(tmp_path):
    """A model of 4 bits, to be damaged."""
    MAKE["general"]().save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def config_of(folder, **changes):
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**values, **changes}))


def arguments_of(folder, **changes):
    values = json.loads((folder / "config.json").read_text())
    config_of(folder, arguments={**values["arguments"], **changes})


def weights_of(folder, change):
    weights = load_file(folder / "model.safetensors")
    save_file(change(weights), folder / "model.safetensors")


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_what_is_loaded_is_what_was_saved_bit_for_bit(tmp_path, make):
    saved = make()
    saved.save_pretrained(tmp_path / "a" / "model")
    for loaded in (
        load_pretrained(tmp_path / "a" / "model"),
        type(saved).from_pretrained(tmp_path / "a" / "model"),
    ):
        assert type(loaded) is type(saved)
        assert not loaded.training
        first, second = saved.state_dict(), loaded.state_dict()
        assert first.keys() == second.keys()
        for name, value in first.items():
            assert second[name].dtype == value.dtype
            assert torch.equal(second[name], value)
        pixels = 3 * 64 * 64 if isinstance(saved, AttributeVAE) else 9
        x = torch.rand(2, pixels).to(next(iter(first.values())).dtype)
        assert str(loaded.encoder(x)) == str(saved.encoder(x))
    assert {path.name for path in (tmp_path / "a" / "model").iterdir()} == {
        *("model.safetensors", "config.json", "README.md")
    }


def test_loading_draws_nothing_from_the_global_stream(folder):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    DiscreteVAE.from_pretrained(folder)
    assert torch.equal(torch.rand(3), expected)


def test_weights_can_change_after_they_were_loaded_without_changing_the_file(folder):
    before = (folder / "model.safetensors").read_bytes()
    vae = DiscreteVAE.from_pretrained(folder)
    nn.init.zeros_(vae.decoder.last.weight)
    vae.save_pretrained(folder)
    assert not DiscreteVAE.from_pretrained(folder).decoder.last.weight.any()
    assert (folder / "model.safetensors").read_bytes() != before


def test_what_is_kept_of_the_training_is_given_back_untouched(tmp_path):
    MAKE["general"]().save_pretrained(tmp_path, training={"seed": 3})
    assert json.loads((tmp_path / "config.json").read_text())["training"] == {"seed": 3}
    assert DiscreteVAE.from_pretrained(tmp_path).n == 4


class Counting(Pretrained):
    """A network with a buffer that is no weight."""

    usage = "vae"

    def __init__(self, n: int):
        super().__init__()
        self.norm = nn.BatchNorm1d(n)

    @property
    def arguments(self):
        return {"n": self.norm.num_features}

    @classmethod
    def of_arguments(cls, n: int):
        return cls(n)


def test_a_model_of_an_imported_module_is_loaded_by_the_name_of_its_class(tmp_path):
    Counting(3).save_pretrained(tmp_path)
    assert type(load_pretrained(tmp_path)) is Counting
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": ["os.system"]}))
    with pytest.raises(PretrainedError, match=r"os\.system, which is unknown; there are: Disc"):
        load_pretrained(tmp_path)


def test_counters_beside_the_weights_keep_their_type(tmp_path):
    model = Counting(3).double()
    model.norm(torch.rand(5, 3).double())
    model.save_pretrained(tmp_path)
    loaded = Counting.from_pretrained(tmp_path).state_dict()
    assert loaded["norm.num_batches_tracked"].dtype == torch.int64
    assert all(torch.equal(value, loaded[name]) for name, value in model.state_dict().items())


# --- the model card -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["general", "categorical", "mixture"])
def test_the_snippet_of_the_card_runs(in_empty_folder, name):
    MAKE[name]().save_pretrained("FOLDER")
    code = (
        (in_empty_folder / "FOLDER" / "README.md")
        .read_text()
        .split("```python\n")[1]
        .split("```")[0]
    )
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  # it is ours


def test_the_front_matter_says_what_the_hub_asks_for(tmp_path):
    card = ModelCard(
        title='Bits: "four" #1',
        license="cc-by-4.0",
        dataset="mnist (threshold)",
        hub_dataset="ylecun/mnist",
        measured_on="the test split",
        figures=(Figure("bound", 91.25, 0.5, "nats"), Figure("kl", 3.0, None, "nats")),
        facts=("Seed 3.",),
    )
    MAKE["general"]().save_pretrained(tmp_path, card)
    text = (tmp_path / "README.md").read_text()
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["library_name"] == "structured-vae"
    assert front["license"] == "cc-by-4.0"
    assert front["datasets"] == ["ylecun/mnist"]
    (result,) = front["model-index"][0]["results"]
    assert front["model-index"][0]["name"] == card.title
    assert result["dataset"] == {"type": "ylecun/mnist", "name": "the test split"}
    assert result["metrics"] == [{"type": "bound", "value": 91.25}, {"type": "kl", "value": 3.0}]
    assert "| bound | 91.250 | 0.500 | nats |" in text
    assert "- Seed 3." in text


def test_a_card_of_ours_is_replaced_and_another_readme_is_not(tmp_path):
    vae = MAKE["general"]()
    vae.save_pretrained(tmp_path)
    vae.save_pretrained(tmp_path, replace(ModelCard(), title="Second"))
    assert "# Second" in (tmp_path / "README.md").read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.md").write_text("# Mine\n")
    with pytest.raises(PretrainedError, match="choose another folder"):
        vae.save_pretrained(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["README.md"]


# --- what cannot be saved -----------------------------------------------------------------------


SMALL = paper_vae("general", pixels=9, n=4, hidden=5)


class Exponential(type(SMALL.encoder)):
    def pair_scores(self, outputs):
        return outputs.exp()


def encoder_of(pixels, hidden):
    return paper_vae("independent", pixels=pixels, n=4, hidden=hidden).encoder


@pytest.mark.parametrize(
    "vae",
    [
        DiscreteVAE(Exponential(9, 4, 5), SMALL.decoder),
        DiscreteVAE(encoder_of(pixels=9, hidden=6), SMALL.decoder),
        DiscreteVAE(encoder_of(pixels=8, hidden=5), SMALL.decoder),
    ],
    ids=["scores", "hidden", "pixels"],
)
def test_networks_that_could_not_be_made_again_are_not_saved(tmp_path, vae):
    with pytest.raises(PretrainedError, match="those that"):
        vae.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PretrainedError, match="cannot write to"):
        MAKE["general"]().save_pretrained(tmp_path / "file")


def test_weights_of_several_types_are_not_saved(tmp_path):
    vae = MAKE["general"]()
    vae.decoder.double()
    with pytest.raises(PretrainedError, match="of one floating-point type"):
        vae.save_pretrained(tmp_path)


# --- what is not loaded -------------------------------------------------------------------------


class Trap:
    """Pickled, it writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "best.ckpt", "model.safetensors"])
def test_a_pickle_is_refused_and_never_opened(folder, tmp_path, name):
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(
        PretrainedError, match="which can run code" if name[0] != "m" else "not a safetensors file"
    ):
        DiscreteVAE.from_pretrained(folder)
    torch.save(Trap(tmp_path / "sprung"), folder / name)
    with pytest.raises(PretrainedError):
        DiscreteVAE.from_pretrained(folder)
    assert not (tmp_path / "sprung").exists()


def truncated(content):
    return content[: len(content) // 2]


HOSTILE = {
    "empty": lambda content: b"",
    "truncated": truncated,
    "header alone": lambda content: content[:8],
    "huge header": lambda content: struct.pack("<Q", 1 << 62) + content[8:],
    "header past the end": lambda content: struct.pack("<Q", len(content)) + content[8:],
    "header no JSON": lambda content: struct.pack("<Q", 8) + b"not json" + content[8:],
    "one byte more": lambda content: content + b"\0",
    "offsets past the end": lambda content: content.replace(
        b'"data_offsets":[0,', b'"data_offsets":[9,', 1
    ),
    "unknown type": lambda content: content.replace(b'"dtype":"F32"', b'"dtype":"F99"', 1),
}


@pytest.mark.parametrize("damage", HOSTILE.values(), ids=HOSTILE)
def test_a_damaged_file_is_refused(folder, damage):
    file = folder / "model.safetensors"
    before = file.read_bytes()
    file.write_bytes(damage(before))
    assert file.read_bytes() != before
    with pytest.raises(
        PretrainedError, match=r"model.safetensors is damaged, or is not a safetensors file"
    ):
        DiscreteVAE.from_pretrained(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: {**w, "more": torch.zeros(1)}, "unexpected: \\['more'\\]"),
        (
            lambda w: {k: v for k, v in w.items() if k != "decoder.last.bias"},
            "missing: \\['decoder.last.bias'\\]",
        ),
        (
            lambda w: {**w, "decoder.last.bias": torch.zeros(8)},
            r"has the shape \[8\] and should have \[9\]",
        ),
        (
            lambda w: {**w, "decoder.last.bias": torch.zeros(9).double()},
            "of type F64 and should be float32",
        ),
        (lambda w: {**w, "decoder.last.bias": torch.zeros(9).int()}, "of type I32"),
        (lambda w: {k: v.half() for k, v in w.items()}, "of type F16"),
    ],
    ids=["more", "less", "shape", "double", "integers", "half"],
)
def test_weights_that_do_not_fit(folder, change, words):
    weights_of(folder, change)
    with pytest.raises(PretrainedError, match=words) as caught:
        DiscreteVAE.from_pretrained(folder)
    assert "is damaged" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"extra": 1}, "unknown keys: extra"),
        ({"library_name": "transformers"}, "is not the configuration of a structured-vae model"),
        ({"architectures": ["DiscreteVAE", "MixtureVAE"]}, "a list of one name"),
        ({"architectures": "DiscreteVAE"}, "a list of one name"),
        ({"architectures": ["Sequential"]}, "holds a Sequential"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"dtype": ["float32"]}, "dtype must be one of"),
        ({"arguments": [1]}, "must be mappings"),
        ({"training": 3}, "must be mappings"),
    ],
    ids=str,
)
def test_a_configuration_that_is_not_ours(folder, change, words):
    config_of(folder, **change)
    for read in (load_pretrained, DiscreteVAE.from_pretrained):
        with pytest.raises(PretrainedError, match=words):
            read(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"depth": 2}, "unknown keys: depth"),
        ({"n": 0}, "n must be a positive integer; got 0"),
        ({"n": True}, "n must be a positive integer; got True"),
        ({"n": "four"}, "n must be a positive integer"),
        ({"n": 5}, "should have"),
        ({"n": 10**5}, "should have"),
        ({"n": 10**9}, "no networks can be made"),
        ({"pixels": 10**12}, "no networks can be made from .*: pixels must be a whole number"),
        ({"hidden": 10**30}, "no networks can be made"),
        ({"encoder": 3}, "encoder must be a string"),
        ({"encoder": "bogus"}, "no networks can be made from .*: no encoder is called 'bogus'"),
        ({"encoder": "categorical"}, "should have"),
    ],
    ids=str,
)
def test_arguments_that_make_other_networks_or_none(folder, change, words):
    arguments_of(folder, **change)
    with pytest.raises(PretrainedError, match=words):
        load_pretrained(folder)


@pytest.mark.parametrize(
    "vae",
    [GaussianVAE(9, n=2, hidden=3), quantised_vae("lfq", size=(1, 3, 3), n=2, hidden=3)],
    ids=lambda vae: type(vae).__name__,
)
def test_missing_and_unknown_arguments_are_named(tmp_path, vae):
    vae.save_pretrained(tmp_path)
    assert load_pretrained(tmp_path).arguments == vae.arguments
    arguments_of(tmp_path, depth=2)
    with pytest.raises(PretrainedError, match="unknown keys: depth"):
        load_pretrained(tmp_path)
    arguments = {name: value for name, value in vae.arguments.items() if name != "n"}
    config_of(tmp_path, arguments=arguments)
    with pytest.raises(PretrainedError, match="lacks n"):
        load_pretrained(tmp_path)


@pytest.mark.parametrize(
    "content", [b"{", b"[1]", b"\xff", b"", b"[" * 100_000, b" " * (1 << 21)], ids=len
)
def test_a_damaged_configuration(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(PretrainedError, match=r"config.json is (damaged|not the configuration)"):
        load_pretrained(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(PretrainedError, match=f"has no {name}"):
        load_pretrained(folder)


def test_a_folder_that_is_not_there_may_be_on_the_hub():
    with pytest.raises(PretrainedError, match="snapshot_download"):
        load_pretrained("someone/model")


def test_another_class_names_the_right_one(folder):
    with pytest.raises(PretrainedError, match=r"load it with DiscreteVAE.from_pretrained"):
        MixtureVAE.from_pretrained(folder)


@pytest.mark.parametrize("path", [None, 3, b"folder", ["folder"], "x" * 5000, "a/" * 3000, "\0"])
def test_what_is_no_path_of_a_folder(path):
    for load in (load_pretrained, DiscreteVAE.from_pretrained):
        with pytest.raises(PretrainedError) as caught:
            load(path)
        assert len(str(caught.value)) < 1000


def test_weights_that_are_no_regular_file_are_an_error_of_ours(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").symlink_to("/proc/self/mem")
    with pytest.raises(PretrainedError):
        load_pretrained(folder)
