"""Start a run from a trained model or from word vectors: take over words, settings, and all that was learned.

Nothing is trained or written here. To continue an interrupted run exactly is another task: see checkpoint_file.py.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.contract import composes
from w2vtrain.config import FIELDS, Settings, resolve, validated
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.model import Model, load_model
from w2vtrain.engines.base import Array, Engine, Role
from w2vtrain.errors import ConfigError, DataError, InvalidType, InvalidValue, label, shown, spelled
from w2vtrain.formats.model_file import DOCUMENTS, INPUT_ROWS, NGRAM_BUCKETS, OTHER_TREE
from w2vtrain.formats.safetensors import first_not_finite
from w2vtrain.formats.sniff import MODEL_READERS, sniff
from w2vtrain.formats.subwords import Ngrams, Subwords
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.objectives import objective_class
from w2vtrain.probability.characters import alphabet
from w2vtrain.registry import members
from w2vtrain.system.json_text import json_text
from w2vtrain.text.encoded import Counted
from w2vtrain.text.vocabulary import SENTENCE_END, Vocabulary, by_count, check_counts
from w2vtrain.training.checkpoint_file import checksum
from w2vtrain.training.engine_parts import shrinks
from w2vtrain.user_code import Named

RUN_SETTINGS = ("epochs", "seconds", "patience", "min_alpha", "max_vocab", "column", "phrases", "threads")
"""Settings that a run does not take over from the model: they belong to its own text, schedule and machine."""
METHOD_SETTINGS = ("alpha", "shuffle", "block", "shrink_windows")
"""Settings that are not taken over if the run has another objective or architecture: each has its own defaults."""


START_FROM_VECTORS = "start from its vectors alone: those that `w2vtrain convert` writes, or KeyedVectors"


@dataclass(frozen=True, eq=False)
class WarmStart:
    """What a run starts from: a trained model, or word vectors alone.

    words: V distinct words; input: (V, d) float32, their vectors; model: the model, or None for vectors; name: what
    messages call it.
    """

    words: list[str]
    input: NDArray[np.float32]
    model: Model | None = None
    name: str = "the model"

    @classmethod
    def of(cls, source: Model | KeyedVectors | Vectors, name: str = "") -> "WarmStart":
        """Return the start from a model or from vectors in memory. A word whose count is 0 gets the count 1.

        Raise InvalidType for anything else, InvalidValue if a word occurs twice or a value is not finite, and
        UsageError for a model whose `wv` was changed.
        """
        if isinstance(source, Model):
            source.check_unchanged()
            source = replace(source, counts=source.counts + (source.counts == 0))  # a word that was added to `wv` has 0
            check_counts(source.counts, name or source.name)
            return cls(source.words, source.input, source, name or source.name)
        if isinstance(source, KeyedVectors):
            taken = [row for row, key in enumerate(source.index_to_key) if key is not None]  # None: a free row
            words = [str(source.index_to_key[row]) for row in taken]
            matrix = source.vectors if len(taken) == len(source) else source.vectors[taken]
        elif isinstance(source, Vectors):
            words, matrix = source.words, source.matrix
        else:
            raise InvalidType(
                f"cannot start from {shown(source)}: pass a Model, KeyedVectors or Vectors, such as load_model(path),"
                " or the to_model() of a Word2Vec or FastText"
            )
        if len(set(words)) < len(words):
            raise InvalidValue("cannot start from vectors with one word twice, such as the keys 1 and '1'")
        if (bad := first_not_finite(matrix)) is not None:
            raise InvalidValue(f"cannot start from these vectors: the vector of {words[bad]!r} is not finite")
        return cls(words, np.asarray(matrix, np.float32), None, name or "the vectors")

    @classmethod
    def load(cls, path: str | Path) -> "WarmStart":
        """Read a model, or vectors in any format. Raise the errors of `load_model` and `read_vectors`."""
        is_model = sniff(path).kind in MODEL_READERS
        return cls.of(load_model(path) if is_model else read_vectors(path), str(path))

    @cached_property
    def sha256(self) -> str:
        """The digest of the words and of all that is taken over: a resumed run must find the same."""
        arrays: dict[str, NDArray[Any]] = {"input": self.input}
        if self.model:
            arrays |= {"counts": self.model.counts, "output": self.model.output, **self.model.arrays}
        return checksum(arrays, "\n".join(self.words), json_text(self.model.settings) if self.model else "")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings that a run takes over unless others are given: for vectors, only their size.

        Raise DataError if those of the model are invalid.
        """
        size = {"vector_size": self.input.shape[1]}
        if self.model is None:
            return size
        try:
            known, checked = self.model.settings, validated(self.model.settings)
        except ConfigError as error:
            raise DataError(f"{self.name}: its settings: {error}") from error
        kept = {name: getattr(checked, name) for name in FIELDS if name in known and name not in RUN_SETTINGS}
        if checked.architecture in members("architectures") and checked.shrink_windows == shrinks(checked):
            kept.pop("shrink_windows", None)  # it is chosen again, because it depends on the window
        return {name: value for name, value in kept.items() if value is not None} | size

    def resolve(
        self, flags: Mapping[str, Any], environment: Mapping[str, str], config: str | Path | None = None
    ) -> tuple[Settings, dict[str, Any]]:
        """Return a run's settings and their origins, as `config.resolve` does; what is not given is taken over."""
        mine = self.settings
        settings, origins = resolve(flags, environment, config, mine)
        documents = self.model is not None and DOCUMENTS in self.model.arrays
        if documents and settings.architecture == mine["architecture"]:
            raise ConfigError(
                f"{label('init_from')}: {self.name} is a model of documents, which cannot be trained further; train on"
                " all documents, or infer the vectors of new ones"
            )
        if not all(self._same(name, settings) for name in ("objective", "architecture") if name in mine):
            rest = {name: value for name, value in mine.items() if name not in METHOD_SETTINGS}
            settings, origins = resolve(flags, environment, config, rest)
        return settings, origins

    def check(self, settings: Settings, grow: bool, freeze: bool = False) -> None:
        """Raise ConfigError if a run with these effective settings cannot start here.

        grow: whether new words join; freeze: whether the vectors of the words that are known stay as they are.
        """
        size = self.input.shape[1]
        if settings.vector_size != size:
            raise ConfigError(
                f"{label('vector_size')}: {self.name} has vectors of {size} dimensions, not {settings.vector_size};"
                f" leave out {spelled('vector_size')}"
            )
        if composes(architecture_class(settings.architecture)) and not self._same("architecture", settings):
            raise ConfigError(
                f"architecture: {settings.architecture} computes the vectors of words from other rows, which"
                f" are not in {self.name}; start from a model of the same architecture"
            )
        if self.model:
            check_phrases(self.model.settings.get("phrases"), settings.phrases, self.name)
        if settings.subwords:
            self._check_subwords(settings)
        is_composed = settings.subwords or composes(architecture_class(settings.architecture))
        if freeze and (is_composed or settings.weight_decay):
            raise ConfigError(
                f"{label('freeze')}: needs an architecture with a vector of its own for each word, and neither"
                f" {spelled('subwords')} nor {spelled('weight_decay')}"
            )
        if grow and self.model and not self._can_grow(settings):
            raise ConfigError(
                f"{label('grow_vocabulary')}: what objective {settings.objective} has learned does not fit other words;"
                f" leave out {spelled('grow_vocabulary')}, choose another objective, or {START_FROM_VECTORS}"
            )

    def _check_subwords(self, settings: Settings) -> None:
        """Raise ConfigError if the model does not have the n-gram rows of a run with subwords."""
        if self.model is None or not self.settings.get("subwords"):
            raise ConfigError(
                f"{label('subwords')}: needs a model that was trained with {spelled('subwords', True)}, and not"
                f" {self.name}: start from one, or leave it out"
            )
        for name in Ngrams._fields:
            if not self._same(name, settings):
                raise ConfigError(
                    f"{label(name)}: {self.name} has {self.settings.get(name):,}, not {getattr(settings, name):,};"
                    f" leave out {spelled(name)}"
                )

    def _same(self, name: str, settings: Settings) -> bool:
        """Return whether the model has this setting in common with a run; False for vectors."""
        mine = Named(settings.objective, settings.architecture).in_place_of(self.settings)
        return self.model is not None and mine.get(name) == getattr(settings, name)

    def _can_grow(self, settings: Settings) -> bool:
        """Return whether the learned arrays stay valid if words get other ids; True if only vectors are taken over."""
        other = not self._same("objective", settings)
        return other or bool(objective_class(settings.objective).can_grow(settings.options))

    def vocabulary(self) -> Vocabulary | None:
        """Return the words and counts of the model, in the order of a vocabulary; None for vectors.

        With these, the tree, the noise and subsampling are those of the model.
        """
        if self.model is None:
            return None
        mine = Vocabulary(self.model.words, self.model.counts)
        return mine if (np.diff(mine.counts) <= 0).all() else _sorted(mine.words, mine.counts)

    def grown(self, corpus: Counted, settings: Settings) -> Vocabulary:
        """Return the words of the model with the sums of the counts in both, and the corpus's frequent new words.

        Words join that occur at least `settings.min_count` times in the corpus, the most frequent first, until there
        are `settings.max_vocab` words. No word of the model is dropped. If the model lacks `</s>`, encoding adds it.
        """
        assert self.model
        counts = dict(zip(corpus.words, corpus.counts.tolist(), strict=True))
        grown = union(Vocabulary(self.model.words, self.model.counts), counts, settings.min_count, settings.max_vocab)
        if settings.sentence_end and SENTENCE_END in grown.index and SENTENCE_END not in counts:
            grown = union(grown, {SENTENCE_END: corpus.sentences(settings.max_sentence, grown)}, settings.min_count)
        return grown

    def with_others(self, words: list[str], rows: Any) -> tuple[list[str], LazyRows]:
        """Return words and their vectors (V, d), followed by the words and vectors of this start that they lack."""
        own, V = set(words), len(words)
        others = np.array([row for row, word in enumerate(self.words) if word not in own], np.int64)

        def read(part: slice) -> NDArray[np.float32]:
            first, last, _ = part.indices(V + len(others))
            more = others[max(0, first - V) : max(0, last - V)]
            return np.concatenate([rows[first : min(last, V)], self.input[more]])

        return [*words, *(self.words[row] for row in others)], LazyRows((V + len(others), self.input.shape[1]), read)

    def copy_to(self, engine: Engine, settings: Settings) -> dict[str, Any]:
        """Replace the initial weights of a run with what was learned; return the facts for the run's record.

        New words keep their initial rows. With another objective or architecture, its own arrays keep their initial
        values. Raise ConfigError if a learned array does not fit the run.
        """
        taken = _Taking(self, engine, settings)
        known, words = len(taken.old), len(engine.problem.words)
        if known:
            taken.architecture()
            if self._same("objective", settings):
                taken.objective(self._can_grow(settings))
        elif self.words:
            raise ConfigError(
                f"none of the {words:,} words of the corpus is in {self.name}: are they in another language or case?"
            )
        return {
            "name": self.name,
            "kind": "model" if self.model else "vectors",
            "sha256": self.sha256,
            "words": known,
            "new_words": words - known,
            "parts": taken.parts,
        }


