"""The public calls for flows: SciPy is the oracle, and every answer is proved by its cut."""

import sys

import numpy as np
import pytest
from scipy.sparse import coo_array, coo_matrix, csc_array, csr_array
from scipy.sparse.csgraph import maximum_flow as scipy_flow

from papers import lupinska_costscale
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems import flow_proof
from papers.common.problems.network import EIGHT, FOUR, STEP, FlowError, NetworkError
from papers.lupinska_costscale import PAPER, grid_cut, maximum_flow, minimum_cut
from papers.lupinska_costscale.flow import calls

ON_NETWORKS = ["gpu_relabel", "hybrid", "async_relabel", "push_relabel", "scipy_flow"]


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def random_graph(n, arcs, seed, top=20):
    """Parallel and antiparallel arcs, loops, arcs without capacity, arcs into the source."""
    draw = np.random.default_rng(seed)
    tail, head = draw.integers(0, n, (2, arcs))
    capacity = draw.integers(0, top, arcs) * (draw.random(arcs) < 0.8)
    return coo_array((capacity, (tail, head)), shape=(n, n))


def check(graph, answer, source, sink):
    """The flow keeps to all arcs and is conserved; the cut has its value; SciPy's is the same."""
    tail, head = graph.tocoo().coords
    capacity, flow = graph.tocoo().data, answer.arc_flow
    assert flow.dtype == np.int64
    assert ((flow >= 0) & (flow <= capacity)).all()
    net = np.bincount(head, flow, graph.shape[0]) - np.bincount(tail, flow, graph.shape[0])
    assert net[sink] == answer.flow_value == -net[source]
    net[[source, sink]] = 0
    assert not net.any()
    side = answer.source_side
    assert side[source]
    assert not side[sink]
    assert capacity[side[tail] & ~side[head]].sum() == answer.flow_value
    summed = csr_array(graph, dtype=np.int32)
    assert answer.flow_value == scipy_flow(summed, source, sink).flow_value
    dense = np.zeros(graph.shape, np.int64)
    np.add.at(dense, (tail, head), flow)
    np.add.at(dense, (head, tail), -flow)
    assert (answer.flow.toarray() == dense).all()
    assert answer.proof.ok
    assert answer.proof.kind == "minimum-cut"


# ------------------------------------------------------------------------------- networks


@pytest.mark.parametrize("solver", ON_NETWORKS)
@pytest.mark.parametrize("seed", range(3))
def test_a_random_network(solver, seed):
    graph = random_graph(12, 70, seed)
    answer = maximum_flow(graph, 3, 8, solver=solver)
    check(graph, answer, 3, 8)
    assert answer.solved.solver == solver
    assert flow_proof.flow(answer.solved.instance, answer.solved.flow).ok
    cut = minimum_cut(graph, 3, 8, solver=solver)
    assert cut.value == answer.flow_value
    assert (cut.source_side == answer.source_side).all()


@pytest.mark.parametrize("form", [coo_array, coo_matrix, csr_array, csc_array])
def test_every_sparse_form_has_its_flow_in_the_order_of_its_data(form):
    graph = form(random_graph(9, 50, 4))
    answer = maximum_flow(graph, 0, 5)
    check(graph, answer, 0, 5)
    assert answer.arc_flow.shape == graph.data.shape


def test_the_flow_is_what_scipy_returns():
    """On a path there is one maximum flow, so that the whole matrix is the same."""
    graph = csr_array(np.array([[0, 7, 0], [2, 0, 5], [0, 0, 0]], np.int32))
    ours, theirs = maximum_flow(graph, 0, 2), scipy_flow(graph, 0, 2)
    assert isinstance(ours.flow, type(theirs.flow))
    assert (ours.flow.toarray() == theirs.flow.toarray()).all()
    assert (ours.flow + ours.flow.T).nnz == 0


def test_parallel_arcs_are_filled_in_their_order():
    graph = coo_array(([3, 9, 2, 4, 1], ([0, 1, 0, 0, 1], [1, 2, 1, 1, 2])), shape=(3, 3))
    answer = maximum_flow(graph, 0, 2)
    assert answer.flow_value == 9
    assert answer.arc_flow.tolist() == [3, 9, 2, 4, 0]
    graph.data[1] = 5
    assert maximum_flow(graph, 0, 2).arc_flow.tolist() == [3, 5, 2, 1, 1]


