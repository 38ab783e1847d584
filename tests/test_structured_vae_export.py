import json
import os
from dataclasses import replace

import pytest
import torch
import yaml
from few_images import reading

from models import DiscreteVAE, MixtureVAE, load_pretrained
from structured_vae import ConfigError, DataConfig, TrainConfig, export_run, load_vae, train
from structured_vae.cli import main
from structured_vae.errors import RunError
from structured_vae.runs import Run

CONFIGS = {
    "bits": TrainConfig(n=4, hidden=8, epochs=2, picture_every=0),
    "mixture": TrainConfig(model="mixture", estimator="exact", epochs=1, picture_every=0),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, tiny_images):
    """A run of each kind."""
    folder = tmp_path_factory.mktemp("finished")
    with reading(tiny_images):
        for name, config in CONFIGS.items():
            train(replace(config, data=DataConfig(root="/private/place")), folder / name)
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """The run of bits, to be changed."""
    folder = tmp_path / "run"
    for file in (finished / "bits").rglob("*"):
        if file.is_file():
            target = folder / file.relative_to(finished / "bits")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    return folder


def front_matter(folder):
    return yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])


def metrics_of(folder):
    (model,) = front_matter(folder)["model-index"]
    return {each["type"]: each["value"] for each in model["results"][0]["metrics"]}


@pytest.mark.parametrize(("name", "kind"), [("bits", DiscreteVAE), ("mixture", MixtureVAE)])
def test_an_exported_run_is_loaded_bit_for_bit(finished, tmp_path, name, kind):
    for which in ("best", "last"):
        export_run(finished / name, tmp_path / which, which)
        loaded, trained = kind.from_pretrained(tmp_path / which), load_vae(finished / name, which)
        first, second = loaded.state_dict(), trained.state_dict()
        assert first.keys() == second.keys()
        assert all(torch.equal(first[key], second[key]) for key in first)


def training_in(folder):
    """Return the configuration of the training that an exported folder names."""
    stored = json.loads((folder / "config.json").read_text())
    return TrainConfig.from_dict(stored["training"])


def test_the_training_goes_along_without_paths_of_this_machine(finished, tmp_path):
    export_run(finished / "bits", tmp_path / "out")
    config = Run(finished / "bits").config()
    assert config.data.root == "/private/place"
    assert training_in(tmp_path / "out") == replace(config, data=DataConfig())
    for file in (tmp_path / "out").iterdir():
        assert b"private" not in file.read_bytes()


def test_a_file_of_images_is_named_without_its_folder(run, tmp_path):
    settings = run / "config.yaml"
    settings.write_text(
        settings.read_text().replace("name: fashion-mnist-mini", "name: /private/own.npz")
    )
    export_run(run, tmp_path / "out")
    assert training_in(tmp_path / "out").data.name == "own.npz"
    for file in (tmp_path / "out").iterdir():
        assert b"private" not in file.read_bytes()


def test_without_an_evaluation_the_card_has_what_training_logged(run, tmp_path):
    export_run(run, tmp_path / "out", "last")
    row = json.loads((run / "record.json").read_text())["epochs"][-1]
    assert metrics_of(tmp_path / "out") == {
        name: row[f"validation/{name}"] for name in ("reconstruction", "kl", "bound")
    }
    text = (tmp_path / "out" / "README.md").read_text()
    assert "the validation split of fashion-mnist-mini (threshold)" in text
    assert "Epoch 2 of 2, the last one." in text


def test_the_evaluation_of_this_checkpoint_is_on_the_card(run, tmp_path, runs_read, tiny_images):
    runs_read(tiny_images)
    main(["evaluate", str(run), "--samples", "20"])
    found = json.loads((run / "evaluation-test-best.json").read_text())["quantities"]
    export_run(run, tmp_path / "out")
    assert metrics_of(tmp_path / "out") == {name: each["value"] for name, each in found.items()}
    assert "100 images of the test split" in (tmp_path / "out" / "README.md").read_text()
    os.utime(run / "evaluation-test-best.json", (0, 0))  # training went on since
    export_run(run, tmp_path / "out")
    assert metrics_of(tmp_path / "out").keys() == {"reconstruction", "kl", "bound"}


