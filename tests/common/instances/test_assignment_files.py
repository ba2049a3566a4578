"""Cost matrices from files: what is read, and what is refused by name."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array, save_npz

from papers.common.instances import draw, files
from papers.common.model import Instance


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path))
    (tmp_path / "lap").mkdir()
    return tmp_path / "lap"


@pytest.mark.parametrize(("file", "name"), [("tiny", "tiny"), ("small_3", "small")])
def test_small_types_become_int32(folder, file, name):
    cost = np.arange(9, dtype=np.uint8).reshape(3, 3) + 240
    np.savez(folder / f"{file}.npz", cost=cost, optimum=0)
    found = draw(Instance("assignment_file", 3, name))
    assert found.dtype == np.int32
    assert (found == cost.astype(int)).all()


def test_weights_of_a_sparse_graph_become_costs(folder):
    """The least costs are those of a matching of the largest weight; what is missing costs 0."""
    weights = csr_array(np.array([[0, 7, 0, 2], [5, 0, 0, 0], [0, 9, 0, 0]], np.int32))
    save_npz(folder / "wide.npz", weights)
    found = draw(Instance("assignment_file", 3, "wide"))
    assert found.dtype == np.int32
    assert (found == -weights.toarray()).all()
    assert found[linear_sum_assignment(found)].sum() == -16
    with pytest.raises(files.BrokenInstanceError, match=r"not integers of 4 x 4 or wider"):
        draw(Instance("assignment_file", 4, "wide"))
    save_npz(folder / "pairs.npz", weights.tocoo())
    assert (draw(Instance("assignment_file", 3, "pairs")) == found).all()
    huge = coo_array(([1], ([0], [0])), (2, 2_000_000_000), dtype=np.int32)
    save_npz(folder / "huge.npz", huge)  # never laid out
    with pytest.raises(files.BrokenInstanceError, match="2000000000"):
        draw(Instance("assignment_file", 2, "huge"))


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"cost": np.zeros((3, 4), int)}, "not integers of 3 x 3"),
        ({"cost": np.zeros((3, 3))}, "not integers of 3 x 3"),
        ({"cost": np.full((3, 3), 2**40)}, "int32 does not hold"),
        ({"other": np.zeros((3, 3), int)}, "no matrix of costs"),
    ],
)
def test_other_files_are_refused(folder, arrays, reason):
    np.savez(folder / "odd.npz", **arrays)
    with pytest.raises(files.BrokenInstanceError, match=reason):
        draw(Instance("assignment_file", 3, "odd"))


def test_a_damaged_and_a_missing_file_are_named(folder):
    (folder / "torn.npz").write_bytes(b"PK no more")
    with pytest.raises(files.BrokenInstanceError, match="no matrix of costs"):
        draw(Instance("assignment_file", 3, "torn"))
    with pytest.raises(files.MissingInstanceError, match="absent_3"):
        draw(Instance("assignment_file", 3, "absent"))
