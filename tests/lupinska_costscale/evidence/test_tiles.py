"""The tiles of `gpu_relabel` are those that were measured to be fast."""

from pathlib import Path

import pandas as pd

import papers
from papers.lupinska_costscale.flow.upload import tile_for

HOME = Path(papers.__file__).parent / "lupinska_costscale"


def test_the_page_has_the_tiles_times_and_a_default_one_is_near_the_fastest():
    found = pd.read_csv(HOME / "evidence/tiles.csv", dtype={"code": str})
    page = (HOME / "RESULTS.md").read_text()
    for side, runs in found.groupby("side"):
        before = runs.loc[runs["code"] == "6bacc69", "run_ms"].item()
        now = runs[runs["code"] == "0aade22"].set_index("tile")["run_ms"]
        told = " | ".join(f"{ms:.2f}" for ms in (before, *now[["8x32", "16x32", "32x32"]]))
        assert f"| {side} | {told} |" in page
        rows = 16 if side >= 1024 else 8
        assert now[f"{rows}x32"] < min(before, 1.03 * now.min())


def test_large_images_have_larger_tiles(monkeypatch):
    asked = []
    monkeypatch.setattr("papers.lupinska_costscale.flow.upload.Tile.for_device",
                        lambda rows, columns: asked.append((rows, columns)))  # fmt: skip
    for side in (256, 1023, 1024, 2048):
        tile_for(side * side)
    assert asked == [(8, 32), (8, 32), (16, 32), (16, 32)]
