"""The counter's price, the way to our Opt 2 and the statements, on made-up numbers with faults."""

import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from nightly import first

from papers.common.evidence import plots, published
from papers.common.gpu import device
from papers.kawtikwar_opts.configuration import COUNTERS, ONE_LAUNCH, of_version
from papers.kawtikwar_opts.evidence import (
    counter,
    sanitized,
    statements,
    tables,
    verdicts,
    waterfall,
)
from papers.kawtikwar_opts.evidence.codes import DOUBLES, VERSIONS

NUMBERS = published.loader("papers.kawtikwar_opts")
SIZES = (256, 512, 1024, 2048, 4096)
UPDATES = {256: 278, 512: 681, 1024: 1379, 2048: 2784, 4096: 6199}
CARD = "NVIDIA H200"


def row(version, options, n, metric, value, scope="run", device=CARD):
    return {
        "source": "this run", "solver": f"kawtikwar_opts:{version}", "options": options,
        "device": device, "family": DOUBLES, "n": n, "label": "1000n", "seed": 1,
        "storage": "host", "scope": scope, "metric": metric, "median": value,
    }  # fmt: skip


@functools.cache
def printed_ms():
    return NUMBERS("table2").set_index(["version", "n"])["time_ms"].to_dict()


def plain_ms(version, n):
    """A run as printed without the counter; the later versions gain as in print."""
    times = printed_ms()
    return UPDATES[n] * (0.1 + 2e-8 * n * n) * times[version, n] / times["opt0", n]


def made(*args, **kwargs):
    return _made(*args, **kwargs).copy()


@functools.cache
def _made(price=0.9, device=CARD, **of_memory):
    """Rows of a machine on which a zero costs `price` us in memory of the host."""
    us = {"paper": price, "mapped": 0.8, "managed": 0.0, "copied": 0.0, **of_memory}
    rows = []

    def add(version, name, n, zero_us):
        run = plain_ms("opt0" if version == "baseline" else version, n)
        run += 1e-3 * zero_us * n * UPDATES[n]
        options = f"configuration={name}" if name != "tuned" else ""
        per_launch = 5 + zero_us * n
        rows.extend(
            row(version, options, n, *value, device=device)
            for value in (
                ("time_ms", run), ("iterations_step_6", UPDATES[n], "answer"),
                ("compress_matrix_ms", 1e-3 * per_launch * 700, "kernels"),
                ("compress_matrix_launches", 700, "kernels"),
            )
        )  # fmt: skip

    for n in SIZES:
        for name in COUNTERS:
            add("baseline", name, n, us[name.removesuffix("_by_warp")])
        add("opt0", "copied", n, 0)
        for version, name in itertools.product(VERSIONS[1:], ("paper", "tuned")):
            add(version, name, n, 0)
        for name in ("our_search", "wide_bins", "our_step_1"):
            add("opt2", name, n, 0)
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------- the counter


def prices(summary):
    found = counter.compare(counter.table(summary, NUMBERS))
    return {c.quantity.removeprefix("us a zero, counter in memory "): c for c in found}


def test_print_s_own_price_of_a_zero_is_that_of_the_host_s_memory():
    price = counter.of_print(NUMBERS, pd.Series(UPDATES))
    assert price.round(2).tolist() == [0.80, 0.61, 0.66, 0.64, 0.45]
    assert price.between(*counter.HOST_US).all()
    some = counter.of_print(NUMBERS, pd.Series({8: 5, 512: UPDATES[512], 1024: 0}))
    assert some.round(2).to_dict() == {512: 0.61}


def test_prices_are_read_off_both_clocks():
    found = counter.table(made(), NUMBERS).set_index(["n", "configuration"])
    for column in ("us_a_zero", "us_a_zero_of_kernel"):
        assert found.loc[(512, "paper"), column] == pytest.approx(0.9)
        assert found.loc[(512, "mapped_by_warp"), column] == pytest.approx(0.8)
        assert found.loc[(512, "copied"), column] == pytest.approx(0)
    assert found["published_us_a_zero"].notna().sum() == len(SIZES)
    assert set(found["added"]) == {"each zero", "each warp"}
    judged = prices(made())
    assert {c.verdict for c in judged.values()} == {"holds", "not comparable"}


