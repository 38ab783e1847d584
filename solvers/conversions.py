"""Problems from other conventions and back, with the sign and the constant that each one needs.

Every `from_` function gives a `Conversion`, whose `value` turns a score into the original objective.
Every `to_` function writes the energy -score(z), offset included, so that its minimum is our maximum.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from .arrays import as_array, to_numpy
from .errors import ProblemError, SolverError
from .problem import Problem

Sense: TypeAlias = Literal["minimise", "maximise"]
Labels: TypeAlias = Sequence[Hashable]
Linear: TypeAlias = Float[np.ndarray, "n"]
Pairs: TypeAlias = Int[np.ndarray, "e 2"]
Weights: TypeAlias = Float[np.ndarray, "e"]


class ConversionUnavailableError(SolverError, ImportError):
    """The conversion exists but a package that it needs is not installed."""


@dataclass(frozen=True, eq=False)
class Conversion:
    """A problem that came from another convention, and the way back.

    original objective(z) = constant + sign * score(z)

    Attributes:
        problem: what to solve.
        sign: 1 where the original is maximised, -1 where it is minimised.
        constant: the original objective of a score of zero.
        labels: `[n]`, what the original calls each variable, in the order of z.

    Example:
        >>> from solvers import MaxFlow  # doctest: +SKIP
        >>> conversion = from_qubo({("a", "a"): 1.0, ("a", "b"): -3.0})
        >>> z = [1, 1]
        >>> float(conversion.value(conversion.problem.score(z))), conversion.assignment(z)
        (-2.0, {'a': 1, 'b': 1})
    """

    problem: Problem
    sign: int
    constant: float
    labels: Labels

    def value(self, score: Any) -> Any:
        """The original objective of assignments with these scores: numbers or arrays of any kind."""
        return self.constant + self.sign * score

    def score(self, value: Any) -> Any:
        """The score of assignments with these original objectives; undoes `value`."""
        return self.sign * (value - self.constant)

    def assignment(self, z: Any) -> dict[Hashable, int]:
        """The value of each variable under its original name.

        Args:
            z: `[n]` of zeros and ones.

        Raises:
            ProblemError: `z` has another shape.
        """
        states = to_numpy(as_array(z))
        if states.shape != (len(self.labels),):
            raise ProblemError(f"z must be [{len(self.labels)}]; its shape is {states.shape}")
        return dict(zip(self.labels, states.astype(int).tolist(), strict=True))


def folded(unary: Linear, pairs: Pairs, weights: Weights) -> Problem:
    """The problem of these terms: repeated pairs add up, a pair (i, i) goes to unary[i].

    Pairs whose sum is zero are left out, since solvers are faster without them.

    Args:
        unary: `[n]`.
        pairs: `[e, 2]`, in any order.
        weights: `[e]`.

    Raises:
        ProblemError: a pair lies outside 0..n-1, or a sum is not finite.

    Example:
        >>> import numpy as np
        >>> problem = folded(np.zeros(2), np.array([[1, 0], [0, 1], [1, 1]]), np.array([1.0, 2.0, 5.0]))
        >>> problem.unary.tolist(), problem.pairwise.tolist(), problem.edges.tolist()
        ([[0.0, 5.0]], [[3.0]], [[0, 1]])
    """
    n = len(unary)
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
    if len(outside):
        raise ProblemError(f"the pair {tuple(pairs[outside[0]].tolist())} has an end outside 0..{n - 1}")
    loops = pairs[:, 0] == pairs[:, 1]
    unary = unary + _sums(n, pairs[loops, 0], weights[loops])
    low, high = np.sort(pairs[~loops], axis=1).T
    codes, places = np.unique(low * n + high, return_inverse=True)
    sums = _sums(len(codes), places, weights[~loops])
    used = sums != 0
    edges = np.stack(np.divmod(codes[used], max(n, 1)), axis=-1)
    return Problem.from_arrays(unary + 0.0, sums[used], edges=edges)  # + 0.0: no negative zeros


def from_qubo(Q: Any, sense: Sense = "minimise") -> Conversion:  # noqa: N803  # its name everywhere
    """From sum_(i,j) Q[i,j] z_i z_j, every entry counted, those with i = j being the linear terms.

    Args:
        Q: a dict of label pairs, or `[n, n]` (symmetric, triangular or neither).
        sense: whether the original is minimised or maximised.

    Raises:
        ProblemError: `Q` is neither, or not finite.
        ValueError: `sense` is neither word.

    Example:
        >>> conversion = from_qubo([[1.0, -3.0], [0.0, 1.0]])
        >>> float(conversion.problem.score([1, 1])), conversion.value(1.0)
        (1.0, -1.0)
    """
    labels = _labels(_ends(Q))
    pairs, weights = _couplings(Q, labels)
    return _conversion(sense, labels, np.zeros(len(labels)), pairs, weights, 0.0)


def from_ising(h: Any, J: Any, sense: Sense = "minimise") -> Conversion:  # noqa: N803  # its name
    """From sum_i h_i s_i + sum_(i,j) J[i,j] s_i s_j with spins s = 2z - 1, every entry counted.

    Args:
        h: `[n]`, or a dict of labels.
        J: `[n, n]`, or a dict of label pairs; an entry (i, i) is a constant, since s_i^2 = 1.
        sense: whether the original is minimised or maximised.

    Raises:
        ProblemError: `h` or `J` is neither, or not finite.
        ValueError: `sense` is neither word.

    Example:
        >>> conversion = from_ising([0.5, 0.0], {(0, 1): -1.0})
        >>> float(conversion.value(conversion.problem.score([0, 0])))  # spins -1, -1
        -1.5
    """
    fields = h if isinstance(h, Mapping) else dict(enumerate(_real("h", h, 1).tolist()))
    labels = _labels((*fields, *_ends(J)))
    linear = np.zeros(len(labels))
    place = _places(labels)
    linear[[place[label] for label in fields]] = _real("h", list(fields.values()), 1)
    pairs, weights = _couplings(J, labels)
    loops = pairs[:, 0] == pairs[:, 1]
    constant = weights.sum() - linear.sum()
    pairs, weights = pairs[~loops], weights[~loops]
    # h s = 2h z - h, and J s s' = 4J z z' - 2J (z + z') + J
    ends = _sums(len(labels), pairs.ravel(), np.repeat(weights, 2))
    return _conversion(sense, labels, 2 * (linear - ends), pairs, 4 * weights, float(constant))


def from_max_cut(n: int, edges: Any, weights: Any = None) -> Conversion:
    """From the weight of the edges whose ends differ: sum_(i,j) w_ij (z_i + z_j - 2 z_i z_j), maximised.

    Args:
        n: number of vertices.
        edges: `[e, 2]` integers; parallel edges add up, loops are never cut.
        weights: `[e]`; None for ones.

    Raises:
        ProblemError: shapes that do not match, a vertex outside 0..n-1, weights that are not finite.

    Example:
        >>> triangle = from_max_cut(3, [[0, 1], [1, 2], [0, 2]])
        >>> float(triangle.value(triangle.problem.score([1, 0, 0])))
        2.0
    """
    pairs, values = _edge_list(n, edges, weights)
    crossing = pairs[:, 0] != pairs[:, 1]
    pairs, values = pairs[crossing], values[crossing]
    linear = _sums(n, pairs.ravel(), np.repeat(values, 2))
    return _conversion("maximise", range(n), linear, pairs, -2 * values, 0.0)


def from_min_cut(n: int, arcs: Any, capacities: Any, source: int, sink: int) -> Conversion:
    """From the capacity of a cut between source and sink, minimised; its minimum is the maximum flow.

    cut(z) = sum_(u,v) c_uv z_u (1 - z_v), with z = 1 on the side of the source. The problem is
    supermodular. Source and sink keep their places in z, without scores: whatever z says of them, the
    source counts as 1 and the sink as 0.

    Args:
        n: number of nodes.
        arcs: `[e, 2]` integers, from and to; parallel and opposite arcs add up.
        capacities: `[e]`, >= 0.
        source: a node.
        sink: another node.

    Raises:
        ProblemError: shapes that do not match, a node outside 0..n-1, source and sink the same,
            capacities that are negative or not finite.

    Example:
        >>> network = from_min_cut(3, [[0, 1], [1, 2]], [5.0, 3.0], source=0, sink=2)
        >>> float(network.value(network.problem.score([1, 1, 0])))
        3.0
    """
    pairs, values = _edge_list(n, arcs, capacities)
    if source == sink or not (0 <= source < n and 0 <= sink < n):
        raise ProblemError(f"source {source} and sink {sink} must be two nodes of 0..{n - 1}")
    if (values < 0).any():
        arc = int(np.flatnonzero(values < 0)[0])
        raise ProblemError(f"capacities[{arc}] is {values[arc]}; capacities must be >= 0")
    start, end = pairs.T
    cuttable = (start != end) & (start != sink) & (end != source)
    pairs, values = pairs[cuttable], values[cuttable]
    start, end = pairs.T
    leaves, enters = start == source, end == sink
    # c z_u (1 - z_v) is c (1 - z_v) from the source, c z_u into the sink
    linear = _sums(n, end[leaves & ~enters], values[leaves & ~enters])
    linear -= _sums(n, start[~leaves], values[~leaves])
    inner = ~leaves & ~enters
    constant = float(values[leaves].sum())
    return _conversion("minimise", range(n), -linear, pairs[inner], -values[inner], constant)


def from_networkx(graph: Any, unary: str = "unary", pairwise: str = "pairwise") -> Conversion:
    """From the scores on the nodes and edges of a networkx graph, maximised.

    Args:
        graph: directed or not; parallel and opposite edges add up, a loop goes to its node.
        unary: the node attribute.
        pairwise: the edge attribute.

    Raises:
        ProblemError: a node or an edge without its attribute, or with one that is not a finite number.

    Example:
        >>> import networkx
        >>> graph = networkx.Graph([("a", "b", {"pairwise": 2.0})])
        >>> networkx.set_node_attributes(graph, {"a": -1.0, "b": 0.5}, "unary")
        >>> float(from_networkx(graph).problem.score([1, 1]))
        1.5
    """
    nodes, edges = dict(graph.nodes(data=unary)), list(graph.edges(data=pairwise))
    for place, value in (*nodes.items(), *((f"({u}, {v})", value) for u, v, value in edges)):
        if value is None:
            raise ProblemError(f"{place} has no score; nodes need '{unary}' and edges '{pairwise}'")
    place = _places(tuple(nodes))
    pairs = np.array([(place[u], place[v]) for u, v, _ in edges], np.int64).reshape(-1, 2)
    linear = _real(unary, list(nodes.values()), 1)
    weights = _real(pairwise, [value for *_, value in edges], 1)
    return _conversion("maximise", tuple(nodes), linear, pairs, weights, 0.0)


def from_dimod(bqm: Any) -> Conversion:
    """From a dimod binary quadratic model, of binaries or spins, minimised.

    Raises:
        ProblemError: not a binary quadratic model.
    """
    kind = getattr(getattr(bqm, "vartype", None), "name", None)
    if kind not in ("BINARY", "SPIN") or not hasattr(bqm, "quadratic"):
        raise ProblemError(f"expected a dimod.BinaryQuadraticModel; got {type(bqm).__name__}")
    linear, quadratic = dict(bqm.linear), dict(bqm.quadratic)
    if kind == "SPIN":
        found = from_ising(linear, quadratic)
    else:
        found = from_qubo({**{(label, label): bias for label, bias in linear.items()}, **quadratic})
    return replace(found, constant=found.constant + float(bqm.offset))


def to_qubo(problem: Problem, labels: Labels | None = None) -> dict[tuple[Hashable, Hashable], float]:
    """The entries Q[i, j], i <= j, of -score(z) = sum Q[i,j] z_i z_j; every (i, i) is there.

    Args:
        problem: one instance.
        labels: `[n]`, names of the variables; None for 0..n-1.

    Raises:
        ProblemError: `problem` is a batch, or `labels` does not fit.

    Example:
        >>> to_qubo(Problem.from_arrays([1.0, -2.0], [[0.0, 3.0], [0.0, 0.0]]))
        {(0, 0): -1.0, (1, 1): 2.0, (0, 1): -3.0}
    """
    names, unary, pairs, weights = _energy(problem, labels)
    linear = {(name, name): bias for name, bias in zip(names, unary.tolist(), strict=True)}
    return {**linear, **_named(names, pairs, weights)}  # type: ignore[dict-item]  # labels are any hashables


def to_ising(
    problem: Problem, labels: Labels | None = None
) -> tuple[dict[Hashable, float], dict[tuple[Hashable, Hashable], float], float]:
    """(h, J, offset) with -score(z) = sum h_i s_i + sum J[i,j] s_i s_j + offset, spins s = 2z - 1.

    Args:
        problem: one instance.
        labels: `[n]`, names of the variables; None for 0..n-1.

    Raises:
        ProblemError: `problem` is a batch, or `labels` does not fit.

    Example:
        >>> to_ising(Problem.from_arrays([0.0, 0.0], [[0.0, 4.0], [0.0, 0.0]]))
        ({0: -1.0, 1: -1.0}, {(0, 1): -1.0}, -1.0)
    """
    names, unary, pairs, weights = _energy(problem, labels)
    ends = _sums(len(names), pairs.ravel(), np.repeat(weights, 2))
    # z = (s + 1) / 2, so z z' = (s s' + s + s' + 1) / 4
    fields = dict(zip(names, (unary / 2 + ends / 4).tolist(), strict=True))
    return fields, _named(names, pairs, weights / 4), float(unary.sum() / 2 + weights.sum() / 4)


def to_networkx(problem: Problem, labels: Labels | None = None) -> Any:
    """A networkx graph with the scores as node attribute `unary` and edge attribute `pairwise`.

    Args:
        problem: one instance.
        labels: `[n]`, names of the nodes; None for 0..n-1.

    Raises:
        ProblemError: `problem` is a batch, or `labels` does not fit.

    Example:
        >>> to_networkx(Problem.from_arrays([1.0, -2.0], [[0.0, 3.0], [0.0, 0.0]])).edges(data=True)
        EdgeDataView([(0, 1, {'pairwise': 3.0})])
    """
    import networkx as nx

    names, unary, pairs, weights = _energy(problem, labels)
    graph = nx.Graph()
    graph.add_nodes_from((name, {"unary": -bias}) for name, bias in zip(names, unary.tolist(), strict=True))
    couplings = _named(names, pairs, weights).items()
    graph.add_edges_from((u, v, {"pairwise": -weight}) for (u, v), weight in couplings)
    return graph


def to_dimod(problem: Problem, labels: Labels | None = None) -> Any:
    """A dimod binary quadratic model whose energy is -score(z).

    Args:
        problem: one instance.
        labels: `[n]`, names of the variables; None for 0..n-1.

    Raises:
        ConversionUnavailableError: dimod is not installed.
        ProblemError: `problem` is a batch, or `labels` does not fit.
    """
    if importlib.util.find_spec("dimod") is None:
        raise ConversionUnavailableError("to_dimod needs dimod: pip install dimod")
    dimod = importlib.import_module("dimod")
    names, unary, pairs, weights = _energy(problem, labels)
    linear = dict(zip(names, unary.tolist(), strict=True))
    return dimod.BinaryQuadraticModel(linear, _named(names, pairs, weights), 0.0, dimod.BINARY)


def _conversion(
    sense: Sense, labels: Labels, linear: Linear, pairs: Pairs, weights: Weights, constant: float
) -> Conversion:
    """The conversion from the objective constant + linear z + weights z z'."""
    if sense not in ("minimise", "maximise"):
        raise ValueError(f"sense must be 'minimise' or 'maximise'; got {sense!r}")
    if not math.isfinite(constant):
        raise ProblemError(f"the constant terms add up to {constant}; divide all terms by a constant")
    sign = 1 if sense == "maximise" else -1
    return Conversion(folded(sign * linear, pairs, sign * weights), sign, constant, labels)


