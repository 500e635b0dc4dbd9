"""Reading files, directories, globs, pipes and compressed files as blocks of text."""

import bz2
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory import traced
from packing import PACK

from w2vtrain.errors import DataError, InputMissing, UsageError
from w2vtrain.system.compression import MAX_PIECE_BYTES
from w2vtrain.text import text_files as module
from w2vtrain.text.source import MAX_TOKEN_BYTES
from w2vtrain.text.text_files import Corpus, would_read
from w2vtrain.text.tokenizers import REWRITING, SPACES, blocks

TEXT = b"one two\nthree \xc3\xa9\n" * 20_000


def text_of(*sources, tokenizer="whitespace", block_bytes=1 << 22):
    return b"".join(Corpus([str(s) for s in sources], tokenizer, block_bytes).read())


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_pattern_or_folder_reads_each_file_once(tmp_path):
    """It may match folders besides their files, and lead through links to a folder above or to other files of it."""
    for name in ("a.txt", "sub/b.txt", "sub/deep/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{Path(name).stem}\n")
    for pattern in ("**", "**/*", "**/*.txt"):
        assert text_of(tmp_path / pattern) == b"a\nb\nc\n"
    with suppress(OSError, NotImplementedError):  # Windows allows links to few users
        (tmp_path / "sub" / "loop").symlink_to("..")
        (tmp_path / "z.txt").symlink_to("a.txt")
    for pattern in ("**", "**/*", "**/*.txt", ""):
        assert text_of(tmp_path / pattern) == b"a\nb\nc\n"


def test_folders_that_links_lead_to_are_read_once(tmp_path):
    write(tmp_path / "b" / "c" / "1", b"1\n")
    write(tmp_path / "a" / "2", b"2\n")
    for link, to in (("a/b", tmp_path / "b"), ("a/b/up", ".."), ("a/again", "b")):
        try:
            (tmp_path / link).symlink_to(to, target_is_directory=True)
        except OSError:
            pytest.skip("Windows allows links to few users")
    assert text_of(tmp_path / "a") == b"2\n1\n"


def test_sources_can_be_files_directories_and_globs(tmp_path):
    for name in ("b/2", "b/1", "b/c/x", "b/.hidden", "b/.git/x", "a", "[x]", "x"):
        write(tmp_path / name, name.encode())
    assert text_of(tmp_path / "b") == b"b/1\nb/2\nb/c/x\n"
    assert text_of(tmp_path / "b" / "[12]") == b"b/1\nb/2\n"
    assert text_of(tmp_path / "*") == b"[x]\na\nb/1\nb/2\nb/c/x\nx\n"
    assert text_of(tmp_path / "[x]") == b"[x]\n"  # the name of an existing file is not a pattern
    assert text_of(tmp_path / "a", tmp_path / "a") == b"a\na\n"
    corpus = Corpus([str(tmp_path / "b")])
    assert corpus.size == 3 + 3 + 5
    assert corpus.name == f"{tmp_path}/b/1 and 2 more"


@pytest.mark.parametrize("source", ["missing", "none*", "empty", "a\0b"])
def test_a_missing_source_is_named_in_the_error(tmp_path, source):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputMissing, match=r"^[^\n]*" + re.escape(str(tmp_path / source))):
        Corpus([str(tmp_path / source)])


def test_invalid_arguments_raise_usage_errors():
    with pytest.raises(UsageError, match="at least one"):
        Corpus([])
    with pytest.raises(UsageError, match="at most once"):
        Corpus(["-", "-"])


