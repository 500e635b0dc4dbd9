"""Scores of word vectors: analogies, similarity to human judgement, neighbours; on gensim's KeyedVectors.

Probabilities under a model are not scored here (training/perplexity.py does), and nothing is
printed: reports have `to_dict`.
"""

import difflib
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, UsageError
from w2vtrain.evaluation.scores import AnalogyReport, AnalogyScore, SimilarityReport
from w2vtrain.system.reading import read_lines

# Similarities held at a time, 64 MB: as many questions are answered together as this allows, 16 at least.
SIMILARITIES = 1 << 24
# gensim looks at this many of the most similar words for one that is no form of a word of the question.
GENSIM_LOOKS = 5
# Bytes of text, bytes of a line and sections that a file of questions or pairs may have. The largest known has 4 MB.
LARGEST, LONGEST_LINE, MOST_SECTIONS = 64 << 20, 64 << 10, 1 << 16
# Covered pairs whose vectors are held at a time.
PAIRS = 1 << 14
Pairs = list[tuple[str, float]]


def analogies(
    kv: Any,
    questions_path: str | Path,
    *,
    restrict_vocab: int | None = 30_000,
    case_insensitive: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> AnalogyReport:
    """Answer "a is to b as c is to ?" by the word nearest to b - a + c (Mikolov et al. 2013), as gensim does.

    Only the first `restrict_vocab` words count (None: all), for questions and for answers; `case_insensitive` takes
    the first of the words that differ in case only. The counts are those of gensim's `evaluate_word_analogies` with
    dummy4unknown=False. `progress(done, all)` is called after each block of questions.
    The file has sections ": name" of lines of four words. Raises InputMissing; DataError, naming the line, for a
    malformed one and where the file is beyond LARGEST, LONGEST_LINE or MOST_SECTIONS, and if no question at all is
    covered by the vocabulary.
    """
    words = _restricted(kv, restrict_vocab)
    first = _first_index(words, case_insensitive)
    fold = str.upper if case_insensitive else str
    sections: list[str] = []
    asked: list[int] = []
    known = array("i")  # section and four words of each covered question
    for section, question in _questions(questions_path):
        if question is None:
            sections.append(section)
            asked.append(0)
            continue
        asked[-1] += 1
        ids = [first.get(fold(word), -1) for word in question]
        if min(ids) >= 0:
            known.extend((len(sections) - 1, *ids))
    if not known:
        raise DataError(
            f"{questions_path}: none of its {sum(asked):,} questions has all four words among the first "
            f"{len(words):,} words of the vocabulary"
        )
    table = np.array(known, np.int64).reshape(-1, 5)
    same = np.fromiter((first[fold(word)] for word in words), np.int64, len(words))
    predicted = _answer(kv.vectors[: len(words)], table[:, 1:4], same, progress)
    correct = (predicted >= 0) & (same[predicted] == table[:, 4])
    answered = np.bincount(table[:, 0], minlength=len(sections))
    right = np.bincount(table[correct, 0], minlength=len(sections))
    scores = tuple(
        AnalogyScore(n, int(r), int(k), a) for n, r, k, a in zip(sections, right, answered, asked, strict=True)
    )
    return AnalogyReport(str(questions_path), restrict_vocab, case_insensitive, scores)


def _answer(
    vectors: NDArray[np.float32],
    questions: NDArray[np.int64],
    same: NDArray[np.int64],
    progress: Callable[[int, int], None] | None,
) -> NDArray[np.int64]:
    """For each question (a, b, c) the index of the nearest other word, -1 if there is none.

    same[i] is the first word that equals word i but for case; all words with the same one as a, b or c are excluded.
    """
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1).astype(np.float32)
    nowhere = np.flatnonzero(norms == 0)
    # Other forms of the same word are few: only they are kept, by the first form.
    forms: dict[int, list[int]] = {}
    for other in np.flatnonzero(same != np.arange(len(same))).tolist():
        forms.setdefault(int(same[other]), []).append(other)
    step = max(16, SIMILARITIES // len(unit))
    predicted = np.empty(len(questions), np.int64)
    buffer = np.empty((min(step, len(questions)), len(unit)), np.float32)
    for start in range(0, len(questions), step):
        block = questions[start : start + step]
        a, b, c = block.T
        similar = np.dot(unit[b] - unit[a] + unit[c], unit.T, out=buffer[: len(block)])
        similar[:, nowhere] = -np.inf
        predicted[start : start + step] = _nearest(similar, block, forms)
        if progress is not None:
            progress(start + len(block), len(questions))
    return predicted


def _nearest(
    similar: NDArray[np.float32], questions: NDArray[np.int64], forms: dict[int, list[int]]
) -> NDArray[np.int64]:
    """The best column of each row of `similar` that is no form of the question's three words; `similar` is spoilt."""
    rows = np.arange(len(questions))
    similar[rows[:, None], questions] = -np.inf
    others: dict[int, NDArray[np.float32]] = {}
    for row, question in enumerate(questions.tolist() if forms else ()):
        if ids := [other for word in set(question) for other in forms.get(word, ())]:
            others[row] = similar[row, ids]
            similar[row, ids] = -np.inf
    best: NDArray[np.int64] = similar.argmax(axis=1)
    height = similar[rows, best]
    best[np.isneginf(height)] = -1
    for row, values in others.items():
        # To agree with gensim also where the question's own words in other cases fill all the places it looks at.
        if (values > height[row]).sum() >= GENSIM_LOOKS:
            best[row] = -1
    return best


def _restricted(kv: Any, restrict_vocab: int | None) -> list[str]:
    if restrict_vocab is not None and restrict_vocab < 1:
        raise UsageError(f"restrict_vocab must be 1 or more, not {restrict_vocab}")
    words: list[str] = kv.index_to_key[:restrict_vocab]
    return words


def _first_index(words: Sequence[str], case_insensitive: bool) -> dict[str, int]:
    """Index by word; of words that are the same in capitals the first, which is the most frequent, wins."""
    return {(word.upper() if case_insensitive else word): i for i, word in reversed(list(enumerate(words)))}


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, stripped, with their numbers from 1."""
    for number, line in read_lines(path, LONGEST_LINE, LARGEST):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}:{number}: not UTF-8 at byte {error.start} of the line") from error
        if text:
            yield number, text


def _questions(path: str | Path) -> Iterator[tuple[str, list[str] | None]]:
    """(name, None) for the head of a section, then (name, four words) for each of its questions."""
    name, sections = None, 0
    for number, line in _lines(path):
        if line.startswith(":"):
            name, sections = line.lstrip(": ").strip(), sections + 1
            if sections > MOST_SECTIONS:
                raise DataError(f"{path}:{number}: more than {MOST_SECTIONS:,} sections: divide the file")
            yield name, None
            continue
        words = line.split()
        if name is None:
            raise DataError(f"{path}:{number}: a question before the first section, which a line ': NAME' begins")
        if len(words) != 4:
            raise DataError(f"{path}:{number}: {len(words)} words, a question has 4")
        yield name, words


def similarity(
    kv: Any, pairs_path: str | Path, *, restrict_vocab: int | None = 300_000, case_insensitive: bool = True
) -> SimilarityReport:
    """Spearman's and Pearson's correlation of cosine similarities with the scores of a file of word pairs.

    Lines are "word, word, score" with tabs or white space between; blank ones and those that begin with "#" are
    skipped. Words are looked up as gensim's `evaluate_word_pairs` does. Raises InputMissing; DataError for a malformed
    line, naming it, and where no correlation exists: no pair covered, or all similarities or scores equal.
    """
    from scipy import stats

    words = _restricted(kv, restrict_vocab)
    first = _first_index(words, case_insensitive)
    fold = str.upper if case_insensitive else str
    asked = 0
    known, gold = array("i"), array("d")
    for left, right, score in _pairs(pairs_path):
        asked += 1
        ids = first.get(fold(left), -1), first.get(fold(right), -1)
        if min(ids) >= 0:
            known.extend(ids)
            gold.append(score)
    if not known:
        raise DataError(f"no pair of {pairs_path} is in the vocabulary (of {asked:,} pairs)")
    covered = np.array(known, np.int64).reshape(-1, 2)
    cosines = np.concatenate([_cosines(kv.vectors, covered[i : i + PAIRS]) for i in range(0, len(covered), PAIRS)])
    for what, values in (("scores", np.array(gold)), ("similarities", cosines)):
        if np.ptp(values) <= 1e-12 * np.abs(values).max():
            raise DataError(f"{pairs_path}: no correlation, because all {what} of the covered pairs are equal")
    spearman, pearson = stats.spearmanr(gold, cosines).statistic, stats.pearsonr(gold, cosines).statistic
    return SimilarityReport(
        str(pairs_path), restrict_vocab, case_insensitive, float(spearman), float(pearson), len(gold), asked
    )


def _cosines(vectors: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cosine of each pair (n, 2) of rows, 0 for a row of zeros."""
    a, b = (vectors[column].astype(np.float64) for column in pairs.T)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    found: NDArray[np.float64] = (a * b).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    return found


def _pairs(path: str | Path) -> Iterator[tuple[str, str, float]]:
    for number, line in _lines(path):
        if line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")] if "\t" in line else line.split()
        try:
            left, right, score = fields[0], fields[1], float(fields[2])
        except (IndexError, ValueError):
            score = math.nan
        if len(fields) != 3 or not math.isfinite(score):
            raise DataError(f"{path}:{number}: not a line of two words and a score: {line[:60]!r}")
        yield left, right, score


def neighbors(kv: Any, word: str, topn: int = 10) -> Pairs:
    """The `topn` words most similar to `word`, with cosines, best first; DataError for an unknown word."""
    return _most_similar(kv, [word], [], topn)


def analogy(kv: Any, king: str, man: str, woman: str, topn: int = 10) -> Pairs:
    """The `topn` words nearest to king - man + woman, with cosines, best first; DataError for an unknown word."""
    return _most_similar(kv, [king, woman], [man], topn)


def _most_similar(kv: Any, positive: list[str], negative: list[str], topn: int) -> Pairs:
    if topn < 1:
        raise UsageError(f"topn must be 1 or more, not {topn}")
    for word in positive + negative:
        if word not in kv.key_to_index:
            close = ", ".join(repr(other) for other in close_words(kv, word))
            raise DataError(f"{word!r} is not in the vocabulary" + (f"; close to it: {close}" if close else ""))
    with np.errstate(all="ignore"):  # a vector of zeros has no direction and is no neighbour
        found = kv.most_similar(positive=positive, negative=negative, topn=topn)
    return [(other, cosine) for other, cosine in found if not math.isnan(cosine)]


def close_words(kv: Any, word: str, count: int = 3) -> list[str]:
    """Up to `count` words of the vocabulary spelt like `word`: other cases first, then small differences."""
    folded = word.casefold()
    same = [other for other in kv.index_to_key if other.casefold() == folded]
    # Comparing with a million words takes a minute: those of about this length that begin alike, frequent ones first.
    alike = (w for w in kv.index_to_key if abs(len(w) - len(word)) < 3 and w[:1].casefold() == folded[:1])
    near = difflib.get_close_matches(word, list(islice(alike, 5_000)), n=count)
    return list(dict.fromkeys(same + near))[:count]
