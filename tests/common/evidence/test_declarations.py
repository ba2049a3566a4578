"""Declared tables: cells, print beside measurement, verdicts that can fail, and plots."""

import pandas as pd
import pytest

from papers.common.evidence import judges, tables
from papers.common.evidence.declarations import (
    Code,
    Counts,
    Instances,
    Ratio,
    SameCounts,
    Times,
)
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Plan

HERE, THERE, NOBODY = "this run", "recorded a-card", tables.NOT_MEASURED
GPU = Code("toy:gpu", "gpu", "the GPU", kernels=True, scopes=("run", "end_to_end"))
CPU = Code("toy:cpu", "cpu", "the CPU")
INSTANCES = Instances(
    sizes={"smoke": (64,), "quick": (512, 1024), "paper": (512, 1024)},
    executor={"smoke": (8,), "quick": (8, 16), "paper": (8, 16)},
    labels=("n", "10n"),
)
PRINT = {
    "table1": pd.DataFrame(
        [("GPU", 512, "n", 4.0), ("CPU", 512, "n", 8.0), ("GPU", 1024, "n", 10.0),
         ("CPU", 1024, "n", 40.0), ("another", 512, "n", 7.0)],
        columns=["code", "n", "cost_range", "time_ms"],
    ),
    "table2": pd.DataFrame(
        [(1024, "n", 4.0), (512, "n", 2.0)], columns=["n", "cost_range", "speedup"]
    ),
    "counts": pd.DataFrame([(512, "n", 7), (1024, "n", 9)], columns=["n", "cost_range", "rounds"]),
}  # fmt: skip
TIMES = tables.printed_times("table1", ("n", "cost_range"), "code", {"GPU": "gpu", "CPU": "cpu"})


