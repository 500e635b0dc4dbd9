"""Encoding compared with a naive reference, for many block sizes and thread counts, and errors during encoding."""

import re
import resource
import subprocess
import sys
import tempfile
import threading
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import count, encode

from w2vtrain.errors import DataError, OutputError, WriteError, shell_spelling
from w2vtrain.system.foreign import foreign
from w2vtrain.text import counting, encoded, word_table
from w2vtrain.text.counting import CorpusStats
from w2vtrain.text.encoded import EncodedCorpus, naming, read
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary

PIECES = [b"a", b"b", b"cd", b" ", b" ", b"\n", b"\n", b"\r\n", b"\t", b"\v", b"\f", b"</s>", b"\xff", b"\xc3", b"\xa9"]
PIECES += [
    "\ufffd".encode(),
    "é".encode(),
    "\u00a0".encode(),
    "Σ".encode(),
    "Α".encode(),
    "水".encode(),
    b"\xed\xa0\x80",
]
PIECES += [
    b"x" * 1000,
    b"y" * 1001,
    b"z" * 2500,
    b"'",
    b"A",
    b"\xef\xbb\xbf",
    "\u0301".encode(),
    "\u2764\ufe0f".encode(),
    "1\ufe0f\u20e3".encode(),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join) | st.binary(max_size=80).map(
    lambda b: b.replace(b"\0", b" ").lstrip(b"\xff\xfe\x1fB\xfd\x28\x50")
)
TEXTS = TEXTS.filter(lambda text: text[:2] not in (b"\xff\xfe", b"\xfe\xff"))


def simple(text, errors):
    """Tokenize as `simple` does, one character at a time."""
    text = text.decode("utf-8", errors).lower()
    emoji = "\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}\N{COMBINING ENCLOSING KEYCAP}"
    kept = [c if c == "\n" or (unicodedata.category(c)[0] in "LM" and c not in emoji) else " " for c in text]
    return "".join(kept).encode()


def reference(files, min_count, max_vocab, vocabulary, max_sentence, tokenizer, errors):
    """Return the tokens, (word, count) pairs and statistics, or None for all three if there are fewer than 2 words."""
    lines, overlong, invalid = [], 0, 0
    for text in files:
        text = text.removeprefix(b"\xef\xbb\xbf")
        if errors == "strict":
            text.decode()
        if tokenizer == "simple":
            decoded = text.decode("utf-8", "replace")
            invalid += decoded.count("\ufffd") - text.count("\ufffd".encode())
            text = simple(text, errors)
        for line in re.split(rb"(?<=\n)", text):
            found = re.findall(rb"[^ \t\n\r\v\f]+", line)
            overlong += sum(len(t) > 1000 for t in found)
            found = [t for t in found if len(t) <= 1000]
            if line:
                lines.append([t.decode("utf-8", errors) for t in found])
            invalid += sum(t.decode("utf-8", "ignore").encode() != t for t in found)
    counts = Counter(t for line in lines for t in line if t)
    tokens = sum(counts.values())
    kept = sorted(counts, key=lambda w: (-counts[w], w.encode()))
    kept = [w for w in kept if counts[w] >= min_count][:max_vocab]
    pairs = [(w, counts[w]) for w in kept]
    if vocabulary:
        pairs, kept = list(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)), vocabulary.words
    elif len(kept) < 2:
        return None, None, None
    index = {w: i for i, w in enumerate(kept)}
    sentences, cut = [], 0
    for line in lines:
        parts = [line[i : i + max_sentence] for i in range(0, len(line), max_sentence)]
        cut += max(0, len(parts) - 1)
        sentences += [s for s in ([index[t] for t in part if t in index] for part in parts) if s]
    array = np.array([i for s in sentences for i in [*s, -1]], np.int32)
    size, words = sum(map(len, files)), sum(map(len, sentences))
    stats = CorpusStats(
        files=len(files), bytes_read=size, text_bytes=size, lines=len(lines), token_count=tokens, types=len(counts),
        out_of_vocabulary=tokens - words, overlong=overlong, invalid=invalid, cut=cut, sentences=len(sentences),
        grown=0, nul=0,
    )  # fmt: skip
    return array, pairs, stats


def write(folder, *texts):
    for i, text in enumerate(texts):
        (Path(folder) / f"{i:02}").write_bytes(text)
    return [str(Path(folder) / f"{i:02}") for i in range(len(texts))]


