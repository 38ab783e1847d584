"""Sphinx configuration: pages in Markdown, API from docstrings, a gallery of scripts, every example run."""

import builtins
import dataclasses
import sys
import tomllib
from pathlib import Path

import jaxtyping

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import build_marks  # noqa: E402
import built_html  # noqa: E402
import navigation  # noqa: E402  # beside this file

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = PROJECT["name"]
release = version = PROJECT["version"]
author = "The structured-vae developers"
copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # formulas without a network
]
exclude_patterns = ["_build", "gallery", "generated", "api"]
# the gallery's pages are made as .rst
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

default_role = "literal"  # single backticks in docstrings are code
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88

# Every reference has to lead somewhere. What cannot: types of other packages, whose inventories
# would have to be downloaded for each build, and what Sphinx takes for types in jaxtyping's shape
# strings, such as "batch n".
nitpicky = True
# two backends of one name, of bits and of labels, in annotations
suppress_warnings = ["ref.python"]
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(torch|lightning|Tensor|jaxtyping|matplotlib|numpy|ndarray|collections\.abc|pathlib|os|types|fractions|decimal)\b.*",
    ),
    (r"py:class", r".*'|'.*"),
    (
        r"py:class",
        r"solvers\.(arrays\.(ArrayT|GivenT)|solver\.ProblemT|formats\.reader\.ReadT|(limits\.)?progress\.StatesT)",
    ),  # type variables
    (
        r"py:class",
        r"solvers\.gibbs_distribution\.(derivatives\.FreeSums|(bit_)?evidence\.(Bit)?Evidence|samples\.ProblemT)",
    ),  # of private fields, and a type variable
    (
        r"py:class",
        r"solvers\.labels\.(free_sums\.FreeLabelSums|evidence\.LabelEvidence)",
    ),  # likewise
    (
        r"py:class",
        r"(models\.priors\.causal\.InOrder|NamedClasses|solvers\.summing\.call\.(Exact)?Options|Pairs"
        r"|structured_vae\.spaces\.completions\.BitCompletions|structured_vae\.data\.binarisation\.Binarisation"
        r"|structured_vae\.vaes\.config\.encoder\.EncoderConfig|UnfitError"
        r"|models\.networks\.encoders\.hidden_layer\.PotentialsT)",
    ),  # types of parts that no user names
    # Of fields that a dataclass inherits from another file, whose names Sphinx does not resolve.
    (
        r"py:class",
        r"(np\.ndarray|ArrayT|ProblemT|Bound|Free(Label)?Sums|(Bit|Label)Evidence)",
    ),
    (
        r"py:class",
        r"solvers\.(problems\.any_problem\.AnyProblem|conversions\.any_conversion\.ProblemT|labels\.problem\.Pairs)",
    ),  # unions and type variables
    (r"py:class", r"(solvers\.solving\.(call\.Options|kinds\.SolverT)|Labels)"),  # private
    (r"py:class", r"typing_extensions\..*"),  # of another package
    (r"py:class", r"solvers\.(problems\.topology\.Topology|registry\.Registry)"),  # private
    (r"py:class", r"solvers\.(limits\.)?progress\.(Watch|Known)"),  # private
    (r"py:class", r"models\.networks\.own_networks\.Shape"),  # private
    (r"py:class", r"solvers\.conversions\.objective\.Objective"),  # private
    (r"py:class", r"(solvers\.conversions\.polynomials\.thresholds\.)?Threshold"),  # private
    (r"py:class", r"models\.priors\.prior\.Answer"),  # a type variable
]

# `solvers` imports these names for type checkers alone. Sphinx looks every annotation up.
for name in ("Bool", "Float", "Int", "UInt", "UInt8"):
    setattr(builtins, name, getattr(jaxtyping, name))

# Examples in docstrings see the names of their module: pytest runs them. The pages' own blocks run
# here.
doctest_test_doctest_blocks = ""
doctest_path = [str(HERE / "examples")]

# What scripts show depends on the library, not on the script alone: where it has changed, all of
# them run again.
LIBRARY = [HERE.parent / package for package in ("solvers", "models", "structured_vae")]
RAN = HERE / "auto_gallery" / ".library"

# What pages of the reference and tables are made of, and where: a change of either makes them
# again.
MADE = HERE / "generated" / ".made"
MADE_OF = [
    *LIBRARY,
    HERE.parent / "results",
    HERE.parent / "benchmarks",
    HERE / "api",
    *sorted(HERE.glob("*.py")),
]
MADE_IN = [HERE / folder for folder in ("generated", "reproduction", "reference")]

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": build_marks.changed(RAN, LIBRARY),
    "capture_repr": (),
    "reset_modules": ("matplotlib", "gallery_style.apply"),
    "image_srcset": ["2x"],
    "thumbnail_size": (320, 224),
    "min_reported_time": 1e9,  # the machine's load says nothing about the example
    "download_all_examples": False,
    "show_signature": False,
}

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_theme_options = {"sidebar_hide_name": False}
html_copy_source = False
html_show_sphinx = False


def _readable(app, what, name, obj, options, signature, return_annotation):
    """Defaults that a factory makes as what it makes: `<factory>` is no expression, and Sphinx wraps it badly."""
    if signature and dataclasses.is_dataclass(obj):
        made = (each.default_factory for each in dataclasses.fields(obj) if each.init)
        for factory in (each for each in made if each is not dataclasses.MISSING):
            shown = repr(factory())
            signature = signature.replace("<factory>", "..." if "<" in shown else shown, 1)
    return signature and signature.replace("<factory>", "..."), return_annotation


COLON = "\0"


def _hide_colon(app, what, name, obj, options, lines):
    """Napoleon takes what stands before a colon in an attribute's first line for its type; ours is a sentence."""
    if what in ("attribute", "data", "property"):
        lines[0] = lines[0].replace(":", COLON)


def _show_colon(app, what, name, obj, options, lines):
    lines[:] = [line.replace(COLON, ":") for line in lines]


def _make_pages(app):
    """Where nothing has changed, what makes them is not imported, and with it torch, which takes seconds."""
    if build_marks.changed(MADE, [*MADE_OF, *MADE_IN]):
        import generated_pages

        generated_pages.write(app)
        build_marks.keep(MADE, [*MADE_OF, *MADE_IN])


def _keep_gallery(app, error):
    if (
        error is None
        and app.builder.name == "html"
        and app.config.plot_gallery not in (False, "False", "0")
    ):
        build_marks.keep(RAN, LIBRARY)


def setup(app):
    app.connect("builder-inited", _make_pages)
    app.connect("autodoc-process-docstring", _hide_colon, priority=400)
    app.connect("autodoc-process-docstring", _show_colon, priority=600)
    app.connect("autodoc-process-signature", _readable)
    app.connect("write-started", navigation.prepare)
    app.connect("build-finished", built_html.check)
    app.connect("build-finished", _keep_gallery)
