"""Write a report on vectors as one web page: what was trained, how, how well, and what the vectors say.

`subject_of` gathers what is known: it may come from any file. The template report.html says in one line what is not.
Equal input gives an equal page.
"""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import FIELDS
from w2vtrain.embeddings.bundled import EvaluationSet, Kind, bundled_sets
from w2vtrain.embeddings.evaluation_table import Row, evaluate_all
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.neighbors import Answers
from w2vtrain.errors import DataError, InputMissing, MissingKey
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.leaves.pictures import word_map
from w2vtrain.leaves.pictures.counts import counts_figure
from w2vtrain.leaves.pictures.curves import curves_figure
from w2vtrain.leaves.pictures.figures import svg_image
from w2vtrain.leaves.pictures.page import page
from w2vtrain.leaves.pictures.run_logs import RunLog, read_run
from w2vtrain.training.run_status import describe_record

logger = logging.getLogger(__name__)
NEAREST, EXAMPLES = 8, 10
"""Neighbors per word, and words whose neighbors are shown by default."""
MIN_WORDS = 3
"""Fewest words of a map and of a picture of counts."""
MIN_ANSWERED, MIN_COVERAGE = 50, 0.5
"""Answered questions or pairs below which a score says nothing, and coverage below which it is not comparable."""


@dataclass(frozen=True)
class Subject:
    """What a report is about.

    path: as the user gave it; kind: of the file, for people; settings, record: of the run, empty if unknown; command:
    the `fit` command that repeats the run, or ""; run: its curves, if they are known.
    """

    path: str
    kind: str
    vectors: Vectors
    settings: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    run: RunLog | None = None

    def table(self, name: str) -> dict[str, Any]:
        """Return a table of the record; an empty one if it is not there or of another type."""
        value = self.record.get(name)
        return value if isinstance(value, dict) else {}

    def entries(self, name: str, kind: type) -> list[Any]:
        """Return the entries of a list of the record that have this type."""
        value = self.record.get(name)
        return [entry for entry in value if isinstance(entry, kind)] if isinstance(value, list) else []

    def chosen(self) -> list[tuple[str, str, str]]:
        """Return name, value and origin of each setting that is not a default, sorted by origin."""
        origins = self.table("origins")
        options, of_options = self.settings.get("options"), origins.get("options")
        rows = [(name, value, origins.get(name)) for name, value in self.settings.items() if name != "options"]
        rows = [row for row in rows if row[2] or not _is_default(*row[:2])]
        if isinstance(options, dict):
            known = of_options if isinstance(of_options, dict) else {}
            rows += [(f"{name} (option)", value, known.get(name)) for name, value in options.items()]
        rows.sort(key=lambda row: row[2] == "chosen automatically")
        return [
            (name, json.dumps(value, ensure_ascii=False), str(origin or "not recorded"))
            for name, value, origin in rows
            if origin != "default"
        ]


def numbers(table: Mapping[str, Any]) -> dict[str, float]:
    """Return the positive numbers of a table of the record."""
    known = ((name, value) for name, value in table.items() if type(value) in (int, float))
    return {name: value for name, value in known if math.isfinite(value) and value > 0}


def _is_default(name: str, value: Any) -> bool:
    return value is None or (name in FIELDS and bool(FIELDS[name].default == value))


def subject_of(path: str, log: str | None = None) -> Subject:
    """Return what is known about a record, a model, or a file of vectors.

    log: the file of --log-json, if there is one. Raise InputMissing or DataError if a file cannot be used.
    """
    record = _record_in(path)
    file = record["vectors"] if record else path
    if record and not Path(file).exists():
        raise InputMissing(f"{file} does not exist: {path} is the record beside these vectors")
    facts, vectors = describe(file), read_vectors(file)
    if record is None and Path(f"{file}.json").is_file():
        record = _record_in(f"{file}.json")
        if record is None:
            logger.warning("%s.json is damaged or not the record of a run, so the report says nothing of it", file)
    source = record or facts
    kind = f"{facts['kind']}, with the record of its run" if record else str(facts["kind"])
    return Subject(
        path, kind, vectors, source.get("settings", {}), source.get("record", {}), command=source.get("repeat", ""),
        run=_curves(log, source["path"]),
    )  # fmt: skip


def _record_in(path: str) -> dict[str, Any] | None:
    """Return the description of the record beside vectors; None for any other file."""
    found = describe_record(path)
    return found if found and "vectors" in found else None


def _curves(log: str | None, path: str) -> RunLog | None:
    """Return the curves of a log, which must be one, or else of any other file that has some."""
    if log:
        return read_run(log)
    with suppress(DataError):
        return read_run(path)
    return None


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
    kept = numbers(subject.table("init_from")).get("kept_words", 0)  # by --grow-vocabulary, beside those of the text
    has_documents = "--documents" in subject.command.split()  # the record counts words, and the file has documents
    if size and size + kept != len(vectors.words) and not has_documents:
        warnings.append(
            f"The record is of {size + kept:,} words, and the file has {len(vectors.words):,}: it may describe other"
            " vectors."
        )
    name = Path(subject.path).name or subject.path
    script = word_map.SCRIPT if "map" in facts else ""
    return page(
        "report.html", script, title=f"{name}: report", name=name, subject=subject, warnings=dict.fromkeys(warnings),
        numbers=numbers, remark_on=remark_on, **facts,
    )  # fmt: skip


def neighbors_of(vectors: Vectors, words: Sequence[str] = ()) -> list[tuple[str, Answers | None]]:
    """Return the NEAREST neighbors of each word: none for a zero vector, and None for a word that has no vector.

    Without words, take EXAMPLES of those on the map.
    """
    keyed = KeyedVectors.of(vectors.words, vectors.matrix, vectors.counts, vectors.ngrams)
    if not words:
        places, _ = word_map.content_words(vectors.words, word_map.MAP_WORDS)
        words = [vectors.words[place] for place in places[:: max(1, len(places) // EXAMPLES)][:EXAMPLES]]
    found: list[tuple[str, Answers | None]] = []
    for word in words:
        try:
            near = keyed.most_similar(word, topn=NEAREST)
            found.append((word, [pair for pair in near if not math.isnan(pair[1])]))
        except MissingKey:
            found.append((word, None))
    return found


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
