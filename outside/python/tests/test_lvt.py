"""The publisher of LVTs, on pages that the program makes and reads."""

import json
import os
import subprocess
import threading

import pytest

from paceline import _native, _program, lvt


def slots(page):
    options = ["--page", page, "--json", "--count", "1", "--interval", "10ms"]
    shown = subprocess.run([_program.program(), "lvt", "watch", *options], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)


@pytest.fixture
def page(tmp_path):
    subprocess.run(
        [_program.program(), "lvt", "new", str(tmp_path / "page"), "--slots", "2"], check=True, capture_output=True
    )
    return str(tmp_path / "page")


def test_threads_publish_and_slots_are_freed(page, monkeypatch):
    monkeypatch.setenv("PACELINE_LVT", page)
    publisher = lvt.Publisher.from_env("rank 3", lookahead_ns=10)
    for time in (100, 105, 90):
        publisher.publish(time)
    assert publisher.is_present and publisher.backwards == 1
    found = str(slots(page))
    assert "rank 3" in found and "90" in found
    problems = []

    def publish():
        other = lvt.Publisher(page, "rank 4")
        try:
            lvt.Publisher(page, "rank 5")
        except lvt.PageError as error:
            problems.append(str(error))
        other.close()

    thread = threading.Thread(target=publish)
    thread.start()
    thread.join()
    publisher.close()
    assert not publisher.is_present and "rank" not in str(slots(page))


def test_a_publisher_without_a_page_does_nothing_and_a_wrong_page_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("PACELINE_LVT", raising=False)
    absent = lvt.Publisher.from_env("rank 3")
    absent.publish(7)
    absent.set_waiting(True)
    absent.close()
    assert not absent.is_present
    (tmp_path / "page").write_bytes(bytes(128))
    os.chmod(tmp_path / "page", 0o600)
    with pytest.raises(lvt.PageError, match="does not begin with PACELVT"):
        lvt.Publisher(str(tmp_path / "page"), "rank 3")


def test_compare_exchange_stays_in_its_buffer():
    buffer = bytearray(16)
    view = memoryview(buffer)
    assert _native.compare_exchange(buffer, 8, 4, 0, 7) and view.cast("I")[2] == 7
    assert not _native.compare_exchange(buffer, 8, 4, 0, 8) and view.cast("I")[2] == 7
    assert _native.compare_exchange(buffer, 8, 8, 7, 2**64 - 1) and view.cast("Q")[1] == 2**64 - 1
    for offset, size in [(16, 4), (13, 4), (12, 8), (2, 4), (4, 8), (0, 2), (2**64 - 1, 4)]:
        with pytest.raises(ValueError):
            _native.compare_exchange(buffer, offset, size, 0, 0)
    with pytest.raises(ValueError):
        _native.compare_exchange(bytes(16), 0, 4, 0, 1)
    with pytest.raises(ValueError):
        _native.compare_exchange(buffer, 0, 4, 2**32, 0)
