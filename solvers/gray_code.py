"""Exact maximisation of small quadratic pseudo-Boolean functions by exhaustion."""

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

LOW_BITS = 8
INNER_BITS = 3
BLOCK_BITS = LOW_BITS + INNER_BITS
MAX_BITS = 25
LOW_STATES = 1 << LOW_BITS
INNER_STATES = 1 << INNER_BITS
ROW = 32

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_fast = njit(fastmath={"nnan", "ninf", "nsz"}, **_OPTIONS)
_jit = njit(**_OPTIONS)


@_fast
def _scale(unary, pairwise):
    largest = 0.0
    for x in unary:
        a = abs(x)
        largest = a if a > largest else largest
    for x in pairwise:
        a = abs(x)
        largest = a if a > largest else largest
    exponent = -math.frexp(np.float64(largest))[1]
    half = exponent // 2
    return math.ldexp(1.0, half), math.ldexp(1.0, exponent - half)


@_fast
def _load(unary, pairwise, edges, weights):
    first, second = _scale(unary, pairwise)
    total = 0.0
    for i in range(len(unary)):
        x = np.float64(unary[i]) * first * second
        weights[i, i] = x
        total += abs(x)
    for k in range(len(pairwise)):
        x = np.float64(pairwise[k]) * first * second
        weights[edges[k, 1], edges[k, 0]] = x
        total += abs(x)
    return total


@_fast
def _fill_linear(table, bits, constant, weights):
    table[0] = constant
    for i in range(bits):
        size = 1 << i
        for s in range(size):
            table[size + s] = table[s] + weights[i]


@_fast
def _fill_quadratic(table, bits, fields, weights, increment):
    for i in range(bits):
        size = 1 << i
        _fill_linear(increment, i, fields[i], weights[i])
        for s in range(size):
            table[size + s] = table[s] + increment[s]


@_fast
def _fill_inner(inner, linear, weights):
    for b in range(INNER_BITS):
        for q in range(1 << b):
            cross = np.float32(0)
            for i in range(b):
                if q >> i & 1:
                    cross += weights[LOW_BITS + b, LOW_BITS + i]
            for s in range(LOW_STATES):
                inner[(1 << b) + q, s] = inner[q, s] + (linear[b, s] + cross)


@_fast
def _block_maximum(values, inner, shifts):
    best = np.float32(-np.inf)
    for s in range(LOW_STATES):
        gain = np.float32(0)
        for q in range(1, INNER_STATES):
            x = inner[q, s] + shifts[q]
            gain = x if x > gain else gain
        x = values[s] + gain
        best = x if x > best else best
    return best


@_fast
def _fill_shifts(shifts, fields):
    for b in range(INNER_BITS):
        for q in range(1 << b):
            shifts[(1 << b) + q] = shifts[q] + fields[LOW_BITS + b]


@_fast
def _step(values, parent, linear, increment):
    for s in range(LOW_STATES):
        values[s] = parent[s] + (linear[s] + increment)


@_fast
def _add_row(out, a, b):
    for j in range(ROW):
        out[j] = a[j] + b[j]


@_fast
def _walk(values, fields, linear, inner, shifts, weights, lowest, maxima):
    depth = len(values) - 1
    maxima[0] = _block_maximum(values[depth], inner, shifts * np.float32(0))
    for h in range(1, len(maxima)):
        t = lowest[h]
        p = lowest[h & (h - 1)]
        bit = BLOCK_BITS + t
        _step(values[t], values[p], linear[bit - LOW_BITS], fields[p, bit])
        _add_row(fields[t], fields[p], weights[bit])
        _fill_shifts(shifts, fields[t])
        maxima[h] = _block_maximum(values[t], inner, shifts)


@_jit
def _fill32(weights, n, weights32, increment, values, linear, inner):
    for j in range(n):
        for i in range(j + 1):
            weights32[j, i] = weights[j, i]
    depth = len(values) - 1
    for i in range(LOW_BITS):
        increment[i] = weights32[i, i]
    _fill_quadratic(values[depth], LOW_BITS, np.diag(weights32), weights32, increment)
    for j in range(LOW_BITS, n):
        _fill_linear(linear[j - LOW_BITS], LOW_BITS, weights32[j, j], weights32[j])
    _fill_inner(inner, linear, weights32)


@_fast
def _rescore(weights, n, h, fields, table, increment):
    bits = min(n, BLOCK_BITS)
    base = 0.0
    for i in range(bits):
        fields[i] = weights[i, i]
    for t in range(BLOCK_BITS, n):
        if h >> (t - BLOCK_BITS) & 1:
            base += weights[t, t]
            for i in range(BLOCK_BITS, t):
                if h >> (i - BLOCK_BITS) & 1:
                    base += weights[t, i]
            for i in range(bits):
                fields[i] += weights[t, i]
    table[0] = base
    _fill_quadratic(table, bits, fields, weights, increment)
    best = table[0]
    for s in range(1 << bits):
        best = table[s] if table[s] > best else best
    return best


@_fast
def _index(table, x):
    s = 0
    while table[s] != x:
        s += 1
    return s


@_jit
def _solve(unary, pairwise, edges, z):
    batch, n = unary.shape
    depth = max(n - BLOCK_BITS, 0)
    weights = np.zeros((n, ROW))
    table = np.empty(1 << BLOCK_BITS)
    increment = np.empty(1 << BLOCK_BITS)
    fields64 = np.empty(ROW)
    weights32 = np.zeros((n, ROW), np.float32)
    increment32 = np.zeros(LOW_STATES, np.float32)
    values = np.zeros((depth + 1, LOW_STATES), np.float32)
    fields = np.zeros((depth + 1, ROW), np.float32)
    linear = np.zeros((max(n - LOW_BITS, 0), LOW_STATES), np.float32)
    inner = np.zeros((INNER_STATES, LOW_STATES), np.float32)
    shifts = np.zeros(INNER_STATES, np.float32)
    maxima = np.zeros(1 << depth, np.float32)
    lowest = np.full(1 << depth, depth, np.uint8)
    for t in range(depth):
        for h in range(1 << t, 1 << depth, 2 << t):
            lowest[h] = t
    for b in range(batch):
        total = _load(unary[b], pairwise[b], edges, weights)
        threshold = -np.inf
        if depth:
            _fill32(weights, n, weights32, increment32, values, linear, inner)
            _walk(values, fields, linear, inner, shifts, weights32, lowest, maxima)
            threshold = maxima.max() - 2 * (n + 5) * 2.0**-24 * total
        best = -np.inf
        state = 0
        for h in range(1 << depth):
            if maxima[h] >= threshold:
                x = _rescore(weights, n, h, fields64, table, increment)
                if x > best:
                    best = x
                    state = h << BLOCK_BITS | _index(table, x)
        for i in range(n):
            z[b, i] = state >> i & 1


def gray_code_argmax(unary, pairwise, edges, threads=None):
    z = np.empty(unary.shape, np.int8)
    _solve(unary, pairwise, edges, z)
    return z
