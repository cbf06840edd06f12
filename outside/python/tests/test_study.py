"""Studies and platforms from Python."""

import concurrent.futures

import pandas
import polars
import pytest

import paceline

SCENARIO = {"model": {"kind": "phold", "lps": 16, "mean": "1s", "lookahead": "1s"}, "run": {"until": "5s"}}
STUDY = {
    "study": {"scenario": SCENARIO, "replications": 3, "metrics": ["events"]},
    "factors": {"model.lps": [8, 16]},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def frame(study):
    return polars.DataFrame(study.table).sort("model.lps", "replication")


def test_rows_are_those_of_single_runs_and_a_study_continues(folder):
    study = paceline.study(STUDY, out="kept")
    rows = frame(study)
    assert rows.height == 6 and study.summary["runs"] == {"needed": 6, "ended": 6, "failed": 0}
    for row in rows.iter_rows(named=True):
        run = paceline.run(SCENARIO, {"model.lps": row["model.lps"], "run.seed": row["seed"]})
        assert run.digest == row["digest"]
    assert pandas.DataFrame(study.rows).groupby("model.lps").size().to_dict() == {8: 3, 16: 3}
    assert len(study.points) == 2 and study.points[0]["levels"] == {"model.lps": "8"} and study.failures == []
    assert "points=2" in repr(study) and "points" in study._repr_html_()
    again = paceline.study(STUDY, {"study.replications": 4}, out="kept")
    assert again.summary["new_runs"] == 2 and again.summary["runs"]["ended"] == 8
    assert sorted(path.name for path in folder.iterdir()) == ["kept"]


@pytest.mark.parametrize("kind", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor])
def test_an_executor_has_the_same_rows(kind):
    with kind(2) as executor:
        shared = paceline.study(STUDY, executor=executor, parts=3)
    assert frame(shared).equals(frame(paceline.study(STUDY)))


def test_mistakes_of_studies_are_named():
    with pytest.raises(paceline.ScenarioError, match="lpz"):
        paceline.study({**STUDY, "factors": {"model.lpz": [1, 2]}})
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        with pytest.raises(paceline.ScenarioError, match="lpz"):
            paceline.study({**STUDY, "factors": {"model.lpz": [1, 2]}}, executor=executor)
    for wrong in [{"at_once": "2"}, {"retry": "failed"}, {"parts": 2}]:
        with pytest.raises(TypeError):
            paceline.study(STUDY, **wrong)


PLATFORM = """<?xml version="1.0"?>
<platform version="4.1"><zone id="world" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<link id="wire" bandwidth="100MBps" latency="1ms"/>
<route src="a" dst="b"><link_ctn id="wire"/></route>
</zone></platform>
"""


def test_transfers_and_routes_of_a_platform(folder):
    (folder / "platform.xml").write_text(PLATFORM)
    routes = {(row["source"], row["destination"]): row for row in paceline.network("platform.xml")}
    assert routes["a", "b"]["links"] == ["wire"] and routes["a", "b"]["latency_seconds"] == 0.001
    alone = paceline.network("platform.xml", [("a", "b", 10**8), ("a", "b", 10**8)], model="CM02")
    both = paceline.network("platform.xml", [("a", "b", 10**8), ("a", "b", 10**8)], model="CM02", together=True)
    # Acknowledgements take a twentieth of the wire, as in SimGrid.
    assert [row["seconds"] for row in alone] == pytest.approx([1.051, 1.051])
    assert [row["seconds"] for row in both] == pytest.approx([2.101, 2.101])
    assert paceline.network("platform.xml", []) == []
    with pytest.raises(paceline.ScenarioError, match="platform.xml"):
        paceline.network("no-platform.xml")
    with pytest.raises(TypeError, match="a transfer is"):
        paceline.network("platform.xml", [("a", "b")])
    with pytest.raises(TypeError, match="for transfers"):
        paceline.network("platform.xml", model="CM02")
