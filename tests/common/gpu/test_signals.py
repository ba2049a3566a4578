"""The word between device and host: waited for, told apart, missed, forgotten."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda

from papers.common.gpu import device, signals
from papers.common.gpu.launch import bind
from papers.common.gpu.memory_order import store_release_system
from papers.common.gpu.signals import PAYLOAD_BITS, Mailbox


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(signals, "PATIENCE_S", 0.0)


def put(box, sequence, payload):
    box.device_word[0] = sequence << PAYLOAD_BITS | payload


@cuda.jit
def send(payloads, counter, word):
    k = counter[0]
    counter[0] = k + 1
    store_release_system(word, 0, ((k + 1) << 34) | payloads[k])


def test_words_of_a_kernel_arrive_in_turn():
    payloads = np.array([0, 1, 2**34 - 1, 7, 7, 0], np.int64)
    box = Mailbox()
    launch = bind(send, 1, 1, payloads, np.zeros(1, np.int32), box.device_word)
    for payload in payloads:
        launch()
        assert box.wait() == payload


def test_sequence_numbers_fill_the_rest_of_the_word():
    """29 bits and the sign: a run of [DN16] sends some ten thousand words."""
    box = Mailbox()
    last = 2**29 - 2
    put(box, last, 3)
    box.forget()
    put(box, last + 1, 2**34 - 1)
    assert box.wait() == 2**34 - 1


def test_a_late_word_is_waited_for(monkeypatch):
    """It comes after the host has looked at its clock three times, still within its patience."""
    box, looks = Mailbox(), []

    def clock():
        looks.append(len(looks))
        if len(looks) == 3:
            put(box, 1, 42)
        return 0.0

    monkeypatch.setattr(signals, "time", SimpleNamespace(monotonic=clock))
    assert box.wait() == 42
    assert len(looks) == 3


def test_words_that_nobody_has_read_wait_in_their_places():
    box = Mailbox(2)
    for first in range(1, 9, 2):
        for sequence in (first, first + 1):
            box.device_word[sequence % 2] = sequence << PAYLOAD_BITS | 10 * sequence
        assert [box.wait(), box.wait()] == [10 * first, 10 * first + 10]
    box.device_word[9 % 2] = 9 << PAYLOAD_BITS  # of a run that was broken off
    box.forget()
    box.device_word[10 % 2] = 10 << PAYLOAD_BITS | 3
    assert box.wait() == 3


@pytest.mark.usefixtures("impatient")
def test_no_word_at_all_is_named():
    with pytest.raises(RuntimeError, match=r"no signal 1 came \(the word is 0x0\)"):
        Mailbox().wait()


@pytest.mark.usefixtures("impatient")
def test_the_last_word_is_not_taken_for_the_next():
    box = Mailbox()
    put(box, 1, 9)
    assert box.wait() == 9
    with pytest.raises(RuntimeError, match=rf"no signal 2 came \(the word is {1 << 34 | 9:#x}\)"):
        box.wait()


@pytest.mark.usefixtures("impatient")
def test_a_word_out_of_turn_is_not_taken():
    box = Mailbox()
    put(box, 2, 9)
    with pytest.raises(RuntimeError, match="no signal 1 came"):
        box.wait()


@pytest.mark.usefixtures("impatient")
def test_a_slow_kernel_is_waited_for_in_the_driver(monkeypatch):
    box = Mailbox()
    monkeypatch.setattr(device, "synchronize", lambda: put(box, 1, 5))
    assert box.wait() == 5


@pytest.mark.usefixtures("impatient")
def test_only_the_stream_of_the_kernels_is_waited_for(monkeypatch):
    """On a stream of the caller's: work on others may go on for long."""
    box, waited = Mailbox(), []
    box.stream = 77
    monkeypatch.setattr(
        device, "synchronize", lambda stream: (waited.append(stream), put(box, 1, 5))
    )
    assert box.wait() == 5
    box.forget()
    assert waited == [77, 77]


@pytest.mark.usefixtures("impatient")
def test_a_failed_kernel_s_own_error_comes_through(monkeypatch):
    def fail():
        raise OSError("the driver's own words")

    box = Mailbox()
    monkeypatch.setattr(device, "synchronize", fail)
    with pytest.raises(OSError, match="the driver's own words"):
        box.wait()


def test_forgetting_waits_for_the_device_and_counts_from_its_word(monkeypatch):
    """A word that is still under way when a run is given up must not be the next run's first."""
    box = Mailbox()
    put(box, 1, 8)
    assert box.wait() == 8
    monkeypatch.setattr(device, "synchronize", lambda: put(box, 2, 11))
    box.forget()
    monkeypatch.undo()
    monkeypatch.setattr(signals, "PATIENCE_S", 0.0)
    with pytest.raises(RuntimeError, match="no signal 3 came"):
        box.wait()
    box.forget()
    put(box, 3, 12)
    assert box.wait() == 12
