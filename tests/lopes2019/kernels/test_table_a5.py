"""Table A.5 replayed with the kernels' own check and process, and with S2, S3 or S4 taken away."""

from pathlib import Path

import pytest

import papers
from papers.lopes2019.evidence import litmus
from papers.lopes2019.kernels import search


@pytest.mark.parametrize("trial", ["as printed", "as printed on a weak memory"])
def test_no_schedule_makes_both_a_and_d_processed(trial):
    runs = [litmus.outcome(trial, seed) for seed in range(400, 700)]
    assert [run for run in runs if run.forbidden or run.circle] == []
    # C alone can lead on, and so can B; the schedules do differ.
    assert {"CA", "BD", "CAB", "CBD", "CB"} <= {run.processed for run in runs}


@pytest.mark.parametrize("trial", ["S2 reversed", "S3 reversed", "S4 left out"])
def test_without_a_condition_the_lemma_fails(trial):
    run = litmus.shown(trial)
    assert run.processed == "CABD"
    assert {"CA", "BD"} <= set(run.led)
    assert run.circle


def times_of(run):
    return {f"{e.zero} {e.access}": time for time, e in enumerate(run.checked)}


def test_what_goes_wrong_is_what_the_page_tells():
    """A asks for row i too early (S2), or is led on before B has covered it (S3)."""
    at = times_of(litmus.shown("S2 reversed"))
    assert at["A CR?"] < at["B CR"] < at["A CC?"]
    assert at["C UC"] < at["A CC?"]
    at = times_of(litmus.shown("S3 reversed"))
    assert at["B UC"] < at["A CR?"] < at["B CR"]


def test_the_page_s_table_is_counted():
    page = Path(papers.__file__).parent / "lopes2019" / "RESULTS.md"
    table = litmus.counted()
    assert table in page.read_text(encoding="utf-8"), f"Write under Table A.5:\n{table}"


def test_the_events_are_those_of_the_conditions():
    """In the order that a thread makes them: a check, the prime, the covers."""
    orders = {
        "as printed": ["CC?", "CR?", "prime", "CR", "UC"],
        "S2 reversed": ["CR?", "CC?", "prime", "CR", "UC"],
        "S3 reversed": ["CC?", "CR?", "prime", "UC", "CR"],
        "S4 left out": ["CC?", "CR?", "prime", "CR", "UC"],
    }
    assert orders.keys() == litmus.TRIALS.keys()
    for trial, order in orders.items():
        run = litmus.outcome(trial, 1)
        for zero in run.processed:
            assert [e.access for e in run.checked if e.zero == zero] == order


def test_the_trial_runs_the_kernels_own_functions(monkeypatch):
    """Planted: reversed functions among the kernels are found by the trial of the printed ones."""
    assert litmus.TRIALS["as printed"] == (search.uncovered, search.process)
    assert litmus.TRIALS["S4 left out"] == (search.uncovered, search.process)
    kernel = litmus.kernel_of(search.uncovered, litmus.column_uncovered_first)
    monkeypatch.setitem(litmus._KERNELS, "as printed", kernel)
    assert litmus.forbidden("as printed", range(400))


def test_a_run_that_is_not_there_is_said_so():
    with pytest.raises(LookupError, match="no seed"):
        litmus.shown("as printed", range(20))


def test_the_table_has_a_line_an_access():
    text = litmus.table(litmus.shown("S3 reversed"))
    assert text.splitlines()[0].split() == ["time", "C_j", "A_i", "B_i", "D_j"]
    assert len(text.splitlines()) == 21
