"""Read DIMACS maximum-flow networks as minimum cuts."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace

import numpy as np

from ...conversions.conversion import Conversion
from ...conversions.graph.cuts import from_min_cut
from ..parsing.text import TextFile, shown

ARC_BYTES = 8
"""Least number of bytes of a line, "a 1 2 3" and its end."""


def read_dimacs(text: TextFile) -> Conversion:
    """Read a minimum cut, whose capacity is the maximum flow; see `from_min_cut`.

    The lines are "p max n m", then "n v s" and "n v t" for source and sink, and "a u v capacity".

    Nodes are numbered from 1.

    Raises:
        ProblemFileError: the file has another form.
    """
    rows = text.rows()
    network = _header(text, next(rows, []))
    for row in rows:
        if row[0] == b"a" and len(row) == 4:
            network.add_arc(row)
        elif row[0] == b"n" and len(row) == 3:
            network.add_terminal(row)
        else:
            raise text.error(
                f"expected 'n v s', 'n v t' or 'a u v capacity'; the line has {len(row)} words and "
                f"starts with {shown(row[0])}"
            )
    return network.conversion()


@dataclass
class _Network:
    """The nodes and arcs of the lines so far."""

    text: TextFile
    n: int
    count: int
    terminals: dict[bytes, int] = field(default_factory=dict)
    ends: array[int] = field(default_factory=lambda: array("q"))
    capacities: array[float] = field(default_factory=lambda: array("d"))

    def add_arc(self, row: list[bytes]) -> None:
        if len(self.capacities) == self.count:
            raise self.text.error(f"the header claims {self.count} arcs, but there are more")
        self.ends.extend(self.text.integer(word, "a node", 1, self.n) - 1 for word in row[1:3])
        capacity = self.text.number(row[3], "the capacity")
        if capacity < 0:
            raise self.text.error(f"the capacity is {capacity}; it must be >= 0")
        self.capacities.append(capacity)

    def add_terminal(self, row: list[bytes]) -> None:
        if row[2] not in (b"s", b"t") or row[2] in self.terminals:
            raise self.text.error(f"expected one source s and one sink t; got {shown(row[2])}")
        self.terminals[row[2]] = self.text.integer(row[1], "a node", 1, self.n) - 1

    def conversion(self) -> Conversion:
        if len(self.capacities) != self.count:
            raise self.text.error(
                f"the header claims {self.count} arcs, but the file ends after "
                f"{len(self.capacities)}"
            )
        source = self.terminals.get(b"s")
        sink = self.terminals.get(b"t")
        if source is None or sink is None:
            raise self.text.error(
                "the file ends without 'n v s' and 'n v t', the source and the sink"
            )
        arcs = np.asarray(self.ends, np.int64).reshape(-1, 2)
        capacities = np.asarray(self.capacities, np.float64)
        conversion = from_min_cut(self.n, arcs, capacities, source, sink)
        return replace(conversion, names=range(1, self.n + 1))


def _header(text: TextFile, row: list[bytes]) -> _Network:
    if len(row) != 4 or row[:2] != [b"p", b"max"]:
        raise text.error("expected the header 'p max n m'")
    n = text.integer(row[2], "n", 2, 2**62)
    count = text.integer(row[3], "m", 0, 2**62)
    text.check_claim(n, count, ARC_BYTES)
    return _Network(text, n, count)
