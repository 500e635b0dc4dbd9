"""Read WordNet's database files, in the format that its manual page wndb(5WN) describes.

Only what a taxonomy of words needs is read: lemmas, the first sense of each, exceptions to inflection, and the pointers
from a synset to a more general one. Glosses, other pointers and other senses are ignored.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from w2vtrain.errors import DataError, InputMissing
from w2vtrain.system.reading import read_lines, read_small

POS = {b"n": "noun", b"v": "verb", b"a": "adj", b"r": "adv"}
"""The letters of the parts of speech and the suffixes of their files, in the order that decides ties."""
MAX_FILE_BYTES = 1 << 26
"""Maximum size of a file in bytes; the largest of WordNet 3.1 has 16 MB."""
MAX_LINE_BYTES = 1 << 16
"""Maximum number of bytes per line; the rest of a longer line of a data file is ignored."""
MAX_CHAIN_SYNSETS = 64
"""Maximum number of synsets in a chain; those of WordNet 3.1 have at most 20."""
NUMBER, HEXADECIMAL = re.compile(rb"\d{1,9}"), re.compile(rb"[\da-fA-F]{1,4}")
# The suffixes that the manual page morphy(7WN) lists, each with what replaces it.
ENDINGS = {
    b"n": "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y",
    b"v": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    b"a": "er: est: er:e est:e",
    b"r": "",
}
CLOSED = frozenset(
    b"""
a about above after against all although among an and another any as at because before below beneath beside between
beyond both but by can could during each either every everybody everyone everything few for from he her hers herself him
himself his i if in into it its itself many may me might mine must my myself neither no nobody none nor nothing of off
on onto or other our ours ourselves over per shall she should since so some somebody someone something such than that
the their theirs them themselves these they this those though through till to toward towards under unless until unto up
upon us we what whatever when where whereas whether which whichever while who whoever whom whose why will with within
without would yet you your yours yourself yourselves
""".split()
)
"""Words of closed classes. WordNet has only some, mostly as homographs: "he" is helium, and "as" is arsenic."""

Synset = tuple[bytes, int]
"""A synset: the letter of its part of speech and the byte at which its line begins in the data file."""


class Sense(NamedTuple):
    """The first, most frequent sense of a lemma; tagged: how many of its senses occur in WordNet's tagged texts."""

    tagged: int
    synset: Synset


