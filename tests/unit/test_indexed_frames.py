"""pandas with dimensions in the index: taken as they are where the names say it, otherwise a sentence that says reset_index."""

import pandas as pd
import pytest

import cellward as cw

FRAME = pd.DataFrame({"sex": ["F", "F", "M", "M"], "age": ["y", "o", "y", "o"], "n": [3, 4, 5, 6]})
PLAIN = cw.Table.from_frame(FRAME, dims=["sex", "age"], value="n")


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.set_index(["sex", "age"]),
        FRAME.set_index("sex"),
        FRAME.set_index(["sex", "age"])["n"],
        FRAME.set_index(["sex", "age"])["n"].rename(None),
        FRAME.groupby(["sex", "age"], sort=False)["n"].sum(),
        FRAME.groupby(["sex", "age"], sort=False).sum(),
    ],
    ids=["both", "one", "series", "nameless series", "grouped series", "grouped"],
)
def test_names_in_the_index_are_dimensions(frame):
    table = cw.Table.from_frame(frame, dims=["sex", "age"], value="n")
    assert table.labels.columns() == PLAIN.labels.columns()
    assert table.values.tolist() == PLAIN.values.tolist()


@pytest.mark.parametrize("frame", [FRAME.set_index(["sex", "age"]), FRAME.set_index(["sex", "age"])["n"]])
def test_records_too(frame):
    table = cw.Table.from_microdata(frame, dims=["sex", "age"], measure="n")
    assert sorted(table.values.tolist()) == sorted(PLAIN.values.tolist())


def test_hierarchies_too():
    parents = pd.Series(["Total", "Total"], index=pd.Index(["F", "M"], name="child"), name="parent")
    assert cw.Hierarchy.from_parents(parents) == cw.Hierarchy.flat(["F", "M"])


@pytest.mark.parametrize("build", [
    lambda frame: cw.Table.from_frame(frame, dims=["sex", "age"], value="n"),
    lambda frame: cw.Table.from_microdata(frame, dims=["sex", "age"], measure="n"),
], ids=["cells", "records"])  # fmt: skip
@pytest.mark.parametrize(
    "frame",
    [
        FRAME["n"],
        FRAME.set_index(["sex", "age"])["n"].rename_axis([None, None]),
        FRAME.set_index(["sex", "age"])["n"].rename("m"),
        FRAME.set_index("sex").rename_axis("gender"),
        FRAME.set_index("sex").rename_axis(None),
    ],
    ids=["a bare series", "nameless levels", "another name", "a level of another name", "a nameless index"],
)
def test_otherwise_the_sentence_says_what_to_do(build, frame):
    with pytest.raises(cw.InputError, match="reset_index"):
        build(frame)


def test_frames_without_an_index_are_told_as_before():
    with pytest.raises(cw.InputError, match="there is no column 'm'; check the names"):
        cw.Table.from_frame(FRAME, dims=["sex", "age"], value="m")
