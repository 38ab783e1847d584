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
        hint = f"\ndid you mean {', '.join(meant)}?" if meant else ""
        super().error(plainly(message) + hint, ex)

    def _options(self, error: Exception | None) -> list[str]:
        parser = getattr(error, "subcommand_parser", None) or self
        return [option for action in parser._actions for option in action.option_strings]


class _Formatter(DefaultHelpFormatter):
    """A help formatter that omits an option's choices, since its description names them."""

    def _get_type_str(self, action: Any) -> str | None:
        hint = getattr(action, "_typehint", None)
        if any(get_origin(part) is Literal for part in (hint, *get_args(hint))):
            return None
        return super()._get_type_str(action)


def with_underscores(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with every option spelled as it is defined.

    Example:
        >>> with_underscores(["solve", "a-b.npz", "--time-limit", "3", "--output=c-d.json", "--", "--e-f"])
        ['solve', 'a-b.npz', '--time_limit', '3', '--output=c-d.json', '--', '--e-f']
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [_with_underscores(each) for each in arguments[:end]] + list(arguments[end:])


def _with_underscores(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


def suggestions(message: str, options: Iterable[str]) -> list[str]:
    """Return commands, options or values close to the one that argparse rejects in a message.

    Example:
        >>> suggestions("unrecognized arguments: --batch_size 3", ["--data.name", "--data.batch_size"])
        ['--data.batch_size']
        >>> suggestions("argument COMMAND: invalid choice: 'trian' (choose from 'train', 'solve')", [])
        ['train']
        >>> suggestions("Parser key 'epsilon': Unable to load config '0.5'", ["--epsilon", "--epsilon.start"])
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
    if not (choice or value):
        return []
    given, known = choice.groups() if choice else value.groups()[::-1]  # type: ignore[union-attr]  # one is
    return difflib.get_close_matches(given.strip(), re.findall(r"[\w.-]+", known), n=1)


EXPECTED: Final = {
    "<class 'int'>": "a whole number",
    "<class 'float'>": "a number",
    "<class 'bool'>": "true or false",
}
"""The plain names of Python's types."""

REFUSED: Final = re.compile(
    r"""Parser key ["'](?P<key>[\w.]+)["']:\s+(?s:Does not validate.*?)??"""
    r"""Expected a (?P<kind>typing\.Literal\[.*?\]|<class '\w+'>)(?s:.*)(?:Got|Given) value: (?P<value>.*)"""
)
"""The pattern of the parser's message about a value of a simple type, perhaps optional."""


def plainly(message: str) -> str:
    """Return a message of the parser without Python types; other messages are unchanged.

    Example:
        >>> plainly("Parser key 'n': Expected a <class 'int'>. Got value: x")
        'n must be a whole number; got x'
    """
    found = REFUSED.search(message)
    if not found:
        return message
    values = re.findall(r"[\w.-]+", found["kind"].removeprefix("typing.Literal"))
    kind = EXPECTED.get(found["kind"]) or f"one of {', '.join(values)}"
    return f"{found['key']} must be {kind}; got {found['value']}"


def _near_options(name: str, options: list[str]) -> list[str]:
    """Return the options whose last part has this spelling, or else the nearest ones."""
    last = {option: option.removeprefix("--").rpartition(".")[2] for option in options}
    own = name.removeprefix("--").rpartition(".")[2]
    own = CALLED.get(own, own)
    same = [option for option, part in last.items() if part == own]
    if same or (near := difflib.get_close_matches(name, options, n=1)):
        return same or near
    parts = difflib.get_close_matches(own, list(last.values()), n=1)
    return [option for option, part in last.items() if part in parts]
