"""Federates in Python in federations that the program `paceline rti` serves."""

import contextlib
import re
import signal
import socket
import struct
import subprocess
import threading

import pytest

from paceline import _program, hla

MODULE = """<?xml version="1.0"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
<objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>Station</name><sharing>PublishSubscribe</sharing>
<attribute><name>served</name><dataType>HLAinteger64BE</dataType><updateType>Conditional</updateType>
<ownership>NoTransfer</ownership><sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation>
<order>TimeStamp</order></attribute>
</objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>Customer</name><sharing>PublishSubscribe</sharing>
<transportation>HLAreliable</transportation><order>TimeStamp</order>
<parameter><name>number</name><dataType>HLAinteger64BE</dataType></parameter>
</interactionClass></interactionClass></interactions>
</objectModel>
"""
CUSTOMER, STATION = "HLAinteractionRoot.Customer", "HLAobjectRoot.Station"
LAST = 30


class Server:
    """An infrastructure on a port of its own."""

    def __init__(self, *options):
        arguments = [_program.program(), "rti", "--listen", "127.0.0.1:0", *map(str, options)]
        self.child = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.child.stdout.readline().split()[-1]

    def end(self):
        """What it has printed since it began to listen."""
        self.child.send_signal(signal.SIGINT)
        out, said = self.child.communicate(timeout=60)
        assert self.child.returncode in (0, 130), said
        return out


@contextlib.contextmanager
def served(*options):
    server = Server(*options)
    try:
        yield server
    finally:
        server.child.kill()
        server.child.communicate()


@pytest.fixture
def module(tmp_path):
    (tmp_path / "stations.xml").write_text(MODULE)
    return tmp_path / "stations.xml"


class Node(hla.Federate):
    """A station that a customer leaves for the other one after a walk, and that publishes how many it has served."""

    def __init__(self, address, module, name, first):
        super().__init__()
        self.address, self.module, self.name, self.first = address, module, name, first
        self.seen, self.served, self.waiting, self.known = [], 0, [], {}

    def run(self):
        self.connect(self.address)
        self.create("Walk", [self.module], time="HLAinteger64Time")
        self.join("Walk", name=self.name, type="station")
        self.publish_interaction(CUSTOMER)
        self.subscribe_interaction(CUSTOMER)
        self.publish(STATION, ["served"])
        self.subscribe(STATION, ["served"])
        self.enable_time_regulation(1)
        self.enable_time_constrained()
        # The one that is first waits for the other one, or nobody would be there to be synchronized with.
        if self.first:
            while "away" not in self.members():
                self.evoke(0.01)
            assert self.register_synchronization_point("begin")
        self.synchronize("begin")
        mine = self.register(STATION)
        if self.first:
            self.send(CUSTOMER, {"number": struct.pack(">q", 0)}, time=self.time + 1)
        while self.time < LAST:
            self.advance_to_next_message(LAST)
            for number in self.waiting:
                self.served += 1
                self.update(mine, {"served": struct.pack(">q", self.served)}, time=self.time + 1)
                self.send(
                    CUSTOMER, {"number": struct.pack(">q", number + 1)}, b"walks", time=self.time + 1 + number % 2
                )
            self.waiting.clear()
        self.resign()
        self.disconnect()

    def members(self):
        self.found = set()
        self.call("ListFederationExecutionMembers", federation_name="Walk")
        while not self.found:
            self.evoke(None)
        return self.found

    def other_callback(self, name, fields):
        if name == "ReportFederationExecutionMembers":
            self.found = {member["federate_name"] for member in fields["report"]}

    def discover_object_instance(self, instance, object_class, name):
        assert object_class == STATION and name
        self.known[instance] = name

    def receive_interaction(self, interaction, parameters, tag, time):
        assert interaction == CUSTOMER
        number = struct.unpack(">q", parameters["number"])[0]
        self.seen.append(("customer", time, number, tag))
        self.waiting.append(number)

    def reflect_attribute_values(self, instance, values, tag, time):
        assert instance in self.known
        self.seen.append(("served", time, struct.unpack(">q", values["served"])[0], tag))


