"""The model of the two cards: its arithmetic, the faults that it must not survive, its causes."""

import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import planted
import pytest
from nightly import first

from papers.common import instances
from papers.common.evidence import published
from papers.common.evidence.judges import by_origin
from papers.common.model import Instance
from papers.kawtikwar_opts import reference
from papers.kawtikwar_opts.evidence import statements, tables, text_claims
from papers.kawtikwar_opts.evidence.card import causes, expected, experiment, measured, prices, work
from papers.kawtikwar_opts.evidence.codes import DOUBLES
from papers.reproduce import registry

NUMBERS = published.loader("papers.kawtikwar_opts")
EXPLAINED = ("fig02", "fig03", "fig04", "fig05", "fig06", "table3")
FEW = ("fig03", "table3")
CARD = causes.EXPERIMENT


@functools.cache
def recorded():
    rows = planted.recorded("kawtikwar_opts")
    ours = rows["solver"].str.startswith("kawtikwar_opts") & (rows["family"] == DOUBLES)
    return rows[ours & (rows["source"] == "recorded nvidia-h200")].reset_index(drop=True)


def compared(name, rows):
    entry = registry.experiments("kawtikwar_opts")[name]
    return {item.quantity: item for item in by_origin(entry.compare, entry.table(rows, NUMBERS))}


@functools.cache
def before(name):
    return compared(name, recorded())


def of_card(*names, rows=None):
    found = (before(name) if rows is None else compared(name, rows) for name in names)
    items = [item for part in found for item in part.values()]
    return [item for item in items if item.cause and item.cause.experiment == CARD]


def failing(rows):
    return {name for name, item in compared("card", rows).items() if item.verdict == "fails"}


def times(factor, solver="", scope="", metric="", n=0):
    """The recorded rows with some figures times a factor."""
    rows = recorded()
    hit = rows["solver"].str.endswith(solver) & rows["scope"].str.startswith(scope)
    hit &= rows["metric"].str.startswith(metric) & ((rows["n"] == n) | (n == 0))
    assert hit.any()
    return rows.assign(median=rows["median"].where(~hit, factor * rows["median"]))


# ------------------------------------------------------------------------------- arithmetic