def test_antiparallel_arcs_have_flows_of_their_own():
    """One way of each pair carries flow, and none of it is negative."""
    ends = ([0, 1, 1, 2, 2, 1], [1, 0, 2, 1, 1, 1])
    graph = coo_array(([8, 3, 5, 4, 6, 7], ends), shape=(3, 3))
    answer = maximum_flow(graph, 0, 2)
    assert answer.arc_flow.tolist() == [5, 0, 5, 0, 0, 0]
    back = maximum_flow(graph, 2, 0)
    assert back.arc_flow.tolist() == [0, 3, 0, 3, 0, 0]
    check(graph, back, 2, 0)


@pytest.mark.parametrize("solver", ON_NETWORKS)
def test_no_way_no_capacity_no_arc(solver):
    apart = coo_array(([5, 5], ([0, 2], [1, 3])), shape=(4, 4))
    without = coo_array(([0, 0], ([0, 1], [1, 3])), shape=(4, 4))
    for graph in (apart, without, coo_array((4, 4), dtype=np.int64)):
        answer = maximum_flow(graph, 0, 3, solver=solver)
        assert answer.flow_value == 0
        assert not answer.arc_flow.any()
        assert minimum_cut(graph, 0, 3, solver=solver).arcs.size == 0
        check(graph, answer, 0, 3)


def test_a_cut_names_its_arcs():
    """Two parallel arcs are cut; one of no capacity across the cut and one back over it are not."""
    ends = ([0, 1, 1, 1, 2, 2], [1, 2, 2, 2, 3, 1])
    graph = coo_array(([9, 2, 3, 0, 9, 4], ends), shape=(4, 4))
    cut = minimum_cut(graph, 0, 3)
    assert cut.value == 5
    assert cut.arcs.tolist() == [1, 2]
    assert cut.source_side.tolist() == [True, True, False, False]
    assert graph.data[cut.arcs].sum() == cut.value


def test_of_two_minimum_cuts_the_one_with_more_on_the_source_side_is_taken():
    graph = csr_array(np.array([[0, 3, 0], [0, 0, 3], [0, 0, 0]]))
    assert minimum_cut(graph, 0, 2).source_side.tolist() == [True, True, False]
    assert grid_cut([[4, 0]], [[0, 4]], {"right": 4, "left": 0, "up": 0, "down": 0}).mask.all()


def test_capacities_of_64_bits():
    graph = coo_array(([2**40, 2**41, 3], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert maximum_flow(graph, 0, 2).flow_value == 3
    graph.data[2] = 2**61
    answer = maximum_flow(graph, 0, 2)
    assert answer.flow_value == 2**40 + 2**41
    assert answer.arc_flow.tolist() == [2**40, 2**41, 2**40 + 2**41]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int16, np.uint64, np.float32])
def test_types_of_capacities(kind):
    graph = coo_array((np.array([1, 1, 1], kind), ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    assert maximum_flow(graph, 0, 2).flow_value == 2


def test_room_behind_the_last_entry_is_no_arc():
    csgraph = csr_array(np.array([[0, 2, 1], [0, 0, 3], [0, 0, 0]], np.int32))
    csgraph.data = np.append(csgraph.data, np.full(5, 1000, np.int32))
    csgraph.indices = np.append(csgraph.indices, np.full(5, 2, csgraph.indices.dtype))
    assert maximum_flow(csgraph, 0, 2).flow_value == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda g: g.indptr.__setitem__(-1, 500_000), "indptr ends at 500000"),
        (lambda g: g.indptr.__setitem__(0, 1), "indptr starts at 1"),
        (lambda g: g.indptr.__setitem__(1, 5), "indptr decreases at 1"),
        (lambda g: setattr(g, "indptr", g.indptr[:-1]), "indptr has 3 entries for 3 rows"),
        (lambda g: g.indices.__setitem__(0, 7), "index lies outside"),
        (lambda g: setattr(g, "data", g.data[:-1]), "3 indices have 2 values"),
    ],
)
@pytest.mark.parametrize("call", [maximum_flow, minimum_cut])
def test_broken_index_arrays_are_named_before_they_are_followed(call, change, reason):
    csgraph = csr_array(np.array([[0, 2, 1], [0, 0, 3], [0, 0, 0]], np.int32))
    change(csgraph)
    with pytest.raises(NetworkError, match=f"csgraph: .*{reason}"):
        call(csgraph, 0, 2)


