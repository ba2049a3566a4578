"""The table of `evidence/frontiers.csv`: it stands on the page, and the sentences are its own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.deveci_matching.beyond.configuration import FEW, default_threads
from papers.deveci_matching.evidence import measured
from papers.reproduce.report import readme

PAPERS = Path(papers.__file__).parent
FILE = pd.read_csv(PAPERS / "deveci_matching/evidence/frontiers.csv")
FOUND = measured.frontiers_shared()


def mean_of(values):
    return float(np.exp(np.log(values).mean()))


def commit_of(code):
    (commit,) = set(FILE.loc[FILE["code"] == code, "commit"])
    return commit


def page(paper, name="RESULTS.md"):
    return " ".join((PAPERS / paper / name).read_text(encoding="utf-8").split())


def test_the_table_stands_on_the_page_once_and_is_whole():
    text = (PAPERS / "deveci_matching/RESULTS.md").read_text(encoding="utf-8")
    blocks = [block["name"] for block in readme.BLOCK.finditer(text) if block["kind"] == "measured"]
    assert blocks == list(measured.TABLES) == ["frontiers"]
    header, *body = measured.frontiers()
    assert len(body) == len(FOUND) == 25
    assert {len(row) for row in body} == {len(header)}


def test_both_codes_ran_on_one_card_in_turns_and_found_one_cardinality():
    assert FILE.groupby(["device", "commit", "code", "threads", "turn"]).ngroups == 6
    assert FILE["device"].nunique() == 1
    assert f"before, {commit_of('before')} with 512 threads; now, {commit_of('now')}." in page(
        "deveci_matching"
    )
    assert (FILE.groupby(["graph", "ordering"])["cardinality"].nunique() == 1).all()
    assert (FILE.groupby(["graph", "ordering"]).size() == 6).all()


def test_what_the_pages_say_of_the_time_before():
    assert f"{mean_of(FOUND['over_before']):.2f}" == "0.50"
    assert f"{mean_of(FOUND['at_512'] / FOUND['before']):.2f}" == "0.55"
    assert "and 0.55 with 512 threads everywhere" in page("deveci_matching")
    for name in ("RESULTS.md", "../../CHANGELOG.md"):
        assert "0.50 of " in page("deveci_matching", name)
    little = FOUND[FOUND["over_before"] > 0.8]
    nothing = little[little["barriers"] == 1]
    assert set(nothing["graph"]) == {"triangle_n2000", "grid_n490000", "bcsstk25"}
    others = little.drop(nothing.index)
    assert list(zip(others["graph"], others["ordering"], strict=True)) == [
        ("path_n100000", "original"), ("rgg_n_2_15_s0", "original"),
    ]  # fmt: skip
    assert (FILE.loc[FILE["graph"] == "path_n100000", "jumps"] > 0).all()


def test_what_the_page_says_of_barriers():
    some = FOUND[FOUND["barriers"] > 1]
    fall = some["barriers"] / some["barriers_before"]
    assert len(some) == 22
    told = f"fall to {mean_of(fall):.2f} and the time to {mean_of(some['over_before']):.2f}"
    assert told in page("deveci_matching")
    assert np.corrcoef(np.log(fall), np.log(some["over_before"]))[0, 1] > 0.8
    triangle = (some["graph"] == "triangle_n2000") & (some["ordering"] == "permuted")
    assert fall[triangle].item() > 0.95
    assert some.loc[triangle, "over_before"].item() < 0.7


def test_what_the_pages_say_beside_ecl_mm():
    beside = FOUND["over_ecl_mm"].dropna()
    assert len(beside) == 3
    assert beside.max() <= 0.2
    halved = mean_of(FOUND.loc[beside.index, "over_before"])
    assert 0.45 < halved < 0.62
    link = "[a frontier shared evenly](../deveci_matching/RESULTS.md#a-frontier-shared-evenly)"
    assert f"{link} took {halved:.2f} of the time before" in page("synthesis")


@pytest.mark.parametrize(("large", "better"), [(False, "at_256"), (True, "at_512")])
def test_blocks_have_the_threads_that_were_faster(large, better):
    sides = FOUND[["rows", "columns"]].max(axis=1)
    some = FOUND[(sides > FEW) == large]
    assert len(some) > 1
    means = {name: mean_of(some[name]) for name in ("at_256", "at_512")}
    assert min(means, key=lambda name: means[name]) == better
    usual = {f"at_{default_threads(*row)}" for row in some[["rows", "columns"]].to_numpy()}
    assert usual == {better}
