"""The tokenizers, and cuts of text between words.

Words are separated by ASCII white space when they are counted. The tokenizers `unicode` and `simple` rewrite text, so
that it separates the words that they find.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from w2vtrain.text.source import MAX_TOKEN_BYTES

MAX_UNCUT_BYTES = 1 << 16  # without white space, after which `unicode` and `simple` cut the text anyway
SPACES = b" \t\n\r\v\f"
_SPACE = re.compile(rb"[ \t\n\r\v\f]")


def blocks(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Join pieces of text into blocks that end between tokens.

    A block, together with the token that follows it, has at least `size` bytes. To bound memory use, a token of more
    than MAX_TOKEN_BYTES may be cut off, after at least one byte more: the tokenizer still sees that it is too long.
    """
    held: list[bytes] = []
    total, skipping = 0, False
    for piece in pieces:
        if skipping:
            space = _SPACE.search(piece)
            if not space:
                continue
            piece, skipping = piece[space.start() :], False
        held.append(piece)
        total += len(piece)
        if total < size:
            continue
        text = b"".join(held)
        end = last_space(text)
        if not end and total > MAX_TOKEN_BYTES:
            end, skipping = total, True
        if end:
            yield text[:end]
        held, total = [text[end:]], total - end
    if total:
        yield b"".join(held)


def last_space(text: bytes) -> int:
    """Return the index after the last white space, or 0 if the last MAX_TOKEN_BYTES + 1 have none."""
    tail = text[-MAX_TOKEN_BYTES - 1 :]
    end = max(tail.rfind(space) for space in SPACES) + 1
    return len(text) - len(tail) + end if end else 0


def whole_words(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Move the cuts between pieces so that no character is cut, and no word unless it is very long.

    Cuts are made after white space because str.lower depends on the whole word (final sigma). Text without white space
    for MAX_UNCUT_BYTES (Chinese, or binary data) is cut between two characters.
    """
    rest = b""
    for piece in pieces:
        text = rest + piece
        end = last_space(text)
        if not end and len(text) > MAX_UNCUT_BYTES:
            # Before the last character, whose first byte is no continuation: it may be incomplete.
            end = len(text) - next((back for back in range(1, 5) if text[-back] & 0xC0 != 0x80), 0)
        if end:
            yield text[:end]
        rest = text[end:]
    if rest:
        yield rest


EMOJI_MARKS = (0x20E3, 0xFE0E, 0xFE0F)
"""Marks that follow symbols and digits, where they would be words of their own: keycaps, and how an emoji is shown."""


class _KeepWords(dict[int, int]):
    """A table for str.translate, filled on demand, that turns all but letters, their marks and newlines into spaces."""

    def __missing__(self, code: int) -> int:
        keep = code == 10 or (unicodedata.category(chr(code))[0] in "LM" and code not in EMOJI_MARKS)
        self[code] = code if keep else 32
        return self[code]


_KEEP_WORDS = _KeepWords()
_LAST_SPACE = 0x3000  # Unicode has no white space after U+3000
_ASCII_SPACES = {code: 32 for code in range(28, _LAST_SPACE + 1) if chr(code).isspace()}
REWRITING: dict[str, Callable[[str], str]] = {
    "simple": lambda text: text.lower().translate(_KEEP_WORDS),
    "unicode": lambda text: text.translate(_ASCII_SPACES),
}
