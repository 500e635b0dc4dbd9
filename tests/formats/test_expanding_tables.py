"""Tables and archives of a few kilobytes that expand to hundreds of megabytes are refused before they do."""

import struct
from contextlib import suppress

import numpy as np
import pytest
import zstandard
from formats.test_attacks import PROGRAM, needs_proc, printed

from w2vtrain.errors import DataError
from w2vtrain.formats.vectors import read_vectors, write_vectors
from w2vtrain.system import arrow_batches, parquet_pages

pytestmark = pytest.mark.filterwarnings("ignore")  # pyarrow's imports
MANY = 9_000_000
"""Rows of two zeros: 72 MB, more than any small file may have."""


def lists(values, dim):
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(values), dim)


def parquet_file(path, words, vectors, **options):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"word": words, "vector": vectors}), path, store_schema=False, **options)


def arrow_file(path, words, vectors, compression):
    import pyarrow as pa

    table = pa.table({"word": words, "vector": vectors})
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)


def long_word(path):
    import pyarrow as pa

    same = pa.DictionaryArray.from_arrays(np.zeros(16_000, np.int32), ["x" * 60_000])
    parquet_file(path, same, lists(np.ones(16_000, np.float32), 1), compression="zstd")


def longer_word(path):
    import pyarrow as pa

    same = pa.DictionaryArray.from_arrays(np.zeros(1000, np.int32), ["x" * 1_000_000])
    parquet_file(path, same, lists(np.ones(1000, np.float32), 1), compression="zstd")


def equal_rows(path):
    import pyarrow as pa

    same = pa.DictionaryArray.from_arrays(np.zeros(MANY, np.int32), ["x"])
    parquet_file(path, same, lists(np.zeros(2 * MANY, np.float32), 2))


def large_page(path):
    parquet_file(path, ["a", "b" * 70_000_000], lists(np.ones(2, np.float32), 1), compression="zstd",
                 use_dictionary=False)  # fmt: skip


def prefixes(path):
    words = [f"{'x' * 60_000}{i}" for i in range(100)]
    encoding = {"word": "DELTA_BYTE_ARRAY"}
    parquet_file(path, words, lists(np.ones(100, np.float32), 1), use_dictionary=False, column_encoding=encoding)


def zeros(path, compression):
    arrow_file(path, ["a", "b"], lists(np.zeros(30_000_000, np.float32), 15_000_000), compression)


def false_size(path):
    values = np.zeros(2000, np.float32)
    arrow_file(path, ["a", "b"], lists(values, 1000), "zstd")
    data, size = path.read_bytes(), struct.pack("<q", values.nbytes)
    assert data.count(size) == 1
    path.write_bytes(data.replace(size, struct.pack("<q", 1 << 40)))


def archive(path):
    np.savez_compressed(path, words=np.frombuffer(b"a\nb", np.uint8), vectors=np.zeros((2, 15_000_000), np.float32))


ATTACKS = {
    "word.parquet": (long_word, "occurs a second time"),
    "longer.parquet": (longer_word, "a word of 1,000,000 bytes, more than 65,536"),
    "rows.parquet": (equal_rows, "are too many for a file of"),
    "page.parquet": (large_page, "a page of 70,000,015 decompressed bytes and 2 values is too large for a file of"),
    "prefix.parquet": (prefixes, "the encoding DELTA_BYTE_ARRAY, which is not read"),
    "zstd.arrow": (lambda path: zeros(path, "zstd"), "are too many for a file of"),
    "lz4.arrow": (lambda path: zeros(path, "lz4"), "are too many for a file of"),
    "size.arrow": (false_size, "are too many for a file of"),
    "zeros.npz": (archive, "an array of shape|promises 120,000,000 bytes"),
}


@needs_proc
def test_small_files_that_expand_are_refused_in_little_memory(tmp_path):
    pytest.importorskip("pyarrow")
    for name, (make, message) in ATTACKS.items():
        make(tmp_path / name)
        assert (tmp_path / name).stat().st_size < 600_000, name
        with pytest.raises(DataError, match=message) as caught:
            read_vectors(tmp_path / name)
        assert name in str(caught.value)
    with pytest.raises(DataError, match=r"words of .* bytes or more are too many for a file of"):
        read_vectors(tmp_path / "word.parquet", lenient=True)
    assert not printed(PROGRAM, *(tmp_path / name for name in ATTACKS))


