"""The navigation beside every page, made of the titles of pages alone.

Furo asks Sphinx for a tree of titles on every page. Sphinx copies the headings and the objects of
all pages for it, and then drops them, which takes most of the time in which pages are written.
"""

from functools import partial

from docutils import nodes
from sphinx import addnodes


def prepare(app, builder):
    """Make the titles of all pages once, and let the tree of each page be made of them."""
    titles = {name: titles_of(toc) for name, toc in app.env.tocs.items()}
    app.connect("html-page-context", partial(_use_titles, titles), priority=400)  # before furo


def titles_of(toc: nodes.bullet_list) -> nodes.bullet_list:
    """Return the title of a page and the trees of pages below it, without headings and objects."""
    kept = toc.deepcopy()
    for entry in kept.children:
        if len(entry) > 1:
            subtrees = list(entry.findall(addnodes.toctree))
            if subtrees:
                entry[1][:] = subtrees
            else:
                entry.pop(1)
    return kept


def _use_titles(titles, app, pagename, templatename, context, doctree):
    whole_tree = context["toctree"]

    def tree(**options):
        whole = app.env.tocs
        if options.get("titles_only"):
            app.env.tocs = titles
        try:
            return whole_tree(**options)
        finally:
            app.env.tocs = whole

    context["toctree"] = tree
