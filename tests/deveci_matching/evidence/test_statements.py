"""Statements of section 4 without numbers, on made-up measurements."""

import pandas as pd
import pytest
from deveci_matching.evidence.made_up import BY_NAME, compared, matrices, summary, table

from papers.common.gpu.device import EXECUTOR_NAME
from papers.deveci_matching.evidence import statements
from papers.deveci_matching.evidence.codes import VARIANTS, cell

GRAPHS = matrices(8)
SAID = {"HK": 2.0, "PFP": 2.0, "P-DBFS": 1.0, "P-PFP": 1.5, "P-HK": 2.0}


def measured(times=None, iterations=(3, 6), executions=(50, 60), **more):
    """As the text says, but for `times` and for the counts of APFB and APsB."""

    def milliseconds(code, graph):
        of = {**SAID, "PFP" if not graph.permuted else "HK": 4.0, **(times or {})}
        return of.get(code, 0.5)

    def counters(code, graph):
        if code not in VARIANTS:
            return {}
        place = code.startswith("APsB")
        return {"bfs_iterations": iterations[place], "bfs_launches": executions[place]}

    cells = [cell(code, graph) for graph in GRAPHS for code in (*VARIANTS, *statements.ON_CPU)]
    return summary(cells, milliseconds, counters, **more)


def verdicts_of(rows):
    return {c.quantity: c.verdict for c in compared("statements", rows)}


def test_what_the_text_says_agrees():
    found = verdicts_of(measured())
    assert len(found) == 8 + 8 + 2
    assert set(found.values()) == {"agrees"}
    assert len(table("statements", measured())) == len(GRAPHS)


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        ({"P-DBFS": 5.0}, "P-DBFS"),
        ({"P-HK": 0.4}, "P-HK"),
        ({"P-PFP": 1.05}, "P-PFP over P-DBFS"),
        ({"HK": 4.0, "PFP": 4.0}, "over HK"),
    ],
)
def test_another_winner_is_seen(times, wrong):
    found = verdicts_of(measured(times))
    assert "open" in {verdict for name, verdict in found.items() if wrong in name}
    assert "agrees" in set(found.values())


@pytest.mark.parametrize(("counts", "verdict"), [((6, 3), "open"), ((3, 3), "open")])
def test_more_or_equal_counts_are_seen(counts, verdict):
    found = verdicts_of(measured(iterations=counts, executions=counts))
    assert {found[name] for name in found if name.startswith("graphs on which")} == {verdict}


@pytest.mark.parametrize(("least", "verdict"), [(99, "open"), (2, "differs")])
def test_one_graph_with_more_iterations_is_one_too_many_and_no_most(least, verdict):
    """The text says of iterations that they are fewer, of executions that most are.

    Where the repetitions of the two overlap on that graph, races are the cause.
    """
    rows = measured()
    first = rows["label"] == GRAPHS[0].label
    for metric in ("bfs_iterations", "bfs_launches"):
        mine = first & (rows["metric"] == metric) & rows["options"].str.contains("=apfb")
        planted = pd.Series([(least, 99, 99)] * len(rows), rows.index)
        rows = rows.assign(
            median=rows["median"].where(~mine, 99), values=rows["values"].where(~mine, planted)
        )
    found = {c.quantity: c for c in compared("statements", rows)}
    many = found["graphs on which APFB needs fewer iterations than APsB, GPUBFS CT"]
    most = found["graphs on which APFB needs fewer executions than APsB, GPUBFS CT"]
    assert (many.measured, many.verdict) == ("14 of 16", verdict)
    assert (most.measured, most.verdict) == ("14 of 16", "agrees")


def test_counts_hold_in_the_executor_and_times_do_not():
    found = verdicts_of(measured(card=EXECUTOR_NAME))
    assert len(found) == 8
    assert set(found.values()) == {"agrees"}


def test_its_cells_are_those_of_the_variants_and_the_rivals():
    assert BY_NAME["statements"].table is statements.table
    assert BY_NAME["statements"].compare is statements.verdicts