def test_the_pages_found_are_those_of_the_footer(tmp_path):
    """The footer's sizes contain the headers of the pages."""
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    vectors = lists(np.random.default_rng(1).normal(size=60_000).astype(np.float32), 6)
    words = [f"w{i % 700}" for i in range(10_000)]
    for options in ({}, {"data_page_version": "2.0", "compression": "zstd"}, {"use_dictionary": False}):
        parquet_file(tmp_path / "v.parquet", words, vectors, data_page_size=10_000, row_group_size=4_000, **options)
        facts = parquet.read_metadata(tmp_path / "v.parquet")
        with (tmp_path / "v.parquet").open("rb") as file:
            chunks = list(parquet_pages.chunks(file, (tmp_path / "v.parquet").stat().st_size))
            assert [chunk.column for chunk in chunks] == [0, 1] * 3
            for number, chunk in enumerate(chunks):
                about, found = facts.row_group(number // 2).column(number % 2), list(parquet_pages.pages(file, chunk))
                headers = about.total_uncompressed_size - sum(page.bytes for page in found)
                assert 0 < headers < 100 * len(found)
                dictionary = found[0].values if about.has_dictionary_page else 0
                assert sum(page.values for page in found) - dictionary == about.num_values == chunk.values


def test_a_list_in_a_header_ends_with_the_header(tmp_path):
    """A list of doubles, whose values are not looked at, that claims 2**40 of them in 12 bytes."""
    header = bytes.fromhex("15001508150869f7") + b"\x80\x80\x80\x80\x80\x20" + b"\0"
    (tmp_path / "header").write_bytes(header)
    with (tmp_path / "header").open("rb") as file, pytest.raises(ValueError, match="does not end"):
        list(parquet_pages.pages(file, parquet_pages.Chunk(0, 0, 1, 100, 0)))


def test_the_batches_found_are_those_that_pyarrow_reads(tmp_path):
    pa = pytest.importorskip("pyarrow")

    words = pa.array(["a", "b", "a"]).dictionary_encode()
    path = tmp_path / "v.arrow"
    for compression in (None, "zstd", "lz4"):
        arrow_file(path, words, lists(np.arange(6, dtype=np.float32), 2), compression)
        with path.open("rb") as file:
            found = list(arrow_batches.batches(file, path.stat().st_size))
        assert [(batch.is_dictionary, batch.rows) for batch in found] == [(True, 2), (False, 3)]
        assert 6 * 4 + 3 * 4 <= found[1].bytes < 200


def test_a_batch_that_is_compressed_as_by_arrow_0_17_promises_its_decompressed_size(tmp_path):
    """pyarrow still decompresses it: an entry in the message's own metadata says so, not a field of the batch."""
    pa = pytest.importorskip("pyarrow")

    path, packed = tmp_path / "v.arrow", struct.pack("<q", 5000) + zstandard.compress(bytes(5000))
    batch = pa.record_batch({"bytes": np.frombuffer(packed, np.int8)})
    options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
    with pa.ipc.new_file(path, batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata={"ARROW:experimental_compression": "zstd"})
    with path.open("rb") as file:
        assert list(arrow_batches.batches(file, path.stat().st_size)) == [(False, len(packed), 5000)]
        assert pa.ipc.open_file(file).get_batch(0).column("bytes").buffers()[1].size == 5000


def test_every_damaged_byte_of_a_table_is_read_or_refused(tmp_path):
    """Wrong sizes, offsets and kinds are among them."""
    pytest.importorskip("pyarrow")
    for name in ("v.arrow", "v.parquet"):
        path = tmp_path / name
        write_vectors(path, ["a", "b"], np.eye(2, dtype=np.float32))
        data = path.read_bytes()
        for at in range(0, len(data), 7):
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x7F]) + data[at + 1 :])
            with suppress(DataError):
                assert len(read_vectors(path).words) > 0


def test_words_that_are_encoded_as_a_dictionary_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")

    words = [f"wörd {i}".replace(" ", "_") for i in range(1000)]
    matrix = np.random.default_rng(2).normal(size=(1000, 3)).astype(np.float32)
    for form in ("parquet", "arrow"):
        path = tmp_path / f"v.{form}"
        for column in (pa.array(words).dictionary_encode(), pa.array(words, pa.large_string())):
            vectors = lists(matrix.reshape(-1), 3)
            parquet_file(path, column, vectors) if form == "parquet" else arrow_file(path, column, vectors, "lz4")
            for limit in (None, 300):
                found = read_vectors(path, limit=limit)
                assert found.words == words[:limit]
                assert found.matrix.tobytes() == matrix[:limit].tobytes()
