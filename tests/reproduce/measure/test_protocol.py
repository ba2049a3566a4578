"""Measuring one cell in this process: what is judged, repeated, warmed up."""

import weakref
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from toybox import toy

from papers.common import instances
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances import matrices
from papers.common.model import GAVE_UP, Assignment, Cell, GivenUpError, Instance, Solver
from papers.common.problems import (
    assignment_proof,
    costs_on_device,
    flow_proof,
    kinds,
    matching_proof,
)
from papers.lupinska_costscale.flow.baselines import push_relabel
from papers.reproduce.measure import notebook
from papers.reproduce.measure import outcome as outcomes
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import same_cost
from papers.reproduce.measure.protocol import measure
from papers.reproduce.plan import cells as plan
from papers.reproduce.plan.pace import Pace
from papers.reproduce.report import two_runs
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements, runner


@pytest.fixture
def counted(monkeypatch):
    """Count the certificates."""
    seen = []
    true = assignment_proof.assignment

    def count(*arguments, **keywords):
        seen.append(arguments[1])
        return true(*arguments, **keywords)

    monkeypatch.setattr(assignment_proof, "assignment", count)
    return seen


def solver(run=toy.run, upload=toy.upload, device="cpu"):
    return Solver("x", "x", device, "assignment", upload, run, toy.download, ("prepare", "search"))


def a_cell(*scopes, repeats=4, n=8):
    return Cell("toy:x", toy.instance(n), scopes or ("run",), (), repeats)


def pace(repeats=1, long_s=10.0, budget_s=60.0, in_executor=1):
    return Pace(repeats, long_s, budget_s, in_executor)


def go(subject, what, laboratory=None, how=None):
    return measure(subject, what, laboratory or Laboratory(), how or pace(), lambda stage: None)


def test_every_answer_of_every_scope_is_certified(counted):
    outcome = go(solver(), a_cell("run", "end_to_end", "steps"))
    assert outcome.status == "ok"
    assert len(counted) == 12


def test_large_answers_are_certified_once_a_scope(counted, monkeypatch):
    monkeypatch.setattr(kinds, "EACH_PROVED_N", 7)
    assert go(solver(), a_cell("run", "end_to_end")).status == "ok"
    assert len(counted) == 2


@pytest.mark.parametrize("wrong_run", [3, 5, 9])
@pytest.mark.parametrize("limit", [7, 2048])
def test_one_wrong_repetition_is_found(monkeypatch, wrong_run, limit):
    """Large or small, first, middle or last: after run 1 each other one warms up the next."""
    monkeypatch.setattr(kinds, "EACH_PROVED_N", limit)

    def run(state, trace=None):
        (toy.wrong if state.runs + 1 == wrong_run else toy.run)(state)

    outcome = go(solver(run), a_cell())
    assert outcome.status == "not-certified"
    assert outcome.reason.startswith("run: ")


def test_the_certifier_sees_the_drawn_matrix_not_the_solvers(monkeypatch):
    """A solver that changes its input solves another problem; the proof must notice."""

    def spoil(cost, **options):
        return toy.upload(cost + np.arange(64).reshape(8, 8) % 5)

    assert go(solver(upload=spoil), a_cell()).status == "not-certified"


def test_the_budget_stops_repetitions_but_never_the_first(monkeypatch):
    """A run takes 50 ms of a clock that only runs move: none begins after the budget."""
    now = [0.0]

    def run(state, trace=None):
        toy.run(state)
        now[0] += 0.05

    monkeypatch.setattr(notebook, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for budget_s, repeats in ((0.12, 3), (0.0, 1), (60.0, 50)):
        outcome = go(
            solver(run), a_cell("run", repeats=50), how=pace(budget_s=budget_s, long_s=0.0)
        )
        assert sum(metric == "time_ms" for _, _, metric, _ in outcome.values) == repeats


def test_scopes_do_not_share_a_state():
    states = []

    def upload(cost, **options):
        states.append(toy.upload(cost))
        return states[-1]

    go(solver(upload=upload), a_cell("run", "end_to_end", repeats=3))
    # One state for the warm-ups and the runs, a new one for each that goes from host to host.
    assert [state.runs for state in states] == [7, 1, 1, 1, 1, 1, 1]


def test_an_instance_is_drawn_once_for_all_its_solvers(monkeypatch):
    drawn = []
    true = instances.draw
    monkeypatch.setattr(instances, "draw", lambda i: drawn.append(i) or true(i))
    laboratory = Laboratory()
    for n in (8, 8, 16, 8):
        go(solver(), a_cell(n=n), laboratory)
    assert [i.n for i in drawn] == [8, 16, 8]


def test_answers_without_a_proof_are_not_certified():
    def run(state, trace=None):
        toy.run(state)
        state.answer = replace(state.answer, row_duals=None, column_duals=None)

    outcome = go(solver(run), a_cell())
    assert (outcome.status, outcome.certificate) == ("not-certified", "none")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (2**60, 2**60 + 1, False),
        (np.int64(5), 5, True),
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0001, False),
    ],
)
def test_costs_are_equal_exactly_or_nearly(first, second, same):
    assert same_cost(first, second) is same


