"""A session of the Federate Protocol over TCP: calls and their answers, callbacks in their order, and a connection that
comes back where it breaks.

Invariant: each call is answered once, and each callback comes once, over however many connections.
"""

from __future__ import annotations

import collections
import contextlib
import socket
import ssl
import struct
import time
from typing import Any, Optional

from paceline.hla import _wire

__all__ = ["ConnectionLost", "RTIError", "Session"]

HEADER = struct.Struct(">IIQII")
NO_NUMBER, NUMBERS = 1 << 31, 1 << 31
NEW_SESSION, NEW_SESSION_STATUS, HEARTBEAT, TERMINATE, TERMINATED = 1, 2, 3, 5, 6
RESUME, RESUME_STATUS, CALL, CALL_RESPONSE, CALLBACK, CALLBACK_RESPONSE = 10, 11, 20, 21, 22, 23
VERSION = struct.pack(">I", 1)
# How long a broken connection is tried again, and the pauses between: the server keeps a session for a minute.
COME_BACK_S, PAUSE_S = 60.0, 0.1
# What a connection that is silent for so long is asked for.
SILENT_S = 20.0


class RTIError(Exception):
    """What the run-time infrastructure answers to a call that it does not carry out.

    Attributes
    ----------
    name : str
        The standard's exception, such as ``FederationExecutionAlreadyExists``.
    details : str
        What it says about it.
    """

    def __init__(self, name: str, details: str):
        super().__init__(f"{name}: {details}" if details else name)
        self.name, self.details = name, details


class ConnectionLost(ConnectionError):
    """The infrastructure has ended, or cannot be reached any more."""


