"""What programs written for gensim or fastText look for and do not find here, and what to use instead: one table.

Its names were removed or renamed in gensim 4, or belong to parts of these packages that this one does not have.
"""

from collections.abc import Callable, Container, Mapping
from difflib import get_close_matches
from inspect import signature
from typing import Any, NoReturn, TypeVar

from w2vtrain.errors import InvalidType

C = TypeVar("C", bound=type[Any])

_OURS = "w2vtrain.Word2Vec, w2vtrain.KeyedVectors, w2vtrain.LineSentence and so on: `from w2vtrain import Word2Vec`"
_PHRASES = "w2vtrain.find_phrases, or gensim.models.phrases, whose sentences Word2Vec takes"
_SAME = (
    "most_similar", "most_similar_cosmul", "most_similar_to_given", "similar_by_word", "similar_by_vector",
    "similarity", "n_similarity", "distance", "wmdistance", "doesnt_match", "word_vec", "get_vector",
    "evaluate_word_analogies", "evaluate_word_pairs", "key_to_index", "index_to_key", "vectors",
    "save_word2vec_format", "intersect_word2vec_format",
)  # fmt: skip

NOT_OF_MODEL = "is not an attribute of w2vtrain.Model"
SUCCESSORS = {
    "KeyedVectors": {
        "vocab": "key_to_index, index_to_key, and get_vecattr(key, 'count') for counts",
        "index2word": "index_to_key",
        "index2entity": "index_to_key",
        "syn0": "vectors",
        "vectors_norm": "get_normed_vectors()",
        "syn0norm": "get_normed_vectors()",
        "accuracy": "evaluate_word_analogies(path)",
        "add": "add_vectors(keys, vectors)",
        "similarity_matrix": "to_gensim() and gensim.similarities.WordEmbeddingSimilarityIndex",
        "get_keras_embedding": "vectors, as the weights of keras.layers.Embedding",
    },
    "Word2Vec": {
        **{name: f"wv.{name}" for name in _SAME},
        "load_word2vec_format": "KeyedVectors.load_word2vec_format(path)",
        "vocab": "wv.key_to_index, wv.index_to_key, and wv.get_vecattr(word, 'count') for counts",
        "index2word": "wv.index_to_key",
        "index2entity": "wv.index_to_key",
        "syn0": "wv.vectors",
        "syn0norm": "wv.get_normed_vectors()",
        "syn0_lockf": "wv.vectors_lockf",
        "accuracy": "wv.evaluate_word_analogies(path)",
        "size": "vector_size",
        "iter": "epochs",
        "trainables": "the model's own syn1neg, syn1 and layer1_size",
        "load_fasttext_format": "load_facebook_model(path) or, for queries alone, load_facebook_vectors(path)",
        "delete_temporary_training_data": "wv, which is all that queries need",
    },
    "Model": {
        **{name: f"wv.{name}" for name in ("key_to_index", "index_to_key", "vector_size", "norms")},
        **dict.fromkeys(("train", "build_vocab"), "w2vtrain.continue_training(model, corpus), or w2vtrain.Word2Vec"),
        **dict.fromkeys(("syn1neg", "syn1"), "output"),
        **dict.fromkeys(("sg", "cbow_mean"), "settings, which has the architecture"),
        **dict.fromkeys(("hs", "negative"), "settings, which has the objective and its options"),
        **dict.fromkeys(("corpus_count", "corpus_total_words", "total_train_time"), "record"),
        "get_latest_training_loss": "record, which has the loss of each epoch",
        "infer_vector": "w2vtrain.Doc2Vec, or w2vtrain infer in the shell",
        **dict.fromkeys(("predict_output_word", "score", "estimate_memory", "syn1neg_lockf"), "w2vtrain.Word2Vec"),
        "load": "w2vtrain.load(path)",
        "get_word_vector": "wv.get_vector(word)",
        "get_nearest_neighbors": "wv.most_similar(word)",
        "get_analogies": "wv.most_similar(positive=[a, c], negative=[b])",
        "get_words": "words",
        "get_word_id": "wv.key_to_index",
        "get_dimension": "wv.vector_size",
        "get_input_matrix": "input",
        "get_output_matrix": "output",
        "save_model": "w2vtrain.save_model(path, model), or save_fasttext(path) for fastText's format",
    },
    "w2vtrain": {
        **dict.fromkeys(("models", "word2vec", "fasttext", "doc2vec", "keyedvectors", "callbacks"), _OURS),
        **{
            name: f"gensim.{name}"
            for name in ("utils", "corpora", "parsing", "matutils", "interfaces", "topic_coherence", "test")
        },
        "train_unsupervised": "w2vtrain.train(path, subwords=True)",
        "downloader": "gensim.downloader, and KeyedVectors.from_gensim for the vectors that it loads",
        "similarities": "gensim.similarities, and model.wv.to_gensim() as its argument",
        "summarization": "gensim 3, which had it",
        **{name: f"gensim.models.{name}" for name in ("TfidfModel", "LdaModel", "LdaMulticore", "LsiModel")},
        **{name: f"gensim.models.{name}" for name in ("CoherenceModel", "TranslationMatrix")},
        **dict.fromkeys(("Phrases", "Phraser", "phrases", "ENGLISH_CONNECTOR_WORDS"), _PHRASES),
        "BrownCorpus": "gensim.models.word2vec.BrownCorpus, whose sentences Word2Vec takes",
        "FAST_VERSION": "no such constant: all kernels are compiled",
        "Vocab": "model.wv.get_vecattr(word, 'count')",
        "Word2VecKeyedVectors": "KeyedVectors",
        "WordEmbeddingsKeyedVectors": "KeyedVectors",
    },
}
"""For each place where a name is looked for: the name, and what to use instead."""


