"""w2vtrain trains word embeddings: `w2vtrain fit` in the shell, `w2vtrain.train` in Python.

Importing the package is cheap: Numba and NumPy are imported on first use.
"""

from w2vtrain.system.numba_settings import ignore_file

TYPE_CHECKING = False  # importing typing would delay the point from which a signal prints one line
if TYPE_CHECKING:
    from typing import Any

    from w2vtrain.api import continue_training as continue_training
    from w2vtrain.api import find_phrases as find_phrases
    from w2vtrain.api import train as train
    from w2vtrain.embeddings.keyed_vectors import KeyedVectors as KeyedVectors
    from w2vtrain.embeddings.model import Model as Model
    from w2vtrain.embeddings.model import load as load
    from w2vtrain.embeddings.model import load_model as load_model
    from w2vtrain.embeddings.model import save_model as save_model
    from w2vtrain.errors import W2VError as W2VError
    from w2vtrain.formats.vectors import Vectors as Vectors
    from w2vtrain.formats.vectors import read_vectors as read_vectors
    from w2vtrain.formats.vectors import write_vectors as write_vectors
    from w2vtrain.leaves.compare.architecture_checks import check_architecture as check_architecture
    from w2vtrain.leaves.compare.objective_checks import check_objective as check_objective
    from w2vtrain.leaves.documents.documents import Documents as Documents
    from w2vtrain.leaves.documents.documents import TaggedDocument as TaggedDocument
    from w2vtrain.leaves.gensim.callbacks import CallbackAny2Vec as CallbackAny2Vec
    from w2vtrain.leaves.gensim.doc2vec import Doc2Vec as Doc2Vec
    from w2vtrain.leaves.gensim.fasttext import FastText as FastText
    from w2vtrain.leaves.gensim.fasttext import load_facebook_model as load_facebook_model
    from w2vtrain.leaves.gensim.fasttext import load_facebook_vectors as load_facebook_vectors
    from w2vtrain.leaves.gensim.fasttext import save_facebook_model as save_facebook_model
    from w2vtrain.leaves.gensim.fasttext_vectors import FastTextKeyedVectors as FastTextKeyedVectors
    from w2vtrain.leaves.gensim.line_sentence import LineSentence as LineSentence
    from w2vtrain.leaves.gensim.line_sentence import PathLineSentences as PathLineSentences
    from w2vtrain.leaves.gensim.line_sentence import Text8Corpus as Text8Corpus
    from w2vtrain.leaves.gensim.tagged_documents import TaggedBrownCorpus as TaggedBrownCorpus
    from w2vtrain.leaves.gensim.tagged_documents import TaggedLineDocument as TaggedLineDocument
    from w2vtrain.leaves.gensim.word2vec import Word2Vec as Word2Vec
    from w2vtrain.leaves.graphs.walks import Walks as Walks
    from w2vtrain.text.phrase_table import CONNECTOR_WORDS as CONNECTOR_WORDS
    from w2vtrain.text.phrase_table import PhraseTable as PhraseTable
    from w2vtrain.training.compile_ahead import warmup as warmup
    from w2vtrain.training.events import Events as Events

_NAMES = {
    "api": ("train", "continue_training", "find_phrases"),
    "text.phrase_table": ("PhraseTable", "CONNECTOR_WORDS"),
    "training.events": ("Events",),
    "training.compile_ahead": ("warmup",),
    "leaves.compare.objective_checks": ("check_objective",),
    "leaves.compare.architecture_checks": ("check_architecture",),
    "errors": ("W2VError",),
    "embeddings.keyed_vectors": ("KeyedVectors",),
    "embeddings.model": ("Model", "load", "load_model", "save_model"),
    "formats.vectors": ("Vectors", "read_vectors", "write_vectors"),
    "leaves.graphs.walks": ("Walks",),
    "leaves.documents.documents": ("Documents", "TaggedDocument"),
    "leaves.gensim.word2vec": ("Word2Vec",),
    "leaves.gensim.doc2vec": ("Doc2Vec",),
    "leaves.gensim.fasttext": ("FastText", "load_facebook_model", "load_facebook_vectors", "save_facebook_model"),
    "leaves.gensim.fasttext_vectors": ("FastTextKeyedVectors",),
    "leaves.gensim.callbacks": ("CallbackAny2Vec",),
    "leaves.gensim.line_sentence": ("LineSentence", "PathLineSentences", "Text8Corpus"),
    "leaves.gensim.tagged_documents": ("TaggedLineDocument", "TaggedBrownCorpus"),
}
"""The public names of each module."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        import sys  # only now: few programs need these

        from w2vtrain.gensim_names import missing

        line = missing(name)
        if line and sys._getframe(1).f_code.co_name == "_handle_fromlist":  # `from w2vtrain import` hides other errors
            raise ImportError(line, name=__name__)
        raise AttributeError(line or f"module {__name__!r} has no attribute {name!r}")
    import importlib  # here for the same reason

    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    """Return the public names, which are imported on first use, beside what is imported already."""
    return sorted({*globals(), *__all__})


ignore_file()  # here, because many modules, and packages that they import, import Numba
