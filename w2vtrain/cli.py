"""List the commands of the command line by section: where each is declared, and its short help.

Each command is declared by its module, in commands/ or in the leaf that it belongs to, which is imported only when the
command is used, so that --help is fast. For the same reason, a command imports what it needs for its work when it runs.
"""

import click

from w2vtrain import __version__
from w2vtrain.commands.click_classes import LazyGroup
from w2vtrain.commands.options import CODES
from w2vtrain.commands.shell import execute
from w2vtrain.commands.spelling import HELP
from w2vtrain.system.stopping import NAME

COMMANDS = {
    "Train": {
        "fit": ("commands.fit:fit", "Train word vectors on text."),
        "resume": ("commands.resume:resume", "Continue a run that was stopped or killed."),
        "export": ("commands.convert:export", "Write the vectors of an unfinished run."),
        "warmup": ("commands.warmup:warmup", "Compile in advance what training needs."),
    },
    "Prepare text": {
        "vocab": ("commands.prepare:vocab", "Count the words of a text."),
        "phrases": ("commands.prepare:phrases", "Find phrases in a text and join them into words."),
        "walks": ("leaves.graphs.walks_command:walks", "Print random walks over a graph."),
    },
    "Query vectors": {
        "neighbors": ("commands.query:neighbors", "Print the words nearest to a word."),
        "analogy": ("commands.query:analogy", "Print the words nearest to king - man + woman."),
        "similarity": ("commands.query:similarity", "Print the cosine of two words."),
        "vector": ("commands.query:vector", "Print the vector of a word, a sentence or n-grams."),
        "infer": ("leaves.documents.infer_command:infer", "Write the vectors of new documents."),
    },
    "Evaluate": {
        "eval": ("commands.evaluate:evaluate", "Score vectors on analogies, word similarity and more."),
        "perplexity": ("commands.perplexity:perplexity", "Score held-out text with a saved model."),
        "stability": (
            "commands.compare_vectors:stability",
            "Print how many neighbors vector files have in common.",
        ),
        "diff": ("commands.compare_vectors:diff", "Align two vector files and print the words that moved."),
    },
    "Look at runs and files": {
        "info": ("commands.info:info", "Print what a file or a run folder contains."),
        "plot": ("leaves.pictures.plot_command:plot", "Draw curves of runs, a map of words, or counts of words."),
        "report": ("leaves.pictures.plot_command:report", "Write a web page about vectors or a model."),
    },
    "Convert files": {
        "convert": ("commands.convert:convert", "Convert vectors to another format, or change them."),
    },
    "Choose settings": {
        "objectives": ("commands.objectives:objectives", "List the output objectives, or explain or check one."),
        "architectures": ("commands.objectives:architectures", "List the architectures, or explain or check one."),
        "compare": ("leaves.compare.compare_command:compare", "Train objectives side by side and print a table."),
        "bench": ("leaves.compare.bench_command:bench", "Compare speed and accuracy with other systems."),
    },
    "Help": {
        "help": ("commands.help:help_", "Print the help of a command."),
        "completion": ("commands.help:completion", "Print a script that completes commands in a shell."),
    },
}
"""The place and the short help of each command, by section of the list of all commands."""


@click.group(
    cls=LazyGroup, sections=COMMANDS, epilog=CODES,
    context_settings={"help_option_names": [*HELP], "max_content_width": 100},
)  # fmt: skip
@click.version_option(__version__, "-V", "--version", prog_name=NAME)
def cli() -> None:
    """Train, evaluate and query word embeddings."""


def main() -> None:
    """Run the command line; report every error as one line on stderr and an exit code."""
    execute(cli)