def union(
    mine: Vocabulary, corpus_counts: Mapping[str, int], min_count: int, max_vocab: int | None = None
) -> Vocabulary:
    """Return a vocabulary with the sums of both counts, and with the words of `corpus_counts` that `mine` lacks.

    Of these, only words with `min_count` join, the most frequent first, while there are fewer than `max_vocab` words.
    """
    sums = [count + corpus_counts.get(word, 0) for word, count in zip(mine.words, mine.counts.tolist(), strict=True)]
    new = {word: count for word, count in corpus_counts.items() if count >= min_count and word not in mine.index}
    joining = _sorted(list(new), np.array(list(new.values()), np.int64))
    room = len(joining) if max_vocab is None else max(0, max_vocab - len(mine))
    counts = np.concatenate([np.array(sums, np.int64), joining.counts[:room]])
    return _sorted([*mine.words, *joining.words[:room]], counts)


def _sorted(words: list[str], counts: NDArray[np.int64]) -> Vocabulary:
    """Return a vocabulary in its order: by count, then by the UTF-8 bytes of the words."""
    order = by_count(words, counts)
    return Vocabulary([words[i] for i in order.tolist()], counts[order])


class _Taking:
    """The copying of learned arrays to one engine. parts: the names of the arrays copied so far.

    old, new (n,) int64: the rows of the n known words in the model, and in the engine.
    """

    def __init__(self, start: WarmStart, engine: Engine, settings: Settings) -> None:
        self.start, self.engine, self.settings, self.weights = start, engine, settings, engine.weights()
        words = list(engine.problem.words)
        index = {word: row for row, word in enumerate(words)}
        self.old = np.array([row for row, word in enumerate(start.words) if word in index], np.int64)
        self.new = np.array([index[start.words[row]] for row in self.old.tolist()], np.int64)
        self.sizes, self.unchanged = (len(words), len(start.words)), words == start.words
        self.parts: list[str] = []

    def architecture(self) -> None:
        """Copy the input rows and, with the same architecture, what it learns besides these."""
        if self.engine.subwords:
            self._ngrams(self.engine.subwords)
        elif composes(self.engine.architecture):
            self._rows(self.weights.arrays[INPUT_ROWS], self._theirs(INPUT_ROWS))
        else:
            self.weights.input[self.new] = self.start.input[self.old]
        self.parts.append("input")
        if self.start._same("architecture", self.settings):
            for name in self.engine.architecture.learned():
                self._all(name, self.weights.arrays[name], self._theirs(name))

    def _theirs(self, name: str) -> np.ndarray:
        """Return an array of the model that every model with its settings has."""
        model = self.start.model
        if model is None or name not in model.arrays:
            raise DataError(f"{self.start.name}: has no array {name}, which its settings require: the file is damaged")
        return model.arrays[name]

    def _rows(self, mine: np.ndarray, theirs: np.ndarray) -> None:
        """Copy the rows of words, and the other rows, from which an architecture computes the vectors of words."""
        V, U = self.sizes
        if len(theirs) < U or mine[V:].shape != theirs[U:].shape:
            raise self._misfit(INPUT_ROWS, mine, theirs)
        mine[self.new], mine[V:] = theirs[self.old], theirs[U:]

    def _ngrams(self, subwords: Subwords) -> None:
        """Copy the rows of words, and those of n-grams in buckets that the model has; others keep initial values."""
        mine, model = self.weights.arrays[INPUT_ROWS], self.start.model
        assert model
        ngrams = model._ngrams("in")
        assert ngrams
        rows = ngrams.rows_of(subwords.buckets)
        mine[self.new] = model._own_rows(ngrams)[self.old]
        mine[len(self.engine.problem.words) :][rows >= 0] = ngrams.matrix[rows[rows >= 0]]

    def objective(self, can_grow: bool) -> None:
        """Copy the output rows and all other arrays that the objective learns."""
        model, arrays = self.start.model, {array.name: array for array in self.engine.arrays()}
        assert model
        network = self.engine.objective.network_arrays()
        self._check_structure(model, arrays.values(), can_grow)
        if "output" in arrays:
            self._by_word("output", self.weights.output, model.output)
        architecture = {*self.engine.architecture.learned(), INPUT_ROWS, NGRAM_BUCKETS, DOCUMENTS}
        for name, view in self.weights.arrays.items():
            if name in architecture or name not in model.arrays or not view.size:
                continue
            if name not in arrays:  # biases are a column of the output rows
                arrays[name] = Array(name, Role.LEARNED if "output" in arrays else Role.DERIVED, view)
            role, mine = arrays[name].role, arrays[name].values
            if role is Role.LEARNED:
                (self._all if name in network else self._by_word)(name, mine, model.arrays[name])
            elif role is Role.STATE and self.unchanged and mine.shape == model.arrays[name].shape:
                self._all(name, mine, model.arrays[name])  # otherwise, the run's own arrays fit its words and counts
        if self.engine.objective.engine == "blocks":
            self.engine.objective.refresh()

    def _check_structure(self, model: Model, arrays: Iterable[Array], can_grow: bool) -> None:
        """Raise ConfigError unless what the rows stand for, such as words, letters or a tree, is as in the model."""
        changed = [] if can_grow or self.unchanged else ["words"]
        if self.engine.objective.network_arrays() and alphabet(self.engine.problem.words) != alphabet(model.words):
            changed.append("letters")
        for name, role, mine in arrays:
            theirs = model.arrays.get(name)
            if role is Role.STRUCTURE and theirs is not None and not np.array_equal(mine, theirs):
                changed.append(name)
        if changed and OTHER_TREE in model.record:
            raise ConfigError(
                f"objective {self.settings.objective}: {self.start.name} has kept its tree while words were added,"
                " removed or given other counts: load it with the class that saved it, such as `Word2Vec`, and continue"
                f" it with its own `train`, or {START_FROM_VECTORS}"
            )
        if changed:
            raise ConfigError(
                f"objective {self.settings.objective}: its {changed[0]} differ from those of {self.start.name}, so that"
                f" what it has learned has another meaning; use the options and the words of the model (without"
                f" {spelled('grow_vocabulary')}), or {START_FROM_VECTORS}"
            )

    def _by_word(self, name: str, mine: np.ndarray, theirs: np.ndarray) -> None:
        """Copy the rows of words, or the whole array if its rows belong to no words."""
        if self.unchanged or (len(mine), len(theirs)) != self.sizes or mine.shape[1:] != theirs.shape[1:]:
            self._all(name, mine, theirs)
            return
        mine[self.new] = theirs[self.old]
        self.parts.append(name)

    def _all(self, name: str, mine: np.ndarray, theirs: np.ndarray) -> None:
        if mine.shape != theirs.shape:
            raise self._misfit(name, mine, theirs)
        mine[...] = theirs
        self.parts.append(name)

    def _misfit(self, name: str, mine: np.ndarray, theirs: np.ndarray) -> ConfigError:
        return ConfigError(
            f"{self.start.name}: its array {name} has shape {list(theirs.shape)}, and this run needs"
            f" {list(mine.shape)}; use the settings and options of the model, or {START_FROM_VECTORS}"
        )


def check_phrases(trained: str | None, named: str | None, model: str) -> None:
    """Raise ConfigError if a model was trained with a table of phrases, and none is named now.

    The model names its own, but must not choose a file: another table may be there now.
    """
    if trained and not named:
        raise ConfigError(f"{label('phrases')}: {model} was trained with phrases: name their table, {shown(trained)}")
