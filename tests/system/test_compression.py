"""Tests of decompression: the corpus and all other readers accept the same files and reject the same files."""

import lzma
import os
import random
import tempfile
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from packing import PACK

from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import DataError
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.probability import trees
from w2vtrain.system import compression
from w2vtrain.system.reading import open_input, read_lines
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary

WINDOW_OF_2_GIB = 31
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"


def frame(data, window_log=WINDOW_OF_2_GIB):
    """Return a zstd frame of uncompressed blocks with a window of 2**window_log bytes and no content size."""
    starts = range(0, len(data), 1000) or [0]
    blocks = [data[start : start + 1000] for start in starts]
    heads = [len(block) << 3 | (i == len(blocks) - 1) for i, block in enumerate(blocks)]
    packed = b"".join(head.to_bytes(3, "little") + block for head, block in zip(heads, blocks, strict=True))
    return b"\x28\xb5\x2f\xfd\0" + bytes([(window_log - 10) << 3]) + packed


def stream(data, history):
    """Return an xz stream that requests a dictionary of `history` bytes, a power of two, even if it needs far less."""
    packed = bytearray(lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 4096}]))
    end = 12 + (packed[12] + 1) * 4
    packed[16] = 2 * (history.bit_length() - 1) - 24
    packed[end - 4 : end] = zlib.crc32(packed[12 : end - 4]).to_bytes(4, "little")
    return bytes(packed)


PACKS = {
    **PACK,
    **{
        f"{name} members": lambda data, pack=pack: pack(data[:5]) + pack(b"") + pack(data[5:])
        for name, pack in PACK.items()
    },
    **{f"{name} padded": lambda data, pack=pack: pack(data) + bytes(512) for name, pack in PACK.items()},
    "zstd with a long window": frame,
    "zstd after a skippable frame": lambda data: SKIPPABLE + PACK["zstd"](data),
    "zstd of unknown size": zstandard.ZstdCompressor(write_content_size=False).compress,
    "xz with a long history": lambda data: stream(data, 1 << 30),
}
KNOWN = Vectors(["king", "man", "queen", "woman"], np.tri(4, dtype="f4"))


def of_corpus(path):
    return b"".join(Corpus([str(path)]).read())


def of_file(path):
    with open_input(path) as (file, _):
        return file.read()


def of_lines(path):
    return b"".join(line for _, line in read_lines(path, 1 << 24))


def of_vectors(path):
    found = read_vectors(path)
    return found.words, found.matrix.tolist()


READERS = {"corpus": of_corpus, "file": of_file, "lines": of_lines}
LOADERS = {
    "vectors": (of_vectors, b"2 2\nthe 1 2\nof 3 4\n"),
    "vocabulary": (lambda path: Vocabulary.load(path).words, b"the 9\nof 7\n"),
    "questions": (lambda path: evaluate_analogies(KNOWN, path).to_dict(), b": a\nking man queen woman\n"),
    "pairs": (lambda path: evaluate_similarity(KNOWN, path).to_dict(), b"king queen 9\nman woman 8\nking man 2\n"),
    "tree": (lambda path: trees.read_paths(path), b"king 0\nman 10\nqueen 110\nwoman 111\n"),
}


def put(folder, data):
    path = Path(folder) / "file"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("loader", LOADERS)
def test_every_loader_reads_a_compressed_file_like_the_plain_one(tmp_path, loader, pack):
    load, content = LOADERS[loader]
    plain = load(put(tmp_path, content))
    assert load(put(tmp_path, PACKS[pack](content))) == plain


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text("ab \n\u00e9", max_size=200).map(str.encode), min_size=1, max_size=4),
    kind=st.sampled_from(sorted(PACK)),
    padding=st.integers(0, 9),
    block=st.integers(1, 5000),
    read=st.integers(1, 5000),
)
def test_all_readers_agree_on_members_and_padding(texts, kind, padding, block, read):
    text = b"".join(texts) + b"end\n"
    packed = b"".join(PACK[kind](part) + bytes(padding) for part in (*texts, b"end\n"))
    with tempfile.TemporaryDirectory() as folder:
        path = put(folder, packed)
        assert b"".join(Corpus([str(path)], block_bytes=block).read()) == text
        with open_input(path) as (file, name):
            assert b"".join(iter(lambda: file.read(read), b"")) == text
        assert name == kind
        assert of_lines(path) == text


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"BZhello world\n",
        b"BZh9 is no block\n",
        b"\x1f\n",
        b"\x1f\x8b\x07 no method of gzip\n",
        b"P*M\n",
        b"(\xb5/\n",
    ],
    ids=["empty", "bzip2-name", "bzip2-level", "gzip-byte", "gzip-method", "zstandard-like", "zstandard-bytes"],
)
def test_text_that_begins_like_compressed_data_is_read_as_text(tmp_path, reader, text):
    assert READERS[reader](put(tmp_path, text)) == text


@pytest.mark.parametrize("kind", PACK)
def test_all_readers_report_the_same_damage_with_the_same_message(tmp_path, kind):
    pack, text = PACK[kind], random.Random(1).randbytes(150_000).hex().encode()
    packed = pack(text)
    middle = len(packed) * 3 // 4
    damages = {
        "early, at byte {}": [packed[:-1], packed[:middle], pack(b"")[:-1], packed + packed[:20]],
        "between bytes": [
            packed[:middle] + bytes([packed[middle] ^ 0x55]) + packed[middle + 1 :],
            packed + b"this is no member" * 9,
            packed + bytes(7) + b"this is no member" * 9,
        ],
    }
    for message, files in damages.items():
        for data in files:
            path, told = put(tmp_path, data), set()
            for read in READERS.values():
                with pytest.raises(DataError, match=f"file: .*{kind} data.* {message.format(len(data))}") as caught:
                    read(path)
                told.add(str(caught.value))
            assert len(told) == 1


@pytest.mark.parametrize("data", [frame(b"a b\n", 32), stream(b"a b\n", 1 << 32)], ids=["zstd", "xz"])
def test_a_window_of_4_gib_is_refused(tmp_path, data):
    for read in READERS.values():
        with pytest.raises(DataError, match=r"file: damaged (xz|zstd) data between bytes 0 and \d+: .*[Mm]emory"):
            read(put(tmp_path, data))


@pytest.mark.parametrize("kind", PACK)
def test_no_text_is_repeated_before_damage_is_found(tmp_path, kind):
    """The end of a short file is damaged, and much of its text has been returned before it is read."""
    text = b"".join(b"line %d\n" % i for i in range(20_000)) * 20
    pieces = []
    with pytest.raises(DataError, match=f"file: .*{kind} data"):
        pieces.extend(compression.decompressed(iter([PACK[kind](text)[:-8] + bytes(8)]), "file"))
    assert text.startswith(b"".join(pieces))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", ["plain", *PACK])
def test_the_compression_of_a_pipe_is_detected_if_its_bytes_arrive_one_by_one(tmp_path, name):
    data = PACK[name](b"one\ntwo\n") if name in PACK else b"one\ntwo\n"
    os.mkfifo(tmp_path / "pipe")

    def write():
        with (tmp_path / "pipe").open("wb", buffering=0) as pipe:
            for at in range(len(data)):
                pipe.write(data[at : at + 1])

    writer = threading.Thread(target=write)
    writer.start()
    with open_input(tmp_path / "pipe") as (file, found):
        assert (file.read(), found) == (b"one\ntwo\n", None if name == "plain" else name)
    writer.join()
