"""The options of `train`, grouped by the kinds of model that have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from inspect import getdoc
from typing import Any, Final, Literal

from docstring_parser import parse
from jsonargparse import ArgumentParser

from ..data import dataset_names
from ..vaes import KINDS
from ..vaes.config.older import FORMER_ENCODERS
from ..vaes.config.union import config_classes, kinds_with, option_types
from ..vaes.config.values import NAMES, choices_of, names_of, types_of

PRIOR: Final = (
    "over the latent variables, learnt with the networks but for uniform and standard. Of bits and "
    "categories: uniform, factorised, gibbs, linear, made or transformer. Of the model gaussian: "
    "standard, linear, made or flow; uniform stands for standard"
)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of all kinds to a parser."""
    kinds = "; ".join(f"{name}: {_summary(name)}" for name in KINDS)
    parser.add_argument("--model", type=Literal[KINDS], default="discrete", help=kinds)
    encoders = tuple(_choices("encoder"))
    parser.add_argument(
        "--encoder",
        type=Literal[(*encoders, *FORMER_ENCODERS)],
        default="general",
        help=_description_of_encoders(encoders),
    )
    priors = tuple(_choices("prior"))
    parser.add_argument("--prior", type=Literal[priors], default="uniform", help=PRIOR)
    for names, options in _groups().items():
        every = len(names) == len(KINDS)
        if every:
            of = "every model"
        else:
            of = f"the model {', '.join(names)}"
        group = parser.add_argument_group(f"options of {of}")
        config = config_classes()[names[0]]
        named = {option.name for option in fields(config) if NAMES in option.metadata}
        _add_names(group, config, named & options)
        others = set(types_of(config)) - options
        group.add_class_arguments(config, as_group=False, skip=others | named)
    for action in parser._actions:
        if action.dest == "data.name":
            described = str(action.help).rstrip(".")
            action.help = f"{described}; the names are {', '.join(dataset_names())}"


def _add_names(group: Any, config: Any, options: set[str]) -> None:
    """Add options whose names come from a registry, with these names in their help."""
    if not options:
        return
    descriptions = _descriptions(config)
    for option in fields(config):
        if option.name in options:
            names = names_of(option)
            group.add_argument(
                f"--{option.name}",
                type=Literal[names],
                default=option.default,
                help=f"{descriptions[option.name]}: {', '.join(names)}",
            )


def _description_of_encoders(encoders: Iterable[str]) -> str:
    """Return the description of the encoders, with their names and the former name gaussian."""
    described = _descriptions(config_classes()["discrete"])["encoder"]
    names = ", ".join(encoders)
    return f"{described}. The names are {names}; gaussian stands for the model gaussian"


def _descriptions(config: type) -> dict[str, str]:
    """Return the descriptions of options by name.

    They are in the docstrings of a configuration and of its base classes; the nearest class counts.
    """
    return {
        parameter.arg_name: (parameter.description or "").rstrip(".")
        for base in reversed(config.__mro__)
        for parameter in parse(base.__doc__ or "").params
    }


def _groups() -> dict[tuple[str, ...], set[str]]:
    """Return the names of options by the kinds that have them, those of most kinds first."""
    groups: dict[tuple[str, ...], set[str]] = {}
    for option in option_types():
        if option not in ("model", "encoder", "prior"):
            groups.setdefault(tuple(kinds_with(option)), set()).add(option)
    return dict(sorted(groups.items(), key=lambda group: -len(group[0])))


def _choices(option: str) -> Iterable[str]:
    """Return the choices that any kind has for an option, each once."""
    choices: dict[str, None] = {}
    for kind in kinds_with(option):
        config = config_classes()[kind]
        (of_option,) = (field for field in fields(config) if field.name == option)
        of_kind = names_of(of_option) or choices_of(types_of(config)[option])
        choices |= dict.fromkeys(of_kind)
    return choices


def _summary(name: str) -> str:
    """Return the description of a kind from its configuration."""
    first = (getdoc(config_classes()[name]) or "").partition("\n")[0]
    return first[:1].lower() + first[1:].rstrip(".")
