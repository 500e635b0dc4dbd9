"""Evaluate keys and vectors on analogies and on word similarity, with gensim's options and results.

analogies.py and similarity.py do the same for the command line, with stricter files and confidence intervals.
"""

import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.analogies import GENSIM_CONSIDERS, nearest_to_analogies
from w2vtrain.embeddings.comparisons import Comparisons, cosine
from w2vtrain.embeddings.datasets import case_folding, first_indices, text_lines
from w2vtrain.embeddings.key_files import builtin_errors
from w2vtrain.errors import MalformedFile

logger = logging.getLogger(__name__)
Section = dict[str, Any]
"""{"section": name, "correct": questions, "incorrect": questions}; a question is a tuple of four words."""
Question = tuple[str, ...]


class Evaluations(Comparisons):
    """Scores on evaluation sets."""

    def evaluate_word_analogies(
        self,
        analogies: str | Path,
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[Section]]:
        """Answer a file of analogy questions.

        Parameters
        ----------
        analogies : str or Path
            Lines of four words, in sections that begin with a line ": NAME". Other lines are skipped.
        restrict_vocab : int, optional
            Use only the first keys, for questions and answers.
        case_insensitive : bool, default True
            Ignore case; of keys that differ only in case, the first counts.
        dummy4unknown : bool, default False
            Count questions with unknown words as incorrect, instead of skipping them.
        similarity_function : str, default "most_similar"
            The name of the method that answers, such as "most_similar_cosmul".

        Returns
        -------
        score : float
            The fraction of correct answers.
        sections : list of dict
            {"section": name, "correct": questions, "incorrect": questions} for each section; the last is the total.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If a question precedes the first section, or a line is not UTF-8.

        Examples
        --------
        >>> _ = Path("questions.txt").write_text(": family\\nman king woman queen\\n")
        >>> score, sections = vectors.evaluate_word_analogies("questions.txt")
        >>> score, sections[0]["correct"]
        (1.0, [('MAN', 'KING', 'WOMAN', 'QUEEN')])

        """
        fold = case_folding(case_insensitive)
        vocabulary = [str(word) for word in self.index_to_key[:restrict_vocab]]
        first = first_indices(vocabulary, fold)
        sections: list[Section] = []
        asked: list[tuple[Section, Question, bool]] = []
        for name, question in _questions(analogies, fold):
            if question is None:
                sections.append({"section": name, "correct": [], "incorrect": []})
            elif (known := all(word in first for word in question)) or dummy4unknown:
                asked.append((sections[-1], question, known))
        rows = np.array([[first[word] for word in words] for _, words, known in asked if known], int).reshape(-1, 4)
        same = np.fromiter((first[fold(word)] for word in vocabulary), np.int64, len(vocabulary))
        if not len(rows):
            found = np.empty(0, np.int64)
        elif similarity_function == "most_similar":
            found = nearest_to_analogies(self.vectors[: len(vocabulary)], rows[:, :3], same, None)
        else:
            found = self._answers_of(getattr(self, similarity_function), rows, same, restrict_vocab)
        correct = iter(((found >= 0) & (same[found] == rows[:, 3])).tolist())
        for section, question, known in asked:
            section["correct" if known and next(correct) else "incorrect"].append(question)
        parts = ("correct", "incorrect")
        total = {"section": "Total accuracy", **{part: [q for s in sections for q in s[part]] for part in parts}}
        return _log_evaluate_word_analogies(total) or 0.0, [*sections, total]

    def _answers_of(
        self,
        similar: Callable[..., Sequence[tuple[str, float]]],
        rows: NDArray[np.int64],
        same: NDArray[np.int64],
        restrict_vocab: int | None,
    ) -> NDArray[np.int64]:
        """Return the row of the answer to each question (n, 4), or -1; same: see `nearest_to_analogies`."""
        answers = np.full(len(rows), -1)
        for at, (a, b, c, _) in enumerate(rows.tolist()):
            keys = [self.index_to_key[row] for row in (b, c, a)]
            best = similar(positive=keys[:2], negative=keys[2:], topn=GENSIM_CONSIDERS, restrict_vocab=restrict_vocab)
            found = [row for key, _ in best if (row := self.key_to_index[key]) < len(same)]
            answers[at] = next((row for row in found if same[row] not in (a, b, c)), -1)
        return answers

    def evaluate_word_pairs(
        self,
        pairs: str | Path,
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Any, Any, float]:
        """Correlate cosines with the human ratings of word pairs.

        Parameters
        ----------
        pairs : str or Path
            Lines of two words and a number. Other lines, and those that begin with "#", are skipped.
        delimiter : str, default tab
            What separates the fields of a line.
        encoding : str, default "utf8"
            The encoding of the file.
        restrict_vocab : int, optional
            Use only the first keys.
        case_insensitive : bool, default True
            Ignore case; of keys that differ only in case, the first counts.
        dummy4unknown : bool, default False
            Give pairs with unknown words the similarity 0, instead of skipping them.

        Returns
        -------
        pearson, spearman : (float, float)
            Correlation and two-sided p-value, from SciPy.
        oov_ratio : float
            The percentage of pairs with unknown words.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If there are no pairs to compare, or a line is not in the encoding.

        Examples
        --------
        >>> _ = Path("pairs.tsv").write_text("king\\tqueen\\t8\\nking\\tman\\t2\\nman\\twoman\\t7\\n")
        >>> pearson, spearman, unknown = vectors.evaluate_word_pairs("pairs.tsv")
        >>> round(float(spearman[0]), 6), unknown
        (0.5, 0.0)

        """
        from scipy import stats

        fold = case_folding(case_insensitive)
        first = first_indices([str(word) for word in self.index_to_key[:restrict_vocab]], fold)
        gold, similar, unknown = [], [], 0
        for left, right, rating in _pairs(pairs, delimiter, encoding, fold):
            both = left in first and right in first
            unknown += not both
            if both or dummy4unknown:
                gold.append(rating)
                similar.append(cosine(*self.vectors[[first[left], first[right]]]) if both else 0.0)
        if not len(gold):
            raise MalformedFile(f"{pairs}: no pair can be compared: the format is wrong, or all words are unknown")
        pearson, spearman = stats.pearsonr(gold, similar), stats.spearmanr(gold, similar)
        ratio = 100 * unknown / (len(gold) + (0 if dummy4unknown else unknown))
        self.log_evaluate_word_pairs(pearson, spearman, ratio, pairs)
        return pearson, spearman, ratio

    @staticmethod
    def log_accuracy(section: Section) -> None:
        """Log the accuracy of a section of `evaluate_word_analogies` at level INFO."""
        _log_evaluate_word_analogies(section)

    @staticmethod
    def log_evaluate_word_pairs(pearson: Any, spearman: Any, oov: float, pairs: object) -> None:
        """Log the results of `evaluate_word_pairs` at level INFO."""
        found = (pairs, pearson[0], spearman[0], oov)
        logger.info("%s: Pearson correlation %.4f, Spearman correlation %.4f, unknown pairs %.1f%%", *found)


