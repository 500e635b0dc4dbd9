"""Answer a file of analogy questions: a report of the accuracy per section, or gensim's lists of questions.

Single analogies are answered in neighbors.py. Nothing here prints.
"""

import logging
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.datasets import read_questions
from w2vtrain.embeddings.evaluation_rules import (
    ANALOGY_WORDS,
    PLAIN,
    Report,
    Rules,
    case_folding,
    first_indices,
    none_known,
)
from w2vtrain.embeddings.intervals import PairJackknife, clustered_interval, effective_questions, pair_jackknife
from w2vtrain.embeddings.neighbors import have_vectors, row_norms
from w2vtrain.formats.vectors import Vectors

# Similarities in memory at a time: 64 MiB of float32. This sets the number of questions per block; the minimum is 16.
SIMILARITIES_AT_ONCE = 1 << 24
# gensim considers this many of the most similar words and takes the first that is not a form of a question word.
GENSIM_CONSIDERS = 5
FIRST_UNKNOWN_INDEX = 1 << 31
"""The first index of words that are not in the vocabulary."""
COSMUL_EPSILON = 0.000001  # avoids division by zero; gensim's value
Method = Literal["3cosadd", "3cosmul"]
"""How an answer follows from cosines: by b - a + c (Mikolov et al. 2013), or cos(b) cos(c) / cos(a), with cosines
shifted to 0 to 1 (Levy and Goldberg 2014)."""
Section = dict[str, Any]
"""What gensim returns per section: {"section": name, "correct": questions, "incorrect": questions}, with questions as
tuples of four folded words."""
Answer = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
"""Returns what `nearest_to_analogies` does for questions (n, 3) and the first form of each word."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AnalogyScore:
    """Counts of questions in one or several sections: correct, answered (all four words known), asked (in the file).

    pairs: how the number of correct answers varies with the word pairs that the answered questions combine.
    """

    name: str
    correct: int
    answered: int
    asked: int
    pairs: PairJackknife

    @property
    def accuracy(self) -> float | None:
        """Fraction of answered questions that are correct, as in word2vec and gensim; None if none was answered."""
        return self.correct / self.answered if self.answered else None

    @property
    def standard_error(self) -> float | None:
        """Standard error of the accuracy, by pairs (intervals.pair_jackknife); None if no question was answered."""
        if self.accuracy is None:
            return None
        effective = effective_questions(self.correct, self.answered, self.pairs)
        return math.sqrt(self.accuracy * (1 - self.accuracy) / effective)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% interval of the accuracy (intervals.clustered_interval); None if no question was answered."""
        return clustered_interval(self.correct, self.answered, self.pairs) if self.answered else None

    def to_dict(self) -> dict[str, Any]:
        """Return all counts and fractions; `pairs` is the number of word pairs that the answered questions combine."""
        return {
            "name": self.name,
            "correct": self.correct,
            "answered": self.answered,
            "asked": self.asked,
            "accuracy": self.accuracy,
            "accuracy_of_all": self.correct / self.asked if self.asked else None,
            "coverage": self.answered / self.asked if self.asked else None,
            "pairs": self.pairs.pairs,
            "standard_error": self.standard_error,
            "interval": self.interval,
        }


