"""The commands `structured-vae train` and `structured-vae resume`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

# ActionConfigFile is public, but not in __all__
from jsonargparse import ActionConfigFile, ArgumentParser, Namespace  # type: ignore[attr-defined]
from rich.console import Console

from ..errors import ConfigError
from ..runs.folder.small_files import CONFIG_SIZE, read_small_text
from ..vaes.config import TrainConfig
from ..vaes.config.plain_values import read_yaml, refuse_foreign
from ..vaes.config.union import option_types
from .options_of_kinds import add_options
from .terminal import command, file_table


class PlainConfigFile(ActionConfigFile):
    """A YAML file of options, which jsonargparse reads after a check for unknown options."""

    @staticmethod
    def apply_config(parser: ArgumentParser, cfg: Namespace, dest: str, value: str) -> None:
        """Check the file, then read it as the base class does.

        Raises:
            TypeError: the file cannot be read, or has unknown options; argparse shows the message.
        """
        try:
            values = read_yaml(read_small_text(Path(value), CONFIG_SIZE), value)
            options = {name: option for name, option in values.items() if name != "run"}
            refuse_foreign(options, option_types())
        except UnicodeDecodeError as error:
            raise TypeError(f"{value} is not a YAML file of options") from error
        except (ConfigError, OSError, ValueError) as error:
            raise TypeError(str(error)) from error
        ActionConfigFile.apply_config(parser, cfg, dest, value)


def train_options() -> ArgumentParser:
    """Make the parser of the options of `train`."""
    parser = command(
        "train",
        "Train a VAE with discrete latent variables, by direct optimization through an argmax or "
        "by another gradient estimator. Set options by flags or in a YAML file (--config; "
        "--print_config writes one). The run folder will hold config.yaml, "
        "checkpoints/{best,last}.ckpt, metrics.csv, record.json, pictures/ and tensorboard/.",
    )
    parser.add_argument(
        "--config", action=PlainConfigFile, help="YAML file with any of the options below"
    )
    parser.add_argument(
        "--run",
        type=str | None,
        help="folder for the run; default: a folder in runs/, named after the options",
    )
    add_options(parser)
    for action in parser._actions:
        if isinstance(action.metavar, str) and action.metavar.startswith("{"):
            action.metavar = action.dest.upper()  # the help text already lists the choices
    return parser


def resume_options() -> ArgumentParser:
    """Make the parser of the options of `resume`."""
    parser = command(
        "resume RUN", "Resume a run. The result is the same as if it had never stopped."
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "--epochs", type=int | None, help="new total number of epochs; default: unchanged"
    )
    parser.add_argument(
        "--from",
        choices=["last", "best"],
        default="last",
        help="checkpoint to resume from; after `best`, the later epochs are trained again",
    )
    return parser


def run_train(chosen: Namespace, console: Console) -> None:
    """Train, and list the files of the run."""
    from ..runs.train import train  # loads torch

    config = TrainConfig(**{name: chosen[name] for name in option_types()})
    run = train(config, chosen.run or Path("runs") / config.title)
    _print_run(run.folder, console)


def run_resume(chosen: Namespace, console: Console) -> None:
    """Resume a run, and list its files."""
    from ..runs.resume import resume  # loads torch

    _print_run(resume(chosen.folder, chosen.epochs, start=chosen["from"]).folder, console)


def _print_run(folder: Path, console: Console) -> None:
    # If several processes train together, only the first one prints.
    if os.environ.get("LOCAL_RANK", "0") != "0":
        return
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    console.print(file_table(files, "files of this run"))
    console.print(f"evaluate it: structured-vae evaluate {shlex.quote(str(folder))}")
