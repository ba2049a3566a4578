"""Arrays that say that they lie on a device; their memory is the host's, as the executor's is."""

import numpy as np

CUDA = 2


class OnDevice:
    """An array with ``__cuda_array_interface__``, as Numba's and CuPy's have it."""

    def __init__(self, array, stream=None, version=3):
        self.memory = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": None if array.flags.c_contiguous else array.strides,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "version": version,
        }
        if version >= 3:
            self.__cuda_array_interface__["stream"] = stream


class ByDlpack:
    """An array with nothing but DLPack's two methods, on a device or on the host."""

    def __init__(self, array, kind=CUDA):
        self.memory, self.kind, self.streams = array, kind, []

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream=None, **options):
        self.streams.append(stream)
        return self.memory.__dlpack__(**options)


class LikeTorchOnDevice(ByDlpack, OnDevice):
    """A tensor on a device: the interface in its second version, which knows no streams."""

    def __init__(self, array):
        ByDlpack.__init__(self, array)
        OnDevice.__init__(self, array, version=2)


class LikeTorch(np.ndarray):
    """A tensor on the host: asking it for the interface is an error, as PyTorch has it."""

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("Can't get __cuda_array_interface__ on non-CUDA tensor type")


class SparseOnDevice:
    """A matrix in CSR format whose arrays lie on a device, as CuPy's."""

    format = "csr"

    def __init__(self, matrix):
        self.shape = matrix.shape
        self.data, self.indices, self.indptr = map(
            OnDevice, (matrix.data, matrix.indices, matrix.indptr)
        )
