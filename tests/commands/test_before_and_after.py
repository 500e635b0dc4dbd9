"""The commands before and after training: `fit --dry-run`, `eval all` and its kinds, `stability` and `diff`."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from w2vtrain.formats.vectors import read_vectors, write_vectors
from w2vtrain.system.locks import Lock

ROOT = Path(__file__).parent.parent.parent
WORDS = [f"w{i}" for i in range(40)]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three files of vectors and a text."""
    rng = np.random.default_rng(3)
    base = rng.standard_normal((40, 6))
    for name in "abc":
        write_vectors(tmp_path / f"{name}.bin", WORDS, (base + 0.3 * rng.standard_normal((40, 6))).astype(np.float32))
    text = (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8")[:300_000]
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    return tmp_path


def dry_run(run, folder, *options):
    before = sorted(folder.rglob("*"))
    words = ["fit", "text.txt", "-o", "v.txt", "--dry-run", "-q", *options]
    code, out, err = run(words, folder)
    assert sorted(folder.rglob("*")) == before  # it writes nothing
    return code, out, err


@pytest.mark.parametrize(
    "options", [[], pytest.param(["--subwords", "--bucket", "5000"], marks=pytest.mark.slow)], ids=["words", "subwords"]
)
def test_dry_run_counts_as_fit_does_and_writes_nothing(w2vtrain_here, folder, options):
    code, out, _ = dry_run(w2vtrain_here, folder, "--json", "--vector-size", "20", *options)
    assert code == 0
    found = json.loads(out)
    w2vtrain_here(["vocab", "text.txt", "-o", "counts", "--min-count", "1", "-q"], folder)
    counts = [int(line.split()[1]) for line in (folder / "counts").read_bytes().splitlines()]
    for choice in found["vocabularies"]:
        kept = [count for count in counts if count >= choice["min_count"]]
        assert choice["words"] == len(kept)
        assert choice["coverage"] == pytest.approx(sum(kept) / sum(counts))
    kept = [count for count in counts if count >= 5]
    assert (found["tokens"], found["words"], found["learned"]) == (sum(counts), len(kept), sum(kept))
    rows = 2 * len(kept) + 5000 * bool(options)
    assert found["weights"] >= rows * 20 * 4
    assert found["checkpoints"] > found["weights"]
    assert found["peak"] > found["weights"]
    assert any("punctuation" in warning for warning in found["warnings"])


def test_dry_run_joins_phrases_and_ends_sentences_as_fit_does(w2vtrain_here, folder):
    w2vtrain_here(["phrases", "text.txt", "--save-table", "phrases.tsv", "-q"], folder)
    options = ["--phrases", "phrases.tsv", "--sentence-end"]
    code, out, _ = dry_run(w2vtrain_here, folder, "--json", *options)
    assert code == 0
    found = json.loads(out)
    assert w2vtrain_here(["fit", "text.txt", "-o", "v.txt", *options, "--epochs", "1", "-q"], folder)[0] == 0
    corpus = json.loads((folder / "v.txt.json").read_text(encoding="utf-8"))["record"]["corpus"]
    assert [found[name] for name in ("tokens", "types")] == [corpus[name] for name in ("tokens", "types")]
    assert found["words"] == len((folder / "v.txt").read_bytes().splitlines()) - 1


def test_dry_run_prints_the_sizes_and_what_is_in_the_way(w2vtrain_here, folder):
    (folder / "v.txt").write_text("here", encoding="utf-8")
    code, out, _ = dry_run(w2vtrain_here, folder)
    assert code == 0
    starts = {line.split("  ")[0] for line in out.splitlines()}
    assert {"corpus", "vocabulary", "memory", "disk", "time", "warning"} <= starts
    assert "v.txt exists: fit overwrites it only with --force" in out
    assert "chosen: " in out


def test_dry_run_refuses_an_empty_text_whose_vocabulary_is_given(w2vtrain_here, folder):
    (folder / "text.txt").write_text("\n")
    (folder / "words.txt").write_text("a 2\nb 1\n")
    code, out, said = dry_run(w2vtrain_here, folder, "--read-vocab", "words.txt")
    assert (code, out) == (65, "")
    assert "no tokens in text.txt" in said


def test_dry_run_needs_no_name_of_an_output(w2vtrain_here, folder):
    (folder / "texts").mkdir()
    (folder / "text.txt").rename(folder / "texts" / "text.txt")
    for more in ([], ["--format", "npy"]):
        code, out, said = w2vtrain_here(["fit", ".", "--dry-run", "-q", "--dtype", "float16", *more], folder / "texts")
        assert code == 0, said
        assert "run folder" in out
        assert "exists" not in out


def test_dry_run_fails_as_fit_would(w2vtrain_here, folder):
    assert dry_run(w2vtrain_here, folder, "--min-count", "1000000")[0] == 65
    assert dry_run(w2vtrain_here, folder, "--vector-size", "100000000")[0] not in (0, 70)
    code, _, err = dry_run(w2vtrain_here, folder, "--distributed", "mpi")
    assert (code, "leave out --distributed" in err) == (2, True)
    code, _, err = dry_run(w2vtrain_here, folder, "--print-config")
    assert (code, "--dry-run and --print-config: each prints something else" in err) == (2, True)
    code, _, err = w2vtrain_here(["fit", "text.txt", "-o", "v.txt", "--json"], folder)
    assert (code, "only with --dry-run" in err) == (2, True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root can write to")
def test_dry_run_refuses_a_folder_that_cannot_be_written_as_fit_does(w2vtrain_here, folder):
    for options in (["-o", "/proc/v.txt"], ["--save-model", "/proc/m.safetensors"]):
        refused = dry_run(w2vtrain_here, folder, *options)
        assert refused[0] == w2vtrain_here(["fit", "text.txt", "-o", "v.txt", "-q", *options], folder)[0] == 73


def test_dry_run_refuses_inputs_and_outputs_that_fit_refuses(w2vtrain_here, folder):
    for options in (["--cache-dir", "no"], ["--heldout", "text.txt.gz"]):
        refused = dry_run(w2vtrain_here, folder, *options)
        assert refused == w2vtrain_here(["fit", "text.txt", "-o", "v.txt", "-q", *options], folder)
        assert refused[0] not in (0, 70)
    held = Lock(folder / ".v.txt.lock", "v.txt")
    said = dry_run(w2vtrain_here, folder)[2]
    held.release(remove=True)
    assert "v.txt: in use by process" in said


@pytest.mark.parametrize(
    "words",
    [
        ("convert", "a.bin", "-o", "v.txt"),
        ("convert", "a.bin", "-o", "v.txt", "--format", "spacy"),
        ("phrases", "text.txt", "-o", "v.txt"),
    ],
)
def test_other_commands_refuse_an_output_that_a_running_fit_will_write(w2vtrain_here, folder, words):
    held = Lock(folder / ".v.txt.lock", "v.txt")
    code, _, said = w2vtrain_here(words, folder)
    held.release(remove=True)
    assert (code, "--run" in said) == (73, False), said
    assert "v.txt: in use by process" in said


LOOP_CODES = {
    "-o": 73, "--save-model": 73, "--log-json": 73, "--save-vocab": 73, "--run": 73, "--cache-dir": 73, "--heldout": 66,
    "--read-vocab": 66, "resume": 66,
}  # fmt: skip
"""Exit codes of `fit` with an option that names a loop of symbolic links, and of `resume`."""


@pytest.mark.parametrize("name", LOOP_CODES)
def test_a_loop_of_symbolic_links_is_refused(w2vtrain_here, folder, name):
    loop = folder / "loop.txt"
    loop.symlink_to("loop.txt")
    words = ["fit", "text.txt", "-o", "v.txt", "-q", name, "loop.txt"] if name != "resume" else ["resume", "loop.txt"]
    code, _, said = w2vtrain_here(words, folder)
    assert (code, "try again" in said) == (LOOP_CODES[name], False), said


def test_dry_run_counts_the_copies_that_held_out_text_needs(w2vtrain_here, folder):
    (folder / "held.txt").write_bytes((folder / "text.txt").read_bytes()[:20_000])
    plain, held = (
        json.loads(dry_run(w2vtrain_here, folder, "--json", *options)[1]) for options in ([], ["--heldout", "held.txt"])
    )
    assert held["weights"] > 1.8 * plain["weights"]
    assert held["checkpoints"] > 1.7 * plain["checkpoints"]


def test_eval_all_prints_a_row_per_set_and_adds_those_given(w2vtrain_here, folder):
    (folder / "own.tsv").write_text("".join(f"w{i}\tw{i + 1}\t{i % 7}\n" for i in range(30)), encoding="utf-8")
    (folder / "kinds.tsv").write_text("".join(f"{word}\tk{i % 3}\n" for i, word in enumerate(WORDS)), encoding="utf-8")
    (folder / "topic.txt").write_text("w0\nw1\nw2\n\nw3\nw4\n", encoding="utf-8")
    added = ["--similarity", "own.tsv", "--categories", "kinds.tsv", "--outliers", "topic.txt"]
    code, out, _ = w2vtrain_here(["eval", "all", "a.bin", *added], folder)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [
        "set", "questions-words", "wordsim353", "simlex999", "own", "topic", "kinds", "analogies:",
    ]  # fmt: skip
    assert "none of its 19,544 questions" in out.splitlines()[1]
    code, out, _ = w2vtrain_here(["eval", "all", "a.bin", *added, "--no-bundled", "--json"], folder)
    sets = {row["name"]: row for row in json.loads(out)["sets"]}
    alone = json.loads(w2vtrain_here(["eval", "similarity", "a.bin", "own.tsv", "--json"], folder)[1])
    assert (sets["own"]["score"], sets["own"]["interval"]) == (alone["spearman"], alone["interval"])
    alone = json.loads(w2vtrain_here(["eval", "categories", "a.bin", "kinds.tsv", "--json"], folder)[1])
    assert sets["kinds"]["score"] == alone["purity"]
    alone = json.loads(w2vtrain_here(["eval", "outliers", "a.bin", "topic.txt", "--json"], folder)[1])
    assert sets["topic"]["score"] == alone["accuracy"]
    assert w2vtrain_here(["eval", "all", "a.bin", "--no-bundled"], folder)[0] == 2
    (folder / "unclear.csv").write_text("id,first,second,gold\n1,w0,w1,2\n", encoding="utf-8")
    code, _, err = w2vtrain_here(["eval", "all", "a.bin", "--similarity", "unclear.csv"], folder)
    assert (code, "--columns of `eval similarity`" in err) == (2, True)
    assert w2vtrain_here(["eval", "categories", "a.bin", "kinds.tsv", "--fail-under", "1"], folder)[0] == 1


def test_a_protocol_sets_the_limit_unless_one_is_given(w2vtrain_here, folder):
    (folder / "q.txt").write_text(": s\nw0 w1 w2 w3\n", encoding="utf-8")

    def limit(*options):
        return json.loads(w2vtrain_here(["eval", "analogies", "a.bin", "q.txt", "--json", *options], folder)[1])

    found = [limit("--protocol", name)["restrict_vocab"] for name in ("word2vec", "gensim", "full")]
    assert found == [30_000, 300_000, None]
    assert limit("--protocol", "word2vec", "--restrict-vocab", "20")["restrict_vocab"] == 20
    words = ["eval", "analogies", "a.bin", "q.txt", "--protocol", "gensim", "--unseen"]
    assert w2vtrain_here(words, folder)[0] == 2


def test_analogy_with_3cosmul_prints_the_scores_of_most_similar_cosmul(w2vtrain_here, folder):
    from w2vtrain.embeddings.keyed_vectors import KeyedVectors

    keyed = KeyedVectors.load_word2vec_format(str(folder / "a.bin"), binary=True)
    expected = keyed.most_similar_cosmul(["w0", "w2"], ["w1"], topn=3)
    words = ["analogy", "a.bin", "w0", "w1", "w2", "-n", "3", "--json", "--method", "3cosmul"]
    answers = json.loads(w2vtrain_here(words, folder)[1])["answers"]
    assert answers == [[word, round(score, 6)] for word, score in expected]


def test_stability_and_diff_print_words_as_text_and_json(w2vtrain_here, folder):
    code, out, _ = w2vtrain_here(["stability", "a.bin", "b.bin", "c.bin", "-k", "5", "-n", "2"], folder)
    assert code == 0
    assert [line.split("  ")[0].split()[0] for line in out.splitlines()] == ["overlap", "pairs", "least", "most"]
    found = json.loads(w2vtrain_here(["stability", "a.bin", "a.bin", "--json"], folder)[1])
    assert (found["overlap"], found["jaccard"], found["words"]) == (1.0, 1.0, 40)
    assert w2vtrain_here(["stability", "a.bin"], folder)[0] == 2
    assert w2vtrain_here(["stability", "a.bin", "b.bin", "-k", "50"], folder)[0] == 65
    code, out, err = w2vtrain_here(["diff", "a.bin", "b.bin", "-n", "3"], folder)
    assert (code, len(out.splitlines())) == (0, 3)
    assert "40 shared words" in err
    found = json.loads(w2vtrain_here(["diff", "a.bin", "b.bin", "-n", "3", "--json"], folder)[1])
    assert [line.split("\t")[0] for line in out.splitlines()] == [moved["word"] for moved in found["moved"]]
    assert found["moved"][0]["cosine"] <= found["moved"][1]["cosine"]
    for command in ("stability", "diff"):
        for files in (["nowhere", "a.bin"], ["a.bin", "nowhere"]):
            code, _, err = w2vtrain_here([command, *files], folder)
            assert (code, "nowhere cannot be opened" in err, "come first" in err) == (66, True, False), err


def test_diff_aligns_two_languages_by_pairs_and_writes_the_rotated_vectors(w2vtrain_here, tmp_path):
    (tmp_path / "en.txt").write_text("king 1 0\nqueen 0.9 0.2\nriver 0 1\nwater 0.1 3\n")
    (tmp_path / "de.txt").write_text("koenig 0 1\nkoenigin 0.2 0.9\nfluss 1 0\nwasser 3 0.1\n")
    (tmp_path / "pairs.tsv").write_text("# pairs\nking\tkoenig\nqueen\tkoenigin\t1.0\n\nriver\tfluss\nno\tnein\n")
    command = ["diff", "en.txt", "de.txt", "--pairs", "pairs.tsv"]
    code, out, err = w2vtrain_here([*command, "-o", "aligned.vec"], tmp_path)
    assert (code, sorted(out.splitlines())) == (
        0, ["king koenig\t1.000\t", "queen koenigin\t1.000\t", "river fluss\t1.000\t"],
    )  # fmt: skip
    assert err == "mean cosine 1.0000 after rotation; 3 of 4 pairs, 1 not paired in en.txt, 1 not paired in de.txt\n"
    aligned = read_vectors(tmp_path / "aligned.vec")
    assert aligned.words == ["koenig", "koenigin", "fluss", "wasser"]
    np.testing.assert_allclose(aligned.matrix, [[1, 0], [0.9, 0.2], [0, 1], [0.1, 3]], atol=1e-6)
    several = "king\tkoenig\nking\tkoenig\nking\tkoenigin\nqueen\tkoenig\nriver\tfluss\nno\tnein\n"
    (tmp_path / "several.tsv").write_text(several)
    code, out, err = w2vtrain_here([*command[:4], "several.tsv"], tmp_path)
    listed = sorted(line.split("\t")[0] for line in out.splitlines())
    assert (code, listed) == (0, ["king koenig", "king koenigin", "queen koenig", "river fluss"])
    assert "; 4 of 5 pairs, 1 not paired in en.txt, 1 not paired in de.txt\n" in err
    assert w2vtrain_here([*command, "-o", "aligned.vec"], tmp_path)[0] == 73
    assert w2vtrain_here([*command, "-o", "de.txt", "--force"], tmp_path)[0] == 2
    assert w2vtrain_here([*command, "-o", "-"], tmp_path)[:2] == (2, "")
    found = json.loads(w2vtrain_here([*command, "--json"], tmp_path)[1])
    assert {(word["word"], word["second"]) for word in found["moved"]} >= {("king", "koenig"), ("river", "fluss")}
    code, _, err = w2vtrain_here(["diff", "en.txt", "de.txt"], tmp_path)
    assert (code, "or given in --pairs" in err) == (65, True)
    (tmp_path / "pairs.tsv").write_text("king\tkoenig\nqueen\n")
    code, _, err = w2vtrain_here(command, tmp_path)
    assert (code, "pairs.tsv:2: expected two words, got 'queen'" in err) == (65, True)
    code, _, err = w2vtrain_here([*command[:3], "--min-count", "2"], tmp_path)
    assert (code, "--min-count: the vectors have no counts" in err) == (65, True)
