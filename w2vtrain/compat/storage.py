"""Save `Word2Vec` models as model files of this package, and load them. Nothing is pickled.

A model file that `w2vtrain fit --save-model` wrote can be loaded, too, if its objective is neg, hs or hs-neg.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from os import PathLike, fspath
from typing import Any

import numpy as np

from w2vtrain.compat.learning import ARCHITECTURES, OBJECTIVES
from w2vtrain.compat.parameters import PARAMETERS, check
from w2vtrain.compat.weights import Matrices
from w2vtrain.config import validated
from w2vtrain.embeddings.keyed_vectors import KeyedVectors, builtin_errors
from w2vtrain.embeddings.model import Model, load_model, save_model
from w2vtrain.errors import ConfigError, DataError, InvalidType, InvalidValue, shown
from w2vtrain.formats.sniff import sniff
from w2vtrain.objectives.hs import Hierarchical, checked_links
from w2vtrain.probability.trees import Tree, huffman

logger = logging.getLogger(__name__)

OWN = "attributes"
"""The entry of the model's record that has the attributes which only a subclass or a user's program knows."""
ORDER = "word2vec.order"
"""The array that has the model's row of each word, if the words are not ordered by count."""
ATTRIBUTE = "word2vec.attribute."
"""The array of each numeric attribute of the words is called this and its name; counts are stored as in all models."""
FIXED = {"context": "symmetric", "sentence_end": False, "weight_decay": 0.0, "bias": False, "init": 0.0}
"""Settings that Word2Vec does not have, with the values that it trains with."""


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
                return loaded(model, fspath(fname))

        return load


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model to a file. Raise RuntimeError if it has no vocabulary, and the errors of `save_model`."""
    if model.matrices is None:
        raise RuntimeError("there is nothing to save: the model has no vocabulary")
    if not isinstance(path, str | PathLike):
        raise InvalidType(f"save needs the path of a file, got {shown(path)}")
    save_model(fspath(path), as_model(model), force=True)


def as_model(model: Any) -> Model:
    """Return a Word2Vec model as a Model of this package, which shares its matrices where the order of words agrees."""
    if not model.is_training:
        model.fit_matrices()
    matrices, words = model.matrices, model.wv.index_to_key
    order = matrices.order
    rows: Any = slice(None) if order is None else order
    parts = [] if matrices.nodes is None else [matrices.nodes]
    parts += [] if matrices.words is None else [matrices.words[rows]]
    counts = np.asarray(model.wv.expandos["count"], np.int64)
    settings, arrays = model.equivalent()
    if matrices.tree:
        arrays |= Hierarchical.of(matrices.tree).arrays()
    arrays |= {ATTRIBUTE + name: values[rows] for name, values in _attributes(model.wv).items()}
    return Model(
        words=list(words) if order is None else [words[i] for i in order.tolist()],
        counts=counts[rows],
        input=np.asarray(model.wv.vectors, np.float32)[rows],
        output=parts[0] if len(parts) == 1 else np.concatenate(parts),
        arrays=arrays if order is None else {**arrays, ORDER: order},
        settings=asdict(settings),
        record={"vectors": "in", "word2vec": {name: _plain(getattr(model, name)) for name in PARAMETERS} | _own(model)},
    )


def base_of(cls: type) -> type:
    """Return `Word2Vec` for it or a subclass of it."""
    return next(base for base in cls.__mro__ if "load" in vars(base))


def _own(model: Any) -> dict[str, Any]:
    """Return the attributes that a subclass or a user has given a model, and warn about those that cannot be saved."""
    known, found = vars(base_of(type(model))()), {}
    for name, value in vars(model).items():
        if name in known:
            continue
        if _is_json(value):
            found[name] = value
        else:
            logger.warning("the attribute %s is not saved: JSON has no %s", name, type(value).__name__)
    return {OWN: found} if found else {}


def _is_json(value: Any) -> bool:
    """Return whether JSON can hold a value so that it is read back as it is."""
    try:
        found = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return False
    return type(found) is type(value) and bool(found == value)


def _plain(value: Any) -> Any:
    """Return a value that JSON can store: a number of NumPy as one of Python, another object as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, int | float | str) else str(value)


def _attributes(wv: Any) -> dict[str, Any]:
    """Return the numeric attributes of the words besides their counts, and the locks of their vectors, (V,) each."""
    found = {name: np.asarray(values) for name, values in wv.expandos.items() if name != "count"}
    locks = np.asarray(getattr(wv, "vectors_lockf", 1.0), np.float32)
    if locks.shape == (len(wv),):
        found["vectors_lockf"] = locks
    kinds = {"b": np.int64, "i": np.int64, "u": np.int64, "f": np.float32}
    return {
        name: values.astype(kinds[values.dtype.kind])
        for name, values in found.items()
        if values.shape == (len(wv),) and values.dtype.kind in kinds
    }


