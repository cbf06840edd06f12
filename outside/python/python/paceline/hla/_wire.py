"""The messages of the Federate Protocol as protocol buffers, version 3, by the table in `messages.txt`.

A message is a dict of its fields by their names. Three kinds have a plainer form: one that has only `data`, such as a
handle, is bytes; one that has only a list is that list; one that is a pair of a handle and a value is an item of a
dict.
"""

from __future__ import annotations

import struct
from importlib import resources
from typing import Any, NamedTuple, Optional

__all__ = ["CALLS", "KINDS", "decode_callback", "decode_response", "encode_call", "encode_callback_result"]


class Field(NamedTuple):
    name: str
    # A scalar, a message or an enumeration, and whether it is a list of them.
    kind: str
    is_list: bool


class Call(NamedTuple):
    number: int
    fields: tuple[Field, ...]
    answer: tuple[Field, ...]


class Callback(NamedTuple):
    name: str
    fields: tuple[Field, ...]


CALLS: dict[str, Call] = {}
CALLBACKS: dict[int, Callback] = {}
MESSAGES: dict[str, tuple[Field, ...]] = {}
ENUMERATIONS: dict[str, list[str]] = {}
# The kinds of the fields of a callback, by its name.
KINDS: dict[str, dict[str, str]] = {}
# The name of a call by the number of its response.
RESPONSES: dict[int, str] = {}

EXCEPTION = 1
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
SCALARS = ("string", "bytes", "bool", "uint32", "double")


def _field(text: str) -> Field:
    name, kind = text.split(":")
    return Field(name, kind.strip("[]()"), kind.startswith("["))


def _read_table() -> None:
    for line in resources.files(__package__).joinpath("messages.txt").read_text().splitlines():
        words = line.split()
        if words[0] == "call":
            middle = words.index("->")
            fields, answer = (tuple(map(_field, part)) for part in (words[3:middle], words[middle + 1 :]))
            CALLS[words[2]] = Call(int(words[1]), fields, answer)
            RESPONSES[int(words[1]) + 1] = words[2]
        elif words[0] == "callback":
            callback = Callback(words[2], tuple(map(_field, words[3:])))
            CALLBACKS[int(words[1])] = callback
            KINDS[callback.name] = {field.name: field.kind for field in callback.fields}
        elif words[0] == "message":
            MESSAGES[words[1]] = tuple(map(_field, words[2:]))
        elif words[0] == "enumeration":
            ENUMERATIONS[words[1]] = words[2:]
    # The one message that holds one of several things.
    MESSAGES["FomModule"] = tuple(map(_field, ["file:FileFomModule", "compressed:bytes", "url:string"]))


def _plain(fields: tuple[Field, ...]) -> Optional[str]:
    """Which of the plainer forms a message with these fields has."""
    if [field.name for field in fields] == ["data"]:
        return "bytes"
    if len(fields) == 1 and fields[0].is_list:
        pair = MESSAGES.get(fields[0].kind, ())
        return "dict" if [field.name for field in pair[1:]] == ["value"] else "list"
    return None


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _sized(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | BYTES) + _varint(len(content)) + content


def encode(fields: tuple[Field, ...], values: dict[str, Any]) -> bytes:
    """A message with these fields, of which those that are not in `values` are left out."""
    out = b""
    for number, field in enumerate(fields, 1):
        value = values.get(field.name)
        for one in (value or []) if field.is_list else [value]:
            if one is not None:
                out += _encoded(number, field, one)
    return out


def _encoded(number: int, field: Field, value: Any) -> bytes:
    kind = field.kind
    try:
        if kind == "string":
            return _sized(number, value.encode())
        if kind == "bytes":
            return _sized(number, bytes(memoryview(value)))
        if kind in ("bool", "uint32"):
            return _varint(number << 3 | VARINT) + _varint(int(value))
        if kind == "double":
            return _varint(number << 3 | FIXED64) + struct.pack("<d", value)
        if kind in ENUMERATIONS:
            return _varint(number << 3 | VARINT) + _varint(ENUMERATIONS[kind].index(value))
        return _sized(number, encode(MESSAGES[kind], _full(MESSAGES[kind], value)))
    except (AttributeError, TypeError, struct.error) as error:
        raise TypeError(f"{field.name} cannot be a {type(value).__name__}: {kind}") from error
    except ValueError as error:
        raise ValueError(f"{field.name} is {value!r}; allowed: {', '.join(ENUMERATIONS[kind])}") from error


