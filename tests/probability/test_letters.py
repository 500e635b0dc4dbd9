"""The letters of words: BEGIN, bytes, END and padding, determined by the words alone."""

import numpy as np
import pytest

from w2vtrain.probability.characters import BEGIN, END, MAX_SPELLED_BYTES, PADDING, spell


def spelled_naively(words, longest=MAX_SPELLED_BYTES):
    """Spell one word and one letter at a time."""
    cut = [list(word.encode())[:longest] for word in words]
    alphabet = sorted({byte for word in cut for byte in word})
    lines = [[BEGIN, *(alphabet.index(byte) + END + 1 for byte in word), END] for word in cut]
    width = max(map(len, lines))
    return [line + [PADDING] * (width - len(line)) for line in lines], [len(line) for line in lines], len(alphabet) + 3


@pytest.mark.parametrize("words", [["the", "a", "né", "日本", "the", "x" * 40], ["a"], ["</s>", "<unk>", "N"], [""]])
@pytest.mark.parametrize("longest", [MAX_SPELLED_BYTES, 2])
def test_spell_agrees_with_its_reference_implementation(words, longest):
    letters, lengths, size = spell(words, longest)
    expected = spelled_naively(words, longest)
    assert (letters.tolist(), lengths.tolist(), size) == expected
    assert letters.dtype == np.uint8
    assert lengths.dtype == np.int32


def test_spell_cuts_words_off_after_the_maximum_number_of_bytes():
    long, longer = "ab" * 16, "ab" * 16 + "c"
    letters, lengths, size = spell([long, longer])
    assert letters.shape == (2, MAX_SPELLED_BYTES + 2)
    assert lengths.tolist() == [MAX_SPELLED_BYTES + 2] * 2
    np.testing.assert_array_equal(letters[0], letters[1])
    assert size == 5, "a byte that is always cut off is in the alphabet"


def test_every_byte_of_utf8_has_an_id():
    words = [chr(code) for code in [*range(0x800), *range(0x800, 0x110000, 61)]]
    letters, _, size = spell(words)
    assert size == 243 + 3
    assert letters.max() == size - 1


def test_spell_accepts_an_empty_list_of_words():
    letters, lengths, size = spell([])
    assert (letters.shape, lengths.shape, size) == ((0, 2), (0,), 3)