def test_the_sectors_of_a_dual_update_are_counted_in_the_reference(monkeypatch):
    n, found = 96, []
    true = reference.step_6

    def counted(t):
        rows, columns = t.covered_row[:, None], t.covered_column[None, :]
        none, both = ~rows & ~columns, rows & columns
        # Entry i is row i % n of column i // n: a sector has four rows of a column.
        sectors = [x.reshape(n // 4, 4, n).any(axis=1).mean() for x in (none | both, none)]
        found.append(sectors)
        true(t)

    monkeypatch.setattr(reference, "step_6", counted)
    cost = np.asarray(instances.draw(Instance("uniform", n, "10n")))
    reference.solve(cost)
    assert len(found) > 20
    touched, uncovered = np.mean(found, axis=0)
    assert touched == pytest.approx(work.TOUCHED, rel=0.15)
    assert uncovered == pytest.approx(work.UNCOVERED, rel=0.15)


def test_the_turn_is_that_of_lopes_s_record():
    rows = planted.recorded("lopes2019")
    rows = rows[(rows["solver"] == "lopes2019:gpu") & (rows["scope"] == "kernels")]
    rows = rows[(rows["source"] == "recorded nvidia-h200") & (rows["n"] == measured.TURN_N)]
    record = work.Record(rows)
    each, empty = (
        record.us_a_launch("lopes2019:gpu", measured.TURN_N, kernel, family="uniform")
        for kernel in ("step_6_reduction_1", "step_4_init")
    )
    turn = (each - empty) / work.turns(measured.TURN_N, work.REDUCTION)
    assert turn == pytest.approx(measured.TURN_US, rel=0.02)


PRICES = prices.Prices(
    multiprocessors=2, launch=10.0, empty=4.0, search=3.0, sweep=5.0, turn=1.0, barrier=2.0,
    held=0.5, megabyte=dict.fromkeys(("baseline", "opt0", "opt1", "opt2", "opt4"), 100.0),
    zero={64: 0.25},
)  # fmt: skip
RUN = work.Work(64, launches=50, searches=7, begun=4, updates=3)


def test_a_run_is_the_sum_of_its_work():
    mb = 8e-6 * 64 * 64
    stars = 4 * 64 / 32 * 0.25
    plain = 50 * 10 + 7 * 3 + 3 * 1 + stars  # a turn a minimum
    assert 1e3 * PRICES.run_ms(RUN, "opt1") == pytest.approx(plain + 3 * 177 * mb)
    base = plain + 3 * 254 * mb + 4 * 64 * 0.25
    assert 1e3 * PRICES.run_ms(RUN, "baseline") == pytest.approx(base)
    # Two turns of 2048 entries, by bytes only where they take longer.
    update = 2 + 177 * mb + 3 * 2
    one = 7 * 5 + 3 * update + 4 * 8 * 2
    assert 1e3 * PRICES.run_ms(RUN, "opt2") == pytest.approx(one)
    assert 1e3 * PRICES.run_ms(RUN, "opt4") == pytest.approx(one + 3 * 2 * 0.5)


def test_kernels_hold_an_empty_launch_and_the_baseline_s_its_zeros():
    mb, n = 8e-6 * 64 * 64, 64
    for version, zeros in (("baseline", 64 * 0.25), ("opt0", 0)):
        us = 1e3 * PRICES.kernel_ms(RUN, version, "compress_matrix")
        assert us == pytest.approx(3 * (100 * mb + 4 + zeros))
    # 50 launches less three of a dual update: the minimum and two passes.
    us = 1e3 * PRICES.kernel_ms(RUN, "opt0", "others")
    assert us == pytest.approx((50 - 9) * 4 + 7 * 3 + 4 * n / 32 * 0.25)


def test_the_minimum_waits_for_latency_not_for_bytes():
    """Little's law: what is under way over the latency is far below what this card can read."""
    turn = measured.twice(work.Record(recorded()))["turn"]
    under_way = 8e-6 * work.REDUCTION * work.UNCOVERED  # megabytes
    read, _ = tables.CARDS["H200"]
    assert max(under_way / turn.price, under_way / turn.again) < 0.25 * read
    assert turn.trusted  # half the bytes, the same turn


def test_an_empty_summary_or_another_card_has_no_prices():
    rows = recorded()
    for none in (rows.iloc[:0], rows.assign(device="NVIDIA H100")):
        assert [x.verdict for x in experiment.compare(experiment.table(none, NUMBERS))] == [
            "not measured"
        ]
        assert not of_card("fig03", rows=none)


# ------------------------------------------------------------------------------- wrong models


def test_what_fails_of_the_model_is_known():
    failed = {name.partition(": ")[2] for name in failing(recorded())}
    assert failed == {"run of opt2, n=256", "others of baseline, n=4096"}
    assert len(before("card")) > 70
    assert len([x for x in of_card(*EXPLAINED) if x.verdict == "differs"]) > 25


RECORDED_PRICES = {
    "launch": {"solver": "profile", "scope": "answer", "metric": "host_launch_us"},
    "search": {"solver": "opt0", "scope": "kernels", "metric": "step_4_ms", "n": 512},
    "megabyte": {"solver": "opt1", "scope": "kernels", "metric": "add_sub_compress_matrix_ms"},
    "turn": {"solver": "opt0", "scope": "kernels", "metric": "step_6_reduction_1_ms"},
    "held": {"solver": "opt4", "scope": "run", "metric": "time_ms", "n": 1024},
}


@pytest.mark.parametrize("factor", first(1, [3.0, 1 / 3]))
@pytest.mark.parametrize("price", RECORDED_PRICES)
def test_a_wrong_price_fails_and_explains_nothing(price, factor):
    rows = times(factor, **RECORDED_PRICES[price])
    assert f"measured over expected: price: {price}" in failing(rows)
    assert not of_card("fig05", rows=rows)


def test_a_zero_as_dear_as_nowhere_explains_nothing():
    """Both measurements are those of the baseline: what we predict of a zero is the third."""
    rows = times(3.0, solver="baseline", scope="kernels", metric="compress_matrix_ms")
    assert "fails" in {item.verdict for item in compared("counter", rows).values()}
    assert not of_card("fig03", "fig06", rows=rows)


def test_a_wrong_barrier_explains_nothing(monkeypatch):
    monkeypatch.setattr(measured, "BARRIER_US", 3 * measured.BARRIER_US)
    assert "measured over expected: price: search" in failing(recorded())
    assert not of_card("fig06", rows=recorded())


UNCHECKED = {
    "launch": "run of opt0, n=512",
    "sweep": "run of opt3, n=512",
    "turn": "min_reduce_kernel1 of opt1, n=4096",
    "megabyte": "step_6_add_sub of opt0, n=4096",
    "zero": "compress_matrix of baseline, n=4096",
}


@pytest.mark.parametrize("price", first(2, list(UNCHECKED)))
def test_a_wrong_price_that_nobody_checks_misses_the_times(monkeypatch, price):
    """Planted behind the two measurements: what a price makes is judged as well."""
    true = measured._as_measured

    def wrong(*of):
        value = getattr(found := true(*of), price)
        dear = {k: 3 * v for k, v in value.items()} if isinstance(value, dict) else None
        return replace(found, **{price: dear or 3 * value})

    monkeypatch.setattr(measured, "_as_measured", wrong)
    assert f"measured over expected: {UNCHECKED[price]}" in failing(recorded())


def test_versions_with_other_counts_are_mixed_up():
    rows = times(1.1, solver="opt3", scope="answer", metric="iterations_step_6", n=512)
    assert of_card("fig06")
    assert not of_card("fig06", rows=rows)


# ------------------------------------------------------------------------------- wrong records

FAULTS = {
    f"{version} {name}": fault
    for version in ("baseline", "opt3", "opt0", "opt1", "opt2", "opt4")
    for solver in [f"kawtikwar_opts:{version}"]
    for name, fault in {
        "at its largest times five": planted.scaled_at_the_largest(solver, 5.0),
        "times five": planted.scaled(solver, 5.0),
        "a fifth": planted.scaled(solver, 0.2),
        "shuffled": planted.shuffled(solver),
    }.items()
}


@pytest.mark.parametrize("names", first(1, [FEW, (*EXPLAINED, "claims")]))
@pytest.mark.parametrize("fault", first(3, list(FAULTS)))
def test_a_fault_in_the_record_is_not_explained_away(fault, names):
    wrong, moved = FAULTS[fault](recorded()), 0
    for name in names:
        for quantity, item in compared(name, wrong).items():
            true = before(name)[quantity].measured
            if isinstance(true, float) and abs(item.measured / true - 1) > 0.2:
                moved += 1
                assert item.verdict != "differs", (name, quantity)
    assert moved > 2


# ------------------------------------------------------------------------------- causes


@pytest.mark.parametrize(
    ("figures", "band"),
    [
        ((50.0, 55.0, 30.0), (25, 35)),
        ((50.0, 55.0, 42.0), (37, 45)),  # it ends where print's figures begin
        ((50.0, 55.0, 47.0), None),  # the model asks for agreement
        ((50.0, 32.0, 30.0), None),  # the model does not have print's card
        ((50.0, None, 30.0), None),
        ((50.0, 55.0, np.nan), None),
    ],
)
def test_a_share_has_a_cause_where_the_model_tells_the_cards_apart(figures, band):
    found = causes.of_points(figures)
    assert (found and (found.low, found.high)) == band


def test_a_gain_s_band_is_as_narrow_as_print_s():
    found = causes.of_gain((1.03, 0.99, 0.8), text_claims.of_gain)
    assert (found.low, found.high) == (pytest.approx(0.8 / 1.1), pytest.approx(0.8 * 1.1))
    loss = causes.of_loss((3.0, -1.0, -20.0), text_claims.of_gain)
    assert (loss.low, loss.high) == (pytest.approx(-27.3, abs=0.1), pytest.approx(-12))


def test_a_mean_s_band_is_narrower_than_a_size_s():
    one, four = (causes.of_total((4.0, 5.0, 20.0), sizes) for sizes in (1, 4))
    assert one.high / one.low > 2 > 1.6 > four.high / four.low > 1.4


def test_bands_hold_no_figure_that_agrees():
    found = of_card(*EXPLAINED)
    assert len(found) > 25
    for item in found:
        low, high = item.cause.low, item.cause.high
        least, most = item.accept
        assert high <= least or low >= most, item.quantity
        if item.kind == "shape":
            assert high - low <= 2 * causes.SLOPE + 1e-9
        elif item.quantity.startswith("share"):
            assert high - low <= 2 * causes.POINTS + 1e-9


@pytest.mark.parametrize(
    ("loads", "fused", "verdict"),
    [
        (2.95e6, 2.6e6, "differs"),
        (14e6, 2.6e6, "open"),
        (2.95e6, 13e6, "open"),
        (2e6, 2.6e6, "agrees"),
    ],
)
def test_loads_of_a_pass_follow_from_another_kernel_s(loads, fused, verdict):
    """Planted: the loads of the pass, or of Opt 1's fused kernel, times five."""
    row = {"id": "KA-l", "quantity": "loads", "unit": "instructions", "published": 1.94e6}
    table = pd.DataFrame([{**row, "measured": loads, "fused_loads": fused}])
    (item,) = text_claims.claims(table)
    assert item.verdict == verdict


def test_no_price_is_the_figure_that_it_explains():
    """Whole runs at the sizes of no price, and one version's kernels, move no figure expected."""
    rows = recorded()
    hit = (rows["scope"] == "run") & (rows["n"] == 4096) & (rows["metric"] == "time_ms")
    hit &= rows["options"] == "configuration=paper"
    wrong = rows.assign(median=rows["median"].where(~hit, 7 * rows["median"]))
    for old, new in zip(of_card("fig06"), of_card("fig06", rows=wrong), strict=True):
        assert (old.cause.low, old.cause.high) == (new.cause.low, new.cause.high)


def test_a_sentence_differs_only_where_both_models_tell_the_cards_apart():
    """A share of at least a half: print keeps it, its card's model does, and this card's not."""
    found = causes.of_statement((0.59, 0.51, 0.40), at_least=0.5)
    assert (found.low, found.high) == (pytest.approx(0.40 / 1.5**0.5), pytest.approx(0.4899, 1e-3))
    above = causes.of_statement((0.57, 0.8, 1.9), at_most=1.0)
    assert (above.low, above.high) == (pytest.approx(1.551, 1e-3), pytest.approx(1.9 * 1.5**0.5))
    near = causes.of_statement((0.59, 0.51, 0.45), at_least=0.5)
    assert near.high == 0.5, "the band ends where the sentence is kept"
    for figures in ((0.45, 0.51, 0.40), (0.59, 0.49, 0.40), (0.59, 0.51, 0.55), (0.59, None, 0.4)):
        assert causes.of_statement(figures, at_least=0.5) is None


def test_means_and_sentences_of_the_record_have_their_model_beside():
    """The model's means are those of its own totals, its sentences those of its own times."""
    record = recorded()
    totals = expected.speedups(record, NUMBERS)
    means = expected.claims(record, NUMBERS).set_index("id")["expected"]
    mine = totals[totals["version"] == "opt4"]["expected_total"]
    assert means["KA-t"] == mine.max()
    assert means["KA-a"] == pytest.approx(mine.prod() ** (1 / len(mine)))
    figures = expected.statements(record, NUMBERS).set_index("claim")
    assert list(figures.index) == [one.claim for one in statements.STATEMENTS]
    assert figures.loc["opt_0_is_half", "expected"] == pytest.approx(means["KA-b"] / means["KA-a"])
