"""Segmentation by mixtures, rounds that keep the flow, and the made scene with its scores."""

import re
from pathlib import Path

import numpy as np
import pytest

from papers import lupinska_costscale as costscale
from papers.common.instances.flows import image_energies
from papers.common.model import Plan
from papers.common.problems import flow_proof
from papers.common.problems.network import EIGHT, FOUR, grid, inner
from papers.lupinska_costscale.evidence.photos import demonstrations, mixtures, pictures, scenes
from papers.lupinska_costscale.flow.baselines import push_relabel


def cut(graph):
    state = push_relabel.upload(graph)
    push_relabel.run(state)
    answer = push_relabel.download(state)
    assert flow_proof.flow(graph, answer).ok
    return answer


def image(seed, shape=(6, 7)):
    draw = np.random.default_rng(seed)
    ends = [draw.integers(0, 20, shape) for _ in range(2)]
    return grid(*ends, {name: draw.integers(0, 6, shape) * inner(shape, name) for name in EIGHT})


@pytest.mark.parametrize("seed", range(6))
def test_a_kept_flow_leads_to_the_same_cut(seed):
    """The value is that of the cut anew; its mask is a minimum cut of the new capacities."""
    before = image(seed)
    draw = np.random.default_rng(100 + seed)
    source, sink = (draw.integers(0, 20, before.shape) for _ in range(2))
    rest, constant = mixtures.kept_flow(before, cut(before), source, sink)
    anew, kept = cut(grid(source, sink, before.arcs)), cut(rest)
    assert kept.value + constant == anew.value
    assert (kept.source_side == anew.source_side).all()  # both have the most pixels


def test_a_kept_flow_that_forgets_an_addition_is_found_out(monkeypatch):
    def forgetful(before, found, source, sink):
        rest, constant = kept_flow(before, found, source, sink)
        return rest, constant + 1

    kept_flow = mixtures.kept_flow
    monkeypatch.setattr(mixtures, "kept_flow", forgetful)
    pair = scenes.made_pair(20)
    with pytest.raises(ValueError, match="with the kept flow"):
        mixtures.segment(pair.first, scenes.strokes_in(pair.mask), cut)


def test_the_horse_is_cut_out_and_a_kept_flow_saves_work():
    pair = scenes.made_pair(41)
    given = scenes.strokes_in(pair.mask)
    rounds = mixtures.segment(pair.first, given, cut)
    plain = mixtures.overlap(pictures._pixelwise(pair.first, given), pair.mask)
    assert mixtures.overlap(rounds[-1].mask, pair.mask) > max(0.95, plain + 0.05)
    assert all(one.mask[given[0]].all() and not one.mask[given[1]].any() for one in rounds)
    assert sum(one.pushes for one in rounds[1:]) < 0.8 * sum(one.anew for one in rounds[1:])


def test_a_mixture_is_likeliest_where_its_colours_are():
    draw = np.random.default_rng(1)
    centres = np.array([[20.0, 20, 20], [200, 30, 30], [30, 200, 90]])
    colours = np.concatenate([draw.normal(c, 6, (50, 3)) for c in centres])
    mixture = mixtures.fit(colours)
    assert mixture.share.sum() == pytest.approx(1)
    near, far = (mixture.costs(x).min(axis=1) for x in (centres, centres + 60.0))
    assert (near + 10 < far).all()
    again = mixtures.fit(colours, mixture)
    assert again.costs(colours).min(axis=1).sum() <= mixture.costs(colours).min(axis=1).sum() + 1e-6


def test_pairs_weigh_the_same_both_ways_and_less_across_an_edge():
    photo = np.zeros((4, 5, 3), np.uint8)
    photo[:, 3:] = 200
    weights = mixtures.pair_weights(photo)
    assert set(weights) == set(EIGHT)
    assert (weights["right"][:, :-1] == weights["left"][:, 1:]).all()
    assert (weights["down_right"][:-1, :-1] == weights["up_left"][1:, 1:]).all()
    assert weights["right"][0, 2] < weights["right"][0, 1] / 3
    assert weights["down_right"][0, 0] < weights["down"][0, 0]
    assert not weights["right"][:, -1].any()


def test_the_made_scene_moves_as_it_says(monkeypatch):
    monkeypatch.setattr(scenes, "NOISE", 0.0)
    pair = scenes.made_pair(123)
    height, width = pair.mask.shape
    for move, part in zip(scenes.MOVES, (~pair.mask, pair.mask), strict=True):
        assert (pair.truth[part] == move).all()
        rows, columns = np.nonzero(part)
        there = rows + move[0], columns + move[1]
        inside = (there[0] >= 0) & (there[0] < height) & (there[1] >= 0) & (there[1] < width)
        same = (pair.first[rows[inside], columns[inside]]
                == pair.second[there[0][inside], there[1][inside]]).all(axis=1)  # fmt: skip
        assert same.mean() > (0.85 if move == scenes.MOVES[0] else 0.999)  # the horse hides some
    assert scenes.end_point_error(pair.truth + np.array([3, 4]), pair.truth) == pytest.approx(5)


def test_overlap():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert (mixtures.overlap(a, b), mixtures.overlap(a, a)) == (pytest.approx(1 / 3), 1.0)


@pytest.mark.parametrize("name", scenes.STROKES)
def test_strokes_are_within_the_photo_and_apart(name):
    thing, behind = scenes.strokes_on(name, 64)
    assert thing.any()
    assert behind.any()
    assert not (thing & behind).any()


def test_both_are_drawn_and_their_files_say_the_scores(tmp_path):
    plan = Plan("smoke", gpu=False)
    made = [*pictures.strokes(tmp_path, plan), *pictures.motion(tmp_path, plan)]
    assert len(made) == 3
    for caption, path in made:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert demonstrations.description(path) == caption
        assert "proved minimum" in caption
    assert re.search(r"Overlap .*: 0\.\d+ pixel by pixel, 0\.\d+ after", made[1][0])
    plain, moved = map(float, re.findall(r"(\d\.\d{3}) by", made[2][0]))
    assert moved < plain


def test_expansion_moves_find_the_motion_better_than_pixels_alone():
    pair, labels = scenes.made_pair(60), np.array([(0, 0), (1, 1), *scenes.MOVES])
    plain = labels[image_energies.cheapest(pair.first, pair.second, labels)]
    chosen, history = pictures.expand(pair.first, pair.second, labels, cut)
    assert history == sorted(history, reverse=True)
    wrong = [scenes.end_point_error(one, pair.truth) for one in (plain, labels[chosen])]
    assert wrong[1] < 0.7 * wrong[0]


def test_four_neighbours_are_kept_too():
    draw = np.random.default_rng(5)
    arcs = {name: draw.integers(0, 4, (5, 5)) * inner((5, 5), name) for name in FOUR}
    before = grid(*(draw.integers(0, 9, (5, 5)) for _ in range(2)), arcs)
    rest, constant = mixtures.kept_flow(before, cut(before), before.source, before.sink)
    assert cut(rest).value + constant == cut(before).value


def test_the_page_shows_recorded_pictures_with_the_captions_in_their_files():
    page = Path(costscale.__file__).parent / "RESULTS.md"
    _, told = page.read_text(encoding="utf-8").split("\n## Demonstrations\n")
    found = re.findall(r"^!\[[^]]+\]\((results/[^)]+)\)\n\n(.+)\.$", told, re.MULTILINE)
    assert len(found) == told.count("![") >= 4
    for name, caption in found:
        assert demonstrations.description(page.parent / name) == caption
