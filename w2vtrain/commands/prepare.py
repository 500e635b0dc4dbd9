"""The commands that prepare text for training: `vocab` and `phrases`. They train nothing."""

import time
from contextlib import closing
from typing import Any

import click

from w2vtrain.commands.fit_request import encoding_folder
from w2vtrain.commands.input_files import check_texts
from w2vtrain.commands.options import (
    CODES,
    COUNTING,
    Within,
    cache_option,
    command,
    given,
    quiet_option,
    setting_options,
)
from w2vtrain.commands.shell import imports
from w2vtrain.config import resolve
from w2vtrain.parsers import Real, Whole
from w2vtrain.system.amounts import duration
from w2vtrain.system.compression import packed_write
from w2vtrain.system.machine import threads_of

READING = tuple(name for name in COUNTING if name not in ("min_count", "max_vocab"))


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
        from w2vtrain.text.encoded import read
        from w2vtrain.training.inputs import corpus_of
        from w2vtrain.training.suspicions import suspicions
    settings, _ = resolve(given(flags, COUNTING))
    text = corpus_of(corpus, settings)
    check_texts([output], corpus, [file.path for file in text.files], force)
    console, started = Console(quiet), time.monotonic()
    with closing(console):
        events, threads = console.events(), threads_of(settings.threads)[0]
        with read(text, threads=threads, progress=events.reading, warn=events.warning, encodes=False) as counted:
            vocabulary, stats = counted.vocabulary(settings.min_count, settings.max_vocab), counted.stats
            for warning in suspicions(counted.sample, text.name):
                events.warning(warning)
    vocabulary.save(output, force, where=text.name)
    console.say(
        f"{stats.token_count:,} words, {stats.types:,} distinct, {len(vocabulary):,} kept,"
        f" in {duration(time.monotonic() - started)}"
    )


@command(epilog=CODES)
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE",
    help="File for the text with all phrases joined, one sentence per line; - for stdout; .gz, .bz2, .xz or .zst"
    " compresses.",
)  # fmt: skip
@click.option(
    "--save-table", metavar="FILE", help="File for the phrases with their counts and scores, for `--phrases`."
)
@click.option(
    "--min-count", type=Within(Whole(1, 10**12)), metavar="N", help="Minimum count of a phrase.  [default: 5]"
)
@click.option(
    "--threshold", type=Within(Real(-1.0, 1e300)), metavar="X",
    help="Score that a phrase must exceed.  [default: 10; for npmi, 0.5]",
)  # fmt: skip
@click.option(
    "--scoring", type=click.Choice(["original", "npmi"]),
    help="The score of word2phrase, or normalized pointwise mutual information, -1 to 1.  [default: original]",
)  # fmt: skip
@click.option("--delimiter", metavar="TEXT", help="Text between the joined words of a phrase.  [default: _]")
@click.option(
    "--passes", type=Within(Whole(1, 20)), metavar="N",
    help="Number of passes; each also joins the phrases of the passes before it.  [default: 1]",
)  # fmt: skip
@click.option(
    "--connector-words", metavar="WORDS",
    help="Words that a phrase may contain but not begin or end with, separated by commas; `english` is gensim's list.",
)  # fmt: skip
@setting_options(*READING)
@cache_option
@click.option("--force", is_flag=True, help="Overwrite output files.")
@quiet_option
def phrases(
    corpus: tuple[str, ...], output: str | None, save_table: str | None, connector_words: str | None,
    cache_dir: str | None, force: bool, quiet: bool, **flags: Any,
) -> None:  # fmt: skip
    """Find phrases such as `new york` in CORPUS, and write the text with each joined into one word: `new_york`.

    CORPUS is what `fit` reads. `fit --phrases FILE` joins the phrases of a table while it reads, so that a joined text
    is not needed. With --phrases FILE, this command joins the phrases of a table instead of finding any.
    """
    with imports():
        from w2vtrain.commands.console import Console
        from w2vtrain.text.encoded import read
        from w2vtrain.text.phrase_finding import find_in
        from w2vtrain.text.phrase_joining import joined_text
        from w2vtrain.text.phrase_table import Scoring
        from w2vtrain.text.vocabulary import Vocabulary
        from w2vtrain.training.inputs import corpus_of
    settings, origins = resolve(given(flags, READING))
    how = _scoring_fields(connector_words, flags)
    if settings.phrases and (how or save_table):
        origin = origins["phrases"].replace("command line", "--phrases")
        raise click.UsageError(f"{origin} joins the phrases of a table: options that find phrases have no effect")
    if not (output or save_table):
        raise click.UsageError("name a file for the joined text with -o, or for the phrases with --save-table")
    scoring, text = Scoring(**how), corpus_of(corpus, settings)
    outputs = [file for file in (output, save_table) if file]
    check_texts(outputs, corpus, [*(file.path for file in text.files), *filter(None, [settings.phrases])], force)
    console, started, threads = Console(quiet), time.monotonic(), threads_of(settings.threads)[0]
    folder = encoding_folder(cache_dir, outputs[0])
    with closing(console):
        events = console.events()
        with read(text, threads=threads, folder=folder, progress=events.reading, warn=events.warning) as counted:
            lines = counted.text()
    before, table = int(lines.counts.sum()), text.phrases
    if table is None:
        table, lines = find_in(lines, scoring, folder, threads)
    if output:
        Vocabulary(lines.words, lines.counts).text(text.name)  # raises an error for words that a text would split
    if save_table:
        table.save(save_table, force)
    if output:
        with packed_write(output, force) as file:
            for block in joined_text(lines):
                file.write(block)
    after = f", joined {before - int(lines.counts.sum()):,} times" if text.phrases is None else ""
    if not len(table) and text.phrases is None:
        threshold = f"{scoring.threshold:g}"
        events.warning(f"no pair of words occurs {scoring.min_count:,} times and scores above {threshold}")
    console.say(f"{before:,} words, {len(table):,} phrases{after}, in {duration(time.monotonic() - started)}")


def _scoring_fields(connector_words: str | None, flags: dict[str, Any]) -> dict[str, Any]:
    """Return how to find phrases: the fields of `Scoring` that the command line has."""
    from w2vtrain.text.phrase_table import CONNECTOR_WORDS

    how = {name: value for name, value in flags.items() if value is not None}
    if connector_words is not None:
        words = tuple(filter(None, map(str.strip, connector_words.split(","))))
        how["connector_words"] = CONNECTOR_WORDS if connector_words.lower() == "english" else words
    return how
