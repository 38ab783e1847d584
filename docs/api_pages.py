"""A page a topic of the reference, made of the lists in `api/` in every build: a summary on top, then every object.

`api/solvers.md` and its sisters say what is public, one heading per topic; a page of 30,000 pixels is too long to read
of it at once.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = ("solvers", "models", "structured_vae")
ALSO = {
    "solvers-solving": "argmax, MAP, maximum a posteriori, QUBO, Ising, min cut, graph cut",
    "solvers-labels": "Viterbi, CRF, MAP of a Markov random field, Potts, alpha expansion",
    "solvers-conversions-and-files-of-labels": "UAI, WCSP, CFN, pgmpy, discrete quadratic model",
    "solvers-built-in-backends": "min cut, graph cut, QPBO, Viterbi, max-sum, branch and bound, tabu search",
    "solvers-solvers-conversions": "QUBO, Ising, max-cut, min cut, BQM",
    "solvers-the-gibbs-distribution": "partition function, sum-product, forward-backward, marginals",
    "structured_vae-gradient-estimation": "REINFORCE, score function, straight-through, Gumbel-softmax",
    "structured_vae-conditional-random-fields": "CRF, Viterbi, forward-backward, sequence tagging",
    "structured_vae-an-argmax-in-any-network": "differentiable optimisation layer, I-MLE, blackbox differentiation",
}
"""Under which other words a topic is looked for."""


@dataclass(frozen=True)
class Topic:
    """A section of a list.

    Attributes:
        package: of the list.
        title: the heading.
        body: what stands below it.
        module: the current one where the section begins.
    """

    package: str
    title: str
    body: str
    module: str

    @property
    def name(self) -> str:
        """Of its page."""
        return f"{self.package}-{re.sub(r'[^a-z0-9]+', '-', self.title.lower()).strip('-')}"

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Names as references know them, and the objects."""
        current = self.module
        for kind, name, rest in re.findall(
            r"^\.\. (\w+):: ([\w.]+)\n((?:   .*\n)*)", self.body + "\n", re.MULTILINE
        ):
            if kind == "currentmodule":
                current = name
            elif kind == "automodule" and ":members:" in rest:
                module = importlib.import_module(name)
                for each in getattr(module, "__all__", None) or own_names(module):
                    yield f"{name}.{each}", getattr(module, each)
            elif kind.startswith("auto") and kind != "automodule":
                full = name if name.split(".")[0] in PACKAGES else f"{current}.{name}"
                yield full, found(full)


def topics() -> Iterator[Topic]:
    """Of all lists, in order."""
    for package in PACKAGES:
        module = "solvers" if package == "solvers" else package
        text = (HERE / "api" / f"{package}.md").read_text(encoding="utf-8")
        for section in text.split("\n## ")[1:]:
            title, body = section.split("\n", 1)
            yield Topic(package, title.strip(), body, module)
            module = (
                re.findall(r"^\.\. currentmodule:: ([\w.]+)", body, re.MULTILINE) or [module]
            )[-1]


def own_names(module: Any) -> list[str]:
    """Public classes and functions that a module defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and callable(value)
    ]


def found(full: str) -> Any:
    """The object of a full name, whose last parts may be attributes."""
    parts = full.split(".")
    for split in range(len(parts) - 1, 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[split:]:
            value = getattr(value, attribute)
        return value
    raise LookupError(f"docs/api names {full}, which is nowhere")


def page(topic: Topic) -> str:
    """A topic in Markdown."""
    begins = topic.body.replace(
        "```{eval-rst}\n", f"```{{eval-rst}}\n.. currentmodule:: {topic.module}\n\n", 1
    )
    also = f"Also looked for as: {ALSO[topic.name]}.\n\n" if topic.name in ALSO else ""
    return f"# {topic.title}\n\n{also}{summary(topic)}\n{begins}"


def summary(topic: Topic) -> str:
    """A row an object: its name, and the first sentence of its docstring."""
    rows = [f"| {link(full, value)} | {first_line(value)} |" for full, value in topic.entries()]
    return "\n".join(["| name | what it is |", "|---|---|", *rows]) + "\n" if rows else ""


def link(full: str, value: Any) -> str:
    """To an object; constants of a module may stand on its page without an entry of their own."""
    name = full.rpartition(".")[2]
    return (
        f"{{py:obj}}`{name} <{full}>`"
        if inspect.isclass(value) or inspect.isroutine(value)
        else f"`{name}`"
    )


def first_line(value: Any) -> str:
    """Of a docstring, as a cell; nothing of constants, whose docstrings Python does not keep."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return ""
    line = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r"(?<!`)\|", r"\\|", line)


def index() -> str:
    """The first page of the reference: every topic with its names."""
    parts = [
        "# Reference\n\nA page a topic; the search finds every name, and what it is called elsewhere.\n"
    ]
    for package in PACKAGES:
        own = [topic for topic in topics() if topic.package == package]
        rows = [f"| [{topic.title}]({topic.name}.md) | {names(topic)} |" for topic in own]
        listed = "\n".join(topic.name for topic in own)
        parts.append(
            f"## {package}\n\n" + "\n".join(["| topic | names |", "|---|---|", *rows]) + "\n"
        )
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {package}\n\n{listed}\n```\n")
    return "\n".join(parts)


def names(topic: Topic) -> str:
    """Up to twelve of a topic."""
    own = [full.rpartition(".")[2] for full, _ in topic.entries()]
    return ", ".join(f"`{name}`" for name in own[:12]) + (", ..." if len(own) > 12 else "")


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    return {"index": index(), **{topic.name: page(topic) for topic in topics()}}
