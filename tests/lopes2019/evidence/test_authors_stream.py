"""Counts on the authors' matrices: made-up rows that fulfil what is asked, and planted faults."""

import pandas as pd
import pytest

from papers.common.evidence import published
from papers.common.evidence.judges import by_origin
from papers.common.model import Plan
from papers.lopes2019.evidence import authors_stream
from papers.lopes2019.evidence.authors_stream import CODES, COUNTERS, SAME

NUMBERS = published.loader("papers.lopes2019")
TOTALS = NUMBERS("authors_totals").set_index(["n", "cost_range"])["total"]
GPU = Plan("paper", gpu=True)


@pytest.fixture(scope="module")
def rows():
    """All cells with the authors' totals, and counts that only the searches differ in."""
    found = []
    for cell in authors_stream.cells(GPU):
        one = cell.instance
        options = ",".join(f"{key}={value}" for key, value in cell.options)
        place = ("this run", cell.solver, options, one.family, one.n, one.label, one.seed, "host")
        total = TOTALS[one.n, one.label] - (one.seed > 1)
        by_chance = len(options) if cell.solver == "lopes2019:gpu" else 0
        for metric in COUNTERS:
            value = total if metric == "cost" else one.n + one.seed
            found.append((*place, metric, value + by_chance * (metric not in SAME)))
    names = ["source", "solver", "options", "family", "n", "label", "seed", "storage", "metric"]
    return pd.DataFrame(found, columns=[*names, "median"]).assign(scope="answer", device="any")


def compared(rows):
    table = authors_stream.table(rows, NUMBERS)
    return {item.quantity: item for item in by_origin(authors_stream.verdicts, table)}


def test_totals_of_the_authors_agree_and_equal_counts_hold(rows):
    found = compared(rows)
    assert len(found) == 21 + 3
    assert [item.verdict for item in found.values()] == ["agrees"] * 21 + ["holds"] * 3
    assert list(found)[-1] == "matrices of 45 on which the dual updates of all codes are equal"


def test_another_total_than_the_authors_is_open(rows):
    hit = (rows["metric"] == "cost") & (rows["n"] == 2048) & (rows["label"] == "n")
    found = compared(rows.assign(median=rows["median"] - 24 * (hit & (rows["seed"] == 1))))
    wrong = {name: item for name, item in found.items() if item.verdict not in ("agrees", "holds")}
    assert list(wrong) == ["largest total, n=2048 range n"]
    assert wrong["largest total, n=2048 range n"].measured == 4189825


@pytest.mark.parametrize("counter", SAME)
@pytest.mark.parametrize("code", CODES.values(), ids=list(CODES))
def test_one_code_that_counts_otherwise_is_seen(rows, counter, code):
    hit = (rows["solver"] == code.solver) & (rows["options"] == code.text)
    hit &= (rows["metric"] == counter) & (rows["n"] == 1024)
    hit &= (rows["label"] == "n") & (rows["seed"] == 2)
    assert hit.sum() == 1
    failed = [item for item in compared(rows.assign(median=rows["median"] + hit)).values()
              if item.verdict == "fails"]  # fmt: skip
    assert [item.quantity.split(" which the ")[1] for item in failed] == [
        f"{SAME[counter]} of all codes are equal"
    ]
    assert (failed[0].published, failed[0].measured) == (45, 44)
    assert failed[0].note == "first: n=1024 range n matrix 2"


def test_a_matrix_of_one_code_alone_says_nothing_about_equality(rows):
    mine = rows[(rows["solver"] == "lopes2019:cpu_c") & (rows["n"] == 512)]
    assert [item.kind for item in compared(mine).values()] == ["count"] * 3


def test_nothing_measured_is_said_once(rows):
    found = compared(rows.iloc[:0])
    assert [item.verdict for item in found.values()] == ["not measured"]


def test_the_executor_gets_its_own_sizes_and_so_do_the_codes_beside_it():
    cells = authors_stream.cells(Plan("quick", gpu=False, seeds=(1,)))
    sizes = {solver: {cell.instance.n for cell in cells if cell.solver == solver}
             for solver in ("lopes2019:gpu", "lopes2019:cpu_c", "lopes2019:cpu_o4")}  # fmt: skip
    assert sizes == {
        "lopes2019:gpu": {16, 32},
        "lopes2019:cpu_c": {16, 32, 128, 256, 512},
        "lopes2019:cpu_o4": {16, 32, 128, 256, 512},
    }
    assert all(dict(cell.options)["maximize"] for cell in cells)


def test_there_is_no_matrix_of_number_0():
    assert authors_stream.cells(Plan("smoke", gpu=True, seeds=(0,))) == []
    seeds = {cell.instance.seed for cell in authors_stream.cells(Plan("paper", True, (0, 5)))}
    assert seeds == {5}


def test_large_matrices_are_the_first_of_the_stream_alone():
    seeds = {}
    for cell in authors_stream.cells(GPU):
        seeds.setdefault(cell.instance.n, set()).add(cell.instance.seed)
    assert {n: len(of) for n, of in seeds.items()} == {
        128: 3, 256: 3, 512: 3, 1024: 3, 2048: 1, 4096: 1, 8192: 1,
    }  # fmt: skip
