"""`plot curves`, `plot map` and `plot counts`: what they write and say, and how they refuse what they cannot draw."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from w2vtrain.formats.vectors import write_vectors
from w2vtrain.leaves.pictures import figures, projection

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

LOG = [
    {"event": "start", "settings": {"epochs": 2, "alpha": 0.05, "min_alpha": 0.001, "seconds": None}},
    {"event": "epoch", "epoch": 1, "loss": 3.0, "words": 500, "seconds": 1.0},
    {"event": "epoch", "epoch": 2, "loss": 2.5, "words": 500, "seconds": 1.0},
]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with vectors, a vocabulary and a log."""
    vectors = np.random.default_rng(1).standard_normal((40, 6)).astype(np.float32)
    write_vectors(tmp_path / "v.txt", [f"w{i}" for i in range(40)], vectors)
    lines = "".join(f"w{i} {1000 // (i + 1)}\n" for i in range(40))
    (tmp_path / "vocab.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "ap.tsv").write_text("w1\tanimal\n", encoding="utf-8")
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in LOG), encoding="utf-8")
    return tmp_path


FORMATS = [
    *((["curves", "log.jsonl"], suffix) for suffix in ("svg", "png", "pdf")),
    *((["map", "v.txt"], suffix) for suffix in ("svg", "html")),
    (["counts", "vocab.txt"], "svg"),
]
STARTS = {"png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>", "svg": b"<?xml"}


@pytest.mark.parametrize(("words", "suffix"), FORMATS)
def test_the_suffix_selects_the_format_and_nothing_is_overwritten_without_force(w2vtrain_here, folder, words, suffix):
    name = f"a.{suffix}"
    code, out, said = w2vtrain_here(["plot", *words, "-o", name], folder)
    assert (code, out) == (0, "")
    assert said.splitlines()[-1] == f"output      {name}"
    data = (folder / name).read_bytes()
    assert data.startswith(STARTS[suffix])
    code, _, said = w2vtrain_here(["plot", *words, "-o", name], folder)
    assert code == 73
    assert re.fullmatch(rf"w2vtrain: error: {name} exists: use --force to overwrite\n", said)
    assert w2vtrain_here(["plot", *words, "-o", name, "--force", "-q"], folder) == (0, "", "")
    assert (folder / name).read_bytes() == data  # equal input gives equal pictures


def test_the_words_of_a_map_come_from_arguments_a_file_or_the_start_of_the_vectors(w2vtrain_here, folder):
    def shown(*words):
        code, _, said = w2vtrain_here(["plot", "map", "v.txt", "-o", "m.svg", "--force", *words], folder)
        assert code == 0, said
        root = ET.parse(folder / "m.svg").getroot()
        texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
        return {text for text in texts if re.fullmatch(r"w\d+", text)}, said

    (folder / "list").write_text("w7\nw9\n\nw7\r\nzz\n", encoding="utf-8")
    assert shown("-n", "3")[0] == {"w37", "w38", "w39"}
    assert shown("w5", "w30")[0] == {"w5", "w30"}
    found, said = shown("--words", "list")
    assert found == {"w7", "w9"}
    assert "v.txt: 1 of 3 words have no vector: zz" in said
    assert shown("--words", "list", "-q")[1] == ""
    assert shown("--group", "odd = w1, w3", "--group", "even=w2")[0] == {"w1", "w2", "w3"}
    (folder / "list").write_text("w7\n: late words\nw30\nw31\n", encoding="utf-8")
    assert shown("--words", "list")[0] == {"w7", "w30", "w31"}
    assert {"late words", "other words"} <= set(re.findall(r"late words|other words", (folder / "m.svg").read_text()))


def test_counts_says_what_is_left_in_numbers(w2vtrain_here, folder):
    words = ["plot", "counts", "vocab.txt", "--min-count", "50", "--sample", "0", "-o", "c.svg"]
    code, _, said = w2vtrain_here(words, folder)
    counts = [1000 // (i + 1) for i in range(40)]
    kept = sum(count for count in counts if count >= 50)
    assert code == 0
    assert f"--min-count 50 leaves 20 of 40 distinct words (50.0%) and {kept:,} of {sum(counts):,} words" in said
    assert re.search(r"s = \d\.\d+, q = \d+\.\d+", said)
    assert "--sample" not in said


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["curves", "log.jsonl", "-o", "a.gif"], 2, "a.gif: unknown suffix for this picture: use .png, .svg, .pdf\n"),
        (["curves", "log.jsonl", "-o", "a.html"], 2, "a.html: unknown suffix for this picture: use .png, .svg, .pdf\n"),
        (["map", "v.txt", "-o", "-"], 2, "-: unknown suffix for this picture: use .png, .svg, .pdf, .html\n"),
        (["map", "v.txt", "zz", "-o", "a.svg"], 65, "v.txt: has none of the 1 words: zz\n"),
        (
            ["map", "v.txt", "--words", "ap.tsv", "-o", "a.svg"],
            65,
            "; --words takes one word per line, and a line ': NAME'",
        ),
        (["map", "v.txt", "w1", "--words", "x", "-o", "a.svg"], 2, "not in two ways"),
        (["map", "v.txt", "--group", "w1", "-o", "a.svg"], 2, "--group 'w1': expected NAME=WORD,WORD"),
        (["map", "vocab.txt", "-o", "a.svg"], 65, "it has no vectors"),
        (["map", "none.txt", "-o", "a.svg"], 66, "none.txt cannot be opened"),
        (["counts", "v.txt", "-o", "a.svg"], 65, "v.txt: has no counts: name a model, or a file that `w2vtrain vocab`"),
        (["counts", "vocab.txt", "--min-count", "5000", "-o", "a.svg"], 2, "--min-count 5000 leaves no word"),
        (["counts", "vocab.txt", "--min-count", "x", "-o", "a.svg"], 78, "min-count"),
        (["curves", "vocab.txt", "-o", "a.svg"], 65, "is no log, record, model or run folder"),
        (["curves", "log.jsonl", "-o", "no/a.svg"], 73, "there is no folder"),
        (["counts", "a.svg", "-o", "./a.svg", "--force"], 2, "is both input and output"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(w2vtrain_here, folder, words, code, message):
    if "--force" in words:
        (folder / "a.svg").write_text("old", encoding="utf-8")
    ended, out, said = w2vtrain_here(["plot", *words], folder)
    assert (ended, out) == (code, "")
    assert message in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in folder.glob("*a.svg*")] == (["a.svg"] if "--force" in words else [])


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_missing_packages_are_named_before_anything_is_read(w2vtrain_here, folder, monkeypatch, package):
    monkeypatch.setattr(figures, "find_spec", lambda name: None if name == package else True)
    for words, name in ((["plot", "map"], "a.png"), (["plot", "map"], "a.html"), (["report"], "a.html")):
        code, _, said = w2vtrain_here([*words, "none.txt", "-o", name], folder)
        assert code == 78
        assert said == f"w2vtrain: error: {name}: pictures need the package {package}: pip install 'w2vtrain[plot]'\n"


def test_a_missing_package_of_a_method_is_named_before_anything_is_read(w2vtrain_here, folder, monkeypatch):
    monkeypatch.setattr(projection, "find_spec", lambda name: None)
    code, _, said = w2vtrain_here(["plot", "map", "none.txt", "-o", "a.svg", "--method", "umap"], folder)
    assert code == 78
    assert "the method umap needs the package umap-learn: pip install 'w2vtrain[map]'; pca does not\n" in said
