"""The command `report`: write a page about vectors or a model."""

import click

from w2vtrain.commands.input_files import check_different, with_vectors
from w2vtrain.commands.options import CODES, COUNT, command, scored_options
from w2vtrain.commands.shell import imports
from w2vtrain.errors import UsageError
from w2vtrain.system.files import STDOUT, atomic_write
from w2vtrain.system.locks import check_output


@command(epilog=CODES)
@click.argument("vectors")
@click.option("-o", "--output", required=True, metavar="FILE", help="File for the page, HTML; - for stdout.")
@click.option(
    "--words",
    metavar="WORDS",
    help="Words whose neighbors to show, separated by commas or spaces.  [default: some frequent words]",
)
@click.option(
    "--map-words", type=COUNT, default=300, show_default=True, metavar="N", help="Number of words on the map."
)
@scored_options
@click.option(
    "--log-json",
    metavar="FILE",
    help="The log that `fit --log-json` wrote, for finer curves.",
)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
def report(
    vectors: str, output: str, words: str | None, map_words: int, questions: str | None, pairs: tuple[str, ...],
    log_json: str | None, force: bool,
) -> None:  # fmt: skip
    """Write a report on VECTORS, in any format, or a model.

    For vectors that `fit` wrote, it has the settings and their origins, machine, time and curves from the record beside
    them. The page is one file: it loads nothing, works offline, and can be printed. It needs w2vtrain[plot].
    """
    with imports():
        from w2vtrain.leaves.pictures.figures import check_packages
        from w2vtrain.leaves.pictures.report import report as page_of
        from w2vtrain.leaves.pictures.subject import subject_of
    if vectors == STDOUT:
        raise UsageError("-: a report needs a file, beside which it looks for the record")
    check_different([output], [vectors, f"{vectors}.json", *filter(None, [questions, *pairs, log_json])])
    check_packages(output)
    check_output(output, force)
    asked = (words or "").replace(",", " ").split()
    with with_vectors(vectors) as path:
        text = page_of(subject_of(path, log_json), asked, [questions] if questions else [], pairs, map_words)
    with atomic_write(output, force) as file:
        file.write(text.encode())
