"""`structured-vae train` and `resume`."""

from __future__ import annotations

import os
from pathlib import Path

from jsonargparse import ActionConfigFile, ArgumentParser, Namespace  # type: ignore[attr-defined]  # public, not in __all__
from rich.console import Console

from ..errors import ConfigError
from ..runs.folder.small_files import CONFIG_SIZE, read_small_text
from ..vaes.config import TrainConfig
from ..vaes.config.plain_values import read_yaml, refuse_foreign
from ..vaes.config.union import option_types
from .options_of_kinds import add_options
from .terminal import command, file_table


class PlainConfigFile(ActionConfigFile):
    """A file of options, read by jsonargparse after it was seen to name options of ours alone."""

    @staticmethod
    def apply_config(parser: ArgumentParser, cfg: Namespace, dest: str, value: str) -> None:
        """Refuses what is no option, then does what its base does."""
        try:
            given = read_yaml(read_small_text(Path(value), CONFIG_SIZE), value)
            options = {key: part for key, part in given.items() if key != "run"}
            refuse_foreign(options, option_types())
        except UnicodeDecodeError as error:
            raise TypeError(f"{value} is no YAML file of options") from error
        except (ConfigError, OSError, ValueError) as error:
            raise TypeError(str(error)) from error  # which argparse shows with the usage
        ActionConfigFile.apply_config(parser, cfg, dest, value)


def train_options() -> ArgumentParser:
    """What `train` takes."""
    parser = command(
        "train",
        "Train a VAE with discrete latent variables, by direct optimization through an argmax or another gradient "
        "estimator. Every part is chosen by flag, or in a YAML file (--config; --print_config writes one). The "
        "run folder then holds config.yaml, checkpoints/{best,last}.ckpt, metrics.csv, record.json, pictures/ and "
        "tensorboard/.",
    )
    parser.add_argument(
        "--config", action=PlainConfigFile, help="YAML file with any of the options below"
    )
    parser.add_argument(
        "--run", type=str | None, help="folder for the run; default: runs/ and a name made of it"
    )
    add_options(parser)
    for action in parser._actions:
        if isinstance(action.metavar, str) and action.metavar.startswith("{"):
            action.metavar = action.dest.upper()  # the description has the choices
    return parser


def resume_options() -> ArgumentParser:
    """What `resume` takes."""
    parser = command("resume RUN", "Go on with a run, as if it had never stopped.")
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "--epochs", type=int | None, help="new total of epochs; default: as started"
    )
    parser.add_argument(
        "--from",
        choices=["last", "best"],
        default="last",
        help="checkpoint to go on from; after the best one, its later epochs are done again",
    )
    return parser


def run_train(chosen: Namespace, console: Console) -> None:
    """Trains, and says what it left."""
    from ..runs.train import train  # loads torch

    config = TrainConfig(**{name: chosen[name] for name in option_types()})
    run = train(config, chosen.run or Path("runs") / config.title)
    _print_run(run.folder, console)


def run_resume(chosen: Namespace, console: Console) -> None:
    """Goes on with a run."""
    from ..runs.resume import resume  # loads torch

    _print_run(resume(chosen.folder, chosen.epochs, start=chosen["from"]).folder, console)


def _print_run(folder: Path, console: Console) -> None:
    # of several processes that train together one speaks
    if os.environ.get("LOCAL_RANK", "0") != "0":
        return
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    console.print(file_table(files, "files of this run"))
    console.print(f"evaluate it: structured-vae evaluate {folder}")
