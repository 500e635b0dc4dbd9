"""Tests that what gensim 3 or other parts of gensim have names what to use instead."""

import copy
import importlib.util
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import w2vtrain
from w2vtrain.gensim_names import SUCCESSORS

TEXT = [["red", "green", "blue"], ["cat", "dog", "cow"]] * 9


@pytest.fixture(scope="module")
def model():
    model = w2vtrain.Word2Vec(vector_size=4, min_count=1)
    model.build_vocab(TEXT)
    return model


@pytest.mark.parametrize("name", SUCCESSORS["Word2Vec"])
def test_an_attribute_of_gensim_3s_model_names_its_successor(model, name, tmp_path):
    with pytest.raises(AttributeError, match=rf"^{name} was removed in gensim 4\.0: use \S+") as caught:
        getattr(model, name)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, name)
    mine = copy.copy(model)
    setattr(mine, name, 3)  # as in gensim 4, a program may have such an attribute
    mine.save(tmp_path / "model")
    assert getattr(w2vtrain.Word2Vec.load(tmp_path / "model"), name) == getattr(mine, name) == 3


def test_keys_and_vectors_cannot_be_set_by_the_names_of_gensim_3(model):
    for name in ("vocab", "index2word", "syn0"):
        with pytest.raises(AttributeError, match="use"):
            setattr(model.wv, name, [])


@pytest.mark.parametrize("kind", ["Word2Vec", "KeyedVectors"])
def test_successors_exist(kind, model):
    """The first word of a successor is an attribute path of the model or the vectors, or a name of the package."""
    thing = {"Word2Vec": model, "KeyedVectors": model.wv}[kind]
    for name, successor in SUCCESSORS[kind].items():
        if name != "trainables":
            path = successor.replace("(", " ").replace(",", " ").split()[0].split(".")
            home = w2vtrain if hasattr(w2vtrain, path[0]) else thing
            for part in path:
                home = getattr(home, part)


def test_a_trained_model_names_what_has_the_place_of_gensims_attributes():
    model = w2vtrain.train(TEXT, min_count=1, vector_size=4, sample=0)
    assert model.wv.most_similar("red") == model.most_similar("red")
    for name, successor in SUCCESSORS["Model"].items():
        with pytest.raises(AttributeError, match=rf"^{name} is not an attribute of w2vtrain.Model: use ") as caught:
            getattr(model, name)
        assert str(caught.value).endswith(successor)
        assert name not in dir(model), "completion offers what can be read"
        place, _, rest = successor.partition("(")[0].partition(", ")[0].partition(".")
        assert hasattr(w2vtrain, rest) if place == "w2vtrain" else hasattr(getattr(model, place), rest or "__len__")


def test_a_removed_function_of_the_class_names_its_successor():
    with pytest.raises(AttributeError, match=r"use KeyedVectors.load_word2vec_format\(path\)"):
        w2vtrain.Word2Vec.load_word2vec_format("vectors.bin", binary=True)
    assert "most_similar" in dict(inspect.getmembers(w2vtrain.Word2Vec))  # classes can be looked at


@pytest.mark.parametrize(
    "call, line",
    [
        (lambda model: model["red"], r"use model\.wv\['red'\]"),
        (lambda model: "red" in model, r"use 'red' in model\.wv"),
        (list, r"use model\.wv\[0\]"),
        (lambda model: w2vtrain.Word2Vec(size=9), "Word2Vec has no argument size: use vector_size"),
        (lambda model: w2vtrain.Word2Vec(TEXT, iter=9, size=4), "no argument iter, size: use epochs, vector_size"),
        (lambda model: model.train(sentences=TEXT), "train has no argument sentences: use corpus_iterable"),
        (lambda model: model.build_vocab(sentences=TEXT), "build_vocab has no argument sentences: use corpus_iterable"),
        (lambda model: w2vtrain.Word2Vec(corpus_iterable=TEXT), "Word2Vec has no argument corpus_iterable: use sent"),
        (lambda model: w2vtrain.Doc2Vec(sentences=TEXT), "Doc2Vec has no argument sentences: use documents"),
        (lambda model: w2vtrain.Doc2Vec(TEXT, sg=1), "Doc2Vec has no argument sg$"),
    ],
    ids=["item", "in", "list", "size", "both", "train", "build_vocab", "corpus", "sentences", "sg"],
)
def test_an_item_or_argument_of_gensim_3_names_its_successor(model, call, line):
    with pytest.raises(TypeError, match=line):
        call(model)


def test_a_model_says_where_its_queries_and_settings_are():
    model = w2vtrain.train(TEXT, min_count=1, vector_size=4, sample=0, epochs=1)
    cases = {
        "similarity": "wv.similarity",
        "rank_by_centrality": "wv.rank_by_centrality",
        "vocab": "wv.key_to_index",
        "window": "settings['window']",
        "hs": "settings, which has the objective",
        "get_latest_training_loss": "record, which has the loss",
    }
    for name, use in cases.items():
        with pytest.raises(AttributeError, match=rf"^{name} is not an attribute of w2vtrain.Model: use ") as caught:
            getattr(model, name)
        assert use in str(caught.value)
    with pytest.raises(AttributeError, match=r"^shape is not an attribute of w2vtrain.Model$"):
        getattr(model, "shape")  # noqa: B009 - no type checker knows it
    assert pickle.loads(pickle.dumps(model)).words == copy.deepcopy(model).words == model.words


@pytest.mark.parametrize("name", SUCCESSORS["w2vtrain"])
def test_a_part_of_gensim_says_where_it_is(name):
    line = rf"^w2vtrain has no {name}: use \S+"
    with pytest.raises(AttributeError, match=line):
        getattr(w2vtrain, name)
    with pytest.raises(ImportError, match=line):
        exec(f"from w2vtrain import {name}")
    assert not hasattr(w2vtrain, name)
    assert importlib.util.find_spec(f"w2vtrain.{name}") is None


def test_importing_the_package_does_not_load_the_table():
    code = "import sys, w2vtrain; assert 'w2vtrain.gensim_names' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_python_errors():
    for statement in ("import w2vtrain.nothing", "from w2vtrain import nothing", "import nothing_at_all"):
        with pytest.raises(ImportError, match=r"No module named|cannot import name"):
            exec(statement)
    with pytest.raises(AttributeError, match="module 'w2vtrain' has no attribute 'nothing'"):
        _ = w2vtrain.nothing


def test_names_outside_of_the_table_are_free():
    class Mine(w2vtrain.Word2Vec):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.walks = 7

    assert Mine(TEXT, min_count=1, vector_size=4, epochs=1, sample=0).walks == 7
    vectors = w2vtrain.KeyedVectors.of(["red"], np.ones((1, 2), np.float32))
    vectors.comment = "free"
