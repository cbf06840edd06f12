"""Federates of the High Level Architecture (HLA 4, IEEE 1516-2025) in Python.

A federate is a subclass of `Federate`. It connects to a run-time infrastructure that speaks the Federate Protocol, such
as ``paceline rti``, and is called back by methods with the standard's names in snake case:

>>> from paceline import hla
>>> class Waiter(hla.Federate):
...     def receive_interaction(self, interaction, parameters, tag, time):
...         print(interaction, parameters, time)
>>> waiter = Waiter()
>>> waiter.connect()  # doctest: +SKIP
>>> waiter.create("Restaurant", ["Restaurant.xml"], time="HLAinteger64Time")  # doctest: +SKIP
>>> waiter.join("Restaurant", name="waiter")  # doctest: +SKIP

Callbacks come to the thread that waits for them: in `Federate.evoke`, and in those methods that wait for the
infrastructure, such as `Federate.advance`. Values of attributes and parameters are bytes, as the object model says: a
``HLAfloat64BE`` is ``struct.pack(">d", 1.5)``.
"""

from paceline.hla._federate import Federate
from paceline.hla._session import ConnectionLost, RTIError

__all__ = ["ConnectionLost", "Federate", "RTIError"]

# What people read in tracebacks: where they import it from.
for _kind in (ConnectionLost, Federate, RTIError):
    _kind.__module__ = __name__
