"""Handlers of models that numba compiles, and what they see of the run: types, attributes and methods for its compiler.

A handler becomes a C function without the GIL. An exception in it takes the GIL, and is kept for the end of the run.
"""

from __future__ import annotations

from typing import Any, Callable

import llvmlite.binding
import numba
import numpy
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, models, overload_attribute, overload_method, register_model

from paceline import _native
from paceline._model_plain import Call
from paceline._model_types import Fields

# `overload_method` asks for functions without annotations.
__all__ = ["compile_handler", "handler_types"]

for _name, _address in _native.model_symbols().items():
    llvmlite.binding.add_symbol(f"paceline_model_{_name}", _address)


def _external(name: str, result: Any, *arguments: Any) -> Any:
    return types.ExternalFunction(f"paceline_model_{name}", result(types.voidptr, *arguments))


class ContextType(types.Type):
    """The context of handlers whose messages are of the dtype that `record` stands for; None where it has no fields."""

    def __init__(self, record: Any):
        self.record = record
        super().__init__(f"paceline.Context({record})")


class RngType(types.Type):
    """The random numbers of a context."""


class ReadOnlyType(types.Type):
    """A record that handlers read only: parameters and messages."""

    def __init__(self, what: str, record: Any):
        self.record = record
        super().__init__(f"paceline.{what}({record})")


RNG = RngType("paceline.Rng")
register_model(ContextType)(models.OpaqueModel)
register_model(RngType)(models.OpaqueModel)
register_model(ReadOnlyType)(models.OpaqueModel)


@infer_getattr
class _ReadOnlyAttributes(AttributeTemplate):
    key = ReadOnlyType

    def generic_resolve(self, typ: ReadOnlyType, attribute: str) -> Any:
        if typ.record is None or attribute not in typ.record.fields:
            return None
        found = typ.record.typeof(attribute)
        # Elements of an array could be written through it.
        return types.Array(found.dtype, 1, "C", readonly=True) if isinstance(found, types.NestedArray) else found


@lower_getattr_generic(ReadOnlyType)
def _read_only(context: Any, builder: Any, typ: ReadOnlyType, value: Any, attribute: str) -> Any:
    record = builder.bitcast(value, context.get_value_type(typ.record))
    return context.get_getattr(typ.record, attribute)(context, builder, typ.record, record, attribute)


@intrinsic
def _pointer(typing: Any, thing: Any) -> Any:
    """The address of the call that a context or its random numbers stand for."""
    return types.voidptr(thing), lambda context, builder, signature, arguments: arguments[0]


@intrinsic
def _rng_of(typing: Any, cx: Any) -> Any:
    return RNG(cx), lambda context, builder, signature, arguments: arguments[0]


def _loads(field: str) -> Any:
    """An intrinsic that reads a field of the call."""
    offset = getattr(Call, field).offset

    @intrinsic
    def load(typing: Any, cx: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = cgutils.pointer_add(builder, arguments[0], ir.Constant(ir.IntType(64), offset))
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))

        return types.int64(cx), generate

    return load


_now, _lp, _lps = _loads("now"), _loads("lp"), _loads("lps")
overload_attribute(ContextType, "now")(lambda cx: lambda cx: _now(cx))
overload_attribute(ContextType, "lp")(lambda cx: lambda cx: _lp(cx))
overload_attribute(ContextType, "lps")(lambda cx: lambda cx: _lps(cx))
overload_attribute(ContextType, "rng")(lambda cx: lambda cx: _rng_of(cx))


def _check(place: str, given: Any, kind: Any, word: str) -> None:
    given = types.unliteral(given)
    # A bool is a number to Python, and no integer to numba.
    if not isinstance(given, kind):
        raise TypingError(f"{place} is {word}, not {given}")


def _whole(place: str, given: Any) -> None:
    _check(place, given, types.Integer, "an int")


def _number(place: str, given: Any) -> None:
    _check(place, given, (types.Integer, types.Float), "a number")


def _fits(field: Any, given: Any) -> bool:
    """Whether a value of type `given` can be in a field of a message."""
    given = types.unliteral(given)
    if isinstance(field, types.NestedArray):
        return isinstance(given, types.Array) and given.ndim == 1 and given.dtype == field.dtype and given.layout == "C"
    if isinstance(field, types.Boolean):
        return isinstance(given, types.Boolean)
    allowed: Any = (types.Integer, types.Boolean)
    return isinstance(given, (*allowed, types.Float) if isinstance(field, types.Float) else allowed)


def _check_values(record: Any, values: Any) -> None:
    """A TypingError where the values given to `send` are no message."""
    members = [] if record is None else list(record.fields.items())
    given = list(values.types if isinstance(values, types.BaseTuple) else values)
    if len(given) == 1 and isinstance(given[0], (ReadOnlyType, types.Record)):
        whole = given[0].record if isinstance(given[0], ReadOnlyType) else given[0]
        if whole != record:
            raise TypingError(f"cx.send: a record of {whole}, which is not the message's dtype")
        return
    if len(given) != len(members):
        names = ", ".join(name for name, _ in members) or "none"
        raise TypingError(f"cx.send: {len(given)} values for the message's fields: {names}")
    for (name, field), value in zip(members, given):
        if not _fits(field.type, value):
            raise TypingError(f"cx.send: field {name} is {field.type}; given: {types.unliteral(value)}")


