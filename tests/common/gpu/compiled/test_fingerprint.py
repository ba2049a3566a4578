"""A fingerprint changes with everything that a kernel's code is made of, and with nothing else."""

import hashlib
import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import test_compile

from papers.common.gpu.compiled import fingerprint

cuda = pytest.importorskip("numba.cuda")
types = pytest.importorskip("numba.cuda.types")

CARD, TOOLKIT = (9, 0, "a"), (13, 0)
LINE = types.Array(types.int32, 1, "C")

DEVICE = """
from numba import cuda

class Word:
    FREE = 0

@cuda.jit(device=True)
def step(array, i):
    array[i] += 1 + Word.FREE
"""

KERNEL = """
from numba import cuda
from devices_of_a_test import step

FACTOR = 3

def make(many):
    @cuda.jit
    def kernel(array):
        for _ in range(many):
            step(array, cuda.grid(1) * FACTOR)
    return kernel

kernel = make(2)
"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A function that writes a kernel and its device function as modules, and imports them."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def build(device=DEVICE, kernel=KERNEL):
        for name, text in (("devices_of_a_test", device), ("kernels_of_a_test", kernel)):
            (tmp_path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("kernels_of_a_test")

    yield build
    for name in ("devices_of_a_test", "kernels_of_a_test"):
        sys.modules.pop(name, None)


def of(kernel, kinds=(LINE,), capability=CARD, toolkit=TOOLKIT):
    return fingerprint.fingerprint(kernel, kinds, capability, toolkit)


def test_equal_sources_have_equal_fingerprints(built):
    assert of(built().kernel) == of(built().kernel)
    module = built()
    assert of(module.make(2)) == of(module.kernel)


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("device", "1 + Word", "2 + Word"),
        ("device", "FREE = 0", "FREE = 1"),
        ("device", "\nclass", "# a comment, since such a file might say anything\nclass"),
        ("kernel", "FACTOR = 3", "FACTOR = 4"),
        ("kernel", "make(2)", "make(3)"),
        ("kernel", "@cuda.jit", "@cuda.jit(max_registers=32)"),
    ],
)
def test_a_change_of_a_source_changes_it(built, part, old, new):
    texts = {"device": DEVICE, "kernel": KERNEL}
    before = of(built().kernel)
    assert old in texts[part]
    assert of(built(**{part: texts[part].replace(old, new)}).kernel) != before


def test_what_is_changed_in_memory_changes_it(built, monkeypatch):
    module = built()
    before = of(module.kernel)
    with monkeypatch.context() as patched:
        patched.setattr(module, "FACTOR", 5)
        assert of(module.kernel) != before
    with monkeypatch.context() as patched:
        patched.setattr(sys.modules["devices_of_a_test"].Word, "FREE", 1)
        assert of(module.kernel) != before
    assert of(module.kernel) == before


class One(NamedTuple):
    first: int
    second: int


class Other(NamedTuple):
    second: int
    first: int


def test_types_cards_and_toolkits_change_it(built):
    kernel = built().kernel
    named = [types.NamedUniTuple(types.int32, 2, kind) for kind in (One, Other)]
    found = [
        of(kernel),
        of(kernel, (types.Array(types.int64, 1, "C"),)),
        of(kernel, (types.Array(types.int32, 1, "A"),)),
        *(of(kernel, (kind,)) for kind in named),
        of(kernel, capability=(8, 0, "")),
        of(kernel, toolkit=(13, 1)),
    ]
    assert len(set(found)) == len(found)


def test_versions_and_settings_change_it(built, monkeypatch):
    kernel = built().kernel
    found = [of(kernel)]
    with monkeypatch.context() as patched:
        patched.setattr(fingerprint, "translators", lambda: ("numba 99.0",))
        found.append(of(kernel))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "version", "4.0")
        found.append(of(kernel))
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert of(kernel) == found[0]
    monkeypatch.setenv("NUMBA_OPT", "0")
    found.append(of(kernel))
    assert len(set(found)) == len(found)


def test_every_translator_that_is_installed_has_a_version():
    known = dict(text.rsplit(" ", 1) for text in fingerprint.translators())
    assert known["numba"] != "none"
    assert known["numba-cuda"] == importlib.metadata.version("numba-cuda")


def test_a_toolkit_without_versions_is_asked(monkeypatch):
    whole = [f"{name} 1.0" for name in fingerprint.TRANSLATORS]
    for missing in (None, "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc"):
        texts = tuple(f"{missing} none" if missing == each[:-4] else each for each in whole)
        monkeypatch.setattr(fingerprint, "translators", lambda texts=texts: texts)
        assert fingerprint.toolkit_is_known() == (missing is None)


def test_words_are_told_apart_by_their_lengths():
    def said(*words):
        description = fingerprint._Description()
        description.say(*words)
        return description.hash.hexdigest()

    assert said("ab", "c") != said("a", "bc") != said("abc")


def test_a_value_of_no_known_kind_is_refused():
    held = object()

    @cuda.jit
    def kernel(array):
        array[0] = held

    with pytest.raises(fingerprint.UnknownKindError, match="object"):
        of(kernel)


def test_arrays_and_numbers_of_numpy_are_told_apart():
    def with_value(held):
        @cuda.jit
        def kernel(array):
            array[0] = held[0]

        return of(kernel)

    held = (np.int32([1, 2]), np.int32([1, 3]), np.int64([1, 2]), (np.int32(1),), (1,), (1.0,))
    assert len({with_value(each) for each in held}) == len(held)


def all_of_the_package():
    return {case.id: of(case.values[0], case.values[1]) for case in test_compile.cases()}


def test_every_kernel_of_the_package_has_its_own_fingerprint():
    found = all_of_the_package()
    assert len(found) > 100
    assert len(set(found.values())) == len(found)


def test_another_process_finds_the_same_fingerprints():
    program = """
        import hashlib, sys
        sys.path[:0] = sys.argv[1:]
        import test_compile
        from papers.common.gpu.compiled.fingerprint import fingerprint
        found = {
            case.id: fingerprint(case.values[0], case.values[1], (9, 0, "a"), (13, 0))
            for case in test_compile.cases()
        }
        print(hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest())
    """
    here = Path(test_compile.__file__).parent
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(here), str(here.parent)],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "1"},
    ).stdout.split()  # fmt: skip
    mine = repr(sorted(all_of_the_package().items())).encode()
    assert answer == [hashlib.sha256(mine).hexdigest()]
