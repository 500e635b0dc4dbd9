"""Limits on the sizes of evaluation files."""

import bz2
import lzma

import numpy as np
import pytest
from word_vectors import QUESTIONS, put, structured, vectors_of

from w2vtrain.embeddings import datasets
from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import DataError


def test_sizes_of_files_and_lines_are_limited(tmp_path, monkeypatch):
    vectors = vectors_of("abcd", np.random.default_rng(0).standard_normal((4, 3)))
    long = "x" * datasets.MAX_LINE_BYTES
    assert evaluate_analogies(vectors, put(tmp_path, f": {long[2:]}\r\na b c d\n")).total.asked == 1
    with pytest.raises(DataError, match=r"file\.txt:2: the line has more than 65,536 bytes"):
        evaluate_analogies(vectors, put(tmp_path, f": a\n{long}x\na b c d\n"))
    monkeypatch.setattr(datasets, "MAX_SET_BYTES", 19)
    assert evaluate_similarity(vectors, put(tmp_path, "a b 1\na c 2\nb d 3\n"[:-1])).asked == 3
    with pytest.raises(DataError, match=r"file\.txt:4: more than 19 bytes of text: split the file"):
        evaluate_similarity(vectors, put(tmp_path, "a b 1\na c 2\nb d 3\nc d 4\n"))


def test_files_compressed_more_than_a_hundredfold_are_refused(tmp_path):
    """Real question files shrink at most 20-fold; millions of equal lines shrink thousands of times."""
    vectors = vectors_of("abcd", np.random.default_rng(0).standard_normal((4, 3)))
    plain = b": a\n" + b"a b c d\n" * 8_000
    (tmp_path / "plain").write_bytes(plain)
    (tmp_path / "some.bz2").write_bytes(bz2.compress(plain))
    (tmp_path / "bomb.bz2").write_bytes(bz2.compress(b": a\n" + b"a b c d\n" * 9_000))
    assert (
        evaluate_analogies(vectors, tmp_path / "some.bz2").total
        == evaluate_analogies(vectors, tmp_path / "plain").total
    )
    with pytest.raises(DataError, match=r"bomb\.bz2: more text than 100 times the size of the compressed file"):
        evaluate_analogies(vectors, tmp_path / "bomb.bz2")
    (tmp_path / "questions.xz").write_bytes(lzma.compress(QUESTIONS.read_bytes()))
    words, matrix = structured(0.5)
    assert evaluate_analogies(vectors_of(words, matrix), tmp_path / "questions.xz").total.asked == 19_544


@pytest.mark.parametrize("comment", ["# from BATS", "#", "// Copyright 2013 Google Inc. All Rights Reserved."])
def test_comments_before_the_first_section_are_no_questions(tmp_path, comment):
    vectors = vectors_of("abcd", np.random.default_rng(0).standard_normal((4, 3)))
    report = evaluate_analogies(vectors, put(tmp_path, f"{comment}\n{comment}\n: s\na b c d\n"))
    assert ([section.name for section in report.sections], report.total.asked) == (["s"], 1)