def test_the_callers_arrays_stay_as_they_are():
    graph = random_graph(8, 40, 1)
    before = graph.copy()
    maximum_flow(graph, 0, 1)
    assert (graph.data == before.data).all()
    assert graph.nnz == before.nnz == 40


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"csgraph": np.eye(3)}, "expected a scipy.sparse array"),
        ({"csgraph": [[0, 1], [0, 0]]}, "expected a scipy.sparse array"),
        (
            {"csgraph": csr_array((2, 3), dtype=int)},
            r"square .* got shape \(2, 3",
        ),
        ({"csgraph": coo_array(np.array([1, 2]))}, "square array"),
        ({"data": [1, -2]}, "negative"),
        ({"data": [1, 2.5]}, "scale and round"),
        ({"data": [1, np.nan]}, "no whole number"),
        ({"data": [1, np.inf]}, "no whole number"),
        ({"data": [1, 1j]}, "values of type complex128"),
        ({"data": [2**61, 2**61]}, r"2\*\*62"),
        ({"data": np.array([1, 2**64 - 1], np.uint64)}, r"2\*\*62"),
        ({"source": 1, "sink": 1}, "one node, 1"),
        ({"source": -1}, r"outside 0 \.\. 2"),
        ({"sink": 3}, r"outside 0 \.\. 2"),
        ({"source": 0.0}, r"source=0\.0 is no node"),
        ({"sink": "2"}, "sink='2' is no node"),
        ({"sink": True}, "sink=True is no node"),
    ],
)
@pytest.mark.parametrize("call", [maximum_flow, minimum_cut])
def test_bad_networks_are_refused_before_anything_is_launched(monkeypatch, call, change, reason):
    monkeypatch.setattr(calls.kinds, "solve_with", None)
    given = {"source": 0, "sink": 2, **change}
    data = given.pop("data", [3, 4])
    graph = given.pop("csgraph", coo_array((data, ([0, 1], [1, 2])), shape=(3, 3)))
    with pytest.raises(NetworkError, match=reason):
        call(graph, **given)


# ------------------------------------------------------------------------------- grids


def network_by_hand(source, sink, arcs, names):
    """The network of an image, pixel by pixel and arc by arc."""
    height, width = source.shape
    tail, head, capacity = [], [], []
    for y in range(height):
        for x in range(width):
            here = y * width + x
            tail += [height * width, here]
            head += [here, height * width + 1]
            capacity += [source[y, x], sink[y, x]]
            for name in names:
                v, u = y + STEP[name][0], x + STEP[name][1]
                if 0 <= v < height and 0 <= u < width:
                    tail.append(here)
                    head.append(v * width + u)
                    capacity.append(arcs[name][y, x])
    n = height * width + 2
    return csr_array((capacity, (tail, head)), shape=(n, n), dtype=np.int32), n - 2, n - 1


def check_cut(cut, source, sink, arcs, names):
    graph, first, last = network_by_hand(source, sink, arcs, names)
    assert cut.value == scipy_flow(graph, first, last).flow_value
    assert cut.mask.dtype == bool
    assert cut.mask.shape == source.shape
    side = np.append(cut.mask.ravel(), [True, False])
    entries = graph.tocoo()
    crossing = side[entries.coords[0]] & ~side[entries.coords[1]]
    assert entries.data[crossing].sum() == cut.value
    assert cut.proof.ok