def pairs_of(vocabulary):
    return list(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


@settings(max_examples=250, deadline=None)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    block=st.sampled_from([1, 1, 2, 3, 5, 17, 64, 1 << 22]),
    threads=st.integers(1, 3),
    min_count=st.integers(1, 3),
    max_vocab=st.none() | st.integers(2, 4),
    max_sentence=st.integers(1, 4) | st.just(10_000),
    vocabulary=st.none() | st.just(Vocabulary(["b", "a", "\ufffd", "never"], np.array([9, 5, 2, 1]))),
    tokenizer=st.sampled_from(["whitespace", "whitespace", "simple"]),
    errors=st.sampled_from(["replace", "ignore", "strict"]),
)
def test_ids_vocabulary_and_statistics_equal_the_reference(
    texts, block, threads, min_count, max_vocab, max_sentence, vocabulary, tokenizer, errors
):
    assume(not any(text.startswith((b"PAR1", b"ARROW1")) or foreign(text) for text in texts))  # refused
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(write(folder, *texts), tokenizer, block_bytes=block, errors=errors)
        try:
            array, pairs, stats = reference(texts, min_count, max_vocab, vocabulary, max_sentence, tokenizer, errors)
        except UnicodeDecodeError:
            with pytest.raises(DataError, match=r"not UTF-8 at byte \d"):
                encode(corpus)
            return
        options = {"min_count": min_count, "max_vocab": max_vocab, "threads": threads}
        if array is None or not array.size:
            with pytest.raises(DataError):
                encode(corpus, **options, max_sentence=max_sentence, vocabulary=vocabulary)
            return
        ids = encode(corpus, **options, max_sentence=max_sentence, vocabulary=vocabulary)
        assert ids.tokens.dtype == np.int32
        assert ids.tokens.tolist() == array.tolist()
        assert pairs_of(ids.vocabulary) == pairs
        assert ids.stats == stats
        assert ids.words == np.sum(array >= 0)
        if vocabulary is None:
            counted, counted_stats = count(corpus, **options)
            assert pairs_of(counted) == pairs
            assert counted_stats == CorpusStats(**{**vars(stats), "out_of_vocabulary": 0, "cut": 0, "sentences": 0})


def test_a_long_text_is_encoded_the_same_for_any_thread_count_and_block_size(tmp_path):
    rng = np.random.default_rng(1)
    words = [b"w%d" % n for n in rng.zipf(1.2, 300_000) % 10**9]
    text = b" ".join(b"%s\n" % w if i % 37 == 0 else w for i, w in enumerate(words))
    sources = write(tmp_path, text)
    array, pairs, stats = reference([text], 1, None, None, 20, "whitespace", "replace")
    assert stats.types > 40_000  # the tables had to grow
    for threads, block in ((1, 1 << 22), (2, 1 << 16), (3, 12_345)):
        ids = encode(Corpus(sources, block_bytes=block), min_count=1, max_sentence=20, threads=threads, folder=tmp_path)
        np.testing.assert_array_equal(ids.tokens, array)
        assert pairs_of(ids.vocabulary) == pairs
        assert ids.stats == stats
        del ids
    assert [p.name for p in tmp_path.iterdir()] == ["00"]


@settings(deadline=None)
@given(sentences=st.lists(st.integers(1, 6), min_size=1, max_size=30), size=st.integers(1, 12))
def test_chunks_are_the_shortest_runs_of_whole_sentences(sentences, size):
    array = np.array([t for n in sentences for t in [0] * n + [-1]], np.int32)
    ids = EncodedCorpus(array, Vocabulary(["a"], np.ones(1, np.int64)), sum(sentences), None)
    want = [0]
    for end in np.flatnonzero(array < 0) + 1:
        if end - want[-1] >= size or end == len(array):
            want.append(int(end))
    chunks, words = ids.chunks(size)
    assert chunks.dtype == np.int64
    assert chunks.tolist() == want
    assert words.tolist() == [int((array[a:b] >= 0).sum()) for a, b in pairwise(want)]


def test_the_ids_are_read_only(tmp_path):
    ids = encode(Corpus(write(tmp_path, b"a b a b")), min_count=1)
    assert isinstance(ids.tokens, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        ids.tokens[0] = 1


def test_progress_is_reported_in_the_calling_thread_up_to_the_end(tmp_path):
    calls = []
    text = b"a b c\n" * 1000
    corpus = Corpus(write(tmp_path, text), block_bytes=10)
    read(corpus, threads=2, progress=lambda *call: calls.append((threading.get_ident(), *call))).close()
    assert {call[0] for call in calls} == {threading.get_ident()}
    assert calls[-1][1:] == (len(text), len(text), 3000)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (b"", {}, r"^no tokens in .*00 \(0 bytes\)"),
        (b" \n\t", {}, r"no tokens in .* \(3 bytes\)"),
        (b"a" * 9_000, {}, r"no tokens in .* \(9000 bytes\) but 1 of more than 1,000 bytes, which are skipped"),
        (b"a a a a a a", {}, "only one word .* 6 times; training needs at least 2 distinct words"),
        (b"a a a b b c", {}, "no word .* 5 times .*highest count is 3.*min_count=2 would keep 2"),
        (b"a a a b b c", {"min_count": 3}, "only one word .*min_count=2 would keep 2"),
        (b"a a b b", {"min_count": 1, "max_vocab": 1}, "max_vocab keeps only 1 "),
        (b"a b", {"vocabulary": Vocabulary(["c", "d"], np.array([2, 1]))}, r"none of the 2 tokens of .* is in the vo"),
        (b" ", {"vocabulary": Vocabulary(["c", "d"], np.array([2, 1]))}, r"no tokens in .* \(1 bytes\)"),
    ],
)
def test_too_few_words_raise_data_errors(tmp_path, text, options, message):
    with pytest.raises(DataError, match=message):
        encode(Corpus(write(tmp_path, text)), **options)


