"""Answer a file of analogy questions: a report of the accuracy per section, or gensim's lists of questions.

Single analogies are answered in neighbors.py. Nothing here prints.
"""

import logging
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.datasets import case_folding, first_indices, frequent_words, read_questions
from w2vtrain.embeddings.intervals import PairJackknife, clustered_interval, effective_questions, pair_jackknife
from w2vtrain.embeddings.protocols import ANALOGY_WORDS, PLAIN, Rules
from w2vtrain.errors import NoKnownWords
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
OnAnswered = Callable[[int, int], None]
"""Called after each block of questions with the number answered so far and the total."""
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
class AnalogyReport:
    """Scores per section, with the evaluation settings that a comparison with other results must state.

    unknown: the number of questions with an unknown word, which are wrong if the protocol counts them;
    semantic_sections: how many of the first sections are semantic (None: those whose names do not begin with "gram").
    """

    path: str
    restrict_vocab: int | None
    case_insensitive: bool
    sections: tuple[AnalogyScore, ...]
    method: Method = "3cosadd"
    unknown: int = 0
    semantic_sections: int | None = None

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
        correct, answered, asked = (
            sum(getattr(s, count) for s in scores) for count in ("correct", "answered", "asked")
        )
        pairs, combinations, variances = zip(*(s.pairs for s in scores), strict=True) if scores else ((), (), ())
        added = PairJackknife(sum(pairs), sum(combinations), sum(variances))  # a pair in two sections counts in both
        return AnalogyScore(name, correct, answered, asked, added)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as built-in types, ready for JSON."""
        return {
            "task": "analogies",
            "file": self.path,
            "restrict_vocab": self.restrict_vocab,
            "case_insensitive": self.case_insensitive,
            "method": self.method,
            "unknown": self.unknown,
            "total": self.total.to_dict(),
            "semantic": self.semantic.to_dict(),
            "syntactic": self.syntactic.to_dict(),
            "sections": [section.to_dict() for section in self.sections],
        }


def evaluate_analogies(
    vectors: Vectors,
    path: str | Path,
    *,
    restrict_vocab: int | None = ANALOGY_WORDS,
    case_insensitive: bool = True,
    method: Method = "3cosadd",
    protocol: Rules = PLAIN,
    progress: OnAnswered | None = None,
) -> AnalogyReport:
    """Answer "a is to b as c is to ?" with the word nearest to b - a + c (Mikolov et al. 2013), as gensim does.

    Questions and answers use only the first `restrict_vocab` words (None: all). With `case_insensitive`, the first of
    several words that differ only in case stands for all of them. The counts equal those of gensim's
    `evaluate_word_analogies` with dummy4unknown=False. The file has one question of four words per line, in sections
    that begin with a line ": NAME". protocol: its rules replace gensim's, except for `restrict_vocab`.

    Raise InputMissing if the file cannot be opened; DataError, naming the line, if a line is malformed or the file
    exceeds a limit in datasets.py; and NoKnownWords if the vocabulary covers no question.
    """
    words, fold = frequent_words(vectors.words, restrict_vocab), protocol.fold if case_insensitive else str
    first = first_indices(words, fold)
    sections, asked, questions = _questions(path, first, fold)
    is_known = (questions[:, 1:] < len(words)).all(axis=1)
    if not is_known.any():
        raise NoKnownWords(
            f"{path}: none of its {sum(asked):,} questions has all four words among the first "
            f"{len(words):,} words of the vocabulary"
        )
    matrix = vectors.matrix[: len(words)]

    def answer(asked: NDArray[np.int64], same: NDArray[np.int64]) -> NDArray[np.int64]:
        return nearest_to_analogies(matrix, asked, same, progress, method, protocol)

    correct = np.zeros(len(questions), bool)
    correct[is_known] = are_correct(questions[is_known, 1:], _first_forms(words, first, fold), answer)
    counted = is_known | protocol.unknown
    scores = tuple(_scores(sections, asked, questions[counted], correct[counted]))
    unknown = int(np.count_nonzero(~is_known))
    return AnalogyReport(
        str(path), restrict_vocab, case_insensitive, scores, method, unknown, protocol.semantic
    )  # fmt: skip


def _questions(
    path: str | Path, first: dict[str, int], fold: Callable[[str], str]
) -> tuple[list[str], list[int], NDArray[np.int64]]:
    """Return the section names, the number of questions in each section, and the questions.

    The questions are (n, 5) int64: section index and four word indices. Words that are not in `first` have indices
    from FIRST_UNKNOWN_INDEX on.
    """
    sections: list[str] = []
    asked: list[int] = []
    questions = array("q")
    unknown: dict[str, int] = {}
    for name, question in read_questions(path):
        if question is None:
            sections.append(name)
            asked.append(0)
            continue
        asked[-1] += 1
        folded = map(fold, question)
        ids = [
            first[word] if word in first else unknown.setdefault(word, FIRST_UNKNOWN_INDEX + len(unknown))
            for word in folded
        ]
        questions.extend((len(sections) - 1, *ids))
    return sections, asked, np.array(questions, np.int64).reshape(-1, 5)


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
    fold = case_folding(case_insensitive)
    first = first_indices(words, fold)
    sections: list[Section] = []
    asked: list[tuple[Section, tuple[str, ...], bool]] = []
    for name, question in questions:
        if question is None:
            sections.append({"section": name, "correct": [], "incorrect": []})
            continue
        folded = tuple(map(fold, question))
        if (known := all(word in first for word in folded)) or dummy4unknown:
            asked.append((sections[-1], folded, known))
    rows = np.array([[first[word] for word in folded] for _, folded, known in asked if known], np.int64).reshape(-1, 4)

    def nearest(asked: NDArray[np.int64], same: NDArray[np.int64]) -> NDArray[np.int64]:
        return nearest_to_analogies(matrix, asked, same)

    correct = iter(are_correct(rows, _first_forms(words, first, fold), answer or nearest).tolist())
    for section, folded, known in asked:
        section["correct" if known and next(correct) else "incorrect"].append(folded)
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


def _scores(
    sections: list[str], asked: list[int], known: NDArray[np.int64], correct: NDArray[np.bool_]
) -> Iterator[AnalogyScore]:
    """Yield the score of each section. known (n, 5): the section and the ids of the four words of
    each covered question; correct (n,).
    """
    pairs = known[:, (1, 3)] << 32 | known[:, (2, 4)]
    ends = np.searchsorted(known[:, 0], np.arange(1, len(sections)))
    for name, all_asked, answers, own in zip(
        sections, asked, np.split(correct, ends), np.split(pairs, ends), strict=True
    ):
        jackknife = pair_jackknife(answers, own) if len(own) else PairJackknife(0, 0, 0.0)
        yield AnalogyScore(name, int(answers.sum()), len(own), all_asked, jackknife)


def _first_forms(words: list[str], first: dict[str, int], fold: Callable[[str], str]) -> NDArray[np.int64]:
    return np.fromiter((first[fold(word)] for word in words), np.int64, len(words))


def are_correct(questions: NDArray[np.int64], same: NDArray[np.int64], answer: Answer) -> NDArray[np.bool_]:
    """Return which questions (n, 4) get a form of their last word as the answer; same: see `nearest_to_analogies`."""
    if not len(questions):
        return np.empty(0, bool)
    predicted = answer(questions[:, :3], same)
    correct: NDArray[np.bool_] = (predicted >= 0) & (same[predicted] == questions[:, 3])
    return correct


def nearest_to_analogies(
    matrix: NDArray[np.float32],
    questions: NDArray[np.int64],
    same: NDArray[np.int64],
    progress: OnAnswered | None = None,
    method: Method = "3cosadd",
    protocol: Rules = PLAIN,
) -> NDArray[np.int64]:
    """Return the row of `matrix` (V, d) of the word nearest to each question (n, 3), or -1 if there is none.

    same[i] is the index of the first word that equals word i except for case. No form of a, b or c can be an answer,
    unless the protocol allows other forms than the first.
    """
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
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
        if progress is not None:
            progress(start + len(block), len(questions))
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
    factor = buffers[1]
    for word, place in ((1, scores), (2, factor)):
        np.dot(unit[questions[:, word]], unit.T, out=place)
        place += 1
        place /= 2
    scores *= factor
    np.dot(unit[questions[:, 0]], unit.T, out=factor)
    factor += 1
    factor /= 2
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
