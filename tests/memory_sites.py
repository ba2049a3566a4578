"""Fences, acquires and releases of the papers' kernels, and what happens without one of them."""

import ast
from pathlib import Path

import papers as package

PACKAGE = Path(package.__file__).parent

ORDERS = (
    "threadfence", "threadfence_block", "threadfence_system", "load_acquire",
    "load_acquire_system", "store_release", "store_release_system", "release_at", "fence",
)  # fmt: skip
"""Calls that order memory; `papers.common.executor.weak_memory` can leave each of them out.

`fence` is two papers' own, of the scope that a launch needs."""


def sites_below(folder):
    """Every call of `ORDERS` in a folder of the package.

    Returns
    -------
    dict of str to (str, int)
        File and line by ``module.function: call``, with a number where a function has several. The
        name stays when lines move.
    """
    found = {}
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        sites = sites_in(path)
        assert not found.keys() & sites.keys(), "two functions of one name"
        found |= sites
    return found


def sites_in(path):
    """As `sites_below`, in one file."""
    text = path.read_text(encoding="utf-8")
    if not any(name in text for name in ORDERS):
        return {}
    found, calls = {}, {}
    _gather(ast.parse(text), "", calls)
    for (function, name), lines in calls.items():
        for number, line in enumerate(sorted(lines), 1):
            mark = f"{path.stem}.{function}: {name}"
            found[mark if len(lines) == 1 else f"{mark} {number}"] = str(path), line
    return found


def _gather(node, function, calls):
    """Lines of the calls by the innermost function that they stand in, and their name."""
    if isinstance(node, ast.FunctionDef):
        function = node.name
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ORDERS:
            calls.setdefault((function, name), set()).add(node.lineno)
    for child in ast.iter_child_nodes(node):
        _gather(child, function, calls)


def noticed(run, seeds, site):
    """Whether some run without a fence, an acquire or a release fails, and not with it.

    Parameters
    ----------
    run : callable(seed, without)
        Returns its `WeakMemory`; raises if the answer, or anything on the way to it, is wrong.
    seeds : iterable of int
    site : (str, int)
        File and line.

    Returns
    -------
    Exception or None
        The first failure.
    """
    passed = 0
    for seed in seeds:
        try:
            passed += run(seed, {site}).sites[site]
        except Exception as error:  # whatever a wrong word leads to
            run(seed, ())
            return error
    assert passed, f"no run comes by {site}: it would prove nothing"
    return None
