"""The command `fit`: its options. fit_run.py does the work."""

from typing import Any

import click

from w2vtrain.commands.click_classes import MESSAGES, RUN
from w2vtrain.commands.fit_request import FitRequest, request_options
from w2vtrain.commands.options import (
    CODES,
    TRAINING,
    all_of,
    command,
    declared,
    given,
    objective_options,
    setting_options,
)
from w2vtrain.commands.shell import imports
from w2vtrain.commands.spelling import missing_output
from w2vtrain.config import MODEL, SHORT

short_forms = all_of(
    declared(
        MODEL, "-O", "--option", "options", multiple=True, metavar="KEY=VALUE",
        help="Option of the objective; repeatable.",
    ),
    declared(
        MODEL, "--negative", metavar="N",
        help="Short for -O negative=N: noise words (negative samples) per target word.",
    ),
    declared(
        MODEL, "--ns-exponent", metavar="X",
        help="Short for -O ns_exponent=X: draw noise words by counts to the power X.",
    ),
    declared(
        MODEL, "--learn-z", is_flag=True, default=None,
        help="Short for -O learn_z=true: nce learns one log Z per context word.",
    ),
    declared(
        MODEL, "--tree", metavar="NAME",
        help="Short for -O tree=NAME: huffman, balanced, cluster or a file (for hs).",
    ),
)  # fmt: skip
dry_run_options = all_of(
    declared(
        RUN, "--dry-run", is_flag=True,
        help="Read all of the text, print the vocabulary by --min-count, the memory and disk space that the run needs,"
        " and what is suspicious in the text, and exit without writing anything.",
    ),
    declared(
        MESSAGES, "--json", "as_json", is_flag=True, help="With --dry-run: print the result as one JSON object."
    ),
)  # fmt: skip


@command(epilog=CODES)
@click.argument("corpus", nargs=-1, metavar="CORPUS...")
@request_options
@setting_options(*TRAINING)
@short_forms
@dry_run_options
def fit(
    corpus: tuple[str, ...], dry_run: bool, as_json: bool, **values: Any
) -> None:  # fmt: skip
    """Train word vectors on CORPUS: files, directories, globs, or - for stdin.

    Text is UTF-8 with one sentence per line, split into words at white space. Files compressed with gzip, bzip2, xz or
    zstd are recognized by content. Settings can also come from environment variables (W2VTRAIN_EPOCHS=3) or from a
    --config file.

    \b
    Examples:
      w2vtrain fit corpus.txt -o vectors.txt
      w2vtrain fit corpus/ -o vectors.bin --architecture cbow --vector-size 200 --epochs 10
      w2vtrain fit articles.txt.gz -o hs.txt --objective hs --tokenizer simple --save-model hs.safetensors
      w2vtrain fit --graph edges.tsv -o nodes.txt --sample 0 --q 0.5
      w2vtrain fit --documents reviews.txt -o documents.txt --save-model reviews.safetensors
    """
    if dry_run and values["print_config"]:
        raise click.UsageError("--dry-run and --print-config: each prints something else and exits; name one")
    if not values["print_config"]:
        if not corpus:
            raise click.UsageError("Missing argument 'CORPUS...'")
        if not values["output"]:
            if not dry_run:
                raise missing_output("".join(corpus[1:][-1:]))
            is_any = values["format_"] or values["dtype"] == "float32"
            values["output"] = ".dry-run.txt" if is_any else ".dry-run.npz"  # hidden: no text
    if as_json and not dry_run:
        raise click.UsageError("--json: has an effect only with --dry-run; --log-json FILE logs a run")
    if dry_run and values["distributed"]:
        raise click.UsageError("--dry-run measures one machine: leave out --distributed")
    flags = given(values, TRAINING)
    if options := objective_options(given(values, SHORT), values.pop("options")):
        flags["options"] = options
    with imports():
        from w2vtrain.user_code import Named

        if dry_run:
            from w2vtrain.commands.dry_run import dry_run as estimate_run
        else:
            from w2vtrain.commands.fit_run import carry_out
    Named(flags.get("objective"), flags.get("architecture")).allow()
    request = FitRequest(sources=corpus, flags=flags, **values)
    if dry_run:
        estimate_run(request, as_json)
    else:
        carry_out(request)