class Session:
    """A session that is open. It belongs to one thread."""

    def __init__(self, host: str, port: int, context: Optional[ssl.SSLContext] = None):
        self._address, self._context = (host, port), context
        self._id, self._number, self._last_received = 0, 0, NO_NUMBER
        # What was sent and perhaps not received, by number.
        self._kept: collections.deque[tuple[int, bytes]] = collections.deque()
        self._buffer = bytearray()
        self._responses: dict[int, bytes] = {}
        self.callbacks: collections.deque[tuple[int, bytes]] = collections.deque()
        self._is_over = False
        self._socket = self._connected()
        self._send_now(0, NEW_SESSION, VERSION)
        kind, _, body = self._frame(None)
        if kind != NEW_SESSION_STATUS or body != bytes(4):
            raise ConnectionLost(f"no session is opened, status {int.from_bytes(body, 'big')}")

    def ask(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """The answer to a call. Callbacks that come before it wait."""
        number = self._send(CALL, _wire.encode_call(name, values))
        while number not in self._responses:
            self._receive(None)
        answered, fields = _wire.decode_response(self._responses.pop(number))
        if answered is None:
            raise RTIError(fields["exception_name"], fields["details"])
        return fields

    def wait(self, timeout_s: Optional[float]) -> bool:
        """Waits for a callback; false where none comes in this time."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.callbacks:
            if not self._receive(deadline):
                return False
        return True

    def answer(self, number: int, problem: Optional[BaseException]) -> None:
        """Says that a callback was handled."""
        if not self._is_over:
            self._send(CALLBACK_RESPONSE, number.to_bytes(4, "big") + _wire.encode_callback_result(problem))

    def close(self) -> None:
        """Ends the session."""
        if not self._is_over:
            with contextlib.suppress(ConnectionLost):
                self._send(TERMINATE, b"")
                while not self._is_over:
                    self._receive(None)
        self._socket.close()

    def _connected(self) -> socket.socket:
        made = socket.create_connection(self._address, timeout=COME_BACK_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is not None:
            made = self._context.wrap_socket(made, server_hostname=self._address[0])
        return made

    def _framed(self, number: int, last_received: int, kind: int, body: bytes) -> bytes:
        return HEADER.pack(HEADER.size + len(body), number, self._id, last_received, kind) + body

    def _send_now(self, number: int, kind: int, body: bytes) -> None:
        """Sends what is not sent again."""
        self._socket.settimeout(COME_BACK_S)
        self._socket.sendall(self._framed(number, self._last_received, kind, body))

    def _send(self, kind: int, body: bytes) -> int:
        if self._is_over:
            raise ConnectionLost("the session has ended")
        number = self._next_number()
        # Kept before it is sent: what a broken connection took half is sent again.
        self._kept.append((number, self._framed(number, self._last_received, kind, body)))
        try:
            self._socket.settimeout(COME_BACK_S)
            self._socket.sendall(self._kept[-1][1])
        except OSError as error:
            self._come_back(error)
        return number

    def _next_number(self) -> int:
        self._number = (self._number + 1) % NUMBERS
        return self._number

    def _receive(self, deadline: Optional[float]) -> bool:
        """Takes in the next frame; false where none comes before the deadline."""
        try:
            kind, number, body = self._frame(deadline)
        except TimeoutError:
            return False
        except OSError as error:
            if self._is_over:
                raise
            self._come_back(error)
            return True
        if number != NO_NUMBER:
            self._last_received = number
        if kind == CALL_RESPONSE:
            answered = int.from_bytes(body[:4], "big")
            self._responses[answered] = body[4:]
        elif kind == CALLBACK:
            self.callbacks.append((number, body))
        elif kind in (TERMINATED, TERMINATED + 1):
            self._is_over = True
        return True

    def _frame(self, deadline: Optional[float]) -> tuple[int, int, bytes]:
        """Kind, number and body of the next frame."""
        self._fill(4, deadline)
        size = int.from_bytes(self._buffer[:4], "big")
        self._fill(size, deadline)
        _, number, session, arrived, kind = HEADER.unpack_from(self._buffer)
        body = bytes(self._buffer[HEADER.size : size])
        del self._buffer[:size]
        self._id = session
        self._forget(arrived)
        return kind, number, body

    def _forget(self, arrived: int) -> None:
        """Keeps no more what was sent up to this number."""
        while arrived != NO_NUMBER and self._kept and (arrived - self._kept[0][0]) % NUMBERS < NUMBERS // 2:
            self._kept.popleft()

    def _fill(self, size: int, deadline: Optional[float]) -> None:
        while len(self._buffer) < size:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            # Zero would make it a socket that never waits, which has another error.
            self._socket.settimeout(SILENT_S if left is None else max(min(left, SILENT_S), 1e-6))
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                if deadline is not None and time.monotonic() >= deadline:
                    raise
                # Where nobody is there any more, a connection says so when it is used.
                try:
                    self._send_now(self._next_number(), HEARTBEAT, b"")
                except OSError as error:
                    raise ConnectionResetError("the connection takes nothing any more") from error
                continue
            if not data:
                if self._is_over or self._id == 0:
                    raise ConnectionLost("the infrastructure has closed the connection")
                raise ConnectionResetError("the connection has ended")
            self._buffer += data

    def _come_back(self, problem: OSError) -> None:
        """Resumes the session over a new connection, and sends again what has not arrived."""
        end = time.monotonic() + COME_BACK_S
        self._socket.close()
        while True:
            try:
                self._socket = self._connected()
                break
            except OSError as error:
                # A server that listens no more has ended. One that is only slow does not refuse.
                if isinstance(error, ConnectionRefusedError) or time.monotonic() > end:
                    self._is_over = True
                    raise ConnectionLost(f"the infrastructure cannot be reached: {error}") from problem
                time.sleep(PAUSE_S)
        self._buffer.clear()
        first = self._kept[0][0] if self._kept else self._number
        try:
            self._send_now(0, RESUME, struct.pack(">II", self._last_received, first))
            kind, _, body = self._frame(end)
            status, arrived = struct.unpack_from(">II", body) if kind == RESUME_STATUS else (kind, NO_NUMBER)
            if status != 0:
                raise ConnectionLost(f"the session is not resumed, status {status}")
            self._forget(arrived)
            for _, frame in self._kept:
                self._socket.sendall(frame)
        except OSError as error:
            self._is_over = True
            raise ConnectionLost(f"the session is not resumed: {error}") from problem
