"""What evaluations report: counts, correlations and their 95% intervals, and all of it in plain types for JSON.

How the answers are found is evaluation.py's matter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Z95 = 1.959963984540054


@dataclass(frozen=True)
class AnalogyScore:
    """Analogies of one section or several: asked in the file, answered (all four words known), correct."""

    name: str
    correct: int
    answered: int
    asked: int

    @property
    def accuracy(self) -> float | None:
        """Correct of the answered, None if none was; what word2vec and gensim report."""
        return self.correct / self.answered if self.answered else None

    def to_dict(self) -> dict[str, Any]:
        """All counts and shares; `interval` is Wilson's 95% for the accuracy."""
        return {
            "name": self.name,
            "correct": self.correct,
            "answered": self.answered,
            "asked": self.asked,
            "accuracy": self.accuracy,
            "accuracy_of_all": self.correct / self.asked if self.asked else None,
            "coverage": self.answered / self.asked if self.asked else None,
            "interval": wilson(self.correct, self.answered) if self.answered else None,
        }


@dataclass(frozen=True)
class AnalogyReport:
    """Scores by section, and the protocol that they were obtained with, so that they can be compared with others'."""

    path: str
    restrict_vocab: int | None
    case_insensitive: bool
    sections: tuple[AnalogyScore, ...]

    @property
    def total(self) -> AnalogyScore:
        """All sections together."""
        return self._sum("total", self.sections)

    @property
    def syntactic(self) -> AnalogyScore:
        """The sections whose name begins with "gram"."""
        return self._sum("syntactic", [s for s in self.sections if s.name.startswith("gram")])

    @property
    def semantic(self) -> AnalogyScore:
        """The other sections."""
        return self._sum("semantic", [s for s in self.sections if not s.name.startswith("gram")])

    @staticmethod
    def _sum(name: str, parts: Sequence[AnalogyScore]) -> AnalogyScore:
        return AnalogyScore(
            name, sum(p.correct for p in parts), sum(p.answered for p in parts), sum(p.asked for p in parts)
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole report in plain types."""
        return {
            "task": "analogies",
            "file": self.path,
            "restrict_vocab": self.restrict_vocab,
            "case_insensitive": self.case_insensitive,
            "total": self.total.to_dict(),
            "semantic": self.semantic.to_dict(),
            "syntactic": self.syntactic.to_dict(),
            "sections": [section.to_dict() for section in self.sections],
        }


@dataclass(frozen=True)
class SimilarityReport:
    """Correlations of cosine similarity with human judgement over the `answered` of `asked` pairs."""

    path: str
    restrict_vocab: int | None
    case_insensitive: bool
    spearman: float
    pearson: float
    answered: int
    asked: int

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of Spearman's correlation."""
        return fisher(self.spearman, self.answered)

    def to_dict(self) -> dict[str, Any]:
        """The whole report in plain types."""
        return {
            "task": "similarity",
            "file": self.path,
            "restrict_vocab": self.restrict_vocab,
            "case_insensitive": self.case_insensitive,
            "spearman": self.spearman,
            "pearson": self.pearson,
            "answered": self.answered,
            "asked": self.asked,
            "coverage": self.answered / self.asked,
            "interval": self.interval,
        }


def wilson(correct: int, n: int) -> tuple[float, float]:
    """Wilson's 95% interval for a share of `correct` in n > 0 (Wilson 1927): honest for few and for extreme shares."""
    # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    p, square = correct / n, Z95 * Z95 / n
    half = Z95 * math.sqrt(p * (1 - p) / n + square / (4 * n))
    return max(0.0, (p + square / 2 - half) / (1 + square)), min(1.0, (p + square / 2 + half) / (1 + square))


def fisher(r: float, n: int) -> tuple[float, float]:
    """95% interval for Spearman's r over n pairs; (-1, 1) for n < 4: Fisher's z, Bonett and Wright's (2000) error."""
    if n < 4:
        return -1.0, 1.0
    z = math.atanh(max(-1 + 1e-15, min(1 - 1e-15, r)))
    half = Z95 * math.sqrt((1 + r * r / 2) / (n - 3))
    return math.tanh(z - half), math.tanh(z + half)
