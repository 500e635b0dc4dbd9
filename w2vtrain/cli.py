"""List the commands of the command line: where each is declared, and its short help.

Each command is declared by its module in commands/, which is imported only when the command is used, so that --help is
fast. For the same reason, a command imports what it needs for its work when it runs.
"""

import click

from w2vtrain import __version__
from w2vtrain.commands.lazy_group import LazyGroup
from w2vtrain.commands.options import CODES
from w2vtrain.commands.shell import execute
from w2vtrain.system.stopping import NAME

COMMANDS = {
    "fit": ("w2vtrain.commands.fit:fit", "Train word vectors on text."),
    "resume": ("w2vtrain.commands.resume:resume", "Continue a run that was stopped or killed."),
    "supervise": ("w2vtrain.commands.supervise:supervise", "Restart a fit command until it has finished."),
    "export": ("w2vtrain.commands.export:export", "Write the vectors of an unfinished run."),
    "convert": ("w2vtrain.commands.convert:convert", "Write vectors in another format, or changed."),
    "vocab": ("w2vtrain.commands.vocab:vocab", "Count the words of a text."),
    "phrases": ("w2vtrain.commands.phrases:phrases", "Find phrases in a text, and join them to words."),
    "tree": ("w2vtrain.commands.tree:tree", "Write a tree of WordNet's words, for hierarchical softmax."),
    "eval": (
        "w2vtrain.commands.evaluate:evaluate",
        "Score vectors on analogies, word similarity and more.",
    ),
    "stability": (
        "w2vtrain.commands.compare_vectors:stability",
        "Print how many neighbors files of vectors have in common.",
    ),
    "diff": ("w2vtrain.commands.compare_vectors:diff", "Align two files of vectors and print the words that moved."),
    "neighbors": ("w2vtrain.commands.query:neighbors", "Print the words nearest to a word."),
    "analogy": ("w2vtrain.commands.query:analogy", "Print the words nearest to king - man + woman."),
    "similarity": ("w2vtrain.commands.query:similarity", "Print the cosine of two words."),
    "vector": ("w2vtrain.commands.query:vector", "Print the vector of a word, a sentence or n-grams."),
    "plot": ("w2vtrain.commands.plot:plot", "Draw curves of runs, a map of words, or counts of words."),
    "perplexity": ("w2vtrain.commands.perplexity:perplexity", "Score held-out text with a saved model."),
    "compare": ("w2vtrain.commands.compare:compare", "Train objectives side by side and print a table."),
    "warmup": ("w2vtrain.commands.warmup:warmup", "Compile in advance what training needs."),
    "report": ("w2vtrain.commands.report:report", "Write a web page about a run, a model or vectors."),
    "info": ("w2vtrain.commands.info:info", "Print what a file or a run folder is."),
    "objectives": ("w2vtrain.commands.objectives:objectives", "List the output objectives, or explain or check one."),
    "architectures": (
        "w2vtrain.commands.architectures:architectures",
        "List the architectures, or explain or check one.",
    ),
    "bench": ("w2vtrain.commands.bench:bench", "Compare speed and accuracy with other systems."),
    "completion": ("w2vtrain.commands.completion:completion", "Print a script that completes commands in a shell."),
    "help": ("w2vtrain.commands.help:help_", "Print the help of a command."),
}
"""The place and the short help of each command."""


@click.group(
    cls=LazyGroup, places=COMMANDS, epilog=CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
@click.version_option(__version__, "-V", "--version", prog_name=NAME)
def cli() -> None:
    """Train, evaluate and query word embeddings."""


def main() -> None:
    """Run the command line; report every error as one line on stderr and an exit code."""
    execute(cli)
