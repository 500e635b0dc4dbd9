"""The command `vocab`: count the words of a text and write the vocabulary. It trains nothing."""

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from w2vtrain.commands.input_files import check_different
from w2vtrain.commands.options import CODES, COUNTING, command, given, quiet_option, setting_options
from w2vtrain.commands.shell import imports
from w2vtrain.config import Settings, resolve
from w2vtrain.system.amounts import duration
from w2vtrain.system.compression import check_suffix
from w2vtrain.system.files import check_writable
from w2vtrain.system.machine import threads_of

if TYPE_CHECKING:
    from w2vtrain.commands.console import Console
    from w2vtrain.text.counting import CorpusStats
    from w2vtrain.text.source import Source
    from w2vtrain.text.vocabulary import Vocabulary


@command(epilog=CODES)
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", default="-", metavar="FILE", help="File for the counts.  [default: -, stdout]")
@setting_options(*COUNTING)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@quiet_option
def vocab(corpus: tuple[str, ...], output: str, force: bool, quiet: bool, **flags: Any) -> None:
    """Count the words of CORPUS and write one `word count` per line, most frequent first."""
    with imports():
        from w2vtrain.commands.console import Console
        from w2vtrain.training.inputs import corpus_of
    settings, _ = resolve(given(flags, COUNTING))
    text = corpus_of(corpus, settings)
    check_different([output], [file.path for file in text.files])
    check_suffix(output)
    check_writable(output, force)
    console, started = Console(quiet), time.monotonic()
    vocabulary, stats = counted(text, settings, console)
    vocabulary.save(output, force)
    console.say(
        f"{stats.tokens:,} words, {stats.types:,} distinct, {len(vocabulary):,} kept,"
        f" in {duration(time.monotonic() - started)}"
    )


def counted(text: "Source", settings: Settings, console: "Console") -> "tuple[Vocabulary, CorpusStats]":
    """Count the words of a text, show the progress and close the console. Return the vocabulary and the statistics."""
    with imports():
        from w2vtrain.text.encoded import count
    with closing(console):
        return count(
            text,
            min_count=settings.min_count,
            max_vocab=settings.max_vocab,
            threads=threads_of(settings.threads)[0],
            progress=console.events().reading,
        )
