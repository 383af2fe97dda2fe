"""The tour: the notebook in examples/ runs from its first cell to its last, in a kernel of its own, and ends with a verified release."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"
SECONDS = 300


def text_of(notebook):
    """All that was printed or shown as text."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    return "\n".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in outputs)


@pytest.mark.filterwarnings("ignore")
def test_the_tour_runs_from_records_to_a_verified_release():
    notebook = nbformat.read(TOUR, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(TOUR.parent)}}).execute()
    said = text_of(notebook)
    assert "protected: True" in said
    assert "holds" in said
    assert "activity,region,value" in said
    pictures = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/svg+xml" in output.get("data", {})
    ]
    assert len(pictures) == 2
