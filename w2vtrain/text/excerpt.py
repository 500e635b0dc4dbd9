"""Keep some blocks of a source while it is read, so that a part of it can be encoded without reading it again."""

import random
from collections.abc import Iterator, Sequence

from w2vtrain.text.source import Blocks, File, Source


class Reservoir:
    """A random sample of the blocks of one pass over a source.

    kept: at most `most` blocks of text, each equally likely to be kept; they are drawn with a fixed seed.
    """

    def __init__(self, most: int) -> None:
        self.most, self.kept = most, list[bytes]()
        self._number, self._random = 0, random.Random(1)

    def add(self, block: bytes) -> None:
        """Look at the next block of the pass, and keep it or not."""
        self._number += 1
        if len(self.kept) < self.most:
            self.kept.append(block)
        elif (place := self._random.randrange(self._number)) < self.most:
            self.kept[place] = block


class Excerpt:
    """A source whose text is blocks that were read before; each begins a new sentence."""

    def __init__(self, source: Source, blocks: Sequence[bytes]) -> None:
        self.source, self.blocks = source, blocks
        self.files: Sequence[File] = ()
        self.size = sum(map(len, blocks))
        self.name, self.errors, self.phrases = source.name, source.errors, source.phrases

    def read(self) -> Blocks:
        """Start a pass."""
        return _Again(self.blocks)

    def tokens_of(self, words: Sequence[str]) -> list[bytes]:
        """Return the token of each word, as the source does."""
        return self.source.tokens_of(words)

    def words_of(self, tokens: list[bytes]) -> list[bytes]:
        """Return the word of each token, as the source does."""
        return self.source.words_of(tokens)


class _Again(Blocks):
    def __init__(self, blocks: Sequence[bytes]) -> None:
        super().__init__()
        self._rest: Iterator[bytes] = iter(blocks)

    def __next__(self) -> bytes:
        block = next(self._rest)
        self.note(block)
        self.bytes_read = self.text_bytes
        return block if block.endswith(b"\n") else block + b"\n"
