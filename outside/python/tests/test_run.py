"""Runs of scenarios from Python."""

import os
import pathlib
import signal
import threading
import time

import pytest

import paceline

SCENARIO = {"model": {"kind": "phold", "lps": 64, "mean": "1s", "lookahead": "1s"}, "run": {"until": "20s"}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    threads = [threading.Thread(target=work), threading.Thread(target=interrupt)]
    for thread in threads:
        thread.start()
    try:
        run = paceline.run(SCENARIO, {"run.until": "1000000h"})
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert count[0] > 10
    assert run.ended_by not in ("horizon", "no-events")
    assert run.summary["events_committed"] > 0
