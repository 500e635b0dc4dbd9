"""The byte tokenizer and its hash table, compared with Python's bytes and dict."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from w2vtrain.kernels.jit import kernel
from w2vtrain.text import word_table
from w2vtrain.text.scan import PIECE_BYTES, piece, piece_by_bytes
from w2vtrain.text.word_table import LINE_END


def add(text, table=None):
    data = np.frombuffer(text, np.uint8)
    out, state = np.full(data.size, 99, np.int32), np.zeros(word_table.STATES, np.int64)
    table = word_table.add(data, table or word_table.empty(), out, state)
    return table, out[: state[word_table.WRITTEN]].tolist(), state


def words_of(table):
    return table.words(np.arange(table.types))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"ab", b"b", b" ", b"\n", b"\r", b"\xff", b"q" * 999]), max_size=50).map(b"".join)
    | st.binary(max_size=200)
)
def test_numbers_and_counts_equal_those_of_python(text):
    table, numbers, state = add(text)
    found = [t for t in re.split(rb"[ \t\r\v\f]+|(\n)", text) if t]
    kept = [t for t in found if len(t) <= 1000]
    words = words_of(table)
    assert [b"\n" if n == LINE_END else words[n] for n in numbers] == kept
    counts = Counter(t for t in kept if t != b"\n")
    assert dict(zip(words, table.counts.tolist(), strict=False)) == counts
    assert words == list(counts)  # numbered in order of first occurrence
    assert state[word_table.TOKENS] == sum(counts.values())
    assert state[word_table.LINES] == text.count(b"\n")
    assert state[word_table.OVERLONG] == len(found) - len(kept)


@kernel()
def pieces(text, ends, found):
    """Call the compiled `piece` at every position, with these ends."""
    for i in range(len(text)):
        found[i, 0], found[i, 1], found[i, 2] = piece(text, i, ends[i])


@settings(deadline=None)
@given(st.binary(max_size=80) | st.text("ab\u00e9 \n\0", max_size=40).map(str.encode), st.data())
def test_pieces_equal_the_words_that_python_splits(text, data):
    """Compare both versions, 16 bytes at a time and one byte at a time, with a regular expression."""
    array, found = np.frombuffer(text, np.uint8), np.zeros((len(text), 3), np.uint64)
    ends = np.array([data.draw(st.integers(i, len(text))) for i in range(len(text))], np.int64)
    pieces(array, ends, found)
    for i, end in enumerate(ends.tolist()):
        word = re.match(rb"[^ \t\n\r\v\f]*", text[i:end])[0][:PIECE_BYTES]
        assert tuple(map(int, piece_by_bytes(array, i, end))) == tuple(found[i].tolist())
        assert found[i, :2].tobytes()[: len(word)] == word
        assert found[i, :2].tobytes()[len(word) :] == bytes(PIECE_BYTES - len(word))
        assert found[i, 2] == len(word)


def test_ascii_white_space_separates_words_and_all_other_bytes_are_part_of_them():
    for byte in range(1, 256):
        text = b"a" + bytes([byte]) + b"b"
        assert words_of(add(text)[0]) == re.findall(rb"[^ \t\n\r\v\f]+", text)


def test_a_table_grows_in_number_of_words_and_in_bytes():
    table = word_table.empty(types=2, arena=4)
    words = [b"%d" % (n * n) for n in range(5000)] + [b"x" * 1000]
    table, numbers, _ = add(b" ".join(words + words), table)
    assert numbers == [*range(5001), *range(5001)]
    assert words_of(table) == words
    assert set(table.counts[:5001].tolist()) == {2}
    assert table.slots.size >= 2 * table.types


@settings(deadline=None)
@given(st.text("ab\u00e9 \n\t", max_size=60).map(str.encode), st.lists(st.integers(0, 100)))
def test_text_cut_at_any_white_space_gives_the_same_numbers_and_counts(text, cuts):
    whole, numbers, state = add(text)
    places = [0, *sorted({c for c in cuts if text[c : c + 1].isspace()}), len(text)]
    table, found, total = word_table.empty(types=1, arena=1), [], 0
    for start, end in pairwise(places):
        table, more, counted = add(text[start:end], table)
        found, total = found + more, total + counted[word_table.TOKENS]
    assert found == numbers
    assert words_of(table) == words_of(whole)
    assert table.counts[: table.types].tolist() == whole.counts[: whole.types].tolist()
    assert total == state[word_table.TOKENS]


def test_merge_adds_counts_and_grows_the_table():
    source = add(b" ".join(b"%d" % n for n in range(1000)) + b" 7 7")[0]
    into, _, _ = add(b"500 x 500", word_table.empty(types=2, arena=8))
    into, numbers = word_table.merge(source, into)
    assert into.words(numbers) == words_of(source)
    assert numbers[500] == 0
    assert into.counts[numbers[500]] == 3
    assert into.counts[numbers[7]] == 3
    assert into.types == 1001


def test_listed_words_are_numbered_in_order():
    words = [b"b", b"a", b"", b"y" * 2000]
    table, numbers = word_table.merge(word_table.listed(words), word_table.empty(types=2, arena=2))
    assert numbers.tolist() == [0, 1, 2, 3]
    assert words_of(table) == words
    assert not table.counts.any()
    assert word_table.merge(word_table.listed([]), table)[1].size == 0


def test_words_with_the_same_hash_get_different_numbers():
    table = word_table.empty(types=8, arena=64)
    words = [b"ab", b"ac", b"abc", b"b", b"a", b"x" * 16 + b"a", b"x" * 16 + b"b"]
    for _ in range(2):
        pieces = [(np.frombuffer(w, np.uint8), *piece_by_bytes(w, 0, len(w))[:2]) for w in words]
        found = [word_table._number(table, text, 0, text.size, *head, np.uint64(0)) for text, *head in pieces]
        assert found == [0, 1, 2, 3, 4, 5, 6]
    assert words_of(table) == words


def test_words_that_are_not_utf8_are_those_that_pythons_codec_changes():
    words = [bytes([a, b]) for a in range(0x80, 0x100) for b in range(0x80, 0x100)]
    words += [bytes([a, b, 0x80]) for a in range(0xE0, 0xF0) for b in range(0x80, 0xC0)]
    words += [bytes([a, b, 0x80, 0xBF]) for a in range(0xF0, 0x100) for b in range(0x80, 0xC0)]
    words[1000:1000], words[-1:] = [b"plain", b"x" * 40], [words[-1], b"end"]
    table = add(b" ".join(words))[0]
    assert words_of(table) == words
    odd = [i for i, word in enumerate(words) if word.decode("utf-8", "ignore").encode() != word]
    assert table.not_utf8() == odd
    assert 0 < len(odd) < len(words)