@pytest.mark.parametrize(("memory", "us"), [
    ("paper", 0.1), ("paper", 4.5), ("mapped", 0.05), ("managed", 0.5), ("copied", 0.5),
])  # fmt: skip
def test_a_price_that_was_not_predicted_fails(memory, us):
    """Planted: each place of the counter as cheap or as dear as the other kind."""
    bad = [c for c in prices(made(**{memory: us})).values() if c.verdict == "fails"]
    words = counter.MEMORIES[memory][0]
    assert len(bad) == 2 * len(SIZES)
    assert all(f"counter in memory {words}," in c.quantity for c in bad)


def test_sizes_that_print_lacks_have_no_price_of_print():
    rows = made()
    rows = rows[rows["n"].isin([256, 512])].assign(n=rows["n"] // 2)
    found = counter.table(rows, NUMBERS).set_index(["n", "configuration"])
    assert math.isnan(found.loc[(128, "paper"), "published_us_a_zero"])
    assert found.loc[(256, "paper"), "published_us_a_zero"] > 0


def test_the_executor_s_prices_are_not_judged():
    assert [c.verdict for c in prices(made(device="CPU executor")).values()] == ["not measured"]


def totals(summary):
    found = verdicts.speedups(tables.speedups(summary, NUMBERS))
    return {c.quantity: c for c in found if c.quantity.startswith("total speedup")}


def test_the_price_explains_a_total_that_is_not_print_s():
    found = totals(made())
    assert {c.verdict for c in found.values()} == {"agrees", "differs"}
    for c in found.values():
        assert c.cause.experiment == "kawtikwar_opts:counter"
        assert c.cause.low < c.measured < c.cause.high


def test_a_fault_of_the_baseline_explains_nothing():
    """Planted: all the baseline's times five times as long, its clock of the kernels' too."""
    rows = made()
    slow = (rows["solver"] == "kawtikwar_opts:baseline") & (rows["scope"] != "answer")
    rows.loc[slow & rows["metric"].str.endswith("_ms"), "median"] *= 5
    assert all(c.cause is None for c in totals(rows).values())
    assert {c.verdict for c in totals(rows).values()} == {"open"}


CHANGED = [("opt0", 5), ("opt4", 0.2), *itertools.product(VERSIONS[1:], (0.2, 5))]


@pytest.mark.parametrize("fault", first(1, CHANGED))
def test_a_fault_of_a_version_is_not_explained_away(fault):
    """Planted: no version's expectation moves with its own time, but for what the clock saw."""
    (version, factor), rows, before = fault, made(), totals(made())
    hit = (rows["solver"] == f"kawtikwar_opts:{version}") & rows["metric"].str.endswith("_ms")
    rows.loc[hit, "median"] *= factor
    after = {q: c for q, c in totals(rows).items() if f"of {version}," in q}
    for quantity, c in after.items():
        assert c.cause.low == pytest.approx(before[quantity].cause.low, rel=0.05)
        assert c.verdict in ("agrees", "open")
    assert "open" in {c.verdict for c in after.values()}


def test_no_price_no_cause():
    assert counter.cause(math.nan, 5.0) is None
    assert counter.cause(0.1, 5.0) is None
    assert counter.cause(0.5, math.nan) is None
    assert counter.cause(0.5, 6.0).low == 4


# ------------------------------------------------------------------------------- the way


def test_the_way_is_measured_step_by_step():
    found = waterfall.table(made(), NUMBERS)
    first = found[found["n"] == 512].reset_index(drop=True)
    assert first["step"].tolist() == ["opt1 as printed", *ONE_LAUNCH]
    assert math.isnan(first["gain"].iloc[0])
    assert first["gain"].iloc[1] == pytest.approx(1.86, abs=0.01)
    assert first["left"].iloc[-1] == 1
    assert {c.verdict for c in waterfall.compare(found)} == {"holds"}
    assert plots.png(waterfall.draw(found)).startswith(b"\x89PNG")


def test_a_step_that_costs_is_noticed():
    rows = made()
    hit = (rows["options"] == "configuration=wide_bins") & (rows["metric"] == "time_ms")
    rows.loc[hit, "median"] *= 2
    bad = [c for c in waterfall.compare(waterfall.table(rows, NUMBERS)) if c.verdict == "fails"]
    assert [c.quantity for c in bad] == ["gain by wide_bins in Opt 2, geometric mean"]


def test_an_instance_that_went_half_the_way_is_left_out():
    rows = made()
    gone = (rows["options"] == "configuration=our_step_1") & (rows["n"] == 256)
    assert set(waterfall.table(rows[~gone], NUMBERS)["n"]) == set(SIZES) - {256}


# ------------------------------------------------------------------------------- statements


def judged(summary):
    return {c.quantity: c for c in statements.compare(tables.statements(summary, NUMBERS))}


def of_print():
    second = NUMBERS("table2")
    return pd.DataFrame(
        row(r.version, "configuration=paper", r.n, "time_ms", r.time_ms)
        for r in second.itertuples(index=False)
    )


def test_print_keeps_its_own_statements():
    found = judged(of_print())
    assert list(found) == [one.claim for one in statements.STATEMENTS]
    assert {c.verdict for c in found.values()} == {"agrees"}
    assert not [c for c in found.values() if c.note]


FAULTS = {
    "least_total": (("opt4", None, 6.0),),
    "opt_0_leads": (("baseline", None, 0.2),),
    "opt_0_is_half": (("opt4", None, 0.5),),
    "least_at_4096": (("baseline", 4096, 5.0),),
    "largest_at_1024": (("baseline", 256, 5.0),),
    "losses_are_small": (("opt3", 512, 1.5),),
    "opt_1_pays_late": (("opt1", 4096, 1.5),),
    "launches_weigh_small": (("opt2", 256, 3.0),),
}


@pytest.mark.parametrize("claim", list(FAULTS))
def test_a_statement_that_does_not_hold_is_open(claim):
    rows = of_print()
    for version, n, factor in FAULTS[claim]:
        hit = (rows["solver"] == f"kawtikwar_opts:{version}") & (n is None or rows["n"] == n)
        rows.loc[hit, "median"] *= factor
    assert judged(rows)[claim].verdict == "open"


def test_statements_need_all_of_table_2():
    rows = of_print()
    some = judged(rows[rows["n"] != 1024])
    assert [c.verdict for c in some.values()] == ["not measured"]
    executor = judged(rows.assign(device="CPU executor"))
    assert [c.verdict for c in executor.values()] == ["not measured"]


# ------------------------------------------------------------------------------- the sanitizer


def test_the_sanitizer_s_run_has_every_version_and_configuration(monkeypatch):
    runs = []
    monkeypatch.setattr(sanitized, "_proved", lambda cost, **given: runs.append(given) or 1)
    sanitized.main()
    made = {(run.get("version"), run.get("configuration")) for run in runs}
    assert made >= {(v, name) for v in VERSIONS for name in of_version(v)}
    assert {run.get("host") for run in runs} == {None, "graph"}
    assert {run.get("dtype") for run in runs} == {None, "int32", "int64", "float64"}


def test_an_answer_without_a_proof_stops_the_sanitizer_s_run(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(sanitized.assignment_proof, "assignment", lambda *given: Proofless)
    with pytest.raises(RuntimeError, match="planted"):
        sanitized._proved(np.eye(3, dtype=int))


class Proofless:
    ok, reason = False, "planted"
