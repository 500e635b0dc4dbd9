"""The phrases that were found in a corpus, and the file that stores them.

Nothing here reads a corpus: phrase_finding.py finds phrases, and phrase_joining.py joins them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from w2vtrain.errors import ConfigError, DataError, TokenError, shown
from w2vtrain.parsers import Choice, Real, Text, Whole
from w2vtrain.system.compression import packed_write
from w2vtrain.system.json_text import json_digest, json_object, json_text, typed
from w2vtrain.system.reading import read_lines

MAGIC = "# w2vtrain phrases "
"""The beginning of the first line of a file; a JSON object of the settings follows."""
COLUMNS = "pass\tphrase\tcount\tscore"
"""The second line."""
MAX_LINE_BYTES = 1 << 24
"""Longest line of a file."""
MAX_PASSES = 20
SCORINGS = {"original": 10.0, "npmi": 0.5}
"""The scores, and the default threshold of each."""
CONNECTOR_WORDS = ("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with", "without")
"""English words that a phrase may contain but not begin or end with: gensim's ENGLISH_CONNECTOR_WORDS."""


@dataclass(frozen=True)
class Scoring:
    """How phrases are found.

    scoring: "original" (Mikolov et al. 2013, "Distributed representations of words and phrases and their
    compositionality") or "npmi" (Bouma 2009, "Normalized (pointwise) mutual information in collocation extraction");
    threshold: a phrase's score must be higher, by default 10 for "original" and 0.5 for "npmi"; min_count: of a phrase
    and of its words; delimiter: between the words of a joined phrase; passes: each pass joins what the former joined;
    connector_words: words that a phrase may contain but not begin or end with.

    Raise ConfigError for a value out of range.
    """

    scoring: str = "original"
    threshold: float | None = None
    min_count: int = 5
    delimiter: str = "_"
    passes: int = 1
    connector_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parsers = {
            "scoring": Choice(tuple(SCORINGS)),
            "threshold": Real(-1.0, 1.0) if self.scoring == "npmi" else Real(0.0, 1e300),
            "min_count": Whole(1, 10**12),
            "delimiter": Text(),
            "passes": Whole(1, MAX_PASSES),
        }
        for name, parser in parsers.items():
            value = getattr(self, name)
            if name == "threshold" and value is None:
                value = SCORINGS[self.scoring]
            try:
                object.__setattr__(self, name, parser.parse(value))
            except ValueError as error:
                raise ConfigError(f"{name}: {error}, got {shown(value)}") from None
        if self.delimiter.split() != [self.delimiter]:
            raise ConfigError(f"delimiter: expected characters without white space, got {self.delimiter!r}")
        words = self.connector_words
        listed = [None] if isinstance(words, str) or not isinstance(words, Iterable) else list(words)
        if not all(isinstance(word, str) for word in listed):
            raise ConfigError(f"connector_words: expected a list of words, such as CONNECTOR_WORDS, got {shown(words)}")
        object.__setattr__(self, "connector_words", tuple(sorted(set(listed))))

    def score(self, first: int, second: int, both: int, types: int, total: int) -> float:
        """Return the score of a phrase.

        both: its count, at least min_count; first, second: those of its first and last word; types: the number of
        distinct words and candidates; total: the number of words of the corpus.
        """
        if self.scoring == "npmi":
            p = both / total
            return math.log(p / ((first / total) * (second / total))) / -math.log(p)
        return (both - self.min_count) / float(first * second) * types


class Phrase(NamedTuple):
    """A phrase: its words, with the connector words between them; how often it occurs; and its score."""

    words: tuple[str, ...]
    times: int
    score: float


