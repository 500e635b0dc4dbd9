"""The command `walks`: print random walks over a graph."""

import time
from typing import Any

import click

from w2vtrain.commands.input_files import check_texts
from w2vtrain.commands.options import CODES, all_of, command, given, quiet_option, setting_options
from w2vtrain.commands.shell import imports
from w2vtrain.config import resolve
from w2vtrain.leaves.graphs.arguments import WALKS
from w2vtrain.system.compression import packed_write

SETTINGS = ("seed", "threads")


@command(epilog=CODES)
@click.argument("edges", nargs=-1, required=True)
@click.option(
    "-o", "--output", default="-", metavar="FILE",
    help="File for the walks; .gz, .bz2, .xz or .zst compresses.  [default: -, stdout]",
)  # fmt: skip
@all_of(*WALKS.values())
@setting_options(*SETTINGS)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@quiet_option
def walks(
    edges: tuple[str, ...], output: str, force: bool, quiet: bool, **flags: Any,
) -> None:  # fmt: skip
    """Print random walks over the graph of EDGES, one per line.

    EDGES are files, or - for stdin, with lines of two nodes and optionally a weight, separated by white space, commas
    or tabs; or tables with the columns source, target and optionally weight. The walks are those of node2vec, or of
    DeepWalk if p and q are 1. `fit --graph` trains on walks without storing any.

    \b
    Examples:
      w2vtrain walks edges.tsv > walks.txt
      w2vtrain walks edges.tsv --q 0.5 | w2vtrain fit - -o nodes.txt --sample 0
    """
    with imports():
        from w2vtrain.commands.console import Console
        from w2vtrain.leaves.graphs.walks import Walks
    settings, _ = resolve(given(flags, SETTINGS))
    source = Walks(edges, seed=settings.seed, threads=settings.threads, **given(flags, tuple(WALKS)))
    check_texts([output], edges, [file.path for file in source.files], force)
    console, started, lines, words = Console(quiet), time.monotonic(), 0, 0
    nodes, arcs = len(source.graph.names), len(source.graph.arcs.targets)
    with packed_write(output, force) as file:
        for block in source.read():
            file.write(block)
            lines, words = lines + block.count(b"\n"), words + block.count(b" ")
    seconds = time.monotonic() - started
    console.say(f"{nodes:,} nodes, {arcs:,} arcs, {lines:,} walks, {words + lines:,} nodes in them, {seconds:.1f} s")
