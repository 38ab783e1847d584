"""All commands, and what they share: errors of ours as messages, interrupts as advice."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jsonargparse import ArgumentParser, set_parsing_settings
from rich.console import Console

from solvers import SolverError

from ..errors import StructuredVAEError, TerminatedError
from . import evaluate, explore, export, gradients, reproduce, solvers, train
from .solve import command as solve
from .spelling import Parser, with_underscores
from .terminal import console_of


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        options: makes the parser of what it takes.
        run: does it, given what was chosen.
        help: one line.
        stopped: what to say after an interrupt; default: what the interrupt says.
    """

    options: Callable[[], ArgumentParser]
    run: Callable[[Any, Console], None]
    help: str
    stopped: str = ""


NETWORKS: Final = ("torch", "lightning", "matplotlib", "safetensors", "tensorboard")
"""Packages that structured-vae-solvers does not bring."""

_AGAIN = "stopped; the same command goes on from the last epoch"

COMMANDS: Final[dict[str, Command]] = {
    "train": Command(train.train_options, train.run_train, "train a VAE and leave a run folder"),
    "resume": Command(
        train.resume_options, train.run_resume, "go on with a run from its last epoch"
    ),
    "evaluate": Command(evaluate.options, evaluate.run, "the bound of a trained VAE and its parts"),
    "export": Command(export.options, export.run, "a run as a folder that others can load"),
    "explore": Command(explore.options, explore.run, "play with a trained VAE in the browser"),
    "gradients": Command(gradients.options, gradients.run, "bias and variance of the estimators"),
    "solve": Command(solve.options, solve.run, "solve the problems in a file"),
    "solvers": Command(solvers.options, solvers.run, "list the backends"),
    "reproduce": Command(
        reproduce.reproduce_options,
        reproduce.run_reproduce,
        "run the cells of an experiment",
        _AGAIN,
    ),
    "report": Command(
        reproduce.report_options, reproduce.run_report, "tables and plots of what was run"
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command; our own errors end it with a message and exit status 2, signals with 128 and their number."""
    set_parsing_settings(import_path_denylist=["*"])  # no value names code to import
    parser = _parser()
    arguments_read = parser.parse_args(
        with_underscores(sys.argv[1:] if arguments is None else arguments)
    )
    console, errors = console_of(), console_of(stderr=True)
    try:
        chosen = parser.instantiate(arguments_read)
        COMMANDS[chosen.subcommand].run(chosen[chosen.subcommand], console)
    except TerminatedError as error:
        errors.print(str(error))
        sys.exit(128 + signal.SIGTERM)
    except (StructuredVAEError, SolverError, OSError) as error:
        errors.print("error:", str(error), style="red")
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name not in NETWORKS:
            raise
        errors.print(
            f"error: this command needs {error.name}: pip install structured-vae", style="red"
        )
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        errors.print(COMMANDS[arguments_read.subcommand].stopped or str(interrupt) or "stopped")
        sys.exit(128 + signal.SIGINT)


def _parser() -> ArgumentParser:
    parser = Parser(
        prog="structured-vae",
        description="Train VAEs with binary latent variables through exact argmax solvers, or use the "
        "solvers alone. Every command has its own --help.",
    )
    commands = parser.add_subcommands(title="commands", metavar="COMMAND", help="what it does:")
    for name, command in COMMANDS.items():
        commands.add_subcommand(name, command.options(), help=command.help)
    return parser
