"""The commands `similarity` and `vector`, and which words `analogy` adds; `neighbors` is in test_cli.py."""

import gzip
import json

import numpy as np
import pytest

from w2vtrain.commands.query import MAX_SUGGESTIONS
from w2vtrain.formats.vectors import read_vectors, write_vectors

WORDS = ["king", "queen", "é", "nothing"]
MATRIX = np.array([[1, 2, 3], [2, 4.5, 0.1], [-1, 1e-7, 0.3], [0, 0, 0]], np.float32)


@pytest.fixture
def run(tmp_path, w2vtrain_here):
    """Return a function that runs the command line beside v.bin: (arguments, stdin) -> code, stdout, stderr."""
    write_vectors(tmp_path / "v.bin", WORDS, MATRIX)
    return lambda *words, stdin="": w2vtrain_here(words, tmp_path, stdin)


def cosine(a, b):
    x, y = MATRIX[WORDS.index(a)].astype(float), MATRIX[WORDS.index(b)].astype(float)
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def test_similarity_prints_the_cosine_for_arguments_and_lines_alike(run):
    expected = f"king queen\t{cosine('king', 'queen'):.3f}\n"
    assert run("similarity", "v.bin", "king", "queen") == (0, expected, "")
    assert run("similarity", "v.bin", "-", stdin="king queen\n") == (0, expected, "")
    assert run("similarity", "v.bin", stdin="king queen\n\té  king\r\n") == (
        0, f"{expected}é king\t{cosine('é', 'king'):.3f}\n", "",
    )  # fmt: skip
    code, out, _ = run("similarity", "v.bin", "king", "é", "--json")
    assert (code, json.loads(out)) == (0, {"query": ["king", "é"], "similarity": round(cosine("king", "é"), 6)})


@pytest.mark.parametrize("command", ["neighbors", "analogy", "similarity", "vector"])
def test_stdin_without_words_is_reported(command, run):
    warning = "w2vtrain: warning: there are no words on stdin: nothing was looked up\n"
    assert run(command, "v.bin", stdin="") == (0, "", warning)


@pytest.mark.parametrize("command", ["neighbors", "vector"])
def test_words_on_stdin_are_decompressed_and_archives_refused(command, run):
    words = "king\né\n"
    assert run(command, "v.bin", stdin=gzip.compress(words.encode())) == run(command, "v.bin", stdin=words)
    code, out, err = run(command, "v.bin", stdin=b"PK\x03\x04" + words.encode())
    assert (code, out) == (65, "")
    assert "standard input: a zip archive, not text: unpack it" in err


def test_similarity_names_what_has_no_answer_and_goes_on(run):
    code, out, err = run("similarity", "v.bin", stdin="king nobody\nking\nking nothing\nking king\n")
    assert (code, out) == (0, "king nobody\t\nking\t\nking nothing\t0.000\nking king\t1.000\n")
    assert [line.split(": ", 2)[2] for line in err.splitlines()] == [
        "line 1: 'nobody' is not in the vocabulary",
        "line 2: expected 2 words, got 1",
        "the vector of 'nothing' is zero: its cosine is 0 with every word",
    ]
    code, out, err = run("similarity", "v.bin", "king", "nobody")
    assert (code, out, len(err.splitlines())) == (65, "", 1)
    assert "'nobody' is not" in err
    assert run("similarity", "v.bin", "king")[0] == 2
    assert run("similarity", "v.bin", "--strict", stdin="king nobody\nking king\n")[:2] == (65, "")
    assert json.loads(run("similarity", "v.bin", "--json", stdin="king nobody\n")[1])["similarity"] is None


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("neighbors v.bin nothing", "no answer for nothing: the vector of 'nothing' is zero"),
        ("analogy v.bin nothing nothing nothing", "the vector of 'nothing' is zero"),
        ("analogy v.bin king king nothing", "the vector of 'nothing' is zero"),
        ("analogy v.bin king king nothing --method 3cosmul", "the vector of 'nothing' is zero"),
        ("neighbors one.bin a", "no answer for a: the query is zero, or no other word has a vector that is not"),
        ("neighbors v.bin king nothing", "1 of 2 lookups failed"),
    ],
)
def test_a_query_without_an_answer_says_why(run, tmp_path, command, message):
    write_vectors(tmp_path / "one.bin", ["a"], np.ones((1, 2), np.float32))
    code, _, err = run(*command.split())
    assert (code, err.splitlines()[-1].endswith(message) or message in err) == (65, True)
    *query, name = command.split()[:3]
    code, out, err = run(*query, stdin=f"{' '.join([name] * (3 if query[0] == 'analogy' else 1))}\n")
    if "king" not in command:
        assert (code, out.endswith("\t\n"), "warning: line 1: no answer for" in err) == (0, True, True)


