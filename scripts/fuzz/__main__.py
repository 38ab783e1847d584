"""Makes the calls, and reports what was foreign, false or slow: `python -m scripts.fuzz --count 20000`."""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from .calls import made
from .draws import Draw
from .verdicts import Verdict, judged

SLOW = 1.0
"""Seconds of CPU after which a call is named in the report."""

STUCK = 60
"""Seconds of CPU after which a call is given up, as a foreign `TimeoutError`."""

MEMORY = 6 << 30
"""Bytes that the process may take; more is a `MemoryError`."""


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 if anything was foreign or false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of all calls")
    parser.add_argument("--count", type=int, default=20_000, help="calls")
    parser.add_argument("--only", type=int, help="the number of one call, to see its traceback")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        prepare(folder)
        if options.only is not None:
            return _alone(options.seed, options.only)
        return _all(options.seed, options.count)


def _all(seed: int, count: int) -> int:
    """Make all calls and print the report; return 1 if anything was foreign or false."""
    verdicts: list[Verdict] = []
    try:
        verdicts.extend(_limited(seed, number) for number in tqdm(range(count), disable=None))
    except KeyboardInterrupt:
        print(f"stopped after {len(verdicts)} calls")
    print(report(verdicts))
    return int(any(verdict.kind not in ("fine", "ours") for verdict in verdicts))


def prepare(folder: str) -> None:
    """Bound memory, keep data sets from being downloaded, and make warnings errors.

    Args:
        folder: empty, where data sets are looked for.
    """
    if (
        "STRUCTURED_VAE_KERNEL_FOLDER" not in os.environ
    ):  # AddressSanitizer needs more, and has a limit of its own
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.environ["STRUCTURED_VAE_DATA"] = folder
    os.environ["XDG_CACHE_HOME"] = folder
    faulthandler.enable()
    warnings.simplefilter("error")
    signal.signal(signal.SIGPROF, _stuck)


def report(verdicts: Iterable[Verdict]) -> str:
    """Counts by call, then what is wrong by its place, with the numbers to make it again."""
    calls: dict[str, Counter[str]] = defaultdict(Counter)
    groups: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    slow = []
    for verdict in verdicts:
        calls[verdict.call][verdict.kind] += 1
        if verdict.kind not in ("fine", "ours"):
            groups[verdict.kind, verdict.group.partition(": ")[0]].append(verdict)
        if verdict.seconds > SLOW:
            slow.append(verdict)
    kinds = ("fine", "ours", "foreign", "false", "long", "unmade")
    lines = [f"{'call':32}" + "".join(f"{kind:>9}" for kind in kinds)]
    rows = {**dict(sorted(calls.items())), "all": sum(calls.values(), Counter())}
    lines += [
        f"{name:32}" + "".join(f"{row[kind]:9}" for kind in kinds) for name, row in rows.items()
    ]
    for (kind, group), found in sorted(groups.items(), key=lambda item: -len(item[1])):
        names = ", ".join(sorted({each.call for each in found}))
        lines += [
            f"\n{len(found)} {kind}: {group}",
            f"    {found[0].group}",
            f"    {names}; calls ",
        ]
        lines[-1] += ", ".join(str(each.number) for each in found[:5])
    for each in slow:
        lines.append(
            f"\nslow: {each.seconds:.1f} s, {each.call}, call {each.number}, {each.kind} {each.group}"
        )
    return "\n".join(lines)


def _limited(seed: int, number: int) -> Verdict:
    signal.setitimer(signal.ITIMER_PROF, STUCK)
    try:
        return judged(seed, number)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _stuck(*_: Any) -> None:
    raise TimeoutError(f"more than {STUCK} s")


def _alone(seed: int, number: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        name, call = made(Draw(seed, number), Path(folder))
        print(
            name,
            getattr(call, "__closure__", None)
            and [cell.cell_contents for cell in call.__closure__],
        )
        try:
            print(call())
        except Exception:
            traceback.print_exc()
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
