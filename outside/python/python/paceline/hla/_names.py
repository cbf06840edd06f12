"""Names and handles of an object model, as a federate gets to know them.

Handles of a federation stay while a federate is joined, so each is asked for once.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping

__all__ = ["Names"]

# A call by its name and fields, and its result.
Ask = Callable[..., Any]


class Names:
    """The names of one federate."""

    def __init__(self, ask: Ask):
        self._ask = ask
        self._handles: dict[tuple[str, bytes, str], bytes] = {}
        self._names: dict[tuple[str, bytes, bytes], str] = {}
        # The class of each instance that is known.
        self.classes: dict[bytes, bytes] = {}

    def object_class(self, name: str) -> bytes:
        return self._handle("ObjectClass", b"", name, object_class_name=name)

    def interaction_class(self, name: str) -> bytes:
        return self._handle("InteractionClass", b"", name, interaction_class_name=name)

    def attributes(self, object_class: bytes, names: Iterable[str]) -> list[bytes]:
        if isinstance(names, str):
            raise TypeError("attributes must be a list of names, not a str")
        return [self._attribute(object_class, name) for name in names]

    def attribute_values(self, object_class: bytes, values: Mapping[str, bytes]) -> dict[bytes, bytes]:
        return {self._attribute(object_class, name): value for name, value in values.items()}

    def parameter_values(self, interaction: bytes, values: Mapping[str, bytes]) -> dict[bytes, bytes]:
        asked = {"interaction_class": interaction}
        return {
            self._handle("Parameter", interaction, name, **asked, parameter_name=name): value
            for name, value in values.items()
        }

    def class_of(self, instance: bytes) -> bytes:
        if instance not in self.classes:
            self.classes[instance] = self._ask("GetKnownObjectClassHandle", object_instance=instance)
        return self.classes[instance]

    def name_of_object_class(self, handle: bytes) -> str:
        return self._name("ObjectClass", b"", handle, object_class=handle)

    def name_of_interaction(self, handle: bytes) -> str:
        return self._name("InteractionClass", b"", handle, interaction_class=handle)

    def names_of_attributes(self, instance: bytes, handles: Iterable[bytes]) -> list[str]:
        of = self.class_of(instance)
        return [self._name("Attribute", of, handle, object_class=of, attribute=handle) for handle in handles]

    def named_parameters(self, interaction: bytes, values: Mapping[bytes, bytes]) -> dict[str, bytes]:
        asked = {"interaction_class": interaction}
        return {
            self._name("Parameter", interaction, handle, **asked, parameter=handle): value
            for handle, value in values.items()
        }

    def _attribute(self, of: bytes, name: str) -> bytes:
        return self._handle("Attribute", of, name, object_class=of, attribute_name=name)

    def _handle(self, kind: str, of: bytes, name: str, **asked: Any) -> bytes:
        key = (kind, of, name)
        if key not in self._handles:
            self._handles[key] = self._ask(f"Get{kind}Handle", **asked)
            self._names[kind, of, self._handles[key]] = name
        return self._handles[key]

    def _name(self, kind: str, of: bytes, handle: bytes, **asked: Any) -> str:
        key = (kind, of, handle)
        if key not in self._names:
            self._names[key] = self._ask(f"Get{kind}Name", **asked)
        return self._names[key]
