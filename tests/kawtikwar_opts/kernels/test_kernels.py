"""The kernels that the report changes, beside the reference; and how little one version changes."""

import difflib
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu import launch
from papers.common.gpu.signatures import argument_types, names_element
from papers.common.instances.matrices import uniform
from papers.kawtikwar_opts import launches, reference
from papers.kawtikwar_opts.evidence import sass
from papers.kawtikwar_opts.kernels import near_zero
from papers.kawtikwar_opts.kernels.arguments import Duals
from papers.kawtikwar_opts.kernels.printed import host_loop
from papers.kawtikwar_opts.kernels.printed import one_launch as printed_launch
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros

KINDS = ("int32", "int64", "float64")
FOLDER = Path(launches.__file__).parent / "kernels"
# Lines that `diff` marks between two versions, the two headings' sentences and types included.
# Opt 2's are the kernels of the host loop, which it drops.
CHANGED = {
    ("baseline", "opt0"): 43,
    ("opt0", "opt1"): 41,
    ("opt1", "opt2"): 111,
    ("opt2", "opt3"): 18,
    ("opt3", "opt4"): 5,
}


def module(version):
    return importlib.import_module(f"papers.kawtikwar_opts.kernels.{version}")


def midway(n, kind, seed=5):
    """A tableau in the middle of a solve, as the kernels hold it: (tableau, arrays)."""
    cost = uniform(n, seed, cost_range=4 * n)
    t = reference.step_1(cost.T)
    reference.step_2(t)
    reference.step_3(t)
    reference.step_4(t)
    arrays = {
        "slack": t.slack.T.reshape(-1).astype(kind),
        "covered_row": t.covered_row.astype(np.int32),
        "covered_column": t.covered_column.astype(np.int32),
        "zeros": np.full(n * n, -1, np.int32),
        "row_dual": np.zeros(n, "float64" if kind == "float64" else "int64"),
        "column_dual": np.zeros(n, "float64" if kind == "float64" else "int64"),
    }
    return t, arrays


def dual_update(t):
    """The reference's: (least, new slacks by column, zeros by position, the duals' moves)."""
    least = t.slack[np.ix_(~t.covered_row, ~t.covered_column)].min()
    moves = -least * t.covered_row, least * ~t.covered_column
    reference.step_6(t)
    slack = t.slack.T.reshape(-1)
    return least, slack, np.flatnonzero(slack == 0), moves


