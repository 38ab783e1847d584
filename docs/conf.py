"""Sphinx configuration: Markdown pages, API pages from docstrings, every example run by doctest."""

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

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
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
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

# Examples in docstrings see the names of their module: pytest runs them. The pages' own blocks run here.
doctest_test_doctest_blocks = ""
doctest_path = [str(Path(__file__).parent / "examples")]

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_sphinx = False


def _readable(app, what, name, obj, options, signature, return_annotation):
    """Defaults that a factory makes as `...`: `<factory>` is no expression, and Sphinx wraps it badly."""
    return signature and signature.replace("<factory>", "..."), return_annotation


def setup(app):
    app.connect("autodoc-process-signature", _readable)