def _sums(n: int, places: Any, weights: Weights) -> Linear:
    return np.bincount(places, weights=weights, minlength=n)


def _real(name: str, values: Any, dimensions: int) -> np.ndarray:
    """`values` as float64 of so many dimensions."""
    try:
        array = to_numpy(as_array(values))
    except ValueError as error:
        raise ProblemError(f"{name} is no array: {error}") from error
    if array.size == 0:
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf" or array.ndim != dimensions:
        raise ProblemError(
            f"{name} must hold real numbers [{dimensions} dimensions]; got {array.dtype} {array.shape}"
        )
    return array.astype(np.float64)


def _edge_list(n: int, edges: Any, weights: Any) -> tuple[Pairs, Weights]:
    pairs = to_numpy(as_array(edges))
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ProblemError(f"edges must be integers [e, 2]; got {pairs.dtype} {pairs.shape}")
    values = np.ones(len(pairs)) if weights is None else _real("weights", weights, 1)
    if len(values) != len(pairs):
        raise ProblemError(f"{len(pairs)} edges came with {len(values)} weights")
    if ((pairs < 0) | (pairs >= n)).any():
        raise ProblemError(f"edges must join 0..{n - 1}; they reach {pairs.min()}..{pairs.max()}")
    return pairs.astype(np.int64), values


