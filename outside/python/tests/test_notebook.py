"""The notebook in examples/ runs, from its first cell to its last, and shows what it says."""

import pathlib

import nbclient
import nbformat

NOTEBOOK = pathlib.Path(__file__).parents[3] / "examples" / "notebook" / "first_hour.ipynb"


def outputs(notebook, kind):
    data = (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
    return [shown[kind] for shown in data if kind in shown]


def test_the_notebook_runs_and_shows_tables_progress_and_a_plot(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    html = "\n".join(outputs(notebook, "text/html"))
    assert "digest" in html and "left-0" in html and "mean_completion_s" in html
    # Progress of a run that has ended is empty: its place below the cell is left.
    assert "<progress" not in html and "" in outputs(notebook, "text/html")
    assert len(outputs(notebook, "image/png")) == 1
    assert [path.name for path in tmp_path.iterdir()] == []