@pytest.mark.parametrize("solver", ["gpu_relabel", "hybrid", "blocking", "push_relabel", None])
@pytest.mark.parametrize(("connectivity", "names"), [(4, FOUR), (8, EIGHT)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 3)])
def test_a_grid(solver, connectivity, names, shape):
    draw = np.random.default_rng(sum(shape))
    source, sink = draw.integers(0, 15, (2, *shape))
    arcs = {name: draw.integers(0, 6, shape) for name in names}  # also out of the image
    cut = grid_cut(source, sink, arcs, connectivity, solver=solver)
    check_cut(cut, source, sink, arcs, names)


@pytest.mark.parametrize(("connectivity", "names"), [(4, FOUR), (8, EIGHT)])
def test_arcs_broadcast(connectivity, names):
    draw = np.random.default_rng(3)
    source, sink = draw.integers(0, 15, (2, 3, 4))
    weight = draw.integers(0, 5, (3, 4))
    for arcs, each in (
        (2, {name: np.full((3, 4), 2) for name in names}),
        (weight, {name: weight for name in names}),
        (weight[:1], {name: np.broadcast_to(weight[:1], (3, 4)) for name in names}),
        (weight[0], {name: np.broadcast_to(weight[0], (3, 4)) for name in names}),
        ({name: k for k, name in enumerate(names)},
         {name: np.full((3, 4), k) for k, name in enumerate(names)}),
        ({name: weight if name == "up" else 1 for name in names},
         {name: weight if name == "up" else np.ones((3, 4), int) for name in names}),
    ):  # fmt: skip
        check_cut(grid_cut(source, sink, arcs, connectivity), source, sink, each, names)


def test_terminals_broadcast():
    source, flat = np.arange(12).reshape(3, 4), np.full((3, 4), 5)
    each = {name: np.ones((3, 4), int) for name in FOUR}
    check_cut(grid_cut(source, 5, 1), source, flat, each, FOUR)
    check_cut(grid_cut(5, source.tolist(), 1), flat, source, each, FOUR)
    assert grid_cut(3, 2, np.ones((2, 2))).value == 8  # only the arcs tell the shape
    assert grid_cut(3, 2, np.ones((2, 2))).mask.all()


def test_a_mask_follows_its_pixels():
    """A bright spot in a dark frame, from whose side weak arcs part it."""
    bright = np.zeros((5, 6), int)
    bright[1:3, 2:5] = 9
    cut = grid_cut(bright, 9 - bright, 1)
    assert (cut.mask == (bright > 0)).all()
    assert cut.value == 10
    assert not grid_cut(bright, 9 - bright, 20).mask.any()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"connectivity": 6}, "neither 4 nor 8"),
        ({"connectivity": "4"}, "neither 4 nor 8"),
        ({"connectivity": True}, "neither 4 nor 8"),
        ({"source": 1, "sink": 2, "arcs": 3}, "all scalars"),
        ({"source": [1, 2], "sink": 2, "arcs": 3}, "height and width of at least 1, not shape"),
        ({"source": np.ones((2, 2, 2), int)}, "height and width of at least 1, not shape"),
        ({"source": np.ones((0, 2), int), "sink": 1}, "height and width of at least 1, not shape"),
        ({"source": np.ones((3, 2), int)}, r"do not go together: source \(3, 2\), sink \(2, 2\)"),
        ({"source": [[1, 2], [3]]}, "rows differ in length"),
        ({"arcs": {"right": 1}}, r"missing: \['left', 'down', 'up'\]"),
        ({"arcs": dict.fromkeys(EIGHT, 1)}, "unknown: .'down_right'"),
        ({"arcs": dict.fromkeys(FOUR, 1), "connectivity": 8}, "missing: .'down_right'"),
        ({"arcs": dict.fromkeys([*FOUR, "rigth"], 1)}, "unknown: .'rigth'"),
        ({"arcs": -1}, "right is negative"),
        ({"arcs": [[1, 1], [1, np.nan]]}, "right holds a value that is no whole number"),
        ({"arcs": None}, "right has values of type object"),
        ({"sink": [[1, 2], [3, -4]]}, "sink is negative"),
        ({"source": 0.5}, "source holds a value that is no whole number: scale and round"),
        ({"source": [[2**61, 2**61], [0, 0]]}, r"2\*\*62"),
        ({"source": 2**61}, r"2\*\*62"),  # as soon as it is broadcast
    ],
)
def test_bad_grids_are_refused_before_anything_is_launched(monkeypatch, change, reason):
    monkeypatch.setattr(calls.kinds, "solve_with", None)
    given = {"source": [[1, 2], [3, 4]], "sink": [[4, 3], [2, 1]], "arcs": 1, **change}
    with pytest.raises(NetworkError, match=reason):
        grid_cut(**given)


