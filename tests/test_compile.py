"""Every kernel, shared or of one paper, compiles for the cards we name, without a GPU."""

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import textwrap
from zlib import crc32

import facts
import pytest

import papers
from papers.common.gpu.signatures import argument_types, names_element

cuda = pytest.importorskip("numba.cuda")


def kernel_modules():
    for found in sorted(pkgutil.walk_packages(papers.__path__, "papers."), key=lambda m: m.name):
        if found.name.startswith("papers._template"):
            continue  # tests/test_sixth_paper.py compiles a copy of it
        if "kernels" in found.name.replace(".", "_").split("_") and not found.ispkg:
            module = importlib.import_module(found.name)
            if hasattr(module, "SIGNATURES"):
                yield module


@functools.cache
def cases():
    """Every kernel in each of its types."""
    return list(found_cases())


def found_cases():
    for module in kernel_modules():
        for kernel, signature in module.SIGNATURES.items():
            kinds = module.ELEMENT_TYPES if names_element(signature) else ("int32",)
            for kind in kinds:
                name = f"{module.__name__.removeprefix('papers.')}.{kernel.py_func.__name__}-{kind}"
                yield pytest.param(kernel, argument_types(signature, kind), kind, id=name)


def dispatchers_of(module):
    """Every kernel defined in a module: a Dispatcher that is no device function."""
    kind = type(next(iter(module.SIGNATURES)))
    return {
        value
        for value in vars(module).values()
        if isinstance(value, kind)
        and value.py_func.__module__ == module.__name__
        and not value.targetoptions.get("device")
    }


@pytest.fixture
def _no_gpu_needed(monkeypatch):
    """The compiler asks the driver one thing, the compute capability: answer for it."""
    import numba.cuda.dispatcher as dispatcher

    class Card:
        compute_capability = (9, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: Card)


@functools.cache
def length(kernel):
    return len(inspect.getsource(kernel.py_func))


WHOLE_SOLVES = (
    "synthesis.assignment.kernels.floats.assign", "synthesis.batch.kernels.",
    "deveci_matching.beyond.kernels.grafting",
)  # fmt: skip
"""Kernels of thousands of lines, which Numba compiles in a second and the optimizer in five."""

WHOLE_SOLVES_OF_INTEGERS = (
    "synthesis.assignment.kernels.integers.", "synthesis.batch.kernels.each_integers.",
)  # fmt: skip
"""Kernels of the same text as those for floats, which are compiled by day."""


def on_cards():
    """Every kernel for sm_90 in every type, and for sm_80 the shortest of each module.

    By day a kernel of several types is compiled for float64 and in every sixth case for int32;
    nightly are the rest, int64 and sm_80, and the synthesis' integers: a whole solve in one kernel
    takes seconds to compile. By day `WHOLE_SOLVES` are compiled without the optimizer.
    The text differs between the two in its target only: an instruction that the older card lacks
    would be noticed by the assembler, which is not at hand. A paper whose own tests compile its
    kernels, and ask more of the text, says so in its `paper.toml`.
    """
    shortest = {}
    names = {case.id for case in cases()}
    own = {name: facts.compiled_by_own_tests(name) for name in papers.PAPERS}
    for case in cases():
        module = case.id.rpartition(".")[0]
        if (9, 0) not in own.get(case.id.partition(".")[0], []):
            kind = case.values[2]
            floats = case.id.replace(kind, "float64") in names
            late = (
                kind == "int64"
                or case.id.rpartition("-")[0].endswith(("_4", "_8"))
                or (kind == "int32" and floats and crc32(case.id.encode()) % 6)
            )
            late = late or case.id.startswith(WHOLE_SOLVES_OF_INTEGERS)
            marks = [pytest.mark.nightly] if late else []
            whole = case.id.startswith(WHOLE_SOLVES)
            if whole and not late:
                yield pytest.param(*case.values, (9, 0), False, id=f"{case.id}-sm_90-as_written")
                marks = [pytest.mark.nightly]
            yield pytest.param(*case.values, (9, 0), True, id=f"{case.id}-sm_90", marks=marks)
        if module not in shortest or length(case.values[0]) < length(shortest[module].values[0]):
            shortest[module] = case
    for case in shortest.values():
        older = pytest.mark.nightly
        yield pytest.param(*case.values, (8, 0), True, id=f"{case.id}-sm_80", marks=older)


@pytest.mark.usefixtures("_no_gpu_needed")
@pytest.mark.parametrize(
    ("kernel", "signature", "kind", "capability", "optimized"), list(on_cards())
)
def test_kernel_compiles(kernel, signature, kind, capability, optimized):
    ptx, _ = cuda.compile(
        kernel.py_func, signature, device=False, abi="numba", cc=capability, opt=optimized
    )
    assert f".target sm_{capability[0]}{capability[1]}" in ptx
    assert kernel.py_func.__name__ in ptx
    if kind != "float64":
        assert ".f64" not in ptx, "floating point slipped into an integer kernel"


