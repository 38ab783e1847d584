"""Run toulbar2 in the process of a search.

The process reads the names of wcsp files from its input and writes what toulbar2 finds.

Of each file: lines of values, the best so far, as toulbar2 prints them; then `END`, the lower bound
on the costs, and whether the search found anything. A signal of interruption ends a search with
what it has.
"""

from __future__ import annotations

import ctypes
import signal
import sys

ENDLESS = 10**6
"""Seconds: who started this process keeps the time."""

DIES_WITH_PARENT = 1
"""`PR_SET_PDEATHSIG` of Linux."""


def main() -> None:
    """Searches until the input ends."""
    _end_with_parent()
    from pytoulbar2 import CFN

    for name in sys.stdin:
        network = CFN(verbose=-1)
        try:
            network.Read(name.strip())
        except network.Contradiction:
            print("END 0 nothing", flush=True)
            continue
        network.CFN.timer(ENDLESS)  # which makes it hear signals
        solution = network.Solve(showSolutions=1)
        outcome = "values"
        if solution is None:
            outcome = "nothing"
        print(f"END {network.GetDDualBound()!r} {outcome}", flush=True)


def _end_with_parent() -> None:
    """A search must not outlive who waits for it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)


if __name__ == "__main__":
    main()
