"""Repetitions by measured time, warm-ups, turns of cells, and what stays outside every clock.

All times are those of a clock that only the solvers move.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from toybox import toy

from papers.common.executor.scheduler import Executor
from papers.common.gpu import clocks, device
from papers.common.model import Cell, GivenUpError, Solver
from papers.reproduce.measure import clockwork, notebook
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.protocol import measure, measure_together
from papers.reproduce.measure.worker import together
from papers.reproduce.plan.pace import PACE, SEEDS

PAPER = PACE["paper"]


class Time:
    """A clock that stands still unless a solver works."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def perf_counter_ns(self):
        return round(1e9 * self.now)


@pytest.fixture
def clock(monkeypatch):
    made = Time()
    monkeypatch.setattr(notebook, "time", made)
    monkeypatch.setattr(clocks, "time", made)
    return made


@dataclass
class State:
    inner: toy.State
    runs: int = 0


class Rival:
    """A solver that takes a second for each stage that a caller pays, and `run_s` for a run.

    ``cold_s`` is added to the first run on a state, and to one after another rival's turn.
    """

    def __init__(self, clock, log, name="x", run_s=1.0, cold_s=0.0, other_s=1.0, kind="cpu"):
        self.clock, self.log, self.name = clock, log, name
        self.run_s, self.cold_s, self.other_s, self.kind = run_s, cold_s, other_s, kind

    def works(self, seconds, what):
        self.clock.now += seconds
        self.log.append((self.name, what))

    def upload(self, cost, **options):
        self.works(self.other_s, "upload")
        return State(toy.upload(cost))

    def run(self, state, trace=None):
        last = next((name for name, what in reversed(self.log) if what == "run"), self.name)
        cold = self.cold_s if state.runs == 0 or last != self.name else 0.0
        state.runs += 1
        self.works(self.run_s + cold, "run")
        toy.run(state.inner)

    def download(self, state):
        self.works(self.other_s, "download")
        return state.inner.answer

    def solver(self, **more):
        return Solver(
            self.name, self.name, self.kind, "assignment", self.upload, self.run, self.download,
            **more,
        )  # fmt: skip


def a_cell(name="x", *scopes, n=8, repeats=None):
    return Cell(f"toy:{name}", toy.instance(n), scopes or ("run",), (), repeats)


def go(rival, cell=None, laboratory=None, pace=PAPER, **more):
    one = cell or a_cell(rival.name)
    return measure(rival.solver(**more), one, laboratory or Laboratory(), pace, lambda text: None)


def turns(rivals, *scopes, pace=PAPER, how=None, n=8):
    group = [(one.solver(), a_cell(one.name, *scopes, n=n)) for one in rivals]
    return measure_together(group, Laboratory(), pace, lambda place, text: None, how)


def times(outcome, scope="run"):
    return [v / 1e3 for s, _, metric, v in outcome.values if (s, metric) == (scope, "time_ms")]


def is_cold(outcome):
    return ("run", 0, "cold", 1) in outcome.values


# ------------------------------------------------------------------------------- warm-up


def test_every_cell_is_warmed_up_on_its_own_state(clock):
    """A rival's first touch of its work arrays costs 3 s: no repetition of any cell has them."""
    log, laboratory = [], Laboratory()
    for n in (8, 9):
        outcome = go(Rival(clock, log, cold_s=3.0), a_cell(n=n), laboratory)
        assert times(outcome) == pytest.approx([1.0] * 5)
        assert not is_cold(outcome)
    assert [what for _, what in log].count("run") == 12


def test_a_long_cell_whose_first_run_may_have_compiled_is_run_no_third_time(clock):
    """Nothing has run before in this process: one run is for that, and the next one counts."""
    log = []
    outcome = go(Rival(clock, log, run_s=400.0))
    assert times(outcome) == pytest.approx([400.0])
    assert [what for _, what in log].count("run") == 2


