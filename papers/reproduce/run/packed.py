"""Where a folder's measurements are: plain in a run, which appends to them, packed in a record.

A record's file is some twenty times smaller packed. Its manifest has the hash of the content, so
that a record may be packed later, and by any version of zlib.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from papers.reproduce.registry import UsageError

FILE = "measurements.csv"
PACKED = FILE + ".gz"


def in_folder(folder: Path) -> Path:
    """Return the path of the measurements of a run or of a record, where they are packed.

    Without either file it is that of the plain one, which does not exist.
    """
    packed = folder / PACKED
    return packed if packed.is_file() else folder / FILE


def held(results: Path) -> list[Path]:
    """Return the folders under a paper's `results` that hold measurements, by name."""
    return [path for path in sorted(results.glob("*")) if in_folder(path).is_file()]


def content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if its name ends in ``.gz``.

    Raises
    ------
    UsageError
        If it cannot be unpacked.
    """
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} is damaged: it cannot be unpacked ({error})") from None


def pack(folder: Path) -> None:
    """Put a folder's plain measurements into the packed file, whose bytes depend on them alone."""
    plain = folder / FILE
    (folder / PACKED).write_bytes(gzip.compress(plain.read_bytes(), 9, mtime=0))
    plain.unlink()
