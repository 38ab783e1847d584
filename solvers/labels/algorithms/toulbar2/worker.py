"""Run toulbar2 in the process of a search.

The process reads the names of wcsp files from its input and writes what toulbar2 finds.

For each file, it writes lines with the best values so far, as toulbar2 prints them. Then it writes
`END`, the lower bound on the costs, and whether the search found anything. An interrupt signal ends
a search with its current result.
"""

from __future__ import annotations

import ctypes
import signal
import sys

ENDLESS = 10**6
"""Time limit in seconds, which is never reached: the parent process keeps the time."""

DIES_WITH_PARENT = 1
"""Number of `PR_SET_PDEATHSIG` on Linux."""


def main() -> None:
    """Search networks until the input ends."""
    _end_with_parent()
    from pytoulbar2 import CFN

    for name in sys.stdin:
        network = CFN(verbose=-1)
        try:
            network.Read(name.strip())
        except network.Contradiction:
            print("END 0 nothing", flush=True)
            continue
        network.CFN.timer(ENDLESS)  # so that it handles signals
        solution = network.Solve(showSolutions=1)
        outcome = "values"
        if solution is None:
            outcome = "nothing"
        print(f"END {network.GetDDualBound()!r} {outcome}", flush=True)


def _end_with_parent() -> None:
    """End this process with its parent, which waits for the search."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)


if __name__ == "__main__":
    main()
