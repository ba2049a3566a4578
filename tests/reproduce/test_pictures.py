"""The pictures of the front page: they are small, and a maintainer's command takes them anew."""

import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

import papers
from papers.reproduce import pictures
from papers.reproduce.registry import UsageError

ROOT = Path(papers.__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r'(?:!\[[^]]*\]\(|src=")([^")]+\.png)', README)


def test_the_front_page_shows_the_first_screen_and_each_page_to_step_through():
    assert SHOWN[0] == pictures.FIRST_SCREEN.as_posix()
    assert SHOWN[1:] == [f"papers/{name}/evidence/trace/page.png" for name in papers.PAPERS]
    assert sum((ROOT / name).stat().st_size for name in SHOWN) < 600_000
    for name in SHOWN:
        with Image.open(ROOT / name) as image:
            assert image.size == (pictures.SIZE if name == SHOWN[0] else pictures.STEP_SIZE)
            assert image.mode == "P"


def test_a_run_without_a_report_has_no_picture(tmp_path):
    with pytest.raises(UsageError, match="reproduce report"):
        pictures.take(tmp_path)


def test_pictures_are_taken_of_what_is_there(tmp_path, monkeypatch):
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        pytest.skip("there is no Chromium (Debian's package is called chromium)")
    (tmp_path / "run" / "site").mkdir(parents=True)
    (tmp_path / "run" / "site" / "index.html").write_text("<p style='color: red'>An answer</p>")
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    assert [path.relative_to(tmp_path) for path in pictures.take(tmp_path / "run")] == [
        pictures.FIRST_SCREEN
    ]
    with Image.open(tmp_path / pictures.FIRST_SCREEN) as image:
        assert image.size == pictures.SIZE
        assert len(image.convert("RGB").getcolors()) > 2


def test_without_a_browser_the_command_says_which_it_needs(tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("x")
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="Chromium"):
        pictures.take(tmp_path)
