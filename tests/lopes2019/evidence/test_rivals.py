"""The choice of the CPU rivals by their distance to print, and how Figures 4 and 5 draw them."""

import math

import pandas as pd
import pytest

from papers.common.evidence import plots, published
from papers.common.evidence.judges import by_origin
from papers.common.model import Plan
from papers.lopes2019.baselines.solvers import SOLVERS
from papers.lopes2019.evidence import experiments, rivals, tables

NUMBERS = published.loader("papers.lopes2019")
PAPER = Plan("paper", gpu=True)
FORMS = [solver for forms in rivals.VARIANTS.values() for solver in forms]
OTHER = {forms[k]: forms[1 - k] for forms in rivals.VARIANTS.values() for k in (0, 1)}
ENTRIES = [solver for solver in tables.CPU if solver != "cpu_o4"]


RATIO = NUMBERS("fig04").set_index(["algorithm", "n"])["time_over_o4_time"].to_dict()
MS = NUMBERS("fig05").set_index(["algorithm", "cost_max_over_n"])["time_ms"].to_dict()


def printed_ms(letters, n, range_over_n):
    """Print's time, with 1 ms for the O(n^4) code at every n of Figure 4."""
    return RATIO.get((letters, n), 1.0) * MS[letters, range_over_n] / MS[letters, 1.0]


def summary(factor):
    """Print's times by both forms, times ``factor(solver, n, range over n)``."""
    letters = {solver: x for x, forms in rivals.VARIANTS.items() for solver in forms}
    rows = []
    for cell in rivals.cells(PAPER):
        name, item = cell.solver.removeprefix("lopes2019:"), cell.instance
        r = tables.range_over_n(item.label)
        ms = printed_ms(letters.get(name, "O4"), item.n, r) * factor(name, item.n, r)
        rows.append((cell.solver, item.n, item.label, item.seed, ms))
    return pd.DataFrame(rows, columns=["solver", "n", "label", "seed", "median"]).assign(
        source="this run", device="a CPU", family="uniform", scope="run", metric="time_ms",
        storage="host", options="",
    )  # fmt: skip


def verdicts(factor):
    found = by_origin(rivals.nearest, rivals.table(summary(factor), NUMBERS))
    return {item.quantity.partition(":")[0]: item for item in found}


def test_the_nearer_form_holds_and_the_farther_one_fails():
    def off(far):
        return lambda solver, n, r: (n * r) ** (0.1 if solver in far else 0.01 * (solver in FORMS))

    entries_near, others_near = verdicts(off([OTHER[x] for x in ENTRIES])), verdicts(off(ENTRIES))
    assert {x: item.verdict for x, item in entries_near.items()} == dict.fromkeys(
        rivals.VARIANTS, "holds"
    )
    assert {x: item.verdict for x, item in others_near.items()} == dict.fromkeys(
        rivals.VARIANTS, "fails"
    )


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    "where", [lambda n, r: r == 1, lambda n, r: r < 1, lambda n, r: n == 128],
    ids=["range n", "small ranges", "n = 128"],
)  # fmt: skip
def test_a_fault_in_the_entry_alone_is_noticed(entry, where):
    """Planted: five times the time at some points; else the entries are the nearer ones."""

    def planted(solver, n, r):
        off = 5.0 if solver == entry and where(n, r) else 1.0
        return off if solver == "cpu_o4" else off * (1.1 if solver in ENTRIES else 1.12)

    fails = {x for x, item in verdicts(planted).items() if item.verdict == "fails"}
    assert fails == {tables.CPU[entry]}


def test_distances_are_mean_logarithms_over_the_points_of_both_figures():
    off = {("cpu_o3", 128, 1.0): math.e, ("cpu_o3", 2048, 4.0): 1 / math.e}
    rows = rivals.table(summary(lambda *point: off.get(point, 1.0)), NUMBERS)
    rows = rows.set_index("solver")
    assert (rows["points"] == 6 + 7).all()
    assert rows.loc["cpu_o3", ["distance_fig04", "distance_fig05", "distance"]].tolist() == (
        pytest.approx([1 / 6, 1 / 7, 2 / 13])
    )
    assert rows["distance"].drop("cpu_o3").max() < 1e-12


