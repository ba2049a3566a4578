"""The program of `first_call.csv`, with processes that are not started, and one that is."""

import re
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.common.gpu.compiled import store, waking
from papers.synthesis.evidence.programs import first_call, first_call_parts

TINY = {"small": ("costs = draw.integers(0, 9, (3, 3))", first_call.ASSIGN)}


def test_a_call_compiles_once_and_its_orders_take_turns(tmp_path):
    seen = []

    def run(program, variables):
        seen.append((program, variables[store.VARIABLE]))
        return float(len(seen))

    found = pd.DataFrame(first_call.rows(2, run, tmp_path))
    assert found.groupby("call").size().to_dict() == dict.fromkeys(first_call.CALLS, 5)
    one = found[found["call"] == "cut"]
    assert one["kernels"].tolist() == ["compiled"] + 4 * ["loaded"]
    assert one["context"].tolist() == ["during the import", *2 * tuple(first_call.ORDERS)]
    assert len({folder for _, folder in seen}) == len(first_call.CALLS)
    assert sum("waking.begin =" in program for program, _ in seen) == 2 * len(first_call.CALLS)


def test_the_table_is_written_row_by_row(tmp_path, monkeypatch):
    monkeypatch.setattr(first_call, "CALLS", TINY)
    first_call.main(str(tmp_path / "times.csv"), "1")
    found = pd.read_csv(tmp_path / "times.csv")
    assert found["call"].tolist() == ["small"] * 3
    assert (found["seconds"] > 0).all()
    assert {"code", "card"} <= set(found.columns)


def test_what_is_replaced_is_what_the_calls_use():
    """Else both orders would be the same."""
    order = first_call.ORDERS["after the import"]
    assert order.startswith("from papers.common.gpu.compiled import waking\n")
    assert callable(waking.begin)
    scope = {}
    before = waking.begin
    try:
        exec(order, scope)
        assert waking.begin is not before
    finally:
        waking.begin = before


@pytest.mark.parametrize("name", first_call.CALLS)
def test_the_calls_run_on_a_cpu_too(name):
    given, call = first_call.CALLS[name]
    scope = {"np": np, "papers": papers, "draw": np.random.default_rng(1)}
    shorter = re.sub(r"1000|4096", "40", given).replace("00_000", "000").replace("300", "30")
    with warnings.catch_warnings(action="ignore", category=papers.NoGpuWarning):
        exec(f"{shorter}\nfound = {call}", scope)
    assert scope["found"] is not None


def test_a_process_that_fails_ends_the_program():
    with pytest.raises(subprocess.CalledProcessError):
        first_call.timed("raise SystemExit(3)", {})


def test_the_parts_are_those_of_the_table():
    found = pd.DataFrame(first_call_parts.rows(1, first_call_parts.printed))
    table = pd.read_csv(Path(first_call_parts.__file__).parents[1] / "first_call_parts.csv")
    assert found["part"].tolist() == 2 * list(first_call_parts.PARTS)
    assert list(dict.fromkeys(table["part"])) == list(first_call_parts.PARTS)
    assert set(table["context"]) == set(found["context"]) == set(first_call.ORDERS)
    assert found["seconds"].sum() > 0


def test_a_process_keeps_bytecode_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert first_call.printed("import sys; print(sys.dont_write_bytecode)").strip() == "False"