@dataclass(frozen=True)
class PhraseTable:
    """Phrases, by pass, and how they were found.

    passes: for each pass its phrases, whose words may be phrases of the passes before, joined by the delimiter; name:
    where the table was read from, or an empty string.

    Examples
    --------
    >>> import w2vtrain
    >>> table = w2vtrain.find_phrases([["new", "york"]] * 9 + [["a", "b"]] * 9, threshold=0.1)
    >>> table.join(["to", "new", "york"])
    ['to', 'new_york']

    """

    scoring: Scoring
    passes: tuple[tuple[Phrase, ...], ...]
    name: str = ""

    def __repr__(self) -> str:
        return f"PhraseTable({len(self):,} phrases, {self.scoring.scoring} scores above {self.scoring.threshold:g})"

    def __len__(self) -> int:
        return sum(map(len, self.passes))

    def __iter__(self) -> Iterator[Phrase]:
        return (phrase for phrases in self.passes for phrase in phrases)

    def joined(self, phrase: Phrase) -> str:
        """Return the word that a phrase is joined to."""
        return self.scoring.delimiter.join(phrase.words)

    def join(self, sentence: Sequence[str]) -> list[str]:
        """Return a sentence with all phrases joined, greedily from left to right, pass by pass.

        Raise TokenError for a string, whose letters are no words, and for a list of sentences.
        """
        if isinstance(sentence, str):
            raise TokenError(f"expected a list of words, not the string {shown(sentence)}: pass its split()")
        words = list(sentence)
        if others := [word for word in words if not isinstance(word, str)]:
            raise TokenError(f"expected the words of one sentence, each a str; got {shown(others[0])}")
        for known in self._known:
            words = list(self._once(words, known))
        return words

    @cached_property
    def _known(self) -> list[set[tuple[str, ...]]]:
        return [{phrase.words for phrase in phrases} for phrases in self.passes]

    def _once(self, sentence: list[str], known: set[tuple[str, ...]]) -> Iterator[str]:
        open_words: list[str] = []
        for word in sentence:
            if word in self.scoring.connector_words:
                if open_words:
                    open_words.append(word)
                else:
                    yield word
            elif (*open_words, word) in known:
                yield self.scoring.delimiter.join([*open_words, word])
                open_words = []
            else:
                yield from open_words
                open_words = [word]
        yield from open_words

    @property
    def digest(self) -> str:
        """A digest of everything that joining depends on."""
        words = [[phrase.words for phrase in phrases] for phrases in self.passes]
        return json_digest([self.scoring.delimiter, self.scoring.connector_words, words])

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write a line of settings, a line of column names, and a line of tab-separated values for each phrase.

        path: `-` is standard output, and a suffix such as .gz compresses; force: overwrite an existing file. Raise
        DataError for an empty word or white space in one, which the file cannot store, OutputError if the file exists
        (unless `force`) or cannot be created, and WriteError if writing fails.
        """
        lines = [f"{MAGIC}{json_text(asdict(self.scoring))}\n", f"{COLUMNS}\n"]
        for number, phrases in enumerate(self.passes, 1):
            for phrase in phrases:
                text = " ".join(phrase.words)
                is_split = tuple(text.split(" ")) != phrase.words or any(mark in text for mark in "\t\n\r\v\f\0")
                if is_split or not all(phrase.words):
                    raise DataError(f"{path}: the phrase {phrase.words!r} has an empty word, or white space in one")
                lines.append(f"{number}\t{text}\t{phrase.times}\t{phrase.score!r}\n")
        try:
            data = "".join(lines).encode()
        except UnicodeEncodeError as error:
            raise DataError(f"{path}: a phrase cannot be written as UTF-8: {error.reason}") from None
        with packed_write(path, force) as file:
            file.write(data)

    @classmethod
    def load(cls, path: str | Path) -> "PhraseTable":
        """Read a file that `save` wrote, plain or compressed.

        Raise InputMissing if it cannot be read, and DataError with file and line for anything that `save` does not
        write, such as phrases that begin with a connector word. Of a phrase that occurs twice, the last one counts. A
        last line without a newline is read with a warning, since the file may be cut off.
        """
        lines = read_lines(path, MAX_LINE_BYTES, number_ends=True)
        scoring = _settings(next(lines, (1, b""))[1], f"{path}:1")
        if next(lines, (2, b""))[1].rstrip(b"\r\n") != COLUMNS.encode():
            raise DataError(f"{path}:2: expected the names of the columns, {COLUMNS!r}")
        passes: list[dict[tuple[str, ...], Phrase]] = [{} for _ in range(scoring.passes)]
        for line, data in (row for row in lines if row[1].strip()):
            number, phrase = _row(data, scoring, f"{path}:{line}")
            passes[number - 1][phrase.words] = phrase
        return cls(scoring, tuple(tuple(phrases.values()) for phrases in passes), str(path))


def _settings(line: bytes, where: str) -> Scoring:
    if not line.startswith(MAGIC.encode()):
        raise DataError(
            f"{where}: not a table of phrases, which begins with {MAGIC.strip()!r}: `w2vtrain phrases` writes one"
        )
    values = json_object(line.removeprefix(MAGIC.encode()), f"{where}: the settings are")
    try:
        return typed(values, Scoring, where)
    except ConfigError as error:
        raise DataError(f"{where}: {error}") from None


def _row(line: bytes, scoring: Scoring, where: str) -> tuple[int, Phrase]:
    """Return the pass and the phrase of a line."""
    try:
        fields = line.decode().rstrip("\r\n").split("\t")
        if len(fields) != 4:
            raise ValueError(f"got {len(fields)}")
        number, text, count, score = fields
        place, phrase = int(number), Phrase(tuple(text.split(" ")), int(count), float(score))
    except ValueError as error:
        raise DataError(f"{where}: expected 4 columns separated by tabs, {COLUMNS!r}: {error}") from None
    if not 1 <= place <= scoring.passes:
        raise DataError(f"{where}: expected a pass from 1 to {scoring.passes}, got {place}")
    if len(phrase.words) < 2 or b" ".join(text.encode().split()) != text.encode():
        raise DataError(f"{where}: expected two or more words, separated by single spaces, got {text[:80]!r}")
    connectors = set(scoring.connector_words)
    if connectors.intersection((phrase.words[0], phrase.words[-1])) or set(phrase.words[1:-1]) - connectors:
        raise DataError(
            f"{where}: {text[:80]!r}: connector words are between the first and the last word, and no others are"
        )
    return place, phrase
