"""Checks the HTML that was built: every internal link, anchor and picture has to be there."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.errors import ExtensionError


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
    broken = list(broken_targets(Path(app.outdir)))
    if broken:
        raise ExtensionError("links that lead nowhere:\n" + "\n".join(broken))


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
