"""Save `Word2Vec` models as model files of this package, and load them. Nothing is pickled.

A model file that `w2vtrain fit --save-model` wrote can be loaded, too, if its objective is neg, hs or hs-neg.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from os import PathLike, fspath
from typing import Any

import numpy as np

from w2vtrain.config import validated
from w2vtrain.embeddings.keyed_rows import builtin_errors
from w2vtrain.embeddings.model import Model, load_model
from w2vtrain.errors import ConfigError, DataError, InvalidType, InvalidValue, shown
from w2vtrain.formats.fasttext_file import NAME as FASTTEXT
from w2vtrain.formats.fasttext_file import Unsupported
from w2vtrain.formats.model_file import INPUT_ROWS, NGRAM_BUCKETS, OTHER_TREE, choose_vectors
from w2vtrain.formats.safetensors import NAMES
from w2vtrain.formats.sniff import MODEL_READERS, sniff
from w2vtrain.leaves.gensim.learning import OBJECTIVES, settings_for
from w2vtrain.leaves.gensim.matrices import Matrices
from w2vtrain.leaves.gensim.parameters import PARAMETERS, check
from w2vtrain.objectives import build
from w2vtrain.objectives.hs import Hierarchical, stored_tree
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.trees import Tree, huffman

logger = logging.getLogger(__name__)

BLENDED = (
    "%s: the file has blends of input and output vectors; this model has the input vectors, with which training"
    " continues; KeyedVectors.load reads the blends"
)
OWN_ATTRIBUTES = "attributes"
"""The entry of the model's record that has the attributes which only a subclass or a user's program knows."""
ORDER = "word2vec.order"
"""The array that has the model's row of each word, if the words are not ordered by count."""
ATTRIBUTE = "word2vec.attribute."
"""The array of each attribute of the words is called this and its name; counts are stored as in all models."""
FIXED_SETTINGS = {"context": "symmetric", "sentence_end": False, "weight_decay": 0.0, "bias": False, "init": 0.0}
"""Settings that Word2Vec does not have, with the values that it trains with."""
READ_AS_IS = {"tokenizer": ("unicode", "whitespace"), "phrases": (None,)}
"""Settings that change the words of a text, which Word2Vec does not do, with the values for which it need not."""


class NotAModel(DataError, AttributeError):
    """Raised if a file has no Word2Vec model. gensim raises AttributeError."""


def empty(cls: Any) -> Any:
    """Return a model without words of `Word2Vec` or a subclass, without calling the constructor of the subclass."""
    model = cls.__new__(cls)
    base_of(cls).__init__(model)  # type: ignore[misc]
    return model


class OnClass:
    """`Word2Vec.load`, which is called on the class; on a model it is an AttributeError, as in gensim."""

    def __get__(self, instance: Any, owner: Any) -> Callable[..., Any]:
        """Return the function that loads a model of the class."""
        if instance is not None:
            raise AttributeError(f"load is called on the class: {owner.__name__}.load(path)")

        def load(fname: str | PathLike[str], *_: Any, **__: Any) -> Any:
            """Load a model from a file that `save` wrote; memory-mapping is not needed and ignored."""
            model = empty(owner)
            with builtin_errors():
                try:
                    return loaded(model, fspath(fname))
                except (Unsupported, NotAModel):
                    raise
                except DataError as error:
                    raise NotAModel(str(error)) from error

        return load


