"""The parts of a corpus: where files are cut, and which files share a part."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2vtrain.distributed import parts
from w2vtrain.distributed.communicator import Alone
from w2vtrain.distributed.parts import agreed_parts, ranges
from w2vtrain.distributed.simulated import run_ranks
from w2vtrain.errors import InputMissing
from w2vtrain.text.corpus import Corpus
from w2vtrain.text.source import File


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
