"""Tables, figures and verdicts of [D13] on made-up measurements, print's own among them."""

import math
import sys
import types

import numpy as np
import pandas as pd
import pytest

from papers.common.evidence import plots, published
from papers.common.evidence.tables import NOT_MEASURED
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Instance, Matching, Plan
from papers.deveci_matching.evidence import codes, experiments, profiles, sets, tables, verdicts
from papers.deveci_matching.evidence.codes import BEST, BEYOND, MULTICORE, ON_GPU, VARIANTS, cell
from papers.deveci_matching.evidence.experiments import EXPERIMENTS
from papers.reproduce.plan import cells as plan
from papers.reproduce.report.numbers import shown
from papers.reproduce.run import measurements

NUMBERS = published.loader("papers.deveci_matching")
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
CARD, CPU = "NVIDIA H100 80GB HBM3", "Some CPU"
PAPER = Plan("paper", gpu=True)


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "16")
    monkeypatch.setattr(codes.os, "sched_getaffinity", lambda pid: range(16), raising=False)


def jobs(which=PAPER):
    return plan.jobs([("deveci_matching", experiment) for experiment in EXPERIMENTS], which)


def summary(cells, milliseconds, counters=lambda code, graph: {}, card=CARD, spread=0.0):
    """Reduce made-up measurements of `cells` as a run would; ``milliseconds(code, graph)``."""
    rows = []
    for one in cells:
        graph = one.instance
        options = ",".join(f"{name}={value}" for name, value in one.options)
        code, _ = codes.code_of(one.solver, options)
        machine = card if code in ON_GPU else CPU
        common = (one.key, one.solver, options, machine, graph.family, graph.n, graph.label,
                  graph.seed, graph.storage, graph.permuted)  # fmt: skip
        ms = milliseconds(code, graph)
        if ms is None:
            continue
        times = [
            ("run", r, "time_ms", ms * (1 + spread * (r - 1))) for r in range(one.repeats or 1)
        ]
        told = [("answer", 0, *pair) for pair in counters(code, graph).items()]
        for scope, repeat, metric, value in [*times, *told, ("answer", 0, "done", 1)]:
            rows.append((*common, repeat, scope, metric, value, "ok", "koenig-cover", ""))
    frame = pd.DataFrame(rows, columns=list(measurements.COLUMNS))
    return measurements.usable(measurements.summarize(frame))


def name_of(graph):
    return sets.name_of(graph.family, graph.n, graph.label)


def table(name, rows):
    return BY_NAME[name].table(rows, NUMBERS)


def compared(name, rows):
    return list(BY_NAME[name].compare(table(name, rows)))


def matrices(count, orderings=sets.ORDERINGS):
    names = list(sets.ours().index[:count])
    return [sets.matrix(name, ordering) for ordering in orderings for name in names]


# ------------------------------------------------------------------------------- print


def printed_ms():
    """Milliseconds of [D13 Table 2] by code, matrix and ordering."""
    return {
        (tables.OF_TABLE_2[row.algorithm], row.matrix, row.ordering): 1e3 * row.time_s
        for row in NUMBERS("table2").itertuples(index=False)
    }


