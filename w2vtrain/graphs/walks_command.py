"""The command `walks`: print random walks over a graph."""

import time
from typing import Any

import click

from w2vtrain.commands.input_files import check_different
from w2vtrain.commands.options import CODES, Within, all_of, command, given, quiet_option, setting_options
from w2vtrain.commands.shell import imports
from w2vtrain.config import resolve
from w2vtrain.parsers import MAX_WORDS, Real, Whole
from w2vtrain.system.compression import check_suffix, packed_write
from w2vtrain.system.files import check_writable
from w2vtrain.system.machine import threads_of

SETTINGS = ("seed", "threads")
BIAS = Within(Real(1e-9, 1e9))
walk_options: Any = all_of(
    click.option("--directed", is_flag=True, help="Follow edges from the first node to the second only."),
    click.option(
        "--walk-length", type=Within(Whole(1, MAX_WORDS)), default=80, show_default=True, metavar="N",
        help="Nodes per walk; it ends early at a node from which no edge leads on.",
    ),
    click.option(
        "--walks", type=Within(Whole(1, 10**6)), default=10, show_default=True, metavar="N",
        help="Walks from each node, per epoch.",
    ),
    click.option(
        "--p", type=BIAS, default=1.0, show_default=True, metavar="X",
        help="node2vec's p: a step back to the node before is 1/p times as likely.",
    ),
    click.option(
        "--q", type=BIAS, default=1.0, show_default=True, metavar="X",
        help="node2vec's q: a step to a node that the node before has no edge to is 1/q times as likely.",
    ),
)  # fmt: skip


@command(epilog=CODES)
@click.argument("edges", nargs=-1, required=True)
@click.option(
    "-o", "--output", default="-", metavar="FILE",
    help="File for the walks; .gz, .bz2, .xz or .zst compresses.  [default: -, stdout]",
)  # fmt: skip
@walk_options
@setting_options(*SETTINGS)
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@quiet_option
def walks(
    edges: tuple[str, ...], output: str, directed: bool, walk_length: int, walks: int, p: float, q: float, force: bool,
    quiet: bool, **flags: Any,
) -> None:  # fmt: skip
    """Print random walks over the graph of EDGES, one per line.

    EDGES are files, or - for stdin, with lines of two nodes and perhaps a weight, separated by white space, commas or
    tabs. Walks of node2vec, or of DeepWalk if p and q are 1. `fit --graph` trains on walks without storing any.

    \b
    Examples:
      w2vtrain walks edges.tsv > walks.txt
      w2vtrain walks edges.tsv --q 0.5 | w2vtrain fit - -o nodes.txt --sample 0
    """
    with imports():
        from w2vtrain.commands.console import Console
        from w2vtrain.graphs.walks import Walks
    settings, _ = resolve(given(flags, SETTINGS))
    source = Walks(
        edges, walk_length=walk_length, walks=walks, p=p, q=q, directed=directed, seed=settings.seed,
        threads=threads_of(settings.threads)[0],
    )  # fmt: skip
    check_different([output], [file.path for file in source.files])
    check_suffix(output)
    check_writable(output, force)
    console, started, lines, words = Console(quiet), time.monotonic(), 0, 0
    nodes, arcs = len(source.graph.names), len(source.graph.arcs.targets)
    with packed_write(output, force) as file:
        for block in source.read():
            file.write(block)
            lines, words = lines + block.count(b"\n"), words + block.count(b" ")
    seconds = time.monotonic() - started
    console.say(f"{nodes:,} nodes, {arcs:,} arcs, {lines:,} walks, {words + lines:,} nodes in them, {seconds:.1f} s")
