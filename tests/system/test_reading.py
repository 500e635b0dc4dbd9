"""Tests of reading: compression, limits, and files that cannot be read."""

import gzip
import os
import threading
from contextlib import suppress

import pytest
from packing import PACK

from w2vtrain.errors import ConfigError, DataError, InputMissing
from w2vtrain.system import reading
from w2vtrain.system.reading import open_input, read_lines, read_small, regular_size

TEXT = b"".join(b"line %d\n" % i for i in range(20_000))


def test_inputs_that_cannot_be_opened_raise_input_missing(tmp_path):
    for path, message in [(tmp_path / "no", "No such file"), (tmp_path, "is a folder"), ("a\0", "null byte")]:
        with pytest.raises(InputMissing, match=message), open_input(path):
            pass


def test_read_small_rejects_a_file_over_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_small(tmp_path / "a", 5) == b"12345"
    with pytest.raises(DataError, match="a: has more than 4 bytes: name another file"):
        read_small(tmp_path / "a", 4)
    with pytest.raises(ConfigError, match="a: has more than 4 bytes; remove it"):
        read_small(tmp_path / "a", 4, ConfigError, "; remove it")
    for path in (tmp_path / "no", tmp_path):
        with pytest.raises(InputMissing):
            read_small(path, 5)


def test_lines_are_numbered_and_their_length_and_total_are_limited(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one\n\nthree\r\n\rx\nlast")
    lines = [(1, b"one\n"), (2, b"\n"), (3, b"three\r\n"), (4, b"\rx\n"), (5, b"last")]
    assert list(read_lines(path, 5, 19)) == lines
    with pytest.raises(DataError, match=r"a:3: the line has more than 4 bytes"):
        list(read_lines(path, 4))
    with pytest.raises(DataError, match=r"a:5: more than 18 bytes of text: split the file"):
        list(read_lines(path, 5, 18))


@pytest.mark.parametrize("name", PACK)
def test_compressed_lines_cannot_expand_without_limit(tmp_path, name, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(PACK[name](TEXT))
    assert b"".join(line for _, line in read_lines(path, 20)) == TEXT
    monkeypatch.setattr(reading, "ALLOWED_LINES_BYTES", 100)
    path.write_bytes(PACK[name](b"a line\n" * 100_000))
    with pytest.raises(DataError, match="more text than 100 times the size of the compressed file: decompress"):
        list(read_lines(path, 20))


def written(path, data):
    """Write to a file, or to a pipe that its reader may close before the end."""
    with suppress(BrokenPipeError):
        path.write_bytes(data)


@pytest.mark.parametrize("name", PACK)
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_a_compressed_file_cannot_expand_more_than_its_size_justifies(tmp_path, name, kind, monkeypatch):
    """Members count together. Of a pipe, whose size is unknown, what was read so far counts."""
    monkeypatch.setattr(reading, "ALLOWED_BYTES", 1000)
    text = b"a line\n" * 3_000
    good, bad = (PACK[name](data) for data in (os.urandom(1000) + text[:1000], text))
    for data, refused in ((good, False), (bad, True), (PACK[name](text[:980]) * 4, False), (bad * 20, True)):
        path = tmp_path / "a"
        path.unlink(missing_ok=True)
        writer = threading.Thread(target=written, args=(path, data))
        if kind == "pipe":
            if not hasattr(os, "mkfifo"):
                pytest.skip("needs named pipes")
            os.mkfifo(path)
        writer.start()
        if kind == "file":
            writer.join()
        found, error = 0, None
        with open_input(path) as (file, _):
            try:
                while piece := file.read(100):
                    found += len(piece)
            except DataError as raised:
                error = raised
        writer.join()
        assert bool(error) == refused, error
        assert found <= max(1000, 100 * len(data))
        if error:
            assert "more text than 100 times the size of the compressed file: decompress" in str(error)


def test_other_exceptions_in_the_block_propagate_unchanged(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(KeyError), open_input(tmp_path / "a"):
        raise KeyError


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_read_twice_must_be_a_regular_file(tmp_path):
    """Nothing waits for the writer of a pipe."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(InputMissing, match="is a pipe or a device: name a file, or pass -"):
            regular_size(path)
        with pytest.raises(InputMissing, match=r"is a pipe or a device: name a file$"):
            regular_size(path, stdin=False)
    with pytest.raises(InputMissing, match="no cannot be opened: No such file"):
        regular_size(tmp_path / "no")
    (tmp_path / "file").write_bytes(b"four")
    (tmp_path / "link").symlink_to("file")
    assert regular_size(tmp_path / "link") == 4


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_that_is_rewritten_while_it_is_read_is_an_error(tmp_path, pack):
    def read(then):
        with open_input(path) as (file, _):
            then()
            return file.read()

    def rewrite():
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))

    path = tmp_path / "x"
    path.write_bytes(pack(TEXT))
    assert read(lambda: None) == TEXT
    with pytest.raises(DataError, match="x: was changed while it was read"):
        read(rewrite)
