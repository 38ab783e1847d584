"""Files that want more than to be read: none runs code, none takes memory, each gets a short error."""

import contextlib
import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from structured_vae import ConfigError, TrainConfig, evaluate_run, load_vae, resume
from structured_vae.cli import main
from structured_vae.errors import StructuredVAEError
from structured_vae.explorer import open_model
from structured_vae.runs import Run, exported_training

OLDER = Path(__file__).parent / "older"
KEYS = {
    "class_path": {"data": {"class_path": "planted.Planted"}},
    "class_path beside init_args": {"data": {"class_path": "planted.Planted", "init_args": {}}},
    "a text for a part": {"data": "planted.Planted"},
    "a schedule": {"epsilon": {"class_path": "planted.Planted"}},
    "at the top": {"class_path": "planted.Planted"},
    "init_args": {"init_args": {"n": 3}},
    "__path__": {"data": {"name": "mnist", "__path__": "/etc/passwd"}},
    "__path__ at the top": {"__path__": "x"},
    "a solver": {"solver": {"class_path": "planted.Planted"}},
    "a list": {"n": [1, 2]},
    "a number for a key": {3: 4},
}
TEXTS = {
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n",
    "an anchor": "n: &n 3\n",
    "a tag": "n: !!python/object/apply:os.system [true]\n",
    "deep lists": "n: " + "[" * 5000 + "]" * 5000,
    "deep mappings": "n: " + "{a: " * 2000 + "1" + "}" * 2000,
    "thirty digits": "n: " + "9" * 30,
    "six thousand digits": "n: " + "9" * 6000,
    "a long text": "solver: " + "x" * 10_000,
    "a huge file": "# " + "x" * 100_000 + "\nn: 3\n",
    "a list": "[1, 2]",
    "nothing": "",
    "no YAML": "n: [",
}


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A folder on the path whose module leaves a trace when it is imported; gives the trace."""
    folder, trace = tmp_path / "beside", tmp_path / "imported"
    folder.mkdir()
    (folder / "planted.py").write_text(f"open({str(trace)!r}, 'w').close()\nclass Planted: pass\n")
    monkeypatch.syspath_prepend(folder)
    with contextlib.chdir(folder):
        yield trace
    sys.modules.pop("planted", None)


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(OLDER / "run", tmp_path / "run"))


@pytest.fixture
def exported(tmp_path):
    return Path(shutil.copytree(OLDER / "exported", tmp_path / "exported"))


def openings(run, exported):
    """Everything that opens a run or an exported folder."""
    return {
        "config": lambda: Run(run).config(),
        "load_vae": lambda: load_vae(run),
        "evaluate": lambda: evaluate_run(run, samples=1),
        "resume": lambda: resume(run, epochs=2, progress=False),
        "explore a run": lambda: open_model(run),
        "exported_training": lambda: exported_training(exported),
        "explore an export": lambda: open_model(exported),
    }


@pytest.mark.parametrize("case", KEYS)
def test_no_key_of_a_file_names_code(case, planted, run, exported):
    config, model = run / "config.yaml", exported / "config.json"
    config.write_text(yaml.safe_dump({**yaml.safe_load(config.read_text()), **KEYS[case]}))
    stored = json.loads(model.read_text())
    stored["training"] |= KEYS[case]
    model.write_text(json.dumps(stored))
    for opening, call in openings(run, exported).items():
        with pytest.raises(StructuredVAEError) as caught:
            call()
        assert not planted.exists(), opening
        assert len(str(caught.value)) < 1000, opening


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_that_blows_up_is_a_short_error(case, run):
    (run / "config.yaml").write_text(TEXTS[case])
    with pytest.raises(ConfigError) as caught:
        Run(run).config()
    assert len(str(caught.value)) < 1000


@pytest.mark.spread(5)
@pytest.mark.parametrize("case", KEYS)
def test_a_file_of_options_names_no_code(case, planted, capsys):
    Path("options.yaml").write_text(yaml.safe_dump(KEYS[case]))
    with pytest.raises(SystemExit) as stop:
        main(["train", "--config", "options.yaml"])
    assert stop.value.code == 2
    assert not planted.exists()
    assert len(capsys.readouterr().err) < 2000


@pytest.mark.parametrize("option", ["--data", "--epsilon", "--temperature"])
@pytest.mark.parametrize(
    "value", ["planted.Planted", '{"class_path": "planted.Planted"}', "part.yaml"]
)
def test_an_option_names_no_code(option, value, planted):
    Path("part.yaml").write_text("class_path: planted.Planted\n")
    with pytest.raises(SystemExit) as stop:
        main(["train", option, value])
    assert stop.value.code == 2
    assert not planted.exists()


def test_what_is_plain_is_read(run):
    config = Run(run).config()
    assert TrainConfig.from_dict(config.to_dict()) == config