def _ends(couplings: Any) -> Iterable[Hashable]:
    """The labels that a dict of pairs, or a matrix, speaks of."""
    if not isinstance(couplings, Mapping):
        return range(len(_square(couplings)))
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in couplings):
        raise ProblemError("a dict of couplings must map pairs of labels to numbers")
    return (label for pair in couplings for label in pair)


def _square(values: Any) -> np.ndarray:
    matrix = _real("the couplings", values, 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ProblemError(f"a matrix of couplings must be square; its shape is {matrix.shape}")
    return matrix


def _labels(found: Iterable[Hashable]) -> Labels:
    """The different labels: in order where all are integers, else as they come."""
    labels = list(dict.fromkeys(found))
    return tuple(sorted(labels)) if all(isinstance(label, int) for label in labels) else tuple(labels)  # type: ignore[type-var]  # integers


def _places(labels: Labels) -> dict[Hashable, int]:
    return {label: place for place, label in enumerate(labels)}


def _couplings(couplings: Any, labels: Labels) -> tuple[Pairs, Weights]:
    place = _places(labels)
    if isinstance(couplings, Mapping):
        ends = [(place[i], place[j]) for i, j in couplings]
        pairs = np.array(ends, np.int64).reshape(-1, 2)
        return pairs, _real("the couplings", list(couplings.values()), 1)
    matrix = _square(couplings)
    rows, columns = np.nonzero(matrix)
    order = np.array([place[i] for i in range(len(matrix))], np.int64)
    return np.stack([order[rows], order[columns]], axis=-1), matrix[rows, columns]


def _energy(problem: Problem, labels: Labels | None) -> tuple[Labels, Linear, Pairs, Weights]:
    """Names, linear terms, pairs and their weights of -score(z)."""
    if problem.batch != 1:
        raise ProblemError(f"the problem is a batch of {problem.batch}; convert one instance at a time")
    names = range(problem.n) if labels is None else tuple(labels)
    if len(set(names)) != problem.n:
        raise ProblemError(f"labels must be {problem.n} different ones; got {len(set(names))}")
    host = problem.to_host()
    unary, weights = (array[0].astype(np.float64) for array in (host.unary, host.pairwise))
    return names, 0.0 - unary, host.edges, 0.0 - weights


def _named(names: Labels, pairs: Pairs, weights: Weights) -> dict[tuple[Hashable, Hashable], float]:
    ends = ((names[i], names[j]) for i, j in pairs.tolist())
    return dict(zip(ends, weights.tolist(), strict=True))
