"""Keep some blocks of a source while it is read, so that a part of it can be encoded without reading it again."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from w2vtrain.text.source import Blocks, File, Source


class Observed:
    """A source that passes on what another one reads, and keeps a random sample of its blocks.

    kept: at most `most` blocks of text, each equally likely to be kept; they are drawn with a fixed seed. reader: the
    pass, once it has begun.
    """

    def __init__(self, source: Source, most: int) -> None:
        self.source, self.most = source, most
        self.kept: list[bytes] = []
        self.reader: Blocks | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def read(self) -> Blocks:
        """Start a pass."""
        self.reader = _Passing(self.source.read(), self)
        return self.reader


class _Passing(Blocks):
    """A pass that adds blocks to the sample of an `Observed` source; its counters are those of the pass itself."""

    def __init__(self, blocks: Blocks, observed: Observed) -> None:  # without the counters of the base class
        self._blocks, self._observed = blocks, observed
        self._number, self._random = 0, random.Random(1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blocks, name)

    def __next__(self) -> bytes:
        block: bytes = next(self._blocks)
        self._number += 1
        kept = self._observed.kept
        if len(kept) < self._observed.most:
            kept.append(block)
        elif (place := self._random.randrange(self._number)) < self._observed.most:
            kept[place] = block
        return block

    def close(self) -> None:
        """End the pass early."""
        self._blocks.close()


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
        self.bytes_read += len(block)
        self.text_bytes += len(block)
        return block if block.endswith(b"\n") else block + b"\n"