@pytest.fixture(scope="module")
def twenty():
    """The paper's matrices, as if they were here and took as long as in print."""
    cells = [
        cell(code, graph, 3)
        for graph in sets.of_table_2(PAPER)
        for code in tables.OF_TABLE_2.values()
    ]
    times = printed_ms()
    return summary(
        cells,
        lambda code, graph: times[code, name_of(graph), sets.ordering_of(graph.permuted)],
        lambda code, graph: {"cardinality": graph.n // 2, "initial_cardinality": graph.n // 3},
    )


def test_published_numbers_are_whole():
    first, second = NUMBERS("table1"), NUMBERS("table2")
    assert len(first) == 4 * 8
    assert len(second) == 20 * 2 * 4
    assert first["geomean_time_s"].sum() == pytest.approx(126.90)
    # The one entry of Table 1 that Table 2 gives.
    gpu = second[(second["algorithm"] == "GPU") & (second["ordering"] == "original")]["time_s"]
    assert round(tables.geometric_mean(gpu), 2) == 1.93
    assert set(NUMBERS("text_claims")["id"]) == {f"DE-{letter}" for letter in "abcdefghijklmno"}


def test_hardest_is_the_longer_of_the_two_sequential_times():
    """Table 2 lists its matrices by the larger of PFP and HK: the rule that `sets.longest` has."""
    second = NUMBERS("table2")
    second = second[second["ordering"] == "original"]
    wide = second.pivot(index="matrix", columns="algorithm", values="time_s")
    in_order = wide.loc[list(sets.twenty()["in_paper"])]
    assert sets.longest(in_order).is_monotonic_increasing
    assert sets.longest(in_order).min() > 1


def test_every_table_and_figure_has_an_entry():
    wanted = {
        f"fig{int(text.removeprefix('Fig ')):02d}" for text in NUMBERS("figures")["figure"]
    } | {"table1", "table2"}
    assert wanted == {name for name in BY_NAME if name.startswith(("fig", "table"))}
    for name in wanted - {"fig01"}:
        kind = "figure" if name.startswith("fig") else "table"
        assert BY_NAME[name].kind == kind
        assert (BY_NAME[name].figure is None) == (kind == "table")
    assert BY_NAME["fig01"].artifacts is not None


def test_facts_of_the_matrices():
    facts = sets.facts()
    assert facts.index.is_unique
    assert (len(sets.ours()), len(sets.twenty())) == (83, 20)
    small = facts[["rows", "columns"]].min(axis=1)
    assert (sets.ours()["maximum_matching"] <= small[sets.ours().index]).all()
    assert (facts["nonzeros"] <= facts["rows"] * facts["columns"]).all()
    assert (facts["kind"] != "").all()
    assert sets.maximum("copter2") == 55476
    assert sets.maximum("deb12-names-dirs") == 288166
    assert math.isnan(sets.maximum("patents"))
    assert set(sets.twenty()["in_paper"]) == set(NUMBERS("table2")["matrix"])
    instead = sets.twenty()["instead"].value_counts().to_dict()
    assert instead == {"stand-in": 16, "generated": 4}


# ------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize("gpu", [True, False])
@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_a_cell_says_what_it_is(preset, gpu):
    """From solver and options alone a code is known again, whatever was planned."""
    for job in jobs(Plan(preset, gpu)):
        code, start = codes.code_of(job.cell.solver, job.options)
        levels = "levels_kept" not in job.options
        again = job.cell
        if "-16" not in code:
            again = cell(code, job.cell.instance, start=start, levels=levels)
        assert (again.solver, again.options) == (job.cell.solver, job.cell.options)
        assert code in (*codes.CODES, tables.MORE_THREADS)


@pytest.mark.parametrize(
    ("solver", "options", "code"),
    [
        ("lopes2019:gpu", "", ""),
        ("deveci_matching:gpu", "", ""),
        ("deveci_matching:gpu", "algorithm=apfb,bfs=wr,threads=ct", BEST),
        ("deveci_matching:gpu", "algorithm=apfb,bfs=wr,threads=ct,trace=True", ""),
        ("deveci_matching:p_dbfs", "threads=8", "P-DBFS"),
        ("deveci_matching:p_dbfs", "threads=2,work_limit=5", "P-DBFS"),
        ("deveci_matching:p_dbfs", "threads=16", "P-DBFS-16"),
        ("deveci_matching:unknown", "", ""),
    ],
)
def test_codes_by_solver_and_options(solver, options, code):
    assert codes.code_of(solver, options)[0] == code


def test_where_the_start_is_made():
    starts = [codes.EXCLUDED, codes.INCLUDED, codes.ON_DEVICE]
    graph = Instance("uniform_graph", 2000, "d3")
    for start in starts:
        one = cell(BEYOND, graph, start=start)
        options = ",".join(f"{name}={value}" for name, value in one.options)
        assert codes.code_of(one.solver, options) == (BEYOND, start)


def test_preset_paper_has_all_real_matrices():
    planned = {}
    for job in jobs():
        graph = job.cell.instance
        if graph.family.startswith("matrix"):
            code = codes.code_of(job.cell.solver, job.options)[0]
            planned.setdefault((graph.label, sets.ordering_of(graph.permuted)), set()).add(code)
    for ordering in sets.ORDERINGS:
        for name, of in sets.ours().iterrows():
            codes_there = planned[name, ordering]
            assert {BEST, BEYOND, "HK", "PFP", "P-DBFS"} <= codes_there
            assert set(VARIANTS) <= codes_there or of["nonzeros"] < sets.LARGE
        for name in sets.twenty().index:
            assert set(tables.OF_TABLE_2.values()) <= planned[name, ordering]
    assert "SciPy" in planned["wing", "original"]
    assert "SciPy" not in planned["copter2", "original"]


def test_a_run_without_files_of_matrices():
    for preset in ("smoke", "quick"):
        for gpu in (True, False):
            assert not [
                job
                for job in jobs(Plan(preset, gpu))
                if sets.kind_of(job.cell.instance.family) == sets.REAL
            ]


def test_without_a_gpu_kernels_stay_small():
    for preset in ("smoke", "quick", "paper"):
        kernels = [
            job
            for job in jobs(Plan(preset, gpu=False))
            if codes.code_of(job.cell.solver, job.options)[0] in ON_GPU
        ]
        assert 0 < len(kernels) <= 50
        assert all(job.cell.instance.n <= 40 and job.cell.repeats == 1 for job in kernels)
    others = [job.cell.instance for job in jobs(Plan("quick", gpu=False))]
    assert max(graph.n for graph in others) <= 16384


def test_the_paper_preset_fits_its_time():
    planned = jobs()
    here = [job for job in planned if job.cell.instance.label not in sets.twenty().index]
    assert len(here) <= 1800
    for job in planned:
        code, _ = codes.code_of(job.cell.solver, job.options)
        if code not in ON_GPU:
            assert job.cell.repeats == 1
        elif code in (BEST, BEYOND) and "deveci_matching:fig02" not in (job.experiments):
            assert job.cell.repeats >= 3
        elif "deveci_matching:peers" not in job.experiments:
            assert job.cell.repeats == 1


def test_full_sizes_are_asked_for(monkeypatch):
    monkeypatch.delenv(experiments.FULL_SIZE, raising=False)
    assert BY_NAME["full_size"].cells(PAPER) == []
    monkeypatch.setenv(experiments.FULL_SIZE, "1")
    found = {name_of(one.instance) for one in BY_NAME["full_size"].cells(PAPER)}
    assert found == {"delaunay_n23", "delaunay_n24", "rgg_n_2_24_s0", "kron_g500-logn21"}
    assert BY_NAME["full_size"].cells(Plan("quick", gpu=True)) == []
    assert BY_NAME["full_size"].cells(Plan("paper", gpu=False)) == []


def test_stand_ins_are_no_larger_than_what_they_stand_for():
    for preset in ("quick", "paper"):
        graphs = sets.stand_ins(Plan(preset, gpu=True))
        assert len(graphs) == 2 * (16 if preset == "paper" else len(sets.SOME[preset]))
        for graph in graphs:
            of = sets.facts().loc[graph.label]
            assert graph.n <= of["rows"]
            assert graph.n * of["nonzeros"] / of["rows"] <= sets.STAND_IN_NONZEROS
    assert {graph.n for graph in sets.stand_ins(Plan("quick", gpu=False))} == {2000}


@pytest.mark.parametrize(
    ("family", "n", "label", "name", "kind"),
    [
        ("matrix", 55476, "copter2", "copter2", "real"),
        ("matrix", 3997962, "com-LiveJournal", "com-livejournal", "real"),
        ("stand_in", 2000, "com-LiveJournal", "com-livejournal stand-in", "stand-in"),
        ("stand_in", 2000, "italy_osm", "italy_osm stand-in", "stand-in"),
        ("delaunay", 2**23, "n23", "delaunay_n23", "generated"),
        ("rgg", 2**24, "n_2_24_s0", "rgg_n_2_24_s0", "generated"),
        ("kron", 2**21, "logn21", "kron_g500-logn21", "generated"),
        ("skew_graph", 2000, "d8", "skew_n2000_d8", "random"),
    ],
)
def test_names_and_kinds(family, n, label, name, kind):
    assert sets.name_of(family, n, label) == name
    assert sets.kind_of(family) == kind


# ------------------------------------------------------------------------------- sets


def graphs_of(times, ordering="original", kind="real"):
    """Rows as `tables.by_source` gives them: names and (HK, PFP) in ms."""
    rows = [(f"g{place:02d}", 10, 1, ordering, kind, *pair) for place, pair in enumerate(times)]
    return pd.DataFrame(rows, columns=["name", "n", "seed", "ordering", "kind", "HK", "PFP"])


def test_membership_by_the_papers_rule():
    times = [(100.0 * i, 50.0) for i in range(25)] + [(10.0, 5000.0)]
    rows = pd.concat([graphs_of(times), graphs_of(times[::-1], "permuted")])
    found = sets.rebuilt(rows)
    # HK above 1 s: 1100 to 2400 ms, and the one on which PFP takes 5 s.
    assert list(found["O_S1"]["name"]) == ["g25", *(f"g{i:02d}" for i in range(24, 10, -1))]
    assert len(found["O_Hardest20"]) == 20
    assert set(found["O_all"]["name"]) - set(found["O_Hardest20"]["name"]) == {
        f"g{i:02d}" for i in range(6)
    }
    assert found["RCP_S1"]["name"].iloc[0] == "g00"
    # Twins are the permuted graphs of the original's hardest, not the permuted ones' hardest.
    assert set(found[sets.TWINS]["name"]) == set(found["O_Hardest20"]["name"])
    assert set(found[sets.TWINS]["ordering"]) == {"permuted"}
    assert set(found["RCP_Hardest20"]["name"]) != set(found[sets.TWINS]["name"])


def test_who_gave_up_took_longest():
    rows = graphs_of([(1.0, 2.0), (math.nan, 3.0), (900.0, 1.0), (math.nan, math.nan)])
    found = sets.rebuilt(rows)
    assert list(found["O_all"]["name"]) == ["g01", "g02", "g00"]
    assert list(found["O_S1"]["name"]) == ["g01"]
    # A code that was never run gave up nowhere.
    rows["HK"] = math.nan
    assert sets.rebuilt(rows)["O_S1"].empty


def test_stand_ins_belong_to_no_set():
    rows = pd.concat(
        [graphs_of([(2000.0, 1.0)] * 3, kind=kind) for kind in ("stand-in", "random", "generated")]
    )
    found = sets.rebuilt(rows)
    assert len(found["O_all"]) == len(found["O_S1"]) == 3
    assert set(found["O_all"]["kind"]) == {"generated"}


# ------------------------------------------------------------------------------- Table 1


def eight(graphs, slow_ms):
    """The eight variants at 1, 2 .. 8 ms times the graph's place, HK at `slow_ms`, PFP at 1 ms."""
    factor = {code: place for place, code in enumerate(VARIANTS, 1)}
    places = {name: place for place, name in enumerate(dict.fromkeys(map(name_of, graphs)), 1)}
    cells = [cell(code, g, 3) for g in graphs for code in (*VARIANTS, BEYOND, "HK", "PFP")]

    def milliseconds(code, graph):
        if code in factor:
            return factor[code] * places[name_of(graph)]
        return {"HK": slow_ms(places[name_of(graph)]), "PFP": 1.0, BEYOND: 0.5}[code]

    return summary(cells, milliseconds, lambda code, graph: {"bfs_launches": 10})


def test_geometric_means_of_the_variants():
    rows = eight(matrices(6), lambda place: 2000.0 if place <= 5 else 1.0)
    first = table("table1", rows)
    mine = first[first["source"] == "this run"]
    assert len(mine) == 6 * 8
    slow = mine[mine["instance_set"] == "O_S1"]
    of = slow.set_index(["algorithm", "bfs_kernel", "thread_mode"])
    assert set(slow["graphs"]) == {5}
    assert of.loc[("APFB", "GPUBFS", "MT"), "measured_s"] == pytest.approx(120 ** (1 / 5) / 1e3)
    assert of.loc[("APsB", "GPUBFS-WR", "CT"), "measured_s"] == pytest.approx(8 * 120**0.2 / 1e3)
    # APFB GPUBFS-WR CT is the fourth in order.
    assert of.loc[("APsB", "GPUBFS-WR", "CT"), "over_best"] == pytest.approx(2)
    assert of.loc[("APFB", "GPUBFS-WR", "CT"), "over_best"] == 1
    assert of.loc[("APFB", "GPUBFS", "MT"), "us_a_launch"] == pytest.approx(100 * 120**0.2)
    assert of.loc[("APsB", "GPUBFS", "MT"), "published_s"] == 3.68
    assert of.loc[("APsB", "GPUBFS", "MT"), "published_over_best"] == pytest.approx(3.68 / 1.34)
    whole = mine[mine["instance_set"] == "RCP_all"]
    assert set(whole["graphs"]) == {6}
    assert whole["measured_s"].iloc[0] == pytest.approx(720 ** (1 / 6) / 1e3)
    assert whole["published_s"].isna().all()


def test_small_sets_say_so():
    rows = eight(matrices(6), lambda place: 2000.0 if place == 1 else 1.0)
    first = table("table1", rows).drop_duplicates("instance_set").set_index("instance_set")
    assert first.loc["O_S1", "note"] == "only 1 graphs"
    assert first.loc["O_Hardest20", "note"] == "only 6 graphs"
    assert first.loc["O_all", "note"].startswith("not in print")
    none = table("table1", eight(matrices(6), lambda place: 1.0))
    empty = none[none["instance_set"] == "RCP_S1"]
    assert set(empty["note"]) == {"empty: on none of 6 graphs HK or PFP took over a second"}
    assert set(empty["graphs"]) == {0}
    assert empty["measured_s"].isna().all()
    assert (empty["published_s"] > 1).all()
    # Nothing is said of a set of one or none.
    judged = compared("table1", rows)
    assert not [c for c in judged if "O_S1" in c.quantity and c.kind == "ratio"]
    assert [c for c in judged if "O_Hardest20" in c.quantity and c.kind == "ratio"]


def test_verdicts_on_table_1():
    """Print's own means, as if measured, agree in all but what print itself contradicts."""
    first = NUMBERS("table1")
    of = first.set_index(["instance_set", "algorithm", "bfs_kernel", "thread_mode"])
    rows = table("table1", eight(matrices(6), lambda place: 2000.0))
    keys = list(zip(*(rows[name] for name in of.index.names), strict=True))
    means = [of["geomean_time_s"].get(key, math.nan) for key in keys]
    rows = rows.assign(measured_s=means, over_best=rows["published_over_best"])
    found = verdicts.table_1(rows)
    assert {c.verdict for c in found} == {"agrees", "not comparable"}
    said = {c.quantity.partition(",")[0]: c.measured for c in found if c.kind == "shape"}
    assert said["CT no slower than MT"] == "16 of 16"
    assert said["GPUBFS-WR no slower than GPUBFS"] == "16 of 16"
    assert said["APFB no slower than APsB"] == "16 of 16"  # 4 per cent are within the slack
    worse = rows.assign(measured_s=np.where(rows["thread_mode"] == "CT", 99.0, rows["measured_s"]))
    claims = {c.quantity.partition(",")[0]: c.verdict for c in verdicts.table_1(worse)}
    assert claims["CT no slower than MT"] == "open"


def test_a_ratio_near_one_is_explained_by_the_launch_alone():
    rows = table("table1", eight(matrices(6), lambda place: 2000.0))
    ratios = rows[rows["source"] == "this run"].assign(over_best=1.0)
    for us, verdict in ((5.0, "differs"), (500.0, "open")):
        found = [c for c in verdicts.table_1(ratios.assign(us_a_launch=us)) if c.kind == "ratio"]
        worst = max(found, key=lambda c: c.published)
        assert (worst.published > 4, worst.verdict) == (True, verdict)


# ------------------------------------------------------------------------------- Table 2


def test_the_twenty_as_printed_agree(twenty):
    second = table("table2", twenty)
    assert len(second) == 40
    assert list(second["matrix"][:3]) == ["roadNet-CA", "delaunay_n23", "coPapersDBLP"]
    for code in ("gpu", "p_dbfs", "pfp", "hk"):
        np.testing.assert_allclose(second[f"{code}_s"], second[f"published_{code}_s"])
    found = compared("table2", twenty)
    assert len([c for c in found if c.kind == "ratio"]) == 3 * 40
    assert {c.verdict for c in found} == {"agrees", "not comparable"}


def test_stand_ins_never_stand_beside_print():
    graphs = sets.stand_ins(PAPER)
    cells = [cell(code, g, 3) for g in graphs for code in tables.OF_TABLE_2.values()]
    rows = summary(cells, lambda code, graph: 1.0)
    second = table("table2", rows)
    mine = second[second["source"] == "this run"]
    assert len(mine) == 32
    assert mine["matrix"].str.endswith(" stand-in").all()
    assert set(mine["instance"]) == {"stand-in"}
    assert mine[[c for c in mine if c.startswith("published")]].isna().all(axis=None)
    assert (second["source"] == NOT_MEASURED).sum() == 40
    assert {c.verdict for c in compared("table2", rows)} == {"not measured"}
    # Not even if a table did set them beside one another.
    forged = mine.assign(published_gpu_s=1.0, published_hk_s=1.0)
    assert {c.verdict for c in verdicts.table_2(forged)} == {"not measured"}
    # Nor do they enter any set, and with it a mean beside print's.
    for name in ("table1", "fig03", "fig04", "fig05", "claims"):
        ours = table(name, rows)
        assert ours["graphs"].fillna(0).max() == 0, name
        assert {c.verdict for c in compared(name, rows)} == {"not measured"}


def test_a_smaller_generated_graph_keeps_its_own_name():
    graphs = sets.generated(sets.SIZES["paper"])
    cells = [cell(code, g, 3) for g in graphs for code in tables.OF_TABLE_2.values()]
    second = table("table2", summary(cells, lambda code, graph: 1.0))
    mine = second[second["source"] == "this run"]
    assert set(mine["matrix"]) == {"delaunay_n18", "rgg_n_2_18_s0", "kron_g500-logn16"}
    assert mine["published_gpu_s"].isna().all()


def test_full_size_graphs_stand_beside_print(monkeypatch):
    monkeypatch.setenv(experiments.FULL_SIZE, "1")
    times = printed_ms()
    rows = summary(
        BY_NAME["full_size"].cells(PAPER),
        lambda code, graph: times.get(
            (code, name_of(graph), sets.ordering_of(graph.permuted)), 1.0
        ),
    )
    found = table("full_size", rows)
    assert len(found) == 8
    np.testing.assert_allclose(found["gpu_s"], found["published_gpu_s"])
    assert {c.verdict for c in compared("full_size", rows)} == {"agrees", "not comparable"}
    # Table 2 leaves them to that table.
    assert set(table("table2", rows)["source"]) == {NOT_MEASURED}


# ------------------------------------------------------------------------------- Figures 3 to 5


@pytest.fixture(scope="module")
def profiled():
    """Six graphs, original: HK 16 ms, the GPU at 1, 2, 4, 8, 16, 32 ms, the others constant."""
    graphs = matrices(6, ("original",))
    places = {name_of(graph): place for place, graph in enumerate(graphs)}
    others = {"HK": 16.0, "PFP": 64.0, "P-PFP": 100.0, "P-DBFS": 8.0, "P-HK": 16.0}
    cells = [cell(code, g, 3) for g in graphs for code in (BEST, *others)]
    return summary(
        cells,
        lambda code, graph: 2.0 ** places[name_of(graph)] if code == BEST else others[code],
        spread=0.1,
    )


def at(found, name, column, place):
    rows = found[(found["instance_set"] == name) & (found["source"] == "this run")]
    return rows.set_index(column).loc[place]


def test_points_of_the_speedup_profiles(profiled):
    found = table("fig03", profiled)
    row = at(found, "O_all", "log2_speedup", 0.0)
    assert (row["over"], row["graphs"]) == ("HK", 6)  # HK is the faster of the two
    assert row["GPU"] == pytest.approx(5 / 6)
    assert (row["P-DBFS"], row["P-HK"], row["P-PFP"]) == (1, 1, 0)
    assert at(found, "O_all", "log2_speedup", 1.0)["P-DBFS"] == 1
    assert at(found, "O_all", "log2_speedup", 1.5)["P-DBFS"] == 0
    assert at(found, "O_all", "log2_speedup", 4.0)["GPU"] == pytest.approx(1 / 6)
    assert at(found, "O_all", "log2_speedup", 4.5)["GPU"] == 0
    printed = found.dropna(subset=["published_GPU"])
    zero = printed[printed["log2_speedup"] == 0].set_index("instance_set")["published_GPU"]
    assert zero.to_dict() == {
        "O_Hardest20": pytest.approx(0.85), "O_S1": pytest.approx(0.86),
        "RCP_S1": pytest.approx(0.76), sets.TWINS: pytest.approx(0.90),
    }  # fmt: skip


def test_the_baseline_is_the_faster_one_overall():
    rows = graphs_of([(1.0, 100.0), (10.0, 5.0)])
    assert profiles.baseline(rows) == "HK"  # geometric means 3.16 and 22.4
    assert profiles.baseline(graphs_of([(9.0, 8.0), (9.0, 10.0)])) == "PFP"
    assert profiles.baseline(graphs_of([(math.nan, 8.0)])) == "PFP"


def test_points_of_the_performance_profiles(profiled):
    found = table("fig04", profiled)
    one = at(found, "O_all", "factor", 1.0)
    # The GPU is the fastest at 1, 2, 4 and (with P-DBFS) 8 ms; P-DBFS from there on.
    assert one["GPU"] == pytest.approx(4 / 6)
    assert one["P-DBFS"] == pytest.approx(3 / 6)
    two = at(found, "O_all", "factor", 2.0)
    assert (two["GPU"], two["P-HK"]) == (pytest.approx(5 / 6), pytest.approx(3 / 6))
    assert at(found, "O_all", "factor", 4.0)["GPU"] == 1
    printed = found.dropna(subset=["published_GPU"])
    assert sorted(printed["published_GPU"]) == [0.61, 0.74]


def test_overall_speedups(profiled, twenty):
    found = table("fig05", profiled)
    mine = found[(found["source"] == "this run") & (found["instance_set"] == "O_all")]
    speedups = mine.set_index("over")["speedup"]
    assert speedups["HK"] == pytest.approx(16 / 2**2.5)
    assert speedups["PFP"] == pytest.approx(64 / 2**2.5)
    found = table("fig05", twenty)
    both = found[found["source"] == "this run"].dropna(subset=["published_speedup", "speedup"])
    hard = both[both["instance_set"] == "O_Hardest20"].set_index("over")
    assert hard.loc["HK", "published_speedup"] == 3.96
    assert hard.loc["HK", "speedup"] == pytest.approx(3.954, abs=1e-3)
    assert hard.loc["PFP", "speedup"] == pytest.approx(5.613, abs=1e-3)
    twins = both[both["instance_set"] == sets.TWINS].set_index("over")["speedup"]
    assert twins["HK"] == pytest.approx(10.143, abs=1e-3)
    assert {c.verdict for c in compared("fig05", twenty)} <= {"agrees", "open"}


# ------------------------------------------------------------------------------- claims


def test_the_text_follows_from_the_twenty_as_printed(twenty):
    found = {row.id: row for row in table("claims", twenty).itertuples(index=False)}
    assert found["DE-g"].measured == pytest.approx(3.954, abs=1e-3)
    assert found["DE-i"].measured == 6
    assert found["DE-j"].measured == 2
    assert found["DE-k"].measured == 6  # DE1: print says five
    assert round(found["DE-l"].measured, 2) == 0.03
    assert found["DE-m"].measured == pytest.approx(628.7, abs=0.1)
    assert found["DE-o"].measured == "20 / 0 / 0"
    judged = {c.quantity.partition(",")[0]: c.verdict for c in compared("claims", twenty)}
    assert {judged[f"DE-{letter}"] for letter in "gijlmo"} == {"agrees"}
    assert judged["DE-n"] == judged["DE-c"] == "not measured"


def test_shares_of_the_text(profiled):
    found = {row.id: row for row in table("claims", profiled).itertuples(index=False)}
    # No graph takes a second: the twenty slowest stand for O_S1, six of them here.
    assert (found["DE-a"].instance_set, found["DE-a"].graphs) == ("O_Hardest20", 6)
    assert found["DE-a"].measured == pytest.approx(100 * 4 / 6)  # a tie is no win
    assert found["DE-c"].measured == pytest.approx(100 * 3 / 6)
    assert found["DE-e"].measured == pytest.approx(16 / 2**2.5)
    assert math.isnan(found["DE-i"].measured)  # six are no twenty
    assert found["DE-o"].measured == "0 / 6 / 0"
    judged = {c.quantity.partition(",")[0]: c for c in compared("claims", profiled)}
    assert judged["DE-b"].verdict == "not measured"  # nothing permuted was measured
    assert judged["DE-o"].verdict == "open"


def test_deviations_come_back_from_quartiles():
    values = np.array([10.0, 11.0, 14.0])
    low, middle, high = np.percentile(values, [25, 50, 75])
    row = {"value": middle, "q1": low, "q3": high, "count": 3}
    rows = pd.DataFrame([row, {**row, "count": 5}])
    found = profiles.deviation(rows)
    assert found[0] == pytest.approx(100 * values.std(ddof=1) / values.mean())
    assert math.isnan(found[1])
    assert profiles.steady(pd.Series([1.0, 9.9, 10.0, 17.0, 40.0, 90.0])) == "2 / 2 / 1"


# ------------------------------------------------------------------------------- Figure 2


def levels_of(code, graph):
    iterations = {"APFB": 3, "APsB": 6}[code.split()[0]]
    found = {f"levels_{i:03d}": 10 * i for i in range(1, iterations + 1)}
    return {**found, "bfs_iterations": iterations, "bfs_launches": sum(found.values())}


def test_levels_by_iteration():
    rows = summary(BY_NAME["fig02"].cells(PAPER), lambda code, graph: 1.0, levels_of)
    found = table("fig02", rows)
    assert set(found["name"]) == {"Hamrle3", "Hamrle3 stand-in", "delaunay_n18"}
    mine = found[found["name"] == "delaunay_n18"]
    assert list(mine["what"]) == ["iterations", "launches"] + ["levels"] * 6
    sums = mine.set_index("what")["APsB GPUBFS CT"]
    assert (sums["iterations"], sums["launches"]) == (6, 210)
    third = mine[mine["iteration"] == 3].iloc[0]
    assert third["APFB GPUBFS-WR CT"] == third["APsB GPUBFS-WR CT"] == 30
    fourth = mine[mine["iteration"] == 4].iloc[0]
    assert math.isnan(fourth["APFB GPUBFS CT"])
    assert {c.verdict for c in verdicts.fig_2(found)} == {"agrees"}
    assert plots.png(BY_NAME["fig02"].figure(found)).startswith(b"\x89PNG")


def test_more_iterations_of_apfb_are_seen():
    def turned(code, graph):
        other = code.replace("APFB", "?").replace("APsB", "APFB").replace("?", "APsB")
        return levels_of(other, graph)

    rows = summary(BY_NAME["fig02"].cells(Plan("quick", gpu=True)), lambda c, g: 1.0, turned)
    found = compared("fig02", rows)
    assert [c.verdict for c in found if "iterations" in c.quantity] == ["open"] * 4
    assert [c.verdict for c in found if "executions" in c.quantity] == ["differs"] * 2  # stand-in


# ------------------------------------------------------------------------------- our own


def sized(change=None):
    cells = [cell(code, g) for g in matrices(3) for code in (BEST, "HK", "SciPy")]

    def counters(code, graph):
        size = int(sets.maximum(graph.label))
        wrong = change(code, graph) if change else 0
        return {"cardinality": size + wrong, "initial_cardinality": 0 if code == "SciPy" else 7}

    return summary(cells, lambda code, graph: 1.0, counters)


def test_matching_sizes_are_the_known_ones():
    found = table("counts", sized())
    assert len(found) == 6
    assert found["equal"].all()
    assert found["same_start"].all()
    assert set(found["cells"]) == {3}
    assert set(found["known"]) == set(sets.ours()["maximum_matching"][:3])
    assert {c.verdict for c in compared("counts", sized())} == {"agrees"}


@pytest.mark.parametrize("who", [("HK",), (BEST, "HK", "SciPy")])
def test_a_wrong_size_is_seen(who):
    """One code off, or all of them off the known maximum."""
    real = [graph for graph in sets.thorough(PAPER) + sets.brief(PAPER) if graph.family == "matrix"]
    off = {graph for graph in real if not graph.permuted}
    rows = sized(lambda code, graph: -1 if code in who and graph in off else 0)
    bad = [c for c in compared("counts", rows) if c.verdict == "open"]
    assert len(bad) == 1 + 3
    assert sum("original" in c.quantity for c in bad) == 3


def test_peers_know_the_sizes_of_their_graphs():
    known = tables.known_maxima(NUMBERS)
    assert known["uniform_n2000_d3", 2000, 1] == 1862
    assert known["skew_n10000_d8", 10000, 1] == 9216  # one peer's 9217 is wrong
    assert known["skew_n1000000_d8", 1000000, 1] == 925322


def test_the_goals_beside_ecl_mm():
    theirs = {"d4": 7.799, "d3": 40.763, "d8": 84.495}
    cells = BY_NAME["peers"].cells(PAPER)

    def milliseconds(best, beyond):
        def of(code, graph):
            return theirs[graph.label] * {BEST: best, BEYOND: beyond}.get(code, 9.0)

        return of

    rows = summary(cells, milliseconds(2.9, 0.99))
    found = compared("peers", rows)
    assert [c.verdict for c in found] == ["agrees"] * 6
    assert any("best variant (APFB GPUBFS-WR CT)" in c.quantity for c in found)
    peers = table("peers", rows)
    starts = peers[peers["code"] == BEYOND].groupby("graph")["start"].apply(list)
    assert set(map(tuple, starts)) == {("excluded", "included", "on the device")}
    medians = peers.drop_duplicates("graph").set_index("graph")["published_ecl_mm_ms"]
    assert medians.round(1).to_dict() == {
        "uniform_n100000_d4_s1": 7.8, "uniform_n1000000_d3_s1": 40.8, "skew_n1000000_d8_s1": 84.5,
    }  # fmt: skip
    found = compared("peers", summary(cells, milliseconds(3.1, 1.01)))
    assert [c.verdict for c in found] == ["open"] * 6
    other = compared("peers", summary(cells, milliseconds(1, 1), card="Another card"))
    assert {c.verdict for c in other} == {"not measured"}


def test_copter2_beside_scipy():
    rows = summary(BY_NAME["copter2"].cells(PAPER), lambda code, graph: 4460.0)
    found = table("copter2", rows)
    mine = found[found["source"] == "this run"].set_index(["ordering", "code"])
    assert mine.loc[("original", BEST), "scipy_over_ours"] == pytest.approx(50)
    assert mine.loc[("permuted", "HK"), "published_scipy_s"] == 780
    assert set(mine["bound"]) == {"exact", "above"}
    assert {c.verdict for c in compared("copter2", rows)} == {"agrees"}
    slow = summary(BY_NAME["copter2"].cells(PAPER), lambda code, graph: 3e5)
    judged = {c.quantity: c.verdict for c in compared("copter2", slow)}
    assert judged["HK on copter2, s, original (this run)"] == "open"
    assert judged["HK on copter2, s, permuted (this run)"] == "agrees"


def test_beyond_beside_the_best_of_the_eight():
    rows = eight(matrices(4), lambda place: 0.25)
    found = table("beyond", rows)
    assert set(found["best_variant"]) == {"APFB GPUBFS MT"}
    first = found[found["name"] == sets.ours().index[1]].iloc[0]
    assert (first["best_ms"], first["beyond_ms"], first["cpu_ms"]) == (2, 0.5, 0.25)
    assert (first["beyond_over_best"], first["beyond_over_cpu"]) == (0.25, 2)
    judged = compared("beyond", rows)
    assert [c.measured for c in judged] == [pytest.approx(0.5 / 24**0.25, abs=1e-4)] * 2
    assert {c.verdict for c in judged} == {"agrees"}


# ------------------------------------------------------------------------------- all of them


def plausible(code, graph):
    """Milliseconds that differ by code and graph; some graphs take HK more than a second."""
    place = sum(map(ord, name_of(graph))) % 97 + 1
    base = {BEST: 2.0, BEYOND: 1.0, "HK": 40.0, "PFP": 30.0}.get(code, 5.0)
    return base * place * (2 if graph.permuted else 1)


def every_counter(code, graph):
    found = {"cardinality": graph.n // 2, "initial_cardinality": graph.n // 3}
    return {**found, **(levels_of(code, graph) if code in VARIANTS else {})}


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_NUM_THREADS", "16")
        patch.setenv(experiments.FULL_SIZE, "1")
        cells = [job.cell for job in jobs()]
    return summary(cells, plausible, every_counter, spread=0.01)


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "fig01"])
def test_every_experiment_shows_and_draws(name, measured, whole):
    experiment = BY_NAME[name]
    found = experiment.table(whole if measured else whole.iloc[:0], NUMBERS)
    if not found.empty:
        assert shown(found, NUMBERS)
        if experiment.figure is not None:
            assert plots.png(experiment.figure(found)).startswith(b"\x89PNG")
    elif measured:
        pytest.fail("the table is empty")
    comparisons = list(experiment.compare(found))
    assert comparisons
    assert all(c.verdict == "not measured" for c in comparisons) or measured


