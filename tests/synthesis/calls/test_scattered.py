"""Graphs of many lines with scattered partners are told from a sample, and from nothing broken."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from papers.common.instances.drawing import draw
from papers.common.model import Instance
from papers.deveci_matching.beyond.lines import Lines
from papers.synthesis.calls.lines import scattered

LINES = scattered.MANY


def lines_of(n, steps):
    """A graph of n lines, each with the partners at so many steps from its number."""
    indices = (np.arange(n)[:, None] + np.asarray(steps)).ravel() % n
    indptr = np.arange(0, indices.size + 1, len(steps))
    return Lines(n, n, indptr.astype(np.int32), indices.astype(np.int32), "rows")


def shuffled(lines):
    renamed = np.random.default_rng(1).permutation(lines.rows).astype(np.int32)
    return Lines(*lines.shape, lines.indptr, renamed[lines.indices], "rows")


def test_many_scattered_lines_are_sent_at_once_and_no_others():
    mesh = lines_of(LINES, [-1, 0, 1])
    assert not scattered.at_once(mesh)
    assert scattered.at_once(shuffled(mesh))
    assert not scattered.at_once(shuffled(lines_of(LINES - 1, [-1, 0, 1])))


@pytest.mark.parametrize(
    ("family", "label", "permuted", "expected"),
    [
        ("uniform_graph", "d3", False, True), ("skew_graph", "d8", False, True),
        ("grid_graph", "deep", False, False), ("grid_graph", "deep", True, True),
        ("path", "deep", False, False), ("path", "deep", True, True),
    ],
)  # fmt: skip
def test_families_are_told_apart(family, label, permuted, expected):
    n = 70_225 if family == "grid_graph" else 70_000
    graph = draw(Instance(family, n, label, permuted=permuted))
    assert scattered.at_once(Lines.of(graph.matrix().tocsr())) == expected


def test_empty_lines_are_no_reason():
    """They cost a core nothing."""
    full = shuffled(lines_of(LINES, [0]))
    count = np.arange(LINES + 1, dtype=np.int32)
    for share, expected in ((1, True), (4, False)):
        indptr = (count + share - 1) // share
        lines = Lines(LINES, LINES, indptr.astype(np.int32), full.indices[: indptr[-1]], "rows")
        assert scattered.at_once(lines) == expected


@pytest.mark.parametrize("value", [-(2**31), -1, 7, 2**31 - 1])
def test_lines_that_nobody_has_checked_are_read_within_their_bounds(value):
    """Bounds beside the arrays would be read outside of them: the count leaves such lines out."""
    lines = shuffled(lines_of(LINES, [-1, 0, 1]))
    indptr = lines.indptr.copy()
    indptr[1:-1] = value
    assert scattered.far_steps.py_func(indptr, lines.indices, 64) <= 1
    assert scattered.far_steps(indptr, lines.indices, 64) <= 1


def test_distances_of_32_bits_do_not_wrap():
    indices = np.array([-(2**31), 2**31 - 1], np.int32)
    assert scattered.far_steps(np.array([0, 1, 2], np.int32), indices, 1) == 1


def test_columns_are_sampled_as_rows_are():
    matrix = csr_array((np.ones(LINES), (np.arange(LINES), np.arange(LINES)[::-1])))
    for form in ("csr", "csc"):
        assert not scattered.at_once(Lines.of(matrix.asformat(form)))
