"""The words and the order of a vocabulary, and its file."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import count

from w2vtrain.errors import DataError, OutputError
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary, no_tokens, select

WORDS = st.text(st.characters(exclude_characters="\0 \t\n\r\v\f", exclude_categories=["Cs"]), min_size=1, max_size=4)


def pairs(vocabulary):
    return list(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


@settings(deadline=None)
@given(
    st.dictionaries(WORDS.map(str.encode), st.integers(0, 4), max_size=30),
    st.integers(0, 3),
    st.none() | st.integers(1, 9),
)
def test_select_sorts_words_and_applies_min_count_and_max_vocab(counts, min_count, max_vocab):
    words = list(counts)
    chosen = select(
        np.array(list(counts.values()), np.int64), lambda numbers: [words[i] for i in numbers], min_count, max_vocab
    )
    want = sorted((w for w in words if counts[w] >= max(1, min_count)), key=lambda w: (-counts[w], w))
    assert [words[i] for i in chosen] == want[:max_vocab]


@given(st.dictionaries(WORDS, st.integers(0, 2**57) | st.integers(0, 17).map(lambda n: 10**n), max_size=20))
def test_the_size_of_the_text_is_known_without_it(counts):
    vocabulary = Vocabulary(list(counts), np.array(list(counts.values()), np.int64))
    assert vocabulary.text_size() == len(vocabulary.text())


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xef\xbb\xbfthe 50\nof 5\n")
    assert Vocabulary.load(path).words == ["the", "of"]
    marked = Vocabulary(["\ufeffthe", "of"], np.array([5, 3]))
    marked.save(path, force=True)
    assert Vocabulary.load(path).words == marked.words
    assert path.stat().st_size == marked.text_size()


def test_a_count_may_begin_with_zeros(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text(f"a {'0' * 30}1234\nb 5\n")
    assert Vocabulary.load(path).counts.tolist() == [1234, 5]
    path.write_text(f"a {'0' * 30}\nb 5\n")
    with pytest.raises(DataError, match="must be at least 1"):
        Vocabulary.load(path)


@settings(deadline=None)
@given(st.dictionaries(WORDS, st.integers(1, 2**57), min_size=2, max_size=20))
def test_a_saved_vocabulary_is_loaded_unchanged(counts):
    order = sorted(counts, key=lambda w: (-counts[w], w.encode()))
    vocabulary = Vocabulary(order, np.array([counts[w] for w in order]))
    with tempfile.TemporaryDirectory() as folder:
        vocabulary.save(Path(folder, "v"))
        loaded = Vocabulary.load(Path(folder, "v"))
        assert pairs(loaded) == pairs(vocabulary)
        assert loaded.counts.dtype == np.int64
        with pytest.raises(OutputError):
            vocabulary.save(Path(folder, "v"))
        vocabulary.save(Path(folder, "v"), force=True)


def test_the_file_has_the_format_of_word2vec(tmp_path, capsysbinary):
    vocabulary = Vocabulary(["the", "caf\u00e9"], np.array([9, 2]))
    vocabulary.save(tmp_path / "v")
    assert (tmp_path / "v").read_bytes() == "the 9\ncaf\u00e9 2\n".encode()
    vocabulary.save("-")
    assert capsysbinary.readouterr().out == "the 9\ncaf\u00e9 2\n".encode()
    (tmp_path / "w").write_bytes(b"</s> 3\nb 7\r\na\t7\nc 1")  # word2vec puts </s> first, regardless of its count
    loaded = Vocabulary.load(tmp_path / "w")
    assert pairs(loaded) == [("a", 7), ("b", 7), ("</s>", 3), ("c", 1)]
    assert loaded.index == {"a": 0, "b": 1, "</s>": 2, "c": 3}
    assert len(loaded) == 4


def test_the_end_of_a_sentence_that_never_occurs_is_skipped_on_the_first_line(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("</s> 0\nthe 50\nof 5\n")  # word2vec.c writes it for a text without newlines
    assert pairs(Vocabulary.load(path)) == [("the", 50), ("of", 5)]
    path.write_text("the 50\n</s> 0\nof 5\n")
    with pytest.raises(DataError, match=r"vocab\.txt:2: a word's count must be at least 1"):
        Vocabulary.load(path)


def test_blank_lines_at_the_end_are_left_out(tmp_path):
    (tmp_path / "v").write_bytes(b"the 50\nof 5\n\n \r\n\t")
    assert pairs(Vocabulary.load(tmp_path / "v")) == [("the", 50), ("of", 5)]


def test_a_last_line_without_newline_may_be_cut_off(tmp_path, caplog):
    (tmp_path / "v").write_bytes(b"a 7\r\nb 123\r\n")
    Vocabulary.load(tmp_path / "v")
    assert not caplog.messages
    (tmp_path / "v").write_bytes(b"a 7\nb 12")
    assert pairs(Vocabulary.load(tmp_path / "v")) == [("b", 12), ("a", 7)]
    problem = "v: the last line has no newline: the file may be cut off, and digits be missing"
    assert caplog.messages == [str(tmp_path / problem)]


@pytest.mark.parametrize(
    ("data", "where", "message"),
    [
        (b"a 1\nb\n", ":2", "expected a word, a space and a count, got b'b'"),
        (b"a 1\n\nb 1\n", ":2", "expected a word"),
        (b"a 1\nc 1\n\n \nb 1\n\n", ":3", "expected a word"),
        (b"a 1\nb 1 1\n", ":2", "expected a word"),
        (b"a 1\nb -1\n", ":2", "expected a word"),
        (b"a 1\nb 1.5\n", ":2", "expected a word"),
        ("a 1\nb \u0661\n".encode(), ":2", "expected a word"),
        (b"a 1\nb\0c 1\n", ":2", "expected a word"),
        (b"a 0\nb 1\n", ":1", "at least 1"),
        (b"a 9223372036854775808\nb 1\n", ":1", "at least 1"),
        (b"a " + b"9" * 2500 + b"\nb 1\n", ":1", "at least 1"),
        (b"a " + b"9" * 5000 + b"\nb 1\n", ":1", "more than 3,100 bytes"),
        (b"a 1\nb" + b"b" * 4000 + b" 2\n", ":2", "more than 3,100 bytes"),
        (b"a 1\nb 2\na 1\n", ":3", "'a' occurs twice, first on line 1"),
        (b"a 1\nb\xff 2\n", ":2", "not UTF-8 at byte 1"),
        (b"", "", "0 words"),
        (b"a 1\n", "", "at least 2 distinct words"),
    ],
)
def test_a_malformed_file_raises_a_data_error_with_the_line(tmp_path, data, where, message):
    (tmp_path / "v").write_bytes(data)
    with pytest.raises(DataError, match=f"^{tmp_path}/v{where}: .*{message}"):
        Vocabulary.load(tmp_path / "v")


@settings(deadline=None)
@given(st.binary(max_size=30))
def test_loading_any_bytes_succeeds_or_raises_a_data_error(data):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "v").write_bytes(data)
        try:
            vocabulary = Vocabulary.load(Path(folder, "v"))
        except DataError:
            return
    assert Counter(dict(pairs(vocabulary))) == {
        w.decode(): int(c) for w, c in (line.split() for line in data.rstrip().split(b"\n"))
    }


def test_the_longest_words_of_a_corpus_can_be_saved_and_loaded(tmp_path):
    """A token of 1,000 bytes that are not UTF-8 becomes a word of 3,000 bytes."""
    (tmp_path / "text").write_bytes(b"\xff" * 1000 + b" a a a")
    vocabulary, _ = count(Corpus([str(tmp_path / "text")]), min_count=1)
    assert sorted(len(word.encode()) for word in vocabulary.words) == [1, 3000]
    vocabulary.save(tmp_path / "v")
    assert pairs(Vocabulary.load(tmp_path / "v")) == pairs(vocabulary)


def test_an_empty_pipe_is_an_error_that_says_what_to_do():
    assert "pipe the text into the command" in str(no_tokens("standard input", 0, 0))
    assert "pipe" not in str(no_tokens("corpus.txt", 0, 0))
