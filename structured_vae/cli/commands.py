"""The list of commands, and how errors and interrupts end them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from jsonargparse import ArgumentParser, set_parsing_settings
from rich.console import Console

from solvers import SolverError

from ..errors import StructuredVAEError, TerminatedError
from . import convert, evaluate, explore, export, fit_prior, gradients, reproduce, solvers, train
from .solve import command as solve
from .spelling import Parser, with_underscores
from .terminal import console_of


@dataclass(frozen=True)
class Command:
    """A subcommand of `structured-vae`.

    Attributes:
        options: makes the parser of its options.
        run: runs the command with the parsed options.
        help: its line in the list of commands.
        stopped: the message after an interrupt; "" for the message of the interrupt itself.
    """

    options: Callable[[], ArgumentParser]
    run: Callable[[Any, Console], None]
    help: str
    stopped: str = ""


NETWORKS: Final = ("torch", "lightning", "matplotlib", "safetensors", "tensorboard")
"""Packages that structured-vae-solvers does not install."""

_AGAIN = "stopped; run the same command again to continue from the last epoch"

COMMANDS: Final[dict[str, Command]] = {
    "train": Command(train.train_options, train.run_train, "train a VAE and write a run folder"),
    "resume": Command(train.resume_options, train.run_resume, "resume a run from its last epoch"),
    "evaluate": Command(
        evaluate.options, evaluate.run, "evaluate the bound of a trained VAE and its terms"
    ),
    "export": Command(export.options, export.run, "export a run as a folder that others can load"),
    "fit-prior": Command(
        fit_prior.options, fit_prior.run, "fit a stronger prior to the codes of a trained run"
    ),
    "explore": Command(explore.options, explore.run, "explore a trained VAE in the browser"),
    "gradients": Command(
        gradients.options, gradients.run, "measure bias and variance of the gradient estimators"
    ),
    "solve": Command(solve.options, solve.run, "solve the problems in a file"),
    "convert": Command(
        convert.options, convert.run, "write the problem of a file in another format"
    ),
    "solvers": Command(solvers.options, solvers.run, "list the solvers"),
    "reproduce": Command(
        reproduce.reproduce_options,
        reproduce.run_reproduce,
        "run the cells of an experiment",
        _AGAIN,
    ),
    "report": Command(
        reproduce.report_options, reproduce.run_report, "write tables and plots of experiments"
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command.

    An error of ours ends it with a message and exit status 2, a signal with 128 plus its number.

    Args:
        arguments: the command line; None for `sys.argv`.
    """
    set_parsing_settings(import_path_denylist=["*"])  # a value must never name code to import
    if arguments is None:
        arguments = sys.argv[1:]
    parser = _parser(arguments)
    parsed = parser.parse_args(with_underscores(arguments))
    console = console_of()
    errors = console_of(stderr=True)
    try:
        chosen = parser.instantiate(parsed)
        COMMANDS[chosen.subcommand].run(chosen[chosen.subcommand], console)
    except TerminatedError as error:
        errors.print(str(error))
        sys.exit(128 + signal.SIGTERM)
    except (StructuredVAEError, SolverError, OSError) as error:
        errors.print("error:", str(error), style="red")
        sys.exit(2)
    except (ModuleNotFoundError, ValueError) as error:
        message = _message_of(error)
        if message is None:
            raise
        errors.print("error:", message, style="red")
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        errors.print(COMMANDS[parsed.subcommand].stopped or str(interrupt) or "stopped")
        sys.exit(128 + signal.SIGINT)


def _parser(arguments: Sequence[str]) -> ArgumentParser:
    """Make the parser of a command line, with the options of the command that it names.

    The other commands have a line in the help and no options, since theirs take a while to make.
    """
    parser = Parser(
        prog="structured-vae",
        description="Train VAEs with discrete latent variables through exact argmax solvers, or "
        "run the solvers on files. Every command has its own --help.",
        version=_version(),
    )
    commands = parser.add_subcommands(title="commands", metavar="COMMAND", help="one of:")
    for name, command in COMMANDS.items():
        if name in arguments:
            options = command.options()
        else:
            options = ArgumentParser()
        commands.add_subcommand(name, options, help=command.help)
    return parser


def _version() -> str:
    """Return the version of the distribution that is installed, with or without torch."""
    for distribution in ("structured-vae", "structured-vae-solvers"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "unknown: the package is not installed"


def _message_of(error: ModuleNotFoundError | ValueError) -> str | None:
    """Return what to print of an error that is no bug of ours; None for any other error."""
    if isinstance(error, ModuleNotFoundError):
        if error.name in NETWORKS:
            return f"this command needs {error.name}: pip install structured-vae"
        return None
    if _is_of_models(error):
        return str(error)
    return None


def _is_of_models(error: Exception) -> bool:
    """Return whether `models` raised the error on purpose; that package may not be loaded."""
    errors = sys.modules.get("models.errors")
    return errors is not None and isinstance(error, errors.ModelsError)
