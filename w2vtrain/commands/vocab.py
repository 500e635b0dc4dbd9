"""The command `vocab`: count the words of a text and write the vocabulary. It trains nothing."""

import time
from collections.abc import Sequence
from typing import Any

from w2vtrain.commands.console import Console, duration
from w2vtrain.commands.inputs import check_different
from w2vtrain.config import resolve
from w2vtrain.system.compression import check_suffix
from w2vtrain.system.files import check_writable
from w2vtrain.system.machine import threads_of
from w2vtrain.text.encoded import count
from w2vtrain.training.inputs import corpus_of


def vocab(sources: Sequence[str], output: str, flags: dict[str, Any], force: bool, quiet: bool = False) -> None:
    """Count the words and write the vocabulary."""
    settings, _ = resolve(flags)
    corpus = corpus_of(sources, settings)
    check_different([output], [file.path for file in corpus.files])
    check_suffix(output)
    check_writable(output, force)
    console, started = Console(quiet), time.monotonic()
    try:
        vocabulary, stats = count(
            corpus,
            min_count=settings.min_count,
            max_vocab=settings.max_vocab,
            threads=threads_of(settings.threads)[0],
            progress=console.events().reading,
        )
    finally:
        console.close()
    vocabulary.save(output, force)
    console.say(
        f"{stats.tokens:,} words, {stats.types:,} distinct, {len(vocabulary):,} kept,"
        f" in {duration(time.monotonic() - started)}"
    )
