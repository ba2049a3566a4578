"""Which exchange is taken, and that nobody asks an exchange or a variant for its name."""

import re
from pathlib import Path

import pytest

from papers.common.gpu.environment import MissingPackageError
from papers.datenagi2016 import several_gpus
from papers.datenagi2016.several_gpus import exchange

FOLDER = Path(several_gpus.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_nobody_asks_an_exchange_or_a_variant_which_it_is(file):
    text = file.read_text(encoding="utf-8")
    asked = (
        r"\bby_(peers|host|device)\b(?!\")|exchange\.name|\.name ==|variant ==|"
        r"isinstance\([^)]*Exchange"
    )
    assert re.findall(asked, text) == []


def test_section_5_is_under_3500_lines():
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in FILES) < 3500


@pytest.mark.parametrize(
    ("impossible", "way", "reason"),
    [
        ({}, "peers", ""),
        ({"peers": "two hosts"}, "nccl", "peers is not possible: two hosts"),
        ({"peers": "two hosts", "nccl": "no library"}, "allgather",
         "peers is not possible: two hosts; nccl is not possible: no library"),
        ({"nccl": "no library"}, "peers", ""),
    ],
)  # fmt: skip
def test_auto_takes_the_fastest_way_there_is_and_says_why_not_a_faster(
    monkeypatch, impossible, way, reason
):
    for name in exchange.FASTEST:
        monkeypatch.setitem(exchange.FASTEST, name, lambda comm, n=name: impossible.get(n, ""))
    assert exchange.choose(None, "auto") == (way, reason)
    for asked in exchange.WAYS[1:]:
        if asked in impossible:
            with pytest.raises(MissingPackageError, match=f"'{asked}': {impossible[asked]}"):
                exchange.choose(None, asked)
        else:
            assert exchange.choose(None, asked) == (asked, "")


def test_every_way_has_an_exchange_and_the_fastest_come_first():
    assert list(exchange.FASTEST) == ["peers", "nccl", "allgather"]
    assert set(exchange.WAYS) == {"auto", "gather", *exchange.FASTEST}