def _store_whole(context: Any, builder: Any, field: types.Integer, given: Any, value: Any) -> tuple[Any, Any]:
    """An integer as the field has it, and whether it is the same number."""
    word, kept = ir.IntType(64), context.get_data_type(field)

    def extend(value: Any, signed: bool) -> Any:
        if value.type.width == 64:
            return value
        return (builder.sext if signed else builder.zext)(value, word)

    signed = getattr(given, "signed", False)
    wide = extend(value, signed)
    stored = builder.trunc(wide, kept) if kept.width < 64 else wide
    same = builder.icmp_signed("==", wide, extend(stored, field.signed))
    if signed != field.signed:
        same = builder.and_(same, builder.icmp_signed(">=", wide, ir.Constant(word, 0)))
    return stored, same


@intrinsic
def _store(typing: Any, cx: Any, values: Any) -> Any:
    """Writes the message that is sent next. Whether its values fit."""
    record = cx.record

    def store_array(context: Any, builder: Any, field: Any, given: Any, value: Any, place: Any) -> Any:
        array = context.make_array(given)(context, builder, value)
        length = ir.Constant(ir.IntType(64), field.shape[0])
        same = builder.icmp_signed("==", builder.extract_value(array.shape, 0), length)
        with builder.if_then(same):
            cgutils.raw_memcpy(
                builder, builder.bitcast(place, array.data.type), array.data, length, field.dtype.bitwidth // 8
            )
        return same

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = list(signature.args[1].types)
        offset = ir.Constant(ir.IntType(64), Call.scratch.offset)
        pointer = builder.bitcast(cgutils.pointer_add(builder, arguments[0], offset), cgutils.voidptr_t.as_pointer())
        scratch, fit = builder.load(pointer), cgutils.true_bit
        items = [builder.extract_value(arguments[1], number) for number in range(len(given))]
        if len(given) == 1 and isinstance(given[0], (ReadOnlyType, types.Record)):
            if record is not None:
                cgutils.raw_memcpy(
                    builder,
                    scratch,
                    builder.bitcast(items[0], cgutils.voidptr_t),
                    ir.Constant(ir.IntType(64), record.size),
                    1,
                )
            return fit
        for (name, member), kind, item in zip(record.fields.items() if record else [], given, items):
            field = member.type
            place = cgutils.pointer_add(builder, scratch, ir.Constant(ir.IntType(64), member.offset))
            if isinstance(field, types.NestedArray):
                fit = builder.and_(fit, store_array(context, builder, field, kind, item, place))
                continue
            if isinstance(field, types.Integer):
                stored, same = _store_whole(context, builder, field, types.unliteral(kind), item)
                fit = builder.and_(fit, same)
            else:
                value = context.cast(builder, item, kind, field)
                stored = context.get_value_as_data(builder, field, value)
            builder.store(stored, builder.bitcast(place, stored.type.as_pointer()), align=1)
        return fit

    return types.boolean(cx, values), generate


_send_raw = _external("send", types.void, types.int64, types.int64)


@numba.njit
def _send(cx: Any, to: Any, delay: Any, values: Any) -> None:
    if not _store(cx, values):
        raise OverflowError("cx.send: a value does not fit its field")
    _send_raw(_pointer(cx), to, delay)


@overload_method(ContextType, "send")
def _(cx, to, delay, *values):
    _whole("cx.send: to", to), _whole("cx.send: delay", delay)
    _check_values(cx.record, values[0] if len(values) == 1 and isinstance(values[0], types.BaseTuple) else values)
    return lambda cx, to, delay, *values: _send(cx, numpy.int64(to), numpy.int64(delay), values)


@overload_method(ContextType, "schedule")
def _(cx, delay, *values):
    _whole("cx.schedule: delay", delay)
    return lambda cx, delay, *values: cx.send(_lp(cx), delay, *values)


@overload_method(ContextType, "send_at")
def _(cx, to, at, *values):
    _whole("cx.send_at: at", at)
    return lambda cx, to, at, *values: cx.send(to, numpy.int64(at) - _now(cx), *values)


@overload_method(ContextType, "schedule_at")
def _(cx, at, *values):
    _whole("cx.schedule_at: at", at)
    return lambda cx, at, *values: cx.send(_lp(cx), numpy.int64(at) - _now(cx), *values)


_seconds = _external("seconds", types.int64, types.float64)
_bits, _unit = _external("bits", types.uint64), _external("unit", types.float64)
_below = _external("below", types.int64, types.int64)
_chance = _external("chance", types.uint8, types.float64)
_exponential = _external("exponential", types.float64, types.float64)
_normal = _external("normal", types.float64, types.float64, types.float64)
_geometric = _external("geometric", types.int64, types.float64)
_poisson = _external("poisson", types.int64, types.float64)
_zipf = _external("zipf", types.int64, types.int64, types.float64)


