"""What is new by name: a file and a line here, or a package that plugs it in."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models import AttributeVAE, load_pretrained, paper_vae
from models.errors import SettingError
from models.networks import BIT_ENCODERS, ENCODERS
from models.spaces import named_space
from models.states import all_states
from structured_vae import ConfigError, DataConfig, TrainConfig, export_run, train
from structured_vae.cli import main
from structured_vae.data import dataset_names, load_dataset
from structured_vae.distributions import POSTERIORS
from structured_vae.errors import DataError, EstimatorError
from structured_vae.estimators import ESTIMATORS
from structured_vae.runs import Run
from structured_vae.runs.assembly import initialised, training_of
from structured_vae.spaces import SPACES

ROOT = Path(__file__).parents[1]
SMALL = TrainConfig(n=3, hidden=4, epochs=1, encoder="independent", picture_every=0)

PLUG_IN = """
from structured_vae import Estimator, ScoreFunction

class Doubled(ScoreFunction):
    usual_samples = 3

    @classmethod
    def of_options(cls, options):
        return cls(2 * options.samples)

class NoEstimator:
    pass
"""
SPACE = """
from dataclasses import dataclass

import torch

from structured_vae.errors import StructureError
from structured_vae.spaces import StateSpace

@dataclass(frozen=True)
class Runs(StateSpace):
    \"\"\"States with one run of `length` ones.\"\"\"

    length: int

    def check(self, n):
        if n < self.length:
            raise StructureError(f"a run of {self.length} does not fit")

    def argmax(self, scores):
        states = torch.ones(scores.shape[-1], scores.shape[-1], dtype=scores.dtype)
        states = states.triu().tril(self.length - 1)[: scores.shape[-1] - self.length + 1]
        return states[(scores @ states.T).argmax(dim=-1)]

    @property
    def arguments(self):
        return {"space": "runs", "length": self.length}
"""
POSTERIOR = """
from structured_vae.distributions import SequentialBits

class Halved(SequentialBits):
    \"\"\"The logit of a bit is half of its unary score, plus the bit before it.\"\"\"

    def logits(self, z):
        return self.potentials.unary / 2 + z.roll(1, -1) * (z.new_ones(z.shape[-1]).cumsum(0) > 1)

class Undrawn:
    def log_prob(self, z):
        return z.sum(dim=-1)
"""
ENCODER = """
from models.networks.encoders.encoder import Encoder

class LowRank(Encoder):
    \"\"\"The score of a pair is the product of the vectors of its bits.\"\"\"

    has_pairs = True

    def pair_outputs(self):
        return 2 * self.n

    def pair_scores(self, outputs):
        vectors = outputs.unflatten(-1, (self.n, 2))
        i, j = self.edges.T
        return (vectors[:, i] * vectors[:, j]).sum(dim=-1)

class Ranked(LowRank):
    \"\"\"The vectors have `rank` entries.\"\"\"

    def __init__(self, pixels, n, rank=2, **others):
        self.rank = rank
        super().__init__(pixels, n, **others)

    def pair_outputs(self):
        return self.rank * self.n

    def pair_scores(self, outputs):
        vectors = outputs.unflatten(-1, (self.n, self.rank))
        i, j = self.edges.T
        return (vectors[:, i] * vectors[:, j]).sum(dim=-1)

class Lengthy(Encoder):
    def __init__(self, pixels, n, hidden=300, bandwidth=0, length=1):
        super().__init__(pixels, n, hidden, bandwidth)

class Squared(LowRank):
    \"\"\"Its pairwise scores are squares, which it declares.\"\"\"

    nonnegative_pairs = True

    def pair_scores(self, outputs):
        return super().pair_scores(outputs).square()
"""
DATA = """
from dataclasses import replace

import numpy as np

from structured_vae.data import Reader, StoredDataset, StoredSplit

def stored(root):
    images = np.arange(10 * 6, dtype=np.uint8).reshape(10, 2, 3)
    labels = np.arange(10, dtype=np.uint8)
    parts = (slice(6), slice(6, 8), slice(8, 10))
    return StoredDataset(*(StoredSplit(images[part], labels[part]) for part in parts))

def with_a_repeated_image(root):
    return replace(stored(root), test=stored(root).train)