def test_vector_prints_lines_that_are_a_file_of_vectors(run, tmp_path):
    code, out, err = run("vector", "v.bin", "é", "king")
    assert (code, err) == (0, "")
    (tmp_path / "two.txt").write_text(out, encoding="utf-8")
    found = read_vectors(tmp_path / "two.txt")
    assert found.words == ["é", "king"]
    np.testing.assert_array_equal(found.matrix, MATRIX[[2, 0]])
    for mark in ("", "\ufeff"):
        assert run("vector", "v.bin", stdin=f"{mark}é\nking\n") == (0, out, "")
    answer = json.loads(run("vector", "v.bin", "queen", "--json")[1])
    assert answer == {"query": ["queen"], "vector": [2.0, 4.5, 0.1]}


def test_vector_prints_no_line_for_an_unknown_word_and_names_it(run):
    code, out, err = run("vector", "v.bin", "nobody", "king")
    assert (code, out) == (65, "king 1.0 2.0 3.0\n")
    assert "warning: 'nobody' is not in the vocabulary" in err
    assert "1 of 2 lookups failed" in err
    code, out, err = run("vector", "v.bin", "nobody")
    assert (code, out, len(err.splitlines())) == (65, "", 1)
    code, out, err = run("vector", "v.bin", stdin="nobody\nking\n")
    assert (code, out) == (0, "king 1.0 2.0 3.0\n")
    assert "line 1: 'nobody'" in err


def test_similar_words_are_named_for_the_first_unknown_words_only(run):
    code, _, err = run("similarity", "v.bin", stdin="king quen\n" * 100)
    assert code == 0
    assert err.count("'quen' is not in the vocabulary") == 100
    assert err.count("similar words: 'queen'") == MAX_SUGGESTIONS


def test_analogy_adds_the_first_and_the_third_word_and_subtracts_the_second(tmp_path, w2vtrain_here):
    words = ["king", "man", "woman", "queen", "knight"]
    matrix = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 1], [1, -1, 0.5]], np.float32)
    write_vectors(tmp_path / "v.bin", words, matrix)
    code, out, _ = w2vtrain_here(["analogy", "v.bin", "king", "man", "woman", "-n", "1"], tmp_path)
    assert (code, out.split()[:-1]) == (0, ["king", "man", "woman", "queen"])


def test_many_words_from_stdin_are_answered_as_one_by_one(tmp_path, w2vtrain_here, rng):
    words = [f"w{i}" for i in range(600)]
    write_vectors(tmp_path / "v.txt", words, rng.normal(size=(600, 8)).astype(np.float32))
    asked = [*words[::-1], "nobody", "", "two words", "w3"]
    code, out, err = w2vtrain_here(["neighbors", "v.txt", "-n", "3"], tmp_path, "\n".join(asked))
    assert code == 0
    assert [line.partition(":")[0] for line in err.replace("w2vtrain: warning: ", "").splitlines()] == [
        "line 601", "line 602", "line 603",
    ]  # fmt: skip
    lines = out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == asked
    assert lines[600:603] == ["nobody\t", "\t", "two words\t"]
    for line in (*lines[:3], lines[-1]):
        code, alone, _ = w2vtrain_here(["neighbors", "v.txt", line.partition("\t")[0], "-n", "3"], tmp_path)
        assert (code, alone) == (0, f"{line}\n")
