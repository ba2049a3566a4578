"""The numbers that the papers print: one CSV a table or figure, in each paper's `published/`.

The files keep trailing zeros, which carry the printed precision. `load` gives numbers to
calculate with; a `Published` loader also remembers how each number was printed, so that a report
can show ``0.50`` where the paper does.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import pandas as pd


def _folder(paper: str) -> Path:
    """Return the `published` folder of `paper`, found without importing the paper."""
    module = paper if "." in paper else f"papers.{paper}"
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"there is no paper {paper!r}")
    return Path(next(iter(spec.submodule_search_locations))) / "published"


def names(paper: str) -> list[str]:
    """Return the names that `load` takes for `paper`, sorted."""
    return sorted(path.stem for path in _folder(paper).glob("*.csv"))


def load(paper: str, name: str, as_printed: bool = False) -> pd.DataFrame:
    """Read one CSV of published numbers.

    Parameters
    ----------
    paper : str
        A subpackage of `papers`, e.g. ``"lopes2019"`` (a dotted module name is taken as it is).
    name : str
        The file's name without ``.csv``.
    as_printed : bool
        Keep every value as the text in the file instead of converting numbers.

    Returns
    -------
    DataFrame
        The file's rows and columns; empty fields are NaN, or ``""`` with `as_printed`.

    Raises
    ------
    FileNotFoundError
        If the paper has no such file; the message lists those it has.
    """
    path = _folder(paper) / f"{name}.csv"
    if not path.is_file():
        listed = ", ".join(names(paper)) or "none"
        raise FileNotFoundError(f"{paper} has no published numbers {name!r}; there are: {listed}")
    return _read(path, path.stat().st_mtime_ns, as_printed).copy()


@functools.cache
def _read(path: Path, written_ns: int, as_printed: bool) -> pd.DataFrame:
    """Read a file once for as long as it stays as it is: tables ask for it hundreds of times."""
    if as_printed:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    return pd.read_csv(path)


class Published:
    """A paper's loader: ``published(name)`` is `load`, and remembers the printed forms.

    Parameters
    ----------
    paper : str
        As in `load`.
    """

    def __init__(self, paper: str) -> None:
        self.paper = paper
        self._forms: dict[float, str] = {}
        self._known: set[str] = set()

    def __call__(self, name: str) -> pd.DataFrame:
        """Return `load` of `name`."""
        frame = load(self.paper, name)
        if name in self._known:
            return frame
        self._known.add(name)
        texts = load(self.paper, name, as_printed=True)
        for column in frame.select_dtypes("float"):
            for value, text in zip(frame[column], texts[column], strict=True):
                # A value printed with two precisions keeps the longer form.
                if len(text) > len(self._forms.get(float(value), "")):
                    self._forms[float(value)] = text
        return frame

    def printed(self, value: float) -> str | None:
        """Return `value` as the loaded files print it, or None if they do not hold it."""
        return self._forms.get(float(value))


def loader(paper: str) -> Published:
    """Return the callable that an experiment's `table` receives as `published`."""
    return Published(paper)
