"""Documents and their tags: what is read, what is trained, what is refused."""

import json
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
from reference import StopsAt, begin, stopping

import w2vtrain
from w2vtrain.config import Settings
from w2vtrain.errors import DataError, ResourceError, Stopped, TokenError
from w2vtrain.leaves.documents.documents import rows_of
from w2vtrain.training import memory_and_disk
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan
from w2vtrain.training.trainer import train

SMALL = {"vector_size": 12, "min_count": 1, "sample": 0, "threads": 1, "epochs": 3}
WORDLESS = pytest.mark.filterwarnings("ignore:.* without any word of the vocabulary:UserWarning")
TEXT = "a b c a\n\nb b c\nunknown\nc a b\n"


def topics(rng, count=240):
    """Return documents about four topics, with their own tags and that of the topic.

    All topics have the same words, with other frequencies, so that a context of few words does not tell the topic.
    """
    words, p = np.array([f"w{i}" for i in range(100)]), 1 / np.arange(1, 101)
    orders = [np.random.default_rng(topic).permutation(words) for topic in range(4)]
    return [(rng.choice(orders[i % 4], 30, p=p / p.sum()).tolist(), [f"d{i}", f"topic{i % 4}"]) for i in range(count)]


def same_topic(answers):
    """Return the share of answers about the topic of their document. answers: for each document, tags and cosines."""
    of = [(i, tag.removeprefix("topic").removeprefix("d")) for i, tags in enumerate(answers) for tag, _ in tags]
    return np.mean([int(number) % 4 == i % 4 for i, number in of])


@pytest.mark.parametrize("architecture", ["pv-dbow", "pv-dbow-words"])
def test_documents_about_a_topic_get_similar_vectors(rng, architecture):
    model = w2vtrain.train(w2vtrain.Documents(topics(rng)), architecture=architecture, **SMALL | {"epochs": 20})
    assert len(model.dv) == 244
    assert len(model.words) == 100
    assert same_topic(model.dv.most_similar(f"d{i}", topn=10) for i in range(40)) > 0.9


@pytest.mark.parametrize("architecture", ["pv-dm", "pv-dm-sum", "pv-dm-concat"])
def test_tags_learn_what_the_context_does_not_tell(rng, architecture):
    """Each document has two words in turn, which its context gives away, and a word of its own at random places."""
    documents = [[rng.choice(["a", "b", f"own{i}"]) for _ in range(40)] for i in range(30)]
    pairs = [(words, [f"d{i}"]) for i, words in enumerate(documents)]
    settings = SMALL | {"epochs": 60}
    model = w2vtrain.train(
        w2vtrain.Documents(pairs), architecture=architecture, window=1, objective="softmax", **settings
    )
    index = {word: row for row, word in enumerate(model.words)}
    own = np.array([model.output[index[f"own{i}"], :12] for i in range(30)])  # if wider, the part of the tags
    assert np.mean((model.dv.vectors @ own.T).argmax(axis=1) == np.arange(30)) > 0.8  # by chance 0.03


def test_the_loss_of_documents_with_many_tags_is_that_of_all_tags(rng):
    """Before anything is learned, each of 6 candidates costs log 2."""
    tags = [f"t{k}" for k in range(130)]
    documents = w2vtrain.Documents([([f"w{k}" for k in rng.integers(0, 30, 20)], tags) for _ in range(3)])
    rates = {"alpha": 1e-9, "min_alpha": 1e-9, "epochs": 1}
    model = w2vtrain.train(documents, architecture="pv-dbow-words", **SMALL | rates)
    assert model.record["epochs"][0]["loss"] == pytest.approx(6 * np.log(2), rel=1e-4)


@pytest.mark.parametrize("objective", ["hs", "softmax", "sampled-softmax"])
def test_other_objectives_learn_documents_too(rng, objective):
    documents = w2vtrain.Documents(topics(rng))
    model = w2vtrain.train(documents, architecture="pv-dbow", objective=objective, **SMALL | {"epochs": 15})
    assert same_topic(model.dv.most_similar(f"d{i}", topn=5) for i in range(20)) > 0.9


Tagged = namedtuple("Tagged", "words tags")


