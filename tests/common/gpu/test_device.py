"""Selecting a device, and its memory."""

import numpy as np
import pytest

from papers.common.gpu import device


def test_device_memory_is_poisoned_and_copied():
    device.select("cpu")
    source = np.arange(4)
    copy = device.to_device(source)
    copy[0] = 9
    assert source[0] == 0
    assert (device.empty(3, np.int32) == np.int32(-1515870811)).all()
    host, view = device.mapped(2, np.int64)
    view[1] = 5
    assert host.tolist() == [0, 5]


def test_selecting_a_device():
    assert not device.select("cpu").is_gpu
    assert device.describe().slug == "cpu-executor"
    with pytest.raises(ValueError, match="'tpu'"):
        device.select("tpu")
    if not device.gpu_present():
        with pytest.raises(RuntimeError, match="no CUDA GPU"):
            device.select("gpu")
        assert not device.select("auto").is_gpu
