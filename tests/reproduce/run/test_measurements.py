"""Files of measurements: today's columns, and those of older versions."""

import pytest

from papers.common.model import Cell, Instance
from papers.reproduce.measure.protocol import Outcome
from papers.reproduce.plan.cells import Job
from papers.reproduce.registry import UsageError
from papers.reproduce.run import json_files, measurements, runner
from papers.reproduce.run.folder import RunStore
from papers.reproduce.run.measurements import COLUMNS, LATER

OLD = """\
cell,solver,options,device,family,n,label,seed,repeat,scope,metric,value,status,certificate,reason
toy:x/uniform/n=8/range=n/seed=1,toy:x,,A,uniform,8,n,1,0,run,time_ms,1.5,ok,lp-duals,fine
toy:x/uniform/n=8/range=n/seed=1,toy:x,,A,uniform,8,n,1,0,answer,done,1,ok,lp-duals,fine
"toy:x[r=2,a=b]/uniform_parts/n=8/range=n/64/seed=1",toy:x,"r=2,a=b",A,uniform_parts,8,n/64,1,\
0,answer,done,1,ok,lp-duals,fine
toy:y/kron_rcp/n=8/range=logn3/seed=2,toy:y,,A,kron_rcp,8,logn3,2,0,answer,done,1,ok,none,fine
"""
KEYS = [
    "toy:x/uniform/n=8/range=n/seed=1",
    "toy:x[r=2,a=b]/uniform/n=8/range=n/64/seed=1/storage=strips",
    "toy:y/kron/n=8/range=logn3/seed=2/permuted",
]


@pytest.fixture
def old(tmp_path):
    (tmp_path / "measurements.csv").write_text(OLD, encoding="utf-8")
    return tmp_path


def test_an_older_file_is_read_under_the_names_of_today(old):
    table = measurements.read(old / "measurements.csv")
    assert table["cell"].unique().tolist() == KEYS
    assert table["family"].tolist() == ["uniform", "uniform", "uniform", "kron"]
    assert table["storage"].tolist() == ["host", "host", "strips", "host"]
    assert table["permuted"].tolist() == [False, False, False, True]
    assert table["permuted"].dtype == bool
    assert table.columns.tolist() == list(COLUMNS)
    assert (old / "measurements.csv").read_text(encoding="utf-8") == OLD


def test_a_resumed_older_run_goes_on_under_the_names_of_today(old):
    results = RunStore(old)
    assert results.finished == set(KEYS)
    instance = Instance("kron", 16, "logn4", permuted=True)
    job = Job(Cell("toy:y", instance), ())
    outcome = Outcome("ok", "koenig-cover", "fine", (("run", 0, "time_ms", 2.0),), "A card")
    results.append(runner.rows(job, outcome))
    results.close()
    table = measurements.read(old / "measurements.csv")
    assert table["cell"].unique().tolist() == [*KEYS, f"toy:y/{instance.key}"]
    assert table["permuted"].tolist()[-2:] == [True, True]
    assert RunStore(old).finished == {*KEYS, job.key}


def test_rows_of_neither_form_are_passed_over(old):
    path = old / "measurements.csv"
    header, first, done, *_ = OLD.splitlines()
    new = ",".join(COLUMNS)
    longer = done.replace(",1,0,answer", ",1,strips,False,0,answer")
    for top, rows, kept in (
        (header, [done], 1),
        (header, [longer], 0),
        (new, [longer], 1),
        (new, [done], 0),
        (new, [longer.replace("False", "perhaps")], 0),
        (header, [first, longer, done], 0),
    ):
        path.write_text("\n".join([top, *rows, ""]), encoding="utf-8")
        assert len(measurements.parse(path).statuses) == kept, rows
    path.write_text(header.replace("family", "kin") + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="damaged"):
        measurements.parse(path)


def test_tables_without_the_later_columns_are_the_host_s(old):
    table = measurements.read(old / "measurements.csv")
    summary = measurements.summarize(table.drop(columns=list(LATER)))
    assert set(summary["storage"]) == {"host"}
    assert not summary["permuted"].any()
    assert set(summary.columns) == {*measurements.SUMMARY, measurements.VALUES}


def test_optima_are_compared_over_storages(old):
    from papers.reproduce.report import two_runs

    table = measurements.read(old / "measurements.csv").query("family == 'uniform'")
    rows = table[table["metric"] == "done"].assign(
        metric="cost", label="n", status="ok", options="", value=[10.0, 11.0]
    )
    found = two_runs.different_costs(measurements.summarize(rows), measurements.summarize(rows))
    assert found == ["uniform/n=8/range=n/seed=1: costs 10, 11"]


@pytest.mark.parametrize(("key", "wrong"), [("storage", 5), ("permuted", "yes")])
def test_fields_of_a_wrong_type_are_told(tmp_path, key, wrong):
    cell = {
        "solver": "toy:x", "family": "uniform", "n": 8, "label": "n", "seed": 1, "params": [],
        "options": [], "scopes": [], "repeats": 1, "experiments": [],
    }  # fmt: skip
    options = {
        "preset": "quick", "only": [], "repeats": None, "seeds": [1], "timeout_s": 1,
        "device": "cpu",
    }  # fmt: skip
    meta = {
        "format": 1, "version": "0", "experiments": [], "options": options,
        "device": {"name": "", "is_gpu": False, "slug": ""}, "plan": [cell, {**cell, key: wrong}],
    }  # fmt: skip
    path = tmp_path / "meta.json"
    path.write_text(json_files.json.dumps(meta), encoding="utf-8")
    with pytest.raises(UsageError, match=rf"plan\[1\]\.{key} is"):
        json_files.read(path, json_files.META)