@dataclass(frozen=True)
class AnalogyReport(Report):
    """Scores per section, with the evaluation settings that a comparison with other results must state.

    unknown: the number of questions with an unknown word, which are wrong if the protocol counts them;
    semantic_sections: how many of the first sections are semantic (None: those whose names do not begin with "gram").
    """

    sections: tuple[AnalogyScore, ...]
    method: Method
    unknown: int
    semantic_sections: int | None

    task = "analogies"
    facts = ("method", "unknown")

    @property
    def total(self) -> AnalogyScore:
        """Score of all sections together."""
        return self._sum("total", self.sections)

    @property
    def syntactic(self) -> AnalogyScore:
        """Score of the sections that are not semantic."""
        return self._sum("syntactic", [s for i, s in enumerate(self.sections) if not self._is_semantic(i)])

    @property
    def semantic(self) -> AnalogyScore:
        """Score of the semantic sections: those before `semantic_sections`, or whose names do not begin with "gram"."""
        return self._sum("semantic", [s for i, s in enumerate(self.sections) if self._is_semantic(i)])

    def _is_semantic(self, section: int) -> bool:
        if self.semantic_sections is None:
            return not self.sections[section].name.startswith("gram")
        return section < self.semantic_sections

    @staticmethod
    def _sum(name: str, scores: Sequence[AnalogyScore]) -> AnalogyScore:
        counts = {count: sum(getattr(s, count) for s in scores) for count in ("correct", "answered", "asked")}
        pairs = (sum(getattr(s.pairs, field) for s in scores) for field in PairJackknife._fields)
        return AnalogyScore(name, **counts, pairs=PairJackknife(*pairs))  # a pair in two sections counts in both

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as built-in types, ready for JSON."""
        sums = {part.name: part.to_dict() for part in (self.total, self.semantic, self.syntactic)}
        return {**super().to_dict(), **sums, "sections": [section.to_dict() for section in self.sections]}


class Questions:
    """The questions of a file, by the indices of their words.

    sections: the names of the sections; indices (n, 5) int64: of each question the section and its four words, where
    unknown words have indices from FIRST_UNKNOWN_INDEX on; is_known (n,): whether no word is unknown; same: see
    `nearest_to_analogies`; numbers: the index of each folded word.
    """

    def __init__(
        self, questions: Iterable[tuple[str, list[str] | None]], words: list[str], fold: Callable[[str], str]
    ) -> None:
        """Look up the words of questions, as `read_questions` yields them. fold: maps all forms of a word to one."""
        indices, self.numbers = array("q"), first_indices(words, fold)
        self.same = np.fromiter((self.numbers[fold(word)] for word in words), np.int64, len(words))
        self.sections: list[str] = []
        for name, question in questions:
            if question is None:
                self.sections.append(name)
                continue
            indices.append(len(self.sections) - 1)
            for word in map(fold, question):
                indices.append(self.numbers.setdefault(word, FIRST_UNKNOWN_INDEX + len(self.numbers)))
        self.indices = np.array(indices, np.int64).reshape(-1, 5)
        self.is_known: NDArray[np.bool_] = self.indices[:, 1:].max(axis=1, initial=0) < len(words)

    def are_correct(self, answer: Answer) -> NDArray[np.bool_]:
        """Return which questions (n,) get a form of their last word as the answer; none with unknown words does."""
        correct, known = np.zeros(len(self.indices), bool), self.indices[self.is_known, 1:]
        if len(known):
            predicted = answer(known[:, :3], self.same)
            correct[self.is_known] = (predicted >= 0) & (self.same[predicted] == known[:, 3])
        return correct

    def scores(self, correct: NDArray[np.bool_], counted: NDArray[np.bool_]) -> Iterator[AnalogyScore]:
        """Yield the score of each section. correct, counted: which questions (n,) are correct, and which count."""
        asked = np.bincount(self.indices[:, 0], minlength=len(self.sections)).tolist()
        indices, answers = self.indices[counted], correct[counted]
        pairs = indices[:, (1, 3)] << 32 | indices[:, (2, 4)]
        ends = np.searchsorted(indices[:, 0], np.arange(1, len(self.sections)))
        for name, all_asked, right, own in zip(
            self.sections, asked, np.split(answers, ends), np.split(pairs, ends), strict=True
        ):
            jackknife = pair_jackknife(right, own) if len(own) else PairJackknife(0, 0, 0.0)
            yield AnalogyScore(name, int(right.sum()), len(own), all_asked, jackknife)


def evaluate_analogies(
    vectors: Vectors,
    path: str | Path,
    *,
    restrict_vocab: int | None = ANALOGY_WORDS,
    case_insensitive: bool = True,
    method: Method = "3cosadd",
    protocol: Rules = PLAIN,
) -> AnalogyReport:
    """Answer "a is to b as c is to ?" with the word nearest to b - a + c (Mikolov et al. 2013), as gensim does.

    Questions and answers use only the first `restrict_vocab` words (None: all). With `case_insensitive`, the first of
    several words that differ only in case stands for all of them. The counts equal those of gensim's
    `evaluate_word_analogies` with dummy4unknown=False, except that words with zero vectors are unknown. The file has
    one question of four words per line, in sections that begin with a line ": NAME". protocol: its rules replace
    gensim's, except for `restrict_vocab`.

    Raise InputMissing if the file cannot be opened; DataError, naming the line, if a line is malformed or the file
    exceeds a limit in datasets.py; and NoKnownWords if the vocabulary covers no question.
    """
    words, fold = vectors.words[:restrict_vocab], protocol.fold if case_insensitive else str
    questions = Questions(read_questions(path), words, fold)
    known = questions.is_known
    known[known] = have_vectors(vectors.matrix, questions.indices[known, 1:])
    if not known.any():
        raise none_known(path, len(questions.indices), "questions", "all four words", words)
    answer = partial(nearest_to_analogies, vectors.matrix[: len(words)], method=method, protocol=protocol)
    scores = tuple(questions.scores(questions.are_correct(answer), questions.is_known | protocol.unknown))
    unknown = int(np.count_nonzero(~questions.is_known))
    return AnalogyReport(
        str(path), restrict_vocab, case_insensitive, scores, method, unknown, protocol.semantic
    )  # fmt: skip


def answer_sections(
    words: list[str],
    matrix: NDArray[Any],
    questions: Iterable[tuple[str, list[str] | None]],
    case_insensitive: bool,
    dummy4unknown: bool,
    answer: Answer | None = None,
) -> list[Section]:
    """Return what gensim's `evaluate_word_analogies` does: the questions of each section, then those of all.

    questions: as `read_questions` yields them; dummy4unknown: list questions with unknown words as incorrect instead
    of leaving them out; answer: what answers the questions, by default `nearest_to_analogies`.
    """
    asked = Questions(questions, words, case_folding(case_insensitive))
    correct = asked.are_correct(answer or partial(nearest_to_analogies, matrix))
    listed = asked.is_known | bool(dummy4unknown)
    texts = {index: word for word, index in asked.numbers.items()}
    sections: list[Section] = [{"section": name, "correct": [], "incorrect": []} for name in asked.sections]
    for (section, *indices), is_correct in zip(asked.indices[listed].tolist(), correct[listed].tolist(), strict=True):
        sections[section]["correct" if is_correct else "incorrect"].append(tuple(texts[i] for i in indices))
    total: Section = {"section": "Total accuracy"}
    for kind in ("correct", "incorrect"):
        total[kind] = [question for section in sections for question in section[kind]]
    return [*sections, total]


def log_section(section: Section) -> float | None:
    """Log and return the accuracy of a section; None if it has no questions."""
    correct, total = len(section["correct"]), len(section["correct"]) + len(section["incorrect"])
    if not total:
        return None
    logger.info("%s: %.1f%% (%d/%d)", section["section"], 100 * correct / total, correct, total)
    return correct / total


def nearest_to_analogies(
    matrix: NDArray[np.float32],
    questions: NDArray[np.int64],
    same: NDArray[np.int64],
    method: Method = "3cosadd",
    protocol: Rules = PLAIN,
) -> NDArray[np.int64]:
    """Return the row of `matrix` (V, d) of the word nearest to each question (n, 3), or -1 if there is none.

    same[i] is the index of the first word that equals word i except for case. No form of a, b or c can be an answer,
    unless the protocol allows other forms than the first.
    """
    norms = row_norms(matrix)[:, None]
    unit = np.asarray(matrix / np.where(norms > 0, norms, 1), np.float32)
    directionless = np.flatnonzero(norms == 0)
    # Few words have other forms, so store only those, by the index of their first form.
    forms: dict[int, list[int]] = {}
    for other in np.flatnonzero(same != np.arange(len(same))).tolist() if protocol.forms else ():
        forms.setdefault(int(same[other]), []).append(other)
    step = max(16, SIMILARITIES_AT_ONCE // len(unit))
    predicted = np.empty(len(questions), np.int64)
    buffers = np.empty((1 if method == "3cosadd" else 2, min(step, len(questions)), len(unit)), np.float32)
    for start in range(0, len(questions), step):
        block = questions[start : start + step]
        similar = (_added if method == "3cosadd" else _multiplied)(unit, block, buffers[:, : len(block)])
        similar[:, directionless] = -np.inf
        if protocol.positive:
            similar[similar <= 0] = -np.inf
        predicted[start : start + step] = _nearest(similar, block, forms)
    return predicted


def _added(
    unit: NDArray[np.float32], questions: NDArray[np.int64], buffers: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the products of all unit vectors (V, d) with b - a + c of each question (n, 3), in buffers[0]: (n, V)."""
    a, b, c = questions.T
    similar: NDArray[np.float32] = buffers[0]
    np.dot(unit[b] - unit[a] + unit[c], unit.T, out=similar)
    return similar


