"""The command `resume`: read the request that is stored in a run folder, and carry it out.

The content of the folder is checked as untrusted input. Nothing is trained here.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from w2vtrain.commands.options import (
    CODES,
    allow_changed_option,
    cache_option,
    code_options,
    command,
    force_option,
    quiet_option,
)
from w2vtrain.commands.request import RANGES, FitRequest
from w2vtrain.commands.shell import imports
from w2vtrain.config import validated
from w2vtrain.errors import ConfigError, DataError, InputMissing, shown
from w2vtrain.registry import CodeNotAllowed


@command(epilog=CODES)
@click.argument("run")
@force_option
@allow_changed_option
@code_options
@cache_option
@quiet_option
def resume(run: str, force: bool, quiet: bool, allow_changed: bool, cache_dir: str | None, **named: str | None) -> None:
    """Continue the run in folder RUN from its last checkpoint, with the same settings and outputs.

    Repeating the `fit` command does the same. With one thread, the results are byte-identical to those of an
    uninterrupted run; with several, every part of the text is trained on the same number of times.
    """
    with imports():
        from w2vtrain.commands.run import carry_out
        from w2vtrain.training.folder import stored
        from w2vtrain.user_code import Named
    folder = Path(run).resolve()
    journal = stored(folder)
    Named(**named).allow()  # before chdir, because relative names refer to the current directory
    # The folder for the encoded corpus is not taken from the run folder, because that is untrusted.
    cache = str(Path(cache_dir).resolve()) if cache_dir else None
    cwd = journal.description["cwd"]
    try:
        os.chdir(cwd)
    except (OSError, TypeError, ValueError) as error:
        raise InputMissing(f"{shown(cwd)}: the folder that the run was started in does not exist") from error
    request = asked_before(folder, journal.description)
    asked = replace(request, quiet=quiet, force=force, allow_changed=allow_changed, cache_dir=cache)
    carry_out(asked, resumed=True)


def asked_before(run: Path, description: dict[str, Any]) -> FitRequest:
    """Return the request stored in a run folder; DataError if it is damaged.

    File names are relative to the folder that the run was started in, which must be the working directory.
    """
    from w2vtrain.architectures import architecture_class
    from w2vtrain.commands.plan import without_effect
    from w2vtrain.system.json_text import typed
    from w2vtrain.training.journal import CONFIG, REMEDY

    damaged = f"{run}: its {CONFIG} is damaged"
    if "comparison" in description["request"]:
        raise DataError(f"{run}: is part of a comparison: repeat the `compare` command, which continues it")
    try:
        settings = validated(description["settings"])
        architecture_class(settings.architecture)  # raises ConfigError if there is none
        mistakes = without_effect(settings)  # `fit` would reject these as options
        flags = {name: value for name, value in vars(settings).items() if value is not None and name not in mistakes}
        given = {**description["request"], "flags": flags, "config": None, "print_config": False, "run": str(run)}
    except CodeNotAllowed:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, ConfigError) as error:
        raise DataError(f"{damaged}: {error}{REMEDY}") from error
    request = typed(given, FitRequest, damaged, REMEDY)
    for name, value in vars(request).items():
        if not _is_possible(name, value):
            raise DataError(f"{damaged}: {name} is {shown(value)}{REMEDY}")
    return request


def _is_possible(name: str, value: Any) -> bool:
    """Return whether the command line would accept a number in a request, and all strings can be file names."""
    texts = value if isinstance(value, list) else [value]
    try:
        if name in RANGES and value is not None and RANGES[name].parse(value) != value:
            return False
        return not any(b"\0" in os.fsencode(text) for text in texts if isinstance(text, str))
    except ValueError:
        return False
