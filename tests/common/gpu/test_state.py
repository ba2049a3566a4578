"""The state that all solvers share: it forgets an earlier run."""

from dataclasses import dataclass

import numpy as np
from numba import cuda, int64

from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.gpu.memory_order import store_release_system
from papers.common.gpu.signals import PAYLOAD_BITS, Mailbox, unpack
from papers.common.gpu.state import DeviceState


@cuda.jit
def send(count, word):
    if cuda.grid(1) == 0:
        count[0] += 1
        payload = int64(7) | (int64(1) << 33)
        store_release_system(word, 0, (int64(count[0]) << PAYLOAD_BITS) | payload)


@dataclass
class State(DeviceState):
    n: int


def test_a_payload_is_a_count_and_two_flags():
    assert unpack(7) == (7, False, False)
    assert unpack(7 | 1 << 32) == (7, True, False)
    assert unpack(0xFFFFFFFF | 1 << 33) == (0xFFFFFFFF, False, True)


def test_forgetting_begins_anew_after_an_interrupted_run():
    device.select("cpu")
    state = State(3, mailbox=Mailbox())
    count = device.to_device(np.zeros(1, np.int32))
    state.launches["send"] = bind(send, 1, 1, count, state.mailbox.device_word)
    state.launches["send"]()
    state.launches["send"]()  # two words, neither of them read
    state.counters["matches"], state.solved = 2, True
    state.forget()
    assert (state.counters, state.solved, state.launches["send"].count) == ({}, False, 0)
    state.launches["send"]()
    assert unpack(state.payload()) == (7, False, True)


def test_a_state_begins_anew_without_waiting_where_every_signal_was_read(monkeypatch):
    device.select("cpu")
    state = State(3, mailbox=Mailbox())
    state.launches["send"] = bind(
        send, 1, 1, device.to_device(np.zeros(1, np.int32)), state.mailbox.device_word
    )
    monkeypatch.setattr(device, "synchronize", lambda: 1 / 0)
    for _ in range(2):
        state.begin()
        state.launches["send"]()
        assert unpack(state.payload()) == (7, False, True)


def test_an_empty_problem_has_nothing_to_forget():
    state = State(0)
    state.solved = True
    state.forget()
    assert not state.solved
