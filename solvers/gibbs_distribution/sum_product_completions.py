"""Samples at small treewidth, with one variable the other way and those drawn after it redrawn.

Steps are drawn from the last to the first, each given its separator, so P(z_v = 1 | drawn before) is one entry of
`shares`. Its derivative in the scores flows from there to the messages that the entry was made of, as probabilities
do in `sum_product`.
"""

from __future__ import annotations

import numpy as np

from ..algorithms.elimination.plan import Plan
from ..algorithms.elimination.schedule import (
    BIT_END,
    BIT_START,
    ENTRY_IN,
    ENTRY_START,
    OWN_STRIDE,
    READ_END,
    READ_START,
    STRIDE_START,
    VARIABLE,
)
from ..arrays import Pairwise, States, Unary
from ..compiled import jit
from .samples import Drawn
from .sum_product import (
    draw_steps,
    new_room,
    one_by_one,
    over_lanes,
    spread,
    sum_out_all,
)


@jit.strict
def _steps_of(steps):
    """The step that eliminates each variable."""
    found = np.empty(len(steps), np.int64)
    for t in range(len(steps)):
        found[steps[t, VARIABLE]] = t
    return found


@jit.strict
def _separator_state(t, steps, variables, z):
    """The place of z among the states of the separator of step t."""
    state, first_bit = 0, steps[t, BIT_START]
    for i in range(steps[t, BIT_END] - first_bit):
        state |= np.int64(z[variables[first_bit + i]]) << i
    return state


@jit.strict
def _complete(
    schedule, entries, most_reads, lanes, unary, pairwise, uniforms, chosen, z, completed, conditionals
):
    steps, variables, edges, reads, strides, _ = schedule
    arrays = (steps, edges, reads, strides)
    messages, shares = np.empty((entries, lanes)), np.empty((entries, lanes))
    fields, weights = np.empty((unary.shape[1], lanes)), np.empty((pairwise.shape[1], lanes))
    step, room = _steps_of(steps), new_room(most_reads, lanes)
    for first in range(0, len(unary), lanes):
        last = min(first + lanes, len(unary))
        sum_out_all(arrays, unary[first:last], pairwise[first:last], fields, weights, messages, shares, room)
        for b in range(first, last):
            for k in range(uniforms.shape[1]):
                draw_steps(len(steps), steps, variables, shares, b - first, uniforms[b, k], z[b, k])
                for c in range(chosen.shape[2]):
                    v, other = chosen[b, k, c], completed[b, k, c]
                    state = _separator_state(step[v], steps, variables, z[b, k])
                    conditionals[b, k, c] = shares[steps[step[v], ENTRY_START] + state, b - first]
                    other[:] = z[b, k]
                    other[v] = 1 - other[v]
                    draw_steps(step[v], steps, variables, shares, b - first, uniforms[b, k], other)


@jit.strict
def _inject(t, change, schedule, shares, lane, z, flows, ones, pairs):
    """Adds the derivative of `change` times the share of step t, given its separator in z."""
    steps, variables, edges, reads, strides, _ = schedule
    first_bit, bits = steps[t, BIT_START], steps[t, BIT_END] - steps[t, BIT_START]
    state = _separator_state(t, steps, variables, z)
    share = shares[steps[t, ENTRY_START] + state, lane]
    weight = change * share * (1.0 - share)
    ones[steps[t, VARIABLE], lane] += weight
    for i in range(bits):
        if state >> i & 1 and edges[first_bit + i] >= 0:
            pairs[edges[first_bit + i], lane] += weight
    for r in range(steps[t, READ_START], steps[t, READ_END]):
        place = reads[r, ENTRY_IN]
        for i in range(bits):
            if state >> i & 1:
                place += strides[reads[r, STRIDE_START] + i]
        flows[place, lane] -= weight
        flows[place + reads[r, OWN_STRIDE], lane] += weight


@jit.strict
def _derive(schedule, entries, most_reads, lanes, unary, pairwise, z, chosen, changes, ones, pairs):
    steps, _, edges, reads, strides, _ = schedule
    arrays = (steps, edges, reads, strides)
    messages, shares = np.empty((entries, lanes)), np.empty((entries, lanes))
    fields, weights = np.empty((unary.shape[1], lanes)), np.empty((pairwise.shape[1], lanes))
    of_variables, of_pairs = np.empty_like(fields), np.empty_like(weights)
    flows, step, room = np.empty((entries, lanes)), _steps_of(steps), new_room(most_reads, lanes)
    for first in range(0, len(unary), lanes):
        last = min(first + lanes, len(unary))
        sum_out_all(arrays, unary[first:last], pairwise[first:last], fields, weights, messages, shares, room)
        flows[:] = 0.0
        of_variables[:] = 0.0
        of_pairs[:] = 0.0
        for b in range(first, last):
            for k in range(chosen.shape[1]):
                for c in range(chosen.shape[2]):
                    t, change = step[chosen[b, k, c]], changes[b, k, c]
                    _inject(t, change, schedule, shares, b - first, z[b, k], flows, of_variables, of_pairs)
        for t in range(len(steps) - 1, -1, -1):
            spread(t, arrays, shares, flows, of_variables, of_pairs, room)
        one_by_one(of_variables, ones[first:last])
        one_by_one(of_pairs, pairs[first:last])


def complete(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    uniforms: np.ndarray,
    chosen: np.ndarray,
    threads: int | None = None,
) -> tuple[States, States, np.ndarray]:
    """Samples `[batch, samples, n]`, their completions `[batch, samples, m, n]`, and P(z_v = 1 | drawn before) of each.

    Args:
        plan: of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        uniforms: `[batch, samples, n]` in [0, 1), one a variable.
        chosen: `[batch, samples, m]`, variables.
        threads: most threads to use; None for all cores.
    """
    scores = (np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise, uniforms))
    z, completed = np.empty(uniforms.shape, np.int8), np.empty((*chosen.shape, plan.n), np.int8)
    conditionals = np.empty(chosen.shape)
    arrays = (*scores, chosen, z, completed, conditionals)
    over_lanes(_complete, plan, arrays, threads, draws=completed[0].size)
    return z, completed, conditionals


def derivative(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    drawn: Drawn,
    threads: int | None = None,
) -> np.ndarray:
    """`[batch, n + e]`: that of the sum of changes * P(z_v = 1 | drawn before) over samples and chosen v.

    Args:
        plan: of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        drawn: samples, and the changes of their variables.
        threads: most threads to use; None for all cores.
    """
    scores = (np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise))
    ones, pairs = np.empty((len(unary), plan.n)), np.empty((len(unary), plan.edges))
    arrays = (*scores, *drawn, ones, pairs)
    over_lanes(_derive, plan, arrays, threads, passes=2, draws=drawn.chosen[0].size)
    return np.concatenate((ones, pairs), axis=1)