def test_a_common_factor_is_no_distance_in_figure_5_and_a_point_of_one_form_is_left_out():
    given = summary(lambda solver, n, r: 3.0)
    rows = rivals.table(given, NUMBERS)
    assert rows["distance"].max() < 1e-12  # the O(n^4) code is slower as well
    dropped = (given["solver"] == "lopes2019:cpu_sp_plain") & (given["n"] == 4096)
    points = rivals.table(given[~dropped], NUMBERS).set_index("solver")["points"]
    assert points["cpu_sp_lists"] == points["cpu_sp_plain"] == points["cpu_o3"] - 1


def test_without_one_form_nothing_is_measured():
    given = summary(lambda *point: 1.0)
    table = rivals.table(given[~given["solver"].str.endswith(("_plain", "_tree", "tion"))], NUMBERS)
    assert table["distance"].isna().all()
    (item,) = by_origin(rivals.nearest, table)
    assert item.verdict == "not measured"


def test_preset_quick_has_no_rivals():
    assert rivals.cells(Plan("quick", gpu=False)) == []


@pytest.mark.parametrize("preset", ["smoke", "paper"])
def test_entries_share_their_cells_with_figures_4_and_5(preset):
    plan = Plan(preset, gpu=False)
    drawn = {cell.key for cell in experiments.fig_4(plan) + experiments.fig_5(plan)}
    mine = {cell.key for cell in rivals.cells(plan)}
    assert {cell.partition("/")[0] for cell in mine - drawn} == {
        f"lopes2019:{OTHER[entry]}" for entry in ENTRIES
    }
    assert set(tables.CPU) | set(FORMS) <= set(SOLVERS)


def test_figures_4_and_5_have_every_point_of_print():
    drawn = {
        (cell.solver.partition(":")[2], cell.instance.n, tables.range_over_n(cell.instance.label))
        for cell in experiments.fig_4(PAPER) + experiments.fig_5(PAPER)
    }
    solvers = {letters: solver for solver, letters in tables.CPU.items()}
    for figure in ("fig04", "fig05"):
        for row in NUMBERS(figure).itertuples(index=False):
            assert (solvers[row.algorithm], row.n, row.cost_max_over_n) in drawn


def colours(figure):
    """The colour of each series in the legend, and that of its curves."""
    (axes,) = figure.axes
    legend = {line.get_label(): line.get_color() for line in axes.get_legend().legend_handles}
    return legend, [line.get_color() for line in axes.lines]


def test_a_code_has_one_colour_in_figures_4_and_5():
    over_o4 = tables.over_o4(summary(lambda *point: 1.0), NUMBERS)
    ranges = tables.against_range(summary(lambda *point: 1.0), NUMBERS)
    first, curves = colours(experiments.plot_fig_4(over_o4))
    second, _ = colours(experiments.plot_fig_5(ranges))
    codes = set(experiments.ALGORITHMS.values())
    assert codes & set(first) == codes - {"O(n^4) Hungarian"}
    assert {name: second[name] for name in codes & set(first)} == {
        name: first[name] for name in codes & set(first)
    }
    assert len({second[name] for name in codes}) == 4
    assert set(curves) == {first[name] for name in codes & set(first)}


def test_known_bars_keep_their_colours_where_others_are_missing():
    table = pd.DataFrame({"n": [1, 1], "step": ["step 4", "x"], "measured": [1.0, 2.0]})
    steps = ("step 1", "step 4")
    figure = plots.stacked_bars(table, "n", None, "measured", "step", known=steps)
    legend = {
        patch.get_label(): patch.get_facecolor()
        for patch in figure.axes[0].get_legend().legend_handles
    }
    bars = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert list(legend.values()) == bars
    assert [plots.mpl.colors.to_hex(c).upper() for c in bars] == list(plots.COLOURS[1:3])