def as_model(model: Any) -> Model:
    """Return a Word2Vec model as a Model of this package, which shares its matrices where the order of words agrees.

    Raise RuntimeError if it has no vocabulary.
    """
    if model.matrices is None:
        raise RuntimeError("there is nothing to save: the model has no vocabulary")
    model.matrices.kept = None  # with this engine, the next call of `train` would change the Model
    model.follow_words()
    matrices, rows = model.matrices, model.matrices.order
    outputs = [] if matrices.nodes is None else [matrices.nodes]
    outputs += [] if matrices.words is None else [matrices.words[rows]]
    vocabulary = model.vocabulary()
    settings = settings_for(model, model.epochs, model.alpha, model.min_alpha, int(vocabulary.counts.sum()))
    problem = Problem(model.wv.index_to_key, np.sort(vocabulary.counts)[::-1], model.vector_size)
    arrays = build(settings.objective, problem, settings.options).arrays()
    record: dict[str, Any] = {"vectors": "in"}
    if matrices.nodes is not None and (matrices.tree or not problem.counts.all()):  # a word that was added has none
        tree = matrices.tree or huffman(problem.counts)
        arrays |= Hierarchical.with_tree(tree).arrays()
        if not all(map(np.array_equal, tree, huffman(np.maximum(problem.counts, 1)))):
            record[OTHER_TREE] = True
    locks = np.asarray(getattr(model.wv, "vectors_lockf", 1.0), np.float32)
    if not locks.any():
        locks = np.zeros(len(model.wv), np.float32)
    attributes = {ATTRIBUTE + "vectors_lockf": locks} if locks.shape == (len(model.wv),) else {}
    attributes |= stored_attributes(model.wv, ATTRIBUTE)
    arrays |= {name: values[rows] for name, values in attributes.items()}
    if settings.subwords:
        arrays[INPUT_ROWS] = np.concatenate([model.wv.vectors_vocab[rows], model.wv.ngrams.matrix])
        arrays[NGRAM_BUCKETS] = np.asarray(model.wv.ngrams.buckets)
    return Model(
        words=vocabulary.words,
        counts=vocabulary.counts,
        input=np.asarray(model.wv.vectors, np.float32)[rows],
        output=outputs[0] if len(outputs) == 1 else np.concatenate(outputs),
        arrays=arrays if matrices.is_in_order else {**arrays, ORDER: rows},
        settings=asdict(settings),
        record=record | {"word2vec": {name: _plain(getattr(model, name)) for name in model.parameters} | _own(model)},
    )


def base_of(cls: type) -> type:
    """Return `Word2Vec` or `FastText` for it or a subclass of it."""
    return next(base for base in cls.__mro__ if "load" in vars(base))


def _own(model: Any) -> dict[str, Any]:
    """Return the attributes that a subclass or a user has given a model, and warn about those that cannot be saved."""
    known = vars(base_of(type(model))())
    own = {name: value for name, value in vars(model).items() if name not in known}
    for name in [name for name, value in own.items() if not _is_json(value)]:
        logger.warning("the attribute %s is not saved: JSON cannot hold this %s", name, type(own.pop(name)).__name__)
    return {OWN_ATTRIBUTES: own} if own else {}


def _is_json(value: Any) -> bool:
    """Return whether JSON can hold a value so that it is read back as it is."""
    try:
        copy = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return False
    return type(copy) is type(value) and bool(copy == value)