def test_a_long_first_run_does_not_stand_if_the_next_one_is_short(clock):
    """A call that compiled another code before: its first run here compiles within the clock."""
    laboratory = Laboratory()
    go(Rival(clock, [], run_s=0.25), a_cell(n=9), laboratory)  # compiles something else
    outcome = go(Rival(clock, [], run_s=0.5, cold_s=12.0), a_cell(), laboratory)
    assert times(outcome) == pytest.approx([0.5] * 5)
    assert [repeat for _, repeat, metric, _ in outcome.values if metric == "time_ms"] == [*range(5)]
    assert not is_cold(outcome)
    assert "cold" not in outcome.reason


def test_what_takes_the_place_of_a_long_first_run_is_warm(clock):
    """A rival's turn in between cools the cell down by 20 ms; no repetition has them."""
    log, laboratory = [], Laboratory()
    first, second = (Rival(clock, log, name=name, run_s=0.01, cold_s=0.02) for name in "xy")
    for one in (first, second):
        go(one, a_cell(one.name, n=9), laboratory)
    compiles = iter([12.0])
    plain = first.run

    def run(state, trace=None):
        clock.now += next(compiles, 0.0)
        plain(state, trace)

    first.run = run
    group = [(one.solver(), a_cell(one.name)) for one in (first, second)]
    outcomes = measure_together(group, laboratory, PAPER, lambda place, text: None)
    for outcome in outcomes:
        assert times(outcome) == pytest.approx([0.01] * 5)
        assert not is_cold(outcome)


def test_a_cold_first_run_stands_beside_another_clock_of_short_ones(clock):
    """The first run of ten seconds is cold; those from host to host are short, and all stay."""
    laboratory = Laboratory()
    go(Rival(clock, [], run_s=0.25), a_cell(n=9), laboratory)  # compiles
    rival = Rival(clock, [], run_s=10.0, other_s=0.1)
    plain, runs = rival.run, iter(range(100))

    def run(state, trace=None):
        rival.run_s = 10.0 if next(runs) < 5 else 9.0
        plain(state, trace)

    rival.run = run
    outcome = go(rival, a_cell("x", "run", "end_to_end"), laboratory)
    assert times(outcome) == pytest.approx([10.0] * 5)
    assert len(times(outcome, "end_to_end")) == 5
    assert is_cold(outcome)
    assert "the first repetition is cold" in outcome.reason


@pytest.mark.parametrize(
    ("run_s", "count", "cold"),
    [(9.9, 5, False), (10.0, 4, True), (25.0, 2, True), (400.0, 1, True)],
)
def test_repetitions_follow_the_first_runs_time(clock, run_s, count, cold):
    """Under ten seconds five; beyond, as many as begin within the minute, the first one cold.

    A download outside the clock takes eight seconds more, and counts in a long cell's minute.
    """
    laboratory = Laboratory()
    go(Rival(clock, [], run_s=0.25), a_cell(n=9), laboratory)  # compiles
    outcome = go(Rival(clock, [], run_s=run_s, other_s=8.0), a_cell(), laboratory)
    assert len(times(outcome)) == count
    assert is_cold(outcome) is cold
    assert ("the first repetition is cold" in outcome.reason) is cold


def test_a_run_that_compiles_never_counts(clock):
    outcome = go(Rival(clock, [], run_s=40.0, cold_s=300.0))
    assert times(outcome) == pytest.approx([40.0, 40.0])
    assert not is_cold(outcome)


def test_a_cell_may_ask_for_more_and_never_for_fewer(clock):
    for asked, made in ((9, 9), (1, 5), (None, 5)):
        outcome = go(Rival(clock, []), a_cell(repeats=asked))
        assert len(times(outcome)) == made
    outcome = go(Rival(clock, []), pace=PAPER.exactly(3))
    assert len(times(outcome)) == 3