def without_labels(root):
    return replace(stored(root), test=StoredSplit(stored(root).test.images, np.zeros(0, int)))

FLOWERS = Reader(stored, shown=False)
REPEATED = Reader(with_a_repeated_image)
UNLABELLED = Reader(without_labels)
ARRAY = Reader(lambda root: np.zeros((3, 2, 2)))
"""
ENTRY_POINTS = """
[structured_vae.data]
flowers = flowers_data:FLOWERS
repeated = flowers_data:REPEATED
unlabelled = flowers_data:UNLABELLED
array = flowers_data:ARRAY
function = flowers_data:stored
mnist = flowers_data:FLOWERS

[models.encoders]
low_rank = low_rank_encoder:LowRank
squared = low_rank_encoder:Squared
ranked = low_rank_encoder:Ranked
lengthy = low_rank_encoder:Lengthy
no_encoder = low_rank_encoder:__name__
[structured_vae.posteriors]
halved = halved_posterior:Halved
undrawn = halved_posterior:Undrawn
no_class = halved_posterior:__name__

[structured_vae.spaces]
runs = runs_of_ones:Runs

[structured_vae.estimators]
doubled = doubled_estimator:Doubled
broken = no_such_module:X
absent = doubled_estimator:Absent
wrong = doubled_estimator:NoEstimator
direct = doubled_estimator:NoEstimator
"""


@pytest.fixture
def plug_ins(tmp_path, monkeypatch):
    """Install a package with estimators, one of which has the name of ours, and other classes."""
    (tmp_path / "doubled_estimator.py").write_text(PLUG_IN)
    (tmp_path / "runs_of_ones.py").write_text(SPACE)
    (tmp_path / "halved_posterior.py").write_text(POSTERIOR)
    (tmp_path / "low_rank_encoder.py").write_text(ENCODER)
    (tmp_path / "flowers_data.py").write_text(DATA)
    metadata = tmp_path / "doubled_estimator-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: doubled\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for module in (
        "doubled_estimator",
        "runs_of_ones",
        "halved_posterior",
        "low_rank_encoder",
        "flowers_data",
    ):
        sys.modules.pop(module, None)


def test_a_configuration_names_an_estimator_that_a_package_plugs_in(plug_ins):
    config = replace(SMALL, estimator="doubled")
    assert "doubled_estimator" not in sys.modules, "a name is checked without an import"
    training = training_of(config, initialised(config, pixels=6))
    assert training.estimator.samples == 6, "the usual three samples, doubled"
    training.on_train_epoch_start()
    loss = training.training_step((torch.ones(4, 6),), batch_idx=1)
    assert loss.isfinite()
    assert TrainConfig.from_dict(config.to_dict()) == config


@pytest.mark.usefixtures("on_tiny_images")
def test_a_vae_over_a_space_that_a_package_plugs_in_trains_and_is_exported(plug_ins, tmp_path):
    config = TrainConfig(
        space="runs", space_options="length=2", n=5, hidden=4, epochs=1, picture_every=0
    )
    assert "runs-length2-of-independent5" in config.title
    run = train(config, tmp_path / "run", progress=False)
    assert Run.at(run.folder).config() == config
    loaded = load_pretrained(export_run(run.folder, tmp_path / "exported", "last"))
    assert loaded.space.arguments == {"space": "runs", "length": 2}
    assert loaded.sample(3, torch.Generator().manual_seed(0)).shape == (3, loaded.pixels)
    with pytest.raises(ConfigError, match="space runs of n = 5 bits"):
        replace(config, space_options="length=6")


def test_a_configuration_names_a_posterior_that_a_package_plugs_in(plug_ins):
    config = replace(SMALL, encoder="general", estimator="ram", posterior="halved")
    assert "halved_posterior" not in sys.modules, "a name is checked without an import"
    training = training_of(config, initialised(config, pixels=6))
    q = training.estimator.posterior(training.vae.encoder(torch.ones(1, 6)))
    assert type(q).__name__ == "Halved"
    training.on_train_epoch_start()
    assert training.training_step((torch.ones(4, 6),), batch_idx=1).isfinite()
    assert TrainConfig.from_dict(config.to_dict()) == config


@pytest.mark.usefixtures("on_tiny_images")
def test_a_vae_with_an_encoder_that_a_package_plugs_in_trains_and_is_exported(plug_ins, tmp_path):
    config = TrainConfig(
        encoder="low_rank", estimator="exact", n=3, hidden=4, epochs=1, picture_every=0
    )
    assert "low_rank_encoder" not in sys.modules, "a name is checked without an import"
    run = train(config, tmp_path / "run", progress=False)
    assert Run.at(run.folder).config() == config
    loaded = load_pretrained(export_run(run.folder, tmp_path / "exported", "last"))
    x = torch.rand(2, loaded.pixels, generator=torch.Generator().manual_seed(0))
    outputs = loaded.encoder.network(x)
    states = all_states(3, x)
    scores = loaded.encoder(x).score(states[:, None].expand(8, 2, 3))
    for image in range(2):
        vectors = outputs[image, 3:].reshape(3, 2)
        for state, z in enumerate(states):
            total = (vectors * z[:, None]).sum(dim=0).square().sum()
            alone = (vectors.square().sum(dim=1) * z).sum()
            expected = outputs[image, :3] @ z + (total - alone) / 2
            torch.testing.assert_close(scores[state, image], expected)


@pytest.mark.usefixtures("plug_ins")
def test_an_encoder_without_a_word_on_its_signs_is_refused_by_a_minimum_cut():
    options = {"estimator": "direct", "solver": "max_flow", "n": 4, "hidden": 4}
    config = TrainConfig(encoder="low_rank", **options)
    vae = initialised(config, pixels=6)
    lowest = vae.encoder.potentials(-torch.ones(1, 12))
    assert (lowest.pairwise > 0).all(), "outputs of -1 alone would pass the check"
    with pytest.raises(ConfigError, match="this encoder does not fit"):
        training_of(config, vae)
    declared = TrainConfig(encoder="squared", **options)
    training_of(declared, initialised(declared, pixels=6))


@pytest.mark.usefixtures("plug_ins")
def test_whether_an_encoder_has_pairs_is_asked_of_its_class():
    assert TrainConfig(encoder="low_rank", bandwidth=1).title.count("band1") == 1
    assert paper_vae("low_rank", pixels=6, n=4, hidden=3, bandwidth=1).encoder.edges.tolist() == [
        [0, 1],
        [1, 2],
        [2, 3],
    ]
    with pytest.raises(ConfigError, match="the space subset has no scores of pairs"):
        TrainConfig(encoder="low_rank", space="subset", k=2)
    with pytest.raises(ConfigError, match="bandwidth needs pairwise scores"):
        TrainConfig(encoder="independent", bandwidth=1)
    faces = TrainConfig.from_dict(
        {"model": "attributes", "data": {"name": "celeba"}, "encoder": "low_rank"}
    )
    assert faces.encoder == "low_rank"


@pytest.mark.usefixtures("plug_ins", "on_tiny_images")
def test_the_options_of_an_encoder_are_those_of_its_class(tmp_path):
    config = TrainConfig(
        encoder="ranked",
        encoder_options="rank=3",
        estimator="exact",
        n=3,
        hidden=4,
        epochs=1,
        bandwidth=1,
        picture_every=0,
    )
    assert "ranked3-band1-rank3" in config.title
    run = train(config, tmp_path / "run", progress=False)
    assert Run.at(run.folder).config() == config
    loaded = load_pretrained(export_run(run.folder, tmp_path / "exported", "last"))
    assert (loaded.encoder.rank, loaded.encoder.bandwidth) == (3, 1)
    assert loaded.arguments["rank"] == 3
    again = paper_vae("ranked", pixels=6, n=3, hidden=4, rank=3)
    assert again.encoder(torch.zeros(1, 6)).pairwise.shape == (1, 3)


@pytest.mark.usefixtures("plug_ins")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encoder": "ranked", "encoder_options": "rnak=3"},
            r"no option rnak; did you mean rank\?",
        ),
        ({"encoder": "ranked", "encoder_options": "rank"}, "encoder_options must be names with"),
        ({"encoder": "ranked", "encoder_options": "rank=2,rank=3"}, "has rank twice"),
        ({"encoder": "ranked", "encoder_options": "bandwidth=1"}, "set bandwidth, and leave it"),
        ({"encoder": "general", "encoder_options": "rank=3"}, "no option rank; its .*: bandwidth"),
        ({"encoder": "independent", "encoder_options": "hidden=3"}, "no option hidden; .*: none"),
        (
            {
                "encoder": "lengthy",
                "encoder_options": "length=2",
                "space": "runs",
                "space_options": "length=2",
            },
            "the encoder lengthy and the space runs both have an option length",
        ),
    ],
)
def test_options_that_an_encoder_does_not_have_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(n=4, **options)


@pytest.mark.usefixtures("plug_ins")
def test_an_encoder_of_attributes_has_the_options_of_its_class():
    config = TrainConfig(
        model="attributes",
        data=DataConfig("celeba"),
        encoder="ranked",
        encoder_options="rank=3,bandwidth=1",
        channels=1,
    )
    assert "ranked-rank3-bandwidth1" in config.title
    vae = initialised(config, pixels=3 * 64 * 64)
    assert vae.arguments["rank"] == 3
    again = AttributeVAE.of_arguments(**vae.arguments)
    assert (again.encoder.attributes.rank, len(again.encoder.attributes.edges)) == (3, vae.n - 1)
    with pytest.raises(ConfigError, match="no option length"):
        replace(config, encoder_options="length=3")


@pytest.mark.usefixtures("plug_ins")
def test_an_encoder_that_cannot_be_used_is_an_error_with_the_names():
    with pytest.raises(ConfigError, match=r"low_rank, squared.* Did you mean low_rank\?"):
        TrainConfig(encoder="low_rnak")
    with pytest.raises(SettingError, match=r"'low_rnak'; did you mean low_rank\?"):
        paper_vae("low_rnak")
    with pytest.raises(
        SettingError, match=r"no_encoder .* must be a class that derives from Encoder"
    ):
        paper_vae("no_encoder")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("undrawn", "undrawn .*methods of DensityDistribution; it lacks .*sample.*kl.*why_not"),
        ("no_class", "no_class .*must be a class with the methods of DensityDistribution"),
        ("gibs", "no posterior is called 'gibs'; did you mean gibbs"),
    ],
)
def test_a_class_without_the_methods_of_a_posterior_is_refused(plug_ins, name, message):
    with pytest.raises(ConfigError, match=message):
        POSTERIORS.named(name)


@pytest.mark.usefixtures("plug_ins")
def test_a_data_set_that_a_package_plugs_in_is_loaded_by_its_name():
    assert dataset_names().count("mnist") == 1
    config = TrainConfig(data=DataConfig(name="flowers"))
    assert not config.data.is_path
    assert "flowers" in dataset_names()
    dataset = load_dataset("flowers", binarisation="none")
    assert (dataset.height, dataset.width, dataset.shown) == (2, 3, False)
    assert [len(dataset.split(name)) for name in ("train", "validation", "test")] == [6, 2, 2]
    assert dataset.test.labels.tolist() == [8, 9]
    np.testing.assert_allclose(dataset.train.images[0] * 255, np.arange(6), rtol=1e-6)


@pytest.mark.usefixtures("plug_ins")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("function", r"function \(flowers_data:stored\) must be an object of Reader"),
        ("array", "reader of the data set array must return a StoredDataset; got"),
        ("repeated", "the splits overlap: 6 of the 6 images of test"),
        ("unlabelled", r"labels of unlabelled, test must be integers \[2\]"),
        ("flower", "Did you mean 'flowers'"),
    ],
)
def test_a_data_set_that_a_package_plugs_in_is_checked(name, message):
    with pytest.raises(DataError, match=message):
        load_dataset(name)


@pytest.mark.parametrize(
    ("registry", "folder", "module"),
    [
        (ESTIMATORS, "estimators", "exact:Exact"),
        (SPACES, "spaces", "subsets:Knapsack"),
        (POSTERIORS, "distributions", "gibbs:Gibbs"),
        (ENCODERS, "encoders", "general:GeneralEncoder"),
        (BIT_ENCODERS, "encoders", "general:GeneralEncoder"),
    ],
)
def test_a_line_in_the_table_names_a_class_without_an_entry_point(
    monkeypatch, registry, folder, module
):
    monkeypatch.setattr("models.named_classes.entry_points", lambda **_: ())
    monkeypatch.setitem(registry.built_in, "new", module)
    assert f".{folder}." in registry["new"].__module__
    assert list(registry) == list(registry.built_in)
    assert len(registry) == len(registry.built_in)


def test_a_stored_model_finds_its_space_in_the_table(monkeypatch):
    monkeypatch.setattr("models.named_classes.entry_points", lambda **_: ())
    assert named_space("subset", {"k": 2}).arguments == {"space": "subset", "k": 2}


def test_a_space_of_a_stored_model_that_no_package_offers_is_refused(monkeypatch):
    with pytest.raises(SettingError, match=r"no space is called 'tree'; there are: subset, "):
        named_space("tree", {})
    monkeypatch.setattr("models.spaces.entry_points", lambda **_: ())
    with pytest.raises(SettingError, match=r"there are: none\. Install structured-vae again"):
        named_space("subset", {"k": 2})


def test_a_name_of_this_package_is_never_one_of_a_plug_in(plug_ins):
    assert ESTIMATORS["direct"].__module__ == "structured_vae.estimators.argmax.direct"
    assert list(ESTIMATORS).count("direct") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "broken .*cannot be imported: No module named 'no_such_module'"),
        ("absent", "absent .*cannot be imported"),
        ("wrong", "wrong .*must be a class that derives from Estimator"),
        ("direkt", "no estimator is called 'direkt'; did you mean direct"),
        (["direct"], "no estimator is called \\['direct'\\]"),
    ],
)
def test_an_estimator_that_is_not_to_be_had_is_refused(plug_ins, name, message):
    with pytest.raises(EstimatorError, match=message):
        ESTIMATORS.named(name)


def test_the_file_of_a_run_names_no_code(plug_ins):
    values = SMALL.to_dict()
    for name in ("doubled_estimator:Doubled", "direct:Direct", "no_longer_installed"):
        with pytest.raises(ConfigError, match=r"estimator must be one of direct, .*doubled"):
            TrainConfig.from_dict({**values, "estimator": name})
    assert "doubled_estimator" not in sys.modules


def test_a_name_that_is_misspelt_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"got 'score_functoin'. Did you mean score_function\?"):
        replace(SMALL, estimator="score_functoin")


def help_of_train(capsys):
    """Return what `structured-vae train --help` prints, as one line."""
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    return " ".join(capsys.readouterr().out.split())


def test_the_help_of_train_lists_every_estimator(plug_ins, capsys):
    text = help_of_train(capsys)
    assert f"{', '.join(ESTIMATORS)}, own" in text
    assert "doubled" in text


def test_the_help_of_train_describes_the_encoders_as_the_configuration_does(capsys):
    text = help_of_train(capsys)
    attributes = TrainConfig().__doc__.partition("Attributes:")[2]
    described = " ".join(attributes.partition("encoder:")[2].partition("n: ")[0].split())
    assert described.rstrip(".") in text


def test_the_table_of_estimators_has_a_row_for_each():
    page = (ROOT / "docs" / "estimator_formulas.md").read_text(encoding="utf-8")
    table = page.partition("## Table")[2].partition("\n\n- ")[0]
    rows = re.findall(r"^\| `(\w+)` \| \{py:class\}", table, re.MULTILINE)
    assert sorted(rows) == sorted(ESTIMATORS.built_in)


def test_the_page_names_the_estimators_that_the_command_gradients_measures():
    page = (ROOT / "docs" / "compare_estimators.md").read_text(encoding="utf-8")
    sentence = page.partition("The command measures ")[2].partition(", and plug-ins")[0]
    measured = [
        name
        for name in ESTIMATORS.built_in
        if any(form.usual for form in ESTIMATORS[name].compared())
    ]
    assert sorted(re.findall(r"`(\w+)`", sentence)) == sorted(measured)


def test_the_help_of_train_lists_every_data_set(capsys):
    text = help_of_train(capsys)
    assert f"the names are {', '.join(dataset_names())}" in text


def test_a_configuration_over_all_states_reads_no_metadata(monkeypatch):
    monkeypatch.setattr("models.named_classes.entry_points", None)
    assert TrainConfig(n=4).space == "bits"