# ------------------------------------------------------------------------------- wishes


def test_the_default_is_the_papers():
    names = PAPER.defaults["flow"]
    small, large = random_graph(9, 30, 1), random_graph(3000, 6000, 1)
    assert maximum_flow(small, 0, 1).solved.solver == names.gpu == "gpu_relabel"
    answer = maximum_flow(large, 0, 1)
    assert answer.solved.solver == names.cpu == "push_relabel"
    check(large, answer, 0, 1)


@pytest.mark.parametrize("solver", ["gpu_relabel", "hybrid", "lock_free", "async_relabel"])
def test_limits_give_up(solver):
    graph = random_graph(30, 160, 2)
    with pytest.raises(GivenUpError, match="operations, the bound is 1"):
        maximum_flow(graph, 0, 29, solver=solver, operations=1)
    assert maximum_flow(graph, 0, 29, solver=solver, seconds=600, operations=10**9).proof.ok


def test_limits_of_the_cpus_solver(monkeypatch):
    from papers.lupinska_costscale.flow.baselines import push_relabel

    graph = random_graph(30, 160, 2)
    with pytest.raises(GivenUpError, match="more than 1 pushes"):
        maximum_flow(graph, 0, 29, solver="push_relabel", operations=1)
    monkeypatch.setattr(push_relabel, "SLICE", 3)
    with pytest.raises(GivenUpError, match=r"gave up after .* s and \d+ operations"):
        maximum_flow(graph, 0, 29, solver="push_relabel", seconds=1e-9)
    sliced = maximum_flow(graph, 0, 29, solver="push_relabel", seconds=600)
    whole = maximum_flow(graph, 0, 29, solver="push_relabel")
    assert sliced.counters == whole.counters
    assert sliced.counters["pushes"] > 3


@pytest.mark.parametrize(
    ("wishes", "reason"),
    [
        ({"solver": "fastest"}, "'fastest' is none of"),
        ({"solver": "refine"}, "'refine' is none of"),  # it solves assignments
        ({"seconds": 0}, "seconds=0"),
        ({"seconds": True}, "seconds=True"),
        ({"operations": 0}, "operations=0"),
        ({"solver": "scipy_flow", "seconds": 1}, "scipy_flow takes no option seconds"),
        ({"solver": "blocking"}, "grids only"),
    ],
)
def test_bad_wishes_are_named(wishes, reason):
    with pytest.raises(ValueError, match=reason):
        maximum_flow(random_graph(5, 9, 1), 0, 1, **wishes)


def test_a_proof_can_be_left_out():
    answer = maximum_flow(random_graph(5, 20, 1), 0, 1, prove=False)
    assert answer.proof.kind == "none"
    assert not answer.proof.ok
    assert flow_proof.flow(answer.solved.instance, answer.solved.flow).ok


def test_a_wrong_answer_is_not_handed_out(monkeypatch):
    from dataclasses import replace

    solve_with = calls.kinds.solve_with

    def spoilt(*args):
        flow = solve_with(*args)
        return replace(flow, value=flow.value + 1)

    monkeypatch.setattr(calls.kinds, "solve_with", spoilt)
    with pytest.raises(FlowError, match=r"gpu_relabel: \d+ arrives at the sink, the answer says"):
        maximum_flow(random_graph(5, 20, 1), 0, 1)


def test_the_package_imports_nothing_heavy():
    """The calls load kernels when they are called, and not before."""
    import subprocess

    code = (
        "import sys, papers.lupinska_costscale as paper; "
        "assert not {'numpy', 'numba', 'scipy'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(lupinska_costscale.__all__) >= {"maximum_flow", "minimum_cut", "grid_cut"}
