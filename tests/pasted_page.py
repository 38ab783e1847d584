"""Pastes the blocks of a page of `docs/` in order, as a reader would, into the folder that it runs in.

It is run by the Python of an environment that has the wheel, and knows nothing of the checkout but
the page: `python pasted_page.py docs/tutorial.md`. Blocks in `python`, `{testcode}` and `{doctest}`
go into one session of Python, those in `shell` into bash; what a page says comes out has to come
out. What prepares and clears Sphinx's own run is not there for a reader, and so not here.

- A line `% not pasted: REASON` leaves out the block below it: one that takes hours, another
  machine, or a server.
- Lines of shell that make an environment or install into it are left out; whoever calls this has
  done so.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

BLOCK = re.compile(
    r"(?:^% not pasted: ([^\n]+)\n+)?^```([^\n`]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
INSTALLS = re.compile(r"(python3? -m venv|\. \.venv|pip (install|wheel)|git clone|cd )")
SHELL, PYTHON, DOCTEST, OUTPUT = "shell", ("python", "{testcode}"), "{doctest}", "{testoutput}"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        line: of the page, counted from 1.
        kind: what stands behind the fence.
        text: of the block, without options of a directive.
        options: of the directive.
        reason: why it is not pasted; empty where it is.
    """

    line: int
    kind: str
    text: str
    options: str
    reason: str


def blocks(page: Path) -> Iterator[Block]:
    """Those of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        reason, kind, body = found.groups()
        options, inner = re.match(r"((?::[\w-]+:[^\n]*\n)*)\n?(.*)", body, re.DOTALL).groups()
        if kind.startswith("{literalinclude}"):
            inner, kind = included(page.parent / kind.split()[1], options), "python"
        yield Block(text.count("\n", 0, found.start(2)) + 1, kind, inner, options, reason or "")


def included(file: Path, options: str) -> str:
    """The lines of a file that a page shows."""
    chosen, text = dict(re.findall(r":([\w-]+): (.*)", options)), file.read_text(encoding="utf-8")
    if "pyobject" in chosen:
        return re.search(
            rf"^(?:class|def) {chosen['pyobject']}\b.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL
        )[0]
    begin = text.index(chosen["start-at"])
    return text[begin : text.index(chosen["end-before"], begin)]


class Session:
    """What a reader has open: one Python, one folder."""

    def __init__(self) -> None:
        self.names = {"__name__": "__main__"}
        self.printed = ""
        self.ran = 0

    def paste(self, block: Block) -> None:
        """Runs a block; an error of it, or other words than the page's, is an error here."""
        if block.kind == SHELL:
            self._shell(block.text)
        elif block.kind in PYTHON:
            with redirect_stdout(StringIO()) as printed:
                exec(compile(block.text, f"line {block.line}", "exec"), self.names)  # noqa: S102  # our own page
            self.printed = printed.getvalue()
        elif block.kind == DOCTEST:
            self._doctest(block)
        elif block.kind == OUTPUT:
            self._compare(block)
        else:
            return
        self.ran += 1

    def _shell(self, text: str) -> None:
        lines = [line for line in text.splitlines() if not INSTALLS.match(line)]
        if any(line.strip() for line in lines):
            subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(lines)], check=True)  # noqa: S607

    def _doctest(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, {}, "page", None, block.line)
        test.globs = self.names  # no copy: functions of a block before see the names of this one
        report = StringIO()
        flags = doctest.ELLIPSIS  # the default of Sphinx, with the next
        flags |= doctest.IGNORE_EXCEPTION_DETAIL | doctest.DONT_ACCEPT_TRUE_FOR_1
        found = doctest.DocTestRunner(optionflags=flags).run(
            test, out=report.write, clear_globs=False
        )
        if found.failed:
            raise AssertionError(report.getvalue())

    def _compare(self, block: Block) -> None:
        flags = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1
        if not doctest.OutputChecker().check_output(block.text, self.printed, flags):
            raise AssertionError(f"the page says\n{block.text}and what came is\n{self.printed}")


def main(page: Path) -> None:
    """Pastes a page, and says what of it."""
    session = Session()
    for block in blocks(page):
        where = f"{page.name}:{block.line} {block.kind}"
        if block.reason:
            print(f"{where}: not pasted: {block.reason}", flush=True)
            continue
        before = session.ran
        try:
            session.paste(block)
        except Exception as error:
            raise SystemExit(f"{where} fails: {type(error).__name__}: {error}") from error
        if session.ran > before:
            print(f"{where}: done", flush=True)
    print(f"{page.name}: {session.ran} blocks", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
