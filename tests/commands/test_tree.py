"""The command `tree`, and training on the tree that it writes."""

import subprocess
import sys

import numpy as np
import pytest
from wordnet_files import write_wordnet

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.model import Model, save_model
from w2vtrain.formats.vectors import write_vectors
from w2vtrain.probability.trees import read_paths, tree_from_file

NAMES = "the dog ran men mice house paris of huge hugely puppies walked small was zyx restrain inhibit"
WORDS = NAMES.split()
COUNTS = np.arange(len(WORDS), 0, -1) * 7


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    return write_wordnet(tmp_path_factory.mktemp("wordnet") / "dict")


@pytest.fixture
def vocabulary(tmp_path):
    file = tmp_path / "vocab.txt"
    file.write_text("".join(f"{word} {count}\n" for word, count in zip(WORDS, COUNTS.tolist(), strict=True)))
    return file


def common(paths, *words):
    """Return how many turns the paths of words have in common."""
    found = [paths[word][0] for word in words]
    return next(i for i, (a, b) in enumerate(zip(min(found), max(found), strict=False)) if a != b)


def test_a_model_is_trained_on_the_tree_of_a_vocabulary(tmp_path, wordnet, vocabulary):
    """In a process of its own, from the vocabulary to a perplexity; the model has words of the sentence end, too."""

    def run(*words):
        command = [sys.executable, "-W", "error", "-m", "w2vtrain", *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done

    said = run("tree", vocabulary, wordnet, "-o", "tree.txt")
    assert said.stderr.startswith("18 words, 14 of them in WordNet; paths have ")
    assert said.stdout == ""
    paths = read_paths(tmp_path / "tree.txt")
    assert list(paths) == [*WORDS, "</s>"]
    assert len(tree_from_file(tmp_path / "tree.txt", [*WORDS, "</s>"]).start) == 19
    assert common(paths, "dog", "puppies", "mice") > common(paths, "dog", "men") > common(paths, "dog", "house") > 0
    assert common(paths, "the", "of", "zyx", "</s>") > common(paths, "the", "dog") == 0
    text = tmp_path / "text.txt"
    rng = np.random.default_rng(1)
    text.write_text("".join(" ".join(rng.choice(WORDS, 9)) + "\n" for _ in range(150)))
    options = ["--architecture", "cbow", "--bias", "--sentence-end", "--min-count", "1", "--vector-size", "8"]
    run("fit", text, "-o", "v.txt", "--objective", "hs", "--tree", "tree.txt", *options, "--save-model", "lm.model")
    assert "perplexity" in run("perplexity", "lm.model", text).stdout
    again = run("tree", "lm.model", wordnet, "-q")
    assert again.stderr == ""
    assert again.stdout.count("\n") == 18
    assert again.stdout.count("</s> ") == 1


def test_words_come_from_a_vocabulary_a_model_or_vectors(tmp_path, wordnet, vocabulary, w2vtrain_here):
    rows = np.ones((len(WORDS), 2), np.float32)
    write_vectors(tmp_path / "v.bin", WORDS, rows)
    save_model(tmp_path / "m.model", Model(WORDS, COUNTS, rows, rows, {}, {}, {}))
    keyed = KeyedVectors.of(WORDS, rows)
    keyed.save(tmp_path / "v.keyed")
    keyed.expandos["count"] = COUNTS
    keyed.save(tmp_path / "counted.keyed")
    outputs = []
    for file in (vocabulary.name, "m.model", "v.bin", "v.keyed", "counted.keyed"):
        code, out, said = w2vtrain_here(["tree", file, wordnet], tmp_path)
        assert code == 0, said
        outputs.append(out)
    assert outputs[0] == outputs[1] == outputs[4] != ""
    assert outputs[2] == outputs[3]
    words = [[line.split()[0] for line in out.splitlines()] for out in outputs]
    assert words[0] == words[1] == words[2] == [*WORDS, "</s>"]
    turns = dict(line.split() for line in outputs[2].splitlines())
    assert len(turns["the"]) < len(turns["zyx"]), "words of vectors must be taken as sorted by frequency"


def test_the_largest_counts_are_accepted(tmp_path, wordnet, w2vtrain_here):
    (tmp_path / "vocab.txt").write_text("".join(f"w{i} {10**18 - 1}\n" for i in range(4)))
    code, out, said = w2vtrain_here(["tree", "vocab.txt", wordnet], tmp_path)
    assert code == 0, said
    lengths = [len(line.split()[1]) for line in out.splitlines()]
    assert len(lengths) == 5
    assert max(lengths) == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["tree"], 2, "Missing argument 'WORDS'"),
        (["tree", "none.txt", "dict"], 66, "none.txt cannot be opened"),
        (["tree", "vocab.txt", "none"], 66, "none is not a folder: name the folder `dict` of WordNet"),
        (["tree", "vocab.txt", "."], 66, "data.noun cannot be opened"),
        (["tree", "one.txt", "dict"], 65, "one.txt: 1 words"),
        (["tree", "one-vector.txt", "dict"], 65, "only one word, but a tree needs at least two"),
        (["tree", "vocab.txt", "dict", "-o", "vocab.txt", "--force"], 2, "is both input and output"),
        (["tree", "vocab.txt", "dict", "-o", "one.txt"], 73, "one.txt exists: use --force"),
        (["tree", "vocab.txt", "bad"], 65, "index.noun:1: expected a lemma, n, numbers of synsets"),
        (["tree", "vocab.txt", "moved"], 65, "data.verb: byte 0: no synset begins here"),
    ],
)
def test_errors_are_one_line(tmp_path, vocabulary, w2vtrain_here, words, code, message):
    for name in ("dict", "bad", "moved"):
        write_wordnet(tmp_path / name)
    (tmp_path / "bad/index.noun").write_bytes(b"\x80\x04pickle")
    (tmp_path / "moved/index.verb").write_bytes(b"run v 1 0 1 1 00000000\n")
    (tmp_path / "one.txt").write_text("a 3\n")
    (tmp_path / "one-vector.txt").write_text("1 2\na 3 4\n")
    got, out, said = w2vtrain_here(words, tmp_path)
    assert got == code
    assert out == ""
    assert message in said.splitlines()[-1]
    assert code == 2 or len(said.splitlines()) == 1
    assert vocabulary.read_text().startswith("the 119\n")
