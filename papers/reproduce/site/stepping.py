"""Pages to step through, taken into the site where ``reproduce trace`` has put them into the run.

They take up to a minute to make, so that a report does not make them; each stands alone already,
and its links to sources lead to the copies of the site instead.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from papers.reproduce.run.folder import write_atomically
from papers.reproduce.site import sources

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
"""The steps in a page."""

_SOURCE = re.compile(r'"file":"(papers/[\w/]+\.py)","link":"[^"]*"')


def page_of(paper: str) -> str:
    """Return the file's name, in a run's folder as in its site: the one that the command takes."""
    return f"{paper}-trace.html"


def command(paper: str) -> str:
    """Return the command that makes the page where a report finds it."""
    return f"reproduce trace {paper} --output RUN/{page_of(paper)}"


def code(folder: Path, paper: str) -> Iterator[Path]:
    """Yield the source files that a paper's page in a run's folder leads to, if it is there."""
    page = folder / page_of(paper)
    if page.is_file():
        named = dict.fromkeys(_SOURCE.findall(page.read_text(encoding="utf-8")))
        yield from (path for name in named if (path := sources.ROOT / name).is_file())


def copy(folder: Path, target: Path, paper: str) -> None:
    """Copy a paper's page from a run's folder into its site, if it is there.

    Parameters
    ----------
    folder, target : Path
        The run's folder and the site's.
    paper : str
        The paper's name.
    """
    page = folder / page_of(paper)
    if page.is_file():
        text = _SOURCE.sub(_to_copy, page.read_text(encoding="utf-8"))
        write_atomically(target / page.name, DATA.sub(_packed, text))


def _packed(found: re.Match[str]) -> str:
    """Return the script element with the steps compressed: its own page's script unpacks them."""
    packed = base64.b64encode(gzip.compress(found[1].encode(), 9, mtime=0)).decode("ascii")
    return f'<script type="application/gzip" id="data">{packed}</script>'


def _to_copy(found: re.Match[str]) -> str:
    path = sources.ROOT / found[1]
    link = sources.page_of(path) if path.is_file() else ""
    return f'"file":"{found[1]}","link":"{link}"'
