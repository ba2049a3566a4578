"""Estimates: a cell's time from cells already measured, as its problem's time grows."""

from collections import Counter

import pytest

from papers.common.model import Cell, Instance, Plan
from papers.reproduce import registry
from papers.reproduce.plan import cells, shipped
from papers.reproduce.plan.cells import Job
from papers.reproduce.plan.estimate import Estimator
from papers.reproduce.plan.pace import PACE, Pace


def instance(n, label="n", family="uniform"):
    return Instance(family, n, label)


def job(n, label="n", solver="toy:x", repeats=5, scopes=("run",), family="uniform"):
    return Job(Cell(solver, instance(n, label, family), scopes, (), repeats), ())


def test_estimates_scale_by_n_cubed_from_the_nearest_size():
    guess = Estimator()
    guess.add("toy:x", "", "uniform", "n", 16, 10.0)
    guess.add("toy:x", "", "uniform", "n", 64, 200.0)
    assert guess.run_ms(job(128)) == pytest.approx(1600)
    assert guess.run_ms(job(8)) == pytest.approx(1.25)
    # So is the same order of rows and columns.
    guess.add("toy:x", "", "uniform", "n", 128, 7777.0, permuted=True)
    assert guess.run_ms(job(128)) == pytest.approx(1600)
    # The same range is preferred to the same size.
    guess.add("toy:x", "", "uniform", "10n", 128, 9999.0)
    assert guess.run_ms(job(128)) == pytest.approx(1600)


def test_no_estimate_for_strangers_or_far_sizes():
    guess = Estimator()
    guess.add("toy:x", "", "uniform", "n", 16, 10.0)
    assert guess.run_ms(job(16, solver="toy:y")) is None
    assert guess.run_ms(job(512)) is None
    assert guess.total([job(16), job(512)], Pace(5, 10.0, 6.0))[1] == 1


def test_estimates_respect_the_budget():
    guess = Estimator()
    guess.add("toy:x", "", "uniform", "n", 16, 4000.0)
    # Warm-up and five repetitions.
    assert guess.seconds(job(16), Pace(5, 10.0, 6.0)) == pytest.approx(24, abs=0.2)
    # A long first run is itself a repetition, and no third begins after six seconds.
    assert guess.seconds(job(16), Pace(5, 4.0, 6.0)) == pytest.approx(8, abs=0.2)


@pytest.mark.parametrize(
    ("family", "label", "n", "times"),
    [
        ("uniform", "10n", 4, 64),
        ("uniform_graph", "d3", 4, 4),
        ("random_network", "9", 4, 4),
        ("grid_cut", "liver", 4, 4),  # its n counts nodes
        ("random_grid", "9", 4, 16),  # its n counts the rows of an image
        ("segmentation", "coffee", 2, 4),
        ("stereo_move", "a3", 3, 9),
        ("flow_move", "a3", 3, 9),
    ],
)
def test_estimates_grow_as_the_problem_does(family, label, n, times):
    """A flow's time grows with its nodes: an image of twice the side has four times the pixels."""
    guess = Estimator()
    guess.add("toy:x", "", family, label, 100, 10.0)
    wanted = job(100 * n, label, family=family)
    assert guess.run_ms(wanted) == pytest.approx(10.0 * times)


def test_the_main_job_s_time_is_known_without_a_gpu():
    """Planted: 61 % of the main job was of unknown time, because records hold no executor times."""
    plan = Plan("quick", gpu=False, seeds=(1,))
    planned = cells.jobs(registry.resolve([]), plan)
    guess = Estimator()
    shipped.learn(guess)
    seconds, unknown = guess.total(planned, PACE["quick"])
    assert seconds > 10
    names = Counter(
        f"{job.cell.solver} {job.cell.options}"
        for job in planned
        if guess.total([job], PACE["quick"])[1]
    )
    assert unknown <= 0.1 * len(planned), names.most_common(9)


def test_kernels_in_the_executor_run_once():
    one = job(8)
    times = []
    for in_executor in (False, True):
        guess = Estimator()
        guess.add(one.cell.solver, one.options, "uniform", "n", 8, 100.0, in_executor=in_executor)
        times.append(guess.seconds(one, PACE["quick"]))
    assert times[0] > 4 * times[1]


def test_shipped_times_are_the_medians_of_a_run(smoke_run, tmp_path):
    assert shipped.write([smoke_run[0]], tmp_path / "times.csv") == 2
    header, *rows = (tmp_path / "times.csv").read_text().splitlines()
    assert header.split(",") == list(shipped.COLUMNS)
    assert [row.rpartition(",")[0] for row in rows] == [
        "toy:good,,uniform,n,False,8,cpu",
        "toy:slow,,uniform,n,False,8,cpu",
    ]
