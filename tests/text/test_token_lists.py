"""Lists of words from Python: any words, the same ids as from a file, errors of the iterable, and bounded memory."""

import tempfile
import threading
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memory import traced
from reference import count, encode

from w2vtrain.errors import DataError, TokenError
from w2vtrain.text import token_lists as module
from w2vtrain.text.encoded import read
from w2vtrain.text.source import MAX_TOKEN_BYTES, Source
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import Sentences, escaped, unescaped
from w2vtrain.text.vocabulary import Vocabulary

ODD = [
    "",
    " ",
    "  ",
    "new york",
    "a\n",
    "\t",
    "\x10",
    "\x1f",
    "\x100020",
    "\x10a",
    "a\0",
    "\0",
    "\ud800",
    "\ud83d\ude00",
]
PLAIN = ["a", "b", "cd", "</s>", "\u00e9", "\u00a0", "\u6c34", "\U0001f600", "\u2028", "\x1c", "x" * 1000, "\ufeff"]
PLAIN_LISTS = st.lists(st.lists(st.sampled_from(PLAIN), max_size=6), min_size=1, max_size=25)
LISTS = st.lists(
    st.lists(st.sampled_from(ODD + PLAIN[:8]) | st.text(st.characters(), max_size=3), max_size=6),
    min_size=1,
    max_size=25,
)


def utf8(word):
    return word.encode("utf-8", "surrogatepass")


