"""Warn about a corpus that does not look like text divided into words, and about subsampling that drops too much.

For raw text, also suggest the tokenizer that removes punctuation.

Nothing here prints: the caller passes the beginning of the text or the counts, and shows the warnings.
"""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import orjson

from w2vtrain.errors import W2VError, spelled
from w2vtrain.formats.sniff import SNIFFED_BYTES, VOCABULARY_LINE, read_head, sniff_head
from w2vtrain.formats.vector_formats.word2vec import numbers_at_end, row_values
from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.segmentation import unsegmented
from w2vtrain.text.source import File, Source
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Int64

EXAMINED_FILES = 1000  # files whose beginnings are examined for vectors and vocabularies
EXAMINED_LINES = 1000  # lines at the beginning of a file that are examined
SAME_FORMAT_SHARE = 0.9  # share of these lines that must have the same format
MIN_TABLE_LINES = 20  # a table has at least this many lines
MIN_VOCABULARY_LINES = 5  # a vocabulary file has at least this many lines
EXAMINED_ROWS = 20  # rows examined to distinguish vectors from sentences of numbers
PUNCTUATED_SHARE = 0.03  # share of the words that end in punctuation: 8% in data/simplewiki.txt, which is raw text
EXAMINED_WORDS = 50_000  # words whose ends are examined, the most frequent ones
MARKS = frozenset(".,;:!?)]}\"'”’»…،؛؟।")
READ_TOKENS = 1 << 20  # tokens examined at once
KEPT_SHARE = 0.9  # no warning if subsampling keeps at least this share of the words

LABEL = b"__label__"
SEPARATORS = {b",": "commas", b";": "semicolons", b"\t": "tabs", b"|": "pipes"}
MARKUP = re.compile(rb"\s*<(\?xml|!doctype|html|mediawiki)\b", re.IGNORECASE)
_OBJECTS = re.compile(rb'\s*\[\s*\{\s*"')
# Possessive quantifiers keep the time linear for text with any number of quotation marks.
_QUOTED = re.compile(rb'(?<![^,;\t|\n])"[^"]*+(?:""[^"]*+)*+"(?=[,;\t|\r\n]|\Z)')


def warnings_of(ids: EncodedCorpus, corpus: Source, thinning: "Thinning", raw: bool) -> list[str]:
    """Return all warnings about a corpus that was read. raw: whether it may be raw text."""
    hint = punctuated(ids.vocabulary.words, ids.vocabulary.counts) if raw and ids.sample else None
    return [
        *suspicions(ids.sample, corpus.name),
        *results_among(corpus.files[1:EXAMINED_FILES] if type(corpus) is Corpus else ()),
        *filter(None, (thinning.warning, ids.stats.undecoded(), hint, wordless(ids))),
    ]


def suspicions(sample: bytes, name: str = "the corpus") -> list[str]:
    """Return warnings about a corpus, one sentence each, that say what the text looks like and what to do.

    sample: the beginning of the text before tokenization, in UTF-8 that may be cut anywhere or contain invalid bytes;
    name: the name of the corpus in the warnings. This never fails, and takes time linear in the sample's size.
    """
    lines = _lines(sample)
    form = _markup(sample) or _json(sample, lines) or _labeled(lines)
    form = form or _numbers(sample, lines) or _table(sample, lines)
    return [f"{name} looks like {description}" for description in filter(None, [form, *unsegmented(sample)])]


def results_among(files: Sequence[File]) -> list[str]:
    """Return a warning for each file that has vectors or a vocabulary, as results that match the pattern of a text."""
    found = []
    for file in files:
        with suppress(W2VError):
            head = read_head(file.path)[0] if file.size else b""
            if said := _numbers(head, _lines(head)):
                found.append(f"{file.name} looks like {said}")
    return found


def _lines(sample: bytes) -> list[bytes]:
    """Return the first lines of a text that are not blank, without the last, which may be cut."""
    return [line for line in sample.split(b"\n", EXAMINED_LINES)[:-1] if line.strip()]


def _markup(sample: bytes) -> str | None:
    """Describe a page of HTML or a dump of MediaWiki; return None for other text."""
    return "HTML or XML, not text: extract its text first, without tags" if MARKUP.match(sample) else None


def _json(sample: bytes, lines: list[bytes]) -> str | None:
    """Describe text whose lines are JSON objects or arrays, or that is an array of objects; else return None."""
    if _OBJECTS.match(sample):
        return (
            "a JSON array, not text: write one record per line, for example with jq -c '.[]', and name the field with"
            f" the text with {spelled('column')}"
        )
    records = sum(map(_is_record, lines))
    if records < max(1, SAME_FORMAT_SHARE * len(lines)):
        return None
    if lines[0].lstrip().startswith(b"["):
        return "JSON arrays, not text: make text of them, for example with jq -r 'join(\" \")'"
    return f"JSON lines, not text: name the field with the text with {spelled('column')}"


def _labeled(lines: list[bytes]) -> str | None:
    """Describe the labeled text of fastText's classification, whose labels would be words; else return None."""
    if sum(line.startswith(LABEL) for line in lines) < max(1, SAME_FORMAT_SHARE * len(lines)):
        return None
    return "labeled text, whose labels become words: leave them out, for example with sed -E 's/__label__[^ ]+ ?//g'"


def _is_record(line: bytes) -> bool:
    """Return whether a line is a JSON object, or an array that begins with a string."""
    with suppress(orjson.JSONDecodeError):
        value = orjson.loads(line) if line.lstrip().startswith((b"{", b"[")) else None
        return isinstance(value, dict) or (isinstance(value, list) and isinstance((value or [None])[0], str))
    return False