def measured(*rows, device="a card"):
    """A summary: (source, solver, n, label, seed, metric, scope, median)."""
    columns = ["source", "solver", "n", "label", "seed", "metric", "scope", "median"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(options="", device=device, family="uniform", storage="host")


def runs(source, solver, n, *values, label="n", scope="run", metric="time_ms"):
    return [
        (source, f"toy:{solver}", n, label, seed, metric, scope, value)
        for seed, value in enumerate(values, 1)
    ]


SPEEDUP = Ratio("speedup", of=CPU, over=GPU, instances=INSTANCES, published="table2")

# ------------------------------------------------------------------------------- cells


@pytest.mark.parametrize(
    ("preset", "gpu", "kernels", "cpu"),
    [
        ("smoke", False, {8}, {8, 64}),
        ("quick", False, {8, 16}, {8, 16, 512, 1024}),
        ("quick", True, {512, 1024}, {512, 1024}),
    ],
)
def test_kernels_go_to_the_executor_s_sizes_and_cpu_codes_to_both(preset, gpu, kernels, cpu):
    cells = SPEEDUP.cells(Plan(preset, gpu=gpu, seeds=(1,)))
    for solver, sizes in (("toy:gpu", kernels), ("toy:cpu", cpu)):
        mine = [cell for cell in cells if cell.solver == solver]
        assert {cell.instance.n for cell in mine} == sizes
        assert {cell.instance.label for cell in mine} == {"n", "10n"}
        assert {cell.instance.seed for cell in mine} == {1}
    assert {cell.scopes for cell in cells if cell.solver == "toy:gpu"} == {("run", "end_to_end")}


def test_every_code_is_measured_on_every_seed_and_codes_take_turns():
    for preset in ("quick", "paper"):
        cells = SPEEDUP.cells(Plan(preset, gpu=True, seeds=(4, 5)))
        seeds = {}
        for cell in cells:
            key = cell.solver, cell.instance.n, cell.instance.label
            seeds.setdefault(key, []).append(cell.instance.seed)
        assert len(seeds) == 8
        assert all(found == [4, 5] for found in seeds.values())
    assert SPEEDUP.experiment("table2", "A ratio").interleaved


# ------------------------------------------------------------------------------- ratios


def test_a_ratio_is_made_by_instance_and_stands_beside_print_by_origin():
    summary = measured(
        *runs(HERE, "gpu", 512, 1.0, 2.0, 4.0), *runs(HERE, "cpu", 512, 2.0, 2.0, 20.0),
        *runs(THERE, "gpu", 512, 1.0), *runs(THERE, "cpu", 512, 9.0),
        *runs(THERE, "gpu", 512, 1.0, label="3n"), *runs(THERE, "cpu", 512, 1.0, label="3n"),
    )  # fmt: skip
    table = SPEEDUP.table(summary, PRINT.__getitem__)
    assert table.columns.tolist() == [
        "n", "cost_range", "source", "device", "published_speedup", "speedup", "cpu_ms", "gpu_ms",
    ]  # fmt: skip
    # The ratios 2, 1 and 5 have the median 2; the medians 2 and 2 have the ratio 1.
    assert table["speedup"].fillna(0).tolist() == [2.0, 9.0, 0.0]
    assert table["source"].tolist() == [HERE, THERE, NOBODY]
    assert table["published_speedup"].tolist() == [2.0, 2.0, 4.0]
    found = judges.by_origin(SPEEDUP.compare, table)
    assert [(c.quantity, c.verdict, c.origin) for c in found if c.kind == "ratio"] == [
        ("speedup: n=512 range n", "agrees", HERE),
        ("speedup: n=512 range n", "open", THERE),
    ]


def test_a_ratio_with_printed_times_says_which_side_gained():
    declared = Ratio(
        "speedup", of=CPU, over=GPU, instances=INSTANCES, published="table2", times=TIMES,
        columns=("gpu_gain", "cpu_gain"), factor=1.5,
    )  # fmt: skip
    # Print: 8 ms over 4 ms. Ours: the GPU 8 times faster, the CPU 2 times.
    summary = measured(*runs(HERE, "gpu", 512, 0.5), *runs(HERE, "cpu", 512, 4.0))
    table = declared.table(summary, PRINT.__getitem__)
    assert table.columns.tolist()[4:] == ["published_speedup", "speedup", "gpu_gain", "cpu_gain"]
    assert table.iloc[0, 5:].tolist() == [8.0, 8.0, 2.0]
    (row, *_) = judges.by_origin(declared.compare, table)
    assert row.verdict == "open"
    assert row.note == "by arithmetic: print over ours is 8 for the GPU time, 2 for the CPU time"


def test_growth_is_compared_by_range_and_without_ranges_by_origin():
    rows = [*runs(THERE, "gpu", 512, 1.0), *runs(THERE, "gpu", 1024, 2.0)]
    rows += [*runs(THERE, "cpu", 512, 2.0), *runs(THERE, "cpu", 1024, 64.0)]
    summary = measured(*rows)
    table = SPEEDUP.table(summary, PRINT.__getitem__)
    (growth,) = [c for c in SPEEDUP.compare(table) if c.kind == "shape"]
    assert growth.quantity == "speedup: slope over n, range n"
    assert (growth.published, growth.measured, growth.verdict) == (1.0, 4.0, "open")
    plain = Ratio("speedup", of=CPU, over=GPU, instances=INSTANCES, by=("n",), published="table2")
    table = plain.table(summary, PRINT.__getitem__)
    assert "cost_range" not in table
    (growth,) = [c for c in plain.compare(table) if c.kind == "shape"]
    assert growth.quantity == "speedup: slope over n"
    assert plain.experiment("fig1", "x", plot="Speedup").figure(table) is not None


def test_times_of_the_executor_are_never_judged():
    rows = [*runs(HERE, "gpu", 512, 1.0), *runs(HERE, "cpu", 512, 2.0)]
    table = SPEEDUP.table(measured(*rows, device=EXECUTOR_NAME), PRINT.__getitem__)
    (found,) = SPEEDUP.compare(table)
    assert found.verdict == "not measured"


def test_an_experiment_has_cells_table_plot_and_verdicts():
    table2 = SPEEDUP.experiment("table2", "Speedup")
    assert (table2.name, table2.kind, table2.figure) == ("table2", "table", None)
    assert table2.compare == SPEEDUP.compare
    fig1 = SPEEDUP.experiment("fig1", "Speedup", plot="CPU over GPU", verdicts=False)
    assert (fig1.kind, fig1.compare) == ("figure", None)
    summary = measured(*runs(HERE, "gpu", 512, 1.0), *runs(HERE, "cpu", 512, 2.0))
    (axes,) = fig1.figure(fig1.table(summary, PRINT.__getitem__)).axes
    assert axes.get_title() == f"CPU over GPU\nmeasured: {HERE}"


# ------------------------------------------------------------------------------- times


def test_a_range_has_one_colour_whichever_row_comes_first():
    """Planted: panels side by side gave blue to the range of their first row."""
    summary = measured(*(
        row for n in (512, 1024) for label in ("n", "10n") for code in ("gpu", "cpu")
        for row in runs(HERE, code, n, 2.0, label=label)
    ))  # fmt: skip
    fig1 = SPEEDUP.experiment("fig1", "x", plot="Speedup")
    table = fig1.table(summary, PRINT.__getitem__)
    colours = []
    for rows in (table, table[::-1]):
        (axes,) = fig1.figure(rows).axes
        named = axes.get_legend().get_lines()
        colours.append({line.get_label(): line.get_color() for line in named})
    assert colours[0] == colours[1]
    assert len({colours[0]["n"], colours[0]["10n"]}) == 2


def test_times_of_several_codes_stand_side_by_side():
    declared = Times((GPU, CPU), TIMES, instances=INSTANCES)
    summary = measured(
        *runs(HERE, "gpu", 512, 1.0, 3.0, 2.0), *runs(HERE, "gpu", 512, 5.0, scope="end_to_end"),
        *runs(HERE, "cpu", 512, 8.0), *runs(HERE, "cpu", 64, 8.0), *runs(HERE, "gpu", 8, 8.0),
    )  # fmt: skip
    table = declared.table(summary, PRINT.__getitem__)
    assert table.columns.tolist()[4:] == [
        "published_gpu_ms", "gpu_ms", "gpu_end_to_end_ms", "published_cpu_ms", "cpu_ms",
    ]  # fmt: skip
    # n = 64 is neither in print nor measured on the GPU.
    assert table["n"].tolist() == [8, 512, 1024]
    assert table.iloc[1, 4:].tolist() == [4.0, 2.0, 5.0, 8.0, 8.0]
    found = declared.compared("gpu", "GPU time")(table)
    (time,) = [c for c in found if c.kind == "time"]
    assert (time.quantity, time.verdict) == (
        "GPU time, ms: n=512 range n", "not comparable",
    )  # fmt: skip
    drawn = declared.experiment("fig1", "x", plot="Time", label="cpu").figure(table)
    assert drawn.axes[0].get_ylabel() == "time (ms)"


def test_print_of_other_machines_stands_before_ours():
    other = Times((Code("toy:gpu", "measured", kernels=True),), TIMES, instances=INSTANCES)
    table = other.table(measured(*runs(HERE, "gpu", 512, 1.0)), PRINT.__getitem__)
    assert table.columns.tolist()[4:] == ["published_gpu_ms", "published_cpu_ms", "measured_ms"]
    found = other.compared("measured", "beside the GPU", print_of="gpu")(table)
    assert [c.published for c in found if c.kind == "time"] == [4.0]


# ------------------------------------------------------------------------------- counts


@pytest.mark.parametrize(
    ("tolerance", "verdict"), [(0.0, "open"), (0.5, "agrees")], ids=["exact", "half"]
)
def test_counts_stand_beside_print_even_from_the_executor(tolerance, verdict):
    declared = Counts(
        GPU, published="counts", printed={"passes": "rounds"}, instances=INSTANCES,
        tolerance=tolerance,
    )  # fmt: skip
    rows = runs(HERE, "gpu", 512, 5, 9, 9, scope="answer", metric="passes")
    table = declared.table(measured(*rows, device=EXECUTOR_NAME), PRINT.__getitem__)
    assert table.columns.tolist()[4:] == ["published_passes", "passes"]
    (found,) = declared.compare(table)
    assert (found.published, found.measured, found.verdict) == (7.0, 9.0, verdict)
    assert found.quantity == "passes: n=512 range n"
    assert declared.experiment("counts", "x").compare == declared.compare


@pytest.mark.parametrize(("cpu_cost", "verdict"), [(5, "holds"), (6, "fails")])
def test_counts_of_two_solvers_must_be_equal_where_it_is_said(cpu_cost, verdict):
    declared = SameCounts((GPU, CPU), ("cost", "passes"), ("cost",), instances=INSTANCES)
    rows = runs(HERE, "gpu", 512, 5, 7, scope="answer", metric="cost")
    rows += runs(HERE, "gpu", 512, 1, 1, scope="answer", metric="passes")
    rows += runs(HERE, "cpu", 512, cpu_cost, scope="answer", metric="cost")
    rows += runs(HERE, "cpu", 512, 3, scope="answer", metric="passes")
    table = declared.table(measured(*rows), PRINT.__getitem__)
    # The second seed is the GPU's alone.
    assert table["seed"].tolist() == [1, 1]
    assert table["passes"].tolist() == [1, 3]
    (found,) = declared.compare(table)
    assert found.quantity == "cost, n=512 range n seed 1: the CPU, the GPU"
    assert (found.kind, found.verdict) == ("correctness", verdict)
    assert declared.compare(table.iloc[:0])[0].verdict == "not measured"
