"""Old family names are read as the instances that they meant."""

import json

import pytest

from papers.common.instances import FAMILIES
from papers.common.model import Instance
from papers.reproduce import registry
from papers.reproduce.plan import cells, old_names
from papers.reproduce.run import packed

MEANT = [
    ("uniform_resident", ("uniform", "device", False)),
    ("uniform_parts", ("uniform", "strips", False)),
    ("kron_rcp", ("kron", "host", True)),
    ("matrix_rcp", ("matrix", "host", True)),
    ("uniform", ("uniform", "host", False)),
    ("stand_in", ("stand_in", "host", False)),
]


@pytest.mark.parametrize(("old", "meant"), MEANT)
def test_an_old_name_tells_family_storage_and_permutation(old, meant):
    instance = Instance(old, 8, "10n", (("cost_range", 80),), 3)
    found = old_names.modern(instance)
    assert (found.family, found.storage, found.permuted) == meant
    assert (found.n, found.label, found.params, found.seed) == (8, "10n", (("cost_range", 80),), 3)
    assert found.family in FAMILIES
    assert old_names.modern(found) == found


def test_the_graph_families_of_that_time_had_a_permuted_name():
    assert all(FAMILIES[name].problem == "matching" for name in old_names.GRAPHS)
    for name in old_names.GRAPHS:
        meant = old_names.modern(Instance(f"{name}_rcp", 8, "x"))
        assert (meant.family, meant.permuted) == (name, True)
    for name in ("uniform_rcp", "path_rcp"):
        assert old_names.modern(Instance(name, 8, "x")).family == name


def test_keys_of_cells_follow():
    old = Instance("uniform_parts", 8, "n/64", seed=2)
    key = f"toy:x[ranks=2,exchange=peers]/{old.key}"
    assert old_names.modern_key(key, old) == (
        "toy:x[ranks=2,exchange=peers]/uniform/n=8/range=n/64/seed=2/storage=strips"
    )
    assert old_names.modern_key("something else", old) == "something else"


def test_a_plan_of_an_older_version_is_read():
    row = {
        "solver": "toy:x", "family": "kron_rcp", "n": 8, "label": "logn3", "seed": 1, "params": [],
        "options": [], "scopes": ["run"], "repeats": 3, "experiments": ["toy:a"],
    }  # fmt: skip
    (job,) = cells.from_json([row])
    assert job.cell.instance == Instance("kron", 8, "logn3", permuted=True)
    assert cells.from_json(json.loads(json.dumps(cells.to_json([job])))) == [job]


@pytest.mark.parametrize("paper", list(registry.MODULES))
def test_recorded_plans_name_families_of_today(paper):
    """Their cells have the keys that the recorded measurements are read under."""
    from papers.reproduce.run import measurements

    for meta in sorted((registry.folder(paper) / "results").glob("*/meta.json")):
        jobs = cells.from_json(json.loads(meta.read_text(encoding="utf-8"))["plan"])
        assert {job.cell.instance.family for job in jobs} <= set(FAMILIES)
        table = measurements.read(packed.in_folder(meta.parent))
        assert set(table["cell"]) <= {job.key for job in jobs}
        assert set(table["family"]) <= set(FAMILIES)