def test_no_answer_is_no_proof():
    none = Assignment(np.arange(8), np.arange(8), 0, None, None)

    def run(state, trace=None):
        state.answer = none

    assert go(solver(run), a_cell()).status == "not-certified"


# ------------------------------------------------------------------------ costs in device memory


@dataclass
class ResidentState:
    """A solver that reads its costs from device memory alone."""

    problem: costs_on_device.ResidentProblem
    answer: Assignment | None = None


def upload_resident(costs, **options):
    assert isinstance(costs, costs_on_device.ResidentCosts)
    return ResidentState(costs_on_device.prepare_resident(costs))


def run_resident(state, trace=None):
    (trace or (lambda step: None))("search")
    costs = state.problem.costs
    state.answer = toy.solve(costs_on_device.strips(costs)(0, state.problem.size).astype(np.int64))


def download_resident(state):
    found = state.answer
    duals = found.row_duals, found.column_duals
    return costs_on_device.finish_resident(state.problem, found.col_ind, *duals, found.counters)


def resident_solver(run=run_resident):
    return Solver(
        "r", "r", "cuda", "assignment", upload_resident, run, download_resident, ("search",)
    )


def resident_cell(*scopes, n=8, repeats=2):
    instance = Instance("uniform", n, "10n", seed=3, storage="device")
    return Cell("toy:r", instance, scopes, (), repeats)


@pytest.fixture
def _executor():
    with device.executing(Executor()):
        yield


@pytest.mark.usefixtures("_executor")
@pytest.mark.parametrize("limit", [7, 2048])
def test_a_matrix_in_device_memory_is_measured_in_every_scope(counted, monkeypatch, limit):
    monkeypatch.setattr(kinds, "EACH_PROVED_N", limit)
    outcome = go(resident_solver(), resident_cell("run", "steps", "end_to_end", "kernels"))
    assert (outcome.status, outcome.certificate) == ("ok", "lp-duals")
    timed = {(scope, metric) for scope, _, metric, _ in outcome.values}
    assert {("run", "time_ms"), ("steps", "search_ms"), ("end_to_end", "time_ms")} <= timed
    assert len(counted) == (3 if limit == 7 else 6)
    best = toy.solve(matrices.uniform(8, 3, cost_range=80).astype(np.int64)).cost
    assert ("answer", 0, "cost", best) in outcome.values


def test_a_matrix_in_strips_is_proved_in_one_process_too():
    """A cell of one rank is measured without mpiexec: its costs are a formula, not an array."""

    def upload(source, **options):
        return toy.upload(source.block((0, source.shape[0]), (0, source.shape[1])))

    cell = Cell("toy:s", Instance("uniform", 9, "10n", seed=2, storage="strips"), ("run",), (), 2)
    outcome = go(solver(upload=upload), cell)
    assert (outcome.status, outcome.certificate) == ("ok", "lp-duals")

    def wrong(state, trace=None):
        toy.wrong(state)

    assert go(solver(wrong, upload), cell).status == "not-certified"


@pytest.mark.usefixtures("_executor")
def test_the_certifier_does_not_read_device_memory():
    """A solver that spoils the costs and answers for those is right only by the device's memory."""

    def spoil(state, trace=None):
        state.problem.costs.array[:] = 7
        run_resident(state, trace)

    outcome = go(resident_solver(spoil), resident_cell("run"))
    assert outcome.status == "not-certified"


