"""Sweeps of the paper's choices, and the way from its refine to ours, on made-up measurements."""

import pytest
from lupinska_costscale.evidence.test_experiments import (
    BY_NAME,
    NUMBERS,
    PAPER,
    compared,
    jobs,
    options_of,
    summary,
    table,
)

from papers.common.evidence import plots
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Plan
from papers.lupinska_costscale.assignment.configuration import CONFIGURATIONS
from papers.lupinska_costscale.evidence import codes, waterfall


def swept(name, slower, card="Card"):
    """Times of an experiment: 10 ms times a factor by option and value."""
    return summary(jobs(PAPER, [name]), lambda job, scope: 10 * slower(options_of(job)), card=card)


def by(option, **factors):
    return lambda of: factors.get(str(of[option]), 1.5) if option in of else 1.5


@pytest.mark.parametrize(
    ("name", "option", "printed", "other"),
    [("blocks", "threads", "512", "128"), ("phases", "tile", "32x8", "16x16")],
)
def test_print_s_choice_is_the_best_or_not(name, option, printed, other):
    for factor, found in ((1.5, "agrees"), (1.01, "open"), (0.8, "open")):
        times = by(option, **{printed: 1.0, other: factor})
        item = compared(name, swept(name, times))[0]
        assert (item.verdict, item.measured) == (found, pytest.approx(factor))
        if factor < 1.5:
            assert item.note == f"the next best is {other}"
    assert compared(name, swept(name, times, EXECUTOR_NAME))[0].verdict == "not measured"


def test_a_value_that_was_not_measured_everywhere_judges_nothing():
    rows = swept("blocks", by("threads"))
    rows = rows[~rows["options"].str.contains("threads=128")]
    assert compared("blocks", rows)[0].verdict == "not measured"


def test_some_grid_gains_by_more_pushes_or_none_does():
    def times(gain):
        return lambda job, scope: (
            gain if options_of(job).get("m") == 4 and job.cell.instance.label == "den_page" else 10
        )

    for gain, found in ((5.0, "agrees"), (9.9, "open")):
        (item,) = compared("pushes", summary(jobs(PAPER, ["pushes"]), times(gain), card="Card"))
        assert (item.verdict, item.measured) == (found, gain / 10)


def test_gap_beside_global_relabeling():
    for none, both, found in ((50.0, 0.9, "agrees"), (1.1, 0.01, "open")):
        times = {"none": none, "global": 1.0, "global+gap": both}
        rows = summary(
            jobs(PAPER, ["gap"]), lambda job, scope, t=times: t[options_of(job)["heuristics"]]
        )
        whole, item = compared("gap", rows)
        assert item.verdict == found
        assert (whole.verdict, whole.measured) == ("agrees", pytest.approx(none / both, 1e-3))
        assert item.measured == pytest.approx(1 / both / none, 0.02)
    assert {job.cell.instance.n for job in jobs(PAPER, ["gap"])} == {32, 64}
    times = {"none": 1.0, "global": 1.0, "global+gap": 1.0}
    rows = summary(jobs(PAPER, ["gap"]), lambda job, scope: times[options_of(job)["heuristics"]])
    assert compared("gap", rows)[0].verdict == "open"


@pytest.mark.parametrize(
    ("name", "option", "printed", "other"),
    [("blocks", "threads", "512", "128"), ("phases", "tile", "32x8", "16x16")],
)
def test_a_choice_that_changes_no_count_changes_no_time(name, option, printed, other):
    """The next best then takes the time of its work; a time that does not is unexplained."""
    for factor, work, found in ((1.0, 10, "differs"), (0.7, 7, "differs"), (0.7, 10, "open")):
        rows = summary(
            jobs(PAPER, [name]),
            lambda job, scope, f=factor: by(option, **{printed: 10, other: 10 * f})(
                {key: str(value) for key, value in options_of(job).items()}
            ) * (10 if options_of(job)[option] not in (512, 128, "32x8", "16x16") else 1),
            lambda job, w=work: {
                metric: w if str(options_of(job)[option]) == other else 10
                for metric in ("pushes", "relabels", "kernel_launches")
            },
            card="Card",
        )  # fmt: skip
        item = compared(name, rows)[0]
        assert (item.verdict, item.measured) == (found, factor)
        assert item.cause.experiment == f"lupinska_costscale:{name}"


# ------------------------------------------------------------------------------- the way


