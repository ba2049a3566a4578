"""The sample that is solved anew: which instances, by which codes, and what it finds wrong."""

from dataclasses import replace

import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common import instances
from papers.common.model import GivenUpError
from papers.common.problems import kinds
from papers.reproduce.verify import checks, sample

HOUR = 3600.0


@pytest.fixture
def record(smoke, toy):
    """A run of the toy paper, read as a record; two more sizes are planned and known."""
    found = checks.read(smoke)
    (job, *_) = found.jobs
    larger = [replace(job.cell.instance, n=n, params=(("cost_range", n),)) for n in (16, 32)]
    cells = [replace(job, cell=replace(job.cell, instance=one)) for one in larger]
    return replace(found, jobs=[*found.jobs, *cells], table=known(found, job, cells))


def known(found, job, cells):
    """The record's rows, and the larger cells' objectives."""
    rows = found.table[(found.table["cell"] == job.key) & (found.table["metric"] == "cost")]
    optima = {cell.key: optimum(cell.cell.instance) for cell in cells}
    larger = [rows.assign(cell=key, value=value) for key, value in optima.items()]
    return pd.concat([found.table, *larger], ignore_index=True)


def optimum(instance):
    cost = instances.draw(instance)
    return float(cost[linear_sum_assignment(cost)].sum())


def ticking(step):
    """A clock that goes on by `step` seconds whenever it is read."""
    now = [0.0]

    def clock():
        now[0] += step
        return now[0]

    return clock


def test_every_instance_is_solved_where_there_is_time(record):
    found = sample.check_sample(record, HOUR)
    assert (found.result, found.why[:20]) == ("ok", "3 of 3 instances wer")


def test_the_objective_of_every_repetition_is_compared(record):
    """Planted: a metric with several rows, as older records have them, was passed over."""
    cost = record.table[record.table["metric"] == "cost"]
    again = replace(record, table=pd.concat([record.table, cost.assign(repeat=1)]))
    assert sample.check_sample(again, HOUR).result == "ok"
    wrong = cost.assign(repeat=1, value=cost["value"] + 1)
    again = replace(record, table=pd.concat([record.table, wrong]))
    found = sample.check_sample(again, HOUR)
    assert (found.result, "cost is recorded as" in found.why) == ("failed", True)


def test_no_instance_is_begun_after_the_time_or_if_it_is_predicted_to_exceed_it(record):
    # Five readings an instance: the first is begun, the second would take eight times as long.
    found = sample.check_sample(record, 10, ticking(1.0))
    assert found.why.startswith("1 of 3 instances")
    assert sample.check_sample(record, 1, ticking(1.0)).result == "cannot be said"


def test_large_instances_are_left_out(record, monkeypatch):
    monkeypatch.setattr(sample, "ENTRIES", 16**2)
    assert sample.check_sample(record, HOUR).why.startswith("2 of 3 instances")


def test_a_code_on_many_threads_is_not_asked(record):
    threaded = [replace(j, cell=replace(j.cell, options=(("threads", 8),))) for j in record.jobs]
    job, solver = sample._chosen([threaded[0], record.jobs[1]], sample._Tally())
    assert (job, solver) == (record.jobs[1], "toy:slow")
    # The paper's CPU solver is asked where no other can be.
    assert sample._chosen([threaded[1]], sample._Tally()) == (threaded[1], "toy:good")


@pytest.mark.parametrize(
    ("planted", "result", "message"),
    [
        (ZeroDivisionError("planted"), "failed", "raised ZeroDivisionError: planted"),
        (GivenUpError("planted"), "cannot be said", "none of 3 instances"),
        (None, "failed", "is not proved"),
    ],
)
def test_what_a_code_does_wrong_is_told(record, monkeypatch, planted, result, message):
    true = kinds.solve_with

    def solve_with(*arguments):
        if planted is not None:
            raise planted
        answer = true(*arguments)
        return replace(answer, row_duals=answer.row_duals + 1)

    monkeypatch.setattr(kinds, "solve_with", solve_with)
    found = sample.check_sample(record, HOUR)
    assert (found.result, message in found.why) == (result, True), found
