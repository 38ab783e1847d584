"""exp and sums of exponentials of many numbers at once, in whole vectors: numba calls the C library for each by itself.

With k = round(x / log 2) and r = x - k log 2, exp(x) = 2^k exp(r) where abs(r) <= log(2) / 2: there the Taylor
polynomial of degree 13 is exact to rounding. Adding 1.5 * 2^52 rounds to an integer, and leaves it in the low
bits, from where it is shifted to the exponent's place.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import jit

LOWEST = -700.0  # exp of it is a normal number; those below would be slow, and count for nothing
INVERSE_LOG_2 = 1 / math.log(2)
ROUND = 1.5 * 2.0**52
LOG_2_HIGH = 0.693147180369123816490  # its lowest bits are zero: times k < 2^11 it is exact
LOG_2_LOW = 1.90821492927058770002e-10
MANTISSA_BITS = 52
BIAS = 1023


@jit.fused
def _taylor(r):
    """exp(r) for abs(r) <= log(2) / 2."""
    value = 1 / 6227020800
    value = value * r + 1 / 479001600
    value = value * r + 1 / 39916800
    value = value * r + 1 / 3628800
    value = value * r + 1 / 362880
    value = value * r + 1 / 40320
    value = value * r + 1 / 5040
    value = value * r + 1 / 720
    value = value * r + 1 / 120
    value = value * r + 1 / 24
    value = value * r + 1 / 6
    value = value * r + 1 / 2
    value = value * r + 1
    return value * r + 1


@jit.fused
def exponentiate(x, powers):
    """Replaces each x <= 0 by exp(x), those below LOWEST by 0.

    Args:
        x: `[size]`, overwritten.
        powers: `[size]`, for use inside.
    """
    for s in range(len(x)):
        gain = x[s] if x[s] > LOWEST else LOWEST
        powers[s] = gain * INVERSE_LOG_2 + ROUND
    for s in range(len(x)):
        k = powers[s] - ROUND
        gain = x[s] if x[s] > LOWEST else LOWEST
        power = _taylor((gain - k * LOG_2_HIGH) - k * LOG_2_LOW)
        x[s] = power if x[s] >= LOWEST else 0.0
    exponents = powers.view(np.int64)
    for s in range(len(x)):
        exponents[s] = (exponents[s] + BIAS) << MANTISSA_BITS
    for s in range(len(x)):
        x[s] *= powers[s]


@jit.fused
def _log1p(x):
    """log(1 + x) for 0 <= x <= 1, as 2 artanh(x / (2 + x)).

    The argument is at most 1 / 3, and the rest of its series beyond the 33rd power is below rounding.
    """
    t = x / (2.0 + x)
    square = t * t
    value = 1 / 33
    value = value * square + 1 / 31
    value = value * square + 1 / 29
    value = value * square + 1 / 27
    value = value * square + 1 / 25
    value = value * square + 1 / 23
    value = value * square + 1 / 21
    value = value * square + 1 / 19
    value = value * square + 1 / 17
    value = value * square + 1 / 15
    value = value * square + 1 / 13
    value = value * square + 1 / 11
    value = value * square + 1 / 9
    value = value * square + 1 / 7
    value = value * square + 1 / 5
    value = value * square + 1 / 3
    return 2.0 * (t + t * square * value)


@jit.fused
def sum_exponentials(ones, zeros, powers, logs, shares):
    """log(exp(one) + exp(zero)) of each pair, and the share of exp(one) in that sum.

    Args:
        ones: `[size]`, finite.
        zeros: `[size]`, finite.
        powers: `[size]`, for use inside.
        logs: `[size]`, filled.
        shares: `[size]`, filled.
    """
    for s in range(len(ones)):
        shares[s] = -abs(ones[s] - zeros[s])
    exponentiate(shares, powers)
    for s in range(len(ones)):
        decay = shares[s]
        logs[s] = max(ones[s], zeros[s]) + _log1p(decay)
        shares[s] = (1.0 if ones[s] > zeros[s] else decay) / (1.0 + decay)
