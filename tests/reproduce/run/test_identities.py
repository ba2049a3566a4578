"""A run keeps the checksums of the files that it measured, and notices when one has changed."""

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz
from toybox import toy as paper

from papers.common import instances
from papers.common.model import Cell, Instance
from papers.common.problems import identity
from papers.common.problems.graph import bipartite
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.protocol import measure
from papers.reproduce.measure.worker import DeviceCard
from papers.reproduce.plan.pace import PACE
from papers.reproduce.run import identities, runner
from papers.reproduce.run.identities import Identities

GRAPH = Instance("matrix", 3, "m")
PATTERN = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]])
FOUND = identity.of_data(bipartite(PATTERN)).row()


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path))
    save_npz(tmp_path / "m.npz", csr_array(PATTERN))
    return tmp_path / "m.npz"


def measured(laboratory, instance):
    solver = paper.PAPER.solvers()["matcher"]
    return measure(
        solver, Cell("toy:matcher", instance, repeats=1), laboratory, PACE["smoke"], print
    )


def test_a_measured_file_has_its_identity_and_a_drawn_graph_none(file):
    laboratory = Laboratory()
    outcome = measured(laboratory, GRAPH)
    assert outcome.status == "ok", outcome.reason
    assert outcome.identity == FOUND
    permuted = Instance("matrix", 3, "m", seed=2, permuted=True)
    assert measured(laboratory, permuted).identity == instances.identify(permuted)
    assert measured(laboratory, Instance("uniform_graph", 9, "d3")).identity == {}


def test_they_are_kept_in_the_run_folder_once_and_read_again(tmp_path):
    good = Outcome("ok", "koenig-cover", "proved", (("run", 0, "time_ms", 1.0),), identity=FOUND)
    kept = Identities(tmp_path)
    assert kept.checked(GRAPH, good) == good
    assert kept.checked(Instance("uniform", 3, "n"), Outcome("ok", "lp-duals", "proved"))
    text = (tmp_path / "instances.csv").read_text()
    assert text == (
        "family,n,label,seed,permuted,rows,columns,entries,sha256\n"
        f"matrix,3,m,1,False,3,3,5,{FOUND['sha256']}\n"
    )
    again = Identities(tmp_path)  # as on --resume
    assert again.checked(GRAPH, good) == good
    assert (tmp_path / "instances.csv").read_text() == text
    assert identities.read(tmp_path)[identities.key_of(GRAPH)]["entries"] == "5"


def test_a_file_that_changed_since_fails_its_cells_and_leaves_the_record(tmp_path):
    good = Outcome("ok", "koenig-cover", "proved", (("run", 0, "time_ms", 1.0),), identity=FOUND)
    Identities(tmp_path).checked(GRAPH, good)
    other = identity.of_data(bipartite(PATTERN[::-1])).row()
    found = Identities(tmp_path).checked(
        GRAPH, Outcome("ok", "koenig-cover", "proved", good.values, identity=other)
    )
    assert (found.status, found.certificate, found.values) == ("failed", "none", ())
    assert found.reason.startswith("the data of m have changed since this run began: SHA-256")
    assert str(other["sha256"])[:12] in found.reason
    assert identities.read(tmp_path)[identities.key_of(GRAPH)]["sha256"] == FOUND["sha256"]


class Here:
    """A worker whose matrices have whatever data it is given."""

    device = DeviceCard("a processor", is_gpu=False, slug="a-processor")

    def __init__(self, found):
        self.found = found

    def measure_together(self, group, pace, timeout_s, on_stage):
        values = (("run", 0, "time_ms", 1.0),)
        return [
            Outcome("ok", "koenig-cover", "proved", values, self.device.name,
                    self.found if cell.instance.family == "matrix" else {})
            for cell in group
        ]  # fmt: skip


class Nobody:
    """Watches a run and says nothing."""

    def __getattr__(self, name):
        return lambda *_: None


@pytest.mark.usefixtures("toy")
def test_a_run_keeps_them_and_a_changed_file_fails_when_it_is_resumed(tmp_path):
    choice = runner.Choice(("toy:graphs",), preset="smoke")
    first = Here(FOUND)
    with runner.create(choice, first, tmp_path / "run") as run:
        run.execute(first, Nobody())
        (key,) = identities.read(run.folder)
        assert key[:3] == ("matrix", "3", "nowhere")
        assert runner.statuses(run) == ["ok", "ok"]
        assert run.left(retry=("ok",)) == run.jobs  # they are measured again
        second = Here(identity.of_data(bipartite(PATTERN.T)).row())
        run.execute(second, Nobody())
        assert sorted(runner.statuses(run)) == ["failed", "ok"]
        assert identities.read(run.folder)[key]["sha256"] == FOUND["sha256"]
