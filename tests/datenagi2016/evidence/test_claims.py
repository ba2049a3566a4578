"""Statements of the paper, on made-up measurements, on planted contradictions and on print."""

import numpy as np
import pandas as pd
import pytest

from papers.common.evidence import published
from papers.common.evidence.judges import by_origin
from papers.common.gpu.device import EXECUTOR_NAME
from papers.datenagi2016.evidence import claims
from papers.datenagi2016.evidence.statements import STATEMENTS
from papers.datenagi2016.evidence.tables import LABELS, STEPS

NUMBERS = published.loader("papers.datenagi2016")
IDS = [statement.claim for statement in STATEMENTS]
SMALL, LARGE = (500, 1000, 1500, 3000), (5000, 10000, 15000, 20000)
PAPER = "configuration=paper"
GPU = {"classical": "CU-CLASS", "tree": "CU-TREE"}
PASSES = {"0.1n": 2, "n": 20, "10n": 100}
SHARES = {  # of the steps, in ms, by range
    "classical": {"0.1n": (1, 1, 1), "n": (20, 30, 10), "10n": (90, 130, 45)},
    "tree": {"0.1n": (0, 1, 0.1), "n": (0, 40, 1), "10n": (0, 180, 5)},
}
REST = {"0.1n": 30, "n": 60, "10n": 60}


def one_gpu():
    """Yield solver, options, storage, n, range, clock, metric, value: all statements hold."""
    for n in (*SMALL, *LARGE):
        for label in LABELS if n in LARGE else ("n",):
            place = ("uniform", "host", n, label)
            took = {"classical": 0.2 * n / 20, "tree": 0.15 * n / 20}
            for solver, ms in took.items():
                yield solver, PAPER, *place, "end_to_end", "time_ms", ms
                steps = STEPS[GPU[solver]]
                scale = (n / 5000) ** 2
                three = dict(zip(("matrix_compression", "forward_pass", "dual_update"),
                                 SHARES[solver][label], strict=True))  # fmt: skip
                for step in steps:
                    yield (
                        solver,
                        PAPER,
                        *place,
                        "steps",
                        f"{step}_ms",
                        scale * three.get(step, REST[label] / 4),
                    )
            yield "cpu_omp", "threads=1", *place, "run", "time_ms", 1.0 if n <= 1000 else 9.0 * n
            yield "cpu_omp", "threads=8", *place, "run", "time_ms", 2.0 if n <= 1000 else 3.0 * n
            for metric, value in (
                ("initial_assignments", 0.85 * n), ("dual_updates", PASSES[label] / 4),
                ("forward_passes", PASSES[label]), ("augmentations", PASSES[label] / 2),
            ):  # fmt: skip
                yield "tree", PAPER, *place, "answer", metric, value
    for solver, ms in (("classical", 800), ("tree", 200)):
        yield solver, "", "uniform_double", "host", 5000, "2", "run", "time_ms", ms
    yield "tree", "", "uniform", "host", 10000, "10n", "run", "time_ms", 100


def several_gpus():
    for n in (10000, 14142, 20000):
        for ranks in (1, 2):
            for solver, options in (("mpi_classical", ""), ("mpi_tree", ",exchange=gather")):
                chosen = f"ranks={ranks}{options}"
                place = solver, chosen, "uniform", "strips", n, "10n"
                efficiency = 0.9 + n / 4e5 if ranks == 2 else 1.0
                whole = 300 if solver == "mpi_tree" else 500 / (1 if ranks == 1 else 1.4)
                yield *place, "run", "time_ms", whole
                compression = 100 / ranks / efficiency if solver == "mpi_classical" else 0
                yield *place, "steps", "matrix_compression_ms", compression
                yield *place, "steps", "forward_pass_ms", 200
                if solver == "mpi_classical" and n == 10000:
                    for label in ("0.1n", "n"):
                        yield *place[:5], label, "run", "time_ms", 100


def made_up(device="Some card"):
    names = ["solver", "options", "family", "storage", "n", "label", "scope", "metric", "median"]
    rows = pd.DataFrame([*one_gpu(), *several_gpus()], columns=names)
    rows = rows.assign(solver="datenagi2016:" + rows["solver"], source="this run", device=device)
    return pd.concat([rows.assign(seed=seed) for seed in (1, 2)], ignore_index=True)