@pytest.mark.usefixtures("_executor")
@pytest.mark.parametrize("storage", ["host", "device"])
def test_the_old_matrix_is_gone_before_the_new_one_is_drawn(monkeypatch, storage):
    alive = []
    true = instances.draw

    def draw(instance):
        alive.append([ref() is not None for ref in drawn])
        matrix = true(instance)
        drawn.append(weakref.ref(matrix))
        return matrix

    drawn = []
    monkeypatch.setattr(instances, "draw", draw)
    laboratory = Laboratory()
    subject = resident_solver() if storage == "device" else solver()
    for n in (8, 9, 10):
        instance = Instance("uniform", n, "10n", storage=storage)
        go(subject, Cell("toy:r", instance, ("run", "end_to_end"), (), 2), laboratory)
    assert alive == [[], [False], [False, False]]


def test_a_draw_that_fails_is_tried_again(monkeypatch):
    laboratory = Laboratory()
    first, second = toy.instance(8), toy.instance(9)
    laboratory.draw(first)
    true = instances.draw

    def draw(instance):
        if instance == second:
            raise MemoryError
        return true(instance)

    monkeypatch.setattr(instances, "draw", draw)
    for _ in range(2):
        with pytest.raises(MemoryError):
            laboratory.draw(second)
    assert laboratory.draw(first).shape == (8, 8)


def answers(*counters):
    empty = np.zeros(0, np.int64)
    return [Assignment(empty, empty, 7, empty, empty, counters=each) for each in counters]


def test_only_counters_that_differ_are_kept_once_a_repetition():
    found = outcomes.answer_rows(
        answers({"searches": 3, "levels": 5}, {"searches": 3, "levels": 6}, {"searches": 3})
    )
    # The first repetition has every metric, in the order in which the solver names them.
    assert [row[:3] for row in found] == [
        ("answer", 0, "cost"),
        ("answer", 0, "searches"),
        ("answer", 0, "levels"),
        ("answer", 1, "levels"),
    ]
    assert [row[3] for row in found] == [7, 3, 5, 6]
    assert len(outcomes.answer_rows(answers(*[{"levels": 5}] * 4))) == 2
    late = outcomes.answer_rows(answers({}, {"repairs": 1}))
    assert late == [("answer", 0, "cost", 7), ("answer", 1, "repairs", 1)]


def written(folder, found):
    """Write one cell's rows as a run does, open the run again, and return its summary."""
    folder.mkdir()
    outcome = outcomes.Outcome("ok", "lp-duals", "", (("run", 0, "time_ms", 1.5), *found), "card")
    job = plan.Job(Cell("toy:x", toy.instance(8), ("run",), (), 3), ())
    for _ in range(2):  # A resumed run has nothing left to do.
        results = store.RunStore(folder)
        if job.key not in results.finished:
            results.append(runner.rows(job, outcome))
        results.close()
    return two_runs.read(folder)


def test_counters_written_once_or_every_repetition_read_alike(tmp_path):
    """Runs recorded before the first form was written hold the second."""
    counters = [{"searches": 3, "levels": k, "launches": 90} for k in (5, 9, 6)]
    once = outcomes.answer_rows(answers(*counters))
    always = [
        ("answer", repeat, metric, value)
        for repeat, each in enumerate(counters)
        for metric, value in {"cost": 7, **each}.items()
    ]
    assert len(once) == 6 < len(always) == 12
    first, second = (written(tmp_path / str(k), rows) for k, rows in enumerate((once, always)))
    read = [name for name in measurements.SUMMARY if name != "count"]  # Of times, it is shown.
    pd.testing.assert_frame_equal(first[read], second[read])
    median = first.set_index("metric")["median"]
    assert (median["levels"], median["launches"]) == (6, 90)
    assert list(two_runs.compare_runs(first, second)["cost"]) == ["equal"]
    assert two_runs.different_costs(first, second) == []
    pd.testing.assert_frame_equal(measurements.cells(first), measurements.cells(second))


# ------------------------------------------------------------------------------- graphs


@pytest.fixture
def proofs(monkeypatch):
    """Count the certificates of matchings."""
    seen = []
    true = matching_proof.matching
    monkeypatch.setattr(
        matching_proof,
        "matching",
        lambda graph, answer: seen.append(answer) or true(graph, answer),
    )
    return seen