@pytest.mark.parametrize(("kind", "runs", "timed"), [("cuda", 1, 1), ("cpu", 6, 5)])
def test_kernels_in_the_executor_run_once(clock, kind, runs, timed):
    log = []
    with device.executing(Executor()):
        outcome = go(Rival(clock, log, kind=kind))
        assert len(times(outcome)) == timed
        assert [what for _, what in log].count("run") == runs
        again = go(Rival(clock, log, kind=kind), pace=PAPER.exactly(2))
        assert len(times(again)) == 2


# ------------------------------------------------------------------------------- outside the clocks


def test_what_the_harness_adds_is_in_no_clock(clock):
    """Preparing takes 50 s and proof material 70 s: a caller pays for neither."""
    rival, log = Rival(clock, []), []

    def prepare(cost, **options):
        clock.now += 50
        log.append("prepare")
        return np.asarray(cost)

    def proof(state, answer):
        clock.now += 70
        log.append("proof")
        return replace(answer, row_duals=state.inner.answer.row_duals)

    def download(state):
        return replace(rival.download(state), row_duals=None)

    solver = replace(rival.solver(prepare=prepare, proof=proof), download=download)
    pace = replace(PAPER, budget_s=1e6)
    cell = a_cell("x", "run", "end_to_end")
    outcome = measure(solver, cell, Laboratory(), pace, lambda text: None)
    assert outcome.status == "ok"
    assert times(outcome) == pytest.approx([1.0] * 5)
    assert times(outcome, "end_to_end") == pytest.approx([3.0] * 5)
    assert log.count("prepare") == 1
    assert log.count("proof") == 11
    # Without the proof's stage the same answers are proved by nothing.
    bare = measure(replace(solver, proof=None), cell, Laboratory(), pace, lambda text: None)
    assert bare.status == "not-certified"


# ------------------------------------------------------------------------------- turns


def order(log, what="run"):
    return "".join(name for name, did in log if did == what)


def test_cells_take_turns(clock):
    log = []
    rivals = [Rival(clock, log, name) for name in "abc"]
    found = turns(rivals, "run", "end_to_end")
    assert [len(times(one)) for one in found] == [5, 5, 5]
    # The first run of each is its warm-up; one second is no short run.
    assert order(log) == "aabbcc" + "abc" * 4 + "abc" * 5
    # A state each for `run`, then one for every repetition from host to host.
    assert order(log, "upload") == "abc" + "abc" * 5


def test_a_machine_that_slows_down_does_so_for_all(clock):
    """Equal solvers on a machine that loses 1 % a second: planted, one after the other is 13 %."""

    class Slowing(Rival):
        def works(self, seconds, what):
            super().works(seconds * (1 + 0.01 * self.clock.now), what)

    def ratio(found):
        return float(np.median(times(found[1])) / np.median(times(found[0])))

    one_by_one = [go(Slowing(clock, [], name, other_s=0)) for name in "ab"]
    assert ratio(one_by_one) > 1.05
    clock.now = 0.0
    assert ratio(turns([Slowing(clock, [], name, other_s=0) for name in "ab"])) < 1.02


@pytest.mark.parametrize(("run_s", "extra"), [(0.01, True), (1.0, False)])
def test_a_short_run_is_warmed_up_again_after_anothers_turn(clock, run_s, extra):
    log = []
    rivals = [Rival(clock, log, name, run_s=run_s, cold_s=0.02 * extra) for name in "ab"]
    found = turns(rivals)
    assert times(found[0]) == times(found[1]) == pytest.approx([run_s] * 5)
    assert order(log) == ("aaabbb" + "aabb" * 4 if extra else "aabb" + "ab" * 4)


