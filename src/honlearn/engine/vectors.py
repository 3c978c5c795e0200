"""Rows times a number, sixteen places at a time: what the loops over sampled trees are made of.

In: C-contiguous float32 arrays and flat places in them. Out: rows set or added to in place. Rows are 42 wide
in the usual model, and the compiler's own loops leave the last ten places of those to scalars; here the last
sixteen overlap those before instead, read before anything is written. Views of rows, which are counted
references, do not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numba.core.typing.context import BaseContext as Typing
    from numba.core.typing.templates import Signature

    from honlearn.jit import Intrinsic, Target

_LANES = 16
_LANE, _PLACE = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_LANE, _LANES)
# A product and a sum may become one instruction, as in the other kernels.
_FLAGS = ("contract",)


def _every(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Return a vector with this number in every lane."""
    lane = ir.IntType(32)
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, lane(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(lane, _LANES), [0] * _LANES))


def _row_operation(adds: bool) -> Callable[..., Any]:
    """Return what gives numba the signature and the instructions of :data:`add_row` or :data:`set_row`."""

    def product(
        builder: ir.IRBuilder,
        kind: ir.Type,
        weight: ir.Value,
        target: ir.Value,
        source: ir.Value,
        place: ir.Value,
    ) -> ir.Value:
        """Return weight · source, plus target if `adds`, of one vector or one number at `place`."""

        def load(pointer: ir.Value) -> ir.Value:
            return builder.load(_pointer(builder, kind, pointer, place), align=4)

        out = builder.fmul(weight, load(source), flags=_FLAGS)
        return builder.fadd(out, load(target), flags=_FLAGS) if adds else out

    def generate(
        context: Target, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        weight, width, lanes = arguments[5], arguments[4], _PLACE(_LANES)
        target, source = (
            builder.gep(context.make_array(kind)(context, builder, array).data, [start])
            for kind, array, start in zip(
                signature.args[0:4:2], arguments[0:4:2], arguments[1:4:2], strict=True
            )
        )
        with builder.if_else(builder.icmp_signed(">=", width, lanes)) as (wide, narrow):
            with wide:
                every, last = _every(builder, weight), builder.sub(width, lanes)
                tail = product(builder, _VECTOR, every, target, source, last)
                with cgutils.for_range_slice(builder, _PLACE(0), last, lanes, intp=_PLACE) as (place, _):
                    value = product(builder, _VECTOR, every, target, source, place)
                    builder.store(value, _pointer(builder, _VECTOR, target, place), align=4)
                builder.store(tail, _pointer(builder, _VECTOR, target, last), align=4)
            with narrow, cgutils.for_range(builder, width, intp=_PLACE) as loop:
                value = product(builder, _LANE, weight, target, source, loop.index)
                builder.store(value, _pointer(builder, _LANE, target, loop.index), align=4)
        return context.get_dummy_value()

    def typed(
        context: Typing,
        target: types.Array,
        to: types.Integer,
        source: types.Array,
        start: types.Integer,
        width: types.Integer,
        weight: types.Float,
    ) -> Intrinsic:
        place = types.int64
        return types.void(target, place, source, place, place, types.float32), generate

    return typed


def _pointer(builder: ir.IRBuilder, kind: ir.Type, array: ir.Value, place: ir.Value) -> ir.Value:
    return builder.bitcast(builder.gep(array, [place]), kind.as_pointer())


add_row = cast(Callable[..., None], intrinsic(_row_operation(True)))
"""In compiled code: ``target.flat[to : to + width] += weight * source.flat[start : start + width]``."""

set_row = cast(Callable[..., None], intrinsic(_row_operation(False)))
"""In compiled code: ``target.flat[to : to + width] = weight * source.flat[start : start + width]``.

Both take ``(target, to, source, start, width, weight)``; the rows must not overlap.
"""
