"""Maps of words: where words are, what the page says of them, and that no word is ever more than text."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import combinations

import numpy as np
import pytest

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.leaves.pictures import projection
from w2vtrain.leaves.pictures.figures import COLORS, write_figure
from w2vtrain.leaves.pictures.page import page, visible
from w2vtrain.leaves.pictures.projection import project
from w2vtrain.leaves.pictures.word_map import (
    HEIGHT,
    SCRIPT,
    WIDTH,
    Chosen,
    content_words,
    make_map,
    map_facts,
    map_figure,
)

ATTACKS = [
    "</script><img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "' onmouseover='alert(1)", "&lt;b&gt;", "]]>",
    "\u202egnp.exe", "\x1b[2J", "\x00", "東京", "עברית", "a\u2028b", "$x^2$", "\ud800", "\uffff",
]  # fmt: skip


@pytest.fixture
def vectors(rng):
    words = [*ATTACKS, *(f"word{i}" for i in range(60))]
    return words, rng.standard_normal((len(words), 8)).astype(np.float32)


def page_of(word_map, title="Map", script=SCRIPT):
    pytest.importorskip("jinja2")
    text = page("map.html", script, title=title, map=map_facts(word_map))
    text.encode()  # no surrogate is left
    return text


class Parsed(HTMLParser):
    """The tags of a page with their attributes, the texts of the words, and those of other kinds of elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.texts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "text":
            self.words.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "text" and self.words and data.strip():
            self.words[-1] += data
        elif self.tags and data.strip():
            self.texts.setdefault(self.tags[-1][0], data)


def test_principal_components_are_those_of_the_singular_value_decomposition(rng):
    rows = rng.standard_normal((40, 6)) * [5, 3, 1, 1, 1, 1]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    centered = units - units.mean(axis=0)
    U, S, _ = np.linalg.svd(centered, full_matrices=False)
    found = project(rows)
    np.testing.assert_allclose(np.abs(found.points), np.abs(U[:, :2] * S[:2]), atol=1e-12)
    shares = S[:2] ** 2 / (S**2).sum()
    assert f"{shares[0]:.0%} and {shares[1]:.0%} of the variance" in found.method
    np.testing.assert_array_equal(project(rows).points, found.points)
    np.testing.assert_allclose(project(rows * 7).points, found.points, atol=1e-12)  # only directions count


@pytest.mark.parametrize(
    "rows",
    [np.zeros((3, 4)), np.ones((5, 4)), np.eye(1), np.ones((2, 1)), -np.eye(2)],
    ids=["zeros", "equal", "one", "one dimension", "two"],
)
def test_maps_of_few_equal_or_zero_vectors_have_finite_points(rows):
    found = make_map([f"w{i}" for i in range(len(rows))], rows.astype(np.float32))
    assert np.isfinite(found.points).all()
    assert page_of(found).count('class="word"') == len(rows)