@WORDLESS
@pytest.mark.parametrize("kind", [tuple, list, Tagged._make, w2vtrain.TaggedDocument._make])
def test_all_kinds_of_documents_from_python_are_the_same(kind):
    pairs = [(["a", "b", "a b"], [0, "x"]), ([], ["empty"]), (["b", "a"], [0])]
    model = w2vtrain.train(w2vtrain.Documents([kind(pair) for pair in pairs]), architecture="pv-dbow", **SMALL)
    assert model.dv.index_to_key == ["0", "x", "empty"]
    assert set(model.words) == {"a", "b", "a b"}
    same = w2vtrain.train(w2vtrain.Documents(pairs), **SMALL)  # pv-dbow is the default
    np.testing.assert_array_equal(model.dv.vectors, same.dv.vectors)


def test_a_number_is_a_tag_and_never_a_row(rng):
    """Of documents with the tags 3, 4, ... in any order, 3 is not the fourth."""
    tags = rng.permutation(np.arange(3, 12)).tolist()
    pairs = [(rng.choice(list("abcd"), 20).tolist(), [tag]) for tag in tags]
    dv = w2vtrain.train(w2vtrain.Documents(pairs), architecture="pv-dbow", **SMALL).dv
    for row, tag in enumerate(tags):
        for key in (tag, np.int64(tag), str(tag)):
            np.testing.assert_array_equal(dv[key], dv.vectors[row])
            assert dv.get_index(key) == row
        assert dv.most_similar(tag, topn=3) == dv.most_similar(str(tag), topn=3)
    assert (2 in dv, 3 in dv) == (False, True)
    with pytest.raises(KeyError, match="2 is not in the vocabulary"):
        dv.similarity(2, 3)


@pytest.mark.parametrize("bad", ["text", ["a", "b"], (["a"], "tag"), (["a"], None), 7, None, ("text", ["t"])])
def test_what_is_no_document_is_refused_with_its_number(bad):
    with pytest.raises(TokenError, match="document 1: expected a list of words and a list of tags"):
        w2vtrain.train(w2vtrain.Documents([(["a", "b"], ["t"]), bad]), architecture="pv-dbow", **SMALL)


@WORDLESS
def test_lines_keep_their_numbers_whatever_words_are_left_out(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    settings = SMALL | {"min_count": 2}
    model = w2vtrain.train(w2vtrain.Documents(str(path)), architecture="pv-dbow", **settings)
    assert model.dv.index_to_key == ["1", "2", "3", "4", "5"]
    lines = [(line.split(), [number]) for number, line in enumerate(TEXT.splitlines(), 1)]
    other = w2vtrain.train(w2vtrain.Documents(lines), architecture="pv-dbow", **settings)
    np.testing.assert_array_equal(model.dv.vectors, other.dv.vectors)
    still = w2vtrain.train(w2vtrain.Documents(lines), architecture="pv-dbow", **settings | {"epochs": 1, "alpha": 1e-9})
    moved = np.abs(model.dv.vectors - still.dv.vectors).max(axis=1)
    assert [bool(change > 1e-6) for change in moved] == [True, False, True, False, True]


@pytest.mark.parametrize("architecture", ["pv-dbow", "pv-dm"])
def test_a_document_that_is_cut_into_sentences_stays_one_document(rng, architecture):
    documents = [(rng.choice(list("abcdef"), 50).tolist(), [name]) for name in ("one", "two")]
    model = w2vtrain.train(w2vtrain.Documents(documents), architecture=architecture, max_sentence=7, **SMALL)
    assert model.dv.index_to_key == ["one", "two"]
    assert model.record["corpus"]["sentences"] == 16


def test_rows_of_one_tag_share_a_vector(tmp_path):
    pytest.importorskip("pyarrow")
    table = tmp_path / "table.csv"
    table.write_text('text,author\n"a b c",ann\n"b c",bob\n"c a b",ann\n"a a",\n')
    model = w2vtrain.train(w2vtrain.Documents(str(table), tag="author"), architecture="pv-dbow", column="text", **SMALL)
    assert model.dv.index_to_key == ["ann", "bob", "row_4"]


CELLS = ["a b\nc", "", "b\n\na", "c a"]
"""Texts of four documents, some of several lines."""


@WORDLESS
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow", "frame", "array"])
def test_a_row_of_several_lines_is_one_document(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"text": CELLS, "author": ["ann lee", "bob", "x\ny", " "], "year": [1999, -7, 1999, 0]})
    corpus, column = str(tmp_path / f"table{suffix}"), "text"
    if suffix in (".csv", ".tsv"):
        table.to_csv(corpus, index=False, sep="," if suffix == ".csv" else "\t")
    elif suffix == ".jsonl":
        table.to_json(corpus, orient="records", lines=True)
    elif suffix == ".parquet":
        table.to_parquet(corpus)
    elif suffix == ".arrow":
        table.to_feather(corpus)
    else:
        corpus, column = (table, "text") if suffix == "frame" else (np.array(CELLS), None)
    model = w2vtrain.train(w2vtrain.Documents(corpus), architecture="pv-dbow", column=column, **SMALL)
    assert model.dv.index_to_key == ["1", "2", "3", "4"]
    assert model.record["corpus"]["sentences"] == 3
    if suffix != "array":
        for tag, names in (("author", ["ann_lee", "bob", "x_y", "row_4"]), ("year", ["1999", "-7", "0"])):
            tagged = w2vtrain.Documents(corpus, tag=tag)
            model = w2vtrain.train(tagged, architecture="pv-dbow", column=column, **SMALL)
            assert model.dv.index_to_key == names


