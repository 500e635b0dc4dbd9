"""What newcomers write on the command line works where it has one meaning; else one line says what to write."""

import numpy as np
import pytest

from w2vtrain.api import train
from w2vtrain.config import validated
from w2vtrain.errors import ConfigError
from w2vtrain.formats.vectors import write_vectors
from w2vtrain.other_programs import OTHER_NAMES
from w2vtrain.registry import members

WORDS = ["king", "man", "woman", "queen", "knight"]
MATRIX = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 1], [1, -1, 0.5]], np.float32)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a text, vectors and a run folder."""
    (tmp_path / "text.txt").write_text("king man woman\n" * 9, encoding="utf-8")
    write_vectors(tmp_path / "v.txt", WORDS, MATRIX)
    (tmp_path / "old.run").mkdir()
    (tmp_path / "old.run" / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "old.run" / "lock").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "answer"),
    [
        ("fit text.txt -o o.txt --lowercase", 2, "use --tokenizer simple"),
        ("fit text.txt -o o.txt --device cuda", 2, "on the cores of the processor, not on a GPU"),
        ("fit text.txt -o o.txt --deterministic", 2, "use --threads 1"),
        ("fit text.txt -o o.txt --objective cbow", 78, "use --architecture cbow"),
        ("fit text.txt -o o.txt --architecture hs", 78, "use --objective hs"),
        ("fit text.txt -o s.model", 2, "write s.txt or s.bin, or s.safetensors for a model"),
        ("fit text.txt -o sub/", 2, "sub/: is a folder: name a file"),
        ("fit text.txt o.txt", 2, "write -o o.txt"),
        ("fit text.txt", 2, "write -o FILE"),
        ("fit missing.txt", 2, "write -o FILE"),
        ("report missing.bin", 2, "write -o FILE"),
        ("fit text.txt -o " + "o" * 250 + ".txt", 73, "cannot be created: File name too long"),
        ("convert v.txt o.bin", 2, "write -o o.bin"),
        ("convert v.txt -o o.model", 2, "write o.txt or o.bin, or o.safetensors for a model"),
        ("eval v.txt", 2, "w2vtrain eval all v.txt"),
        ("plot v.txt", 2, "w2vtrain plot map v.txt"),
        ("v.txt", 2, "w2vtrain info v.txt"),
        ("perplexity v.txt text.txt", 65, "v.txt is not a model, as --save-model writes it, but vectors alone (text)"),
        ("perplexity text.txt text.txt", 65, "text.txt is not a model"),
        ("neighbors king v.txt", 66, "w2vtrain neighbors v.txt king\n"),
        ("neighbors king v.txt --json", 66, "w2vtrain neighbors v.txt king ...\n"),
        ("analogy king man woman v.txt", 66, "w2vtrain analogy v.txt king man woman"),
        ("eval similarity wordsim353 v.txt", 66, "w2vtrain eval similarity v.txt wordsim353"),
        ("eval similarity text.txt v.txt", 65, "w2vtrain eval similarity v.txt text.txt\n"),
        ("neighbors old.run king", 66, "`w2vtrain export old.run -o FILE`"),
        ("convert old.run -o o.txt", 66, "`w2vtrain export old.run -o FILE`"),
        ("perplexity old.run text.txt", 66, "`w2vtrain resume old.run`"),
        ("phrases -train text.txt", 2, "w2vtrain phrases CORPUS -o FILE"),
        ("perplexity -input text.txt", 2, "w2vtrain perplexity MODEL HELDOUT"),
        ("neighbors -input v.txt", 2, "w2vtrain neighbors VECTORS WORDS"),
        ("-size 9 -train text.txt -output v.bin", 2, "a command comes first, such as w2vtrain fit CORPUS -o FILE"),
        ("resume ol.run", 66, "does not exist: check the name (similar: old.run)"),
        ("export ol.run -o o.txt", 66, "does not exist: check the name (similar: old.run)"),
        ("resume old.run --epochs 80", 2, "the settings of a run are fixed"),
        ("analogy v.txt king-man+woman", 2, "`king - man + woman`"),
        ("neighbors https://example.org/v.txt king", 66, "this is an address: download the file"),
        ("fit https://example.org/text.txt -o o.txt", 66, "this is an address: download the file"),
        ("fit text.txt -o o.txt --init-from -", 66, "- cannot be opened: standard input cannot be used here"),
        ("fit text.txt -o o.txt --read-vocab -", 66, "- cannot be opened: standard input cannot be used here"),
        ("fit text.txt -o o.txt --config -", 66, "- cannot be opened: standard input cannot be used here"),
        *(
            (f"fit text.txt -o o.txt {option}=", 2, f"'{option}': the name is empty")
            for option in (
                "--init-from",
                "--save-model",
                "--read-vocab",
                "--config",
                "--run",
                "--cache-dir",
                "--save-output-vectors",
            )
        ),
        ("resume old.run --objective hs", 2, "'--objective': 'hs' is not a file or module of code"),
        ("perplexity v.txt text.txt --architecture=", 2, "'--architecture': '' is not a file or module of code"),
        ("diff v.txt v.txt --pairs=", 2, "'--pairs': the name is empty"),
    ],
)
def test_one_line_says_what_to_write(line, code, answer, w2vtrain_here, folder):
    before = sorted(folder.iterdir())
    ended, out, err = w2vtrain_here(line.split(), folder)
    assert (ended, out, len(err.splitlines())) == (code, "", 1)
    assert answer in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "hint"), [(["vector"], "leave them out, or add --sentences"), (["neighbors"], "leave them out\n")]
)
def test_a_sentence_in_place_of_a_word_is_answered_with_what_takes_sentences(words, hint, w2vtrain_here, folder):
    code, out, err = w2vtrain_here([*words, "v.txt", "the king"], folder)
    assert (code, out) == (65, "")
    assert f"'the king' is not in the vocabulary; quotes make one word: {hint}" in err


@pytest.mark.parametrize(
    "words", [["king", "-", "man", "+", "woman"], ["king", "+", "woman", "-", "man"], ["king - man + woman"]]
)
def test_an_analogy_may_be_written_as_a_sum(words, w2vtrain_here, folder):
    expected = w2vtrain_here(["analogy", "v.txt", "king", "man", "woman"], folder)
    assert expected[1].startswith("king man woman\tqueen ")
    assert w2vtrain_here(["analogy", "v.txt", *words], folder) == expected


@pytest.mark.parametrize("words", [["resume", ""], ["fit", ""], ["analogy", "v.txt", ""], ["analogy", "v.txt", " "]])
def test_an_empty_argument_is_not_a_missing_one(words, w2vtrain_here, folder):
    ended, _, err = w2vtrain_here(words, folder, stdin="king man woman\n")
    assert (ended, len(err.splitlines())) == (2, 1), err


@pytest.mark.parametrize("kind", OTHER_NAMES)
def test_another_name_of_an_objective_or_architecture_means_ours(kind):
    ours = members(f"{kind}s")
    for theirs, name in {**OTHER_NAMES[kind], **{name.upper(): name for name in ours}}.items():
        for spelling in (theirs, theirs.title(), theirs.replace("-", "_"), theirs.replace("-", " ")):
            assert getattr(validated({kind: spelling}), kind) == name
    assert not OTHER_NAMES[kind].keys() & set(ours)


def test_other_names_hold_for_all_that_takes_objectives(w2vtrain_here, folder):
    model = train([["a", "b"]] * 9, objective="ns", architecture="skip-gram", min_count=1, vector_size=2, sample=0)
    assert (model.settings["objective"], model.settings["architecture"]) == ("neg", "skipgram")
    (folder / "s.toml").write_text('objective = "neg"\n[options]\nnegative = 7\n', encoding="utf-8")
    fit = ["fit", "text.txt", "-o", "o.txt", "--print-config", "--config", "s.toml", "--objective", "negative-sampling"]
    assert "negative = 7" in w2vtrain_here(fit, folder)[1]  # it is the same objective, so its options are kept
    assert w2vtrain_here(["objectives", "hierarchical"], folder)[1].startswith("hs: ")
    with pytest.raises(ConfigError, match="objective 'negatives': choose one of"):
        train([["a", "b"]], objective="negatives")
