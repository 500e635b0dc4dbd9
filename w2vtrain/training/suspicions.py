"""Warnings about a corpus that does not look like text in words, and about subsampling that drops too much of it.

Nothing here reads files or prints: the caller hands in the beginning of the text or the counts, and shows what returns.
"""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
import orjson

from w2vtrain.formats.sniff import HEAD, VOCABULARY_LINE, sniff_head
from w2vtrain.formats.vector_formats._word2vec import row_values
from w2vtrain.probability.sampling import keep_thresholds
from w2vtrain.text.vocab import Int64

LINES = 1000  # lines at the beginning that tell the format of a file
MOST = 0.9  # share of these lines that must agree on a format
TABLE_LINES = 20  # a table has at least this many lines
VOCABULARY_LINES = 5  # a vocabulary file has at least this many lines
VECTOR_ROWS = 20  # rows that are looked at to tell vectors from sentences of numbers
UNSEGMENTED = 0.2  # share of the characters in overlong runs above which text counts as unsegmented
KEPT = 0.9  # share of the words that subsampling may leave without a warning

# Writing systems without spaces between words: name, letters, characters that hardly any word exceeds, segmenters.
SCRIPTS = (
    (
        "Chinese or Japanese",
        "\u3005-\u3007\u3040-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff",
        8,
        "jieba or MeCab",
    ),
    (
        "Thai, Lao, Khmer or Burmese",
        "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f",
        20,
        "PyThaiNLP or ICU",
    ),
)
_NOT_LETTERS = tuple(re.compile(rf"[^\s{letters}]+") for _, letters, _, _ in SCRIPTS)
SEPARATORS = {b",": ("commas", "-d,"), b";": ("semicolons", "-d';'"), b"\t": ("tabs", ""), b"|": ("pipes", "-d'|'")}
# Possessive repeats: text with any number of quotation marks takes linear time.
_QUOTED = re.compile(rb'(?<![^,;\t|\n])"[^"]*+(?:""[^"]*+)*+"(?=[,;\t|\r\n]|\Z)')


def suspicions(sample: bytes, name: str = "the corpus") -> list[str]:
    """Return warnings about a corpus, one sentence each, that say what its text looks like and what to do.

    `sample` is the beginning of the text before any tokenizer, UTF-8 that may be cut anywhere or hold invalid bytes;
    `name` is what the sentences call the corpus. No sample raises an error, and time grows linearly with its size.
    """
    lines = [line for line in sample.split(b"\n", LINES)[:-1] if line.strip()]  # the last may be cut
    found = [_json_lines(lines) or _numbers(sample, lines) or _table(sample), *_unsegmented(sample)]
    return [f"{name} looks like {what}" for what in found if what]


def _unsegmented(sample: bytes) -> list[str]:
    """Describe each group of scripts that has a large share of the text in runs longer than its words."""
    text = sample.decode("utf-8", "ignore")
    enough = UNSEGMENTED * sum(map(len, text.split()))
    return [
        f"{script} without spaces between words, so that whole sentences become words:"
        f" segment it first, for example with {tools}"
        for (script, _, longest, tools), others in zip(SCRIPTS, _NOT_LETTERS, strict=True)
        if sum(len(run) for run in others.sub("", text).split() if len(run) > longest) > enough
    ]


def _json_lines(lines: list[bytes]) -> str | None:
    """Describe lines that are JSON objects."""
    objects = sum(map(_is_object, lines))
    if objects < max(2, MOST * len(lines)):
        return None
    return "JSON lines, not text: extract the text field first, for example with jq -r .text"


def _is_object(line: bytes) -> bool:
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _numbers(sample: bytes, lines: list[bytes]) -> str | None:
    """Describe a file of vectors or a vocabulary, which `sniff_head` recognizes by less than a corpus may hold."""
    found = sniff_head(sample[:HEAD], len(sample))
    if found.kind == "vocabulary" and len(lines) >= VOCABULARY_LINES:
        words = {line.split()[0] for line in lines if VOCABULARY_LINE.fullmatch(line)}
        if len(words) == len(lines):  # in other text a word soon starts two lines
            return "a vocabulary, lines of a word and its count, not text: train on the text that it was counted in"
    if found.kind == "text" and found.dim:
        rows = lines[found.rows is not None :][:VECTOR_ROWS]
        values = [row_values(row, found.dim) for row in rows]
        # Integers alone may be sentences whose words are numbers.
        if values and all(row is not None and (np.rint(row) != row).any() for row in values):
            return f"word vectors of {found.dim:,} dimensions, not text: train on the text that they come from"
    return None


def _table(sample: bytes) -> str | None:
    """Describe a table: lines with the same number of separators that prose does not explain."""
    unquoted = _QUOTED.sub(b'" "', sample)
    lines = [line for line in unquoted.split(b"\n", LINES)[:-1] if line.strip()]
    for mark, (marks, option) in SEPARATORS.items():
        (number, _), *_ = Counter(line.count(mark) for line in lines).most_common(1) or [(0, 0)]
        rows = [line for line in lines if line.count(mark) == number]
        if number < 2 or len(rows) < max(TABLE_LINES, MOST * len(lines)):
            continue
        spaced = sum(line.count(mark + b" ") + line.count(b" " + mark) for line in rows)
        # Prose has a space beside most of its marks. Tabs may separate the words of sentences of one length.
        if 2 * spaced <= number * len(rows) and (mark != b"\t" or 2 * sum(b" " in row for row in rows) >= len(rows)):
            return (
                f"a table of {number + 1} columns separated by {marks}: extract its text column first, for example"
                f" with {' '.join(filter(None, ('cut', option, '-f2')))} (or csvcut, if fields are quoted)"
            )
    return None


class Thinning(NamedTuple):
    """What subsampling keeps.

    share: of the words of a corpus, expected per epoch, from 0 to 1; warning: a sentence if a vocabulary of few words
    loses more than it should, else None.
    """

    share: float
    warning: str | None


def thinned(counts: Int64, sample: float) -> Thinning:
    """Return which share of a corpus subsampling keeps per epoch, on average.

    `counts` (V,) int64 are the words' occurrences, not all 0; `sample` is the threshold, 0 to keep all. Natural
    language loses many words too, but occurrences of its few most frequent ones. The warning is for a vocabulary of
    which most words are frequent.
    """
    kept = (keep_thresholds(counts, sample) + 1.0) / 2.0**32  # an occurrence stays when 32 bits are <= the threshold
    share = float(counts @ kept) / int(counts.sum())
    rarer = int(np.count_nonzero(kept < 1))
    warning = None
    if share < KEPT and 2 * rarer > len(counts):
        warning = (
            f"subsampling at {sample:g} keeps only {share:.0%} of the words per epoch, because {rarer:,} of the"
            f" {len(counts):,} words of the vocabulary exceed it: keep all words with --sample 0"
        )
    return Thinning(share, warning)
