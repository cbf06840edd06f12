"""Runs that Python advances step by step."""

import math
import os
import pathlib
import signal
import threading
import urllib.parse
import urllib.request

import polars
import pytest

import paceline

SCENARIO = {
    "model": {"kind": "phold", "lps": 16, "mean": "1s", "lookahead": "1s"},
    "run": {"until": "20s", "threads": 1},
}
ENDLESS = {"run.until": "1000000h"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def whole():
    return paceline.run(SCENARIO)


def children():
    return pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


@pytest.mark.parametrize("protocol", ["sequential", "window", "optimistic"])
def test_a_run_in_pieces_is_the_run_in_one_piece(whole, protocol):
    with paceline.start(SCENARIO, {"run.protocol": protocol}) as run:
        assert (run.time, run.events, run.lps) == (0.0, 0, 16) and run.next_time > 0
        assert run.run_until(2) and run.time == 2.0 and run.next_time >= 2.0
        before = run.events
        assert run.run_window() and run.events > before
        run.set_threads(2) if protocol != "sequential" else None
        assert run.run_until("12.5s") and run.time == 12.5
        assert not run.run_until() and run.next_time >= 20 and run.events == whole.summary["events_committed"]
        assert "waits" in repr(run) and "lps" in run._repr_html_()
        ended = run.finish()
    assert (ended.digest, ended.ended_by) == (whole.digest, "horizon") == (run.finish().digest, "horizon")
    with pytest.raises(paceline.RunError, match="the run has ended"):
        run.run_until()


def test_a_parameter_that_is_set_gives_what_the_scenario_would(folder):
    model = {"kind": "traffic", "grid": 3, "rate": 60, "lights": True}
    with paceline.start({"model": model, "run": {"until": "20min", "threads": 1}}) as run:
        assert [one["name"] for one in run.parameters()] == ["model.cycle", "model.demand"]
        run.run_until(300)
        at = run.set("model.demand", 0.5)
        assert at >= 300 and run.set("model.cycle", "20s", time=400) == 400
        assert [one["value"] for one in run.parameters()] == ["8s", 0.5]
        for refused in [("model.offset", "1s"), ("model.demand", 2), ("model.cycle", 60), ("model.cycle", "9s", 1)]:
            with pytest.raises(ValueError, match="allowed"):
                run.set(*refused)
        assert not run.run_until()
        live = run.finish()
    assert [one["set"] for one in live.summary["changes"]] == ["model.demand", "model.cycle"]
    changes = [{"at": f"{at}s", "set": "model.demand", "to": 0.5}, {"at": "400s", "set": "model.cycle", "to": "20s"}]
    scheduled = paceline.run({"model": model, "run": {"until": "20min", "threads": 1, "change": changes}})
    assert live.digest == scheduled.digest != paceline.run({"model": model, "run": {"until": "20min"}}).digest


def test_a_run_that_python_advances_has_a_page(folder):
    with paceline.start(SCENARIO, live=True) as run:
        page = urllib.parse.urlsplit(run.live_page)
        assert page.hostname == "127.0.0.1" and page.query.startswith("token=")
        run.run_until(5)
        with urllib.request.urlopen(run.live_page) as answer:
            assert b"Paceline, live" in answer.read()
        ask = urllib.request.Request(page._replace(path="/do", query="").geturl(), data=b"status")
        ask.add_header("x-paceline-token", page.query.removeprefix("token="))
        with urllib.request.urlopen(ask) as answer:
            assert " events, threads " in answer.read().decode()
        digest = run.finish().digest
    with paceline.start(SCENARIO) as run:
        run.run_until(5)
        assert run.live_page is None and run.finish().digest == digest


def test_events_one_by_one_show_states_and_messages(whole):
    with paceline.start(SCENARIO) as run:
        times, sent = [], 0
        while (event := run.run_event()) is not None:
            assert event["after"] == run.state(event["lp"]) and event["time_s"] == run.time
            assert all(message["time_s"] >= event["time_s"] + 1 for message in event["sent"])
            times.append(event["time_s"])
            sent += len(event["sent"])
            if len(times) == 50:
                states = run.states()
                assert len(states) == 16 and states[event["lp"]] == event["after"]
        assert times == sorted(times) and len(times) == whole.summary["events_committed"] and sent > 0
        assert run.finish().digest == whole.digest


def test_events_that_are_sent_happen_and_what_cannot_be_is_refused(whole):
    with paceline.start(SCENARIO) as run:
        sample = run.run_event()["event"]
        run.run_until(5)
        for refused, problem in [
            ((99, 6, sample), "allowed: LPs below 16"),
            ((1, 1.0, sample), "allowed: 5"),
            ((1, "6", sample), "unit"),
        ]:
            with pytest.raises(ValueError, match=problem):
                run.send(*refused)
        with pytest.raises(ValueError, match="no event of this model"):
            run.send(1, 6, {"no": "event"})
        with pytest.raises(ValueError, match="the state of"):
            run.state(16)
        with pytest.raises(ValueError, match="until 3 parsecs"):
            run.run_until("3 parsecs")
        with pytest.raises(ValueError, match="run.checkpoint"):
            run.checkpoint()
        for wrong in [
            lambda: run.state("1"),
            lambda: run.run_until([1]),
            lambda: run.send(1, None, sample),
            lambda: run.set_threads(2.0),
        ]:
            with pytest.raises(TypeError):
                wrong()
        for wrong in [lambda: run.run_until(-1), lambda: run.run_until(math.inf), lambda: run.state(-1)]:
            with pytest.raises(ValueError, match="allowed"):
                wrong()
        run.send(3, 5.5, sample)
        while (event := run.run_event())["time_s"] < 5.5:
            pass
        assert (event["lp"], event["time_s"]) == (3, 5.5)
        assert run.finish().ended_by == "interrupted"
    with paceline.start(SCENARIO) as run:
        run.send(3, 5.5, sample)
        run.run_until()
        digest = run.finish().digest
    assert digest != whole.digest


def test_a_checkpoint_is_resumed_with_the_same_result(whole, folder):
    with paceline.start(SCENARIO, checkpoint="run.checkpoint") as run:
        run.run_until(7)
        run.checkpoint()
        half = run.finish()
    assert half.ended_by == "interrupted" and half.summary["events_committed"] < whole.summary["events_committed"]
    assert paceline.resume("run.checkpoint", threads=2).digest == whole.digest
    with pytest.raises(paceline.ScenarioError, match="missing.checkpoint"):
        paceline.resume("missing.checkpoint")


def test_tables_are_those_of_the_run(folder):
    from test_run import PACKETS

    with paceline.start(PACKETS, threads=1, out="kept") as run:
        run.run_until()
        ended = run.finish()
    assert polars.DataFrame(ended.tables["flows"]).height == 4 and (folder / "kept" / "flows.parquet").exists()


def test_mistakes_are_those_of_run():
    with pytest.raises(paceline.ScenarioError, match="unknown key `lpz`"):
        paceline.start(SCENARIO, {"model.lpz": 3})
    peers = {"model": {"kind": "chord", "peers": 10}, "network": {"latency": "20ms"}, "run": {"until": "1s"}}
    with pytest.raises(paceline.ScenarioError, match="only models of LPs.*paceline ctl step") as raised:
        paceline.start(peers)
    assert raised.value.file is None and "--owned" not in str(raised.value)
    assert children() == []


def test_runs_end_with_their_owner_and_when_they_are_closed():
    run = paceline.start(SCENARIO, ENDLESS)
    assert len(children()) == 1
    run.close()
    run.close()
    assert children() == []
    run = paceline.start(SCENARIO, ENDLESS)
    del run
    assert children() == []


def interrupt(number, frame):
    raise KeyboardInterrupt


@pytest.mark.parametrize("handler", [signal.default_int_handler, interrupt])
def test_ctrl_c_stops_a_run_with_the_summary_so_far(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        with paceline.start(SCENARIO, ENDLESS) as run:
            timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                run.run_until()
            timer.join()
            ended = run.finish()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.ended_by == "interrupted" and ended.summary["events_committed"] > 0


def test_progress_is_shown_in_a_terminal(monkeypatch, capsys):
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    # Long enough for several looks, however fast the machine is.
    until = {"run.until": "8000s"}
    run = paceline.run(SCENARIO, until | {"model.work_ns": 10000}, progress=True)
    shown = capsys.readouterr().err
    assert " of 8000 s, " in shown and " events/s" in shown and "% [" in shown
    # At the end the line is empty.
    assert shown.endswith("\r\x1b[2K")
    assert run.digest == paceline.run(SCENARIO, until).digest
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    paceline.run(SCENARIO, progress=True)
    assert capsys.readouterr().err == ""
    with pytest.raises(TypeError, match="progress must be a bool"):
        paceline.run(SCENARIO, progress=1)
