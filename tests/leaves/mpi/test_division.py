"""The division of a corpus among ranks: where files are cut, and what ranks compare."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import run_ranks

from w2vtrain.errors import InputMissing
from w2vtrain.leaves.mpi import division
from w2vtrain.leaves.mpi.division import divided, stretched
from w2vtrain.text import text_files
from w2vtrain.text.source import File
from w2vtrain.text.text_files import Corpus


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("parts") / "text"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("samples")


def expected(text, number):
    """Return the texts of the stretches by their definition."""
    bounds = [len(text) * k // number for k in range(number)]
    cuts = {text.find(b"\n", at) + 1 or len(text) for at in bounds if 0 < at < len(text)}
    stretches = [b""] * number
    for first, end in pairwise(sorted({0, len(text)} | cuts)):
        stretches[max(k for k, bound in enumerate(bounds) if bound <= first)] += text[first:end]
    return stretches


def content(files):
    return b"".join(Path(file.path).read_bytes()[file.first :][: file.size] for file in files)


@settings(max_examples=150)
@given(
    text=st.lists(st.sampled_from([b"\n", b"a", b"b" * 7, b"c" * 40]), max_size=30).map(b"".join),
    number=st.integers(1, 9),
    read=st.sampled_from([1, 5, 1 << 16]),
)
def test_a_file_is_cut_after_the_first_newline_at_or_after_each_bound(path, text, number, read):
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "SEARCH_BYTES", read)
        found = stretched([File(str(path), len(text))], number)
    assert list(map(content, found)) == expected(text, number)
    pieces = [file for files in found for file in files]
    assert [file.last for file in pieces] == [False] * (len(pieces) - 1) + [True]


@settings(max_examples=100)
@given(
    texts=st.lists(st.sampled_from([b"", b"a", b"a\n", b"b\nc\n" * 5, b"d" * 30]), min_size=1, max_size=8),
    number=st.integers(1, 5),
)
def test_stretches_laid_end_to_end_are_the_corpus(folder, texts, number):
    files = []
    for k, text in enumerate(texts):
        path = folder / f"whole-{k}"
        path.write_bytes(text)
        files.append(File(str(path), len(text)))
    found = stretched(files, number)
    assert len(found) == number
    assert content([file for each in found for file in each]) == b"".join(texts)
    assert sum(file.last for each in found for file in each) == len(texts)


def test_only_the_bytes_that_were_listed_are_divided(path):
    path.write_bytes(b"a\n" * 20)
    assert stretched([File(str(path), 5)], 2) == [[File(str(path), 4, 0, False)], [File(str(path), 1, 4, True)]]


def test_a_file_that_disappeared_is_named(tmp_path):
    with pytest.raises(InputMissing, match="gone: cannot be read: No such file"):
        stretched([File(str(tmp_path / "gone"), 10)], 2)


def test_names_that_are_not_utf8_reach_the_other_ranks(tmp_path):
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"\xff"))  # noqa: PTH118
    try:
        Path(path).write_bytes(b"a\nb\n")
    except OSError:
        pytest.skip("this file system refuses such names")
    listed = Corpus([path]).files[0].listed
    found = run_ranks(2, lambda comm: divided(comm, Corpus([path])))
    assert [each.mine for each in found] == [[File(path, 4, 0, True, listed)], []]


class Quiet:
    """A gathering in which nobody listens."""

    def report(self):
        pass


def sampled(folder, texts, block=4, blocks=5):
    """Write files, and return the digests of what the ranks compare of them."""
    files = []
    for number, text in enumerate(texts):
        path = folder / str(number)
        path.write_bytes(text)
        files.append(File(str(path), len(text)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(division, "BLOCK_BYTES", block)
        patch.setattr(division, "MAX_BLOCKS", blocks)
        return division._samples(files, Quiet())


@given(texts=st.lists(st.binary(max_size=12), min_size=1, max_size=5), data=st.data())
def test_every_byte_of_a_small_corpus_is_compared(folder, texts, data):
    size = sum(map(len, texts))
    if not 0 < size <= 20:
        return
    before = sampled(folder, texts)
    number = data.draw(st.sampled_from([i for i, text in enumerate(texts) if text]))
    at = data.draw(st.integers(0, len(texts[number]) - 1))
    other = bytearray(texts[number])
    other[at] ^= 1
    after = sampled(folder, [*texts[:number], bytes(other), *texts[number + 1 :]])
    assert [path for path in before if before[path] != after[path]] == [str(folder / str(number))]


@pytest.mark.parametrize("sizes", [[200], [80, 0, 1, 119], [10] * 20])
def test_blocks_at_equal_distances_of_a_large_corpus_are_compared(folder, sizes):
    text, blocks, block = bytes(sum(sizes)), 5, 4
    cuts = [0, *np.cumsum(sizes).tolist()]
    expected = sampled(folder, [text[a:b] for a, b in pairwise(cuts)])
    noticed = []
    for at in range(len(text)):
        other = bytearray(text)
        other[at] = 1
        if sampled(folder, [bytes(other[a:b]) for a, b in pairwise(cuts)], block, blocks) != expected:
            noticed.append(at)
    assert noticed == [40 * number + byte for number in range(blocks) for byte in range(block)]