def times(factor, solver, metric="time_ms", **where):
    """The fault that some values are `factor` times as large."""

    def plant(rows):
        hit = (rows["solver"] == f"datenagi2016:{solver}") & (rows["metric"] == metric)
        for column, value in where.items():
            hit &= rows[column].isin(np.atleast_1d(value))
        assert hit.any()
        return rows.assign(median=rows["median"].where(~hit, rows["median"] * factor))

    return plant


PLANTED = {
    "DN-b": times(200, "tree", scope="end_to_end", n=20000, label="10n"),
    "DN-f": times(300, "cpu_omp", options="threads=1", n=1000),
    "DN-g": times(0.01, "cpu_omp", options="threads=1", n=1500),
    "DN-h": times(1e-3, "cpu_omp", options="threads=8", n=10000, label="0.1n"),
    "DN-i": times(0.1, "classical", "matrix_compression_ms", label="10n", n=10000),
    "DN-j": times(0.1, "tree", "forward_passes", label="10n"),
    "DN-k": times(1e3, "tree", "augmentations", label="10n", n=5000),
    "DN-l": times(2, "tree", scope="end_to_end", n=15000, label="10n"),
    "DN-m": times(0.05, "classical", "matrix_compression_ms", n=[15000, 20000]),
    "DN-n": times(0.1, "classical", "dual_update_ms", n=20000, label="10n"),
    "DN-o": times(0.3, "tree", "forward_passes", label="n", n=5000),
    "DN-p": times(0.2, "classical", family="uniform_double"),
    "DN-q": times(2, "tree", options="", family="uniform"),
    "DN-r": times(2, "mpi_classical", "matrix_compression_ms", n=20000, options="ranks=2"),
    "DN-s": times(0.5, "mpi_classical", label="n", options="ranks=2"),
    "DN-t": times(0.6, "mpi_tree", options="ranks=2,exchange=gather", n=14142),
    "DN-u": times(0.5, "mpi_classical", "forward_pass_ms", options="ranks=2"),
    "DN-v": times(0.4, "mpi_tree", "forward_pass_ms", n=14142),
}


def found(rows):
    judged = claims.verdicts(claims.table(rows, NUMBERS))
    return {one.quantity.split(":")[0]: one.verdict for one in judged}


@pytest.fixture(scope="module")
def truth():
    return made_up()


def test_all_statements_hold_of_what_they_say(truth):
    assert found(truth) == dict.fromkeys(IDS, "agrees")


@pytest.fixture(scope="module")
def opposites(truth):
    """Verdicts by the statement that is contradicted; each fault is a source of one table."""
    faulty = [plant(truth).assign(source=claim) for claim, plant in PLANTED.items()]
    table = claims.table(pd.concat(faulty, ignore_index=True), NUMBERS)
    judged = by_origin(claims.verdicts, table)
    return {(one.origin, one.quantity.split(":")[0]): one.verdict for one in judged}


@pytest.mark.parametrize("claim", IDS)
def test_the_opposite_of_a_statement_is_seen(claim, opposites):
    assert opposites[claim, claim] == "open"


def test_every_statement_has_its_sentence_and_times_of_the_executor_count_for_nothing(truth):
    sentences = NUMBERS("text_claims").set_index("id")["quantity"]
    assert set(IDS) <= set(sentences.index)
    assert list(IDS) == sorted(IDS)
    nothing = claims.verdicts(claims.table(truth.assign(device=EXECUTOR_NAME), NUMBERS))
    assert [one.verdict for one in nothing] == ["not measured"]


def test_print_s_own_figures_stand_beside():
    """Figure 3 contradicts the sentence on growing shares: the classical forward pass falls."""
    table = claims.table(made_up().iloc[:0], NUMBERS)
    own = table.dropna(subset=["published_figure"])
    assert {"DN-b", "DN-f", "DN-g", "DN-h", "DN-i", "DN-l", "DN-q", "DN-r", "DN-t", "DN-v"} <= set(
        own["claim"]
    )
    last = own[own["claim"] == "DN-b"]["published_figure"]
    assert last.max() == 12.81
    shares = own[(own["claim"] == "DN-i") & (own["figure"] == "CU-CLASS forward_pass")]
    assert shares["published_figure"].min() < 0.75
