"""Answers to options of other programs: what to write instead.

What replaces each option is in other_programs.py.
"""

import os
from difflib import get_close_matches

import click

from w2vtrain.config import NAMES
from w2vtrain.other_programs import CORPUS, FITS, Ours, hint_for, replaced

HELP = ("-h", "--help")
"""The names of the option of all commands that click declares."""
SHORT_OPTIONS = ("-n", "-o", "-O", "-q")
"""Short options of our commands, each with one meaning; not all commands have all of them."""
OPPOSITES = ("un", "in")
"""What begins a word that means the opposite of the rest, as in --undirected and --case-insensitive."""


def options_of(command: click.Command) -> set[str]:
    """Return all names of a command's options."""
    return {*HELP, *(name for part in command.params for name in (*part.opts, *part.secondary_opts))}


def answer(name: str, known: set[str], plain: str) -> str | None:
    """Return what to write in place of a word of the command line, or None if no other program has such an option.

    known: the command's own options; plain: the command with its arguments, "" if it has none. An option that the
    command does not have is no answer.
    """
    bare = name.lstrip("-")
    if not bare or not name.startswith("-") or bare[0].isdigit():
        return None
    ours = f"--{bare.replace('_', '-')}"
    if name == "-debug":  # of word2vec.c, with a value that would be taken for a file
        return "leave it out, with its value; --debug, which has none, prints a traceback with an error"
    if len(bare) > 1 and ours in known and name != ours:
        return f"write {ours}" + ", with two hyphens" * (not name.startswith("--"))
    if ours in known:
        return None
    theirs = replaced(bare)
    if plain and name[:2] not in known and theirs == CORPUS:
        return f"name the file without an option: {plain}"
    if "--allow-changed" in known and bare.replace("-", "_") in NAMES:
        return f"the settings of a run are fixed; to train its vectors further, {FITS} --init-from VECTORS"
    is_here = not isinstance(theirs, Ours) or f"--{theirs.name.replace('_', '-')}" in known
    hint = hint_for(bare) if is_here else None
    if hint and len(bare) > 1:
        return hint
    # The value of a short option follows it, or other commands have the option: then it stands for no other here.
    if not name.startswith("--") and (name[:2] in known or name in SHORT_OPTIONS):
        return None
    longer = sorted(option for option in known if _letters(ours) and _letters(option).startswith(_letters(ours)))
    guess = f"write {' or '.join(longer)}" if longer else None
    return f"{hint}, or {guess}" if hint and guess else hint or guess


def no_such_option(error: click.NoSuchOption, args: list[str], known: set[str]) -> click.UsageError:
    """Return the error for an unknown option of a command line, with its whole name and the options most like it."""
    name = next((arg for arg in args if arg.startswith(error.option_name)), error.option_name).partition("=")[0]
    names = [option.removeprefix("--") for option in known if option.startswith("--")]
    bare = name.lstrip("-").replace("_", "-")
    for prefix in OPPOSITES:
        if (other := bare.replace(prefix, "", 1)) != bare and other in names:
            return click.UsageError(f"No such option {name!r}: leave it out; the opposite is --{other}", error.ctx)
    close = " or ".join(f"--{option}" for option in sorted(get_close_matches(bare, names)))
    return click.UsageError(f"No such option {name!r}" + (f": did you mean {close}?" if close else ""), error.ctx)


def _letters(option: str) -> str:
    """Return the name of an option as those who do not remember its spelling write it."""
    return option.replace("-", "").lower() if option.startswith("--") else ""


def missing_output(last: str, ctx: click.Context | None = None) -> click.UsageError:
    """Return the error for a command line without -o. last: its last argument, which may be the output."""
    is_other = last.startswith("-") or os.path.exists(last)  # noqa: PTH110 - unlike Path.exists, for names of any length
    return click.UsageError(f"Missing option '-o' / '--output': write -o {'FILE' if is_other else last or 'FILE'}", ctx)
