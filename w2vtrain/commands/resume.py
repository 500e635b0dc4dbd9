"""The command `resume`, which continues a run from its folder. The content of the folder is checked as untrusted input.

Nothing is trained here.
"""

import os
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2vtrain.commands.fit_request import FILES, OPTIONS, FitRequest
from w2vtrain.commands.options import (
    CODES,
    Within,
    allow_changed_option,
    cache_option,
    code_options,
    command,
    force_option,
    quiet_option,
)
from w2vtrain.commands.shell import imports
from w2vtrain.config import FIELDS, validated
from w2vtrain.errors import ConfigError, DataError, InputMissing, OutputError, shown
from w2vtrain.registry import CodeNotAllowed, is_code
from w2vtrain.system.files import OPEN_FILE, STDOUT, resolved

if TYPE_CHECKING:
    from w2vtrain.training.run_files import Config


@command(epilog=CODES)
@click.argument("run")
@force_option
@allow_changed_option
@code_options
@cache_option
@quiet_option
def resume(run: str, force: bool, quiet: bool, allow_changed: bool, cache_dir: str | None, **named: str | None) -> None:
    """Continue the run in folder RUN from its last checkpoint, with the same settings and outputs.

    Repeating the `fit` command does the same. With one thread and without --seconds, the results are byte-identical to
    those of an uninterrupted run; with several threads, every part of the text is trained on the same number of times.
    If the run read standard input, pass the same input again.
    """
    with imports():
        from w2vtrain.commands.fit_run import carry_out
        from w2vtrain.training.run_files import run_config
        from w2vtrain.training.run_status import describe_run
        from w2vtrain.user_code import Named, require
    folder = resolved(run)
    config = run_config(folder)
    if STDOUT in config.inputs and sys.stdin is not None and sys.stdin.isatty():
        command = describe_run(run)["command"]
        raise InputMissing(f"-: the run read standard input, which is a terminal now: continue it by `{command}`")
    code = Named(**named)
    code.allow()  # before chdir, because relative names refer to the current directory
    config.settings = code.in_place_of(config.settings, config.home(folder))
    require(str(config.settings.get("objective")), str(config.settings.get("architecture")), config.home(folder))
    # The folder for the encoded corpus is not taken from the run folder, because that is untrusted.
    cache = str(resolved(cache_dir)) if cache_dir else None
    cwd = config.cwd
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        with suppress(OSError):
            os.chdir(config.home(folder))  # relative names of code refer to it
        advice = elsewhere(folder, config, asked_before(folder, config))
        raise InputMissing(
            f"{shown(cwd)}: the folder that the run was started in does not exist; if it was moved: {advice}"
        ) from error
    request = asked_before(folder, config)
    if (place := resolved(Path(cwd, request.run_folder or ""))) != folder:
        advice = f"continue it here by {elsewhere(folder, config, request)}"
        if place.parent == folder.parent and place.exists():  # beside the folder are the outputs of the original
            advice = "copy it to another folder, where `w2vtrain resume` names the command that continues it"
        raise OutputError(f"{folder}: was copied or moved from {place}, whose outputs it would write: {advice}")
    if gone := next((file for file in config.inputs if _is_lost(file)), None):
        raise InputMissing(f"{gone}: a shell opened it for the run, as for <(...): repeat the `fit` command")
    absolute: dict[str, Any] = {name: str(Path(cwd, file)) for name, file in named_files(request).items()}
    asked = replace(
        request, **absolute, run=str(folder), quiet=quiet, force=force, allow_changed=allow_changed, cache_dir=cache
    )
    carry_out(asked, resumed=True)


def _is_lost(file: str) -> bool:
    """Return whether a file that a shell opened is gone, or is a terminal now, as /dev/stdin may be."""
    return bool(OPEN_FILE.fullmatch(file)) and (not Path(file).exists() or Path(file).is_char_device())


