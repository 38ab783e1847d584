"""The plan of docs/architecture.md, as far as import-linter does not hold it."""

import ast
import importlib
import re
import tomllib
from pathlib import Path

import grimp
import networkx as nx
import pytest

from solvers.registry import BUILT_IN
from structured_vae.vaes import KINDS

ROOT = Path(__file__).parents[1]
PACKAGES = ("solvers", "models", "structured_vae")
FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
INDENTED_IMPORT = re.compile(
    r"^[ \t]+(import|from)\s|;\s*(import|from)\s|:\s*(import|from)\s", re.M
)
COMMANDS = ROOT / "structured_vae" / "cli"
OPTIONAL = {
    "PIL",  # what reads no image starts without it
    "click",
    "cplex",
    "dimod",
    "docplex",
    "highspy",
    "matplotlib",  # commands that draw nothing start without it
    "maxflow",
    "networkx",
    "ortools",
    "pytoulbar2",
    "scipy",
    "sklearn",
    "streamlit",
}


def test_no_circle_of_imports():
    imports = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False)
    graph = nx.DiGraph()
    for module in imports.modules:
        graph.add_edges_from(
            (module, used) for used in imports.find_modules_directly_imported_by(module)
        )
    circles = [
        sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1
    ]
    assert graph.number_of_edges() > 500
    assert circles == []


def test_no_package_names_a_module_of_a_higher_package():
    """A name in a string would be an import that the contracts do not see."""
    higher = {
        module
        for module in grimp.build_graph("structured_vae").modules
        if module != "structured_vae"
    }
    texts = {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
        for file in FILES
        if file.relative_to(ROOT).parts[0] != "structured_vae"
    }
    named = {
        (file, node.value)
        for file, text in texts.items()
        if "structured_vae." in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in higher
    }
    assert named == set()


def statements(node):
    """All statements of a node at any depth; the expressions in them, most of the nodes, are left out."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        for statement in getattr(node, block, ()):
            yield statement
            yield from statements(statement)


def imports_inside_functions(file):
    """The modules that functions of a file import, as they are written."""
    text = file.read_text(encoding="utf-8")
    if not INDENTED_IMPORT.search(text):
        return
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            for inner in statements(node):
                if isinstance(inner, ast.ImportFrom):
                    yield "." * inner.level + (inner.module or "")
                elif isinstance(inner, ast.Import):
                    yield from (alias.name for alias in inner.names)


def test_imports_inside_functions_are_of_optional_packages():
    found = {
        (str(file.relative_to(ROOT)), module)
        for file in FILES
        for module in imports_inside_functions(file)
    }
    own = {(file, module) for file, module in found if module.partition(".")[0] not in OPTIONAL}
    # Commands that need no network start without torch. The explorer's page imports Streamlit.
    assert {(file, module) for file, module in own if COMMANDS not in (ROOT / file).parents} == {
        ("structured_vae/explorer/serve.py", ".loaded")
    }


def test_every_module_can_be_imported():
    """Other tests import only what they ask for."""
    for file in FILES:
        parts = file.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        try:
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
        except ImportError:
            # JAX is not among the packages of the tests' environment.
            assert ROOT / "structured_vae" / "jax" in file.parents, file


def test_every_folder_opens_with_its_rule():
    for folder in {file.parent for file in FILES}:
        rule = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
        assert rule, (
            f"{folder}/__init__.py: say in a sentence what lies here, and who may import it"
        )


def test_every_file_of_backends_is_a_registered_name():
    files = {file.stem for file in (ROOT / "solvers" / "backends").glob("*.py")} - {"__init__"}
    assert files == set(BUILT_IN)


def test_kinds_of_vae_ignore_each_other():
    imports = grimp.build_graph("structured_vae")
    folders = [f"structured_vae.vaes.{name}" for name in KINDS]
    assert {folder.name for folder in (ROOT / "structured_vae" / "vaes").iterdir()} >= set(KINDS)
    between = {
        (importer, imported)
        for importer in folders
        for imported in folders
        if importer != imported
        and imports.find_shortest_chains(importer, imported, as_packages=True)
    }
    # Custom networks are trained and evaluated as the discrete ones.
    assert between == {("structured_vae.vaes.own", "structured_vae.vaes.discrete")}


HEADINGS = {
    "solvers": "## The layers of `solvers`",
    "solvers.solving": "### Inside `solvers/solving`",
    "solvers.solving.one_request": "### Inside `solvers/solving/one_request`",
    "solvers.solving.bits": "### Inside `solvers/solving/bits`",
    "solvers.solving.k_best": "### Inside `solvers/solving/k_best`",
    "solvers.labels": "### Inside `solvers/labels`",
    "solvers.algorithms": "### Inside `solvers/algorithms`",
    "models": "## The layers of `models`",
    "structured_vae": "## The layers of `structured_vae`",
}


def layers_of(package):
    """Return the layer of each name of a package, counted from the top, by import-linter."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == [package]
    ]
    return {
        name: number
        for number, layer in enumerate(contract["layers"])
        for name in re.split(r" [|:] ", layer)
    }


@pytest.mark.parametrize("package", HEADINGS)
def test_the_page_of_layers_has_every_file_in_the_order_of_the_layers(package):
    page = (ROOT / "docs" / "code_layers.md").read_text(encoding="utf-8")
    section = re.split(r"^##", page.split(f"{HEADINGS[package]}\n")[1], flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| `(\w+)/?` \| (\d+) \|", section, re.MULTILINE)
    layers = layers_of(package)
    assert {name: int(number) - 1 for name, number in rows} == layers
    numbers = [int(number) for _, number in rows]
    assert numbers == sorted(numbers)


def parameters_of(function):
    """Return how many parameters a function has, without `self` and `cls`."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    others = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return len([one for one in (*named, *others) if one.arg not in ("self", "cls")])


def test_functions_of_many_parameters_are_those_of_the_decision():
    page = ROOT / "docs" / "decisions" / "0017-calls-with-many-options.md"
    rows = re.findall(r"^\| `([\w.]+)` \| (\d+) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    stated = sorted((call.rpartition(".")[2], int(count)) for call, count in rows)
    functions = {}
    for file in FILES:
        for node in statements(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                functions[file, node.name] = parameters_of(node)  # the last one is no overload
    many = sorted((name, count) for (_, name), count in functions.items() if count > 8)
    assert many == stated


def test_only_bindings_and_the_module_know_nanobind():
    files = [path for pattern in ("*.cpp", "*.hpp") for path in (ROOT / "solvers").rglob(pattern)]
    know = {path for path in files if "nanobind" in path.read_text(encoding="utf-8")}
    compiled = ROOT / "solvers" / "compiled"
    allowed = {compiled / "bindings.hpp", compiled / "module.cpp"}
    allowed |= {path for path in files if path.name == "bindings.cpp"}
    assert len(know) > 5
    assert know <= allowed
    # `bindings.hpp` includes nanobind, so kernels may not include it either.
    include = '#include "solvers/compiled/bindings.hpp"'
    assert {path for path in files if include in path.read_text(encoding="utf-8")} <= allowed
