"""Takes the pictures of the front page: the report's first screen, and each page to step through.

A maintainer's command, ``reproduce pictures RUN``: it needs Chromium and Playwright's client, which
the extra ``test`` installs. The pages to step through are those that ``reproduce trace`` has put
into the run's folder; where each is stopped is the paper's `evidence.trace.PICTURE`.
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import papers
from papers.common.evidence.trace.story import Picture
from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.site import site, stepping
from papers.reproduce.trace import command

ROOT = Path(papers.__file__).resolve().parents[1]
FIRST_SCREEN = Path("pictures") / "first-screen.png"
"""The report's, in a checkout."""

SIZE = (1280, 900)
STEP_SIZE = (1280, 1400)
"""Width and height of the window, in pixels."""

COLOURS = 128


def wanted(run: Path) -> Iterator[tuple[str, tuple[int, int], Path]]:
    """Yield the address, the window's size and the target of every picture that can be taken.

    Raises
    ------
    UsageError
        If the run has no report.
    """
    first = run / site.FOLDER / "index.html"
    if not first.is_file():
        raise UsageError(f"{run} has no site: reproduce report {run}")
    yield first.resolve().as_uri(), SIZE, ROOT / FIRST_SCREEN
    for name in papers.PAPERS:
        page = run / stepping.page_of(name)
        picture = getattr(command.module_of(name), "PICTURE", None)
        if picture is not None and page.is_file():
            target = registry.folder(name) / "evidence" / "trace" / "page.png"
            yield f"{page.resolve().as_uri()}#{place(page, picture)}", STEP_SIZE, target


def place(page: Path, picture: Picture) -> str:
    """Return the part of a page's address that stops it where a picture is taken.

    Raises
    ------
    UsageError
        If the page has no such run or step.
    """
    found = stepping.DATA.search(page.read_text(encoding="utf-8"))
    stories = {
        one["name"]: one for one in json.loads(found[1] if found else '{"stories": []}')["stories"]
    }
    runs = stories.get(picture.story, {"runs": []})["runs"]
    labels = [re.sub(r" \(.*?\)$", "", run["label"]) for run in runs]
    if not {picture.run, picture.beside or picture.run} <= set(labels):
        raise UsageError(f"{page.name} has no run {picture.run!r} of {picture.story!r} now")
    number = labels.index(picture.run)
    for at, step in enumerate(runs[number]["steps"]):
        if step[1].startswith(picture.sentence):
            beside = f"/{labels.index(picture.beside)}" if picture.beside else ""
            return f"{picture.story}/{number}/{at + 1}{beside}"
    raise UsageError(f"{page.name} has no step {picture.sentence!r} there now")


def take(run: Path) -> list[Path]:
    """Take every picture that can be taken from a run's folder.

    Parameters
    ----------
    run : Path
        A run with its site, and with the pages to step through that are to be pictured.

    Returns
    -------
    list of Path
        The pictures.

    Raises
    ------
    UsageError
        Without a report, Chromium or Playwright.
    """
    found = list(wanted(run))
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None or importlib.util.find_spec("playwright") is None:
        raise UsageError("pictures take Chromium, and Playwright: make install EXTRAS=test")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for address, (width, height), target in found:
            page = chromium.new_page(viewport={"width": width, "height": height})
            page.goto(address)
            page.wait_for_timeout(500)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(small(page.screenshot()))
            page.close()
        chromium.close()
    return [target for _, _, target in found]


def small(picture: bytes) -> bytes:
    """Return a PNG with `COLOURS` colours."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(buffer, "png", optimize=True)
    return buffer.getvalue()