def way(step, card="Card"):
    """Every change makes a run `step` times as fast."""
    names = list(CONFIGURATIONS)
    return summary(
        jobs(PAPER, ["waterfall"]),
        lambda job, scope: 100 / step ** names.index(options_of(job)["configuration"]),
        lambda job: {"pushes": 10, "relabels": 5, "price_updates": 2},
        card,
    )


def test_the_way_from_print_to_ours():
    made = table("waterfall", way(2.0))
    assert list(made["configuration"]) == 3 * list(CONFIGURATIONS)
    assert made["gain"].dropna().to_list() == pytest.approx([2.0] * 3 * (len(CONFIGURATIONS) - 1))
    assert made["left"].iloc[0] == pytest.approx(2.0 ** (len(CONFIGURATIONS) - 1))
    assert set(made["operations"]) == {15}
    assert {item.verdict for item in compared("waterfall", way(2.0))} == {"holds"}
    assert {item.verdict for item in compared("waterfall", way(0.8))} == {"fails"}
    assert plots.png(BY_NAME["waterfall"].figure(made)).startswith(b"\x89PNG")
    assert [item.verdict for item in compared("waterfall", way(2.0, EXECUTOR_NAME))] == [
        "not measured"
    ]


def test_the_way_of_maximum_flows():
    def made(step, card="Card"):
        times = {"lock_free": None, "hybrid": 100.0, "gpu_relabel": 100 / step**2}

        def ms(job, scope):
            short = options_of(job).get("cycle") == 700
            return times[job.cell.solver.partition(":")[2]] / (step if short else 1)

        def gave_up(job):
            return 2000.0 if job.cell.solver.endswith("lock_free") else None

        return summary(jobs(PAPER, ["flow_way"]), ms, card=card, gave_up=gave_up)

    rows = table("flow_way", made(3.0))
    assert list(rows["step"][:4]) == ["lock_free", "paper", "short_cycle", "tuned"]
    assert rows["gain"].dropna().to_list() == pytest.approx([20, 3, 3] * 4)
    assert list(rows["gave_up"][:4]) == [True, False, False, False]
    assert rows["left"][:4].to_list() == pytest.approx([180, 9, 3, 1])
    assert {item.verdict for item in compared("flow_way", made(3.0))} == {"holds"}
    said = [item.verdict for item in compared("flow_way", made(0.8))]
    assert said == ["holds", "fails", "fails", "fails"]
    # No cell of it is its own.
    others = {job.cell.key for job in jobs(PAPER, ["flow_versions", "cycle"])}
    assert {job.cell.key for job in jobs(PAPER, ["flow_way"])} <= others


def test_a_seed_that_stopped_half_way_is_left_out():
    rows = way(2.0)
    rows = rows[~((rows["options"] == "configuration=tuned") & (rows["n"] == 60))]
    assert set(table("waterfall", rows)["n"]) == {30, 120}


def test_our_cycle_is_a_good_one_or_not():
    for factor, found in ((0.95, "holds"), (0.7, "fails")):
        times = by("cycle", **{"50": 1.0, "200": factor})
        (item,) = compared("tuned_cycle", swept("tuned_cycle", times))
        assert (item.verdict, item.kind) == (found, "goal")


def test_codes_are_told_by_their_configuration():
    solver = codes.SOLVER_OF[codes.LOCK_FREE]
    for text, told in (
        ("", (codes.LOCK_FREE, "")),
        ("alpha=4,configuration=paper", (codes.LOCK_FREE, "alpha=4")),
        ("configuration=tuned", (codes.TUNED, "")),
        ("maximize=True,loop=device", (codes.ONE_LAUNCH, "maximize=True")),
        ("configuration=spread", (codes.LOCK_FREE, "configuration=spread")),
    ):
        assert codes.code_of(solver, text) == told


def test_every_cell_of_the_refine_names_its_configuration():
    for plan in (PAPER, Plan("paper", gpu=False)):
        for job in jobs(plan):
            if job.cell.solver == codes.SOLVER_OF[codes.LOCK_FREE]:
                assert {"configuration", "loop"} & set(options_of(job)), job


def test_sweeps_run_on_the_gpu_alone():
    for name in ("blocks", "phases", "pushes", "tuned_cycle"):
        assert not jobs(Plan("paper", gpu=False), [name])
    assert {job.cell.instance.label for job in jobs(PAPER, ["phases"])} >= set(codes.SOME_GRIDS)
    assert waterfall.STEPS[0] == "paper"
    assert NUMBERS("constants").set_index("name").loc["block_size_x", "value"] == "32"
