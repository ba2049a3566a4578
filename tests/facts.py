"""The facts that each paper states in its `paper.toml`, for the tests of all papers."""

import re
import tomllib
from pathlib import Path

import papers

ROOT = Path(papers.__file__).parent


def _read(name):
    return tomllib.loads((ROOT / name / "paper.toml").read_text(encoding="utf-8"))


def spelled_out(item):
    """``"Alg.1..3"`` is Alg.1, Alg.2 and Alg.3; any other item is itself."""
    found = re.fullmatch(r"(.*?)(\d+)\.\.(\d+)", item)
    if not found:
        return [item]
    return [f"{found[1]}{i}" for i in range(int(found[2]), int(found[3]) + 1)]


def numbered(name):
    """Algorithms and numbered statements of a paper, as its citations name them."""
    return [one for item in _read(name)["numbered"] for one in spelled_out(item)]


def starts_from(name):
    """Papers that this one may import."""
    return set(_read(name).get("starts_from", []))


def compiled_by_own_tests(name):
    """Compute capabilities for which a paper's own tests compile its kernels."""
    wanted = _read(name).get("compiled_by_own_tests", [])
    return [tuple(map(int, capability.split("."))) for capability in wanted]
