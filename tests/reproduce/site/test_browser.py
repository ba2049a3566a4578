"""The site in a real Chromium: no request, no fault that axe finds, and controls that work."""

import shutil

import pytest

PAGES = ("index.html", "own.html", "differences.html", "cells.html", "toy-page.html")
"""Pages without charts, which take seconds to open."""

WIDTHS = (390, 1280, 1920)


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no Chromium (Debian's package is called chromium)")
    with api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


ASKED: list[str] = []
WRONG: list[str] = []
"""The requests of all pages, and what went wrong in them."""


def opened(browser):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.on("request", lambda request: ASKED.append(request.url))
    page.on("pageerror", lambda error: WRONG.append(str(error)))
    page.on("console", lambda said: WRONG.append(said.text) if said.type == "error" else None)
    return page


@pytest.fixture(scope="module")
def tab(browser):
    """A page for those without charts."""
    return opened(browser)


@pytest.fixture(scope="module")
def paper(browser, pages):
    """The page of the paper, its first chart drawn. Tests leave it as they find it."""
    page = opened(browser)
    page.goto((pages / "toy.html").as_uri())
    page.wait_for_selector(".chart.drawn .main-svg")
    return page


def serious(page):
    """Every fault that axe calls serious or critical."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"resultTypes": ["violations"], "preload": False}).response[
        "violations"
    ]
    return [(one["id"], one["nodes"][0]["html"]) for one in found
            if one["impact"] in ("serious", "critical")]  # fmt: skip


def test_no_page_moves_sideways_and_axe_finds_nothing_serious(tab, paper, pages):
    """Planted by the first site: a table of machines was wider than a phone."""
    for name in (None, *PAGES):
        page = tab if name else paper
        if name:
            page.goto((pages / name).as_uri())
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, (name, width)
        page.set_viewport_size({"width": 1280, "height": 800})
        assert serious(page) == [], name


def test_axe_finds_nothing_serious_in_the_dark(tab, pages):
    tab.emulate_media(color_scheme="dark")
    tab.goto((pages / "index.html").as_uri())
    assert serious(tab) == []
    tab.emulate_media(color_scheme="light")


def test_axe_finds_a_planted_fault(tab, pages):
    tab.goto((pages / "index.html").as_uri())
    tab.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=\"\">')")
    assert [name for name, _ in serious(tab)] == ["image-alt"]


def test_the_picker_leaves_one_machine(paper):
    def machines(selector):
        rows = paper.locator(f"{selector}[data-origin]")
        shown = [row for row in rows.all() if row.is_visible()]
        return {row.get_attribute("data-origin") for row in shown}

    both = {"this run", "recorded a-card"}
    assert (machines("tr"), machines("figure")) == (both, both)
    paper.select_option("#machine", "recorded a-card")
    assert (machines("tr"), machines("figure")) == ({"recorded a-card"}, {"recorded a-card"})
    paper.select_option("#machine", "")
    assert machines("tr") == both


def test_tables_sort_and_filter_by_keyboard(paper):
    table = paper.locator("table.data").first
    heading = table.locator("thead th").nth(2)
    heading.locator("button").focus()
    for direction in ("ascending", "descending"):
        paper.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == direction
        cells = table.locator("tbody tr td:nth-child(3)").all_text_contents()
        numbers = [float(cell) for cell in cells if cell and cell[0].isdigit()]
        assert numbers == sorted(numbers, reverse=direction == "descending")
        assert len(numbers) == 8
    tools = paper.locator(".tools").first
    tools.locator("select").select_option("open")
    assert tools.locator("output").text_content() == "1 of 10 rows"
    tools.locator("select").select_option("")
    tools.locator("input").fill("n=16 a card")
    assert tools.locator("output").text_content() == "1 of 10 rows"
    tools.locator("input").fill("")
    assert tools.locator("output").text_content() == "10 of 10 rows"


def test_charts_hide_a_code_and_change_their_scale(paper):
    figure = paper.locator("figure").first
    chart = figure.locator(".chart").first
    state = "chart => [chart.plot.layout.yaxis.type, chart.plot.data.map((trace) => trace.visible)]"
    assert chart.evaluate(state) == ["log", [True, True]]
    figure.locator("input[type=checkbox]").uncheck()
    figure.get_by_role("button", name="log / linear").click()
    assert chart.evaluate(state) == ["linear", [False, False]]


def test_the_theme_is_chosen_and_kept(tab, pages):
    colour = "getComputedStyle(document.body).backgroundColor"
    tab.goto((pages / "cells.html").as_uri())
    before = tab.evaluate(colour)
    tab.click("#theme")
    tab.goto((pages / "index.html").as_uri())
    assert tab.evaluate(colour) != before
    tab.click("#theme")
    assert tab.evaluate(colour) == before


def test_a_link_into_a_closed_part_opens_it(paper):
    paper.evaluate("document.querySelector('details').innerHTML += '<p id=\"planted\">x</p>'")
    assert not paper.locator("#planted").is_visible()
    paper.evaluate("location.hash = 'planted'")
    paper.wait_for_selector("#planted")


def test_without_scripts_pictures_and_tables_stay(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((pages / "toy.html").as_uri())
    assert page.locator("img.plain").is_visible()
    assert not page.locator(".chart").first.is_visible()
    assert page.locator("table.data").first.is_visible()
    context.close()


def test_no_page_asked_for_anything_but_its_own_files(tab, paper):
    """The last test: of all that was opened above."""
    assert len(ASKED) > 10
    assert [url for url in ASKED if not url.startswith(("file:", "data:", "blob:"))] == []
    assert WRONG == []