@overload_method(ContextType, "seconds")
def _(cx, seconds):
    _number("cx.seconds: seconds", seconds)
    return lambda cx, seconds: _seconds(_pointer(cx), float(seconds))


overload_method(RngType, "bits")(lambda rng: lambda rng: _bits(_pointer(rng)))
overload_method(RngType, "unit")(lambda rng: lambda rng: _unit(_pointer(rng)))


@overload_method(RngType, "below")
def _(rng, n):
    _whole("cx.rng.below: n", n)
    return lambda rng, n: _below(_pointer(rng), numpy.int64(n))


@overload_method(RngType, "chance")
def _(rng, probability):
    _number("cx.rng.chance: probability", probability)
    return lambda rng, probability: _chance(_pointer(rng), float(probability)) != 0


@overload_method(RngType, "exponential")
def _(rng, mean):
    _number("cx.rng.exponential: mean", mean)
    return lambda rng, mean: _exponential(_pointer(rng), float(mean))


@overload_method(RngType, "normal")
def _(rng, mean, deviation):
    _number("cx.rng.normal: mean", mean), _number("cx.rng.normal: deviation", deviation)
    return lambda rng, mean, deviation: _normal(_pointer(rng), float(mean), float(deviation))


@overload_method(RngType, "geometric")
def _(rng, probability):
    _number("cx.rng.geometric: probability", probability)
    return lambda rng, probability: _geometric(_pointer(rng), float(probability))


@overload_method(RngType, "poisson")
def _(rng, mean):
    _number("cx.rng.poisson: mean", mean)
    return lambda rng, mean: _poisson(_pointer(rng), float(mean))


@overload_method(RngType, "zipf")
def _(rng, ranks, exponent):
    _whole("cx.rng.zipf: ranks", ranks), _number("cx.rng.zipf: exponent", exponent)
    return lambda rng, ranks, exponent: _zipf(_pointer(rng), numpy.int64(ranks), float(exponent))


@overload_method(RngType, "weighted")
def _(rng, weights):
    if not (
        isinstance(weights, types.Array)
        and weights.ndim == 1
        and weights.dtype == types.float64
        and weights.layout == "C"
    ):
        raise TypingError(f"cx.rng.weighted: weights is a contiguous array of float64, not {weights}")
    return lambda rng, weights: _weighted(rng, weights)


@intrinsic
def _weighted(typing: Any, rng: Any, array: Any) -> Any:
    """The array is an argument, so that it is there while C reads it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[1])(context, builder, arguments[1])
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [cgutils.voidptr_t, cgutils.voidptr_t, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "paceline_model_weighted")
        data = builder.bitcast(found.data, cgutils.voidptr_t)
        return builder.call(function, [arguments[0], data, builder.extract_value(found.shape, 0)])

    return types.int64(rng, array), generate


def _record(fields: Fields) -> Any:
    return numba.from_dtype(fields.dtype) if fields.all else None


def handler_types(parameters: Fields, state: Fields, message: Fields, first: bool) -> tuple[Any, ...]:
    """The types of a handler's arguments. `first` is said of `init`, which has no message."""
    of_state, of_message = _record(state), _record(message)
    # A state without fields has nothing to write either.
    states = of_state if of_state is not None else ReadOnlyType("State", None)
    middle = () if first else (ReadOnlyType("Message", of_message),)
    return (ReadOnlyType("Parameters", _record(parameters)), states, *middle, ContextType(of_message))


def compile_handler(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """`function` as a C function; it is to be kept as long as it may be called. Errors: numba's, or a TypeError."""
    # With bounds: an index beyond an array of the state would write into another's memory.
    dispatcher = numba.njit(boundscheck=True)(getattr(function, "py_func", function))
    dispatcher.compile(arguments)
    compiled = dispatcher.overloads[arguments]
    given = compiled.signature.return_type
    if given != types.none:
        # The name of a generator's type has the types of all its arguments.
        name = "generator" if isinstance(given, types.Generator) else types.unliteral(given)
        raise TypeError(f"a handler returns None, not {name}")

    @intrinsic
    def call(typing: Any, parameters: Any, state: Any, message: Any, cx: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            context.add_linking_libs([compiled.library])
            chosen = given if len(arguments) == 4 else [given[0], given[1], given[3]]
            values = [builder.bitcast(value, context.get_value_type(kind)) for value, kind in zip(chosen, arguments)]
            status, _ = context.call_internal_no_propagate(builder, compiled.fndesc, compiled.signature, values)
            with cgutils.if_unlikely(builder, status.is_error):
                python = context.get_python_api(builder)
                gil = python.gil_ensure()
                context.call_conv.raise_error(builder, python, status)
                kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t])
                raised = cgutils.get_or_insert_function(builder.module, kind, "paceline_model_raised")
                builder.call(raised, [given[3]])
                python.gil_release(gil)
            return builder.zext(status.is_error, ir.IntType(32))

        return types.int32(parameters, state, message, cx), generate

    @numba.cfunc(types.int32(types.voidptr, types.voidptr, types.voidptr, types.voidptr))
    def entry(parameters: Any, state: Any, message: Any, cx: Any) -> Any:
        return call(parameters, state, message, cx)

    return entry
