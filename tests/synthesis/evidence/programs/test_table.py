"""What the programs ask for, and how their tables are written."""

import pandas as pd
import pytest

from papers.synthesis.evidence.programs import table


def test_a_new_file_is_asked_for(tmp_path):
    out = str(tmp_path / "times.csv")
    assert table.asked("What it measures.", [out]) == [out]
    assert table.asked("What it measures.", [out, "7"]) == [out, "7"]


@pytest.mark.parametrize("words", [[], ["costs.npy"], ["times.csv", "0"], ["times.csv", "many"]])
def test_no_file_is_written_over(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "costs.npy").write_bytes(b"mine")
    with pytest.raises(SystemExit):
        table.asked("What it measures.", words)
    told = capsys.readouterr().err
    assert ("costs.npy is there already" in told) == (words == ["costs.npy"])
    assert (tmp_path / "costs.npy").read_bytes() == b"mine"


def test_a_table_that_is_stopped_keeps_its_rows(tmp_path, capsys):
    def rows():
        yield {"n": 1, "ms": 0.5}
        yield {"n": 2, "ms": 0.7}
        raise KeyboardInterrupt

    out = str(tmp_path / "times.csv")
    with pytest.raises(KeyboardInterrupt):
        table.write(rows(), out)
    assert pd.read_csv(out)["n"].tolist() == [1, 2]
    assert capsys.readouterr().err.splitlines() == ["1 0.5", "2 0.7"]
