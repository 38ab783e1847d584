"""Read cost function networks in toulbar2's JSON format.

References:
    toulbar2's user documentation, section "CFN format".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...formats.parsing.json_text import member
from ...formats.parsing.text import TextFile
from ..conversions import Factor, LabelConversion, from_factors
from .relaxed_json import read_relaxed
from .wcsp import MOST_ENTRIES


def read_cfn(text: TextFile) -> LabelConversion:
    """Read a cost function network in toulbar2's cfn format.

    The sum of the costs is minimised or maximised as `mustbe` says. Costs at or beyond its bound
    are forbidden. Quotes, commas and colons may be missing, comments are skipped, and variables and
    functions may be lists.

    Raises:
        ProblemFileError: the file has another form, a global cost function, or a cost function of
            three variables or more that allows too many tuples.
    """
    content = read_relaxed(text)
    return _Reader(
        text,
        _goal_of(text, content),
        _named(text, content, "variables"),
        _named(text, content, "functions"),
    ).conversion()


def _goal_of(text: TextFile, content: Any) -> Any:
    """Return the goal of the file: its sense and the bound on the sum of the costs."""
    problem = member(text, content, "problem", "the file")
    if not isinstance(problem, dict):
        raise text.error("'problem' must be an object")
    return problem.get("mustbe")


def _named(text: TextFile, content: Any, name: str) -> Mapping[Any, Any]:
    """Return the members of an object, or those of a list by their numbers."""
    section = member(text, content, name, "the file")
    if isinstance(section, list):
        return dict(enumerate(section))
    if not isinstance(section, dict):
        raise text.error(f"'{name}' must be an object of names or a list")
    return section


class _Reader:
    """Reader of the three parts of a file."""

    def __init__(
        self,
        text: TextFile,
        goal: Any,
        variables: Mapping[Any, Any],
        functions: Mapping[Any, Any],
    ):
        self.text = text
        self.functions = functions
        self.sense, self.top = self._goal(goal)
        self.names = list(variables)
        self.values = [self._values(name, values) for name, values in variables.items()]
        self.place = {name: i for i, name in enumerate(self.names)}

    def conversion(self) -> LabelConversion:
        """Return the conversion of the whole network."""
        if not self.names:
            raise self.text.error("there are no variables")
        factors = [self._factor(name, function) for name, function in self.functions.items()]
        sizes = [len(values) for values in self.values]
        return from_factors(sizes, factors, sense=self.sense, names=self.names, values=self.values)

    def _goal(self, goal: Any) -> tuple[Any, int | float]:
        if goal is None:
            return "minimise", math.inf
        if not isinstance(goal, str) or goal[:1] not in ("<", ">"):
            raise self.text.error("'mustbe' must be '<' or '>' and a number")
        sense = "maximise"
        if goal[0] == "<":
            sense = "minimise"
        bound = goal[1:].strip().encode()
        return sense, self.text.exact_number(bound, "the bound of 'mustbe'")

    def _values(self, name: Any, listed: Any) -> Sequence[Any]:
        if isinstance(listed, int) and not isinstance(listed, bool) and 1 <= listed <= 2**20:
            return range(listed)
        if isinstance(listed, list) and listed and all(isinstance(value, str) for value in listed):
            return listed
        raise self.text.error(
            f"the values of '{str(name)[:40]}' must be a number or a list of names"
        )

    def _factor(self, name: Any, function: Any) -> Factor:
        if not _has_scope_and_costs(function):
            raise self.text.error(
                f"the function '{str(name)[:40]}' must have a scope and costs; global ones are not "
                "read"
            )
        scope = [self._variable(name, variable) for variable in function["scope"]]
        shape = [len(self.values[v]) for v in scope]
        if math.prod(shape) > MOST_ENTRIES:
            raise self.text.error(
                f"the function '{str(name)[:40]}' has {math.prod(shape)} tuples, "
                f"more than {MOST_ENTRIES}"
            )
        costs = self._costs(function["costs"])
        if not isinstance(costs, list):
            raise self.text.error(f"the costs of '{str(name)[:40]}' must be a list")
        if "defaultcost" not in function:
            return scope, self._full_table(name, shape, costs)
        table = np.full(shape, self._cost(name, function["defaultcost"]))
        self._write_tuples(name, scope, costs, table)
        return scope, table

    def _full_table(self, name: Any, shape: list[int], costs: list[Any]) -> np.ndarray:
        """Return the table of a function that lists the cost of every tuple."""
        if len(costs) != math.prod(shape):
            raise self.text.error(
                f"the function '{str(name)[:40]}' has {len(costs)} costs "
                f"for {math.prod(shape)} tuples"
            )
        return np.array([self._cost(name, cost) for cost in costs]).reshape(shape)

    def _write_tuples(
        self, name: Any, scope: list[int], costs: list[Any], table: np.ndarray
    ) -> None:
        """Write the costs of the tuples that differ from the default cost into a table."""
        width = len(scope) + 1
        if len(costs) % width:
            raise self.text.error(
                f"the costs of '{str(name)[:40]}' must be tuples, each with its cost"
            )
        for start in range(0, len(costs), width):
            *values, cost = costs[start : start + width]
            place = tuple(
                self._value(name, v, value) for v, value in zip(scope, values, strict=True)
            )
            table[place] = self._cost(name, cost)

    def _costs(self, costs: Any) -> Any:
        """Return a list of costs, or the costs of the function that is named instead."""
        shared = None
        if isinstance(costs, str):
            shared = self.functions.get(costs)
        if isinstance(shared, dict):
            return shared.get("costs")
        return costs

    def _variable(self, name: Any, variable: Any) -> int:
        if isinstance(variable, str) and variable in self.place:
            return self.place[variable]
        if (
            isinstance(variable, int)
            and not isinstance(variable, bool)
            and 0 <= variable < len(self.names)
        ):
            return variable
        raise self.text.error(
            f"the scope of '{str(name)[:40]}' names no variable: {str(variable)[:40]}"
        )

    def _value(self, name: Any, variable: int, value: Any) -> int:
        values = self.values[variable]
        if isinstance(value, int) and 0 <= value < len(values):
            return value
        if isinstance(value, str) and value in values:
            return list(values).index(value)
        raise self.text.error(
            f"a tuple of '{str(name)[:40]}' has no value of its variable: {str(value)[:40]}"
        )

    def _cost(self, name: Any, cost: Any) -> float:
        number = isinstance(cost, int | float) and not isinstance(cost, bool) and abs(cost) < 1e300
        if not number and cost not in ("inf", "-inf"):
            raise self.text.error(f"a cost of '{str(name)[:40]}' is no number: {str(cost)[:40]}")
        if number:
            cost = cost
        else:
            cost = float(cost)
        if self.sense == "minimise":
            if cost >= self.top:
                return math.inf
            return float(cost)
        if cost <= self.top:
            return -math.inf
        return float(cost)


def _has_scope_and_costs(function: Any) -> bool:
    """Return whether a function is a table rather than a global function."""
    if not isinstance(function, dict):
        return False
    return isinstance(function.get("scope"), list) and "costs" in function
