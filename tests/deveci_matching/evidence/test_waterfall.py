"""The way from print to `beyond`: its steps, its table and its goals, on made-up measurements."""

import dataclasses

import pytest
from deveci_matching.evidence.made_up import BY_NAME, PAPER, compared, summary, table

from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Plan
from papers.deveci_matching import configuration
from papers.deveci_matching.beyond import configuration as ideas
from papers.deveci_matching.evidence import waterfall
from papers.deveci_matching.evidence.codes import BEST, BEYOND, ON_THE_WAY, TUNED, cell, code_of

CELLS = waterfall.cells(PAPER)


def choices(code):
    """Everything that a step chooses: its solver, its variant, each field of its configuration."""
    one = cell(code, CELLS[0].instance)
    options = dict(one.options)
    module = ideas if one.solver.endswith(":beyond") else configuration
    named = module.find(options.pop("configuration", "tuned"))
    return {"solver": one.solver, **options, **dataclasses.asdict(named)}


def named(one):
    """Return the code of a cell, as a table knows it again by the cell's options."""
    return code_of(one.solver, ",".join(f"{name}={value}" for name, value in one.options))[0]


def test_each_step_differs_from_the_one_before_in_one_choice():
    before, *others = map(choices, ON_THE_WAY)
    solvers = 0
    for one in others:
        if one["solver"] != before["solver"]:
            solvers += 1  # the one change that has no halves
        else:
            assert one.keys() == before.keys()
            assert sum(one[name] != before[name] for name in one) == 1
        before = one
    assert solvers == 1
    assert list(waterfall.CHANGES) == list(ON_THE_WAY)
    assert ON_THE_WAY[-1] == BEYOND


def test_every_step_is_planned_with_three_seeds_and_is_known_again():
    found = {}
    for one in CELLS:
        found.setdefault((named(one), one.instance.family), []).append(one.instance.seed)
    families = {family for _, family in found}
    assert len(families) == 5
    assert {code for code, _ in found} == set(ON_THE_WAY)
    assert len(found) == len(families) * len(ON_THE_WAY)
    assert all(
        seeds == ([1] if family == "path" else [1, 2, 3]) for (_, family), seeds in found.items()
    )


def halving(code, graph):
    """Each step takes half the time of the one before; another seed is another graph."""
    return 2.0 ** (len(ON_THE_WAY) - ON_THE_WAY.index(code)) * graph.seed


def test_gains_are_taken_graph_by_graph():
    found = table("waterfall", summary(CELLS, halving))
    found = found[found["source"] == "this run"]
    assert found["gain"].dropna().tolist() == pytest.approx([2.0] * 5 * (len(ON_THE_WAY) - 1))
    first = found[found["code"] == ON_THE_WAY[0]]
    assert first["gain"].isna().all()
    assert first["left"].tolist() == pytest.approx([2.0 ** (len(ON_THE_WAY) - 1)] * 5)
    assert sorted(first["seeds"]) == [1, 3, 3, 3, 3]


def test_a_graph_that_lacks_a_step_is_not_shown():
    without = [one for one in CELLS if one.instance.family != "kron" or one is not CELLS[0]]
    lacking = [
        one for one in without
        if not (one.instance.family == "kron" and one.solver.endswith(":beyond"))
    ]  # fmt: skip
    found = table("waterfall", summary(lacking, halving))
    assert not found["name"].str.startswith("kron").any()
    assert found["name"].nunique() == 4


def test_a_record_that_is_older_than_a_step_is_shown_without_it():
    assert list(waterfall.NEWER) == [f"{BEYOND}, within"]
    older = [one for one in CELLS if named(one) not in waterfall.NEWER]
    assert 0 < len(older) < len(CELLS)
    found = table("waterfall", summary(older, halving))
    assert found["name"].nunique() == 5
    assert set(ON_THE_WAY) - set(found["code"]) == {f"{BEYOND}, within"}
    behind = found[(found["code"] == BEYOND) & (found["source"] == "this run")]
    assert behind["gain"].tolist() == pytest.approx([4.0] * 5)


@pytest.mark.parametrize("missing", [BEYOND, BEST, f"{BEYOND}, grafting"])
def test_a_way_without_any_other_step_is_not_shown(missing):
    broken = [one for one in CELLS if named(one) != missing]
    assert 0 < len(broken) < len(CELLS)
    found = table("waterfall", summary(broken, halving))
    assert not (found["source"] == "this run").any()


def test_the_goals_fail_where_a_change_costs_and_where_the_way_does_not_pay():
    good = {one.quantity: one.verdict for one in compared("waterfall", summary(CELLS, halving))}
    assert set(good.values()) == {"holds"}

    def costly(code, graph):
        return 1.0 if code != TUNED else 2.0

    bad = {one.quantity: one.verdict for one in compared("waterfall", summary(CELLS, costly))}
    assert bad[f"gain by {TUNED}, geometric mean"] == "fails"
    assert bad[f"time of {BEST} over that of beyond, geometric mean"] == "fails"
    on_executor = compared("waterfall", summary(CELLS, halving, card=EXECUTOR_NAME))
    assert [one.verdict for one in on_executor] == ["not measured"]


def test_the_plot_has_every_step():
    found = table("waterfall", summary(CELLS, halving))
    axes = BY_NAME["waterfall"].figure(found).axes[0]
    assert len(axes.get_xticks()) == len(ON_THE_WAY)
    assert len(axes.lines) == 5


def test_both_readings_of_mt_stand_beside_ct():
    cells = waterfall.threads_cells(PAPER)

    def slower(code, graph):
        return {"CT": 1.0, "MT": 1.5, "resident": 0.5}[code.rpartition(" ")[2]]

    found = table("threads", summary(cells, slower))
    assert found["mt_over_ct"].tolist() == [1.5] * len(found)
    assert found["resident_over_ct"].tolist() == [0.5] * len(found)
    assert set(found["variant"]) == {"APFB GPUBFS", "APFB GPUBFS-WR"}
    verdicts = {one.quantity: one.verdict for one in compared("threads", summary(cells, slower))}
    assert sorted(verdicts.values()) == ["fails", "holds"]


def test_the_executor_has_one_graph():
    for preset in ("smoke", "quick", "paper"):
        assert len({one.instance for one in waterfall.cells(Plan(preset, gpu=False))}) == 1
