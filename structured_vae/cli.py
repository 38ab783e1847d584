"""The command `structured-vae`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from solvers import SolverError
from solvers.formats import FORMATS

from .atomic import whole_file
from .errors import StructuredVAEError
from .reproduction.experiments import experiment_names
from .runs.config import TrainConfig
from .solve_files import FileSolver, leave
from .tables import evaluation_table, file_table, gradient_table, solver_table

STOPPED: Final = {
    **dict.fromkeys(("train", "resume"), "stopped; `structured-vae resume RUN` goes on from the last epoch"),
    "reproduce": "stopped; the same command goes on from the last epoch",
}
"""What to do after an interrupt, by the command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command; our own errors end it with a message and exit status 2."""
    parser = _parser()
    arguments_read = parser.parse_args(arguments)
    console, errors = _console(), _console(stderr=True)
    try:
        chosen = parser.instantiate(arguments_read)
        COMMANDS[chosen.subcommand](chosen[chosen.subcommand], console)
    except (StructuredVAEError, SolverError, OSError) as error:
        errors.print("error:", str(error), style="red")
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print(STOPPED.get(arguments_read.subcommand, "stopped"))
        sys.exit(130)


def _console(stderr: bool = False) -> Console:
    """For texts with names of files in them, which are no markup."""
    return Console(stderr=stderr, soft_wrap=True, markup=False, emoji=False)


def _train(options: Namespace, console: Console) -> None:
    from .runs.train import train  # loads torch

    config = TrainConfig(**{field.name: options[field.name] for field in fields(TrainConfig)})
    run = train(config, options.run or Path("runs") / config.title)
    _print_run(run.folder, console)


def _resume(options: Namespace, console: Console) -> None:
    from .runs.train import resume  # loads torch

    _print_run(resume(options.folder, options.epochs).folder, console)


def _evaluate(options: Namespace, console: Console) -> None:
    from .runs.evaluate import evaluate_run  # loads torch

    found = evaluate_run(options.folder, options.split, options.checkpoint, options.samples, options.refine)
    evaluation = found.to_dict()
    title = f"{options.folder}, {options.checkpoint} epoch, {options.split} split"
    console.print(evaluation_table(evaluation, title))
    file = Path(options.folder) / f"evaluation-{options.split}-{options.checkpoint}.json"
    with whole_file(file) as part:
        part.write_text(json.dumps(evaluation, indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {file}")


def _export(options: Namespace, console: Console) -> None:
    from .runs.export import export_run  # loads torch

    folder = export_run(options.folder, options.target, options.checkpoint, options.license)
    console.print(file_table(sorted(path for path in folder.iterdir() if path.is_file()), "exported"))
    console.print(f"play with it: structured-vae explore {folder}")


def _explore(options: Namespace, console: Console) -> None:
    from .explorer.serve import explore  # loads torch

    explore(options.folder, options.address, options.port)


def _gradients(options: Namespace, console: Console) -> None:
    from .runs.gradients import gradient_figure  # loads torch

    found = gradient_figure(options.folder, options.checkpoint, options.images, options.draws)
    reports = {name: report.to_dict() for name, report in found.reports.items()}
    console.print(gradient_table(reports, f"{options.folder}: gradients in the encoder's potentials"))
    console.print(f"written: {found.picture}, {found.record}")


def _solve(options: Namespace, console: Console) -> None:
    settings = options.solver, options.format, options.time_limit, options.threads
    status = FileSolver(*settings, console, _console(stderr=True)).solve(options.files, options.output)
    if status:
        leave(status)


def _solvers(options: Namespace, console: Console) -> None:
    console.print(solver_table())


def _print_run(folder: Path, console: Console) -> None:
    if os.environ.get("LOCAL_RANK", "0") != "0":  # of several processes that train together one speaks
        return
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    console.print(file_table(files, "files of this run"))
    console.print(f"evaluate it: structured-vae evaluate {folder}")


def _reproduce(options: Namespace, console: Console) -> None:
    from .reproduction.commands import reproduce  # loads torch

    reproduce(options, console)


def _report(options: Namespace, console: Console) -> None:
    from .reproduction.commands import report  # loads matplotlib

    report(options, console)


COMMANDS: Final[dict[str, Callable[[Any, Console], None]]] = {
    "train": _train,
    "resume": _resume,
    "evaluate": _evaluate,
    "export": _export,
    "explore": _explore,
    "gradients": _gradients,
    "solve": _solve,
    "solvers": _solvers,
    "reproduce": _reproduce,
    "report": _report,
}


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="structured-vae",
        description="Train VAEs with binary latent variables through exact argmax solvers, or use the "
        "solvers alone. Every command has its own --help.",
    )
    commands = parser.add_subcommands(title="commands", metavar="COMMAND", help="what it does:")
    commands.add_subcommand("train", _train_parser(), help="train a VAE and leave a run folder")
    commands.add_subcommand("resume", _resume_parser(), help="go on with a run from its last epoch")
    commands.add_subcommand("evaluate", _evaluate_parser(), help="the bound of a trained VAE and its parts")
    commands.add_subcommand("export", _export_parser(), help="a run as a folder that others can load")
    commands.add_subcommand("explore", _explore_parser(), help="play with a trained VAE in the browser")
    commands.add_subcommand("gradients", _gradients_parser(), help="bias and variance of the estimators")
    commands.add_subcommand("solve", _solve_parser(), help="solve the problems in a file")
    commands.add_subcommand("solvers", _command("solvers", "The argmax backends."), help="list the backends")
    commands.add_subcommand("reproduce", _reproduce_parser(), help="run the cells of an experiment")
    commands.add_subcommand("report", _report_parser(), help="tables and plots of what was run")
    return parser


def _command(name: str, description: str) -> ArgumentParser:
    return ArgumentParser(usage=f"structured-vae {name} [options]", description=description)


def _train_parser() -> ArgumentParser:
    parser = _command(
        "train",
        "Train a VAE with discrete latent variables, by direct optimization through an argmax or another gradient "
        "estimator. Every part is "
        "chosen by flag, or in a YAML file (--config; --print_config writes one). The run folder then holds "
        "config.yaml, checkpoints/{best,last}.ckpt, metrics.csv, record.json, pictures/ and tensorboard/.",
    )
    parser.add_argument("--config", action="config", help="YAML file with any of the options below")
    parser.add_argument(
        "--run", type=str | None, help="folder for the run; default: runs/ and a name made of it"
    )
    parser.add_class_arguments(TrainConfig, as_group=False)
    return parser


def _resume_parser() -> ArgumentParser:
    parser = _command("resume RUN", "Go on with a run, as if it had never stopped.")
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument("--epochs", type=int | None, help="new total of epochs; default: as started")
    return parser


def _evaluate_parser() -> ArgumentParser:
    parser = _command(
        "evaluate RUN",
        "The bound on -log p(x) of a trained VAE with each of its parts, the likelihood, and what of it is exact.",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "--split", choices=["train", "validation", "test"], default="test", help="which images"
    )
    parser.add_argument("--checkpoint", choices=["best", "last"], default="best", help="which epoch")
    parser.add_argument(
        "--samples",
        type=int | None,
        help="posterior samples an image, where sums are out of reach; default: 1000, a mixture and attributes 10",
    )
    parser.add_argument(
        "--refine",
        type=int,
        default=0,
        help="moves of a search among the states for each image, for a tighter bound of up to 62 bits",
    )
    return parser


def _export_parser() -> ArgumentParser:
    parser = _command(
        "export RUN FOLDER",
        "Write the networks of a run into a folder that others can load, and that can be put on the Hugging Face "
        "Hub as it is: model.safetensors, config.json and README.md, a model card with what was measured "
        "(evaluate the run first).",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument("target", type=str, metavar="FOLDER", help="for the files; older ones are replaced")
    parser.add_argument("--checkpoint", choices=["best", "last"], default="best", help="which epoch")
    parser.add_argument(
        "--license",
        type=str | None,
        default=None,
        help="of the weights, as the Hugging Face Hub names it; default: mit",
    )
    return parser


def _explore_parser() -> ArgumentParser:
    parser = _command(
        "explore FOLDER",
        "A page in the browser, of this machine alone, where every bit or category is a switch and the image "
        "follows, images are encoded, and samples drawn. Needs the extra structured-vae[explorer]. Ctrl-C ends it.",
    )
    parser.add_argument("folder", type=str, metavar="FOLDER", help="of a run, or one that export wrote")
    parser.add_argument("--address", type=str, default="127.0.0.1", help="to listen at")
    parser.add_argument("--port", type=int, default=8501, help="to listen at")
    return parser


def _reproduce_parser() -> ArgumentParser:
    parser = _command(
        "reproduce EXPERIMENT",
        "Train and evaluate what is missing of an experiment: one training run a cell, each with a run folder "
        "and a JSON record. Finished cells are left alone; stopped ones go on from their last epoch.",
    )
    parser.add_argument("experiment", type=str, metavar="EXPERIMENT", help="; ".join(experiment_names()))
    parser.add_argument("--epochs", type=int | None, help="instead of the experiment's own")
    parser.add_argument("--seeds", type=list[int], default=[0], help="such as [0,1,2]")
    parser.add_argument("--only", type=str, default="", help="a regular expression on names of cells")
    parser.add_argument(
        "--jobs", type=int, default=1, help="cells side by side; each gets its share of the cores"
    )
    parser.add_argument(
        "--dry_run", action="store_true", help="say what would be run, and how long it would take"
    )
    parser.add_argument("--results", type=str, default="results", help="folder of the records")
    parser.add_argument("--runs", type=str, default="runs/reproduce", help="folder of the run folders")
    parser.add_argument("--root", type=str | None, help="folder of the data, as --data.root of train")
    return parser


def _report_parser() -> ArgumentParser:
    parser = _command(
        "report [EXPERIMENT]", "Tables (Markdown) and plots (PNG, SVG) of the records of experiments."
    )
    parser.add_argument("experiment", type=str | None, nargs="?", metavar="EXPERIMENT", help="default: all")
    parser.add_argument("--results", type=str, default="results", help="folder of the records")
    parser.add_argument("--output", type=str, default="results/report", help="folder for the report")
    return parser


def _gradients_parser() -> ArgumentParser:
    parser = _command(
        "gradients RUN",
        "Bias, variance and cost of every gradient estimator that fits a run's encoder, against the exact "
        "gradient. Writes gradients.png and gradients.json into the run's folder.",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument("--checkpoint", choices=["best", "last"], default="best", help="which epoch")
    parser.add_argument("--images", type=int, default=100, help="test images")
    parser.add_argument("--draws", type=int, default=10_000, help="for each image and setting")
    return parser


def _solve_parser() -> ArgumentParser:
    parser = _command(
        "solve FILE ...",
        "Solve the problems of files, plain or gzip. An .npz file (numpy.savez) holds unary [..., n], and "
        "optionally pairwise [..., n, n], or pairwise [..., e] with edges [e, 2]; its objective is "
        "sum_i unary_i z_i + sum_(i,j) pairwise_ij z_i z_j, maximised over z in {0,1}^n. The other formats "
        "have objectives of their own, which are what `value` shows. A large batch is solved in chunks; Ctrl-C "
        "ends it, and what was found until then is shown and written.",
    )
    parser.add_argument(
        "files", type=str, nargs="+", metavar="FILE", help="with one problem, or .npz with a batch"
    )
    formats = ", ".join(FORMATS)
    parser.add_argument("--format", type=str | None, help=f"{formats}; default: seen from the file")
    parser.add_argument("--solver", type=str, default="auto", help="a name from `structured-vae solvers`")
    parser.add_argument("--time_limit", type=float | None, help="seconds for each file")
    parser.add_argument("--threads", type=int | None, help="for solvers with this option; default: theirs")
    parser.add_argument("--output", type=str | None, help="JSON file for the answers")
    return parser


if __name__ == "__main__":
    main()