class Removed:
    """An attribute that a class does not have: reading or calling it raises AttributeError with a line.

    As in gensim 4, a program can set it to a value of its own.
    """

    def __init__(self, line: str) -> None:
        self.line = line
        self.__doc__ = None  # it is not documented as a member of its class

    def __get__(self, instance: object, owner: type) -> "Removed":
        if instance is None:
            return self
        raise AttributeError(self.line)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Raise AttributeError: the attribute was read on the class, which returns this object."""
        raise AttributeError(self.line)


class RemovedState(Removed):
    """One that held the keys or vectors: setting it raises AttributeError, too, since it would have no effect."""

    def __set__(self, instance: object, value: object) -> NoReturn:
        raise AttributeError(self.line)


def with_successors(cls: C) -> C:
    """Give a class an attribute for each name in its table: removed in gensim 4, or for `Model`, gensim's alone."""
    why = NOT_OF_MODEL if cls.__name__ == "Model" else "was removed in gensim 4.0"
    kind = RemovedState if cls.__name__ == "KeyedVectors" else Removed
    for name, successor in SUCCESSORS[cls.__name__].items():
        setattr(cls, name, kind(f"{name} {why}: use {successor}"))
    cls.__dir__ = _names  # type: ignore[assignment]  # a method of its instances
    return cls


def _names(instance: object) -> list[str]:
    """Return what `dir` lists, and programs complete: no name that raises an error."""
    cls = type(instance)
    return [name for name in object.__dir__(instance) if not isinstance(getattr(cls, name, None), Removed)]


def elsewhere(name: str, model: type, queries: type, settings: Container[str]) -> str:
    """Return the message for an attribute that a model does not have: it may be one of its queries, or a setting.

    model, queries: the classes of the model and of its `wv`.
    """
    removed, old = vars(model).get(name), SUCCESSORS["KeyedVectors"].get(name)
    if isinstance(removed, Removed):
        return removed.line
    if name.startswith("_"):
        use = ""
    elif name in settings:
        use = f": use settings[{name!r}]"
    else:
        use = f": use wv.{old or name}" if old or hasattr(queries, name) else ""
    return f"{name} {NOT_OF_MODEL}{use}"


OTHER_NAMES = {
    "alpha": "start_alpha", "dim": "vector_size", "epoch": "epochs", "iter": "epochs", "learning_rate": "alpha",
    "lr": "alpha", "maxn": "max_n", "min_alpha": "end_alpha", "minn": "min_n", "neg": "negative", "size": "vector_size",
    "steps": "epochs", "thread": "workers", "threads": "workers", "ws": "window",
}  # fmt: skip
"""Parameters of fastText, of `w2vtrain.train` and of gensim's classes, and what these classes or `train` call them."""
CORPUS = ("corpus_iterable", "sentences", "documents")
"""What the classes and their methods call a corpus, each by one of these names."""


def refuse_arguments(function: str, arguments: Mapping[str, object], *takers: Callable[..., Any]) -> None:
    """Raise TypeError unless `takers` have parameters of these names; it names all arguments with another name here."""
    parameters = [p for taker in takers for p in signature(taker).parameters.values()] if arguments else []
    known = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
    others = [name for name in arguments if name not in known]
    if others:
        ours = {name: CORPUS if name in CORPUS else (OTHER_NAMES.get(name),) for name in others}
        renamed = {name: str(use) for name, uses in ours.items() for use in uses if use in known}
        hint, close = "", get_close_matches(others[0], known, 1, 0.75)
        if renamed:
            hint = f": use {', '.join(dict.fromkeys(renamed.values()))}"
        elif close:
            hint = f": did you mean {close[0]}?"
        raise InvalidType(f"{function} has no argument {', '.join(renamed or others[:1])}{hint}")


def missing(name: str) -> str | None:
    """Return the line for a name of gensim that this package does not have, or None."""
    successor = SUCCESSORS["w2vtrain"].get(name)
    return successor and f"w2vtrain has no {name}: use {successor}"
