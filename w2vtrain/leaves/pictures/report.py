"""Write a report on vectors as one web page: what was trained, how, how well, and what the vectors say.

subject.py gathers what is known; the template report.html says in one line what is not. Equal input gives an equal
page.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.embeddings.bundled import EvaluationSet, Kind, bundled_sets
from w2vtrain.embeddings.evaluation_table import Row, evaluate_all
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.neighbors import Answers
from w2vtrain.formats.vectors import Vectors
from w2vtrain.leaves.pictures import word_map
from w2vtrain.leaves.pictures.counts import counts_figure
from w2vtrain.leaves.pictures.curves import curves_figure
from w2vtrain.leaves.pictures.figures import svg_image
from w2vtrain.leaves.pictures.page import page
from w2vtrain.leaves.pictures.subject import Subject, numbers

NEAREST, EXAMPLES = 8, 10
"""Neighbors per word, and words whose neighbors are shown by default."""
MIN_WORDS = 3
"""Fewest words of a map and of a picture of counts."""
MIN_ANSWERED, MIN_COVERAGE = 50, 0.5
"""Answered questions or pairs below which a score says nothing, and coverage below which it is not comparable."""


def report(
    subject: Subject, words: Sequence[str] = (), questions: Sequence[str] = (), pairs: Sequence[str] = (),
    map_words: int = word_map.MAP_WORDS,
) -> str:  # fmt: skip
    """Return the page. words: whose neighbors to show, by default some frequent words; map_words: number on the map.

    questions, pairs: files to evaluate beside the bundled sets. Raise InputMissing if one cannot be opened, and
    DataError, naming the line, if one is malformed.
    """
    vectors = subject.vectors
    facts: dict[str, Any] = {"scores": scores_of(vectors, questions, pairs), "neighbors": neighbors_of(vectors, words)}
    if len(vectors.words) >= MIN_WORDS:
        found = word_map.make_map(vectors.words, vectors.matrix, count=map_words)
        facts["map"] = word_map.map_facts(found)
    if vectors.counts is not None and len(vectors.counts) >= MIN_WORDS:
        sample = subject.settings.get("sample")
        falling = np.sort(np.maximum(vectors.counts, 1))[::-1]  # --min-count has cut them already
        figure = counts_figure(falling, 1, sample if isinstance(sample, float) else 0.0, "Counts of words by rank")
        facts["counts"] = svg_image(figure)
    if subject.run:
        facts["curves"] = svg_image(curves_figure([subject.run], ""))
    warnings = subject.entries("warnings", str)
    size = numbers(subject.table("vocabulary")).get("size")
    if size and size != len(vectors.words):
        warnings.append(
            f"The record is of {size:,} words, and the file has {len(vectors.words):,}: it may describe other vectors."
        )
    name = Path(subject.path).name or subject.path
    script = word_map.SCRIPT if "map" in facts else ""
    return page(
        "report.html", script, title=f"{name}: report", name=name, subject=subject, warnings=dict.fromkeys(warnings),
        numbers=numbers, remark_on=remark_on, **facts,
    )  # fmt: skip


def neighbors_of(vectors: Vectors, words: Sequence[str] = ()) -> list[tuple[str, Answers | None]]:
    """Return the NEAREST neighbors of each word, also of unknown ones if the vectors have n-grams; otherwise None.

    Without words, take EXAMPLES of those on the map.
    """
    keyed = KeyedVectors.of(vectors.words, vectors.matrix, vectors.counts, vectors.ngrams)
    if not words:
        places, _ = word_map.content_words(vectors.words, word_map.MAP_WORDS)
        words = [vectors.words[place] for place in places[:: max(1, len(places) // EXAMPLES)][:EXAMPLES]]
    known = [word in keyed or keyed.ngrams is not None for word in words]
    return [
        (word, keyed.most_similar(word, topn=NEAREST) if is_known else None)
        for word, is_known in zip(words, known, strict=True)
    ]


def scores_of(vectors: Vectors, questions: Sequence[str] = (), pairs: Sequence[str] = ()) -> list[Row]:
    """Return the scores on all bundled sets, and on these files of analogy questions and of word pairs.

    They are those of `eval`, with the same defaults.
    """
    given: list[tuple[Kind, str]] = [("analogies", path) for path in questions]
    given += [("similarity", path) for path in pairs]
    files = [EvaluationSet(Path(path).name, kind, Path(path)) for kind, path in given]
    return evaluate_all(vectors, [*bundled_sets(), *files])


def remark_on(score: Row) -> str:
    """Return why there is no score, or what a small coverage means for it."""
    answered, asked = score.answered, score.asked
    if score.note or asked is None:
        return score.note or ""
    if answered < MIN_ANSWERED:
        return f"too few to mean anything: {answered:,} of {asked:,}"
    if answered < MIN_COVERAGE * asked:
        return f"only {answered / asked:.0%} covered: not comparable with scores on the whole set"
    return ""