def test_sets_of_a_whole_run(whole):
    found = table("table1", whole)
    mine = found[found["source"] == "this run"].drop_duplicates("instance_set")
    sizes = mine.set_index("instance_set")["graphs"]
    large = int((sets.ours()["nonzeros"] >= sets.LARGE).sum())
    assert sizes["O_all"] == sizes["RCP_all"] == large + 3
    assert 0 < sizes["O_S1"] < sizes["RCP_S1"] < large + 3
    speedups = table("fig05", whole)
    counts = speedups[speedups["source"] == "this run"].set_index(["instance_set", "over"])[
        "graphs"
    ]
    # All real matrices, the paper's among them, and what is generated at two sizes.
    assert counts["O_all", "HK"] == 83 + 20 + 3 + 4
    assert counts["O_Hardest20", "HK"] == counts[sets.TWINS, "HK"] == 20


def test_figure_2_shows_graphs_that_all_four_ran_on(whole):
    """The paper's Delaunay graphs are larger, but only the best variant is timed on them."""
    found = table("fig02", whole)
    assert set(found["name"]) == {"Hamrle3", "Hamrle3 stand-in", "delaunay_n18"}
    sums = found[found["what"] != "levels"]
    assert sums[list(tables.OF_FIG_2)].notna().all(axis=None)


