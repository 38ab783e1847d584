"""Load a model of dimod from standard input, and write it to standard output as JSON.

A damaged file can crash dimod, so this runs in a separate process. It only needs dimod.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def description(model: Any) -> dict[str, Any]:
    """Return a model as values that JSON can hold; variables are numbers."""
    labels = model.variables.to_serializable()
    if hasattr(model, "num_cases"):
        return {"labels": labels, **_cases(model)}
    if not hasattr(model, "constraints"):
        return {
            "labels": labels,
            "vartypes": model.vartype.name,
            "objective": _expression(model, model.variables),
        }
    return {
        "labels": labels,
        "vartypes": [model.vartype(variable).name for variable in model.variables],
        "ranges": [
            [float(model.lower_bound(variable)), float(model.upper_bound(variable))]
            for variable in model.variables
        ],
        "objective": _expression(model.objective, model.variables),
        "constraints": [
            {
                "label": str(label),
                "left": _expression(constraint.lhs, model.variables),
                "sense": constraint.sense.value,
                "right": float(constraint.rhs),
                "weight": constraint.lhs.weight() if constraint.lhs.is_soft() else None,
                "penalty": constraint.lhs.penalty(),
            }
            for label, constraint in model.constraints.items()
        ],
    }


def _expression(expression: Any, variables: Any) -> dict[str, Any]:
    """Return the biases of an expression."""
    return {
        "offset": float(expression.offset),
        "linear": [[variables.index(v), float(bias)] for v, bias in expression.iter_linear()],
        "quadratic": [
            [variables.index(u), variables.index(v), float(bias)]
            for u, v, bias in expression.iter_quadratic()
        ],
    }


def _cases(model: Any) -> dict[str, Any]:
    """Return the biases of a discrete model."""
    names = list(model.variables)
    pairs = [
        (i, j) for i, u in enumerate(names) for j, v in enumerate(names[:i]) if v in model.adj[u]
    ]
    return {
        "offset": float(model.offset),
        "cases": [[float(bias) for bias in model.get_linear(name)] for name in names],
        "quadratic": [
            [i, j, [[*case, float(bias)] for case, bias in _pair(model, names[i], names[j])]]
            for i, j in pairs
        ],
    }


def _pair(model: Any, first: Any, second: Any) -> Any:
    return model.get_quadratic(first, second).items()


if __name__ == "__main__":
    fileview = importlib.import_module("dimod.serialization.fileview")
    json.dump(description(fileview.load(sys.stdin.buffer.read())), sys.stdout)
