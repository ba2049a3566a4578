"""Efficiencies by the prices of two machines: planted prices are found, and a cause can fail."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from papers.common.evidence import published
from papers.common.evidence.cards import beside
from papers.datenagi2016.evidence import scaling_tables, scaling_verdicts
from papers.datenagi2016.evidence.card import efficiency
from papers.datenagi2016.evidence.card.prices import FIGURES
from papers.reproduce.run.measurements import SUMMARY

NUMBERS = published.loader("datenagi2016")
ORDERS = (10_000, 14_142, 20_000)
CODES = tuple(efficiency.VARIANTS)
PAID = np.array([4e-13, 60e-6, 20e-6])
"""Seconds a byte, a launch and a message, of every step."""


def counts_of(n, share=1.0):
    return {
        "dual_updates": 2 * n**0.4 * share, "forward_passes": 3 * n**0.4 * share,
        "bfs_levels": 5 * n**0.7 * share, "augmentations": 20 * n**0.2, "frontier_rows": 30.0 * n,
    }  # fmt: skip


def planted(code, n, p, counts):
    """The seconds of a run that costs what the planted prices say."""
    return efficiency.seconds(
        code, n, p, counts, dict.fromkeys((*efficiency.NAMED[code], "rest"), PAID)
    )


def summary_of(sparse=1.0, slow=()):
    """Runs on one GPU and on two; the sparse ones take `sparse` times what they should.

    `slow` names one step, order and number of GPUs that take twice as long as planted.
    """
    rows = []
    ranges = [(n, "10n", 1.0) for n in ORDERS] + [(ORDERS[0], "n", 0.3)]
    for code in CODES:
        for n, label, share in ranges:
            counts = counts_of(n, share)
            for p in (1, 2):
                seconds = planted(code, n, p, counts)
                values = [("answer", name, value) for name, value in counts.items()]
                factor = 1.0 if label == "10n" else sparse
                values.append(("run", "time_ms", 1e3 * factor * seconds["overall"]))
                if label == "10n":
                    for step in efficiency.NAMED[code]:
                        ours = scaling_tables.MODELLED[step]
                        more = 2 if slow == (step, n, p) else 1
                        values += [
                            ("steps", f"{s}_ms", 1e3 * more * seconds[step] / len(ours))
                            for s in ours
                        ]
                    values.append(("steps", "dual_update_ms", 1e3 * seconds["rest"]))
                chosen = {"ranks": p, **scaling_tables.OPTIONS.get(code, {})}
                options = ",".join(f"{k}={v}" for k, v in chosen.items())
                solver = f"datenagi2016:{scaling_tables.SOLVERS[code]}"
                for scope, metric, value in values:
                    known = {
                        "source": "this run", "cell": f"{solver}/{n}/{label}/{p}", "solver": solver,
                        "options": options, "device": "Planted GPU", "family": "uniform", "n": n,
                        "label": label, "seed": 1, "storage": "strips", "permuted": False,
                        "scope": scope, "metric": metric, "median": value, "q1": value, "q3": value,
                        "count": 3, "status": "ok", "certificate": "lp-duals", "reason": "",
                    }  # fmt: skip
                    rows.append([known[column] for column in SUMMARY])
    return pd.DataFrame(rows, columns=list(SUMMARY))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("without", ORDERS)
def test_planted_prices_predict_the_order_that_was_left_out(code, without):
    known = {n: counts_of(n) for n in ORDERS}
    runs = [(n, p, planted(code, n, p, known[n])) for n in ORDERS for p in (1, 2)]
    runs = [
        (n, p, {**s, "ap_search": 9 * s["ap_search"]} if n == without else s) for n, p, s in runs
    ]
    paid = efficiency.prices(code, runs, known, without)
    for p in (1, 2):
        right = planted(code, without, p, known[without])
        found = efficiency.seconds(code, without, p, known[without], paid)
        assert found == pytest.approx(right, rel=1e-3)
    assert efficiency.prices(code, [run for run in runs if run[1] == 1], known, without) is None
    one = [run for run in runs if run[0] in (without, 14_142, 10_000)]
    assert (efficiency.prices(code, one, known, without) is None) == (without != 20_000)


def test_expected_efficiencies_are_those_of_planted_runs():
    summary = summary_of()
    for table, expected, is_weak in (
        (scaling_tables.table_4, efficiency.weak, True),
        (scaling_tables.table_5, efficiency.strong, False),
    ):
        rows = beside(table, expected, FIGURES)(summary, NUMBERS)
        rows = rows[(rows["gpus"] == 2) & (rows["source"] == "this run") & rows["expected"].notna()]
        assert set(rows["step"]) == {"matrix_compression", "ap_search", "overall"}
        assert len(rows) == (5 if is_weak else 15)
        steps = rows[rows["step"] != "overall"]  # the planted run has no clocks: it is their sum
        assert np.allclose(steps["expected"], steps["efficiency"], rtol=2e-3)
        # Print's machine as its own tables tell it, and each time without the order itself.
        known = rows.dropna(subset=["published_efficiency"])
        ratio = known["print_model"] / known["published_efficiency"]
        assert ratio.between(1 / 1.25, 1.25).all(), known


def test_runs_that_the_prices_do_not_tell_give_no_figures():
    assert len(efficiency.strong(summary_of(), NUMBERS))
    assert efficiency.strong(summary_of(sparse=2.0), NUMBERS).empty
    dense = summary_of()
    assert efficiency.strong(dense[dense["label"] == "10n"], NUMBERS).empty
    table = beside(scaling_tables.sparse_table, efficiency.of_sparse, efficiency.SPARSE_FIGURES)
    for factor, verdict in ((1.0, "holds"), (2.0, "fails")):
        told = scaling_verdicts.sparse(table(summary_of(sparse=factor), NUMBERS))
        found = [c.verdict for c in told if "expected time" in c.quantity]
        assert found == [verdict] * 4


def rows_of(printed, model, expected):
    return SimpleNamespace(
        published_efficiency=printed, **dict(zip(FIGURES, (model, expected), strict=True))
    )


def test_a_cause_needs_print_to_follow_its_own_machine():
    cause = efficiency.cause_of(rows_of(0.97, 0.95, 0.7))
    assert cause.low == pytest.approx(0.7 / 1.25)
    assert cause.high == pytest.approx(0.97 / 1.25)  # it ends where print's tolerance begins
    assert "expect 0.7" in cause.words
    assert (
        efficiency.cause_of(rows_of(0.97, 0.75, 0.7)) is None
    )  # print's machine would not, either
    assert efficiency.cause_of(rows_of(0.97, 0.95, 0.9)) is None  # ours was to agree
    assert efficiency.cause_of(rows_of(0.97, np.nan, 0.7)) is None


def test_a_slow_step_stays_open():
    """A fault of one order on two GPUs moves no price, so that nothing tells why."""
    verdicts = {}
    for slow in ((), ("ap_search", 14_142, 2)):
        table = beside(scaling_tables.table_5, efficiency.strong, FIGURES)
        compared = scaling_verdicts.table_5(table(summary_of(slow=slow), NUMBERS))
        (found,) = [
            c for c in compared
            if c.quantity == "efficiency of ap_search, CU-CLASS, n=14142 on 2 GPUs"
        ]  # fmt: skip
        verdicts[bool(slow)] = found.verdict, float(found.measured)
    assert verdicts[True][0] == "open"
    assert verdicts[True][1] == pytest.approx(verdicts[False][1] / 2, rel=0.01)
    assert verdicts[False][0] in ("agrees", "differs")


def test_a_least_efficiency_has_a_cause_only_where_print_scales_well():
    rows = pd.DataFrame(
        {"published_efficiency": [0.97, 0.98], "print_model": [0.95, 0.98], "expected": [0.62, 0.8]}
    )
    cause = efficiency.cause_of_least(rows, 0.9)
    assert (cause.low, cause.high) == pytest.approx((0.62 / 1.25, 0.62 * 1.25))
    assert efficiency.cause_of_least(rows.assign(print_model=0.8), 0.9) is None
    assert efficiency.cause_of_least(rows.assign(expected=[0.95, np.nan]), 0.9) is None
    assert efficiency.cause_of_least(rows[["expected"]], 0.9) is None