def _full(fields: tuple[Field, ...], value: Any) -> dict[str, Any]:
    """A message as a dict of its fields."""
    form = _plain(fields)
    if form is None:
        return value
    if form == "dict":
        first, second = (field.name for field in MESSAGES[fields[0].kind])
        value = [{first: key, second: of} for key, of in value.items()]
    return {fields[0].name: value}


def decode(fields: tuple[Field, ...], data: bytes) -> dict[str, Any]:
    """The fields of a message: None for a message that is not there, and what is zero otherwise."""
    values: dict[str, Any] = {field.name: _absent(field) for field in fields}
    for number, content in _contents(data):
        # Fields that the table does not have are passed over, as protocol buffers want it.
        if 1 <= number <= len(fields):
            field = fields[number - 1]
            value = _decoded(field.kind, content)
            if field.is_list:
                values[field.name].append(value)
            else:
                values[field.name] = value
    return values


def _absent(field: Field) -> Any:
    if field.is_list:
        return []
    if field.kind in ENUMERATIONS:
        return ENUMERATIONS[field.kind][0]
    return {"string": "", "bytes": b"", "bool": False, "uint32": 0, "double": 0.0}.get(field.kind)


def _contents(data: bytes) -> list[tuple[int, Any]]:
    """Numbers and contents of the fields of a message."""
    found, at = [], 0
    while at < len(data):
        key, at = _read_varint(data, at)
        content: Any
        if key & 7 == VARINT:
            content, at = _read_varint(data, at)
        elif key & 7 == BYTES:
            size, at = _read_varint(data, at)
            content, at = data[at : at + size], at + size
        else:
            size = 8 if key & 7 == FIXED64 else 4
            content, at = data[at : at + size], at + size
        found.append((key >> 3, content))
    return found


def _decoded(kind: str, content: Any) -> Any:
    if kind == "string":
        return content.decode(errors="replace")
    if kind == "bool":
        return bool(content)
    if kind == "double":
        return struct.unpack("<d", content)[0]
    if kind in SCALARS:
        return content
    if kind in ENUMERATIONS:
        return ENUMERATIONS[kind][content]
    fields = MESSAGES[kind]
    values = decode(fields, content)
    form = _plain(fields)
    if form is None:
        return values
    if form == "dict":
        first, second = (field.name for field in MESSAGES[fields[0].kind])
        return {pair[first]: pair[second] for pair in values[fields[0].name]}
    return values[fields[0].name]


def encode_call(name: str, values: dict[str, Any]) -> bytes:
    """The call of this name as it is sent."""
    call = CALLS[name]
    return _sized(call.number, encode(call.fields, values))


def decode_response(data: bytes) -> tuple[Optional[str], dict[str, Any]]:
    """The name of the call, None for an exception, and the fields of its answer."""
    for number, content in _contents(data):
        if number == EXCEPTION:
            return None, decode(MESSAGES["ExceptionData"], content)
        if number in RESPONSES:
            return RESPONSES[number], decode(CALLS[RESPONSES[number]].answer, content)
    raise ValueError("an answer to no call that the table has")


def decode_callback(data: bytes) -> tuple[str, dict[str, Any]]:
    """The name of a callback, and its fields."""
    for number, content in _contents(data):
        if number in CALLBACKS:
            name, fields = CALLBACKS[number]
            return name, decode(fields, content)
    raise ValueError("a callback that the table does not have")


def encode_callback_result(problem: Optional[BaseException]) -> bytes:
    """Whether the federate's code took a callback."""
    if problem is None:
        return _sized(1, b"")
    exception = {"exception_name": type(problem).__name__, "details": str(problem)}
    return _sized(2, encode(MESSAGES["ExceptionData"], exception))


_read_table()