def pairs_of(vocabulary):
    return list(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


def reference(lists, min_count=1, max_sentence=10_000):
    """Return the (word, count) pairs of the vocabulary, and the ids with -1 after each sentence."""
    counts = Counter(word for words in lists for word in words)
    pairs = sorted(((w, n) for w, n in counts.items() if n >= min_count), key=lambda pair: (-pair[1], utf8(pair[0])))
    index = {word: i for i, (word, _) in enumerate(pairs)}
    parts = [words[i : i + max_sentence] for words in lists for i in range(0, len(words), max_sentence)]
    ids = [[index[word] for word in part if word in index] for part in parts]
    return pairs, [i for sentence in ids if sentence for i in [*sentence, -1]]


def test_files_and_lists_are_sources(tmp_path):
    (tmp_path / "text").write_text("a b")
    assert isinstance(Sentences([["a"]]), Source)
    assert isinstance(Corpus([str(tmp_path / "text")]), Source)
    assert not isinstance([["a"]], Source)
    with (tmp_path / "text").open("rb") as file:
        assert not isinstance(file, Source)  # although it can be read


@settings(max_examples=150)
@given(lists=PLAIN_LISTS, block=st.sampled_from([1, 7, 100, 1 << 22]), threads=st.integers(1, 3), end=st.booleans())
def test_ids_vocabulary_and_statistics_equal_those_of_a_file_with_the_same_sentences(lists, block, threads, end):
    options = {"min_count": 1, "max_sentence": 4, "sentence_end": end}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        path.write_text("".join(" ".join(words) + "\n" for words in lists), encoding="utf-8", newline="\n")
        if path.read_bytes().startswith(b"\xef\xbb\xbf"):
            return  # in a file, this is a byte order mark
        source = Sentences(iter(lists), block_bytes=block)
        try:
            want = encode(Corpus([str(path)]), **options)
        except DataError:
            with pytest.raises(DataError):
                encode(source, **options, threads=threads)
            return
        found = encode(source, **options, threads=threads)
        assert found.tokens.tolist() == want.tokens.tolist()
        assert pairs_of(found.vocabulary) == pairs_of(want.vocabulary)
        assert found.sample == want.sample
        assert vars(found.stats) == {**vars(want.stats), "files": 0}


@settings(max_examples=250)
@given(
    lists=LISTS,
    block=st.sampled_from([1, 9, 60, 1 << 22]),
    threads=st.integers(1, 3),
    max_sentence=st.integers(1, 4) | st.just(10_000),
    min_count=st.integers(1, 2),
)
@example(lists=[["", ""], [], [""], ["a b", "a", "b"]], block=1 << 22, threads=1, max_sentence=9, min_count=1)
@example(lists=[["a b", "", "c"], ["a"]], block=1 << 22, threads=1, max_sentence=9, min_count=1)
@example(lists=[["\ud83d\ude00", "\U0001f600"]], block=1, threads=1, max_sentence=9, min_count=1)
def test_any_strings_can_be_words(lists, block, threads, max_sentence, min_count):
    pairs, ids = reference(lists, min_count, max_sentence)
    source = Sentences(lists, block_bytes=block)
    if len(pairs) < 2:
        with pytest.raises(DataError):
            encode(source, min_count=min_count)
        return
    found = encode(source, min_count=min_count, max_sentence=max_sentence, threads=threads)
    assert pairs_of(found.vocabulary) == pairs
    assert found.tokens.tolist() == ids
    assert found.stats.lines == len(lists)
    again = encode(source, vocabulary=found.vocabulary, max_sentence=max_sentence)
    assert again.tokens.tolist() == ids
    assert pairs_of(count(source, min_count=min_count, threads=threads)[0]) == pairs


@given(st.text(st.characters(), max_size=5) | st.sampled_from(ODD))
def test_escaping_is_reversible_and_leaves_no_white_space(word):
    token = escaped(word).encode()
    assert token.split() == [token]
    assert unescaped(token) == utf8(word)


def test_only_sentences_with_words_that_need_it_are_escaped(monkeypatch):
    seen = []
    monkeypatch.setattr(module, "escaped", lambda word: seen.append(word) or escaped(word))
    plain = [["a\u00a0b", "c\0", "\u2028"], [], ["d"]]
    assert b"".join(Sentences([*plain, ["d"]] * 9).read()).count(b"\n") == 36
    assert not seen
    list(Sentences([*plain, ["new york", "e"], ["d"]]).read())
    assert "new york" in seen
    assert "d" not in seen


def test_words_of_more_than_1000_bytes_are_skipped_and_counted():
    lists = [["a", "x" * MAX_TOKEN_BYTES, "y" * (MAX_TOKEN_BYTES + 1)], ["\u00e9" * 501, "b " * 500, "b " * 501, "a"]]
    ids = encode(Sentences(lists, block_bytes=1), min_count=1, threads=2)
    assert ids.vocabulary.words == ["a", "b " * 500, "x" * MAX_TOKEN_BYTES]
    assert ids.tokens.tolist() == [0, 2, -1, 1, 0, -1]
    assert ids.stats.overlong == 3


def test_sentences_may_be_any_iterables_of_words():
    class Own:
        def __getitem__(self, i):
            return ["c", "a"][i]

    def reusing():
        words = []
        for sentence in [["a", "b"], ["a"], ["c", "a"]]:
            words[:] = sentence
            yield words

    lists = [["a", "b"], ["a"], ["c", "a"]]
    want = encode(Sentences(lists), min_count=1)
    for same in (tuple(map(tuple, lists)), (iter(words) for words in lists), reusing()):
        assert encode(Sentences(same), min_count=1).tokens.tolist() == want.tokens.tolist()
    found = encode(Sentences([np.array(["a", "b"]), {"a": 1}.keys(), Own()]), min_count=1)
    assert found.tokens.tolist() == want.tokens.tolist()
    assert {type(word) for word in found.vocabulary.words} == {str}


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("a b", r"^expected an iterable of sentences, each of them a list of words, got 'a b'$"),
        (b"a b", "got b'a b'"),
        (7, "got 7"),
        (["a b", "c"], r"^sentences\[0\] is 'a b': each sentence must be a list of words"),
        ([["a"], b"b"], r"^sentences\[1\] is b'b': each sentence must be a list of words"),
        (np.array([1, 2]), r"^sentences\[0\] is np.int64\(1\): each sentence must be a list of words"),
        ([["a"], {"text": "a b"}], r"^sentences\[1\] is {'text': 'a b'}: each .*, or row\['text'\].split\(\)"),
        (
            [[["a", "b"], ["c"]]],
            r"^sentences\[0\]\[0\] is .*pass \[sentence for document in documents for sentence in document",
        ),
        ([["a"], None], r"^sentences\[1\] is None: each sentence must be a list of words"),
        ([["a"], ["b", "c", 7, "d"]], r"^sentences\[1\]\[2\] is 7 \(int\): words must be str: pass \[\[str\(word\)"),
        ([["a"], ["b", b"c"]], r"^sentences\[1\]\[1\] is b'c' \(bytes\): words must be str"),
    ],
)
def test_anything_but_lists_of_strings_is_refused(sentences, message):
    with pytest.raises(TokenError, match=message) as error:
        encode(Sentences(sentences), min_count=1, threads=2)
    assert isinstance(error.value, TypeError)
    assert isinstance(error.value, DataError)


@pytest.mark.parametrize(
    "nothing", [[], (), iter([]), (word for word in "")], ids=["list", "tuple", "iterator", "generator"]
)
def test_an_empty_iterable_is_reported(nothing):
    with pytest.raises(DataError, match="no sentences: the iterable is empty, or was read before"):
        encode(Sentences(nothing))


def test_a_generator_can_be_read_once_only():
    source = Sentences(words for words in [["a", "b"]] * 9)
    assert encode(source, threads=2).words == 18
    with pytest.raises(DataError, match="read before"):
        encode(source)


def test_sentences_without_words_are_reported():
    with pytest.raises(DataError, match=r"^no tokens in the corpus \(2 bytes\): the text is empty"):
        encode(Sentences([[], []]))


class Broken(Exception):
    pass