@pytest.mark.parametrize(("method", "module"), [("umap", "umap"), ("tsne", "openTSNE")])
def test_a_missing_package_is_named_with_its_extra(method, module, monkeypatch):
    monkeypatch.setattr(projection, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs the package .*: pip install 'w2vtrain\[map\]'; pca does not"):
        project(np.eye(9), method)


def test_odd_requests_are_refused(monkeypatch):
    with pytest.raises(UsageError, match="unknown method 'lda': use pca, umap, tsne"):
        project(np.eye(9), "lda")
    monkeypatch.setattr(projection, "find_spec", lambda name: name)
    with pytest.raises(UsageError, match="needs at least 5 words, not 4"):
        project(np.eye(4), "tsne")


@pytest.mark.parametrize(
    "method", [pytest.param("umap", marks=pytest.mark.slow), pytest.param("tsne", marks=pytest.mark.slow)]
)
def test_umap_and_tsne_separate_two_groups_and_repeat_with_a_seed(method, rng):
    pytest.importorskip({"umap": "umap", "tsne": "openTSNE"}[method])
    groups = np.repeat(np.eye(2, 10) * 5, 20, axis=0) + rng.standard_normal((40, 10)) * 0.3
    points = project(groups, method, 3).points
    np.testing.assert_array_equal(points, project(groups, method, 3).points)
    one, other = points[:20], points[20:]
    apart = np.linalg.norm(one.mean(axis=0) - other.mean(axis=0))
    assert apart > 2 * max(np.linalg.norm(group - group.mean(axis=0), axis=1).mean() for group in (one, other))


def test_neighbors_are_those_of_all_words_without_the_word_itself(vectors):
    words, matrix = vectors
    found = make_map(words, matrix, count=20, neighbors=5)
    keyed = KeyedVectors.of(words, matrix)
    assert found.words == words[-20:]
    for word, near in zip(found.words, found.neighbors, strict=True):
        expected = keyed.most_similar(word, topn=5)
        assert [name for name, _ in near] == [name for name, _ in expected]
        np.testing.assert_allclose([c for _, c in near], [c for _, c in expected], atol=1e-5)
    assert re.match(rf"20 of {len(words)} words, after the first \d+. PCA", found.caption)


def test_chosen_words_may_be_new_ones(vectors):
    words, matrix = vectors
    found = make_map(words, matrix, chosen=Chosen(["new", words[20]], np.stack([matrix[20] + 0.01, matrix[20]])))
    assert found.words == ["new", words[20]]
    assert found.neighbors[0][0][0] == words[20]
    assert words[20] not in [name for name, _ in found.neighbors[1]]
    assert "2 chosen of" in found.caption


def test_no_word_is_more_than_text_in_a_page(vectors):
    words, matrix = vectors
    title = "</script></title><img src=x onerror=alert(1)>\u202e\x1b[2J\n'\"&\ud800\udcff"
    parsed = Parsed(page_of(make_map(words, matrix, count=len(words)), title))
    shown = "</script></title><img src=x onerror=alert(1)>\\u202e\\x1b[2J\\x0a'\"&\\ud800\\xff"
    assert parsed.texts["title"] == parsed.texts["h1"] == shown
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("script") == 1
    assert "img" not in tags
    assert tags.count("text") == len(words)
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert sorted(parsed.words) == sorted(map(visible, words))
    for _, attributes in parsed.tags:
        if "data-near" in attributes:
            near = json.loads(attributes["data-near"])
            assert len(near) == 8
            assert {name for name, _ in near} <= set(map(visible, words))


def test_only_the_script_of_the_page_may_run():
    found = make_map(["a", "b", "c"], np.eye(3, dtype=np.float32))
    parsed, still = Parsed(page_of(found)), Parsed(page_of(found, script=""))
    assert parsed.texts["script"] == SCRIPT
    assert not {"</", "<!--"} & {SCRIPT[i : i + n] for n in (2, 4) for i in range(len(SCRIPT))}
    policy, none = (
        next(about["content"] for tag, about in each.tags if tag == "meta" and "http-equiv" in about)
        for each in (parsed, still)
    )
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "script-src 'none'" in none
    assert "script" not in [tag for tag, _ in still.tags]


def test_a_page_loads_nothing_and_equal_input_gives_equal_pages(vectors):
    words, matrix = vectors
    text = page_of(make_map(words, matrix))
    assert text == page_of(make_map(words, matrix))
    assert not re.search(r"https?://|//\w+\.\w|url\(|@import", text.replace("http://www.w3.org/2000/svg", ""))
    assert not [a for _, a in Parsed(text).tags if a.get("src") or (a.get("href") or "data:,") != "data:,"]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|eval\(|fetch|XMLHttp|import\(", SCRIPT)


def written(figure, path):
    """Return the characters without a font, and the bytes of a figure as a file."""
    missing = write_figure(figure, str(path), force=True)
    return missing, path.read_bytes()


@pytest.mark.filterwarnings("ignore:Glyph")
def test_the_labels_of_a_picture_do_not_overlap_and_the_caption_counts_those_without_room(vectors, tmp_path):
    pytest.importorskip("matplotlib")
    words, matrix = vectors
    many = np.concatenate([matrix, matrix * 1.1 + 0.001])
    figure = map_figure(make_map([*words, *(f"{w}2" for w in words)], many, neighbors=0), "Title")
    axes = figure.axes[0]
    written(figure, tmp_path / "m.png")  # selects the fonts
    figure.draw_without_rendering()
    boxes = [text.get_window_extent().extents for text in axes.texts]
    assert len(boxes) > 60
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    left, low, right, high = axes.get_window_extent().extents
    assert all(box[0] >= left and box[1] >= low and box[2] <= right and box[3] <= high for box in boxes)
    points = np.concatenate([dots.get_offsets() for dots in axes.collections])
    assert len(points) == len(many)
    assert ((points > 0) & (points < (WIDTH, HEIGHT))).all()
    caption = " ".join(text.get_text() for text in figure.texts)
    assert f"{len(many) - len(boxes)} words have no room for a label." in caption.replace("\n", " ")


def test_an_svg_file_is_well_formed_has_texts_as_they_are_and_loads_nothing(vectors, tmp_path):
    pytest.importorskip("matplotlib")
    words, matrix = vectors
    found = make_map(words, matrix, neighbors=0, count=len(words))
    missing, data = written(map_figure(found, "<Title> & more"), tmp_path / "m.svg")
    assert missing == ""  # the reader has other fonts
    root = ET.fromstring(data)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    shown = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert "<Title> & more" in shown
    labels = set(map(visible, words))
    assert len(shown & labels) > len(words) / 2
    assert len(shown - labels) < 8  # title, legend and caption
    assert not [a for element in root.iter() for a in element.attrib if a.startswith("on")]
    text = data.decode()
    assert not re.search(r"url\((?!#)|@import|href=\"(?!#)|https?://(?!www\.w3\.org/)", text)
    assert "fill: #ffffff" in text  # a background of its own, whatever the page has
    assert written(map_figure(found, "<Title> & more"), tmp_path / "m2.svg")[1] == data


@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_words_are_never_mathematics_and_characters_without_a_font_are_named(suffix, tmp_path, recwarn):
    pytest.importorskip("matplotlib")
    words = ["$x^2$", r"$\frac{", "\U000f1234", "\ufeffc"]
    figure = map_figure(make_map(words, np.eye(4, dtype=np.float32), neighbors=0), "$ and $")
    missing, data = written(figure, tmp_path / f"m.{suffix}")
    assert missing == "\U000f1234"
    assert data.startswith(b"\x89PNG" if suffix == "png" else b"%PDF")
    assert not recwarn.list
    assert not any(text.get_parse_math() for text in (*figure.texts, *figure.axes[0].texts))
    again = map_figure(make_map(words, np.eye(4, dtype=np.float32), neighbors=0), "$ and $")
    assert written(again, tmp_path / f"again.{suffix}")[1] == data


def test_a_map_without_neighbors_finds_none(vectors):
    words, matrix = vectors
    one = make_map(words, matrix, neighbors=0)
    assert one.neighbors == [[] for _ in one.words]
    assert "data-near='[]'" in page_of(one)


def test_equal_vectors_are_one_point():
    found = make_map(["a", "b", "c"], np.ones((3, 7), np.float32), neighbors=0)
    assert len(np.unique(found.points, axis=0)) == 1
    assert found.caption.startswith("All 3 words. PCA")
    assert "0% and 0% of the variance" in found.caption


def test_words_of_a_map_are_frequent_but_not_the_most_frequent_and_have_letters():
    words = [f"{i}" if i % 2 else f"word{i}" for i in range(2000)]
    places, which = content_words(words, 100)
    assert places == list(range(400, 600, 2))
    assert which == "100 of 2,000 words, after the first 200"
    places, which = content_words(words[:200], 90)
    assert (places, which) == (list(range(20, 200, 2)), "90 of 200 words, after the first 10")
    assert content_words(words[:50], 50)[0] == list(range(50))
    assert content_words(["</s>", *map(str, range(1000))], 300) == (list(range(300)), "300 of 1,001 words")
    assert content_words(["of", "東京", "the", "to"], 2)[0] == [1, 2]
    assert content_words([*map(str, range(1000)), *words[:598:2]], 300) == (
        [0, *range(1000, 1299)], "300 of 1,299 words"
    )  # fmt: skip


def test_words_are_colored_by_cluster_and_clusters_are_named_by_the_words_in_their_middle(rng):
    centers = np.repeat(np.eye(2, 10), [30, 15], axis=0)
    matrix = (centers + rng.standard_normal((45, 10)) * 0.05).astype(np.float32)
    matrix[[3, 40]] = np.eye(2, 10)  # the words in the middle
    found = make_map([f"w{i}" for i in range(45)], matrix, neighbors=0)
    assert found.groups == [0] * 30 + [1] * 15
    assert [name.split(", ")[0] for name in found.names] == ["w3", "w40"]
    assert "2 clusters by k-means" in found.caption
    assert page_of(found).count('class="c2"') == 15 + 1  # and in the legend
    pytest.importorskip("matplotlib")
    figure = map_figure(found, "Title")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == found.names
    assert [len(dots.get_offsets()) for dots in figure.axes[0].collections] == [30, 15]


def test_groups_of_chosen_words_have_a_color_or_a_ring_and_a_name(rng):
    names = [f"group {i} <b>" for i in range(6)]
    chosen = Chosen([f"w{i}" for i in range(12)], rng.standard_normal((12, 4)), [names[i % 6] for i in range(12)])
    found = make_map(["a", "b"], rng.standard_normal((2, 4)), chosen, neighbors=0)
    assert (found.names, found.groups) == (names, [i % 6 for i in range(12)])
    text = page_of(found)
    assert text.count('class="c1"') == text.count('class="c1 ring"') == 2 + 1
    assert "<b>" not in text
    pytest.importorskip("matplotlib")
    from matplotlib.colors import to_hex

    figure = map_figure(found, "Title")
    dots = figure.axes[0].collections
    assert [to_hex(d.get_edgecolor()[0]) for d in dots] == [COLORS[i % 4] for i in range(6)]
    assert [to_hex(d.get_facecolor()[0]) == "#ffffff" for d in dots] == [False] * 4 + [True] * 2  # rings
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
    assert "told apart" not in found.caption
    more = chosen._replace(groups=[f"group {i % 9}" for i in range(12)])
    found = make_map(["a", "b"], rng.standard_normal((2, 4)), more, neighbors=0)
    assert "Only 8 of 9 groups can be told apart" in found.caption
