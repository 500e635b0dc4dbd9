"""Keep some blocks of a source while it is read, so that a part of it can be encoded without reading it again."""

import random
from collections.abc import Sequence

from w2vtrain.text.source import Blocks, BlocksInMemory, File, Source


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

    files: tuple[File, ...] = ()
    size: int | None = None

    def __init__(self, source: Source, blocks: Sequence[bytes]) -> None:
        self.blocks = blocks
        self.name, self.errors, self.phrases = source.name, source.errors, source.phrases
        self.tokens_of, self.words_of = source.tokens_of, source.words_of

    def read(self) -> Blocks:
        """Start a pass."""
        return BlocksInMemory(block if block.endswith(b"\n") else block + b"\n" for block in self.blocks)
