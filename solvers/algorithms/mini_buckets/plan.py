"""Plan which terms and messages are summed together when tables must stay narrow.

Variables are eliminated in a greedy order. The bucket of a variable contains the terms and messages
that depend on it and on no variable eliminated before. If they depend on too many variables
together, the bucket is split into mini-buckets, which are maximised separately. The sum of maxima
bounds the maximum of the sum.

References:
    Dechter and Rish, 2003. Mini-buckets: a general scheme for bounded inference. Journal of the ACM
    50.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...arrays import Edges
from ...limits.deadline import Deadline


class Layout(NamedTuple):
    """The arrays that the kernels read; mini-buckets are numbered in the order of their filling.

    Attributes:
        order: `[n]`, variables in the order of elimination.
        minis: `[n + 1]`, by step of the order, the first mini-bucket of its variable.
        scopes: `[minis + 1]`, the first of the variables of each, without its bucket's own.
        variables: `[bits]`, the variables of all scopes. The state of the k-th is bit k of an
            entry's index; that of the bucket's own variable is the highest.
        tables: `[minis + 1]`, the first entry of each table.
        terms: `[minis + 1]`, the first of the pairwise terms of each.
        term_edges: `[terms]`, the edge of each term.
        term_bits: `[terms]`, the bit of its other variable.
        reads: `[minis + 1]`, the first of the messages that each receives.
        sources: `[reads]`, the mini-bucket that a message comes from.
        places: `[places]`, for one message after the other: the bit, in the reader, of each of its
            variables.
        place_starts: `[reads + 1]`, the first place of each message.
        shared: `[bits]`, for the mini-buckets of split buckets: the bits of the variables that all
            mini-buckets of the bucket share, its own first, in the same order.
        shared_starts: `[minis + 1]`, the first shared bit of each.
    """

    order: np.ndarray
    minis: np.ndarray
    scopes: np.ndarray
    variables: np.ndarray
    tables: np.ndarray
    terms: np.ndarray
    term_edges: np.ndarray
    term_bits: np.ndarray
    reads: np.ndarray
    sources: np.ndarray
    places: np.ndarray
    place_starts: np.ndarray
    shared: np.ndarray
    shared_starts: np.ndarray


@dataclass
class _Mini:
    """A mini-bucket: its variables, its pairwise terms and the sources of its messages."""

    scope: set[int]
    edges: list[tuple[int, int]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)


def mini_bucket_layout(
    n: int, edges: Edges, order: np.ndarray, limit: int, deadline: Deadline
) -> Layout | None:
    """Return the mini-buckets of at most `limit` variables beside their own; None out of time.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.
        order: `[n]`, the order of elimination.
        limit: maximum number of variables, at least 1.
        deadline: the deadline; building the arrays in the end may take as long as the steps
            before.
    """
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    rank = place.tolist()
    pairs: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for e, (i, j) in enumerate(edges.tolist()):
        # A pair belongs to the bucket of the end that is eliminated first.
        first, other = sorted((i, j), key=rank.__getitem__)
        pairs[first].append((e, other))
    messages: list[list[int]] = [[] for _ in range(n)]
    minis: list[_Mini] = []
    starts = [0]
    # A plan may take half of the time: the other half is for the tables and the search.
    halfway = deadline.within(0.5 * deadline.left)
    for v in order.tolist():
        if halfway.passed:
            return None
        minis += _split(pairs[v], messages[v], minis, v, limit)
        for number in range(starts[-1], len(minis)):
            if minis[number].scope:
                # A message goes to the first of its variables that is eliminated.
                reader = min(minis[number].scope, key=rank.__getitem__)
                messages[reader].append(number)
        starts.append(len(minis))
    return _layout(order, np.array(starts), minis, rank)


def _split(
    pairs: list[tuple[int, int]], messages: list[int], filled: list[_Mini], v: int, limit: int
) -> list[_Mini]:
    """Return the mini-buckets of v: the widest message first, each into the fullest that fits."""
    minis: list[_Mini] = []
    for source in sorted(messages, key=lambda number: -len(filled[number].scope)):
        _home(minis, filled[source].scope - {v}, limit).sources.append(source)
    for edge, other in pairs:
        _home(minis, {other}, limit).edges.append((edge, other))
    return minis or [_Mini(set())]


def _home(minis: list[_Mini], scope: set[int], limit: int) -> _Mini:
    """Return the fullest mini-bucket that `scope` fits into, or a new one, and widen it."""
    fitting = [mini for mini in minis if len(mini.scope | scope) <= limit]
    if not fitting:
        minis.append(_Mini(set()))
        fitting = minis[-1:]
    home = max(fitting, key=lambda mini: (len(mini.scope & scope), len(mini.scope)))
    home.scope |= scope
    return home


def _layout(order: np.ndarray, starts: np.ndarray, minis: list[_Mini], rank: list[int]) -> Layout:
    """Return the arrays of all mini-buckets; `starts [n + 1]` says which belong to a step."""
    scopes = [sorted(mini.scope, key=rank.__getitem__) for mini in minis]
    owners = np.repeat(order, np.diff(starts)).tolist()
    # By mini-bucket, the bit of each of its variables; the bucket's own variable has the highest.
    bits = [
        {u: bit for bit, u in enumerate([*scope, owner])}
        for scope, owner in zip(scopes, owners, strict=True)
    ]
    scope_starts, variables = _in_one_row(scopes)
    term_starts, term_edges = _in_one_row([[edge for edge, _ in mini.edges] for mini in minis])
    read_starts, sources = _in_one_row([mini.sources for mini in minis])
    place_starts, places = _in_one_row(_message_bits(scopes, minis, bits))
    shared_starts, shared = _in_one_row(_shared_bits(scopes, starts.tolist(), owners, bits))
    # An entry for both values of the bucket's own variable and of each variable of the scope.
    tables = [2 << len(scope) for scope in scopes]
    term_bits = [[bits[m][u] for _, u in mini.edges] for m, mini in enumerate(minis)]
    return Layout(
        order=order.astype(np.int64),
        minis=starts.astype(np.int64),
        scopes=scope_starts,
        variables=variables,
        tables=_starts(tables),
        terms=term_starts,
        term_edges=term_edges,
        term_bits=_in_one_row(term_bits)[1],
        reads=read_starts,
        sources=sources,
        places=places,
        place_starts=place_starts,
        shared=shared,
        shared_starts=shared_starts,
    )


def _message_bits(
    scopes: list[list[int]], minis: list[_Mini], bits: list[dict[int, int]]
) -> list[list[int]]:
    """Return the reader's bits of the variables of each message, in the order of the readers."""
    return [
        [bits[reader][u] for u in scopes[source]]
        for reader, mini in enumerate(minis)
        for source in mini.sources
    ]


def _shared_bits(
    scopes: list[list[int]], starts: list[int], owners: list[int], bits: list[dict[int, int]]
) -> list[list[int]]:
    """Return, by mini-bucket, the bits of the variables that all of its bucket share."""
    rows = []
    for first, last in pairwise(starts):
        common = sorted(set.intersection(*map(set, scopes[first:last])))
        variables = (owners[first], *common)
        rows += [[bits[number][u] for u in variables] for number in range(first, last)]
    return rows


def _starts(lengths: list[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _in_one_row(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row starts `[rows + 1]`, and all values one after the other."""
    values = [value for row in rows for value in row]
    return _starts([len(row) for row in rows]), np.array(values, np.int64)