def _numbers(sample: bytes, lines: list[bytes]) -> str | None:
    """Describe a file of vectors or a vocabulary. The tests are stricter than `sniff_head`'s, which text may pass."""
    if not lines or not numbers_at_end(lines[:2][-1].split()):  # the first line may be a header
        return None
    sniffed = sniff_head(sample[:SNIFFED_BYTES], len(sample))
    if sniffed.kind == "vocabulary" and len(lines) >= MIN_VOCABULARY_LINES:
        words = {line.split()[0] for line in lines if VOCABULARY_LINE.fullmatch(line)}
        if len(words) == len(lines):  # in other text, two lines soon start with the same word
            return "a vocabulary (lines of a word and its count), not text: train on the text in which it was counted"
    if sniffed.kind == "text" and sniffed.dim:
        rows = lines[sniffed.rows is not None :][:EXAMINED_ROWS]
        values = [row_values(row, sniffed.dim) for row in rows]
        # Rows of integers may be sentences whose words are numbers.
        if values and all(row is not None and (np.rint(row) != row).any() for row in values):
            return (
                f"word vectors of {sniffed.dim:,} dimensions, not text: train on the text from which they were learned"
            )
    return None


def _table(sample: bytes, lines: list[bytes]) -> str | None:
    """Describe a table: most lines have the same number of separators, which are not used as in prose."""
    if len(lines) < MIN_TABLE_LINES:
        return None
    unquoted = _QUOTED.sub(b'" "', sample)
    lines = _lines(unquoted)
    for mark, marks in SEPARATORS.items():
        (number, _), *_ = Counter(line.count(mark) for line in lines).most_common(1) or [(0, 0)]
        rows = [line for line in lines if line.count(mark) == number]
        if number < 2 or len(rows) < max(MIN_TABLE_LINES, SAME_FORMAT_SHARE * len(lines)):
            continue
        spaced = sum(line.count(mark + b" ") + line.count(b" " + mark) for line in rows)
        # In prose, most punctuation marks are next to a space. Tabs may separate words of sentences of equal length.
        if 2 * spaced <= number * len(rows) and (mark != b"\t" or 2 * sum(b" " in row for row in rows) >= len(rows)):
            named = f"read one with {spelled('column')} if the first line names them, or " if mark in b",\t" else ""
            return f"a table of {number + 1} columns separated by {marks}: {named}extract its text column first"
    return None


def wordless(ids: EncodedCorpus) -> str | None:
    """Return a warning if documents have tags without any word of the vocabulary, whose vectors stay random."""
    if ids.tags is None:
        return None
    has_words = np.zeros(len(ids.tags.starts) - 1, bool)
    for at in range(0, len(ids.tokens), READ_TOKENS):  # a mask of all tokens could need too much memory
        part = ids.tokens[at : at + READ_TOKENS]
        has_words[-2 - part[part < 0]] = True
    all_tags = np.unique(ids.tags.rows)
    if len(all_tags) == 1:
        return "all documents have the same tag, so that its vector says nothing: give each document its own tags"
    learned = np.unique(ids.tags.rows[np.repeat(has_words, np.diff(ids.tags.starts))])
    if len(learned) == len(all_tags):
        return None
    return (
        f"{len(all_tags) - len(learned):,} of {len(all_tags):,} tags have documents without any word of the vocabulary:"
        " their vectors are random and mean nothing"
    )


def punctuated(words: Sequence[str], counts: Int64) -> str | None:
    """Return a hint if many words of a text end in punctuation, as in raw text, else None.

    words: V words in descending order of counts (V,) int64. A mark alone, as in text whose punctuation was separated,
    does not count.
    """
    examined = words[:EXAMINED_WORDS]
    ending = [i for i, word in enumerate(examined) if word[-1:] in MARKS and any(map(str.isalnum, word))]
    share = counts[ending].sum() / max(1, counts[: len(examined)].sum())
    if share < PUNCTUATED_SHARE:
        return None
    return (
        f"{share:.0%} of the words end in punctuation, such as {' and '.join(repr(examined[i]) for i in ending[:2])}:"
        f" {spelled('tokenizer', 'simple')} removes it, and lowercases the text"
    )


class Thinning(NamedTuple):
    """The effect of subsampling.

    share: the expected share of a corpus's words that is kept per epoch, 0 to 1; warning: a sentence if a small
    vocabulary loses too many words, else None.
    """

    share: float
    warning: str | None


def thinned(counts: Int64, sample: float) -> Thinning:
    """Return the expected share of a corpus that subsampling keeps per epoch, with a warning if it keeps too little.

    counts (V,) int64: occurrences of each word, not all 0; sample: the threshold, 0 to keep all words. In natural
    language, subsampling also drops many occurrences, but only of a few frequent words. The warning is for a vocabulary
    in which most words are above the threshold.
    """
    kept = (keep_thresholds(counts, sample) + 1.0) / 2.0**32  # a word is kept if 32 random bits <= threshold
    share = float((counts * kept).sum()) / int(counts.sum())
    rarer = int(np.count_nonzero(kept < 1))
    warning = None
    if share < KEPT_SHARE and 2 * rarer > len(counts):
        warning = (
            f"subsampling at {sample:g} keeps only {share:.0%} of the words per epoch, because {rarer:,} of the"
            f" {len(counts):,} words in the vocabulary are more frequent than that: use"
            f" {spelled('sample', 0)} to keep all words"
        )
    return Thinning(share, warning)
