"""The files that pages need beside them: style, scripts, Plotly, pictures and tables.

Plotly draws SVG, changes scale and hides curves without being drawn anew, and its wheel brings the
whole script; Bokeh's is smaller, but draws on a canvas, which no screen reader and no test sees.
"""

from __future__ import annotations

import base64
import functools
import gzip
import io
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from PIL import Image

ASSETS = Path(__file__).parent / "assets"
PLOTLY = "plotly.js"
"""Plotly's script as a page of the site loads it."""

COLOURS = 256
"""Colours of a picture in the site; the run folder has it with all of them."""

_UNPACK = """"use strict";
// Plotly's own script, out of its package, compressed: unpacked it is as large as the whole site.
window.plotlyReady = (async () => {{
  const bytes = Uint8Array.from(atob("{packed}"), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.src = URL.createObjectURL(new Blob([await new Response(stream).text()]));
  await new Promise((done, failed) => {{
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  }});
}})();
"""


def copy(folder: Path, target: Path) -> None:
    """Copy everything that pages link to into a new folder.

    Parameters
    ----------
    folder : Path
        The run folder.
    target : Path
        The site's; it must not exist.
    """
    target.mkdir(parents=True)
    for path in sorted(ASSETS.iterdir()):
        shutil.copyfile(path, target / path.name)
    (target / PLOTLY).write_text(plotly(), encoding="ascii")
    for path in sorted((folder / "tables").glob("*.csv")):
        (target / "tables").mkdir(exist_ok=True)
        shutil.copyfile(path, target / "tables" / path.name)
    pictures = [
        (path, target / path.relative_to(folder))
        for name in ("figures", "artifacts")
        for path in sorted((folder / name).glob("**/*.png"))
    ]
    for _, path in pictures:
        path.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda pair: pair[1].write_bytes(smaller(pair[0])), pictures))


@functools.cache
def plotly() -> str:
    """Return a script that unpacks Plotly's own, as its package brings it, and runs it."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the site needs the package plotly", name="plotly")
    script = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    packed = gzip.compress(script.read_bytes(), 7, mtime=0)
    return _UNPACK.format(packed=base64.b64encode(packed).decode("ascii"))


def smaller(picture: Path) -> bytes:
    """Return a picture as a PNG of `COLOURS` colours, or as it is if that is no smaller."""
    whole = picture.read_bytes()
    buffer = io.BytesIO()
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(buffer, "png")
    return min(buffer.getvalue(), whole, key=len)
