"""The command line with phrases: find, join, train, query, resume's check, and what is refused."""

import json
from pathlib import Path

import pytest

from w2vtrain.commands.fit_request import encoding_folder

TEXT = "he lives in new york now\nnew roads lead to york\nwe like new york a lot\n" * 20
FIT = ["--vector-size", "4", "--min-count", "1", "--epochs", "1", "--threads", "1", "--sample", "0", "-q"]


@pytest.fixture
def folder(tmp_path, w2vtrain_here):
    (tmp_path / "text").write_text(TEXT)
    words = ["phrases", "text", "-o", "joined.zst", "--save-table", "t.tsv", "--threshold", "0.05", "--threads", "1"]
    code, out, said = w2vtrain_here(words, tmp_path)
    assert (code, out) == (0, ""), said
    assert "phrases, joined" in said
    return tmp_path


def test_fit_with_phrases_is_fit_on_the_joined_text(folder, w2vtrain_here):
    for name, words in {"a.txt": ["text", "--phrases", "t.tsv"], "b.txt": ["joined.zst"]}.items():
        code, _, said = w2vtrain_here(["fit", *words, "-o", name, *FIT], folder)
        assert code == 0, said
    assert (folder / "a.txt").read_bytes() == (folder / "b.txt").read_bytes()
    code, out, _ = w2vtrain_here(["neighbors", "a.txt", "new york", "-n", "2"], folder)
    assert w2vtrain_here(["neighbors", "a.txt", "-n", "2"], folder, "new york\n") == (code, out, "")
    assert (code, out.split("\t")[0]) == (0, "new_york")
    code, out, _ = w2vtrain_here(["vocab", "text", "--phrases", "t.tsv", "--min-count", "1"], folder)
    assert "new_york 20\n" in out


def test_perplexity_needs_the_table(folder, w2vtrain_here):
    words = ["fit", "text", "--phrases", "t.tsv", "-o", "v.txt", "--save-model", "m.safetensors", "--heldout", "text"]
    code, _, said = w2vtrain_here([*words, *FIT], folder)
    assert code == 0, said
    code, _, said = w2vtrain_here(["perplexity", "m.safetensors", "text"], folder)
    assert code != 0
    assert "name their table, 't.tsv'" in said
    code, out, said = w2vtrain_here(["perplexity", "m.safetensors", "text", "--phrases", "t.tsv"], folder)
    assert code == 0, said
    assert "100.00% of the text's words" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["phrases", "text"], "name a file for the joined text"),
        (["phrases", "text", "--phrases", "t.tsv", "--threshold", "3", "-o", "x"], "have no effect"),
        (["phrases", "text", "-o", "text", "--force"], "is both input and output"),
        (["phrases", "text", "-o", "joined.zst"], "joined.zst"),
        (["fit", "text", "--phrases", "none.tsv", "-o", "v.txt"], "none.tsv"),
        (["fit", "text", "--phrases", "text", "-o", "v.txt"], "text:1: not a table of phrases"),
    ],
    ids=["no output", "two purposes", "input", "exists", "missing", "no table"],
)
def test_what_cannot_work_is_refused_in_one_line(folder, w2vtrain_here, words, message):
    code, _, said = w2vtrain_here(words, folder)
    assert code != 0
    assert message in said
    assert len(said.strip().splitlines()) == 1 or "Usage" in said


def test_a_table_that_the_environment_names_is_not_said_to_be_an_option(folder, w2vtrain_here, monkeypatch):
    monkeypatch.setenv("W2VTRAIN_PHRASES", "t.tsv")
    said = w2vtrain_here(["phrases", "text", "--save-table", "x"], folder)[2]
    assert "W2VTRAIN_PHRASES joins the phrases of a table: options that find phrases have no effect" in said


def test_a_text_without_phrases_is_said_to_have_none(folder, w2vtrain_here):
    words = ["phrases", "text", "-o", "-", "--threshold", "1e6", "--min-count", "3"]
    code, out, said = w2vtrain_here(words, folder)
    assert (code, out) == (0, TEXT)
    assert "no pair of words occurs 3 times and scores above 1e+06" in said


def test_connector_words_may_have_spaces_around_and_capitals(folder, w2vtrain_here):
    """The text has `lives in new` and `a lot`, of which `in` and `a` could connect words."""

    def table(words):
        words = ["phrases", "text", "--save-table", "x.tsv", "--force", "--connector-words", words]
        assert w2vtrain_here(words, folder)[0] == 0
        return (folder / "x.tsv").read_text()

    assert table("to,in") == table(" to, in ") != table("to")
    assert table("English") == table("english")


def test_a_table_that_joins_nothing_is_named(folder, w2vtrain_here):
    (folder / "upper").write_text(TEXT.upper())
    for words in (["fit", "upper", "-o", "v.txt", *FIT[:-1]], ["phrases", "upper", "-o", "x"]):
        code, _, said = w2vtrain_here([*words, "--phrases", "t.tsv"], folder)
        assert (code, "upper: has no phrase of t.tsv, as a short text may; a long one" in said) == (0, True)


def test_a_table_is_applied_to_other_text(folder, w2vtrain_here):
    (folder / "other").write_text("saw new york\n\nx\n")
    code, out, _ = w2vtrain_here(["phrases", "other", "--phrases", "t.tsv", "-o", "-", "-q"], folder)
    assert (code, out) == (0, "saw new_york\n\nx\n")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no device files")
def test_text_for_a_device_is_not_encoded_in_the_folder_of_devices(tmp_path):
    assert encoding_folder(None, "/dev/null") is None
    assert encoding_folder(None, str(tmp_path / "joined.txt")) == tmp_path.resolve()
    assert encoding_folder("cache", "/dev/null") == Path("cache")


def test_a_phrase_that_several_delimiters_join_is_unknown(folder, w2vtrain_here):
    (folder / "v.txt").write_text("new-york 1 2\nnew+york 2 1\nold 1 1\n")
    code, _, said = w2vtrain_here(["neighbors", "v.txt", "new york"], folder)
    assert code != 0
    assert "'new york'" in said


@pytest.mark.slow
def test_compare_joins_phrases_in_all_of_its_texts(folder, w2vtrain_here):
    (folder / "s.toml").write_text('phrases = "t.tsv"\n')
    words = ["compare", "text", "--heldout", "text", "--objectives", "neg", "--size", "4", "--min-count", "1"]
    for name, more in {
        "a": ["--epochs", "1", "--config", "s.toml"],
        "b": ["--seconds", "0.2", "--phrases", "t.tsv"],
    }.items():
        code, _, said = w2vtrain_here([*words, "-o", name, *more, "--threads", "1"], folder)
        assert code == 0, said
        found = json.loads((folder / name / "compare.json").read_text())
        assert '"coverage": 1.0' in json.dumps(found)
