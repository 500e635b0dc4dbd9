"""Compression for the tests of readers: what packs bytes, by the name of the format."""

import bz2
import gzip
import lzma

import zstandard

PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