class WordNet:
    """The database files in the folder `dict` of WordNet 3.x.

    The files index.POS and data.POS are required for POS noun, verb, adj and adv; POS.exc is optional. Raise
    InputMissing, or DataError with the file and the line or byte of what is invalid; `chain` may raise DataError, too.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise InputMissing(
                f"{folder} is not a folder: name the folder `dict` of WordNet, with index.noun and others"
            )
        self._data = {pos: read_small(self.folder / f"data.{POS[pos]}", MAX_FILE_BYTES) for pos in POS}
        self._senses = {pos: dict(self._index(pos)) for pos in POS}
        self._bases = {pos: dict(self._exceptions(pos)) for pos in POS}
        self._parent = cache(self._read_parent)

    def chain(self, word: str) -> tuple[Synset, ...] | None:
        """Return the synsets from the most general one down to that of a word's first sense; None for unknown words.

        Of several hypernyms, the first is followed. A satellite adjective is below its head, and an adverb below the
        adjective that it is derived from. The first element is the part of speech alone, with byte -1. A cycle of
        hypernyms, as WordNet 3.0 has among its verbs, ends the chain.

        A word that is several parts of speech counts as the one with the most senses in tagged texts. Upper case and
        inflection are ignored. Words of closed classes, such as articles and pronouns, are unknown.
        """
        lemma = word.lower().encode(errors="replace")
        if lemma in CLOSED:
            return None
        senses = [sense for pos in POS for form in self._lemmas(lemma, pos) if (sense := self._senses[pos].get(form))]
        if not senses:
            return None
        above: Synset | None = max(senses, key=lambda sense: sense.tagged).synset  # the first of several
        chain: list[Synset] = []
        while above is not None and above not in chain and len(chain) < MAX_CHAIN_SYNSETS:
            chain.append(above)
            above = self._parent(above)
        return ((chain[-1][0], -1), *reversed(chain))

    def _lemmas(self, word: bytes, pos: bytes) -> list[bytes]:
        """Return the possible lemmas of a word: itself, else those of an exception, else it with endings replaced."""
        if word in self._senses[pos]:
            return [word]
        if word in self._bases[pos]:
            return self._bases[pos][word]
        endings = (ending.encode().partition(b":") for ending in ENDINGS[pos].split())
        return [word[: -len(old)] + new for old, _, new in endings if word.endswith(old)]

    def _index(self, pos: bytes) -> Iterator[tuple[bytes, Sense]]:
        """Yield each lemma of an index file with its first sense.

        A line is: lemma pos synset_cnt p_cnt [ptr_symbol...] sense_cnt tagsense_cnt synset_offset [synset_offset...].
        """
        path = self.folder / f"index.{POS[pos]}"
        for number, line in read_lines(path, MAX_LINE_BYTES, MAX_FILE_BYTES):
            if line.startswith(b"  ") or not line.strip():
                continue  # the license
            fields = line.split()
            numbers = [int(field) if NUMBER.fullmatch(field) else -1 for field in fields]
            first = 6 + numbers[3] if len(fields) > 6 else 0  # the place of the first offset
            good = len(fields) > 6 and min(numbers[2:4]) >= 0 and len(fields) == first + numbers[2] > first
            if not good or fields[1] != pos or min(numbers[first - 2 :]) < 0:
                expected = f"a lemma, {pos.decode()}, numbers of synsets and pointers, and offsets"
                raise DataError(f"{path}:{number}: expected {expected}, as in WordNet's index files, got {line[:80]!r}")
            yield fields[0], Sense(numbers[first - 1], (pos, numbers[first]))

    def _exceptions(self, pos: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
        """Yield each inflected form of a file of exceptions with its lemmas. A line is: inflected lemma [lemma...]."""
        path = self.folder / f"{POS[pos]}.exc"
        if path.exists():
            for number, line in read_lines(path, MAX_LINE_BYTES, MAX_FILE_BYTES):
                if fields := line.split():
                    if len(fields) < 2:
                        raise DataError(f"{path}:{number}: expected an inflected form and its lemma, got {line[:80]!r}")
                    yield fields[0], fields[1:]

    def _read_parent(self, synset: Synset) -> Synset | None:
        """Return the more general synset that a synset points to first, or None.

        A line is: synset_offset lex_filenum ss_type w_cnt word lex_id [word lex_id...] p_cnt [ptr...] ... | gloss, and
        a ptr is: pointer_symbol synset_offset pos source/target. w_cnt is hexadecimal.
        """
        pos, offset = synset
        data, path = self._data[pos], self.folder / f"data.{POS[pos]}"
        end = data.find(b"\n", offset, offset + MAX_LINE_BYTES)
        fields = data[offset : offset + MAX_LINE_BYTES if end < 0 else end].partition(b" | ")[0].split()
        if not fields or fields[0] != b"%08d" % offset or (offset and data[offset - 1 : offset] != b"\n"):
            raise DataError(f"{path}: byte {offset}: no synset begins here, but another file or line refers to it")
        damaged = DataError(f"{path}: byte {offset}: not a synset as in WordNet's data files")
        if len(fields) < 5 or not HEXADECIMAL.fullmatch(fields[3]):
            raise damaged
        pointers = fields[4 + 2 * int(fields[3], 16) :]
        if not pointers or not NUMBER.fullmatch(pointers[0]) or len(pointers) < 1 + 4 * int(pointers[0]):
            raise damaged
        wanted = {b"s": (b"&",), b"r": (b"\\",)}.get(fields[2], (b"@", b"@i"))
        for at in range(1, 1 + 4 * int(pointers[0]), 4):
            symbol, place, kind = pointers[at : at + 3]
            if symbol in wanted:
                kind = b"a" if kind == b"s" else kind
                if kind not in POS or not NUMBER.fullmatch(place):
                    raise damaged
                return kind, int(place)
        return None