def check_bins(zeros, sizes, lines, n, expected):
    """Every zero once, in its column's bin."""
    found = []
    for b, size in enumerate(sizes):
        members = zeros[b * lines * n : b * lines * n + size]
        assert ((members // n) // lines == b).all()
        found.extend(members.tolist())
    assert sorted(found) == expected.tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["baseline", "opt0", "opt1"])
@pytest.mark.parametrize(("n", "lines"), [(1, 1), (13, 5), (16, 4), (37, 37)])
def test_compress_matrix(version, n, lines, kind):
    _, a = midway(n, kind)
    kernels, bins = module(version), -(-n // lines)
    total, sizes = np.full(1, 77, np.int32), np.full(bins, 77, np.int32)
    counted = (total, sizes) if version == "baseline" else (sizes,)
    eps = np.dtype(kind).type(1 if kind != "float64" else 1e-9)
    executor = Executor(seed=1)
    executor.launch(kernels.step_6_init, 1, 8, counted)
    executor.launch(
        kernels.compress_matrix, 2, 8,
        (np.int32(n), np.int32(lines), eps, a["slack"], a["zeros"], *counted),
    )  # fmt: skip
    if version != "baseline":
        executor.launch(kernels.add_reduction, 1, 8, (sizes, total))
    expected = np.flatnonzero(a["slack"] == 0)
    check_bins(a["zeros"], sizes, lines, n, expected)
    assert total[0] == len(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["baseline", "opt0"])
@pytest.mark.parametrize("n", [2, 13, 37])
def test_step_6_add_sub(version, n, kind):
    t, a = midway(n, kind)
    least, slack, _, moves = dual_update(t)
    Executor(seed=2).launch(
        module(version).step_6_add_sub, 2, 8,
        (np.int32(n), a["slack"], Covers(a["covered_row"], a["covered_column"]),
         np.full(1, least, kind), Duals(a["row_dual"], a["column_dual"])),
    )  # fmt: skip
    assert np.array_equal(a["slack"], slack)
    assert np.array_equal(a["row_dual"], moves[0])
    assert np.array_equal(a["column_dual"], moves[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["opt1", "opt2", "opt3", "opt4"])
@pytest.mark.parametrize(("n", "lines"), [(2, 1), (13, 5), (37, 37)])
def test_add_sub_compress_matrix(version, n, lines, kind):
    t, a = midway(n, kind)
    least, slack, zeros, moves = dual_update(t)
    sizes = np.zeros(-(-n // lines), np.int32)
    eps = np.dtype(kind).type(1 if kind != "float64" else 1e-9)
    kernel = module(version).add_sub_compress_matrix if version == "opt1" else sass.probe(version)
    given = np.full(1, least, kind) if version == "opt1" else np.dtype(kind).type(least)
    Executor(seed=3).launch(
        kernel, 2, 8,
        (Order(np.int32(n), np.int32(lines)), eps, a["slack"],
         Covers(a["covered_row"], a["covered_column"]), given, Zeros(a["zeros"], sizes),
         Duals(a["row_dual"], a["column_dual"])),
    )  # fmt: skip
    assert np.array_equal(a["slack"], slack)
    assert np.array_equal(a["row_dual"], moves[0])
    assert np.array_equal(a["column_dual"], moves[1])
    check_bins(a["zeros"], sizes, lines, n, zeros)


@pytest.mark.parametrize("kind", ["int32", "float64"])
@pytest.mark.parametrize("count", [host_loop.NOT, host_loop.EACH, host_loop.BY_WARP])
def test_compress_matrix_as_printed(count, kind):
    n, lines = 13, 5
    _, a = midway(n, kind)
    total, sizes = np.zeros(1, np.int32), np.zeros(3, np.int32)
    eps = np.dtype(kind).type(1 if kind != "float64" else 1e-9)
    Executor(seed=1).launch(
        host_loop.compress_matrix, 3, 64,
        (Order(np.int32(n), np.int32(lines)), eps, a["slack"], Zeros(a["zeros"], sizes), total,
         np.int32(count)),
    )  # fmt: skip
    expected = np.flatnonzero(a["slack"] == 0)
    check_bins(a["zeros"], sizes, lines, n, expected)
    assert total[0] == (len(expected) if count != host_loop.NOT else 0)


@pytest.mark.parametrize("form", ["apart", "fused", "listing_3", "listing_4", "listing_5"])
def test_a_dual_update_as_printed(form):
    n, lines, kind = 13, 5, "int32"
    t, a = midway(n, kind)
    least, slack, zeros, moves = dual_update(t)
    sizes, total = np.full(3, 7, np.int32), np.full(1, 7, np.int32)
    order, eps = Order(np.int32(n), np.int32(lines)), np.int32(1)
    covers, listed = Covers(a["covered_row"], a["covered_column"]), Zeros(a["zeros"], sizes)
    duals, run = Duals(a["row_dual"], a["column_dual"]), Executor(seed=4).launch
    if form == "apart":
        run(
            host_loop.step_6_add_sub, 3, 64,
            (order.n, a["slack"], covers, np.full(1, least, kind), total, sizes, duals),
        )  # fmt: skip
        assert (total[0], sizes.tolist()) == (0, [0, 0, 0])
        compressed = order, eps, a["slack"], listed, total, np.int32(host_loop.EACH)
        run(host_loop.compress_matrix, 3, 64, compressed)
    elif form == "fused":
        sizes[:] = 0
        given = order, eps, a["slack"], covers, np.full(1, least, kind), listed, duals
        run(host_loop.add_sub_compress_matrix, 3, 64, given)
    else:
        sizes[:] = 0
        inner = getattr(printed_launch, form)

        def kernel(order, eps, slack, covers, least, zeros, duals):
            inner(order, eps, slack, covers, least, zeros, duals)

        given = order, eps, a["slack"], covers, np.int32(least), listed, duals
        run(kernel, 2, 32, given)
    assert np.array_equal(a["slack"], slack)
    assert np.array_equal(a["row_dual"], moves[0])
    assert np.array_equal(a["column_dual"], moves[1])
    check_bins(a["zeros"], sizes, lines, n, zeros)


def test_near_zero_takes_what_is_nearer_than_eps():
    @cuda.jit
    def test_all(x, eps, out):
        i = cuda.grid(1)
        out[i] = near_zero.near_zero(x[i], eps)

    out = np.zeros(4, np.int32)
    for x, eps, expected in (
        (np.array([-1, 0, 1, 2], np.int32), np.int32(1), [0, 1, 0, 0]),
        (np.array([-1e-12, 0.0, 1e-9, 1e-12]), np.float64(1e-9), [1, 1, 0, 1]),
    ):
        Executor().launch(test_all, 1, 4, (x, eps, out))
        assert out.tolist() == expected
        assert reference.near_zero(x, float(eps)).astype(int).tolist() == expected


def test_threshold_stays_below_what_the_certificate_allows():
    from papers.common.instances.matrices import uniform_double
    from papers.common.problems.assignment import prepare

    assert near_zero.threshold(prepare([[3, 4], [5, 6]])) == 1
    n = 40
    problem = prepare(uniform_double(n, 1, cost_range=1000.0 * n))
    eps = near_zero.threshold(problem)
    assert 0 < n * eps <= 2.0**-36 * problem.matrix.min(axis=1).sum()
    assert near_zero.threshold(prepare(np.ones((3, 3)))) > 0
    shifted = near_zero.threshold(prepare(1e9 + np.random.default_rng(1).random((5, 5))))
    assert shifted <= 2.0**-46


@pytest.mark.parametrize("shape", [(6, 6), (4, 6), (6, 4)])
@pytest.mark.parametrize("maximize", [False, True])
def test_threshold_goes_by_the_sizes_that_no_assignment_undercuts(shape, maximize):
    """The certificate allows a share of the assigned costs' sizes, whatever their signs."""
    from papers.common.problems.assignment import prepare

    draw = np.random.default_rng(2)
    for cost in (draw.normal(size=shape), 10.0 ** draw.uniform(-9, 9, shape) - 1e3):
        problem = prepare(cost, maximize, signed=True)
        sizes = np.abs(cost if shape[0] <= shape[1] else cost.T)
        eps = near_zero.threshold(problem)
        share = 2.0**-36 * sizes.min(axis=1).sum()
        assert 5e-324 < problem.size * eps <= share * (1 + 1e-15)


def test_threshold_of_denormals_takes_nothing_but_zero():
    from papers.common.problems.assignment import prepare

    eps = near_zero.threshold(prepare(np.array([[5e-324, 0.0], [0.0, 5e-324]]), signed=True))
    assert not abs(5e-324) < eps
    assert eps > 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 512, 4095, 4097, 8192, 46339, 46340])
def test_reciprocal_divides_exactly(n):
    multiplier, shift = launches.reciprocal(n)
    last = n * n - 1
    assert last * multiplier < 2**63
    edges = np.unique(np.r_[np.arange(0, n * n, max(1, n)), np.arange(n - 1, n * n, max(1, n))])
    places = np.unique(np.r_[edges, last, np.random.default_rng(n).integers(0, n * n, 1000)])
    assert np.array_equal((places * multiplier) >> shift, places // n)


# ---------------------------------------------------------------------------------- the sources


@pytest.mark.parametrize("pair", list(CHANGED), ids="-".join)
def test_two_versions_differ_by_the_optimization_alone(pair):
    before, after = ((FOLDER / f"{v}.py").read_text().splitlines() for v in pair)
    marked = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert 0 < len(marked) <= CHANGED[pair], len(marked)


def test_opt_4_is_one_barrier():
    before, after = ((FOLDER / f"{v}.py").read_text() for v in ("opt3", "opt4"))
    code = [
        line[2:].strip()
        for line in difflib.ndiff(before.splitlines(), after.splitlines())
        if line[0] in "+-" and '"""' not in line and "Paper:" not in line
    ]
    assert code == ["cuda.syncthreads()"]


# ---------------------------------------------------------------------------------- compilation


@pytest.fixture
def _no_gpu_needed(monkeypatch):
    """The compiler asks the driver one thing, the compute capability: answer for it."""
    import numba.cuda.dispatcher as dispatcher

    class Card:
        compute_capability = (9, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: Card)


def cases():
    """Every kernel; of the one launch, whose body is shared, one version's in all types.

    Its shares are the same device functions under another loop: by day in one type.
    """
    printed = ("printed.host_loop", "printed.one_launch")
    for version in (*launches.HOST_LOOP, "opt4", "one_launch", *printed):
        for kernel, signature in module(version).SIGNATURES.items():
            share = kernel.py_func.__name__ in ("begin", "go_on")
            share |= version == printed[1] and kernel is not printed_launch.opt4_as_printed
            for kind in KINDS if names_element(signature) else ("int32",):
                # tests/test_compile.py compiles for the older card too; here the text is looked at.
                name = f"{version}.{kernel.py_func.__name__}-{kind}"
                typed = argument_types(signature, kind)
                late = kind == "int64" or (share and kind != "int32")
                late |= version == printed[1] and kind != "float64"
                marks = [pytest.mark.nightly] if late else []
                yield pytest.param(kernel, typed, kind, (9, 0), id=name, marks=marks)


@pytest.mark.usefixtures("_no_gpu_needed")
@pytest.mark.parametrize(("kernel", "signature", "kind", "capability"), list(cases()))
def test_kernel_compiles(kernel, signature, kind, capability):
    ptx = checked(kernel.py_func, signature, kind, capability)
    if kernel.py_func.__name__ == "hungarian":
        assert "%globaltimer" in ptx
        assert "cudaCGSynchronize" in ptx


def checked(function, signature, kind, capability=(9, 0)):
    """The function's PTX: entries in registers, no floating point beside integers."""
    ptx, _ = cuda.compile(function, signature, device=False, abi="numba", cc=capability)
    assert f".target sm_{capability[0]}{capability[1]}" in ptx
    assert function.__name__ in ptx
    assert ".local .align" not in ptx, "a thread's entries are not in registers"
    if kind != "float64":
        assert ".f64" not in ptx, "floating point slipped into an integer kernel"
    return ptx


@pytest.mark.usefixtures("_no_gpu_needed")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["opt2", "opt3"])
def test_the_rest_of_the_one_launch_versions_compiles(version, kind):
    """They share opt4's code but for one device function, which is compiled by itself."""
    for name in ("hungarian", "go_on"):
        mine, shared = (getattr(module(v), name).py_func for v in (version, "opt4"))
        for inner in ("searches_and_updates", "add_sub_compress_matrix"):
            assert mine.__code__ is shared.__code__
            cells, others = (dict(inspect.getclosurevars(f).nonlocals) for f in (mine, shared))
            mine, shared = cells.pop(inner).py_func, others.pop(inner).py_func
            assert cells == others
        assert mine is module(version).add_sub_compress_matrix.py_func
    checked(sass.probe(version), argument_types(sass.SIGNATURE, kind), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_compiler_keeps_the_second_load_that_opt_3_saves(kind):
    """The reread is in PTX (and SASS), in the unrolled and in the printed form."""
    counts = [sass.global_loads(sass.probe(v), kind) for v in ("opt2", "opt3")]
    assert counts[0]["ptx_loads"] - counts[1]["ptx_loads"] == 8  # 4 entries, in two copies
    assert counts[0]["ptx_stores"] == counts[1]["ptx_stores"]
    for count in counts:
        if "sass_loads" in count:
            assert count["sass_loads"] == count["ptx_loads"]
    printed = [
        sass.global_loads(function, kind)["ptx_loads"]
        for function in (sass.one_entry_a_turn, sass.one_entry_in_a_register)
    ]
    assert printed == [5, 3]  # two covers; one slack a branch and the reread, or one slack


@pytest.mark.parametrize("version", list(launches.ONE_LAUNCH))
@pytest.mark.parametrize("threads", [256, 512, 1024])
def test_a_block_gets_the_registers_it_may_have(version, threads):
    options = launches.for_block(version, threads).targetoptions
    assert options["max_registers"] * threads <= launch.REGISTERS
    assert options["max_registers"] >= min(64, 65536 // threads)
