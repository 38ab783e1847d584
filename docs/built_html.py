"""What is done to the HTML that was built, whose pictures come late, and what has to be true of it.

Every internal link, anchor and picture is there, no page is heavy, and the search knows the words
of other fields.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.errors import ExtensionError

HEAVIEST = 300_000
"""Bytes of a page without its pictures."""

WORDS = ("qubo", "viterbi", "crf", "reinforc", "cut", "graph", "min", "ise")
"""Stems of what a visitor may look for: the last is that of Ising."""


class Page(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = {""}
        self.targets: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value is not None}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        self.targets.update(found[name] for name in ("href", "src") if name in found)


def check(app, error: Exception | None) -> None:
    """Ends a build of HTML with an error if something on a page leads nowhere."""
    if error is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    for path in folder.rglob("*.html"):
        fetch_late(path)
    broken = list(broken_targets(folder))
    if broken:
        raise ExtensionError("links that lead nowhere:\n" + "\n".join(broken))
    heavy = [f"{path.relative_to(folder)}: {size:,} bytes" for path, size in heavy_pages(folder)]
    if heavy:
        raise ExtensionError(f"pages of more than {HEAVIEST:,} bytes:\n" + "\n".join(heavy))
    missing = unknown_words(folder / "searchindex.js")
    if missing:
        raise ExtensionError(f"the search does not find {missing}: say them on docs/coming_from.md")


def fetch_late(path: Path) -> None:
    """Lets the pictures of a page wait until they come into view, but for the first, which may be seen at once."""
    text = path.read_text(encoding="utf-8")
    first, *others = re.split(r"(?=<img )", text)
    parts = [
        each
        if "loading=" in each.split(">")[0]
        else each.replace("<img ", '<img loading="lazy" ', 1)
        for each in others
    ]
    if (late := "".join([first, *others[:1], *parts[1:]])) != text:
        path.write_text(late, encoding="utf-8")


def heavy_pages(folder: Path):
    """Pages that are too heavy, with their bytes; but for lists of all names and of code."""
    for path in folder.rglob("*.html"):
        size = path.stat().st_size
        if size > HEAVIEST and path.name != "genindex.html" and "_modules" not in path.parts:
            yield path, size


def unknown_words(index: Path) -> list[str]:
    """Words of `WORDS` that are not in the index of the search."""
    terms = json.loads(re.search(r"\{.*\}", index.read_text(encoding="utf-8"), re.DOTALL)[0])
    known = {**terms["terms"], **terms["titleterms"]}
    return [word for word in WORDS if word not in known]


def broken_targets(folder: Path):
    """`page: target` for each internal target that is missing."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    for path, page in pages.items():
        for target in sorted(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not file.exists() or (file in pages and anchor not in pages[file].anchors):
                yield f"{path.relative_to(folder)}: {target}"