def matcher(run=toy.match, upload=toy.upload_graph):
    return Solver("m", "m", "cpu", "matching", upload, run, toy.download)


def graph_cell(*scopes, repeats=3, n=60, family="uniform_graph", label="d2"):
    return Cell("toy:m", Instance(family, n, label), scopes or ("run",), (), repeats)


def test_every_matching_is_certified(proofs):
    outcome = go(matcher(), graph_cell("run", "end_to_end"))
    assert (outcome.status, outcome.certificate) == ("ok", "koenig-cover")
    assert len(proofs) == 6
    found = {metric: value for scope, _, metric, value in outcome.values if scope == "answer"}
    assert found == {"cardinality": proofs[0].cardinality, "launches": 3}


def test_of_a_large_graph_the_last_matching_is(proofs, monkeypatch):
    monkeypatch.setattr(kinds, "EACH_PROVED_EDGES", 50)
    assert go(matcher(), graph_cell("run", "end_to_end")).status == "ok"
    assert len(proofs) == 2


@pytest.mark.parametrize("wrong_run", [3, 5, 7])
@pytest.mark.parametrize("limit", [50, 10**6])
def test_one_matching_that_is_too_small_is_found(monkeypatch, wrong_run, limit):
    monkeypatch.setattr(kinds, "EACH_PROVED_EDGES", limit)

    def run(state, trace=None):
        (toy.match_too_few if state.runs + 1 == wrong_run else toy.match)(state)

    outcome = go(matcher(run), graph_cell())
    assert outcome.status == "not-certified"
    assert "cardinality" in outcome.reason or "not maximum" in outcome.reason


def test_the_graph_is_the_drawn_one_not_the_solvers():
    """A matching in a smaller graph is maximum there only."""

    def halve(graph, **options):
        matrix = graph.matrix().tolil()
        matrix[:30] = 0
        return toy.upload_graph(matrix.tocsr())

    outcome = go(matcher(upload=halve), graph_cell())
    assert (outcome.status, outcome.certificate) == ("not-certified", "koenig-cover")


def test_an_assignment_does_not_answer_for_a_matching():
    class Both:
        runs, cost, maximize = 0, np.zeros((3, 3), np.int64), False

    outcome = go(matcher(toy.run, lambda graph: Both()), graph_cell())
    assert (outcome.status, outcome.certificate) == ("not-certified", "none")
    assert "Assignment answers another problem" in outcome.reason


def test_a_missing_matrix_is_skipped_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path))
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path))
    outcome = go(matcher(), graph_cell(family="matrix", label="nowhere"))
    assert outcome.status == "skipped"
    assert outcome.reason.startswith("nowhere is neither in")
    assert outcome.values == ()


def test_a_permuted_graph_is_made_of_the_one_at_hand(monkeypatch):
    drawn = []
    true = instances.draw
    monkeypatch.setattr(instances, "draw", lambda i: drawn.append(i.permuted) or true(i))
    laboratory = Laboratory()
    first = Instance("uniform_graph", 30, "d2", seed=3)
    laboratory.draw(first)
    graph = laboratory.draw(replace(first, permuted=True))
    assert drawn == [False]
    wanted = true(replace(first, permuted=True))
    assert np.array_equal(graph.cadj, wanted.cadj)
    assert np.array_equal(graph.cxadj, wanted.cxadj)
    laboratory.draw(replace(first, permuted=True, seed=4))
    laboratory.draw(replace(first, n=31))
    assert drawn == [False, True, False]


# ------------------------------------------------------------------------------- flows


def flow_solver(spoil=lambda flow: flow, upload=push_relabel.upload):
    return Solver(
        "f",
        "f",
        "cpu",
        "flow",
        upload,
        push_relabel.run,
        lambda state: spoil(push_relabel.download(state)),
    )


def flow_cell(*scopes, family="random_grid", label="9", n=6):
    return Cell("toy:f", Instance(family, n, label), scopes or ("run",), (), 3)


