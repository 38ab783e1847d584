"""Accept options in either spelling, and suggest corrections for unknown options."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NoReturn, get_args, get_origin

from jsonargparse import ArgumentParser, DefaultHelpFormatter

CALLED: Final = {"lr": "learning_rate", "dataset": "name"}
"""The names of options in other programs."""


class Parser(ArgumentParser):
    """The parser of a command, which suggests corrections."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, formatter_class=_Formatter, **settings)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Add the suggestions to the message, and report it as the base class does."""
        meant = suggestions(message, self._options(ex))
        hint = ""
        if meant:
            hint = f"\ndid you mean {', '.join(meant)}?"
        super().error(plainly(message) + hint, ex)

    def _options(self, error: Exception | None) -> list[str]:
        parser = getattr(error, "subcommand_parser", None) or self
        return [option for action in parser._actions for option in action.option_strings]


class _Formatter(DefaultHelpFormatter):
    """A help formatter that omits an option's choices, since its description names them."""

    def _get_type_str(self, action: Any) -> str | None:
        hint = getattr(action, "_typehint", None)
        if any(get_origin(type_) is Literal for type_ in (hint, *get_args(hint))):
            return None
        return super()._get_type_str(action)


def with_underscores(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with every option spelled as it is defined.

    Example:
        >>> with_underscores(["solve", "a-b.npz", "--time-limit", "3", "--", "--e-f"])
        ['solve', 'a-b.npz', '--time_limit', '3', '--', '--e-f']
        >>> with_underscores(["solve", "--output-file=c-d.json"])
        ['solve', '--output_file=c-d.json']
    """
    end = len(arguments)
    if "--" in arguments:
        end = arguments.index("--")
    return [_with_underscores(word) for word in arguments[:end]] + list(arguments[end:])


def _with_underscores(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


def suggestions(message: str, options: Iterable[str]) -> list[str]:
    """Return commands, options or values close to the one that argparse rejects in a message.

    Example:
        >>> suggestions("unrecognized arguments: --batch_size 3", ["--data.batch_size"])
        ['--data.batch_size']
        >>> suggestions("argument COMMAND: invalid choice: 'trian' (choose from 'train')", [])
        ['train']
        >>> suggestions("Parser key 'epsilon': Unable to load config '0.5'", ["--epsilon.start"])
        ['--epsilon.start']
    """
    if group := re.search(r"Parser key ['\"](\w+)['\"]:\s+Unable to load config", message):
        return [option for option in options if option.startswith(f"--{group[1]}.")][:1]
    if "unrecognized arguments:" in message:
        unknown = re.findall(r"(?<=\s)--[\w.]+", message.partition("unrecognized arguments")[2])
        return list(
            dict.fromkeys(near for name in unknown for near in _near_options(name, list(options)))
        )
    choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
    value = re.search(r"Literal\[(.*?)\](?s:.*)(?:Got|Given) value: (.*)", message)
    if choice:
        rejected, choices = choice.groups()
    elif value:
        choices, rejected = value.groups()
    else:
        return []
    return difflib.get_close_matches(rejected.strip(), re.findall(r"[\w.-]+", choices), n=1)


EXPECTED: Final = {
    "<class 'int'>": "a whole number",
    "<class 'float'>": "a number",
    "<class 'bool'>": "true or false",
}
"""The plain names of Python's types."""

REFUSED: Final = re.compile(
    r"""Parser key ["'](?P<key>[\w.]+)["']:\s+(?s:Does not validate.*?)??"""
    r"""Expected a (?P<kind>typing\.Literal\[.*?\]|<class '\w+'>)(?s:.*)"""
    r"""(?:Got|Given) value: (?P<value>.*)"""
)
"""The pattern of the parser's message about a value of a simple type, perhaps optional."""


def plainly(message: str) -> str:
    """Return a message of the parser without Python types; other messages are unchanged.

    Example:
        >>> plainly("Parser key 'n': Expected a <class 'int'>. Got value: x")
        'n must be a whole number; got x'
    """
    refused = REFUSED.search(message)
    if not refused:
        return message
    values = re.findall(r"[\w.-]+", refused["kind"].removeprefix("typing.Literal"))
    kind = EXPECTED.get(refused["kind"]) or f"one of {', '.join(values)}"
    return f"{refused['key']} must be {kind}; got {refused['value']}"


def _near_options(name: str, options: list[str]) -> list[str]:
    """Return the options whose last part has this spelling, or else the nearest ones."""
    last_words = {option: option.removeprefix("--").rpartition(".")[2] for option in options}
    wanted = name.removeprefix("--").rpartition(".")[2]
    wanted = CALLED.get(wanted, wanted)
    same = [option for option, word in last_words.items() if word == wanted]
    if same or (near := difflib.get_close_matches(name, options, n=1)):
        return same or near
    near_words = difflib.get_close_matches(wanted, list(last_words.values()), n=1)
    return [option for option, word in last_words.items() if word in near_words]