@pytest.mark.parametrize("compiles_s", [0.0, 0.3, 12.0])
@pytest.mark.parametrize("scope", ["run", "end_to_end"])
def test_no_proof_comes_between_a_short_run_and_its_warm_up(clock, scope, compiles_s):
    """A proof cools the cell down by 20 ms: no repetition has them, alone or in turn."""

    class Cooling(Rival):
        def run(self, state, trace=None):
            self.clock.now += 0.02 * self.proved + self.compiles_s
            self.proved, self.compiles_s = False, 0.0
            super().run(state)

        def proof(self, state, answer):
            self.works(0.5, "proof")
            self.proved = True
            return answer

    def made(name):
        rival = Cooling(clock, [], name, run_s=0.01, other_s=0.001)
        rival.proved, rival.compiles_s = True, compiles_s
        return rival

    group = [made(name) for name in "ab"]
    for rivals in (group[:1], group):
        subjects = [(one.solver(proof=one.proof), a_cell(one.name, scope)) for one in rivals]
        found = measure_together(subjects, Laboratory(), PAPER, lambda place, text: None)
        taken = 0.01 if scope == "run" else 0.012
        assert [times(one, scope) for one in found] == [pytest.approx([taken] * 5)] * len(rivals)
        assert all(("a", "proof") in one.log for one in rivals[:1])


def test_states_that_do_not_fit_are_uploaded_before_each_clock(clock):
    log = []
    rivals = [Rival(clock, log, name, cold_s=2.0) for name in "ab"]
    how = replace(clockwork.alone(), room=lambda: 1000)
    found = turns(rivals, how=how, pace=PAPER.exactly(2))
    assert times(found[0]) == times(found[1]) == pytest.approx([1.0] * 2)
    assert order(log, "upload") == "ab" * 2
    assert all("uploaded before its clock" in one.reason for one in found)
    # One cell alone never asks: it needs its state anyway.
    (alone,) = turns(rivals[:1], how=replace(clockwork.alone(), room=lambda: 0))
    assert "uploaded" not in alone.reason


def test_a_cell_that_gives_up_leaves_the_others_their_turns(clock):
    class Tired(Rival):
        def run(self, state, trace=None):
            super().run(state)
            if state.runs == 3:
                raise GivenUpError("gave up after 1.5 s", 1500.0)

    log = []
    found = turns([Tired(clock, log, "a"), Rival(clock, log, "b")])
    assert [one.status for one in found] == ["skipped", "ok"]
    assert found[0].values == (("run", 0, "gave_up_ms", 1500.0),)
    assert len(times(found[1])) == 5


def test_a_wrong_answer_ends_its_own_cell_alone(clock):
    class Wrong(Rival):
        def run(self, state, trace=None):
            super().run(state)
            toy.wrong(state.inner)

    found = turns([Wrong(clock, [], "a"), Rival(clock, [], "b")], "run", "end_to_end")
    assert [one.status for one in found] == ["not-certified", "ok"]
    assert times(found[0], "end_to_end") == []
    assert len(times(found[1], "end_to_end")) == 5


# ------------------------------------------------------------------------------- failures


def asking(bad, status="failed"):
    """A child in which some cells fail, and its list of what it was asked."""
    asked = []

    def ask(part):
        asked.append("".join(part))
        first = next((one for one in part if one in bad), None)
        if first is not None:
            kind = bad[first] if len(part) > 1 else status
            return [Outcome(kind, "none", first) if one == first else None for one in part]
        return [Outcome("ok", "lp-duals", one) for one in part]

    return ask, asked


def test_a_failure_leaves_the_others_to_begin_anew():
    ask, asked = asking({"b": "failed", "d": "timeout"}, "timeout")
    found = together("abcd", ask)
    assert [one.status for one in found] == ["ok", "failed", "ok", "timeout"]
    assert [one.reason for one in found] == list("abcd")
    assert asked == ["abcd", "acd", "ac"]


def test_cells_whose_memory_does_not_suffice_are_measured_alone():
    ask, asked = asking({"b": "out-of-memory"}, "ok")
    assert [one.status for one in together("abc", ask)] == ["ok", "ok", "ok"]
    assert asked == ["abc", "a", "b", "c"]


def test_the_designs_numbers():
    assert (PAPER.repeats, PAPER.long_s) == (5, 10.0)
    assert len(SEEDS["paper"]) == 3
