"""Phrases: the same as gensim's, whatever the threads and the memory; tables; joining before the vocabulary."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import count, encode

import w2vtrain
from tests.text.gensim_phrases import CASES, SIZES, STORED, by_gensim, digest, lines
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.text.encoded import read
from w2vtrain.text.phrase_finding import find_in
from w2vtrain.text.phrase_joining import joined_text
from w2vtrain.text.phrase_table import COLUMNS, MAGIC, Phrase, PhraseTable, Scoring
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import Sentences

WORDS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "of"]), max_size=8), min_size=1, max_size=30)
TABLE = PhraseTable(Scoring(passes=2), ((Phrase(("new", "york"), 9, 5.5),), (Phrase(("new_york", "city"), 4, 2.0),)))


def found(path, scoring, threads=2, **memory):
    """Return the table and the joined text of a file that is split as Python splits."""
    with read(Corpus([str(path)], "unicode", block_bytes=1 << 18), threads=threads) as counted:
        text = counted.text()
    table, joined = find_in(text, scoring, threads=threads, **memory)
    return table, b"".join(joined_text(joined, 1 << 16))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", ["part", pytest.param("all", marks=pytest.mark.slow)])
def test_phrases_are_those_that_gensim_found(tmp_path, size, case):
    stored = json.loads(STORED.read_text(encoding="utf-8"))[f"{size}, {case}"]
    path = tmp_path / "text"
    path.write_text("\n".join(lines(SIZES[size])) + "\n", encoding="utf-8", newline="\n")
    table, text = found(path, CASES[case])
    assert digest(text) == stored["digest"]
    scores = {table.joined(phrase): phrase.score for phrase in table.passes[-1]}
    assert len(scores) >= stored["joined"]
    assert len(stored["scores"]) > 5
    assert {name: scores[name] for name in stored["scores"]} == pytest.approx(stored["scores"], rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(WORDS, st.sampled_from(["original", "npmi"]), st.sampled_from([(), ("of",)]), st.integers(1, 3))
def test_phrases_of_many_small_texts_are_those_of_gensim(sentences, scoring, connectors, passes):
    pytest.importorskip("gensim.models.phrases")
    how = Scoring(scoring, 0.1, 1, "_", passes, connectors)
    texts = [" ".join(sentence) for sentence in sentences]
    if not any(texts):
        return
    with read(Sentences([text.split() for text in texts])) as counted:
        text = counted.text()
    table, joined = find_in(text, how)
    scores, expected = by_gensim(texts, how)
    assert b"".join(joined_text(joined)) == expected
    assert scores.keys() <= {table.joined(phrase) for phrase in table.passes[-1]}
    again = [" ".join(table.join(sentence)) for sentence in sentences]
    assert "".join(f"{line}\n" for line in again).encode() == expected


def test_threads_and_memory_change_nothing(tmp_path):
    path = tmp_path / "text"
    path.write_text("\n".join(lines(1000)) + "\n", encoding="utf-8", newline="\n")
    how = CASES["connector words"]
    table, text = found(path, how, 1)
    assert len(table) > 100
    assert found(path, how, 3, table_bytes=1) == (table, text)


def test_a_corpus_without_newlines_is_joined_across_blocks(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"x new york y of " * 20_000)
    table, text = found(path, Scoring(threshold=0.0001, min_count=100), 3)
    assert text.count(b"\n") == 1
    assert text == (" ".join(table.join(path.read_text().split())) + "\n").encode()


def test_encoding_with_phrases_is_encoding_the_joined_text(tmp_path):
    (tmp_path / "plain").write_text("new york city\n\nin new york\nnew city york\n" * 3)
    (tmp_path / "joined").write_text("new_york_city\n\nin new_york\nnew city york\n" * 3)
    corpus = Corpus([str(tmp_path / "plain")])
    corpus.phrases = TABLE
    one, two = encode(corpus, min_count=1, threads=2), encode(Corpus([str(tmp_path / "joined")]), min_count=1)
    assert one.vocabulary.words == two.vocabulary.words
    assert np.array_equal(one.tokens, two.tokens)
    assert one.stats.token_count == two.stats.token_count
    assert count(corpus, min_count=1)[0].words == two.vocabulary.words


def test_a_table_survives_its_file_and_an_editor_that_adds_a_byte_order_mark(tmp_path):
    TABLE.save(tmp_path / "t.tsv.gz")
    (tmp_path / "notepad.tsv").write_text(gzip.decompress((tmp_path / "t.tsv.gz").read_bytes()).decode(), "utf-8-sig")
    for name in ("t.tsv.gz", "notepad.tsv"):
        again = PhraseTable.load(tmp_path / name)
        assert (again.scoring, again.passes) == (TABLE.scoring, TABLE.passes)
    many = PhraseTable(Scoring(connector_words=tuple(f"{i:08}" for i in range(10_000))), ((),))
    many.save(tmp_path / "many.tsv")
    assert PhraseTable.load(tmp_path / "many.tsv").scoring == many.scoring


HEAD = MAGIC + (
    '{"scoring":"npmi","threshold":0.5,"min_count":5,"delimiter":"_","passes":1,"connector_words":["of"]}\n'
)
BROKEN = {
    "empty": ("", "1: not a table of phrases"),
    "vectors": ("2 3\na 1 2 3\n", "1: not a table of phrases"),
    "json": (MAGIC + "{\n", "1: the settings are not JSON"),
    "deep": (MAGIC + "[" * 30_000 + "\n", "1: "),
    "no list": (HEAD.replace('["of"]', '"of"'), "1: Expected `array`"),
    "threshold": (HEAD.replace("0.5", "NaN"), "1: threshold: "),
    "delimiter": (HEAD.replace('"_"', '" "'), "1: delimiter: "),
    "passes": (HEAD.replace('"passes":1', '"passes":1000'), "1: passes: "),
    "a fraction": (HEAD.replace('"passes":1', '"passes":1.5'), "1: Expected `int`"),
    "columns": (HEAD + "x\n", "2: expected the names of the columns"),
    "fewer": (HEAD + COLUMNS + "\n1\ta b\t5\n", "3: expected 4 columns"),
    "pass": (HEAD + COLUMNS + "\n2\ta b\t5\t0.6\n", "3: expected a pass from 1 to 1"),
    "one word": (HEAD + COLUMNS + "\n1\ta\t5\t0.6\n", "3: expected two or more words"),
    "spaces": (HEAD + COLUMNS + "\n1\ta  b\t5\t0.6\n", "3: expected two or more words"),
    "connector": (HEAD + COLUMNS + "\n1\tof b\t5\t0.6\n", "3: 'of b': connector words"),
    "middle": (HEAD + COLUMNS + "\n1\ta b c\t5\t0.6\n", "3: 'a b c': connector words"),
    "count": (HEAD + COLUMNS + "\n1\ta b\tfive\t0.6\n", "3: expected 4 columns"),
}


def test_a_last_line_without_newline_may_be_cut_off(tmp_path, caplog):
    path = tmp_path / "table.tsv"
    path.write_text(HEAD + COLUMNS + "\n1\ta b\t5\t0.6125\n")
    PhraseTable.load(path)
    assert not caplog.messages
    path.write_text(HEAD + COLUMNS + "\n1\ta b\t5\t0.61")
    assert PhraseTable.load(path).passes == ((Phrase(("a", "b"), 5, 0.61),),)
    assert caplog.messages == [f"{path}: the last line has no newline: the file may be cut off, and digits be missing"]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_refused_with_file_and_line(tmp_path, name):
    text, message = BROKEN[name]
    path = tmp_path / "table.tsv"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        PhraseTable.load(path)
    assert str(error.value).startswith(f"{path}:{message}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("empty", ["", "a\tb"])
def test_phrases_that_no_line_can_hold_are_not_saved(tmp_path, empty):
    table = w2vtrain.find_phrases([["new", empty, "york"]] * 20, threshold=0.01)
    with pytest.raises(DataError, match="has an empty word, or white space in one"):
        table.save(tmp_path / "t.tsv")


@pytest.mark.parametrize("wrong", [
    {"threshold": 2.0, "scoring": "npmi"}, {"threshold": True}, {"threshold": "x"}, {"scoring": ["npmi"]},
    {"min_count": 2.5}, {"passes": 0}, {"passes": True}, {"delimiter": ""}, {"delimiter": 5},
    {"connector_words": "english"}, {"connector_words": ["of", 5]}, {"epochs": 9}, {"phrases": "t.tsv"},
], ids=str)  # fmt: skip
def test_parameters_out_of_range_or_without_effect_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        w2vtrain.find_phrases([["a", "b"]], **wrong)


def test_python_finds_saves_and_trains_with_phrases(tmp_path):
    sentences = [[str(i), "new", "york"] for i in range(20)] + [["new"], ["york"]] * 5
    table = w2vtrain.find_phrases(sentences, threshold=1, threads=1)
    assert table.join(["new", "york"]) == ["new_york"]
    with pytest.raises(TypeError, match="pass its split"):
        table.join("new york")
    with pytest.raises(TypeError, match=r"words of one sentence, each a str; got \['new', 'york'\]$"):
        table.join([["new", "york"], ["is"]])
    table.save(tmp_path / "t.tsv")
    model = w2vtrain.train(
        sentences, phrases=tmp_path / "t.tsv", vector_size=4, min_count=1, epochs=1, threads=1, sample=0
    )
    assert "new_york" in model.words
    with pytest.raises(ConfigError, match="trained with phrases"):
        w2vtrain.continue_training(model, sentences, 1, threads=1)
