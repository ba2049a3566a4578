"""The wheel and the source distribution are whole, and an installed package works as it should.

Both are built here, by setuptools itself: no index is asked for anything. What is built lies, like
the copy that it is built of, in a folder with a blank in its name.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import papers
from papers.reproduce import registry

ROOT = Path(papers.__file__).parents[1]
BUILD = """
import sys
from setuptools import build_meta
target = sys.argv[1]  # setuptools changes the list
build_meta.build_sdist(target)
build_meta.build_wheel(target)
"""
COMMANDS = """
from papers.reproduce import cli
codes = []
for words in (["list"], ["readme", "lopes2019"], ["record", "."]):
    try:
        cli.main(words)
    except SystemExit as end:
        codes.append(end.code or 0)
print(*(f"code {code}" for code in codes), sep="\\n")
"""
CARDS = [registry.card(name) for name in papers.PAPERS]


def tracked():
    """The files of this checkout that are there and that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this tree is no git checkout: nobody says which files are its own")
    return {name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the wheel and the source distribution of a copy of this tree."""
    if int(version("setuptools").partition(".")[0]) < 77:
        pytest.skip("building takes setuptools 77 or newer: make install EXTRAS=test")
    copy = tmp_path_factory.mktemp("package") / "a copy"
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    target = copy.with_name("what is built")
    subprocess.run([sys.executable, "-c", BUILD, target], cwd=copy, check=True, capture_output=True)
    return target


def lost(names, files):
    """The tracked files that an archive lacks."""
    return sorted(names - set(files))


def test_the_source_distribution_has_every_tracked_file(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert lost(tracked(), names) == []
    assert lost({"Makefile", "CITATION.cff", "tests/common/nothing.py"}, names) == [
        "tests/common/nothing.py"
    ]


def test_the_wheel_has_every_file_of_the_package(built):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = archive.read(metadata).decode()
    assert lost({name for name in tracked() if name.startswith("papers/")}, names) == []
    assert "papers/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "build"))]
    for line in (f"Version: {papers.__version__}", "License-Expression: MIT", "Project-URL: "):
        assert line in text, line
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_installed_package_lists_its_papers_and_refuses_maintainers_commands(built, tmp_path):
    place = tmp_path / "a folder with blanks"
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(place)

    page = place / "papers/lopes2019/RESULTS.md"
    before = page.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=place, capture_output=True, text=True,
        env={"PYTHONPATH": str(place), "PATH": os.defpath},
    )  # fmt: skip
    assert all(name in done.stdout for name in papers.PAPERS), done.stderr
    assert done.stdout.splitlines()[-3:] == ["code 0", "code 2", "code 2"], done.stderr
    for name in ("readme", "record"):
        assert f"reproduce {name} writes into the sources: it needs a checkout" in done.stderr
    assert page.read_bytes() == before


# ------------------------------------------------------------------------------- how to cite


def faults_of_citation(text):
    """What `CITATION.cff` lacks of the package and of its papers' cards."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = ["cff-version: 1.2.0", "message: ", "title: ", "authors:",
              f"license: {project['license']}",
              f"version: {papers.__version__}"]  # fmt: skip
    for card in CARDS:
        wanted += [f'title: "{card.title}"', f"year: {card.year}"]
        wanted += [f'family-names: "{name.split()[-1]}"' for name in card.authors.split(", ")]
        wanted += [f"doi: {card.doi}"] * bool(card.doi)
    return [line for line in wanted if not re.search(rf"^ *(- )?{re.escape(line)}", text, re.M)]


def test_the_citation_names_the_package_and_every_paper():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert faults_of_citation(text) == []
    planted = text.replace("Rakesh", "R.").replace('"Nagi"', '"Nagy"').replace("0.1.0", "0.0.9")
    assert len(faults_of_citation(planted)) == 2
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"].values()
    assert {f"https://doi.org/{card.doi}" for card in CARDS if card.doi} == set(urls)
