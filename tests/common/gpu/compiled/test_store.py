"""A kernel is compiled once, and whatever goes wrong with the store, it is compiled."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import papers
from papers.common.gpu import device
from papers.common.gpu.compiled import store

cuda = pytest.importorskip("numba.cuda")
types = pytest.importorskip("numba.cuda.types")

LINE = types.Array(types.int32, 1, "C")


def make(number=1):
    @cuda.jit
    def kernel(array):
        array[cuda.grid(1)] = number

    return kernel


@pytest.fixture
def card(monkeypatch, tmp_path):
    """The compiler and the linker as for a card of capability 9.0, which is not there."""
    pytest.importorskip("cuda.bindings.nvjitlink")
    from numba.cuda import codegen, dispatcher

    card = SimpleNamespace(compute_capability=(9, 0), id=0)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: card)
    monkeypatch.setattr(codegen.devices, "get_context", lambda: SimpleNamespace(device=card))
    monkeypatch.setattr(codegen.devices, "gpus", [card])
    monkeypatch.setattr(dispatcher._Kernel, "bind", lambda self: self._codelibrary.get_cubin())
    monkeypatch.setattr(store, "_cuda", lambda: (13, 0))
    monkeypatch.setattr(store, "counts", {"loaded": 0, "compiled": 0})
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "kernels"))
    store._alike.cache_clear()
    yield tmp_path / "kernels"
    store._alike.cache_clear()


def counted():
    return store.counts["loaded"], store.counts["compiled"]


def cubin(compiled):
    return bytes(compiled._codelibrary.get_cubin().code)


def test_a_kernel_is_compiled_once_and_loaded_by_the_next_process(card):
    kernel = make()
    made = store.compiled(kernel, (LINE,))
    assert store.compiled(kernel, (LINE,)) is made
    assert counted() == (0, 1)
    loaded = store.compiled(make(), (LINE,))  # another dispatcher, as in another process
    assert counted() == (1, 1)
    assert cubin(loaded) == cubin(made)
    assert cubin(loaded)[:4] == b"\x7fELF"
    assert loaded.argument_types == made.argument_types == (LINE,)
    assert loaded.entry_name == made.entry_name
    assert loaded.cooperative is made.cooperative is False


def test_a_loaded_kernel_is_the_dispatchers(card):
    store.compiled(make(), (LINE,))
    kernel = make()
    loaded = store.compiled(kernel, (LINE,))
    assert kernel.overloads[(LINE,)] is loaded
    assert kernel.compile((LINE,)) is loaded


def test_a_cooperative_kernel_stays_one(card):
    def cooperative():
        @cuda.jit
        def kernel(array):
            array[0] = 1
            cuda.cg.this_grid().sync()

        return kernel

    assert store.compiled(cooperative(), (LINE,)).cooperative
    assert store.compiled(cooperative(), (LINE,)).cooperative
    assert counted() == (1, 1)


def test_another_kernel_is_another_entry(card):
    for number in (1, 2):
        store.compiled(make(number), (LINE,))
    store.compiled(make(), (types.Array(types.int64, 1, "C"),))
    assert counted() == (0, 3)
    assert len(list(card.iterdir())) == 3


@pytest.mark.parametrize("value", ["0", "off", "OFF", "no", "false"])
def test_the_variable_switches_it_off(card, monkeypatch, value):
    monkeypatch.setenv(store.VARIABLE, value)
    assert store.folder() is None
    store.compiled(make(), (LINE,))
    store.compiled(make(), (LINE,))
    assert counted() == (0, 2)
    assert not card.exists()


def damaged(entry):
    yield b""
    yield b"not json\n"
    yield b"[]\n"
    yield entry[:-1]
    yield entry[:-1] + bytes([entry[-1] ^ 1])
    yield entry.replace(b'"key": "', b'"key": "0', 1)
    yield entry.partition(b"\n")[2]
    head, _, code = entry.partition(b"\n")
    without = {name: value for name, value in json.loads(head).items() if name != "entry"}
    yield json.dumps(without).encode() + b"\n" + code


def test_a_damaged_entry_is_compiled_anew_and_replaced(card):
    store.compiled(make(), (LINE,))
    (path,) = card.iterdir()
    entry = path.read_bytes()
    for number, content in enumerate(damaged(entry)):
        path.write_bytes(content)
        store.compiled(make(), (LINE,))
        assert counted() == (0, number + 2)
        assert store.read(path) is not None


def test_a_cubin_that_the_driver_refuses_is_compiled_anew(card, monkeypatch):
    from numba.cuda import dispatcher

    store.compiled(make(), (LINE,))
    whole = dispatcher._Kernel.bind

    def refuse(self):
        if not hasattr(self, "py_func"):  # it came from an entry
            raise RuntimeError("no kernel image")
        whole(self)

    monkeypatch.setattr(dispatcher._Kernel, "bind", refuse)
    kernel = make()
    made = store.compiled(kernel, (LINE,))
    assert counted() == (0, 2)
    assert kernel.overloads[(LINE,)] is made
    assert made.py_func is kernel.py_func


def test_a_folder_that_cannot_be_written_is_no_fault(card):
    card.write_text("a file stands where the folder would")
    assert cubin(store.compiled(make(), (LINE,)))
    assert counted() == (0, 1)
    assert card.read_text().startswith("a file")


def test_a_kernel_without_a_fingerprint_is_compiled(card, monkeypatch):
    def unknown(*_):
        raise store.fingerprint.__globals__["UnknownKindError"]("no such kind")

    monkeypatch.setattr(store, "fingerprint", unknown)
    store.compiled(make(), (LINE,))
    assert counted() == (0, 1)
    assert not card.exists()


def test_with_two_kinds_of_gpus_nothing_is_kept(card, monkeypatch):
    from numba.cuda import codegen

    two = [SimpleNamespace(compute_capability=each) for each in ((9, 0), (8, 0))]
    monkeypatch.setattr(codegen.devices, "gpus", two)
    store.compiled(make(), (LINE,))
    assert not card.exists()


@pytest.mark.parametrize("options", [{"lineinfo": True}, {"debug": True, "opt": False}])
def test_kernels_that_name_their_sources_are_not_kept(card, options):
    def kernel(array):
        array[0] = 1

    store.compiled(cuda.jit(**options)(kernel), (LINE,))
    assert counted() == (0, 1)
    assert not card.exists()


def test_the_entries_not_used_for_longest_go(tmp_path):
    for age, name in enumerate("abcd"):
        path = tmp_path / f"{name}{store.SUFFIX}"
        path.write_bytes(b"")
        os.utime(path, (10_000 - age, 10_000 - age))
    for name, age in (("new", 0), ("old", 2 * store.ABANDONED_AFTER)):
        path = tmp_path / f"{name}.part"
        path.write_bytes(b"")
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    store._leave(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.kernel", "b.kernel", "new.part"]


def test_readers_see_a_whole_entry_while_others_write(tmp_path):
    path = tmp_path / f"x{store.SUFFIX}"
    contents = [bytes([number]) * 300_000 for number in range(4)]
    store.write(path, contents[0])
    writers = [
        threading.Thread(target=lambda own=own: [store.write(path, own) for _ in range(20)])
        for own in contents
    ]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(path.read_bytes())
    for writer in writers:
        writer.join()
    assert seen <= set(contents)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_clear_deletes_the_entries_alone(card):
    store.compiled(make(), (LINE,))
    (card / "notes").write_text("")
    assert store.clear() == 1
    assert [path.name for path in card.iterdir()] == ["notes"]
    assert store.clear() == 0


def test_the_folder_is_by_the_rule_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.setenv(store.VARIABLE, "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    found = {}
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        found[platform] = store.folder().relative_to(tmp_path).as_posix()
    assert found == {
        "linux": ".cache/gpu-papers/kernels",
        "darwin": "Library/Caches/gpu-papers/kernels",
        "win32": "local/gpu-papers/kernels",
    }
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert store.folder() == tmp_path / "other/gpu-papers/kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert store.folder() == tmp_path / ".cache/gpu-papers/kernels"
    monkeypatch.setenv(store.VARIABLE, "~/mine")
    assert store.folder() == tmp_path / "mine"
    monkeypatch.setenv(store.VARIABLE, "")
    assert store.folder() == tmp_path / ".cache/gpu-papers/kernels"
    monkeypatch.delenv(store.VARIABLE)
    assert store.folder() == tmp_path / ".cache/gpu-papers/kernels"


@pytest.mark.skipif(not device.gpu_present(), reason="there is no GPU")
def test_a_second_process_compiles_nothing(tmp_path):
    program = """
        import sys
        import numpy as np
        from papers.common.gpu.compiled import store
        from papers.synthesis.assignment import solver

        cost = np.random.default_rng(1).integers(0, 99, (100, 120), dtype=np.int32)
        print(solver.solve(cost).cost, store.counts["compiled"], store.counts["loaded"])
    """
    sources = [str(Path(papers.__path__[0]).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    setting = {
        **os.environ, store.VARIABLE: str(tmp_path), "PYTHONPATH": os.pathsep.join(sources)
    }  # fmt: skip
    said = [
        subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env=setting,
                       capture_output=True, text=True).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    (cost, made, found), (same, none, loaded) = said
    assert cost == same
    assert (int(made) > 0, found) == (True, "0")
    assert (none, loaded) == ("0", made)