def test_a_licence_that_is_chosen(run, tmp_path):
    export_run(run, tmp_path / "out", license="cc-by-4.0")
    assert front_matter(tmp_path / "out")["license"] == "cc-by-4.0"
    with pytest.raises(ConfigError, match=r"license must be .* got 'my own'"):
        export_run(run, tmp_path / "other", license="my own")
    assert not (tmp_path / "other").exists()


def test_a_run_is_not_overwritten(run):
    with pytest.raises(RunError, match="is the folder of a run"):
        export_run(run, run)


@pytest.mark.parametrize("name", ["record.json", "evaluation-test-best.json"])
@pytest.mark.parametrize(
    "content", ["{", "[]", '{"quantities": {"bound": 3}, "epochs": 3}'], ids=str
)
def test_a_damaged_record_is_named(run, tmp_path, name, content):
    (run / name).write_text(content)
    with pytest.raises(RunError, match=rf"{name} is damaged"):
        export_run(run, tmp_path / "out")


def test_an_epoch_that_comes_twice_in_the_record_is_named(run, tmp_path):
    file = run / "record.json"
    values = json.loads(file.read_text())
    values["epochs"] += values["epochs"]
    file.write_text(json.dumps(values))
    with pytest.raises(RunError, match=r"record.json is damaged \(it has 2 rows of epoch \d\)"):
        export_run(run, tmp_path / "out")


def test_the_command_says_what_it_wrote(run, tmp_path, capsys, set_columns):
    set_columns(200)
    main(["export", str(run), str(tmp_path / "out"), "--checkpoint", "last"])
    out = capsys.readouterr().out
    assert "model.safetensors" in out
    assert f"structured-vae explore {tmp_path / 'out'}" in out
    assert load_pretrained(tmp_path / "out").n == 4


def test_the_command_refuses_a_folder_without_a_run(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["export", str(tmp_path), str(tmp_path / "out")])
    assert stop.value.code == 2
    assert "is not a run folder" in capsys.readouterr().err


# --- runs that are older than a key of their configuration --------------------------------------


def test_keys_that_are_missing_have_the_values_of_older_runs():
    default = TrainConfig(
        recipe="paper",
        sides=1,
        epsilon=replace(TrainConfig().epsilon, start=0.1),
        kl_start=0.0,
        kl_warmup=0,
        learning_rate=1e-3,
        rate_decay="none",
    )
    assert TrainConfig.from_dict({}) == default
    values = {"data": {"name": "mnist"}, "epsilon": {"rate": 0.5}, "temperature": {}, "n": 3}
    config = TrainConfig.from_dict(values)
    assert config == replace(
        default,
        n=3,
        data=replace(default.data, name="mnist"),
        epsilon=replace(default.epsilon, rate=0.5),
    )


START = (
    "# The configuration of a run of structured-vae; its last line says that nothing is missing."
)
END = "# end of the configuration"


@pytest.mark.spread(12)
@pytest.mark.parametrize("key", list(TrainConfig().to_dict()))
def test_a_run_without_any_one_key_is_read(tmp_path, key):
    values = TrainConfig(seed=1, n=16).to_dict()
    default = TrainConfig.from_dict({}).to_dict()
    rest = yaml.safe_dump({k: v for k, v in values.items() if k != key})
    (tmp_path / "config.yaml").write_text(f"{START}\n{rest}{END}\n")
    assert Run(tmp_path).config().to_dict() == {**values, key: default[key]}


def test_a_value_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="n must be a whole number; got None"):
        TrainConfig.from_dict({"n": None})