def test_a_file_that_cannot_be_opened_is_reported(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(module, "_open", refuse)
    with pytest.raises(InputMissing, match=r"x: Permission denied$"):
        Corpus([str(write(tmp_path / "x", b"a"))])


@pytest.mark.parametrize("kind", PACK)
def test_compression_is_detected_by_content_not_by_suffix(tmp_path, kind):
    packed = PACK[kind](TEXT)
    for name in ("x.txt", "x.gz", "x.bz2"):
        path = write(tmp_path / name, packed)
        reader = Corpus([str(path)], block_bytes=5000).read()
        assert b"".join(reader) == TEXT
        assert reader.bytes_read == len(packed)
        assert reader.text_bytes == len(TEXT)
    assert text_of(write(tmp_path / "plain.gz", TEXT)) == TEXT


@pytest.mark.parametrize("kind", PACK)
def test_highly_compressible_data_use_little_memory(tmp_path, kind):
    path = write(tmp_path / "bomb", PACK[kind](b"a " * 10_000_000))
    longest = total = 0
    with traced() as memory:
        for block in Corpus([str(path)], block_bytes=1 << 16).read():
            longest, total = max(longest, len(block)), total + len(block)
    assert total == 20_000_001
    assert longest <= MAX_PIECE_BYTES + (1 << 16)
    if kind != "zstd":  # its decoder returns the text of 1 KiB of data all at once
        assert memory.peak < 15_000_000  # including 8 MiB for xz's dictionary


def test_zstd_data_of_the_highest_compression_use_bounded_memory(tmp_path):
    """Each block of 4 bytes expands to 128 KiB."""
    block = (1 << 17 << 3 | 2).to_bytes(3, "little") + b"a"
    last = (1 << 17 << 3 | 3).to_bytes(3, "little") + b"a"
    path = write(tmp_path / "bomb", b"\x28\xb5\x2f\xfd\x00\x38" + block * 1999 + last)
    with traced() as memory:
        reader = Corpus([str(path)]).read()
        for _ in reader:
            pass
    assert reader.text_bytes == 2000 << 17
    assert memory.peak < 100_000_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a b\nc\0d", "NUL at byte 5 of the text.*iconv"),
        (b"a " * 3_000_000 + b"\0", "NUL at byte 6000000 "),
        ("a b".encode("utf-16"), "UTF-16 or UTF-32 at byte 0.*iconv"),
        ("a b".encode("utf-32"), "UTF-16 or UTF-32 at byte 0"),
        (b"\xfe\xff\0a", "UTF-16"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "a pointer of Git LFS.*git lfs pull"),
        ("a b".encode("utf-16-be"), "NUL at byte 0"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_data_that_are_not_text_are_refused(tmp_path, data, message, pack):
    with pytest.raises(DataError, match="^.*x: " + message):
        text_of(write(tmp_path / "x", pack(data)))


def old_tar(text):
    """Write an archive of the format before POSIX, which has a checksum, but no signature."""
    path = Path(shutil.make_archive(str(text), "tar", text.parent, text.name))
    header, rest = bytearray(path.read_bytes()[:512]), path.read_bytes()[512:]
    header[257:] = bytes(512 - 257)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return write(path, bytes(header) + rest)


ARCHIVES = {
    "zip": lambda text: shutil.make_archive(str(text), "zip", text.parent, text.name),
    "tar": lambda text: shutil.make_archive(str(text), "tar", text.parent, text.name),
    "old tar": old_tar,
    "ar": lambda text: write(text.with_suffix(".a"), b"!<arch>\n" + TEXT),
    "tar.gz": lambda text: shutil.make_archive(str(text), "gztar", text.parent, text.name),
    "7z": lambda text: write(text.with_suffix(".7z"), b"7z\xbc\xaf\x27\x1c" + TEXT),
    "rar": lambda text: write(text.with_suffix(".rar"), b"Rar!\x1a\x07" + TEXT),
}
READS = {
    "a corpus": ("vocab", "ARCHIVE", "-o", "-", "--allow-nul"),
    "a range": ("fit", "ARCHIVE", "-o", "v.txt", "--threads", "2", "--allow-nul"),
    "a table": ("vocab", "ARCHIVE", "-o", "-", "--column", "text"),
    "a CSV": ("vocab", "ARCHIVE.csv", "-o", "-", "--column", "text"),
    "words": ("fit", "text", "-o", "v.txt", "--read-vocab", "ARCHIVE"),
    "vectors": ("neighbors", "ARCHIVE", "a"),
}


@pytest.mark.parametrize("pack", ARCHIVES.values(), ids=ARCHIVES)
@pytest.mark.parametrize("command", READS.values(), ids=READS)
def test_archives_are_recognized_by_content_and_never_read_as_text(w2vtrain_here, tmp_path, pack, command):
    path = Path(pack(write(tmp_path / "text", TEXT[:9000])))
    path.rename(tmp_path / "ARCHIVE")
    (tmp_path / "ARCHIVE.csv").symlink_to("ARCHIVE")
    code, _, said = w2vtrain_here(command, tmp_path)
    assert code == 65
    assert re.search(r"ARCHIVE(\.csv)?:? (is )?an? (zip|tar|ar|7z|rar) archive.*: unpack it", said)


def test_a_text_with_the_signature_of_archives_is_text(tmp_path):
    text = b"x" * 256 + b"\nustar a todos\n" + b"la vida es sue\xc3\xb1o\n" * 30
    assert text_of(write(tmp_path / "x", text)) == text


def test_a_document_is_not_taken_for_an_archive_of_texts(tmp_path):
    with zipfile.ZipFile(tmp_path / "x", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(DataError, match="x: an office document, not text: extract its text first"):
        text_of(tmp_path / "x")


@pytest.mark.parametrize("tokenizer", ["whitespace", *REWRITING])
def test_nul_bytes_are_white_space_with_allow_nul(tmp_path, tokenizer):
    data = b"\0ab\0cd " * 500_000 + b"\0\0e"
    reader = Corpus([str(write(tmp_path / "x", data))], tokenizer, allow_nul=True).read()
    assert b"".join(reader).split() == data.replace(b"\0", b" ").split()
    assert (reader.nul, reader.text_bytes) == (1_000_002, len(data))


def test_byte_order_marks_are_dropped_only_at_the_start_of_files(tmp_path):
    bom = b"\xef\xbb\xbf"
    paths = [write(tmp_path / n, bom + b"a " + bom + b"b") for n in "xy"]
    assert text_of(*paths) == (b"a " + bom + b"b\n") * 2
    assert text_of(write(tmp_path / "z", bom)) == b""


def test_a_byte_order_mark_split_across_pieces_is_dropped(tmp_path):
    path = write(tmp_path / "x", gzip.compress(b"\xef") + gzip.compress(b"\xbb\xbfa"))
    assert text_of(path) == b"a\n"


def test_the_text_of_every_file_ends_with_a_newline(tmp_path):
    paths = [write(tmp_path / str(i), data) for i, data in enumerate([b"a", b"", b"b\n", b"c\r\n", b" ", b"d\r"])]
    assert text_of(*paths) == b"a\nb\nc\r\n \nd\r\n"
    reader = Corpus([str(p) for p in paths]).read()
    assert len(list(reader)) == 1  # small files share a block
    assert reader.bytes_read == reader.text_bytes == 9


def test_a_growing_file_is_read_up_to_its_initial_size(tmp_path):
    path = write(tmp_path / "log", b"a b\n")
    corpus = Corpus([str(path)])
    path.write_bytes(b"a b\nc d\n")
    reader = corpus.read()
    assert b"".join(reader) == b"a b\n"
    assert (reader.bytes_read, reader.grown) == (4, 1)
    path.write_bytes(b"a")
    with pytest.raises(DataError, match="log: truncated while it was being read, at byte 1"):
        list(corpus.read())


@pytest.mark.parametrize("new", [b"c d\n" * 100_000, b"c d\n" * 150_000, b"a b\n" * 50_000 + b"c d\n" * 99_000])
def test_a_file_that_is_rewritten_while_it_is_read_is_an_error(tmp_path, new):
    path = write(tmp_path / "text", b"a b\n" * 100_000)
    corpus = Corpus([str(path)], block_bytes=10_000)
    assert len(list(corpus.read())) > 1
    reader = iter(corpus.read())
    next(reader)
    path.write_bytes(new)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    with pytest.raises(DataError, match="text: was changed while it was read: start again when it is complete"):
        list(reader)


def test_a_longer_file_in_place_of_one_that_was_listed_is_an_error(tmp_path):
    path = write(tmp_path / "text", b"a b\n" * 10)
    corpus = Corpus([str(path)])
    write(tmp_path / "new", b"c d\n" * 100).replace(path)
    with pytest.raises(DataError, match="text: was changed while it was read"):
        list(corpus.read())


def test_a_named_pipe_can_be_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    corpus = Corpus([str(tmp_path / "pipe")])
    assert corpus.size is None
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(TEXT,))
    writer.start()
    assert b"".join(corpus.read()) == TEXT
    writer.join()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_can_be_read_plain_and_compressed(pack):
    code = (
        "import sys; from w2vtrain.text.text_files import Corpus;"
        " sys.stdout.buffer.write(b''.join(Corpus(['-']).read()))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pack(TEXT), capture_output=True, check=True)
    assert done.stdout == TEXT


def test_a_replaced_sys_stdin_is_read_and_stays_open(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b")))
    corpus = Corpus(["-"])
    assert (corpus.name, corpus.size) == ("standard input", None)
    assert b"".join(corpus.read()) == b"a b\n"
    assert not sys.stdin.buffer.closed


@given(
    pieces=st.lists(
        st.sampled_from([b"a", b"bc", b"\xc3", b" ", b"\n", b"\t\r", b"\v", b"\f", b"x" * 600, b"y" * 1001, b"z z"]),
        max_size=40,
    ),
    size=st.integers(1, 50) | st.integers(1, 3000),
)
def test_blocks_end_between_tokens_and_have_the_size_with_the_next_token(pieces, size):
    found = list(blocks(pieces, size))
    text = b"".join(pieces)
    want = [t if len(t) <= MAX_TOKEN_BYTES else None for t in re.split(rb"\s", text)]
    got = [t if len(t) <= MAX_TOKEN_BYTES else None for t in re.split(rb"\s", b"".join(found))]
    assert got == want
    for block, after in pairwise(found):
        assert block[-1:].isspace() or len(re.split(rb"\s", block)[-1]) > MAX_TOKEN_BYTES
        assert len(block) + len(re.split(rb"\s", after)[0]) >= size
    assert all(len(block) <= size + MAX_TOKEN_BYTES + max(map(len, pieces)) for block in found)


@pytest.mark.parametrize("length", [998, 999, 1000])
def test_a_word_of_the_maximum_length_survives_any_cut(length):
    word = b"x" * MAX_TOKEN_BYTES
    pieces = [b"z " + word[:length], word[length:] + b" b"]
    assert b"".join(blocks(pieces, 1)) == b"z " + word + b" b"
    pieces = [b"z " + word[:length], word[length:] + b"x b"]  # one byte too long, and must remain too long
    assert [len(t) > MAX_TOKEN_BYTES for t in b"".join(blocks(pieces, 1)).split()] == [False, True, False]


@pytest.mark.parametrize("block", [1, 1000, 1 << 22])
def test_a_huge_word_is_truncated_to_one_that_is_still_too_long(tmp_path, block):
    path = write(tmp_path / "x", b"a " + b"x" * 5_000_000 + b" b " + b"y" * 1000)
    words = text_of(path, block_bytes=block).split()
    assert [words[0], *words[2:]] == [b"a", b"b", b"y" * 1000]
    assert len(words[1]) > MAX_TOKEN_BYTES
    if block <= 1000:
        assert len(words[1]) < 5000


@pytest.mark.parametrize("block", [1, 10, 1 << 22])
def test_the_simple_tokenizer_lowercases_and_keeps_letters_and_marks(tmp_path, block):
    text = "The CAT's\tr\u00e9sum\u00e9\u3000e\u0301t 42 x_y\r\n\u6c34\u3002\u706b ΟΔΟΣ. İ \u200b\u2028z"
    want = "the cat s r\u00e9sum\u00e9 e\u0301t x y \n\u6c34 \u706b οδος i\u0307 z \n"
    path = write(tmp_path / "x", text.encode() + b"\xff\xc3 \xe2\x82")
    reader = Corpus([str(path)], "simple", block_bytes=block).read()
    got = b"".join(reader).decode()
    assert re.sub(" +", " ", got) == want
    assert reader.invalid == 3
    assert reader.text_bytes == path.stat().st_size


@pytest.mark.parametrize("block", [1, 10, 1 << 22])
def test_the_unicode_tokenizer_splits_as_python_does(tmp_path, block):
    spaces = "".join(chr(i) for i in range(sys.maxunicode + 1) if chr(i).isspace() and chr(i) != "\n")
    text = "".join(f"Wör{i}d{space}" for i, space in enumerate(spaces)) + "\n\u200bX\ufeff \u180e.\n"
    reader = Corpus([str(write(tmp_path / "x", text.encode() + b"\xff end"))], "unicode", block_bytes=block).read()
    got = b"".join(reader)
    assert [re.split(b"[ \t\r\v\f]+", line.strip(SPACES)) for line in got.rstrip(b"\n").split(b"\n")] == [
        [word.encode() for word in line.split()] for line in (text + "\ufffd end").split("\n")
    ]
    assert reader.invalid == 1


def test_the_simple_tokenizer_works_on_text_without_white_space(tmp_path):
    """In Chinese text, only punctuation separates words. The blocks in which the file is read make no difference."""
    text = "".join(chr(0x4E00 + i % 5000) + "\u3001" * (i % 3 == 0) for i in range(200_000))
    path = write(tmp_path / "x", text.encode())
    want = text.replace("\u3001", " ").split()
    for block in (100, 12_345, 1 << 22):
        assert text_of(path, tokenizer="simple", block_bytes=block).decode().split() == want


@pytest.mark.parametrize("tokenizer", ["whitespace", "unicode", "simple"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("data", "byte"),
    [
        (b"a \xff", 2),
        (b"\xef\xbb\xbfa \xc3 b", 5),
        (b"a\n\xe2\x82", 2),
        (b"x" * 2000 + b"\xed\xa0\x80", 2000),
        ("\u00e9 ".encode() * 100_000 + b"\x80", 300_000),
    ],
)
def test_strict_decoding_reports_the_file_and_the_byte(tmp_path, data, byte, pack, tokenizer):
    good = write(tmp_path / "good", b"a b")
    path = write(tmp_path / "bad", pack(data))
    for block in (1, 1 << 22):
        with pytest.raises(DataError, match=rf"^{re.escape(str(path))}: not UTF-8 at byte {byte} of the text"):
            list(Corpus([str(good), str(path)], tokenizer, block, errors="strict").read())


@pytest.mark.parametrize(
    "source, file, is_read",
    [
        ("d", "d/v.txt", True), ("d", "d/sub/v.run", True), ("d", "e/v.txt", False), ("d/a.txt", "d/v.txt", False),
        ("d/*", "d/v.txt", True), ("d/*.txt", "d/v.txt", True), ("d/*.txt", "d/v.bin", False), ("*", "d/v.txt", True),
        ("d/*", "d/sub/v.txt", True), ("d/*.txt", "d/sub/v.txt", False), ("d/**/*.txt", "d/v.txt", True),
        ("d/**/*.txt", "d/sub/v.txt", True), ("d/**/*.txt", "e/v.txt", False), ("?/[abv].[st]xt", "d/v.txt", True),
        ("link/*", "d/v.txt", True), ("d", "d/.v.txt", False), ("d/*", "d/.v.txt", False),
        ("d", "linked/v.txt", True), ("d/*", "linked/v.txt", True), ("d/*.txt", "linked/v.txt", False),
        ("d", "d/.h/v.txt", False), ("d", "d/.new/v.txt", False), (".h", ".h/v.txt", True), (".h", ".h/.v.txt", False),
    ],
)  # fmt: skip
def test_a_file_that_a_source_would_read_is_known_before_it_exists(tmp_path, monkeypatch, source, file, is_read):
    monkeypatch.chdir(tmp_path)
    for name in ("d/sub/b.txt", "d/a.txt", "e/sub/b.txt", "d/.h/b.txt", ".h/b.txt", "linked/b.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("a")
    Path("link").symlink_to("d")
    Path("d/sub/link").symlink_to("../../linked")
    assert would_read(source, [file]) == (file if is_read else None)
    before = len(Corpus([source]).files)
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text("b")
    assert (len(Corpus([source]).files) > before) == is_read


def test_counts_and_phrases_are_written_outside_of_the_corpus(tmp_path, w2vtrain_here):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.txt").write_text("a b\n" * 9)
    for words in (["vocab", "d/*", "-o", "d/v"], ["phrases", "d/*", "--save-table", "d/v"]):
        code, _, said = w2vtrain_here(words, tmp_path)
        assert (code, "d/v: matches d/*, whose files are read as text; choose another folder" in said) == (2, True), (
            said
        )
    assert w2vtrain_here(["vocab", "d", "-o", "d/v"], tmp_path)[0] == 2
    assert w2vtrain_here(["vocab", "d/*", "-o", "v"], tmp_path)[0] == 0


@pytest.mark.parametrize("start", ["PAR1 is a receptor", "ARROW1 is", "GIF8 bit", "FEA1", "SQLite format 3 is"])
def test_text_may_begin_with_the_letters_of_a_signature(tmp_path, start):
    assert text_of(write(tmp_path / "x", start.encode() + b" gene\n")) == start.encode() + b" gene\n"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (gzip.compress(bz2.compress(TEXT[:900]), mtime=0), "compressed twice"),
        (b"\x04\x22\x4d\x18 frame of lz4", "compressed in another format"),
        (b"\x89HDF\r\n\x1a\n of HDF5", "an HDF5 file"),
    ],
)
def test_data_that_are_still_compressed_or_no_text_are_named(tmp_path, data, what):
    with pytest.raises(DataError, match=f"{what}, not text"):
        text_of(write(tmp_path / "x", data))


def test_a_folder_below_a_pattern_that_cannot_be_listed_is_an_error(tmp_path, monkeypatch):
    write(tmp_path / "open.txt", b"a\n")
    (tmp_path / "closed").mkdir()
    closed = str(tmp_path / "closed")
    monkeypatch.setattr("os.access", lambda path, _: str(path) != closed)  # chmod does not stop root
    with pytest.raises(InputMissing, match="closed: cannot be read: permission denied"):
        Corpus([str(tmp_path / "**" / "*.txt")])
    assert text_of(tmp_path / "*.txt") == b"a\n"
