"""Publishes the local virtual time (LVT) of a simulation in Python, so that a pacer can run first the thread that is
furthest behind.

>>> from paceline import lvt
>>> publisher = lvt.Publisher.from_env("rank 3")     # does nothing where PACELINE_LVT is not set
>>> publisher.publish(5_000_000)                     # wherever the program knows that everything before is done
>>> publisher.close()

The same page, rules and limits as in pacing/lvt/include/paceline_lvt.h: a publisher belongs to the thread that has made it,
a forked child makes its own, a slot whose owner has ended may be claimed by anybody. What is wrong with a page is a
PageError; a program that wants to run on unpaced uses Publisher() then. A page is a file, or a BPF map that is pinned
(x86-64 and arm64). Needs Linux.

This file can be used alone too, without the package; it then needs libatomic to compare and swap.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import stat
import threading
from typing import Optional

try:
    from paceline._native import compare_exchange
except ImportError:
    compare_exchange = None  # type: ignore[assignment]

__all__ = ["PageError", "Publisher"]

SIMULATION, WAITING = 1, 2
LVT_MAX, NOTHING_YET, DONE = 2**63 - 1, 2**63, 2**64 - 1
_RECORD_BYTES, _SLOTS_MAX, _NAME_BYTES = 64, 65536, 24
# Of pinned maps: their file system, the system call, the kind of map that can be a page, and the flag that it can be mapped.
_BPF_FS, _SYS_BPF = 0xCAFE4A11, {"x86_64": 321, "aarch64": 280}
_OBJ_GET, _OBJ_GET_INFO, _ARRAY, _MMAPABLE = 7, 15, 2, 0x400
# Where the members of a slot are, in their own size: of 8 bytes (0 to 7), or of 4 (0 to 15).
_LVT, _START_TIME, _NAME, _MESSAGES = 0, 2, 4, 7
_FLAGS, _TID, _PID, _LIBRARY = 2, 3, 6, 7


class PageError(Exception):
    """Why a page cannot be published on."""


def _start_time(pid: int, tid: int) -> Optional[int]:
    """When a thread was started; None where there is no such thread, or only its remains."""
    try:
        with open(f"/proc/{pid}/task/{tid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in b"ZXx" else int(fields[19])


def _is_gone(owner: tuple[int, int, int]) -> bool:
    """Whether an owner (thread, start time, process) has ended. While the slot changes hands only the thread is known."""
    tid, start_time, pid = owner
    if start_time:
        return _start_time(pid, tid) != start_time
    return not os.path.exists(f"/proc/{tid}")


class Publisher:
    """The slot of a thread. Made without a page it is absent, and does nothing.

    Parameters
    ----------
    path
        The page; None for none.
    name
        By which the thread is shown; at most 24 bytes of it are kept.
    lookahead_ns
        How much an LVT is ahead of the one written last, at least, to be written.

    Attributes
    ----------
    backwards : int
        How often an LVT was before the one written last.

    Raises
    ------
    PageError
        Why the page cannot be published on.
    """

    def __init__(self, path: Optional[str] = None, name: str = "", lookahead_ns: int = 0) -> None:
        self.backwards, self._last_ns, self.lookahead_ns = 0, NOTHING_YET, lookahead_ns
        self._pid, self._at = 0, -1
        if path is not None:
            try:
                self._claim(path, name)
            except OSError as error:
                raise PageError(f"LVT page {path}: {error.strerror or error}") from error

    @classmethod
    def from_env(cls, name: str, lookahead_ns: int = 0) -> Publisher:
        """Claims a slot on the page that PACELINE_LVT names; where it names none, the publisher is absent."""
        return cls(os.environ.get("PACELINE_LVT") or None, name, lookahead_ns)

    @property
    def is_present(self) -> bool:
        """False if absent, and in a child of the process that has made it."""
        return self._at >= 0 and self._pid == os.getpid()

    def publish(self, lvt_ns: int) -> None:
        """Publishes that all events before `lvt_ns` are done. Written if it is more than the lookahead ahead, or behind."""
        lvt_ns = min(lvt_ns, LVT_MAX)
        if (self._last_ns == NOTHING_YET or not 0 <= lvt_ns - self._last_ns <= self.lookahead_ns) and self.is_present:
            self._words[8 * self._at + _LVT] = lvt_ns
            self.backwards += lvt_ns < self._last_ns != NOTHING_YET
            self._last_ns = lvt_ns

    def publish_done(self) -> None:
        """Publishes that this thread has nothing to do, and holds back no other, until it publishes an LVT again."""
        if self.is_present:
            self._words[8 * self._at + _LVT], self._last_ns = DONE, NOTHING_YET

    def set_waiting(self, waiting: bool) -> None:
        """Publishes whether this thread waits for others."""
        self._set_flag(WAITING, waiting)

    def set_simulation(self, simulation: bool) -> None:
        """Publishes whether this thread is scheduled by its LVT; it is so from the start."""
        self._set_flag(SIMULATION, simulation)

    def close(self) -> None:
        """Frees the slot; the publisher is absent then."""
        if self.is_present and self._halves[16 * self._at + _TID] == self._tid:
            self._words[8 * self._at + _START_TIME] = 0
            self._swap(4, 4 * (16 * self._at + _TID), self._tid, 0)
        self._at = -1

    def _set_flag(self, flag, on):
        if self.is_present:
            self._flags = self._flags | flag if on else self._flags & ~flag
            self._halves[16 * self._at + _FLAGS] = self._flags

    def _claim(self, path, name):
        self._libatomic = None if compare_exchange is not None else ctypes.CDLL("libatomic.so.1")
        self._page = _mapped(path)
        self._words, self._halves = memoryview(self._page).cast("Q"), memoryview(self._page).cast("I")
        self._pid, self._tid, self._flags = os.getpid(), threading.get_native_id(), SIMULATION
        slots = range(1, len(self._page) // _RECORD_BYTES)
        # A slot of this thread from before it executed this program; a free one; one whose owner has ended.
        for may in (lambda owner: owner[0] == self._tid, lambda owner: owner[0] == 0, _is_gone):
            for at in slots:
                owner = self._owner(at)
                if may(owner) and self._take_over(at, owner):
                    return self._settle(at, name)
        raise PageError(f"LVT page {path}: all slots are taken")

    def _owner(self, at):
        return self._halves[16 * at + _TID], self._words[8 * at + _START_TIME], self._halves[16 * at + _PID]

    def _take_over(self, at, owner):
        # The start time goes first: from then on the slot changes hands, and only the thread that has set it to 0 may continue.
        tid, start_time, _ = owner
        if start_time and not self._swap(8, 8 * (8 * at + _START_TIME), start_time, 0):
            return False
        taken = self._swap(4, 4 * (16 * at + _TID), tid, self._tid)
        if taken and tid != self._tid:
            self._halves[16 * at + _LIBRARY], self._words[8 * at + _MESSAGES] = 0, 0
        return taken

    def _swap(self, size, offset, expected, desired):
        if self._libatomic is None:
            return compare_exchange(self._page, offset, size, expected, desired)
        kind = ctypes.c_uint64 if size == 8 else ctypes.c_uint32
        function = getattr(self._libatomic, f"__atomic_compare_exchange_{size}")
        function.restype, acquire_release, relaxed = ctypes.c_bool, 4, 0
        place = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self._page)) + offset)
        return function(place, ctypes.byref(kind(expected)), kind(desired), acquire_release, relaxed)

    def _settle(self, at, name):
        text = name.partition("\0")[0].encode()[:_NAME_BYTES].decode(errors="ignore").encode()
        self._words[8 * at + _LVT] = 0
        self._halves[16 * at + _FLAGS], self._halves[16 * at + _PID] = SIMULATION, self._pid
        offset = 8 * (8 * at + _NAME)
        self._page[offset : offset + _NAME_BYTES] = text.ljust(_NAME_BYTES, b"\0")
        self._words[8 * at + _START_TIME] = _start_time(self._pid, self._tid)
        self._at = at


def _bpf(command, *attributes):
    """bpf(2) with attributes of 4 bytes each."""
    attr = (ctypes.c_uint32 * len(attributes))(*attributes)
    result = ctypes.CDLL(None, use_errno=True).syscall(_SYS_BPF[platform.machine()], command, ctypes.byref(attr), len(attr) * 4)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _halves_of(address):
    return address & 0xFFFFFFFF, address >> 32


def _is_pinned_map(path):
    system = ctypes.create_string_buffer(256)
    told = ctypes.CDLL(None).statfs(os.fsencode(path), system) == 0
    return told and ctypes.c_long.from_buffer(system).value & 0xFFFFFFFF == _BPF_FS and platform.machine() in _SYS_BPF


def _open_map(path):
    """The map that is pinned at `path`, and its bytes if it is an array of records that can be mapped."""
    pathname = ctypes.create_string_buffer(os.fsencode(path))
    fd = _bpf(_OBJ_GET, *_halves_of(ctypes.addressof(pathname)), 0, 0)
    info = (ctypes.c_uint32 * 6)()  # type, id, bytes of keys and of values, entries, flags
    try:
        _bpf(_OBJ_GET_INFO, fd, ctypes.sizeof(info), *_halves_of(ctypes.addressof(info)))
    except OSError:
        os.close(fd)
        raise
    fits = info[0] == _ARRAY and info[3] == _RECORD_BYTES and info[5] & _MMAPABLE
    return fd, info[4] * _RECORD_BYTES if fits else 0


def _mapped(path):
    """The page, mapped and checked."""
    is_map = _is_pinned_map(path)
    fd, size = _open_map(path) if is_map else (os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK), 0)
    try:
        file = os.stat(path) if is_map else os.fstat(fd)
        size = size if is_map else file.st_size
        slots, rest = size // _RECORD_BYTES - 1, size % _RECORD_BYTES
        if not stat.S_ISREG(file.st_mode) or rest or not 1 <= slots <= _SLOTS_MAX:
            raise PageError(f"LVT page {path}: not an LVT page (its kind or size is wrong)")
        if file.st_uid != os.geteuid() != 0 or file.st_mode & 0o077:
            raise PageError(f"LVT page {path}: belongs to another user, or its mode is not 600")
        page = mmap.mmap(fd, size)
    finally:
        os.close(fd)
    version, record_bytes, told = memoryview(page).cast("I")[2:5]
    if page[:8] != b"PACELVT\0":
        raise PageError(f"LVT page {path}: not an LVT page (it does not begin with PACELVT)")
    if (version, record_bytes) != (2, _RECORD_BYTES):
        raise PageError(f"LVT page {path}: has another version of the layout than this program")
    if told != slots:
        raise PageError(f"LVT page {path}: its size does not fit the number of slots in its header")
    return page