def _plain(value: Any) -> Any:
    """Return a value that JSON can store: a number of NumPy as one of Python, another object as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, int | float | str) else str(value)


def stored_attributes(keyed: Any, prefix: str) -> dict[str, Any]:
    """Return the attributes of keys besides their counts, (V,) each, by name after `prefix`; warn about all others."""
    arrays = {}
    for name, given in keyed.expandos.items():
        values = np.asarray(given)
        if values.shape == (len(keyed),) and values.dtype in NAMES:
            arrays[prefix + name] = values
        else:
            logger.warning("the attribute %s of keys is not saved: it must be one number or bool per key", name)
    arrays.pop(f"{prefix}count", None)
    return arrays


def loaded(model: Any, path: str) -> Any:
    """Fill an empty Word2Vec model from a file. Raise NotAModel if it has none, and the errors of `load_model`."""
    if (kind := sniff(path)).kind not in MODEL_READERS:
        raise NotAModel(f"{path}: is no model of {base_of(type(model)).__name__} but {kind.note or kind.kind}")
    stored = load_model(path)
    if choose_vectors(stored.record)[0] == "blend":
        logger.warning(BLENDED, path)
    _set_parameters(model, stored, path)
    size, order = len(stored.words), stored.arrays.get(ORDER)
    if order is not None and (order.dtype.kind != "i" or not np.array_equal(np.sort(order), np.arange(size))):
        raise NotAModel(f"{path}: the array {ORDER} is not an order of the words")
    if (np.diff(stored.counts) > 0).any():
        raise NotAModel(f"{path}: the words are not ordered by count")
    nodes, noise = size - 1 if model.hs else 0, size if model.negative else 0
    if len(stored.output) != nodes + noise:
        raise NotAModel(f"{path}: {len(stored.output):,} output rows; the model's parameters require {nodes + noise:,}")
    rows: Any = slice(None) if order is None else np.argsort(order)
    words = np.array(stored.words, object)[rows].tolist()
    if stored.settings.get("subwords") and not model.subword_settings():
        raise NotAModel(f"{path}: a model with subwords: load it with w2vtrain.FastText.load")
    model.vector_size = stored.input.shape[1]
    if stored.output.shape[1] != model.layer1_size:
        raise NotAModel(f"{path}: output vectors of {stored.output.shape[1]} values, expected {model.layer1_size}")
    model.wv = model._keyed(words, stored.input[rows], stored.counts[rows])
    if model.subword_settings():
        ngrams = stored._ngrams("in")
        if ngrams is None:
            raise NotAModel(f"{path}: the record of the model names n-grams that it does not have")
        # Matrices of fastText's files are read-only.
        model.wv.ngrams = replace(ngrams, matrix=np.require(ngrams.matrix, np.float32, "W"))
        model.wv.vectors_vocab = stored._own_rows(ngrams)[rows]
    arrays = {name: array for name, array in stored.arrays.items() if name.startswith(ATTRIBUTE)}
    values = {name.removeprefix(ATTRIBUTE): array[rows] for name, array in arrays.items() if array.shape == (size,)}
    model.wv.vectors_lockf = values.pop("vectors_lockf", np.ones(1, np.float32))
    model.wv.expandos.update(values)
    outputs, inner = stored.output[nodes:][rows] if noise else None, stored.output[:nodes] if nodes else None
    tree = _tree(stored, size, path) if nodes > 0 else None
    model.matrices = Matrices(outputs, inner, order, list(words), stored.counts[rows], tree)
    model.take_rest(stored, path)
    return model


def _tree(stored: Model, size: int, path: str) -> Tree | None:
    """Return the tree of a model if it is another one than follows from the counts, as that of gensim may be."""
    try:
        tree = stored_tree(stored.arrays, size - 1)
    except DataError as error:
        raise NotAModel(f"{path}: {error}") from error
    return None if tree is None or all(map(np.array_equal, tree, huffman(stored.counts))) else tree


def _set_parameters(model: Any, stored: Model, path: str) -> None:
    """Set a model's parameters from its record or, if `w2vtrain fit` trained it, from its settings."""
    values = stored.record.get("word2vec")
    if values is None:
        values = _from_settings(model, stored.settings, path)
        if isinstance(corpus := stored.record.get("corpus"), dict):
            read = {"corpus_count": corpus.get("lines"), "corpus_total_words": corpus.get("tokens")}
            values |= {name: value for name, value in read.items() if isinstance(value, int)}
    if not isinstance(values, dict):
        raise NotAModel(f"{path}: the record of the model is invalid")
    if "bucket" in model.parameters and "bucket" not in values and FASTTEXT not in stored.record:
        raise NotAModel(f"{path}: a model without subwords: load it with w2vtrain.Word2Vec.load")
    values = {"bucket": 0, **values}  # the words of a model that names no n-grams have none
    for name in model.parameters:
        setattr(model, name, values.get(name, getattr(model, name)))
    if isinstance(own := values.get(OWN_ATTRIBUTES), dict):  # a file cannot replace what Word2Vec has
        plain = base_of(type(model))()
        vars(model).update({name: value for name, value in own.items() if not hasattr(plain, name)})
    model.compute_loss, model.comment = bool(model.compute_loss), _plain(model.comment)
    try:
        check(model)
    except (InvalidType, InvalidValue) as error:
        raise NotAModel(f"{path}: {error}") from error


def _from_settings(model: Any, settings: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the parameters of a model that are equivalent to settings. Raise NotAModel if there are none."""
    try:
        checked = asdict(validated(settings))
    except ConfigError as error:
        raise NotAModel(f"{path}: the model's settings: {error}") from error
    kinds = {name: kind for kind, name in OBJECTIVES.items()}
    objective, architecture, options = (checked[name] for name in ("objective", "architecture", "options"))
    other = [name for name, value in FIXED_SETTINGS.items() if checked[name] != value]
    other += ["tree"] if options.get("tree", "huffman") != "huffman" else []
    if objective not in kinds or architecture not in model.architectures or other:
        raise NotAModel(
            f"{path}: {architecture} with {objective}{' and another ' + other[0] if other else ''} is no model of"
            f" {base_of(type(model)).__name__}; load it with w2vtrain.load_model"
        )
    if lost := [f"{name}={shown(checked[name])}" for name, plain in READ_AS_IS.items() if checked[name] not in plain]:
        logger.warning("%s: %s is not kept: pass sentences of words such as those in wv", path, " and ".join(lost))
    hs, has_noise = kinds[objective]
    values = {name: checked[name] for name in PARAMETERS if name in settings and name in checked}
    if checked["subwords"]:
        values |= {"min_n": checked["minn"], "max_n": checked["maxn"], "bucket": checked["bucket"]}
    values |= {
        **model.architectures[architecture],
        "hs": hs,
        "negative": options.get("negative", 5) if has_noise else 0,
    }
    if checked["alpha"] is not None:
        values["min_alpha_yet_reached"] = checked["alpha"]
    return {**values, "ns_exponent": options.get("ns_exponent", 0.75)}
