"""The documentation site: it builds without a warning, its links lead somewhere, and it looks right in a browser."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
# Texts of elements that reach beyond the screen, unless something around them scrolls. The theme lets the whole article
# scroll, which does not count.
CUT = """
() => {
    const scrolls = e => !e.matches(".bd-article-container") &&
        (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    return [...document.querySelectorAll("main article *")].filter(e =>
        e.getBoundingClientRect().width && e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e)
    ).map(e => e.innerText);
}
"""
# Titles of the columns of tables that do not fit into the element around them, which scrolls.
WIDE = """
() => [...document.querySelectorAll("main article table")]
    .filter(t => t.parentElement.scrollWidth > t.parentElement.clientWidth + 1)
    .map(t => [...t.querySelectorAll("th")].map(e => e.innerText).join(" | "))
"""
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    recipe = re.search(r"^docs: .*\n\t(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1]
    words = [word.replace("$(BIN)/", f"{Path(sys.executable).parent}/") for word in recipe.split()]
    assert words[-2:] == ["docs", "build/docs"]
    assert "--fail-on-warning" in words
    done = subprocess.run([*words[:-1], str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """The targets and anchors of a page, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.tags: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.add(tag)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])
        if tag in ("script", "img") or (tag == "link" and "stylesheet" in found.get("rel", "")):
            self.loads |= {found[name] for name in ("href", "src") if found.get(name)}


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_page_of_the_docs_is_built(site, pages):
    sources = {p.relative_to(ROOT / "docs").with_suffix(".html") for p in (ROOT / "docs").rglob("[!_]*.md")}
    assert sources <= {path.relative_to(site) for path in pages}
    assert len(sources) > 25


def test_internal_links_lead_to_a_page_and_an_anchor(pages):
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"(https?|mailto):", link):
                continue
            file, anchor = urldefrag(link)
            target = (path.parent / unquote(file)).resolve() if file else path
            assert target.is_file(), f"{path.name}: {link}"
            if anchor and target.suffix == ".html":
                assert unquote(anchor) in pages[target].anchors, f"{path.name}: {link}"


def test_nothing_is_loaded_from_the_network(site, pages):
    for path, page in pages.items():
        assert not [load for load in page.loads if re.match(r"(https?:)?//", load)], path
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_formulas_are_mathml(pages):
    formulas = [path for path, page in pages.items() if "math" in page.tags]
    assert "mathematics.html" in {path.name for path in formulas}
    for path in formulas:
        for formula in re.findall(r"<math.*?</math>", path.read_text(encoding="utf-8"), re.S):
            assert "\\" not in formula, "an unknown command is copied as it is"


@pytest.fixture
def tab(browser):
    """Yield a tab and a list of its problems: script errors, failed requests, and requests that leave the machine."""
    tab = browser.new_page(viewport=DESKTOP)
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("requestfailed", lambda request: troubles.append(f"failed: {request.url}"))
    tab.on(
        "request", lambda request: None if request.url.startswith(("file:", "data:")) else troubles.append(request.url)
    )
    yield tab, troubles
    tab.close()


def test_no_table_needs_horizontal_scrolling_at_1300_pixels(site, pages, tab):
    page, _ = tab
    page.set_viewport_size({"width": 1300, "height": 900})
    found = {}
    for path in (path for path, parsed in pages.items() if "table" in parsed.tags):
        page.goto(path.as_uri())
        if wide := page.evaluate(WIDE):
            found[path.relative_to(site).as_posix()] = wide
    assert not found


def test_pages_have_no_error_broken_image_or_cut_text_at_two_widths_in_light_and_dark(site, pages, tab, tmp_path):
    """Check for console errors, broken images and text off the screen. W2V_SCREENSHOTS=DIR keeps the screenshots."""
    page, troubles = tab
    shots = Path(os.environ.get("W2V_SCREENSHOTS", tmp_path))
    shots.mkdir(exist_ok=True)
    for path in pages:
        name = path.relative_to(site).with_suffix("").as_posix().replace("/", "-")
        page.set_viewport_size(DESKTOP)
        page.goto(path.as_uri())
        backgrounds = set()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for size, viewport in (("desktop", DESKTOP), ("phone", PHONE)):
                page.set_viewport_size(viewport)
                picture = page.screenshot(path=shots / f"{name}-{size}-{scheme}.png")
                assert len(picture) > 5_000
                width = page.evaluate("document.scrollingElement.scrollWidth")
                assert width <= viewport["width"], f"{name} is {width} pixels wide on a {size}"
                assert page.evaluate(CUT) == [], f"{name} is cut on a {size}"
            backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(backgrounds) == 2, f"{name} looks the same in light and dark"
        broken = page.evaluate("[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)")
        assert not broken, name
        assert not troubles, name


def test_search_works_offline(site, tab):
    page, troubles = tab
    page.goto((site / "search.html").as_uri() + "?q=perplexity")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert page.locator("#search-results li a").count() > 3
    assert not troubles