def _log_evaluate_word_analogies(section: Section) -> float | None:
    """Log and return the accuracy of a section; None if it has no questions."""
    correct, total = len(section["correct"]), len(section["correct"]) + len(section["incorrect"])
    if not total:
        return None
    logger.info("%s: %.1f%% (%d/%d)", section["section"], 100 * correct / total, correct, total)
    return correct / total


def _questions(path: str | Path, fold: Callable[[str], str]) -> Any:
    """Yield (name, None) for the first line of a section, then (name, four folded words) for each question."""
    name = None
    with builtin_errors():
        for number, line in text_lines(path):
            words = tuple(fold(word) for word in line.split())
            if line.startswith(":"):
                name = line.lstrip(": ").strip()
                yield name, None
            elif name is None:
                raise MalformedFile(f"{path}:{number}: a question before the first section; it begins with ': NAME'")
            elif len(words) == 4:
                yield name, words
            else:
                logger.info("%s:%d: skipped, because it does not have 4 words", path, number)


def _pairs(path: str | Path, delimiter: str, encoding: str, fold: Callable[[str], str]) -> Any:
    """Yield two folded words and their rating from each line that has them."""
    with builtin_errors():
        for number, line in text_lines(path, encoding):
            fields = line.split(delimiter)
            try:
                left, right, rating = fold(fields[0]), fold(fields[1]), float(fields[2])
            except (IndexError, ValueError):
                rating = math.nan
            if not math.isnan(rating) and len(fields) == 3 and not line.startswith("#"):
                yield left, right, rating
            elif not line.startswith("#"):
                logger.info("%s:%d: skipped, because it is not two words and a number", path, number)