def _multiplied(
    unit: NDArray[np.float32], questions: NDArray[np.int64], buffers: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return 3CosMul's scores of all words for each question (n, 3), in buffers[0]: (n, V) of the buffers (2, n, V)."""
    # (1 + cos b)/2 (1 + cos c)/2 / ((1 + cos a)/2 + epsilon)
    scores: NDArray[np.float32] = buffers[0]
    factor: NDArray[np.float32] = buffers[1]

    def shifted(word: int, place: NDArray[np.float32]) -> NDArray[np.float32]:
        np.dot(unit[questions[:, word]], unit.T, out=place)
        place += 1
        place /= 2
        return place

    shifted(1, scores)
    scores *= shifted(2, factor)
    shifted(0, factor)
    factor += np.float32(COSMUL_EPSILON)
    scores /= factor
    return scores


def _nearest(
    similar: NDArray[np.float32], questions: NDArray[np.int64], forms: dict[int, list[int]]
) -> NDArray[np.int64]:
    """Return the best column of each row of `similar` (n, V), without forms of question words; -1 means no answer.

    questions (n, 3): word indices; forms: the indices of a word's other forms, by the index of its first form.
    `similar` is overwritten.
    """
    rows = np.arange(len(questions))
    similar[rows[:, None], questions] = -np.inf
    others: dict[int, NDArray[np.float32]] = {}
    for row, question in enumerate(questions.tolist() if forms else ()):
        if ids := [other for word in set(question) for other in forms.get(word, ())]:
            others[row] = similar[row, ids]
            similar[row, ids] = -np.inf
    best: NDArray[np.int64] = similar.argmax(axis=1)
    highest = similar[rows, best]
    best[np.isneginf(highest)] = -1
    for row, values in others.items():
        # gensim gives no answer if other forms of the question words take all the places that it considers.
        if (values > highest[row]).sum() >= GENSIM_CONSIDERS:
            best[row] = -1
    return best
