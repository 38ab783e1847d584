"""LANES float64 side by side for compiled kernels, as one value that LLVM keeps in vector registers.

Loops over a few array entries do not vectorise where arrays may overlap, as numba's arrays may; a vector is
loaded as a whole before anything is stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model

LANE_BITS = 4
LANES = 1 << LANE_BITS
LLVM_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
LLVM_INDICES = ir.VectorType(ir.IntType(32), LANES)
UNDEFINED = ir.Constant(LLVM_VECTOR, ir.Undefined)
LLVM_MASK = ir.IntType(LANES)
ALIGNMENT = 8  # bytes, of numba's arrays


class Vector(types.Type):
    """The numba type of LANES float64."""

    def __init__(self) -> None:
        super().__init__("Vector")


vector = Vector()
mask = types.Integer.from_bitwidth(LANES, signed=False)
Mask = np.dtype(f"uint{LANES}")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, LLVM_VECTOR)


def _address(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), LLVM_VECTOR.as_pointer())


@intrinsic
def load(_, array, index):
    """array[index : index + LANES] of a contiguous float64 array, unchecked."""

    def generate(context, builder, signature, arguments):
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=ALIGNMENT)

    return vector(array, types.intp), generate


@intrinsic
def load_spread(_, array, index, present):
    """Lane s has array[index + t], where t are the bits of s that `present` has, moved together.

    All of array[index : index + LANES] is read, unchecked.
    """

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments[:2])
        values = builder.load(address, align=ALIGNMENT)
        start, join = builder.block, builder.append_basic_block("spread")
        spreads = []
        switch = builder.switch(arguments[2], join)
        for bits in range(LANES - 1):
            block = builder.append_basic_block(f"spread_{bits}")
            switch.add_case(bits, block)
            builder.position_at_end(block)
            lanes = ir.Constant(LLVM_INDICES, [_moved_together(s, bits) for s in range(LANES)])
            spreads.append((builder.shuffle_vector(values, UNDEFINED, lanes), block))
            builder.branch(join)
        builder.position_at_end(join)
        result = builder.phi(LLVM_VECTOR)
        for spread, block in [*spreads, (values, start)]:
            result.add_incoming(spread, block)
        return result

    return vector(array, types.intp, types.intp), generate


def _moved_together(s: int, present: int) -> int:
    positions = [i for i in range(LANE_BITS) if present >> i & 1]
    return sum((s >> i & 1) << target for target, i in enumerate(positions))


@intrinsic
def store(_, array, index, values):
    """array[index : index + LANES] = values for a contiguous float64 array, unchecked."""

    def generate(context, builder, signature, arguments):
        target = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], target, align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@intrinsic
def fill(_, value):
    """The value in every lane."""

    def generate(context, builder, signature, arguments):
        zero = ir.IntType(32)(0)
        one = builder.insert_element(UNDEFINED, arguments[0], zero)
        lanes = ir.Constant(LLVM_INDICES, [0] * LANES)
        return builder.shuffle_vector(one, UNDEFINED, lanes)

    return vector(types.float64), generate


@intrinsic
def add(_, left, right):
    """The sums of the lanes."""

    def generate(context, builder, signature, arguments):
        return builder.fadd(*arguments)

    return vector(vector, vector), generate


@intrinsic
def greater(_, left, right):
    """Lane i's bit i is set where the left one is greater."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(builder.fcmp_ordered(">", *arguments), LLVM_MASK)

    return mask(vector, vector), generate


@intrinsic
def larger(_, left, right):
    """The larger of each two lanes."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return vector(vector, vector), generate
