"""Published numbers: values to calculate with, and the printed form beside them."""

import pytest

from papers.common.evidence import published


@pytest.fixture
def paper(tmp_path, monkeypatch):
    folder = tmp_path / "shelf" / "smith1999" / "published"
    folder.mkdir(parents=True)
    (folder.parents[1] / "__init__.py").touch()
    (folder.parent / "__init__.py").write_text("raise RuntimeError('loading numbers imports me')")
    (folder / "table2.csv").write_text("n,range,time\n512,0.1n,1.50\n1024,n,\n2048,10n,10.0\n")
    (folder / "table1.csv").write_text("n,time\n512,1.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "shelf.smith1999"


def test_numbers_and_texts(paper):
    numbers = published.load(paper, "table2")
    assert numbers["time"].sum() == 11.5
    assert numbers["time"].isna().tolist() == [False, True, False]
    texts = published.load(paper, "table2", as_printed=True)
    assert texts["time"].tolist() == ["1.50", "", "10.0"]


def test_a_missing_file_lists_what_there_is(paper):
    with pytest.raises(FileNotFoundError, match=r"'table9'; there are: table1, table2$"):
        published.load(paper, "table9")
    with pytest.raises(FileNotFoundError, match="no paper 'nobody2020'"):
        published.load("nobody2020", "table1")


def test_the_loader_remembers_what_it_loaded(paper):
    numbers = published.loader(paper)
    assert numbers.printed(1.5) is None
    numbers("table1")
    assert numbers.printed(1.5) == "1.5"
    numbers("table2")
    assert numbers.printed(1.5) == "1.50"
    assert numbers.printed(10) == "10.0"
    assert numbers.printed(11.5) is None


def test_a_loader_gives_the_same_frame_as_load(paper):
    assert published.loader(paper)("table2").equals(published.load(paper, "table2"))
