"""The page of a map in a browser: it is searched, pointed at and zoomed, labels do not collide, no word runs."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from w2vtrain.leaves.pictures.page import page
from w2vtrain.leaves.pictures.word_map import SCRIPT, make_map, map_facts

pytestmark = pytest.mark.slow
DESKTOP, PHONE = {"width": 1300, "height": 900}, {"width": 390, "height": 844}
ATTACK = "</script><img src=x onerror=alert(1)>"
BOXES = """() => [...document.querySelectorAll(".word-map text:not([display])")].map(e => {
    const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom];
})"""
CLIPPED = """() => [...document.querySelectorAll("svg")].flatMap(svg => {
    const outer = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text:not([display])")].filter(e => {
        const b = e.getBoundingClientRect();
        return b.left < outer.left - 1 || b.right > outer.right + 1
            || b.top < outer.top - 1 || b.bottom > outer.bottom + 1;
    }).map(e => e.textContent);
})"""


@pytest.fixture
def tab(browser):
    """Yield a tab; it must have no error in its console, no dialog, and no request but that of its own file."""
    tab, troubles, asked = browser.new_page(viewport=DESKTOP), [], []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    tab.on("request", lambda request: asked.append(request.url) if not request.url.startswith("data:") else None)
    yield tab
    tab.close()
    assert troubles == []
    assert len(asked) == 1
    assert asked[0].startswith("file:")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the page of a map with foreign scripts and a hostile word."""
    pytest.importorskip("jinja2")
    folder, rng = tmp_path_factory.mktemp("pages"), np.random.default_rng(1)
    words = [ATTACK, "water", "東京", "עברית", *(f"word{i}" for i in range(200))]
    vectors = rng.standard_normal((len(words), 8)).astype(np.float32)
    text = page("map.html", SCRIPT, title="Map", map=map_facts(make_map(words, vectors)))
    (folder / "map.html").write_text(text, encoding="utf-8")
    return folder / "map.html"


def colliding(tab) -> list[tuple]:
    boxes = tab.evaluate(BOXES)
    assert len(boxes) > 15
    return [
        (a, b)
        for a, b in combinations(boxes, 2)
        if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 2  # the line box is taller
    ]


def settle(tab) -> None:
    """Wait until the map has been drawn anew."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_the_map_fits_and_labels_do_not_collide_on_every_medium(site: Path, tab):
    tab.goto(site.as_uri())
    for viewport in (DESKTOP, PHONE):
        for media, scheme in (("screen", "light"), ("screen", "dark"), ("print", "light")):
            tab.set_viewport_size(viewport)
            tab.emulate_media(media=media, color_scheme=scheme)
            settle(tab)
            assert tab.evaluate("document.scrollingElement.scrollWidth") <= viewport["width"]
            assert colliding(tab) == []
            assert tab.evaluate(CLIPPED) == []


def test_a_map_is_searched_pointed_at_and_walked(site: Path, tab):
    tab.goto(site.as_uri())
    settle(tab)
    facts = tab.locator(".facts")
    tab.fill("input", "WAT")
    assert "1 word found" in facts.inner_text()
    tab.press("input", "Enter")
    assert facts.locator("h3").inner_text() == "water"
    rows = facts.locator("li")
    assert rows.count() == 8
    cosines = [float(row.locator(".n").inner_text()) for row in rows.all()]
    assert cosines == sorted(cosines, reverse=True)
    first = rows.first.locator("button").inner_text()
    rows.first.locator("button").click()
    assert facts.locator("h3").inner_text() == first
    tab.fill("input", "nowhere")
    assert "No word of this map contains “nowhere”." in facts.inner_text()
    tab.fill("input", "<img")
    tab.press("input", "Enter")
    assert facts.locator("h3").inner_text() == ATTACK
    tab.fill("input", "")
    assert "Point at a word" in facts.inner_text()
    tab.locator(".word:not(.bare) circle").first.hover()
    pointed = facts.locator("h3").inner_text()
    tab.mouse.move(5, 5)
    assert "Point at a word" in facts.inner_text()
    tab.focus(".word-map svg")
    tab.keyboard.press("ArrowRight")
    walked = facts.locator("h3").inner_text()
    tab.keyboard.press("ArrowRight")
    assert facts.locator("h3").inner_text() != walked
    tab.keyboard.press("Escape")
    assert "Point at a word" in facts.inner_text()
    assert pointed


def test_a_map_zooms_with_buttons_wheel_and_keys_and_shows_more_labels(site: Path, tab):
    tab.goto(site.as_uri())
    settle(tab)

    def spread():
        settle(tab)
        xs = [float(t.split("(")[1].split(" ")[0]) for t in tab.evaluate(
            "[...document.querySelectorAll('.word')].map(e => e.getAttribute('transform'))")]  # fmt: skip
        return max(xs) - min(xs)

    whole = spread()
    tab.click("[data-zoom='1.5']")
    assert spread() == pytest.approx(1.5 * whole, rel=0.01)
    tab.click("[data-zoom='0']")
    assert spread() == pytest.approx(whole, rel=0.01)
    box = tab.locator(".word-map svg").bounding_box()
    tab.mouse.move(box["x"] + 300, box["y"] + 300)
    tab.mouse.wheel(0, -300)
    assert spread() == pytest.approx(whole, rel=0.01)  # the page has more to scroll
    tab.focus(".word-map svg")
    tab.mouse.wheel(0, -300)
    settle(tab)
    tab.wait_for_timeout(100)
    zoomed = spread()
    assert zoomed > 1.5 * whole
    assert colliding(tab) == []
    tab.keyboard.press("0")
    assert spread() == pytest.approx(whole, rel=0.01)
    tab.keyboard.press("+")
    assert spread() > whole
