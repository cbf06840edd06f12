"""Services by their names, and how the calls of one service are told from each other: by their fields."""

from __future__ import annotations

import re
import struct
from typing import Mapping

from paceline.hla import _wire

__all__ = ["DEFAULTS", "has", "plain_name", "text", "variant"]

# Suffixes of names that say that a message has more or fewer fields.
SUFFIX = re.compile(r"(With|And|Passively|Universally)\w*$")
# Fields that are empty where they are not given.
DEFAULTS = {"user_supplied_tag": b""}


def plain_name(name: str) -> str:
    """The name without suffixes."""
    return SUFFIX.sub("", name)


def text(text: str) -> bytes:
    """HLAunicodeString: how many 16-bit units, and these."""
    units = text.encode("utf-16-be")
    return struct.pack(">I", len(units) // 2) + units


def variants(service: str) -> list[str]:
    return [name for name in _wire.CALLS if service in (name, plain_name(name))]


def has(service: str, field: str) -> bool:
    """Whether a call of this service has such a field."""
    return any(field == of.name for name in variants(service) for of in _wire.CALLS[name].fields)


def variant(service: str, given: Mapping[str, object]) -> str:
    """The call of this name that has these fields."""
    names = variants(service)
    if not names:
        raise ValueError(f"no service {service!r}; allowed: a name of the standard, such as QueryGALT")
    exact = [name for name in names if {field.name for field in _wire.CALLS[name].fields} == set(given)]
    # A name in full is meant where several have the same fields, such as subscriptions that are passive.
    if exact:
        return service if service in exact else exact[0]
    allowed = "; ".join(", ".join(field.name for field in _wire.CALLS[name].fields) or "none" for name in names)
    raise TypeError(f"{service} with the fields {', '.join(given) or 'none'}; allowed: {allowed}")
