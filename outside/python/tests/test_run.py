"""Runs of scenarios from Python."""

import contextlib
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import polars
import pytest

import paceline

SCENARIO = {"model": {"kind": "phold", "lps": 64, "mean": "1s", "lookahead": "1s"}, "run": {"until": "20s"}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_says_where_its_page_is(capfd):
    plain = paceline.run(SCENARIO)
    live = paceline.run(SCENARIO, live=True)
    assert live.digest == plain.digest
    assert "Live page: http://127.0.0.1:" in capfd.readouterr().err
    with pytest.raises(TypeError, match="live must be a bool or an address"):
        paceline.run(SCENARIO, live=8080)
    with pytest.raises(paceline.ScenarioError, match="allowed: PORT, HOST or HOST:PORT"):
        paceline.run(SCENARIO, live="no such address")


def test_path_text_and_dict_have_one_digest(folder):
    text = '[model]\nkind = "phold"\nlps = 64\nmean = "1s"\nlookahead = "1s"\n[run]\nuntil = "20s"\n'
    (folder / "phold.toml").write_text(text)
    runs = [paceline.run("phold.toml"), paceline.run(folder / "phold.toml"), paceline.run(text), paceline.run(SCENARIO)]
    assert len({run.digest for run in runs}) == 1
    assert runs[0].summary["events_committed"] > 0
    assert runs[0].ended_by == "horizon"
    assert runs[0].digest in repr(runs[0]) and runs[0].digest in runs[0]._repr_html_()
    assert sorted(path.name for path in folder.iterdir()) == ["phold.toml"]


def test_the_digest_does_not_depend_on_threads_and_protocol():
    runs = [paceline.run(SCENARIO, threads=threads) for threads in (1, 2)]
    runs.append(paceline.run(SCENARIO, overrides={"run.protocol": "optimistic"}, threads=2))
    assert len({run.digest for run in runs}) == 1
    assert [run.summary["threads"] for run in runs[:2]] == [1, 2]
    assert paceline.run(SCENARIO, {"run.seed": 2}).digest != runs[0].digest


def test_a_mistake_carries_file_line_and_key(folder):
    (folder / "bad.toml").write_text('[model]\nkind = "phold"\nlps = 16\nmean = "1x"\n')
    with pytest.raises(paceline.ScenarioError) as caught:
        paceline.run("bad.toml")
    assert (caught.value.file, caught.value.line, caught.value.key) == ("bad.toml", 4, "mean")
    with pytest.raises(paceline.ScenarioError, match="unknown key `lpz`") as caught:
        paceline.run(SCENARIO, {"model.lpz": 3})
    assert (caught.value.file, caught.value.line, caught.value.key) == (None, None, "lpz")
    with pytest.raises(paceline.ScenarioError) as caught:
        paceline.run("missing.toml")
    assert (caught.value.file, caught.value.line) == ("missing.toml", None)


@pytest.mark.parametrize("bad", [3, {"model": 3}, {"model": {"lps": object()}}, None])
def test_wrong_types_are_type_errors(bad):
    with pytest.raises(TypeError):
        paceline.run(bad)
    with pytest.raises(TypeError, match="threads must be an int"):
        paceline.run(SCENARIO, threads="2")


def test_other_threads_go_on_and_ctrl_c_ends_with_the_summary_so_far():
    count = [0]

    def work():
        while not done.is_set():
            count[0] += 1
            done.wait(0.001)

    def interrupt():
        # The run has begun once its program is there.
        children = pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
        for _ in range(1000):
            if children.read_text().strip():
                break
            time.sleep(0.01)
        done.wait(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    done = threading.Event()
    # Python leaves the signal ignored where whoever started it does, as for what runs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threads = [threading.Thread(target=work), threading.Thread(target=interrupt)]
    for thread in threads:
        thread.start()
    try:
        run = paceline.run(SCENARIO, {"run.until": "1000000h"})
    finally:
        done.set()
        for thread in threads:
            thread.join()
        signal.signal(signal.SIGINT, before)
    assert count[0] > 10
    assert run.ended_by not in ("horizon", "no-events")
    assert run.summary["events_committed"] > 0


PACKETS = """
[model]
kind = "packets"
topology = "dumbbell"
pairs = 4
access = { rate = "1Gbps", latency = "100us" }
bottleneck = { rate = "10Mbps", latency = "20ms", queue = { kind = "drop-tail", packets = 50 } }
[[model.flows]]
from = "left-*"
to = "right-*"
transport = "tcp"
bytes = "100kB"
[run]
until = "10s"
"""


EXIT = """
import os, sys, threading, time
import paceline
scenario = {scenario!r}
threading.Thread(target=lambda: paceline.run(scenario, {{"run.until": "1000000h"}}), daemon=True).start()
# The run has begun once its program is there.
while not any(open(f"/proc/self/task/{{thread}}/children").read() for thread in os.listdir("/proc/self/task")):
    time.sleep(0.01)
child = os.fork()
if child == 0:
    sys.exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_an_interpreter_that_exits_ends_its_runs_and_a_forked_one_leaves_them(folder):
    ended = subprocess.run([sys.executable, "-c", EXIT.format(scenario=SCENARIO)], timeout=300)
    assert ended.returncode == 7 and list(folder.iterdir()) == []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            assert process.name == str(os.getpid()) or (process / "cwd").readlink() != folder.resolve()


def test_tables_are_arrow_streams_and_equal_the_files(folder):
    run = paceline.run(PACKETS, threads=1)
    assert sorted(run.tables) == ["flows", "links"] and sorted(folder.iterdir()) == []
    flows = run.tables["flows"]
    assert len(flows) == 4 and len(flows["from"]) == 4 and "from" in flows.columns
    with pytest.raises(KeyError, match="allowed: flows, links"):
        run.tables["lps"]
    with pytest.raises(KeyError, match="no column load; allowed: "):
        flows["load"]
    # A column of texts, one of integers, one of reals, as polars has them without pyarrow; twice, as a stream ends.
    for _ in range(2):
        frame = polars.DataFrame(flows)
        assert frame.columns == flows.columns
        assert [frame[name].to_list() for name in frame.columns] == [flows[name] for name in flows.columns]
    kept = paceline.run(PACKETS, threads=1, out=folder / "kept")
    assert polars.read_parquet(folder / "kept" / "flows.parquet").equals(frame)
    assert (folder / "kept" / "summary.json").exists() and kept.digest == run.digest
    assert len(paceline.run(SCENARIO).tables) == 0
    (folder / "bad.parquet").write_text("nothing")
    with pytest.raises(OSError, match="bad.parquet: "):
        paceline.Table(folder / "bad.parquet")


def test_a_stream_that_nobody_took_is_freed_and_one_outlives_its_run(folder):
    run = paceline.run(PACKETS, threads=1)
    stream = run.tables["flows"].__arrow_c_stream__()
    frame = polars.DataFrame(run.tables["flows"])
    del run, stream
    gc.collect()
    assert frame.height == 4 and sum(1 for _ in folder.iterdir()) == 0


def test_replications_are_rows_with_intervals():
    ten = paceline.replicate(SCENARIO, 10, {"run.until": "5s"})
    assert [row["seed"] for row in ten.rows] == list(range(1, 11)) and len({row["digest"] for row in ten.rows}) == 10
    events = polars.DataFrame(ten.rows)["events"]
    assert ten["events"]["mean"] == pytest.approx(events.mean())
    assert ten["events"]["confidence_95_low"] < ten["events"]["mean"] < ten["events"]["confidence_95_high"]
    assert ten.rows[0]["digest"] == paceline.run(SCENARIO, {"run.until": "5s"}).digest
    assert "events" in repr(ten) and "events" in ten._repr_html_()
    with pytest.raises(KeyError, match="no result ewents; allowed: "):
        ten["ewents"]
    with pytest.raises(TypeError, match="replications must be an int"):
        paceline.replicate(SCENARIO, "10")
    with pytest.raises(paceline.ScenarioError, match="replications"):
        paceline.replicate(SCENARIO, 0)


MACHINE = """
[machine]
until = "50ms"
[policy]
kind = "credit"
[host]
pcpus = 1
[[domain]]
name = "load"
count = 2
vcpus = 1
workload = "hog"
"""


def test_machines_and_comparisons_give_one_schedule():
    alone = paceline.machine(MACHINE, {"policy.kind": "credit"})
    both = paceline.compare(MACHINE, ["credit", "psx"])
    assert list(both.policies) == ["credit", "psx"]
    assert both.policies["credit"]["schedule_digest"] == alone.schedule_digest
    assert alone.workloads[0]["name"] == "load" and alone.schedule_digest in repr(alone)
    assert alone.schedule_digest in alone._repr_html_() and "psx" in both._repr_html_() and "credit 0" in repr(both)
    with pytest.raises(paceline.ScenarioError, match="credt"):
        paceline.compare(MACHINE, ["credt"])
    with pytest.raises(TypeError, match="policies must be a list"):
        paceline.compare(MACHINE, "credit")


def test_check_says_what_would_run():
    assert "is sound" in paceline.check(SCENARIO)
    assert "is sound" not in paceline.check(SCENARIO, {"run.until": "3s"}, determinism=True)
    with pytest.raises(paceline.ScenarioError):
        paceline.check({"model": {"kind": "phold", "lps": -1}})