def loaded(model: Any, path: str) -> Any:
    """Fill an empty Word2Vec model from a file. Raise NotAModel if it has none, and the errors of `load_model`."""
    try:
        if (what := sniff(path)).kind != "model":
            raise NotAModel(f"{path}: is no model of Word2Vec but {what.note or what.kind}")
        found = load_model(path)
    except DataError as error:
        raise NotAModel(str(error)) from error
    _set_parameters(model, found, path)
    size, order = len(found.words), found.arrays.get(ORDER)
    if order is not None and (order.dtype.kind != "i" or not np.array_equal(np.sort(order), np.arange(size))):
        raise NotAModel(f"{path}: the array {ORDER} is not an order of the words")
    if (np.diff(found.counts) > 0).any():
        raise NotAModel(f"{path}: the words are not ordered by count")
    nodes, noise = size - 1 if model.hs else 0, size if model.negative else 0
    if len(found.output) != nodes + noise:
        raise NotAModel(f"{path}: {len(found.output):,} output rows; the model's parameters require {nodes + noise:,}")
    rows: Any = slice(None) if order is None else np.argsort(order)
    words = found.words if order is None else [found.words[i] for i in rows.tolist()]
    model.wv = KeyedVectors.of(words, found.input[rows], found.counts[rows])
    model.wv.vectors_lockf = np.ones(1, np.float32)
    for name, values in found.arrays.items():
        if name == f"{ATTRIBUTE}vectors_lockf" and values.shape == (size,):
            model.wv.vectors_lockf = values[rows]
        elif name.startswith(ATTRIBUTE) and values.shape == (size,):
            model.wv.expandos[name.removeprefix(ATTRIBUTE)] = values[rows]
    model.vector_size = model.layer1_size = found.input.shape[1]
    outputs, inner = found.output[nodes:][rows] if noise else None, found.output[:nodes] if nodes else None
    tree = _tree(found, size, path) if nodes > 0 else None
    model.matrices = Matrices(outputs, inner, order, list(words), tree)
    return model


def _tree(found: Model, size: int, path: str) -> Tree | None:
    """Return the tree of a model if it is another one than follows from the counts, as that of gensim may be."""
    usual = huffman(found.counts)
    if any(f"tree.{name}" not in found.arrays for name in Tree._fields):
        return None
    tree = Tree(*(found.arrays[f"tree.{name}"] for name in Tree._fields))
    if all(map(np.array_equal, tree, usual)):
        return None
    try:
        checked_links(tree, size - 1)
    except DataError as error:
        raise NotAModel(f"{path}: {error}") from error
    return tree


def _set_parameters(model: Any, found: Model, path: str) -> None:
    """Set a model's parameters from its record or, if `w2vtrain fit` trained it, from its settings."""
    values = found.record.get("word2vec")
    if values is None:
        values = _from_settings(found.settings, path)
    if not isinstance(values, dict):
        raise NotAModel(f"{path}: the record of the model is invalid")
    for name in PARAMETERS:
        setattr(model, name, values.get(name, getattr(model, name)))
    if isinstance(own := values.get(OWN), dict):  # a file cannot replace what Word2Vec has
        plain = base_of(type(model))()
        vars(model).update({name: value for name, value in own.items() if not hasattr(plain, name)})
    model.compute_loss, model.comment = bool(model.compute_loss), _plain(model.comment)
    try:
        check(model)
    except (InvalidType, InvalidValue) as error:
        raise NotAModel(f"{path}: {error}") from error


def _from_settings(settings: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the parameters that are equivalent to settings. Raise NotAModel if there are none."""
    try:
        checked = asdict(validated(settings))
    except ConfigError as error:
        raise NotAModel(f"{path}: the model's settings: {error}") from error
    kinds = {name: kind for kind, name in OBJECTIVES.items()}
    ways = {name: way for way, name in ARCHITECTURES.items()}
    objective, architecture, options = (checked[name] for name in ("objective", "architecture", "options"))
    other = [name for name, value in FIXED.items() if checked[name] != value]
    other += ["tree"] if options.get("tree", "huffman") != "huffman" else []
    if objective not in kinds or architecture not in ways or other:
        raise NotAModel(
            f"{path}: {architecture} with {objective}{' and another ' + other[0] if other else ''} is no model of"
            " Word2Vec; load it with w2vtrain.load_model"
        )
    (hs, has_noise), (sg, mean) = kinds[objective], ways[architecture]
    values = {name: checked[name] for name in PARAMETERS if name in settings and name in checked}
    values |= {"hs": hs, "sg": sg, "cbow_mean": mean, "negative": options.get("negative", 5) if has_noise else 0}
    return {**values, "ns_exponent": options.get("ns_exponent", 0.75), "min_alpha_yet_reached": checked["alpha"]}
