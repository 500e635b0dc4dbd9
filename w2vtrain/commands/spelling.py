"""The classes of commands: their help, and answers to options, commands and whole lines of other programs.

What replaces each option is in other_programs.py, and sections.py divides long helps.
"""

import shlex
from typing import Any

import click

from w2vtrain.commands.sections import complete_files, sections
from w2vtrain.config import SYNONYMS
from w2vtrain.other_programs import COMMANDS, Ours, hint_for, replaced

FASTTEXT = ("skipgram", "cbow")
"""fastText's commands that train word vectors."""


def debug_option() -> click.Option:
    """Return --debug, which is accepted anywhere on the command line: `shell.debugging` looks for it."""
    return click.Option(["--debug"], is_flag=True, expose_value=False, help="Print a traceback with an error.")


class Command(click.Command):
    """A command with --debug, whose options have two hyphens; it says so for one, and knows those of other programs."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params.append(debug_option())
        complete_files(self.params)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in sections if there are many."""
        for title, options in sections(self.get_params(ctx)):
            if records := [record for option in options if (record := option.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raise UsageError for an option of another program, or one with a single hyphen."""
        known = options_of(self)
        for word in args[: args.index("--")] if "--" in args else args:
            name = word.partition("=")[0]
            if name not in known and (hint := answer(name, known)):
                line = fit_line(args, self) if "--min-count" in known else None
                raise click.UsageError(f"No such option {name!r}: {line or hint}", ctx)
        return super().parse_args(ctx, args)


def options_of(command: click.Command) -> set[str]:
    """Return all names of a command's options."""
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


def answer(name: str, known: set[str]) -> str | None:
    """Return what to write in place of a word of the command line, or None if no other program has such an option.

    known: the command's own options. Only commands with settings answer for settings of other programs.
    """
    bare = name.lstrip("-")
    if not bare or not name.startswith("-") or bare[0].isdigit():
        return None
    ours = f"--{bare.replace('_', '-')}"
    if len(bare) > 1 and ours in known and name != ours:
        return f"write {ours}" + ", with two hyphens" * (not name.startswith("--"))
    return hint_for(bare) if "--min-count" in known and ours not in known else None


def fit_line(words: list[str], fit: click.Command) -> str | None:
    """Return the advice to use the `fit` command that does what a line of word2vec.c or fastText does.

    words: the line without the program's name; fit: our command. Return None if the line is not of these programs.
    The advice also names what has no counterpart here.
    """
    is_fasttext = bool(words) and words[0] in FASTTEXT
    theirs = pairs(words[is_fasttext:])
    corpus = theirs.pop("input", None) or theirs.pop("train", None)
    if corpus is None:
        return None
    output = theirs.pop("output", theirs.pop("o", "FILE"))
    theirs.pop("debug", None)  # word2vec.c's says how much is printed
    if is_fasttext:
        theirs = {words[0]: "1", "t": "1e-4", **theirs}
        has_subwords = theirs.get("maxn") != "0"
        if not has_subwords:
            theirs = {name: value for name, value in theirs.items() if name not in ("minn", "maxn", "bucket")}
        output += ".bin" if has_subwords else ".vec"
    else:
        theirs = {"cbow": "1", **theirs}
        if theirs.get("binary", "0") == "0" and not output.endswith((".txt", ".vec")):
            theirs["binary"] = "0"
    settings, left = translated(theirs, options_of(fit))
    if theirs.get("hs") == "1" and theirs.get("negative") != "0":
        settings["objective"] = "hs-neg"  # both programs add the losses
    elif settings.get("objective") in ("hs", "softmax"):
        settings.pop("negative", None)
    parts = ["w2vtrain", "fit", corpus, "-o", output]
    if is_fasttext and has_subwords:
        parts += ["--format", "fasttext", "--subwords"]
    for name, value in settings.items():
        parts += [f"--{name.replace('_', '-')}", value]
    return f"use {shlex.join(parts)}" + f" (left out: {', '.join(left)})" * bool(left)


def pairs(words: list[str]) -> dict[str, str]:
    """Return the options of another program with their values: one that no value follows is a flag, "1"."""
    options: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--") or (word.startswith("-") and word[1:2].isalpha()):
            name, equals, value = word.lstrip("-").partition("=")
            options[name] = value if equals else "1"
        elif name:
            options[name], name = word, ""
    return options


def translated(theirs: dict[str, str], known: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Return our settings for options of other programs, and each option that has none, with the reason."""
    settings: dict[str, Any] = {}
    left = []
    for name, value in theirs.items():
        ours = replaced(name)
        same = name.replace("-", "_")
        if isinstance(ours, Ours) and (setting := ours.value(value)) is not None:
            settings[ours.name] = setting
        elif ours is None and f"--{same.replace('_', '-')}" in known:
            settings[SYNONYMS.get(same, same)] = value
        else:
            why = ours if isinstance(ours, str) else f"w2vtrain has no {name} {value}"
            left.append(f"-{name}: {why.removesuffix('; leave it out')}")
    return settings, left


class Catalogue(click.Group):
    """A group with --debug that lists commands in the order of their definition, and knows those of other programs."""

    command_class = Command

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params.append(debug_option())

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raise UsageError, with our command, for a whole line of word2vec.c."""
        if args and args[0].startswith("-") and args[0] not in options_of(self) and (line := self._fit_line(args)):
            raise click.UsageError(f"No such option {args[0]!r}: {line}", ctx)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raise UsageError, with ours, for one of another program."""
        if args and args[0] not in self.commands and (hint := COMMANDS.get(args[0])):
            line = self._fit_line(args) if hint.startswith("use w2vtrain fit") else None
            raise click.UsageError(f"No such command {args[0]!r}: {line or hint}", ctx)
        return super().resolve_command(ctx, args)

    def _fit_line(self, words: list[str]) -> str | None:
        return fit_line(words, self.commands["fit"]) if "fit" in self.commands else None
