"""Write a report on a run or on vectors as one web page: what was trained, how, how well, and what the vectors say.

subject.py gathers the facts, scores.py the scores, run_sections.py writes about the run, and word_map.py draws.
Each section says in one line what it lacks. Equal input gives an equal page.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.neighbors import Answers, close_words
from w2vtrain.formats.vectors import Vectors
from w2vtrain.pictures import curves, run_sections, word_map
from w2vtrain.pictures.counts import counts_svg
from w2vtrain.pictures.page import escaped, lacks, page, pairs, table, word_html
from w2vtrain.pictures.scores import Score
from w2vtrain.pictures.subject import Subject

NEAREST, SPREAD, FREQUENT = 8, 10, 24
"""Neighbors per word, words whose neighbors are shown by default, and most frequent words that are listed."""
FIRST_RANK, LAST_RANK = word_map.SKIPPED, 5_000
"""Ranks between which the words are that are shown by default: not the words that are in every sentence."""
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


class Neighbors(NamedTuple):
    """A word and its nearest words; for an unknown word, those that are spelled like it in their place."""

    word: str
    answers: Answers
    similar: list[str] = []  # noqa: RUF012


def report(subject: Subject, scores: Sequence[Score], neighbors: Sequence[Neighbors], map_words: int = 300) -> str:
    """Return the page. map_words: the number of words on the map."""
    vectors, missing = subject.vectors, lacks(f"There are no vectors to look at. {subject.missing}".strip())
    sections = [
        ("Warnings", _warnings(subject)),
        ("Curves", run_sections.curves_of_training(subject)),
        ("Scores", _scores(scores) if vectors else missing),
        ("Neighbors", _neighbors(vectors, neighbors) if vectors else missing),
        ("Map", _map(vectors, map_words) if vectors else missing),
        ("Vocabulary", _vocabulary(subject)),
        ("Settings", run_sections.settings(subject)),
        ("Time and memory", run_sections.time_and_memory(subject)),
        ("Machine and versions", run_sections.machine(subject)),
        ("Reproduce", run_sections.reproduce(subject)),
    ]
    shown = [(title, title.lower().replace(" ", "-"), body) for title, body in sections if body]
    links = " ".join(f'<a href="#{anchor}">{title}</a>' for title, anchor, _ in shown)
    bodies = "\n".join(
        f'<section id="{anchor}">\n<h2>{title}</h2>\n{body}\n</section>' for title, anchor, body in shown
    )
    name = Path(subject.path).name or subject.path
    body = f'{_header(subject, name)}\n<nav aria-label="Sections">{links}</nav>\n<main>\n{bodies}\n</main>'
    style = f"{word_map.STYLE}\n{curves.STYLE}\n{STYLE}"
    return page(f"{name}: report", body, style, word_map.SCRIPT if vectors else "")


def spread_words(words: Sequence[str]) -> list[str]:
    """Return SPREAD frequent words at ranks that grow by a constant factor, words of letters where there are some."""
    last = min(len(words), LAST_RANK)
    first = min(FIRST_RANK, max(1, last // SPREAD))
    ranks = [round(first * (last / first) ** (i / SPREAD)) for i in range(SPREAD)]
    chosen: dict[str, None] = {}
    for rank in ranks:
        near = [word for word in words[rank - 1 : rank + 20] if word not in chosen]
        near.sort(key=lambda word: (not word.isalpha(), len(word) < 3))
        chosen.update(dict.fromkeys(near[:1]))
    return list(chosen)


def neighbors_of(keyed: KeyedVectors, words: Iterable[str]) -> list[Neighbors]:
    """Return the NEAREST neighbors of each word, also of unknown ones if the vectors have n-grams."""
    neighbors = []
    for word in words:
        if word in keyed or keyed.ngrams is not None:
            neighbors.append(Neighbors(word, keyed.most_similar(word, topn=NEAREST)))
        else:
            neighbors.append(Neighbors(word, [], close_words(keyed.index_to_key, word)))
    return neighbors


def _header(subject: Subject, name: str) -> str:
    settings, vectors = subject.settings, subject.vectors
    method = " with ".join(escaped(settings[key]) for key in ("architecture", "objective") if settings.get(key))
    subwords = " and subwords" if settings.get("subwords") is True else ""
    tokens, files = (subject.fact("corpus", name, of=int) for name in ("tokens", "files"))
    where = f" in {files:,} file{'s' * (files != 1)}" if files else ""
    corpus = f", trained on {tokens:,} words{where}" if tokens else ""
    line = f'<p class="trained">{method[:1].upper()}{method[1:]}{subwords}{corpus}.</p>' if method else ""
    words, dim = vectors.matrix.shape if vectors else (None, settings.get("vector_size"))
    tiles = [
        ("words", f"{words:,}" if words else None),
        ("dimensions", f"{dim:,}" if isinstance(dim, int) else None),
        ("epochs", f"{len(subject.epochs()):,}" if subject.epochs() else None),
        ("words/s", f"{speed:,.0f}" if (speed := subject.fact("words_per_second")) else None),
    ]
    return (
        f'<header>\n<p class="eyebrow">w2vtrain report · {escaped(subject.kind)}</p>\n<h1>{escaped(name)}</h1>\n{line}'
        f'<p class="verdict">{escaped(run_sections.verdict(subject))}</p>\n{pairs(tiles, "tiles")}\n</header>'
    )


def _warnings(subject: Subject) -> str:
    warnings = [text for text in subject.fact("warnings", of=list) or [] if isinstance(text, str)]
    size, vectors = subject.fact("vocabulary", "size", of=int), subject.vectors
    warnings += [str(event.get("message")) for event in subject.log if event["event"] == "warning" and not warnings]
    if size and vectors and size != len(vectors.words):
        warnings.append(
            f"The record is of {size:,} words, and the file has {len(vectors.words):,}: it may describe other vectors."
        )
    items = "".join(f"<li>{escaped(text)}</li>" for text in dict.fromkeys(warnings))
    return f'<ul class="warnings">{items}</ul>' if items else ""


def _scores(scores: Sequence[Score]) -> str:
    rows = []
    for score in scores:
        form = ("{:.1%}" if score.measure == "accuracy" else "{:.3f}").format
        value = "–" if score.value is None else form(score.value)
        interval = " to ".join(map(form, score.interval)) if score.interval else "–"
        name = f'<span class="part">{escaped(score.name)}</span>' if score.is_part else escaped(Path(score.name).name)
        remark = f'<div class="remark">{escaped(score.remark)}</div>' if score.remark else ""
        covered = f"{score.answered:,} of {score.asked:,}"
        title = f'{name} <span class="muted">{score.measure}</span>{remark}'
        rows.append([title, value, interval, _bar(score), covered])
    note = (
        '<p class="muted">Analogies are answered among the 30,000 most frequent words, and upper case is ignored, as'
        " <code>w2vtrain eval</code> does. An interval says how far the score would vary with other questions or pairs"
        " of the same kind; it says nothing about another run.</p>"
    )
    head = ["evaluation set", "score", "95% interval", "from 0 to 1", "covered"]
    return f'<div class="scores">{table(head, rows, right=(1, 2, 4))}</div>{note}'


def _bar(score: Score) -> str:
    """Return a picture of a score and its interval on a line from 0 to 1; what is below 0 is cut."""
    if score.value is None or score.interval is None:
        return ""
    value, low, high = (4 + 112 * min(1.0, max(0.0, x)) for x in (score.value, *score.interval))
    return (
        '<svg class="bar" viewBox="0 0 120 16" width="120" height="16" aria-hidden="true">'
        '<line x1="4" x2="116" y1="8" y2="8" class="whole"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="8" y2="8" class="range"/>'
        f'<circle cx="{value:.1f}" cy="8" r="4"/></svg>'
    )


def _neighbors(vectors: Vectors, neighbors: Sequence[Neighbors]) -> str:
    items = []
    for word, answers, similar in neighbors:
        near = "".join(f"<li>{word_html(other)} <span>{cosine:.2f}</span></li>" for other, cosine in answers)
        if not near:
            hint = f" Similar words: {', '.join(map(escaped, similar))}." if similar else ""
            known = word in vectors.words
            near = f'<li class="lacks">{"A zero vector." if known else "Not in the vocabulary." + hint}</li>'
        items.append(f"<div><h3>{word_html(word)}</h3><ol>{near}</ol></div>")
    note = '<p class="muted">The nearest words by cosine, among all words of the vocabulary.</p>'
    return f'{note}<div class="neighbors">{"".join(items)}</div>'


def _map(vectors: Vectors, count: int) -> str:
    if len(vectors.words) < 3:
        return lacks("There are too few words for a map.")
    return word_map.fragment(word_map.make_map(vectors.words, vectors.matrix, count=count))


def _vocabulary(subject: Subject) -> str:
    vectors = subject.vectors
    tokens, types = subject.fact("corpus", "tokens", of=int), subject.fact("corpus", "types", of=int)
    covered = subject.fact("vocabulary", "words", of=int)
    size = len(vectors.words) if vectors else subject.fact("vocabulary", "size", of=int)
    rows = [
        ("words", f"{size:,}" if size else None),
        ("distinct words in the corpus", f"{types:,}" if types else None),
        ("words of the corpus, with repetitions", f"{tokens:,}" if tokens else None),
        ("share of the corpus that the vocabulary covers", f"{covered / tokens:.1%}" if tokens and covered else None),
    ]
    parts = [pairs(rows)]
    if not tokens:
        parts.append(lacks("How much of the corpus the vocabulary covers is not recorded."))
    if vectors and vectors.counts is not None:
        total = max(1, int(vectors.counts.sum()))
        first = islice(zip(vectors.words, vectors.counts.tolist(), strict=True), FREQUENT)
        body = [[word_html(word), f"{count:,}", f"{count / total:.2%}"] for word, count in first]
        columns = filter(None, (body[: FREQUENT // 2], body[FREQUENT // 2 :]))
        halves = [table(["word", "count", "share"], half, right=(1, 2)) for half in columns]
        parts.append(_counts(vectors.counts, subject.settings.get("sample")))
        parts.append(f'<h3>Most frequent words</h3><div class="halves">{"".join(halves)}</div>')
    elif vectors:
        first_words = ", ".join(map(word_html, vectors.words[:FREQUENT]))
        parts.append(f"<h3>First words of the file</h3><p>{first_words}</p>")
        parts.append(lacks("The file has no counts of words; a model has them."))
    return "".join(parts)


def _counts(counts: NDArray[np.int64], sample: object) -> str:
    """Return the picture of the counts of a vocabulary, which --min-count has cut already."""
    if len(counts) < 3:
        return ""
    falling = np.sort(np.maximum(counts, 1))[::-1]
    return f"<h3>Counts</h3><figure>{counts_svg(falling, 1, sample if isinstance(sample, float) else 0.0)}</figure>"
