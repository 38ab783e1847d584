"""Cost function networks in toulbar2's JSON format.

References:
    toulbar2's user documentation, section "CFN format".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...formats.text import TextFile
from ..conversions import Factor, LabelConversion, from_factors
from .wcsp import MOST_ENTRIES


def read_cfn(text: TextFile) -> LabelConversion:
    """Read a cost function network in toulbar2's cfn format.

    The sum of the costs is minimised or maximised as `mustbe` says. Costs at or beyond its bound
    are forbidden.

    Raises:
        ProblemFileError: another form, a global cost function, or a cost function of three
            variables or more that allows too many tuples.
    """
    whole = bytearray()  # a list of lines takes twenty times the memory of short ones
    for line in text.lines():
        whole += line
    try:
        content = json.loads(whole, object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError) as error:
        raise text.error(f"no JSON: {str(error)[:80]}") from error
    return _Reader(
        text,
        _part(text, content, "problem"),
        _part(text, content, "variables"),
        _part(text, content, "functions"),
    ).conversion()


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two parts of one name JSON would keep the last."""
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"two parts of one name, {max(names, key=names.count)!r}")
    return named


def _part(text: TextFile, content: Any, name: str) -> Mapping[str, Any]:
    section = content.get(name) if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise text.error(f"'{name}' must be an object of names")
    return section


class _Reader:
    """What the three parts of a file say."""

    def __init__(
        self,
        text: TextFile,
        problem: Mapping[str, Any],
        variables: Mapping[str, Any],
        functions: Mapping[str, Any],
    ):
        self.text = text
        self.functions = functions
        self.sense, self.top = self._goal(problem.get("mustbe"))
        self.names = list(variables)
        self.values = [self._values(name, values) for name, values in variables.items()]
        self.place = {name: i for i, name in enumerate(self.names)}

    def conversion(self) -> LabelConversion:
        """The whole network."""
        if not self.names:
            raise self.text.error("there are no variables")
        factors = [self._factor(name, function) for name, function in self.functions.items()]
        sizes = [len(values) for values in self.values]
        return from_factors(sizes, factors, sense=self.sense, names=self.names, values=self.values)

    def _goal(self, given: Any) -> tuple[Any, float]:
        if given is None:
            return "minimise", math.inf
        if not isinstance(given, str) or given[:1] not in ("<", ">"):
            raise self.text.error("'mustbe' must be '<' or '>' and a number")
        sense = "minimise" if given[0] == "<" else "maximise"
        return sense, self.text.number(given[1:].strip().encode(), "the bound of 'mustbe'")

    def _values(self, name: str, given: Any) -> Sequence[Any]:
        if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= 2**20:
            return range(given)
        if isinstance(given, list) and given and all(isinstance(value, str) for value in given):
            return given
        raise self.text.error(f"the values of '{name[:40]}' must be a number or a list of names")

    def _factor(self, name: str, given: Any) -> Factor:
        if (
            not isinstance(given, dict)
            or not isinstance(given.get("scope"), list)
            or "costs" not in given
        ):
            raise self.text.error(
                f"the function '{name[:40]}' must have a scope and costs; global ones are not read"
            )
        scope = [self._variable(name, variable) for variable in given["scope"]]
        shape = [len(self.values[v]) for v in scope]
        if math.prod(shape) > MOST_ENTRIES:
            raise self.text.error(
                f"the function '{name[:40]}' has {math.prod(shape)} tuples, "
                f"more than {MOST_ENTRIES}"
            )
        costs = given["costs"]
        if not isinstance(costs, list):
            raise self.text.error(f"the costs of '{name[:40]}' must be a list")
        if "defaultcost" not in given:
            if len(costs) != math.prod(shape):
                raise self.text.error(
                    f"the function '{name[:40]}' has {len(costs)} costs "
                    f"for {math.prod(shape)} tuples"
                )
            return scope, np.array([self._cost(name, cost) for cost in costs]).reshape(shape)
        table = np.full(shape, self._cost(name, given["defaultcost"]))
        width = len(scope) + 1
        if len(costs) % width:
            raise self.text.error(f"the costs of '{name[:40]}' must be tuples, each with its cost")
        for start in range(0, len(costs), width):
            *values, cost = costs[start : start + width]
            place = tuple(
                self._value(name, v, value) for v, value in zip(scope, values, strict=True)
            )
            table[place] = self._cost(name, cost)
        return scope, table

    def _variable(self, name: str, given: Any) -> int:
        if isinstance(given, str) and given in self.place:
            return self.place[given]
        if isinstance(given, int) and 0 <= given < len(self.names):
            return given
        raise self.text.error(f"the scope of '{name[:40]}' names no variable: {str(given)[:40]}")

    def _value(self, name: str, variable: int, given: Any) -> int:
        values = self.values[variable]
        if isinstance(given, int) and 0 <= given < len(values):
            return given
        if isinstance(given, str) and given in values:
            return list(values).index(given)
        raise self.text.error(
            f"a tuple of '{name[:40]}' has no value of its variable: {str(given)[:40]}"
        )

    def _cost(self, name: str, given: Any) -> float:
        number = (
            isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 1e300
        )
        if not number and given not in ("inf", "-inf"):
            raise self.text.error(f"a cost of '{name[:40]}' is no number: {str(given)[:40]}")
        cost = float(given)
        if self.sense == "minimise":
            return math.inf if cost >= self.top else cost
        return -math.inf if cost <= self.top else cost