def test_executor_times_are_not_judged():
    cells = [job.cell for job in jobs(Plan("quick", gpu=False))]
    rows = summary(cells, plausible, every_counter, card=EXECUTOR_NAME)
    for name in ("table1", "table2", "fig03", "fig04", "fig05", "claims", "beyond", "peers"):
        assert {c.verdict for c in compared(name, rows)} == {"not measured"}, name
    assert not table("table1", rows).empty
    assert {c.verdict for c in compared("counts", rows)} <= {"agrees", "open"}


def test_sources_do_not_mix(profiled):
    recorded = profiled.assign(source="recorded some-card")
    both = pd.concat([profiled, recorded], ignore_index=True)
    found = table("fig05", both)
    rows = found[found["instance_set"] == "O_all"]
    assert list(rows["source"]) == ["this run", "recorded some-card"] * 2
    assert rows["graphs"].max() == 6


def test_figure_1_shows_what_the_kernels_leave(tmp_path, monkeypatch):
    asked = []

    def solve(graph, initial, **options):
        asked.append(options["bfs"])
        assert np.asarray(graph).shape == (3, 2)
        rows, columns = initial
        assert rows[0] == 1
        assert columns[1] == 0
        return Matching(np.array([0, 1, -1]), np.array([0, 1]), 2)

    fake = types.ModuleType("papers.deveci_matching.solver")
    fake.solve = solve
    monkeypatch.setitem(sys.modules, "papers.deveci_matching.solver", fake)
    import papers.deveci_matching as package

    monkeypatch.setattr(package, "solver", fake, raising=False)
    ((caption, path),) = BY_NAME["fig01"].artifacts(tmp_path, PAPER)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert caption
    assert asked == ["plain", "wr"]


def test_multicore_threads_are_those_of_print_or_fewer(monkeypatch):
    graph = Instance("delaunay", 4096, "n12")
    for code in MULTICORE:
        assert dict(cell(code, graph).options)["threads"] == 8
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    assert dict(cell("P-DBFS", graph).options)["threads"] == 2
    assert dict(cell("P-DBFS", graph, cores=16).options)["threads"] == 2