class FailsAt:
    """A function whose n-th call fails. Later calls wait until the failing thread has ended, and then succeed."""

    def __init__(self, real, n):
        self.real, self.n, self.calls, self.lock, self.failed = real, n, 0, threading.Lock(), None

    def __call__(self, *args):
        with self.lock:
            self.calls += 1
            if self.calls == self.n:
                self.failed = threading.current_thread()
                raise RuntimeError("injected")
        if self.failed:
            self.failed.join()
        return self.real(*args)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["add", "cut_sentences"])
def test_an_error_in_a_worker_ends_the_call(tmp_path, monkeypatch, name, threads):
    """This holds while counting and while mapping. Each of the other workers completes at most its current block."""
    failing = FailsAt(getattr(word_table, name), 5)
    monkeypatch.setattr(word_table, name, failing)
    with pytest.raises(RuntimeError, match="injected"):
        encode(Corpus(write(tmp_path, b"a b c\n" * 5000), block_bytes=100), threads=threads)
    assert 5 <= failing.calls <= 5 + threads - 1


def test_an_exception_in_the_progress_callback_ends_the_call(tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        read(Corpus(write(tmp_path, b"a b c\n" * 50)), progress=stop)
    assert threading.active_count() == before


@pytest.mark.parametrize("limit", [100_000, 1_500_000])
def test_a_full_disk_raises_a_write_error(tmp_path, limit):
    corpus = Corpus(write(tmp_path, b"a b c d e\n" * 50_000))  # 1.2 MB of ids
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    encode(corpus)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        if limit > 1_200_000:
            assert encode(corpus, folder=tmp_path).words == 250_000
        else:
            with pytest.raises(WriteError, match="File too large"):
                encode(corpus, folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("folder", "way"), [(Path(tempfile.gettempdir()), "the environment variable TMPDIR"), (Path("x"), "--cache-dir")]
)
def test_a_full_disk_is_answered_with_what_changes_the_folder(folder, way):
    with shell_spelling(), pytest.raises(WriteError, match=f"^{folder}: full; use {way} to"), naming(folder):
        raise WriteError("full")


def test_a_missing_folder_raises_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="nowhere"):
        encode(Corpus(write(tmp_path, b"a b")), folder=tmp_path / "nowhere", threads=2)


def test_open_spools_are_closed_if_one_cannot_be_created(tmp_path, monkeypatch):
    made = []

    def failing(folder, in_memory):
        if made:
            raise OutputError("injected")
        made.append(temporary(folder))
        return made[0]

    temporary = counting.temporary
    monkeypatch.setattr(counting, "temporary", failing)
    with pytest.raises(OutputError, match="injected"):
        encode(Corpus(write(tmp_path, b"a b")), folder=tmp_path, threads=2)
    assert made[0].closed


def test_the_caller_hears_from_the_encoder_while_the_disk_hangs(tmp_path, monkeypatch):
    """Otherwise, the other ranks of a job would take this one for lost."""
    heard, append = threading.Event(), encoded.append

    def hanging(file, ids):
        assert heard.wait(300)
        append(file, ids)

    monkeypatch.setattr(encoded, "append", hanging)
    with read(Corpus(write(tmp_path, b"a b a")), folder=tmp_path) as counted, (tmp_path / "ids").open("wb") as file:
        assert counted.append_to(file, counted.vocabulary(1), 100, heard.set).words == 3


def test_a_line_of_30_megabytes_is_encoded_in_bounded_memory(tmp_path):
    """This runs in a new process because the peak memory is that of the whole lifetime of a process."""
    (tmp_path / "long").write_bytes(b"alpha beta gamma delta epsilon " * 1_000_000)
    (tmp_path / "word").write_bytes(b"a b " + b"x" * 31_000_000 + b" a b")
    code = """
import resource, sys
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.encoded import read
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
def run(path):
    with read(Corpus([path], block_bytes=1 << 20)) as counted:
        s = counted.encode(counted.vocabulary(min_count=1), max_sentence=1000).stats
    return s.token_count, s.cut, s.sentences, s.overlong, s.lines
open(sys.argv[1] + "/small", "w").write("a b c")
run(sys.argv[1] + "/small")
before = peak()
print(run(sys.argv[1] + "/word"), run(sys.argv[1] + "/long"))
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    results, grew = done.stdout.splitlines()
    assert results == "(4, 0, 1, 1, 1) (5000000, 4999, 5000, 0, 1)"
    assert int(grew) < 25, "MiB"


def test_a_vocabulary_with_white_space_in_words_is_refused(tmp_path):
    """The tokenizer would take two such words for the same one, and all later ids would be off."""
    (tmp_path / "text").write_text("x y x y z a b c d\n")
    given = Vocabulary(["new york", "new yard", "x", "y"], np.array([4, 3, 2, 1]))
    with pytest.raises(DataError, match="white space"):
        encode(Corpus([str(tmp_path / "text")]), vocabulary=given)
