"""The sections of the options in the help of a command that has many; and what is a file.

Options are declared by the commands. What no section names is listed last.
"""

from collections.abc import Iterator, Mapping, Sequence

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

SECTIONS: Mapping[str, Sequence[str]] = {
    "Input": ("read_vocab", "init_from", "grow_vocabulary", "heldout", "cache_dir"),
    "Output": (
        "output", "format_", "dtype", "export", "save_output_vectors", "save_model", "save_vocab", "force",
    ),
    "Model (settings)": (
        "architecture", "objective", "options", "negative", "ns_exponent", "learn_z", "tree", "vector_size", "window",
        "shrink_windows", "context", "sentence_end", "bias", "subwords", "minn", "maxn", "bucket",
    ),
    "Words (settings)": (
        "column", "tokenizer", "phrases", "min_count", "max_vocab", "max_sentence", "encoding_errors", "allow_nul",
    ),
    "Training (settings)": (
        "epochs", "seconds", "patience", "alpha", "min_alpha", "sample", "weight_decay", "init", "block", "shuffle",
        "seed", "threads", "stall_timeout",
    ),
    "Run": ("dry_run", "dry_run_seconds", "run", "checkpoint_every", "allow_changed", "on_full"),
    "Several machines": ("distributed", "sync_words", "sync_timeout"),
    "Configuration and messages": (
        "config", "print_config", "log_json", "progress_every", "quiet", "as_json", "debug", "_click_default_help",
    ),
}  # fmt: skip
"""Names of parameters by section. The settings are those of config.py, and short forms of options of objectives."""
MIN_OPTIONS_FOR_SECTIONS = 20
"""Options from which on a help has sections."""
FILES = ("FILE", "DIR", "FILE|DIR")
"""What options name that take a file or a folder."""
NOT_FILES = ("words", "command", "name", "commands")
"""Arguments that are no files."""


def sections(parameters: Sequence[click.Parameter]) -> Iterator[tuple[str, list[click.Option]]]:
    """Yield the title of each section that has options, and these, in the order of SECTIONS."""
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    if len(options) < MIN_OPTIONS_FOR_SECTIONS:
        yield "Options", options
        return
    by_name = {option.name: option for option in options}
    for title, names in SECTIONS.items():
        if listed := [by_name.pop(name) for name in names if name in by_name]:
            yield title, listed
    if by_name:
        yield "Other options", list(by_name.values())


class FileName(StringParamType):
    """A string that the shell completes as the name of a file."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leave the completion to the shell."""
        return [CompletionItem(incomplete, type="file")]


def complete_files(parameters: Sequence[click.Parameter]) -> None:
    """Let the shell complete names of files for the parameters that are files."""
    for parameter in parameters:
        if isinstance(parameter.type, StringParamType):
            is_argument = isinstance(parameter, click.Argument)
            if parameter.name not in NOT_FILES if is_argument else parameter.metavar in FILES:
                parameter.type = FileName()
