"""Answers to options, commands and whole lines of other programs: what to write instead.

What replaces each option is in other_programs.py.
"""

import os
import shlex
from typing import Any

import click

from w2vtrain.config import SYNONYMS
from w2vtrain.other_programs import Ours, hint_for, replaced

FASTTEXT = ("skipgram", "cbow")
"""fastText's commands that train word vectors."""


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


def missing_output(last: str, ctx: click.Context | None = None) -> click.UsageError:
    """Return the error for a command line without -o. last: its last argument, which may be the output."""
    is_other = last.startswith("-") or os.path.exists(last)  # noqa: PTH110 - unlike Path.exists, for names of any length
    return click.UsageError(f"Missing option '-o' / '--output': write -o {'FILE' if is_other else last or 'FILE'}", ctx)


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
