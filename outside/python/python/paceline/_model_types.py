"""Dtypes of states, messages and parameters of models: what they may be, and how plain handlers see their values."""

from __future__ import annotations

import functools
import struct
from typing import Any, Callable, NamedTuple, Optional

import numpy

from paceline import _native

__all__ = ["Field", "Fields", "fields_of"]

# Codes of the module struct, by kind and width.
CODES = {
    "b1": "?",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "f4": "f",
    "f8": "d",
}
ALLOWED = "fields of bool, int8 to int64, uint8 to uint64, float32 or float64, or arrays of one dimension of these"


class Field(NamedTuple):
    """A field of a structured dtype; `length` is that of an array, None of a single value."""

    name: str
    dtype: numpy.dtype
    offset: int
    length: Optional[int]

    def convert(self, value: Any) -> Any:
        """`value` as the field keeps it, converted as compiled handlers do: a whole number keeps its lowest bits."""
        if self.length is not None:
            elements = numpy.asarray(value)
            if elements.shape != (self.length,):
                raise ValueError(f"field {self.name} has {self.length} elements; given: shape {elements.shape}")
            return elements.astype(self.dtype)
        if self.dtype.kind == "f":
            return float(value)
        if self.dtype.kind == "b":
            return bool(value)
        bits = 8 * self.dtype.itemsize
        value = int(value) & ((1 << bits) - 1)
        return value - (1 << bits) if self.dtype.kind == "i" and value >> (bits - 1) else value

    def check(self, value: Any) -> Any:
        """`value` for a message, in which nothing is converted without a word."""
        if self.length is not None:
            elements = numpy.asarray(value)
            if elements.dtype != self.dtype:
                raise TypeError(f"field {self.name} has elements of {self.dtype}; given: {elements.dtype}")
            return self.convert(elements)
        whole = isinstance(value, (int, numpy.integer, numpy.bool_))
        allowed = {
            "f": whole or isinstance(value, (float, numpy.floating)),
            "b": isinstance(value, (bool, numpy.bool_)),
        }
        if not allowed.get(self.dtype.kind, whole):
            raise TypeError(f"field {self.name} is {self.dtype}; given: {type(value).__name__}")
        kept = self.convert(value)
        if self.dtype.kind in "iu" and kept != value:
            raise OverflowError(f"field {self.name} is {self.dtype}, which does not hold {value}")
        return kept


class Fields:
    """The fields of a structured dtype, with the layout that the engine knows them by."""

    def __init__(self, what: str, dtype: numpy.dtype):
        self.dtype = dtype
        self.all = [_field(what, name, dtype) for name in dtype.names or ()]
        self.names = [field.name for field in self.all]
        described = [(f.name, f.dtype.kind, f.dtype.itemsize, f.offset, f.length) for f in self.all]
        self.layout = _native.Layout(described, dtype.itemsize)
        self._codes = ["=" + CODES[f"{f.dtype.kind}{f.dtype.itemsize}"] for f in self.all]

    def __reduce__(self) -> tuple[Any, ...]:
        # A layout is this process's.
        return _known, (self.dtype,)

    def read(self, memory: Any) -> dict[str, Any]:
        """The values in `memory`, copied: numbers of Python, and arrays."""
        values = {}
        for field, code in zip(self.all, self._codes):
            if field.length is None:
                values[field.name] = struct.unpack_from(code, memory, field.offset)[0]
            else:
                values[field.name] = numpy.frombuffer(memory, field.dtype, field.length, field.offset).copy()
        return values

    def write(self, memory: Any, values: dict[str, Any], convert: Callable[[Field, Any], Any]) -> None:
        """Writes `values`, one for each field, as `convert` makes them."""
        for field, code in zip(self.all, self._codes):
            value = convert(field, values[field.name])
            if field.length is None:
                struct.pack_into(code, memory, field.offset, value)
            else:
                numpy.frombuffer(memory, field.dtype, field.length, field.offset)[:] = value


def _field(what: str, name: str, dtype: numpy.dtype) -> Field:
    fields = dtype.fields
    assert fields is not None
    base, shape = fields[name][0].base, fields[name][0].shape
    if f"{base.kind}{base.itemsize}" not in CODES or len(shape) > 1 or not base.isnative:
        raise TypeError(f"{what}: field {name} is {fields[name][0]}; allowed: {ALLOWED}")
    return Field(name, base, fields[name][1], shape[0] if shape else None)


@functools.lru_cache(maxsize=None)
def _known(dtype: numpy.dtype) -> Fields:
    # One for each dtype: the engine keeps layouts for as long as the process lives.
    return Fields("", dtype)


def fields_of(what: str, spec: Any) -> Fields:
    """The fields of what NumPy takes for a structured dtype. A mistake is a TypeError that begins with `what`."""
    try:
        dtype = numpy.dtype([] if spec is None else spec)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: no dtype: {error}") from None
    if dtype.names is None and dtype.itemsize:
        raise TypeError(f"{what}: {dtype} has no fields; allowed: {ALLOWED}")
    for name in dtype.names or ():
        _field(what, name, dtype)
    return _known(dtype)