def broken():
    yield from [["a", "b"]] * 50
    raise Broken("mine")


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_of_the_iterable_reaches_the_caller_unchanged(tmp_path, threads):
    before = threading.active_count()
    with pytest.raises(Broken, match=r"^mine$") as error:
        encode(Sentences(broken(), block_bytes=20), threads=threads, folder=tmp_path)
    assert error.value.__cause__ is None
    assert traceback.extract_tb(error.value.__traceback__)[-1].name == "broken"
    assert threading.active_count() == before
    assert not list(tmp_path.iterdir())


def test_a_type_error_inside_a_sentence_reaches_the_caller_unchanged():
    def words():
        yield "a"
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        encode(Sentences([["a"], words()]))


@pytest.mark.parametrize(("sentence", "sentences", "most"), [(["word"] * 20, 5000, 2_500_000), ([], 50_000, 1_500_000)])
def test_memory_holds_only_a_block_of_text_and_a_batch_of_words(sentence, sentences, most):
    """All the words of this text would take 6 MB, and all the empty lists 4 MB."""
    made = ([word + str(i) for word in sentence] for i in range(sentences))
    with traced() as memory:
        lines = sum(block.count(b"\n") for block in Sentences(made, block_bytes=1 << 18).read())
    assert lines == sentences
    assert memory.peak < most


def test_blocks_have_about_the_requested_size():
    sizes = [len(block) for block in Sentences([["word"] * 20] * 9000, block_bytes=1 << 18).read()]
    assert all(1 << 18 <= size < (1 << 18) + (1 << 16) + 200 for size in sizes[:-1])
    assert sum(sizes) == 900_000


def test_words_and_counts_are_in_order_of_first_appearance_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    lists = [[f"w{n}" if n % 3 else f"w {n}" for n in rng.zipf(1.3, 9) % 5000] for _ in range(2000)]
    want = Counter(word for words in lists for word in words)
    for threads, block in ((1, 1 << 22), (3, 500), (2, 3000)):
        with read(Sentences(lists, block_bytes=block), threads=threads) as counted:
            assert counted.words == list(want)
            assert counted.counts.tolist() == list(want.values())
            assert (counted.token_count, counted.lines) == (18_000, 2000)
            assert counted.stats.types == len(want)


def test_invalid_bytes_do_not_appear_among_the_words(tmp_path):
    (tmp_path / "text").write_bytes(b"b \xff \xef\xbf\xbd a\xff a \xff")
    with read(Corpus([str(tmp_path / "text")])) as counted:
        assert counted.words == ["b", "\ufffd", "a\ufffd", "a"]
        assert counted.counts.tolist() == [1, 3, 1, 1]
    with read(Corpus([str(tmp_path / "text")], errors="ignore")) as counted:
        assert list(zip(counted.words, counted.counts.tolist(), strict=True)) == [("b", 1), ("\ufffd", 1), ("a", 2)]


def test_a_source_is_encoded_with_any_vocabulary_after_it_was_read(tmp_path):
    once = iter([["a", "new york", "b"], ["b"], ["c"]])
    with read(Sentences(once, block_bytes=1), threads=2, folder=tmp_path) as counted:
        for words, want in (
            (["never", "b", "new york"], [2, 1, -1, 1, -1]),
            (["a", "c", "b"], [0, 2, -1, 2, -1, 1, -1]),
            (["x", "a"], [1, -1]),
        ):
            ids = counted.encode(Vocabulary(words, np.ones(len(words), np.int64)))
            assert ids.tokens.tolist() == want
            assert ids.stats.out_of_vocabulary == 5 - ids.words
        assert counted.encode(counted.vocabulary(1), max_sentence=1).stats.cut == 2
        with pytest.raises(DataError, match="the vocabulary contains a word twice"):
            counted.encode(Vocabulary(["a", "b", "a"], np.ones(3, np.int64)))
        with pytest.raises(DataError, match="none of the 5 tokens of the corpus is in the vocabulary"):
            counted.encode(Vocabulary(["x", "y"], np.ones(2, np.int64)))
    assert ids.tokens.tolist() == [1, -1]
    assert counted.words == ["a", "new york", "b", "c"]


def test_one_thread_iterates_whichever_threads_take_the_blocks():
    """Cursors of sqlite3, for example, belong to the thread that has made them."""
    seen = set()

    def sentences():
        for number in range(2000):
            seen.add(threading.get_ident())
            yield [f"word{number % 7}", "and"]

    with read(Sentences(sentences(), block_bytes=100), threads=3) as counted:
        assert counted.token_count == 4000
    assert len(seen) == 1
    assert seen != {threading.get_ident()}


def test_the_thread_that_iterates_ends_if_reading_fails():
    def endless():
        while True:
            yield ["a", "b"]

    def failing():
        yield from [["a", "b"]] * 100
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        read(Sentences(failing(), block_bytes=100), threads=2)
    reader = Sentences(endless(), block_bytes=100).read()
    next(reader)
    reader.close()
    assert next(reader, None) is None
    for thread in threading.enumerate():
        if thread.name == "w2vtrain sentences":
            thread.join(300)
            assert not thread.is_alive()