def test_tags_are_read_after_the_text(tmp_path):
    reader = pytest.importorskip("pyarrow").table({"text": ["a b", "b c"], "author": ["ann", "bob"]}).to_reader()
    with pytest.raises(DataError, match="has 0 rows, and the text, which was read before, 2: pass what does not"):
        w2vtrain.train(w2vtrain.Documents(reader, "author"), architecture="pv-dbow", column="text", **SMALL)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("tags", [["x_y", "z"], [10, 7], [2.5, 0.25]], ids=["strings", "integers", "floats"])
def test_a_column_of_lists_has_several_tags_per_row(tmp_path, tags, suffix):
    path, (first, second) = tmp_path / f"t{suffix}", tags
    rows = [{"text": "a b", "tags": tags}, {"text": "b c", "tags": []}, {"text": "c", "tags": [second]}]
    path.write_text("".join(json.dumps(row).replace("x_y", "x y") + "\n" for row in rows))
    if suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), path)
    documents = w2vtrain.Documents(str(path), tag="tags")
    model = w2vtrain.train(documents, architecture="pv-dbow", column="text", **SMALL)
    assert model.dv.index_to_key == [str(first), str(second), "row_2"]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".arrow", "frame"])
@pytest.mark.parametrize("kind", ["text", "numbers", "lists", "first"])
def test_a_null_is_no_tag(tmp_path, kind, suffix):
    tags = {
        "text": ["x", None, ""],
        "numbers": [7, None, 8],
        "lists": [["x"], None, [None, "y"]],
        "first": [None, ["x"], []],
    }[kind]
    rows = [{"text": "a b", "tag": tag} for tag in tags]
    corpus = tmp_path / f"t{suffix}"
    if suffix == ".jsonl":
        corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
        if suffix == "frame":
            corpus = table
        elif suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, corpus)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, corpus)
    model = w2vtrain.train(w2vtrain.Documents(corpus, "tag"), architecture="pv-dbow", column="text", **SMALL)
    names = {
        "text": ["x", "row_2", "row_3"], "numbers": ["7", "row_2", "8"], "lists": ["x", "row_2", "y"],
        "first": ["row_1", "x", "row_3"],
    }  # fmt: skip
    assert model.dv.index_to_key == names[kind]


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([[""], ["t"]], "tags of documents: word 0 is empty"),
        ([["a\nb"], ["t"]], "contains a newline"),
        ([["\ud800"], ["t"]], "unpaired surrogate"),
        ([[1], ["1"]], "two tags are the same as text, 1 and '1': rename one"),
        ([["row_2"], []], "the same as text, 'row_2' and row_2 of document 2, which has none"),
        ([["t"], [2.0]], "document 1: its tag 2.0 must be a string or a whole number"),
    ],
)
def test_tags_that_cannot_be_saved_are_refused_before_training(monkeypatch, tags, message):
    monkeypatch.setattr("w2vtrain.training.trainer.Trainer.__init__", None)
    with pytest.raises(DataError, match=message):
        w2vtrain.train(w2vtrain.Documents([(["a", "b"], own) for own in tags]), architecture="pv-dbow", **SMALL)


