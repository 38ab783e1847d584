"""Read binary quadratic problems in the JSON format bqpjson."""

from __future__ import annotations

from typing import Any

from ...conversions.conversion import Conversion
from ...conversions.ising import from_ising
from ...conversions.qubo import from_qubo
from ..parsing.json_text import integer_of, list_of, loads, member, number_of
from ..parsing.text import TextFile

DOMAINS = ("spin", "boolean")
"""Names of the domains of variables."""


def read_bqpjson(text: TextFile) -> Conversion:
    """Read a problem that minimises scale * (offset + linear and quadratic terms).

    The variables are "spin" (-1 and 1) or "boolean" (0 and 1). Their names are the numbers of
    `variable_ids`; terms of the same variables add up.

    Raises:
        ProblemFileError: the file has another form.

    References:
        LANL-ANSI, bqpjson: the schema of version 1.0.0.
    """
    content = loads(text, text.whole())
    domain = member(text, content, "variable_domain", "the problem")
    if domain not in DOMAINS:
        raise text.error("'variable_domain' of the problem must be 'spin' or 'boolean'")
    scale = number_of(text, content, "scale", "the problem")
    offset = scale * number_of(text, content, "offset", "the problem")
    linear = dict.fromkeys(_variables(text, content), 0.0)
    for number, term in enumerate(list_of(text, content, "linear_terms", "the problem")):
        place = f"linear term {number}"
        variable = _variable(text, term, "id", place, linear)
        linear[variable] += scale * number_of(text, term, "coeff", place)
    quadratic: dict[tuple[int, int], float] = {}
    for number, term in enumerate(list_of(text, content, "quadratic_terms", "the problem")):
        place = f"quadratic term {number}"
        tail = _variable(text, term, "id_tail", place, linear)
        head = _variable(text, term, "id_head", place, linear)
        if head == tail:
            raise text.error(f"{place} has the variable {head} twice")
        pair = (min(head, tail), max(head, tail))
        coefficient = scale * number_of(text, term, "coeff", place)
        quadratic[pair] = quadratic.get(pair, 0.0) + coefficient
    if domain == "spin":
        return from_ising(linear, quadratic, offset)
    return from_qubo({**{(i, i): bias for i, bias in linear.items()}, **quadratic}, offset)


def _variables(text: TextFile, content: Any) -> list[int]:
    listed = list_of(text, content, "variable_ids", "the problem")
    ids = {str(place): value for place, value in enumerate(listed)}
    variables = [integer_of(text, ids, place, "'variable_ids'") for place in ids]
    if not variables:
        raise text.error("'variable_ids' of the problem is empty")
    if len(set(variables)) < len(variables):
        raise text.error("'variable_ids' of the problem has a number twice")
    return variables


def _variable(text: TextFile, term: Any, name: str, place: str, variables: dict[int, float]) -> int:
    variable = integer_of(text, term, name, place)
    if variable not in variables:
        raise text.error(f"'{name}' of {place} is {variable}, which is not in 'variable_ids'")
    return variable
