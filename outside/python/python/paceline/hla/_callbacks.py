"""What becomes of callbacks: each changes what the federate knows, and is given to its method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from paceline.hla._services import plain_name

if TYPE_CHECKING:
    from paceline.hla._federate import Federate

__all__ = ["take"]


def take(federate: Federate, name: str, fields: dict[str, Any]) -> None:
    """Gives a callback to the federate's method for it."""
    known = _TAKEN.get(plain_name(name))
    if known is None:
        federate.other_callback(name, fields)
    else:
        known(federate, fields)


def _connection_lost(federate: Federate, fields: dict[str, Any]) -> None:
    federate.connection_lost(fields["fault_description"])


def _registration_succeeded(federate: Federate, fields: dict[str, Any]) -> None:
    federate._registered = ""


def _registration_failed(federate: Federate, fields: dict[str, Any]) -> None:
    federate._registered = fields["reason"]


def _announced(federate: Federate, fields: dict[str, Any]) -> None:
    label = fields["synchronization_point_label"]
    federate._announced.add(label)
    federate._reached.discard(label)
    federate.announce_synchronization_point(label, fields["user_supplied_tag"])


def _synchronized(federate: Federate, fields: dict[str, Any]) -> None:
    label = fields["synchronization_point_label"]
    federate._announced.discard(label)
    federate._reached.add(label)
    federate.federation_synchronized(label)


def _discovered(federate: Federate, fields: dict[str, Any]) -> None:
    instance, of = fields["object_instance"], fields["object_class"]
    federate._names.classes[instance] = of
    federate.discover_object_instance(
        instance, federate._names.name_of_object_class(of), fields["object_instance_name"]
    )


def _reflected(federate: Federate, fields: dict[str, Any]) -> None:
    instance, values = fields["object_instance"], fields["attribute_values"]
    names = federate._names.names_of_attributes(instance, values)
    named = dict(zip(names, values.values()))
    federate.reflect_attribute_values(instance, named, fields["user_supplied_tag"], fields.get("time"))


def _received(federate: Federate, fields: dict[str, Any]) -> None:
    interaction = fields["interaction_class"]
    named = federate._names.named_parameters(interaction, fields["parameter_values"])
    name = federate._names.name_of_interaction(interaction)
    federate.receive_interaction(name, named, fields["user_supplied_tag"], fields.get("time"))


def _removed(federate: Federate, fields: dict[str, Any]) -> None:
    federate.remove_object_instance(fields["object_instance"], fields["user_supplied_tag"], fields.get("time"))
    federate._names.classes.pop(fields["object_instance"], None)


def _regulates(federate: Federate, fields: dict[str, Any]) -> None:
    federate._regulates, federate._time = True, fields["time"]


def _is_constrained(federate: Federate, fields: dict[str, Any]) -> None:
    federate._is_constrained, federate._time = True, fields["time"]


def _granted(federate: Federate, fields: dict[str, Any]) -> None:
    federate._granted, federate._time = True, fields["time"]
    federate.time_advance_grant(fields["time"])


# Callbacks that have a method of their own, by their names without what says that they have more fields.
_TAKEN: dict[str, Callable[[Federate, dict[str, Any]], None]] = {
    "ConnectionLost": _connection_lost,
    "SynchronizationPointRegistrationSucceeded": _registration_succeeded,
    "SynchronizationPointRegistrationFailed": _registration_failed,
    "AnnounceSynchronizationPoint": _announced,
    "FederationSynchronized": _synchronized,
    "DiscoverObjectInstance": _discovered,
    "ReflectAttributeValues": _reflected,
    "ReceiveInteraction": _received,
    "RemoveObjectInstance": _removed,
    "TimeRegulationEnabled": _regulates,
    "TimeConstrainedEnabled": _is_constrained,
    "TimeAdvanceGrant": _granted,
}
