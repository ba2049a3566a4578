"""Charts: what a Matplotlib figure shows is read back, all of it, or the figure has no chart."""

import plotly.graph_objects as plotly
import pytest
from matplotlib.patches import Circle, Patch

from papers import PAPERS
from papers.common.evidence import plots, published
from papers.reproduce import registry
from papers.reproduce.run import measurements, records
from papers.reproduce.site import charts


def every_artist():
    """A figure with everything that the papers draw: five panels."""
    figure, panels = plots.new_figure(columns=5)
    lines, bars, level, pie, empty = panels[0]
    lines.plot([1, 2, 4], [3, 5, 9], "--", color="#0072B2", marker="o", markerfacecolor="white")
    lines.plot([1, 2, 4], [3, float("nan"), 8], color="#0072B2", marker="o")
    lines.plot([1, 2, 4], [1, 1, 1], label="own name", color="#000000")
    lines.axhline(2.5, color="#999999")
    lines.axhspan(2, 4, color="#dddddd")
    lines.fill_between([1, 2], [1, 2], [3, 4], alpha=0.2, color="#D55E00", label="a, model")
    lines.set_xscale("log", base=2)
    lines.set_yscale("log")
    lines.set_xticks([1, 2, 4], ["1", "2", "four"])
    lines.set_ylim(1, 100)
    lines.set_xlabel("n")
    lines.text(2, 10, "here")
    handles = [
        plots.Line2D([], [], color="#0072B2", marker="o"),
        plots._filled_or_hollow("published", True),
        plots._filled_or_hollow("measured", False),
    ]
    lines.legend(handles, ["a", "published", "measured"])
    bars.bar([0, 1], [2, 3], 0.4, bottom=[1, 1], color="#009E73")
    bars.bar([0, 1], [4, 5], 0.4, facecolor="white", edgecolor="#009E73", hatch="////")
    level.barh([0, 1], [2, 3], color="#009E73")
    pie.pie([1, 3], labels=["25 %", "75 %"], colors=["#0072B2", "#D55E00"])
    empty.text(0.5, 0.5, "not measured", transform=empty.transAxes)
    figure.legend([Patch(facecolor=c) for c in ("#009E73", "#0072B2", "#D55E00")],
                  ["green", "first", "second"])  # fmt: skip
    bars.set_title("Bars\nmeasured: recorded a-card")
    return figure


@pytest.fixture(scope="module")
def read():
    return charts.panels(every_artist())


def test_curves_keep_their_numbers_names_sides_and_looks(read):
    lines = read[0]["data"]
    named = {trace["name"]: trace for trace in lines}
    assert list(named) == [
        "a, model", "a, published", "a, measured", "own name, measured", "a line for the eye",
    ]  # fmt: skip
    assert named["a, published"]["y"] == [3, 5, 9]
    assert named["a, published"]["line"]["dash"] == "dash"
    assert named["a, published"]["marker"]["symbol"] == "circle-open"
    assert named["a, measured"]["y"] == [3, None, 8]
    assert named["a, measured"]["marker"]["symbol"] == "circle"
    assert named["a line for the eye"]["y"] == [2.5, 2.5]
    assert {trace["legendgroup"] for trace in lines} == {"a", "own name", "a line for the eye"}


def test_the_caption_says_how_print_and_ours_are_told_apart(read):
    """Planted by the first report: "published hollow, measured filled" stood below every figure."""
    assert charts.marks([read[1]]) == "published hatched, measured filled"
    assert charts.marks([read[3], read[2]]) == ""
    curves = [t for t in read[0]["data"] if t["name"] in ("a, published", "a, measured")]
    assert charts.marks([{"data": curves}]) == "published hollow, measured filled"
    alike = [{**t, "marker": {"symbol": "circle"}} for t in curves]
    assert charts.marks([{"data": alike}]) == ""
    assert charts.marks([{"data": curves[:1]}]) == ""


def test_axes_keep_scale_ticks_limits_bands_and_texts(read):
    layout = read[0]["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("log", "log")
    assert layout["xaxis"]["ticktext"] == ["1", "2", "four"]
    assert layout["xaxis"]["title"]["text"] == "n"
    assert layout["yaxis"]["range"] == [0, 2]
    assert [(shape["y0"], shape["y1"]) for shape in layout["shapes"]] == [(2, 4)]
    (text,) = layout["annotations"]
    assert (text["text"], round(text["y"], 6)) == ("here", 1)


def test_bars_and_slices_keep_sizes_places_and_names(read):
    filled, hollow = read[1]["data"]
    assert (filled["x"], filled["y"], filled["base"]) == ([0, 1], [2, 3], [1, 1])
    assert (filled["name"], hollow["marker"]["pattern"]["shape"]) == ("green, measured", "/")
    (level,) = read[2]["data"]
    assert (level["orientation"], level["y"], level["x"]) == ("h", [0, 1], [2, 3])
    (pie,) = read[3]["data"]
    assert (pie["labels"], pie["values"]) == (["first", "second"], [90, 270])


def test_titles_leave_the_machine_to_the_page_and_empty_panels_are_left_out(read):
    assert [panel["title"] for panel in read] == ["", "Bars, measured", "", ""]


def test_plotly_knows_every_word_of_a_chart(read):
    for panel in read:
        plotly.Figure(data=panel["data"], layout=panel["layout"])
    with pytest.raises(ValueError, match="Invalid"):
        plotly.Figure(data=[{**read[0]["data"][0], "planted": 1}])


@pytest.mark.parametrize(
    "plant",
    [lambda axes: axes.scatter([1], [2]), lambda axes: axes.imshow([[1, 2]]),
     lambda axes: axes.add_patch(Circle((0, 0), 1)), lambda axes: axes.axvspan(1, 2)],
)  # fmt: skip
def test_an_unknown_artist_makes_no_chart(plant):
    """Planted: a chart that leaves out what the figure shows."""
    figure, panels = plots.new_figure()
    panels[0, 0].plot([1, 2], [3, 4])
    plant(panels[0, 0])
    with pytest.raises(charts.UnknownArtistError):
        charts.panels(figure)


@pytest.mark.nightly
@pytest.mark.parametrize("paper", PAPERS)
def test_every_recorded_figure_has_a_chart_that_names_its_series(paper):
    numbers = published.loader(registry.MODULES[paper])
    rows = measurements.usable(records.seen_by(paper, records.summaries(records.owners(paper))))
    drawn = [one for one in registry.experiments(paper).values() if one.figure is not None]
    assert drawn
    for experiment in drawn:
        found = charts.panels(experiment.figure(experiment.table(rows, numbers)))
        for panel in found:
            plotly.Figure(data=panel["data"], layout=panel["layout"])
            for trace in panel["data"]:
                assert trace["name"], experiment.name
                assert all(trace.get("labels", ["named"])), experiment.name
