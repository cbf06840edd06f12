"""A federate: what it calls, by methods with the standard's names or shorter ones, and what it is called with.

Invariants: callbacks come in the order of the infrastructure, one at a time, to the thread that waits for them; the
answer to a callback is sent when its method has returned.
"""

from __future__ import annotations

import os
import pathlib
import ssl
import struct
from typing import Any, Callable, Iterable, Mapping, Optional, Union

from paceline.hla import _services as services
from paceline.hla import _wire
from paceline.hla._callbacks import take
from paceline.hla._names import Names
from paceline.hla._session import ConnectionLost, RTIError, Session

__all__ = ["Federate"]

Path = Union[str, "os.PathLike[str]"]
# A logical time: whole in federations of HLAinteger64Time.
Time = Union[int, float]

PORT = 15164
TIMES = {"HLAinteger64Time": ">q", "HLAfloat64Time": ">d"}


class Federate:
    """A federate, to be subclassed for its callbacks. It belongs to one thread.

    Classes, attributes, interactions and parameters are meant by their names; instances are handles, which are bytes.
    """

    def __init__(self) -> None:
        self._session: Optional[Session] = None
        self._names = Names(self.call)
        self._time_format: Optional[str] = None
        self._time: Optional[Time] = None
        # Labels of synchronization points that were announced, and that are reached.
        self._announced: set[str] = set()
        self._reached: set[str] = set()
        self._granted = self._regulates = self._is_constrained = False
        self._registered: Optional[str] = None

    # ---- Federations.

    def connect(
        self,
        address: str = f"127.0.0.1:{PORT}",
        password: Optional[str] = None,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        """Connect to a run-time infrastructure.

        Parameters
        ----------
        address
            Host and port, with or without ``tcp://``.
        password
            What the infrastructure asks for, where it does.
        tls
            How to encrypt, such as ``ssl.create_default_context(cafile="cert.pem")``; without it nothing is encrypted.

        Raises
        ------
        ConnectionError
            Nobody listens there.
        RTIError
            The infrastructure refuses.
        """
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        if not host or not port.isdecimal():
            raise ValueError(f"address is {address!r}; allowed: HOST:PORT, such as 127.0.0.1:{PORT}")
        self._session = Session(host.strip("[]"), int(port), tls)
        if password is None:
            self.call("Connect")
        else:
            self.call("Connect", credentials={"type": "HLAplainTextPassword", "data": services.text(password)})

    def create(self, federation: str, modules: Iterable[Path], time: str = "HLAfloat64Time") -> bool:
        """Create a federation, unless it is there.

        Parameters
        ----------
        federation
            Its name.
        modules
            Files of its object model, which are sent.
        time
            Which numbers its times are: ``HLAfloat64Time`` or ``HLAinteger64Time``.

        Returns
        -------
        bool
            Whether it was not there.
        """
        if isinstance(modules, (str, os.PathLike)):
            raise TypeError(f"modules must be a list of files, not a {type(modules).__name__}")
        files = [pathlib.Path(module) for module in modules]
        sent = [{"file": {"name": file.name, "content": file.read_bytes()}} for file in files]
        try:
            self.call(
                "CreateFederationExecution",
                federation_name=federation,
                fom_modules=sent,
                logical_time_implementation_name=time,
            )
        except RTIError as error:
            if error.name != "FederationExecutionAlreadyExists":
                raise
            return False
        return True

    def join(self, federation: str, name: Optional[str] = None, type: str = "Python") -> None:
        """Join a federation, under a name that no other federate has, or one that the infrastructure makes."""
        named = {} if name is None else {"federate_name": name}
        joined = self.call("JoinFederationExecution", federate_type=type, federation_name=federation, **named)
        self._names = Names(self.call)
        self._time_format = TIMES.get(joined["logical_time_implementation_name"])
        self._time = 0 if self._time_format == TIMES["HLAinteger64Time"] else 0.0
        self._announced, self._reached = set(), set()
        self._regulates = self._is_constrained = False

    def resign(self, action: str = "CancelThenDeleteThenDivest") -> None:
        """Leave the federation. `action` says what becomes of what the federate owns, as the standard names it."""
        self.call("ResignFederationExecution", resign_action=action)
        self._time_format = self._time = None

    def destroy(self, federation: str) -> None:
        """Destroy a federation that nobody has joined."""
        self.call("DestroyFederationExecution", federation_name=federation)

    def disconnect(self) -> None:
        """End the connection. Nothing where there is none."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def __enter__(self) -> Federate:
        return self

    def __exit__(self, *error: object) -> None:
        self.disconnect()

    # ---- Synchronization points.

    def register_synchronization_point(self, label: str, tag: bytes = b"") -> bool:
        """Announce a synchronization point to all federates, this one too. Returns whether that succeeded."""
        self._registered = None
        self.call("RegisterFederationSynchronizationPoint", synchronization_point_label=label, user_supplied_tag=tag)
        self._evoke_until(lambda: self._registered is not None)
        return self._registered == ""

    def synchronize(self, label: str) -> None:
        """Say that this federate has come to the point, once it is announced, and wait for all others."""
        self._evoke_until(lambda: label in self._announced)
        self.call("SynchronizationPointAchieved", synchronization_point_label=label, successfully=True)
        self._evoke_until(lambda: label in self._reached)

    # ---- Declarations and objects.

    def publish(self, object_class: str, attributes: Iterable[str]) -> None:
        """Publish attributes of an object class, such as ``"HLAobjectRoot.Ship"``."""
        handle = self._names.object_class(object_class)
        named = self._names.attributes(handle, attributes)
        self.call("PublishObjectClassAttributes", object_class=handle, attributes=named)

    def subscribe(self, object_class: str, attributes: Iterable[str]) -> None:
        """Subscribe to attributes of an object class."""
        handle = self._names.object_class(object_class)
        named = self._names.attributes(handle, attributes)
        self.call("SubscribeObjectClassAttributes", object_class=handle, attributes=named)

    def publish_interaction(self, interaction: str) -> None:
        """Publish an interaction class, such as ``"HLAinteractionRoot.Order"``."""
        self.call("PublishInteractionClass", interaction_class=self._names.interaction_class(interaction))

    def subscribe_interaction(self, interaction: str) -> None:
        """Subscribe to an interaction class."""
        self.call("SubscribeInteractionClass", interaction_class=self._names.interaction_class(interaction))

    def register(self, object_class: str, name: Optional[str] = None) -> bytes:
        """Register an instance of a class, under a name that is reserved if one is given. Returns its handle."""
        named = {} if name is None else {"object_instance_name": name}
        handle = self._names.object_class(object_class)
        instance = self.call("RegisterObjectInstance", object_class=handle, **named)
        self._names.classes[instance] = handle
        return instance

    def update(
        self, instance: bytes, values: Mapping[str, bytes], tag: bytes = b"", time: Optional[Time] = None
    ) -> None:
        """Update attributes of an instance: values by names of attributes, in timestamp order where a time is given."""
        named = self._names.attribute_values(self._names.class_of(instance), values)
        self._send(time, "UpdateAttributeValues", tag, object_instance=instance, attribute_values=named)

    def send(
        self, interaction: str, parameters: Mapping[str, bytes], tag: bytes = b"", time: Optional[Time] = None
    ) -> None:
        """Send an interaction: values by names of parameters, in timestamp order where a time is given."""
        handle = self._names.interaction_class(interaction)
        named = self._names.parameter_values(handle, parameters)
        self._send(time, "SendInteraction", tag, interaction_class=handle, parameter_values=named)

    def delete(self, instance: bytes, tag: bytes = b"", time: Optional[Time] = None) -> None:
        """Delete an instance that this federate owns."""
        self._send(time, "DeleteObjectInstance", tag, object_instance=instance)

    # ---- Time.

    @property
    def time(self) -> Optional[Time]:
        """The logical time that was granted last; None where the federate has not joined."""
        return self._time

    def enable_time_regulation(self, lookahead: Time) -> None:
        """Regulate the time of others: messages come at least a lookahead after the federate's time."""
        self.call("EnableTimeRegulation", lookahead=lookahead)
        self._evoke_until(lambda: self._regulates)

    def enable_time_constrained(self) -> None:
        """Have messages in timestamp order, and time granted as far as those who regulate allow."""
        self.call("EnableTimeConstrained")
        self._evoke_until(lambda: self._is_constrained)

    def advance(self, to: Time) -> Time:
        """Advance to a time, and get all messages up to it (TAR). Returns the time granted."""
        return self._advance("TimeAdvanceRequest", to)

    def advance_to_next_message(self, to: Time) -> Time:
        """Advance to the next message, or to a time if none comes before it (NMR). Returns the time granted."""
        return self._advance("NextMessageRequest", to)

    # ---- Whatever else the standard has.

    def call(self, service: str, **fields: Any) -> Any:
        """Call a service by the standard's name, such as ``call("QueryGALT")``.

        Parameters
        ----------
        service
            Its name, in camel case. Of calls that differ in their fields alone, such as ``UpdateAttributeValues`` with
            and without a time, the one is called that has the fields which are given.
        fields
            Its fields, in snake case: handles as bytes, sets of handles as lists, maps as dicts, times as numbers, and
            values of enumerations by their names.

        Returns
        -------
        object
            Its result; None where it has none, a dict where it has several fields.

        Raises
        ------
        RTIError
            It is not carried out.
        """
        if self._session is None:
            raise ConnectionLost("the federate is not connected")
        given = {**{name: value for name, value in services.DEFAULTS.items() if services.has(service, name)}, **fields}
        name = services.variant(service, given)
        wanted = {field.name: field.kind for field in _wire.CALLS[name].fields}
        coded = {field: self._coded(wanted[field], value) for field, value in given.items()}
        answer = self._session.ask(name, coded)
        kinds = {field.name: field.kind for field in _wire.CALLS[name].answer}
        answer = {field: self._plain(kinds[field], value) for field, value in answer.items()}
        return None if not answer else answer if len(answer) > 1 else next(iter(answer.values()))

    def evoke(self, timeout: Optional[float] = 0.0) -> bool:
        """Take the callbacks that have come.

        Parameters
        ----------
        timeout
            How many seconds to wait for the first; None is as long as it takes.

        Returns
        -------
        bool
            Whether there was one.
        """
        if self._session is None:
            raise ConnectionLost("the federate is not connected")
        if not self._session.wait(timeout):
            return False
        while self._session is not None and self._session.callbacks:
            self._take_callback(self._session)
        return True

    # ---- Callbacks, for subclasses.

    def connection_lost(self, description: str) -> None:
        """The infrastructure has ended."""

    def announce_synchronization_point(self, label: str, tag: bytes) -> None:
        """A synchronization point is announced: `synchronize` comes to it."""

    def federation_synchronized(self, label: str) -> None:
        """All federates have come to the point."""

    def discover_object_instance(self, instance: bytes, object_class: str, name: str) -> None:
        """There is an instance of a class that was subscribed to."""

    def reflect_attribute_values(
        self, instance: bytes, values: dict[str, bytes], tag: bytes, time: Optional[Time]
    ) -> None:
        """Attributes of an instance have new values, by their names; at a time where they are in timestamp order."""

    def receive_interaction(
        self, interaction: str, parameters: dict[str, bytes], tag: bytes, time: Optional[Time]
    ) -> None:
        """An interaction has come, with parameters by their names; at a time where it is in timestamp order."""

    def remove_object_instance(self, instance: bytes, tag: bytes, time: Optional[Time]) -> None:
        """An instance was deleted."""

    def time_advance_grant(self, time: Time) -> None:
        """The federate has advanced to this time."""

    def other_callback(self, name: str, fields: dict[str, Any]) -> None:
        """Any other callback of the standard, by its name in camel case, with its fields as `call` has them."""

    # ---- Inside.

    def _send(self, time: Optional[Time], service: str, tag: bytes, **fields: Any) -> None:
        timed = {} if time is None else {"time": time}
        self.call(service, user_supplied_tag=tag, **fields, **timed)

    def _advance(self, service: str, to: Time) -> Time:
        self._granted = False
        self.call(service, time=to)
        self._evoke_until(lambda: self._granted)
        assert self._time is not None
        return self._time

    def _evoke_until(self, is_enough: Callable[[], bool]) -> None:
        # Callbacks that came before are taken too: what is waited for may be among them.
        while not is_enough():
            if self._session is None:
                raise ConnectionLost("the federate is not connected")
            self._session.wait(None)
            self._take_callback(self._session)

    def _coded(self, kind: str, value: Any) -> Any:
        if kind not in ("LogicalTime", "LogicalTimeInterval"):
            return value
        if self._time_format is None:
            raise ValueError("a time before the federate has joined")
        try:
            return struct.pack(self._time_format, value)
        except struct.error as error:
            allowed = "a whole number" if self._time_format == ">q" else "a number"
            raise TypeError(f"a time is {value!r}; allowed: {allowed}") from error

    def _plain(self, kind: str, value: Any) -> Any:
        if kind in ("LogicalTime", "LogicalTimeInterval") and value and self._time_format:
            return struct.unpack(self._time_format, value)[0]
        if kind == "TimeQueryReturn":
            return self._plain("LogicalTime", value["logical_time"]) if value["logical_time_is_valid"] else None
        return value

    def _take_callback(self, session: Session) -> None:
        number, body = session.callbacks.popleft()
        name, fields = _wire.decode_callback(body)
        kinds = _wire.KINDS[name]
        fields = {field: self._plain(kinds[field], value) for field, value in fields.items()}
        try:
            take(self, name, fields)
        except BaseException as error:
            session.answer(number, error)
            raise
        session.answer(number, None)
