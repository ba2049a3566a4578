"""Answers that stand on a shelf: every part its own memory, whatever was before."""

import numpy as np
import pytest
from synthesis.calls.arrays import OnDevice

import papers
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.synthesis.assignment import pool
from papers.synthesis.calls import answers


@pytest.fixture(autouse=True)
def _an_executor_and_an_empty_pool():
    pool.clear()
    with device.executing(Executor()):
        yield
    pool.clear()


def test_parts_keep_their_values_when_shelves_change(monkeypatch):
    monkeypatch.setattr(answers, "WORDS", 4 * answers.ALIGNED)
    monkeypatch.setattr(answers, "MOST_WORDS", 2 * answers.ALIGNED)
    draw = np.random.default_rng(1)
    given, found = [], []
    for size in (5, 32, 1, 0, 31, 33, 60, 7):
        pair = draw.integers(0, 99, size), draw.integers(0, 99, size)
        given += pair
        found += answers.on_device(*pair)
    assert all(np.array_equal(*both) for both in zip(given, found, strict=True))
    for k, part in enumerate(found):
        part[:] = -k - 1  # no other part is touched
    for k, part in enumerate(found):
        assert (part == -k - 1).all()


def test_a_large_answer_has_memory_of_its_own():
    small, large = answers.on_device(np.arange(3))[0], np.arange(answers.MOST_WORDS + 1)
    (own,) = answers.on_device(large)
    assert own.base is None
    assert small.base is not None
    assert np.array_equal(own, large)


def test_a_part_begins_where_an_allocation_would():
    first, second = answers.on_device(np.arange(3), np.arange(4))
    assert second.ctypes.data - first.ctypes.data == 256


def test_a_call_s_answer_stands_on_a_shelf():
    costs = np.random.default_rng(2).integers(0, 99, (5, 5)).astype(np.int32)
    first = papers.linear_sum_assignment(OnDevice(costs))
    again = papers.linear_sum_assignment(OnDevice(costs[::-1].copy()))
    assert first[0].base is again[1].base  # one shelf has both
    assert np.array_equal(first[1], again[1][::-1])
