"""The programs of `evidence/carrying` make their tables, by each way that they name."""

import numpy as np
import pandas as pd
import pytest

from papers.common.gpu import copying, device
from papers.synthesis.assignment import sending
from papers.synthesis.calls import one_matrix
from papers.synthesis.calls.cuts import layout
from papers.synthesis.evidence.calling import ExecutorsMemory
from papers.synthesis.evidence.carrying import copies, judged, laying_out, looked_at, stacks
from papers.synthesis.evidence.measured import rows
from papers.synthesis.evidence.programs import host_paths


@pytest.fixture(autouse=True)
def _in_the_executor(monkeypatch):
    monkeypatch.setattr(device, "select", lambda kind: None)
    monkeypatch.setattr(host_paths, "WARM", 0)


def test_a_row_a_copy_and_a_call(tmp_path, monkeypatch):
    monkeypatch.setattr(copies, "MEBIBYTES", (0.001, 0.01))
    monkeypatch.setattr(copies, "ORDERS", (5,))
    monkeypatch.setattr(copies, "BATCHES", ((3, 4),))
    limits, real = [], copying.overwrite_by_chunks
    monkeypatch.setattr(
        copying, "overwrite_by_chunks",
        lambda *given: limits.append(copying.DIRECT_BYTES) or real(*given),
    )  # fmt: skip
    before = copying.DIRECT_BYTES
    copies.main(str(tmp_path / "copies.csv"), "1")
    found = pd.read_csv(tmp_path / "copies.csv")
    told = found[["carried", "way"]].value_counts().to_dict()
    assert told == {
        **{("a copy", way): 2 for way in copies.DIRECT},
        ("n = 5", "as decided"): 1, ("3 x 4", "as decided"): 1,
    }  # fmt: skip
    assert {before, 0, 1 << 40} == set(limits)
    assert before == copying.DIRECT_BYTES
    assert (found[["warm_us", "cold_us"]] > 0).all(axis=None)


def test_a_copy_that_does_not_arrive_is_noticed(monkeypatch):
    monkeypatch.setattr(copies, "MEBIBYTES", (0.001,))
    monkeypatch.setattr(copying, "overwrite_by_chunks", lambda target, source: target.fill(-1))
    planned = copies.copies()
    *_, carry = next(planned)
    carry()
    with pytest.raises(AssertionError):
        next(planned)


def test_each_size_is_looked_at_by_both(tmp_path, monkeypatch):
    monkeypatch.setattr(looked_at, "ORDERS", (4, 6))
    asked, real = [], looked_at.linear_sum_assignment

    def call(matrix, **given):
        asked.append((matrix.dtype.name, sending.goes(matrix)))
        return real(matrix, **given)

    monkeypatch.setattr(looked_at, "linear_sum_assignment", call)
    looked_at.main(str(tmp_path / "looked.csv"), "1")
    found = pd.read_csv(tmp_path / "looked.csv")
    assert found["n"].tolist() == [4, 6] * len(looked_at.TYPES)
    assert set(asked) == {(dtype, sent) for dtype in looked_at.TYPES for sent in (False, True)}
    assert np.isfinite(found[["host_ms", "sent_ms"]]).all(axis=None)


def test_floats_are_solved_with_the_look_at_their_duals_and_without_it(tmp_path, monkeypatch):
    monkeypatch.setattr(judged, "ORDERS", (4,))
    monkeypatch.setattr(judged, "SEEDS", (1,))
    monkeypatch.setattr(judged, "there", ExecutorsMemory)
    looks, real = [], one_matrix.are_small

    def are_small(u, v):
        looks.append(u.size)
        return real(u, v)

    monkeypatch.setattr(one_matrix, "are_small", are_small)
    judged.main(str(tmp_path / "judged.csv"), "1")
    found = pd.read_csv(tmp_path / "judged.csv")
    assert list(found) == list(rows.read("carrying/judged"))
    assert set(found["way"]) == {"judged", "unjudged"}
    assert len(found) == 2 * len(judged.FAMILIES)
    # Once for the duals that are asked for, and once a call that looks: five of them.
    assert len(looks) >= len(judged.FAMILIES) * 5
    monkeypatch.setattr(one_matrix, "are_small", lambda u, v: pytest.fail("a look"))
    solved = judged._unjudged(one_matrix._dense()[1])
    columns = solved(np.array([[2.0, 1.0], [1.0, 3.0]]), None, False, None, None)[1]
    assert columns.tolist() == [1, 0]
    assert np.isfinite(found["us"]).all()


def test_each_stack_is_solved_by_both_solvers_in_both_places(tmp_path, monkeypatch):
    monkeypatch.setattr(stacks, "SIDES", (4, 6))
    monkeypatch.setattr(stacks, "LINES", (12,))
    asked, real = [], stacks.linear_sum_assignment

    def call(given, solver):
        asked.append((given.dtype.name, given.shape, solver))
        return real(given, solver=solver)

    monkeypatch.setattr(stacks, "linear_sum_assignment", call)
    stacks.main(str(tmp_path / "stacks.csv"), "1")
    found = pd.read_csv(tmp_path / "stacks.csv")
    places = [
        (dtype, n, place) for dtype in stacks.TYPES for n in (4, 6) for place in stacks.PLACES
    ]
    assert [tuple(row) for row in found[["dtype", "n", "place"]].to_numpy()] == places
    assert found["problems"].tolist() == [3, 3, 2, 2] * len(stacks.TYPES)
    shapes = {(3, 4, 4), (2, 6, 6)}
    assert set(asked) == {
        (dtype, shape, solver)
        for dtype in stacks.TYPES for shape in shapes for solver in stacks.SOLVERS
    }  # fmt: skip
    times = found[list(stacks.SOLVERS.values())]
    assert np.isfinite(times).all(axis=None)
    assert (times > 0).all(axis=None)


def test_solvers_that_differ_are_noticed(monkeypatch):
    identity = np.tile(np.arange(4), (3, 1))
    monkeypatch.setattr(stacks, "linear_sum_assignment", lambda given, solver: (
        identity, identity if solver == "synthesis:batch" else identity[:, ::-1]
    ))  # fmt: skip
    costs = np.arange(48).reshape(3, 4, 4) ** 2
    with pytest.raises(AssertionError):
        stacks.medians(costs, costs, 1)


def test_an_image_is_laid_out_by_each_way_and_the_loops_are_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(laying_out, "SHAPES", ((3, 4), (5, 2)))
    monkeypatch.setattr(laying_out, "TYPES", ("int64",))
    passes, real = [], layout._passes
    monkeypatch.setattr(layout, "_passes", lambda size: passes.append(real(size)) or passes[-1])
    laying_out.main(str(tmp_path / "laid.csv"), "1")
    found = pd.read_csv(tmp_path / "laid.csv")
    assert found["what"].tolist() == ["load", "arrays", "loops", "arrays", "loops"]
    assert found["capacities"].tolist() == [0, 72, 72, 60, 60]
    by_arrays = [one == (layout.ends_by_arrays, layout.arcs_by_arrays) for one in passes]
    assert by_arrays == [True, True, False, False] * 2  # each is warmed up by one more
    assert (found["ms"] > 0).all()