@pytest.mark.parametrize("module", list(kernel_modules()), ids=lambda module: module.__name__)
def test_every_kernel_has_a_signature(module):
    assert dispatchers_of(module) == set(module.SIGNATURES)


@pytest.mark.usefixtures("_no_gpu_needed")
def test_a_check_is_load_fence_load_and_a_cover_store_fence_store():
    """S2 and S3 of Theorem 1 in the machine's own words, in their order."""
    from papers.lopes2019.kernels import search
    from papers.lopes2019.kernels.arguments import Covers, Marks

    lines = "int32[::1]"

    def check(covers, out):
        if search.uncovered(covers, 3, 4):
            out[0] = 7

    def cover(covers, marks, flags, out):
        out[0] = search.process(covers, marks, 3, 4, flags)

    ptx = compiled(check, [Covers, lines])
    wanted = r"ld\.relaxed\.gpu.*(membar\.gl|fence\.sc\.gpu|membar\.cta).*ld\.relaxed\.gpu"
    assert re.search(wanted, ptx, re.DOTALL)
    # The column, the row for a quick no, and behind the fence the row again.
    assert ptx.count("ld.relaxed.gpu") == 3
    ptx = compiled(cover, [Covers, Marks, lines, lines])
    after = ptx[ptx.index("st.relaxed.gpu") :]
    stores = [m.start() for m in re.finditer("st.relaxed.gpu", after)]
    fences = [m.start() for m in re.finditer(r"membar\.(gl|cta)|fence\.sc", after)]
    # The prime and the row's cover, then the fence (one a scope), then the column's; the path
    # flag belongs to the other branch.
    assert len(stores) == 4
    assert len(fences) == 2
    assert stores[1] < min(fences) < max(fences) < stores[-1]


def compiled(function, kinds):
    typed = argument_types(kinds)
    return cuda.compile(function, typed, device=False, abi="numba", cc=(9, 0))[0]


@pytest.mark.usefixtures("_no_gpu_needed")
@pytest.mark.parametrize("name", ["load_relaxed", "load_acquire", "load_relaxed_block"])
def test_loads_are_not_moved_out_of_loops(name):
    from papers.common.gpu import memory_order

    load = getattr(memory_order, name)

    def spin(flag, out):
        while load(flag, 0) == 0:
            pass
        out[0] = 1

    ptx = compiled(spin, ["int32[::1]", "int32[::1]"])
    order, scope = ("acquire", "gpu") if "acquire" in name else ("relaxed", "gpu")
    scope = "cta" if name.endswith("block") else scope
    loads = [m.start() for m in re.finditer(rf"ld\.{order}\.{scope}", ptx)]
    loop = re.search(r"^\$L__BB0_\d+:", ptx, re.MULTILINE)
    assert loop
    assert loads
    assert max(loads) > loop.start(), "the load stands before the loop"


@pytest.mark.usefixtures("_no_gpu_needed")
def test_stores_name_their_order_and_scope():
    from papers.common.gpu import memory_order

    def store(a, b, c, d):
        memory_order.store_relaxed(a, 0, 1)
        memory_order.store_release(b, 0, 1)
        memory_order.store_release_system(c, 0, 1)
        memory_order.store_relaxed_block(d, 0, 1)

    ptx = compiled(store, ["int32[::1]", "int32[::1]", "int64[::1]", "uint8[::1]"])
    for text in (
        "st.relaxed.gpu.global.b32",
        "st.release.gpu.global.b32",
        "st.release.sys.global.b64",
        "st.relaxed.cta.b8",
    ):
        assert text in ptx


def callees(function):
    """Whatever a function calls by a global name, or by one of a module's."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            first, *rest = name.split(".")
            found = function.__globals__.get(first)
            for part in rest:
                found = getattr(found, part, None)
            yield name, found


def test_kernels_call_device_functions_only():
    """What has been launched as a kernel can no longer be called: only a GPU would show it."""
    checked = 0
    for module in kernel_modules():
        kind = type(next(iter(module.SIGNATURES)))
        for value in vars(module).values():
            if isinstance(value, kind) and value.py_func.__module__ == module.__name__:
                for name, found in callees(value.py_func):
                    checked += isinstance(found, kind)
                    is_kernel = isinstance(found, kind) and not found.targetoptions.get("device")
                    assert not is_kernel, f"{module.__name__}: {name} is a kernel"
    assert checked > 100