def elsewhere(folder: Path, config: "Config", request: FitRequest) -> str:
    """Return the `fit` command that continues a run whose folder, or the folder that it was started in, was moved.

    If the corpus moved with the run, the command is the original one in the new place. If the corpus is where it was,
    or beside the run folder, the results are written beside that folder. Otherwise, the user has to find the corpus.
    The command is built from checked fields, because a foreign folder could hold any command.
    """
    from w2vtrain.commands.fit_plan import repeated

    def has_corpus(place: str) -> bool:
        return all(name == STDOUT or Path(place, name).exists() for name in request.sources)

    cwd = config.cwd
    root, found, rest = str(folder).rpartition(f"{os.sep}{request.run_folder}")
    start = cwd if Path(cwd).is_dir() else str(folder.parent)
    if found and not rest and has_corpus(root):
        start, asked = root or os.sep, request
    elif start == cwd or has_corpus(start):
        beside: dict[str, Any] = {
            name: str(folder.parent / Path(file).name) for name, file in named_files(request).items()
        }
        asked = replace(request, **beside, run=str(folder))
    else:
        start, asked = "", replace(request, run=str(folder))
    place, without = f"cd {shlex.quote(start)} &&" if start else "go to its new place and run", ""
    log = Path(start, asked.log_json or "")
    if log.is_file() and [log.stat().st_ino] not in config.written.values():  # a copy, which is not this run's own
        asked, without = replace(asked, log_json=None), f" (without --log-json: {asked.log_json} exists)"
    settings = validated(request.flags)
    command = repeated(asked, settings, {**request.origins, "options": dict.fromkeys(settings.options)})
    return f"{place} {command}" + (f" --run {shlex.quote(asked.run)}" if asked.run else "") + without


def named_files(request: FitRequest) -> dict[str, str]:
    """Return the files to write, by the name of the field; standard output is none."""
    return {name: file for name in FILES if (file := getattr(request, name)) and file != STDOUT}


def asked_before(run: Path, config: "Config") -> FitRequest:
    """Return the request stored in a run folder; DataError if it is damaged.

    File names are relative to the folder that the run was started in.
    """
    from w2vtrain.architectures import architecture_class
    from w2vtrain.objectives import objective_class
    from w2vtrain.system.json_text import typed
    from w2vtrain.training.plan import check_origins
    from w2vtrain.training.run_files import CONFIG, REMEDY

    damaged = f"{run}: its {CONFIG} is damaged"
    if "comparison" in config.request:
        raise DataError(f"{run}: is part of a comparison: repeat the `compare` command, which continues it")
    for load, kind in ((objective_class, "objective"), (architecture_class, "architecture")):
        if is_code(name := str(config.settings.get(kind))):
            load(name)  # here, because an error in the user's code is no damage
    try:
        settings = validated(config.settings)
        of_options = dict.fromkeys(settings.options, "settings")
        check_origins(settings, {**dict.fromkeys(FIELDS, "settings"), "options": of_options})
        given = {**config.request, "flags": vars(settings), "config": None, "print_config": False}
    except CodeNotAllowed:
        raise
    except (ValueError, ConfigError) as error:
        raise DataError(f"{damaged}: {error}{REMEDY}") from error
    request = typed(given, FitRequest, damaged, REMEDY)
    for name, value in vars(request).items():
        if not _is_possible(name, value):
            raise DataError(f"{damaged}: {name} is {shown(value)}{REMEDY}")
    if missing := [name for name in FIELDS if name not in request.origins]:
        raise DataError(f"{damaged}: it does not say where {missing[0]} is from{REMEDY}")
    return request


def _is_possible(name: str, value: Any) -> bool:
    """Return whether the command line would accept a number in a request, and all strings can be file names."""
    texts = value if isinstance(value, list) else [value]
    kind = OPTIONS[name].attributes.get("type") if name in OPTIONS else None
    try:
        if isinstance(kind, Within) and value is not None and kind.parser.parse(value) != value:
            return False
        return not any(b"\0" in os.fsencode(text) for text in texts if isinstance(text, str))
    except ValueError:
        return False