def test_rows_are_numbered_by_first_appearance():
    names, tags = rows_of([["b", "a"], [], ["a", 3], [3]], 100)
    assert names == ["b", "a", "row_2", "3"]
    assert tags.starts.tolist() == [0, 2, 3, 5, 6]
    assert tags.rows.tolist() == [100, 101, 102, 101, 103, 103]
    assert (tags.size, tags.most) == (4, 2)


@pytest.mark.parametrize("objective", ["neg", "softmax"])
def test_a_run_stopped_in_an_epoch_resumes_to_the_same_bytes(tmp_path, rng, objective):
    documents = topics(rng, 400)
    asked = Settings(objective=objective, architecture="pv-dm", **SMALL)
    whole = train(Plan.of(Inputs(w2vtrain.Documents(documents)), asked))
    run = StopsAt(tmp_path / "run", 4)
    with run.held():
        plan = Plan.of(Inputs(w2vtrain.Documents(documents)), asked)
        begin(run, plan.settings)
        with pytest.raises(Stopped):
            train(plan, run)
    again = CheckpointedRun(tmp_path / "run")
    with again.held():
        plan = Plan.of(Inputs(w2vtrain.Documents(documents)), asked)
        begin(again, plan.settings)
        resumed = train(plan, again)
    for name in ("input", "output"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    np.testing.assert_array_equal(resumed.dv.vectors, whole.dv.vectors)


@pytest.mark.parametrize("architecture", ["pv-dm", "pv-dm-concat"])
def test_several_threads_train_all_documents(rng, architecture):
    model = w2vtrain.train(w2vtrain.Documents(topics(rng, 2000)), architecture=architecture, **SMALL | {"threads": 2})
    assert np.isfinite(model.dv.vectors).all()
    assert len(model.dv) == 2004


def test_the_memory_of_wide_output_vectors_is_checked(rng, monkeypatch):
    monkeypatch.setattr(memory_and_disk, "available_memory", lambda: 1 << 24)
    documents, settings = w2vtrain.Documents(topics(rng, 4)), {"architecture": "pv-dm-concat", "window": 3000}
    with pytest.raises(ResourceError, match="need 21 MiB of memory, but only 16 MiB are free: a smaller window"):
        w2vtrain.train(documents, **SMALL | settings)


def test_a_saved_model_has_its_documents(tmp_path, rng):
    model = w2vtrain.train(w2vtrain.Documents(topics(rng)), architecture="pv-dm", **SMALL)
    model.save(tmp_path / "model.safetensors")
    loaded = w2vtrain.load_model(tmp_path / "model.safetensors")
    assert loaded.dv.index_to_key == model.dv.index_to_key
    np.testing.assert_array_equal(loaded.dv.vectors, model.dv.vectors)
    cut = replace(loaded, arrays=loaded.arrays | {"documents": loaded.arrays["documents"][1:]})
    with pytest.raises(DataError, match=r"model\.safetensors is damaged"):
        cut.documents  # noqa: B018
    with pytest.raises(DataError, match=r"model\.bin: fastText's format has no vectors of documents"):
        loaded.save_fasttext(tmp_path / "model.bin")
    assert not (tmp_path / "model.bin").exists()


# The command line


@pytest.fixture
def reviews(tmp_path, rng):
    path = tmp_path / "reviews.txt"
    path.write_text("".join(" ".join(words) + "\n" for words, _ in topics(rng, 40)))
    return path


FLAGS = ["--vector-size", "12", "--min-count", "1", "--sample", "0", "--threads", "1", "--epochs", "2"]


def test_fit_writes_the_vectors_of_documents_and_of_words(w2vtrain_here, reviews, tmp_path):
    more = ["--architecture", "pv-dm", "--save-word-vectors", "words.txt", "--save-model", "m.safetensors"]
    code, _, said = w2vtrain_here(["fit", reviews, "--documents", "-o", "docs.txt", *FLAGS, *more], tmp_path)
    assert code == 0, said
    docs, words = (w2vtrain.read_vectors(tmp_path / name) for name in ("docs.txt", "words.txt"))
    assert docs.words == [str(line) for line in range(1, 41)]
    assert len(words.words) == 100
    model = w2vtrain.load_model(tmp_path / "m.safetensors")
    np.testing.assert_allclose(docs.matrix, model.dv.vectors, atol=1e-6)
    np.testing.assert_allclose(words.matrix, model.vectors(), atol=1e-6)


def test_documents_without_words_are_counted(w2vtrain_here, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    flags = [*FLAGS, "--min-count", "2", "-o", "docs.txt"]
    code, _, said = w2vtrain_here(["fit", "text.txt", "--documents", *flags], tmp_path)
    assert code == 0, said
    assert "2 of 5 tags have documents without any word of the vocabulary: their vectors are random" in said
    (tmp_path / "whole.txt").write_text("a b a\nb a\n")
    code, _, said = w2vtrain_here(["fit", "whole.txt", "--documents", *flags, "--force"], tmp_path)
    assert (code, "without any word" in said) == (0, False)
    (tmp_path / "one.txt").write_text("a b a b a\n")
    code, _, said = w2vtrain_here(["fit", "one.txt", "--documents", *flags, "--force"], tmp_path)
    assert (code, "all documents have the same tag" in said) == (0, True), said


def test_documents_choose_pv_dbow(w2vtrain_here, reviews, tmp_path):
    code, _, said = w2vtrain_here(["fit", reviews, "--documents", "-o", "docs.txt", *FLAGS], tmp_path)
    assert code == 0, said
    assert "            40 documents with 40 tags\n" in said
    assert "12 dimensions, alpha 0.05" in said  # and no window
    record = json.loads((tmp_path / "docs.txt.json").read_text())
    assert record["settings"]["architecture"] == "pv-dbow"
    assert record["record"]["origins"]["architecture"] == "chosen automatically"


def test_a_dry_run_counts_documents_and_writes_nothing(w2vtrain_here, reviews, tmp_path):
    words = ["fit", reviews, "--documents", "-o", "docs.txt", *FLAGS, "--dry-run"]
    code, said, error = w2vtrain_here(words, tmp_path)
    assert code == 0, error
    assert "corpus      40 documents with 40 tags\nvocabulary  100 words\n" in said
    expected = json.loads(w2vtrain_here([*words, "--json"], tmp_path)[1])
    assert expected["weights"] >= (100 + 40 + 100) * 16 * 4  # rows of words and of documents, padded to 16 floats
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.txt"]


def test_tags_need_a_table_that_can_be_read_twice(w2vtrain_here, tmp_path):
    rows = "".join(json.dumps({"text": "a b", "author": name}) + "\n" for name in ("x y", "z"))
    flags = ["--documents", "--column", "text", "-o", "docs.txt", *FLAGS]
    code, _, said = w2vtrain_here(["fit", "-", *flags, "--tag", "author"], tmp_path)
    assert code == 2, said
    assert "tag: standard input can be read only once" in said
    (tmp_path / "t.jsonl").write_text(rows)
    code, _, said = w2vtrain_here(["fit", "t.jsonl", *flags, "--tag", "name"], tmp_path)
    assert code == 65
    assert "no column 'name'" in said
    code, _, said = w2vtrain_here(["fit", "t.jsonl", *flags, "--tag", "author"], tmp_path)
    assert code == 0, said
    assert w2vtrain.read_vectors(tmp_path / "docs.txt").words == ["x_y", "z"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--documents", "--export", "out"], 2, "export: has no effect on vectors of documents"),
        (["--documents", "--save-word-vectors", "w.txt"], 2, "pv-dbow trains no vectors of words"),
        (["--documents", "--graph"], 2, "graph: does not go with --documents; leave out one"),
        (["--tag", "author"], 2, "tag: has no effect without --documents"),
        (["--save-word-vectors", "w.txt"], 2, "save-word-vectors: has no effect without --documents"),
        (["--documents", "--tag", "author"], 78, "the column of their text must be named, too"),
        (["--documents", "--read-vocab", "vocabulary.txt"], 78, "this corpus has words of its own"),
        (["--documents", "--heldout", "reviews.txt"], 78, "heldout: does not go with documents"),
        (["--documents", "--architecture", "pv-dm", "--subwords"], 78, "subwords: does not go with documents"),
        (["--documents", "--architecture", "cbow"], 78, "cbow learns no vectors of documents"),
        (["--documents", "--objective", "nce", "-O", "learn_z=true"], 78, "nce with these options learns log_z for"),
        (["--architecture", "pv-dm"], 78, "from vectors of their documents, and this text has none"),
        (["--documents", "--window", "3"], 78, "window: has no effect on pv-dbow"),
        (["--documents", "--context", "left"], 78, "context: has no effect on pv-dbow"),
        (
            ["--documents", "--architecture", "pv-dm-concat", "--save-word-vectors", "w.txt", "--export", "out"],
            78,
            "export: pv-dm-concat has wider output vectors; use --export in",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(w2vtrain_here, reviews, tmp_path, words, code, message):
    (tmp_path / "vocabulary.txt").write_text("w1 2\nw2 1\n")
    got, out, said = w2vtrain_here(["fit", "reviews.txt", "-o", "docs.txt", *FLAGS, *words], tmp_path)
    assert (got, out) == (code, ""), said
    (line,) = [line for line in said.splitlines() if "error" in line]
    assert message in line
    assert not (tmp_path / "docs.txt").exists()


def test_a_saved_model_writes_its_documents_and_refuses_what_it_does_not_have(w2vtrain_here, reviews, tmp_path):
    flags = ["--save-model", "m.safetensors", *FLAGS]
    assert w2vtrain_here(["fit", reviews, "--documents", "-o", "docs.txt", *flags], tmp_path)[0] == 0
    command = ["convert", "m.safetensors", "-o", "again.txt", "--export", "documents"]
    assert w2vtrain_here(command, tmp_path)[0] == 0
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "docs.txt").read_bytes()
    hint = "'12' is the tag of a document: `w2vtrain convert m.safetensors -o FILE --export documents`"
    cannot = "m.safetensors is a model of documents, which cannot be trained further"
    for words, answered, message in (
        ("perplexity m.safetensors reviews.txt", 65, "from vectors of their documents, and this text has none"),
        ("perplexity reviews.txt m.safetensors", 65, "comes first: w2vtrain perplexity m.safetensors reviews.txt"),
        ("convert m.safetensors -o x.txt --export in", 65, "pv-dbow trains no input vectors of words: use --export do"),
        ("convert m.safetensors -o x.txt --export blend", 65, "pv-dbow trains no input vectors of words"),
        ("neighbors m.safetensors 12", 65, hint),
        ("similarity m.safetensors 12 13", 65, hint),
        ("vector m.safetensors 12", 65, hint),
        ("plot map m.safetensors 12 13 -o map.html", 65, hint),
        ("fit reviews.txt -o x.txt --init-from m.safetensors", 78, cannot),
        ("fit reviews.txt -o x.txt --init-from m.safetensors --documents", 78, cannot),
    ):
        code, _, said = w2vtrain_here(words.split(), tmp_path)
        assert (code, said.count("\n")) == (answered, 1), said
        assert message in said


def test_the_command_for_tags_with_spaces_writes_them(w2vtrain_here, rng, tmp_path):
    documents = w2vtrain.Documents([(words, [f"doc {i}"]) for i, (words, _) in enumerate(topics(rng, 9))])
    w2vtrain.train(documents, **SMALL).save(tmp_path / "m.safetensors")
    said = w2vtrain_here(["neighbors", "m.safetensors", "doc 3"], tmp_path)[2]
    command = said.split("`")[1].replace("FILE", "v.txt").split()
    assert w2vtrain_here(command[1:], tmp_path)[0] == 0, command
    assert w2vtrain_here(["neighbors", "v.txt", "doc_3"], tmp_path)[0] == 0


def test_a_stopped_run_says_that_its_documents_come_at_the_end(w2vtrain_here, reviews, tmp_path, monkeypatch):
    monkeypatch.setattr("w2vtrain.commands.fit_run.train", stopping(1))
    code, _, said = w2vtrain_here(["fit", reviews, "--documents", "-o", "docs.txt", *FLAGS], tmp_path)
    assert code == 75, said
    code, _, said = w2vtrain_here(["export", "docs.txt.run", "-o", "x.txt"], tmp_path)
    assert code == 2
    assert "vectors of documents are written when the run ends: w2vtrain resume docs.txt.run" in said
    monkeypatch.undo()
    assert w2vtrain_here(["resume", "docs.txt.run"], tmp_path)[0] == 0
    assert len(w2vtrain.read_vectors(tmp_path / "docs.txt").words) == 40
