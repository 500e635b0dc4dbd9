"""The parts of a corpus: where files are cut, and which files share a part."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2vtrain.distributed import parts
from w2vtrain.distributed.communicator import Alone
from w2vtrain.distributed.parts import agreed_parts, ranges
from w2vtrain.distributed.simulated import run_ranks
from w2vtrain.errors import InputMissing
from w2vtrain.text.source import File
from w2vtrain.text.text_files import Corpus


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("parts") / "text"


def expected(text, size):
    """Return the texts of the ranges by the definition of a cut."""
    cuts = {text.find(b"\n", at) + 1 or len(text) for at in range(size, len(text), size)}
    ends = sorted({0, len(text)} | cuts)
    return [text[first:end] for first, end in pairwise(ends)] or [b""]


@settings(max_examples=150)
@given(
    text=st.lists(st.sampled_from([b"\n", b"a", b"b" * 7, b"c" * 40]), max_size=30).map(b"".join),
    size=st.sampled_from([1, 2, 3, 8, 64]),
    read=st.sampled_from([1, 5, 1 << 16]),
)
def test_a_file_is_cut_after_the_first_newline_at_or_after_each_multiple(path, text, size, read):
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_READ", read)
        found = ranges(File(str(path), len(text)), size)
    assert [text[file.first : file.first + file.size] for file in found] == expected(text, size)
    assert [file.last for file in found] == [False] * (len(found) - 1) + [True]


def test_only_the_bytes_that_were_listed_are_divided(path):
    path.write_bytes(b"a\n" * 20)
    assert ranges(File(str(path), 5), 2) == [File(str(path), 4, 0, False), File(str(path), 1, 4, True)]


def test_a_file_that_disappeared_is_named(tmp_path):
    with pytest.raises(InputMissing, match="gone: cannot be read: No such file"):
        ranges(File(str(tmp_path / "gone"), 10), 5)


def test_names_that_are_not_utf8_reach_the_other_ranks(tmp_path):
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"\xff"))  # noqa: PTH118
    try:
        Path(path).write_bytes(b"a\nb\n")
    except OSError:
        pytest.skip("this file system refuses such names")
    found = run_ranks(2, lambda team: agreed_parts(team, Corpus([path]), 1))
    assert [part.files for part in found[1]] == [(File(path, 2, 0, False),), (File(path, 2, 2, True),)]


def test_small_files_share_a_part(tmp_path):
    sizes = [3, 3, 0, 3, 3, 25, 3, 0]
    for i, size in enumerate(sizes):
        (tmp_path / f"{i}").write_bytes(b"a\n" * size)
    found = agreed_parts(Alone(), Corpus([str(tmp_path)]), 20)
    assert [part.size for part in found] == [18, 6, 22, 20, 14]
    assert [len(part.files) for part in found] == [4, 1, 1, 1, 3]
    assert len({part.identity for part in found}) == 5


class Quiet:
    """A phase in which nobody listens."""

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
        patch.setattr(parts, "BLOCK", block)
        patch.setattr(parts, "BLOCKS", blocks)
        return parts._samples(files, Quiet())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("samples")


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