@pytest.mark.parametrize("family", ["random_grid", "random_network"])
def test_every_flow_is_certified(monkeypatch, family):
    seen, true = [], flow_proof.flow
    monkeypatch.setattr(
        flow_proof, "flow", lambda problem, flow: seen.append(flow) or true(problem, flow)
    )
    outcome = go(flow_solver(), flow_cell("run", "end_to_end", family=family))
    assert (outcome.status, outcome.certificate) == ("ok", "minimum-cut")
    assert len(seen) == 6
    found = {metric: value for scope, _, metric, value in outcome.values if scope == "answer"}
    assert found == {"value": seen[0].value, **seen[0].counters}


def test_a_flow_of_another_value_is_found():
    outcome = go(flow_solver(lambda flow: replace(flow, value=flow.value + 1)), flow_cell())
    assert (outcome.status, outcome.certificate) == ("not-certified", "minimum-cut")
    assert "the answer says" in outcome.reason


def test_a_flow_does_not_answer_for_a_matching():
    def upload(graph, **options):
        return push_relabel.upload(instances.draw(Instance("random_grid", 4, "9")))

    outcome = go(flow_solver(upload=upload), graph_cell())
    assert (outcome.status, outcome.certificate) == ("not-certified", "none")
    assert "Flow answers another problem" in outcome.reason


def test_a_solver_whose_package_is_missing_is_skipped():
    def upload(problem, **options):
        raise MissingPackageError("this solver needs a package")

    laboratory = Laboratory()
    for scopes in (("run", "end_to_end"), ("end_to_end",)):
        outcome = go(flow_solver(upload=upload), flow_cell(*scopes), laboratory)
        assert (outcome.status, outcome.certificate) == ("skipped", "none")
        assert outcome.reason == "this solver needs a package"


def test_a_solver_that_keeps_to_a_limit_of_work_is_skipped():
    def give_up(flow):
        raise GivenUpError("stopped after 9 edges")

    limited = replace(flow_cell("run"), options=(("operations", 10**9),))
    outcome = go(flow_solver(spoil=give_up), limited, Laboratory())
    assert (outcome.status, outcome.reason) == ("skipped", "stopped after 9 edges")
    assert outcome.values == ()
    # A bound of the solver's own is proved: one that is met means a fault.
    outcome = go(flow_solver(spoil=give_up), flow_cell("run"), Laboratory())
    assert (outcome.status, outcome.reason) == ("failed", "stopped after 9 edges")


def test_a_solver_that_gives_up_after_a_time_leaves_the_time():
    def give_up(flow):
        raise GivenUpError("gave up after 1.5 s", 1500.0)

    outcome = go(flow_solver(spoil=give_up), flow_cell("run"), Laboratory())
    assert (outcome.status, outcome.certificate) == ("skipped", "none")
    assert outcome.values == (("run", 0, GAVE_UP, 1500.0),)


@pytest.mark.parametrize("runs", [0, 1, 2, 3, 5, 6])
def test_scopes_that_were_timed_before_a_give_up_stand(runs):
    """Two repetitions of `run`, then of `end_to_end`; what came of an unfinished scope is left."""
    left = iter(range(1 + runs))  # downloads: the first one's, two, and two with their warm-ups

    def give_up(flow):
        if next(left, None) is None:
            raise GivenUpError("gave up after 1.5 s", 1500.0)
        return flow

    one = replace(flow_cell("run", "end_to_end"), repeats=2)
    outcome = go(flow_solver(spoil=give_up), one, Laboratory())
    times = [value[:2] for value in outcome.values if value[2] == "time_ms"]
    ends = [value for value in outcome.values if value[2] == GAVE_UP]
    if runs < 2:
        assert outcome.status == "skipped"
        assert (times, ends) == ([], [("run", 0, GAVE_UP, 1500.0)])
    elif runs < 6:
        assert (outcome.status, outcome.certificate) == ("ok", "minimum-cut")
        assert times == [("run", 0), ("run", 1)]
        assert ends == [("end_to_end", 0, GAVE_UP, 1500.0)]
    else:
        assert outcome.status == "ok"
        assert len(times) == 4
        assert ends == []


def test_a_flow_instance_whose_file_is_missing_is_skipped(monkeypatch, tmp_path):
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path))
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path))
    outcome = go(flow_solver(), flow_cell(family="grid_cut", label="nowhere"))
    assert outcome.status == "skipped"
    assert "nowhere is neither" in outcome.reason