def walk(server, module, around=lambda node: node.run()):
    """What two nodes have seen."""
    nodes = [Node(server.address, module, "home", True), Node(server.address, module, "away", False)]
    failed = []

    def run(node):
        try:
            around(node)
        except BaseException as error:
            failed.append(error)
            server.child.kill()

    threads = [threading.Thread(target=run, args=(node,), daemon=True) for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
        assert not thread.is_alive(), "a federate waits for ever"
    assert not failed, failed
    return [node.seen for node in nodes]


def test_two_federates_see_the_same_in_every_run(module, tmp_path):
    seen, digests = [], []
    for number in range(2):
        with served("--record", tmp_path / f"{number}.rec") as server:
            seen.append(walk(server, module))
            digests.append(re.findall(r"(\w+): .*in timestamp order (\d+), digest (\w+)", server.end()))
    assert seen[0] == seen[1] and digests[0] == digests[1]
    assert sorted((name, int(messages)) for name, messages, _ in digests[0]) == [
        ("away", len(seen[0][1])),
        ("home", len(seen[0][0])),
    ]
    home, away = seen[0]
    # The customer walks to and fro: each sees the numbers that the other one sends.
    assert away[0] == ("customer", 1, 0, b"") and ("customer", 2, 1, b"walks") in home
    times = [time for _, time, *_ in home]
    assert times == sorted(times) and times[-1] <= LAST
    numbers = sorted(number for kind, _, number, _ in home + away if kind == "customer")
    assert numbers == list(range(len(numbers)))


def test_a_session_goes_on_over_new_connections(module, monkeypatch):
    cuts = []

    class Cut(socket.socket):
        """A connection that breaks after so many frames."""

        def sendall(self, data):
            self.sent = getattr(self, "sent", 0) + 1
            if self.sent == 25:
                cuts.append(len(data))
                # Half of a frame arrives.
                super().sendall(data[: len(data) // 2])
                self.shutdown(socket.SHUT_RDWR)
                raise ConnectionResetError("cut")
            super().sendall(data)

    class Breaks(hla._session.Session):
        def _connected(self):
            cut = Cut(socket.AF_INET, socket.SOCK_STREAM)
            cut.connect(self._address)
            cut.settimeout(60)
            return cut

    with served() as server:
        whole = walk(server, module)
    monkeypatch.setattr(hla._federate, "Session", Breaks)
    with served() as server:
        assert walk(server, module) == whole
    assert len(cuts) > 4


def test_what_is_refused_is_named(module):
    with served("--limit", "federations=1") as server, hla.Federate() as federate:
        federate.connect(server.address)
        assert federate.create("F", [module]) and not federate.create("F", [module])
        with pytest.raises(hla.RTIError) as caught:
            federate.create("G", [module])
        assert caught.value.name == "RTIinternalError" and "federations" in caught.value.details
        with pytest.raises(hla.RTIError, match="^FederateNotExecutionMember"):
            federate.publish_interaction(CUSTOMER)
        federate.join("F", name="one")
        assert federate.time == 0.0 and federate.call("QueryGALT") is None
        with pytest.raises(hla.RTIError, match="^NameNotFound"):
            federate.subscribe(STATION, ["lost"])
        with pytest.raises(TypeError, match="attributes must be a list of names"):
            federate.subscribe(STATION, "served")
        with pytest.raises(ValueError, match="no service 'QueryGalt'"):
            federate.call("QueryGalt")
        with pytest.raises(TypeError, match="allowed: time"):
            federate.call("TimeAdvanceRequest", until=3)
        with pytest.raises(TypeError, match="a time is 'soon'; allowed: a number"):
            federate.advance("soon")
        with pytest.raises(ValueError, match="resign_action is 'Gently'; allowed: Unconditionally"):
            federate.resign("Gently")
        assert federate.call("GetAttributeName", **named(federate)) == "served"
        assert not federate.evoke(0.0)
        federate.resign()
        federate.destroy("F")
    with pytest.raises(ValueError, match="allowed: HOST:PORT"):
        federate.connect("localhost")
    with pytest.raises(ConnectionError):
        federate.connect(server.address)
    with pytest.raises(hla.ConnectionLost):
        federate.evoke()


def named(federate):
    of = federate.call("GetObjectClassHandle", object_class_name=STATION)
    return {
        "object_class": of,
        "attribute": federate.call("GetAttributeHandle", object_class=of, attribute_name="served"),
    }


def test_a_callback_that_raises_and_an_infrastructure_that_ends(module, tmp_path):
    class Careless(hla.Federate):
        lost = None

        def announce_synchronization_point(self, label, tag):
            raise ArithmeticError(f"{label} with {tag!r}")

        def connection_lost(self, description):
            self.lost = description

    (tmp_path / "password").write_text("Gr\u00fc\u00dfe\n", encoding="utf-8")
    with served("--password", tmp_path / "password") as server:
        federate = Careless()
        with pytest.raises(hla.RTIError, match="^Unauthorized"):
            federate.connect(server.address)
        federate.connect(server.address, password="Gr\u00fc\u00dfe")
        federate.create("F", [module])
        federate.join("F")
        with pytest.raises(ArithmeticError, match="begin with b'now'"):
            federate.register_synchronization_point("begin", b"now")
            federate.synchronize("begin")
        # It goes on.
        assert federate.call("QueryLogicalTime") == 0.0
        server.end()
        with pytest.raises(hla.ConnectionLost):
            while True:
                federate.evoke(None)
        assert federate.lost
