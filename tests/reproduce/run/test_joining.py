"""Parts of a run are joined, and refused if they are of other code or options."""

import json
import shutil

import pytest

from papers.common import cores
from papers.reproduce.registry import UsageError
from papers.reproduce.run import joining


def lines(folder):
    return (folder / "measurements.csv").read_text().splitlines()


def copied(folder, target):
    shutil.copytree(folder, target)
    return target


def test_cells_of_two_parts_are_put_together_and_each_is_taken_once(toy, finished_run, tmp_path):
    folder = finished_run[0]
    cells = sorted({line.split(",")[0] for line in lines(folder)[1:]})
    assert len(cells) > 2
    parts = [copied(folder, tmp_path / name) for name in ("one", "two")]
    usual = json.loads((folder / "meta.json").read_text())["options"]["repeats"]
    kept = [cells[:2], cells[1:]]
    for part, mine in zip(parts, kept, strict=True):
        rows = [line for line in lines(folder)[1:] if line.split(",")[0] in mine]
        (part / "measurements.csv").write_text("\n".join([lines(folder)[0], *rows]) + "\n")
    with joining.join(parts, tmp_path / "whole") as whole:
        assert whole.meta["joined"] == [
            {"run": "one", "cells": 2, "repeats": usual},
            {"run": "two", "cells": len(cells) - 2, "repeats": usual},
        ]
        assert sorted(lines(whole.folder)) == sorted(lines(folder))


def test_the_plan_is_that_of_the_part_with_most_cores(toy, finished_run, tmp_path, monkeypatch):
    parts = [copied(finished_run[0], tmp_path / name) for name in ("one", "eight")]
    for part, count in zip(parts, (1, 8), strict=True):
        told = json.loads((part / "environment.json").read_text())
        (part / "environment.json").write_text(json.dumps({**told, "cores": count}))
    planned, seen = joining.planned, []

    def noted(*given):
        seen.append(cores.threads(100))
        return planned(*given)

    monkeypatch.setattr(joining, "planned", noted)
    with joining.join(parts, tmp_path / "whole") as whole:
        assert json.loads((whole.folder / "environment.json").read_text())["cores"] == 8
    assert seen == [8]
    assert cores.threads(100) < 100


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("environment.json", lambda told: told.update(cpu="another"), "cpu"),
        ("environment.json", lambda told: told.update(sources="0" * 40), "sources"),
        ("meta.json", lambda told: told["options"].update(seeds=[9]), "seeds"),
    ],
)
def test_parts_measured_otherwise_are_refused(toy, finished_run, tmp_path, file, change, message):
    part = copied(finished_run[0], tmp_path / "part")
    told = json.loads((part / file).read_text())
    change(told)
    (part / file).write_text(json.dumps(told))
    with pytest.raises(UsageError, match=message):
        joining.join([finished_run[0], part], tmp_path / "whole")
    assert not (tmp_path / "whole").exists(), "refused before a folder is made"


def test_a_part_may_lack_a_package_and_says_so_but_not_have_another_version(
    toy, finished_run, tmp_path
):
    whole, part = (copied(finished_run[0], tmp_path / name) for name in ("all", "part"))
    told = json.loads((part / "environment.json").read_text())
    had = dict(told["versions"])

    def write(folder, versions):
        text = json.dumps({**told, "versions": versions})
        (folder / "environment.json").write_text(text)

    write(whole, {**had, "nccl4py": "0.6.0"})
    with joining.join([whole, part], tmp_path / "lacking") as run:
        assert "without" not in run.meta["joined"][0]
        assert run.meta["joined"][1]["without"] == ["nccl4py"]
    write(part, {**had, "nccl4py": "0.5.0"})
    with pytest.raises(UsageError, match=r"nccl4py 0\.5\.0, here are nccl4py 0\.6\.0"):
        joining.join([whole, part], tmp_path / "other")


def test_a_part_may_have_less_time_and_says_so(toy, finished_run, tmp_path):
    whole, part = (copied(finished_run[0], tmp_path / name) for name in ("all", "part"))
    told = json.loads((part / "meta.json").read_text())
    usual, told["options"]["timeout_s"] = told["options"]["timeout_s"], 1.5
    (part / "meta.json").write_text(json.dumps(told))
    with joining.join([part, whole], tmp_path / "both") as run:
        assert run.meta["options"]["timeout_s"] == usual
        assert [one.get("timeout_s") for one in run.meta["joined"]] == [1.5, None]


def test_repetitions_may_differ_and_are_told(toy, finished_run, tmp_path):
    part = copied(finished_run[0], tmp_path / "part")
    told = json.loads((part / "meta.json").read_text())
    usual, told["options"]["repeats"] = told["options"]["repeats"], 77
    (part / "meta.json").write_text(json.dumps(told))
    with joining.join([finished_run[0], part], tmp_path / "whole") as whole:
        assert [one["repeats"] for one in whole.meta["joined"]] == [usual, 77]
        assert whole.meta["options"]["repeats"] == usual


def test_a_cell_with_fewer_clocks_is_not_taken(toy, finished_run, tmp_path):
    part = copied(finished_run[0], tmp_path / "part")
    told = json.loads((part / "meta.json").read_text())
    cut = 0
    for job in told["plan"]:
        scopes = job["cell"]["scopes"] if "cell" in job else job["scopes"]
        if len(scopes) > 1:
            del scopes[1:]
            cut += 1
    assert cut
    (part / "meta.json").write_text(json.dumps(told))
    with joining.join([part, finished_run[0]], tmp_path / "whole") as whole:
        assert whole.meta["joined"][1]["cells"] == cut


def test_cells_for_more_ranks_than_any_part_had_are_skipped(
    toy, finished_run, tmp_path, monkeypatch
):
    """Planted: a cell that one process cannot measure stayed "not measured yet" for ever."""
    part = copied(finished_run[0], tmp_path / "part")
    rows = lines(part)
    gone = rows[1].split(",")[0]
    kept = [rows[0], *(row for row in rows[1:] if row.split(",")[0] != gone)]
    (part / "measurements.csv").write_text("\n".join(kept) + "\n")
    wanted = {gone: "it is for 2 ranks"}
    monkeypatch.setattr(
        joining, "too_many_ranks", lambda cell, ranks: wanted.get(cell.key, "") * (ranks < 2)
    )
    with joining.join([part], tmp_path / "whole") as whole:
        (row,) = [line for line in lines(whole.folder) if line.split(",")[0] == gone]
        assert row.endswith("answer,done,1,skipped,none,it is for 2 ranks")
        assert gone not in [job.key for job in whole.left()]
    told = json.loads((part / "meta.json").read_text())
    told["device"]["ranks"] = 2
    (part / "meta.json").write_text(json.dumps(told))
    with joining.join([part], tmp_path / "other") as other:
        assert gone in [job.key for job in other.left()]


def test_pictures_come_from_the_parts(toy, finished_run, tmp_path):
    """Planted: the machine that joined two parts made their pictures anew, and timed itself."""
    parts = [copied(finished_run[0], tmp_path / name) for name in ("one", "two")]
    for part in parts:
        (part / "artifacts" / "toy").mkdir(parents=True, exist_ok=True)
        (part / "artifacts" / "toy" / "seen.png").write_text(part.name)
        told = {"toy:table1": [["A caption.", "toy/seen.png"]]}
        (part / "artifacts.json").write_text(json.dumps(told))
    with joining.join(parts, tmp_path / "whole") as whole:
        assert (whole.folder / "artifacts" / "toy" / "seen.png").read_text() == "one"
        assert json.loads((whole.folder / "artifacts.json").read_text()) == told
