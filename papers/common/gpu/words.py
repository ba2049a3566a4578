"""Words that kernels and the host both read and write, as CUDA programs usually have them.

`papers.common.gpu.signals` is quicker where a kernel tells the host something once. Here the host
reads and writes plain int32 words, between kernels only: in managed memory, whose page moves to
whoever touches it, or in device memory, by copies. Papers that did so are measured with these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device


class ManagedWords:
    """Words in managed memory: the page moves to the host at a read and back at a kernel's.

    Parameters
    ----------
    size : int
        How many int32 words; they are 0.

    Attributes
    ----------
    device_words : int32[size]
        The same words for kernels.
    """

    def __init__(self, size: int) -> None:
        host, self.device_words = device.managed(size, np.int32)
        self._host: Any = memoryview(host)  # type: ignore[arg-type]

    def read(self, first: int, count: int = 1) -> list[int]:
        """Wait for the device, then read `count` words."""
        device.synchronize()
        return list(self._host[first : first + count])

    def write(self, first: int, *values: int) -> None:
        """Wait for the device, then write words."""
        device.synchronize()
        for place, value in enumerate(values, first):
            self._host[place] = value


class CopiedWords:
    """Words in device memory, which the host copies; parameters and methods as `ManagedWords`.

    A copy waits for the kernels before it.
    """

    def __init__(self, size: int) -> None:
        self.device_words = device.to_device(np.zeros(size, np.int32))
        self._host = device.staging(size, np.int32)

    def read(self, first: int, count: int = 1) -> list[int]:
        """Copy `count` words to the host."""
        device.copy_words(self._host, self.device_words, first, count, down=True)
        return self._host[first : first + count].tolist()

    def write(self, first: int, *values: int) -> None:
        """Copy words to the device."""
        self._host[first : first + len(values)] = values
        device.copy_words(self._host, self.device_words, first, len(values), down=False)
