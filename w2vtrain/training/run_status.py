"""Describe a run from its folder, or from the record beside its vectors, for people: what it is and how far it is.

Nothing is changed, and a run that is still training is not affected.
"""

import shlex
import time
from codecs import BOM_UTF8
from contextlib import suppress
from pathlib import Path
from typing import Any

from w2vtrain.config import Settings, validated
from w2vtrain.errors import ConfigError, W2VError
from w2vtrain.registry import is_code, placed_here
from w2vtrain.system.files import OPEN_FILE, STDOUT, resume_command
from w2vtrain.system.json_text import json_object
from w2vtrain.system.locks import holder
from w2vtrain.system.reading import open_input
from w2vtrain.training import checkpoint_file
from w2vtrain.training.run_files import CONFIG, LOCK, MAX_CONFIG_BYTES, Config, run_config
from w2vtrain.training.state import Saved


def is_run_folder(path: str | Path) -> bool:
    """Return whether a path is a folder with the config.json of a run."""
    return Path(path, CONFIG).exists()


def describe_run(path: str | Path) -> dict[str, Any]:
    """Return a description of the run in a folder.

    Keys: path, kind, status ("running", "stopped" or "complete"), process (while it is running), checkpoint (its
    number, None if there is none), saved (its local time), epoch and epochs (the epoch it is in, counted from 1),
    progress (from 0 to 1), seconds (of training) and seconds_left, as of the checkpoint and None if unknown; note (if
    there are checkpoints, and none is valid); outputs, command (which continues the run) and settings.

    Raise InputMissing if there is no such folder, and DataError if its config.json is damaged.
    """
    folder = Path(path)
    config = run_config(folder)
    process = holder(folder / LOCK)
    status = "running" if process else "complete" if config.complete else "stopped"
    request, settings = config.request, config.settings
    names = ("output", "save_output_vectors", "save_word_vectors", "save_model", "save_vocab", "log_json")
    outputs = [str(request[name]) for name in names if request.get(name)]
    described: dict[str, Any] = {"path": str(path), "kind": "run folder", "status": status}
    if process:
        described["process"] = process
    command = resume_command(path)
    for kind in ("objective", "architecture"):  # the user's code runs only if it is named again
        if isinstance(name := settings.get(kind), str) and is_code(name):
            command += f" --{kind} {shlex.quote(placed_here(name, config.home(folder)))}"
    if STDOUT in config.inputs:
        command += " < VOCABULARY" if request.get("read_vocab") == STDOUT else " < TEXT"
    if any(map(OPEN_FILE.fullmatch, config.inputs)):
        command = "repeat the `fit` command"  # a shell opens what it reads, as for <(...)
    if "comparison" in request:
        command = "repeat the `compare` command"
    return described | _progress(folder, config) | {"outputs": outputs, "command": command, "settings": settings}


def _progress(folder: Path, config: Config) -> dict[str, Any]:
    """Return how far the newest checkpoint is; None for what is unknown."""
    progress: dict[str, Any] = dict.fromkeys(
        ("checkpoint", "saved", "epoch", "epochs", "progress", "seconds", "seconds_left")
    )
    found = checkpoint_file.numbers(folder)  # first: while the run continues, newer ones replace them
    newest = checkpoint_file.newest_saved(folder, config.run)
    if found and newest is None:
        names = ", ".join(checkpoint_file.path_of(folder, number).name for number in found)
        progress["note"] = f"{names}: damaged, or of another run; `w2vtrain resume` says which"
    with suppress(ConfigError, AttributeError, TypeError):
        settings = validated(config.settings)
        progress["epochs"] = settings.epochs
        if newest:
            number, saved, seconds = newest
            progress |= {"checkpoint": number, "saved": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))}
            progress |= _so_far(saved, settings)
    return progress


def _so_far(saved: Saved, settings: Settings) -> dict[str, Any]:
    """Return the epoch that a run is in, and its progress, from the chunks that it has trained on."""
    state = saved.state
    done = (state.epoch + min(1.0, state.chunks / max(1, saved.chunks))) / settings.epochs
    spent = state.spent + state.seconds
    if settings.seconds:
        done = max(done, spent / settings.seconds)
    done = 1.0 if state.is_over else min(1.0, done)
    left = spent * (1 - done) / done if done else None
    return {
        "epoch": min(state.current, settings.epochs), "progress": done, "seconds": spent, "seconds_left": left,
    }  # fmt: skip


def describe_record(path: str | Path) -> dict[str, Any] | None:
    """Return a description of the record that `fit` writes beside its vectors, FILE.json; None for any other file.

    The config.json of a run folder is described as the folder.

    Keys: path, kind, vectors (the file beside it), epochs, command, repeat (the command that began the run, if the
    record has it), settings and record. If the run folder beside it has a run that is not finished, run is that folder,
    and command continues it; otherwise, command trains the vectors further: there is none for vectors of documents.
    Raise InputMissing if the file cannot be read.
    """
    with open_input(path) as (file, _):
        data = file.read(4).removeprefix(BOM_UTF8)
        if data[:1] != b"{":
            return None
        data += file.read(MAX_CONFIG_BYTES)
    try:
        values = json_object(data, f"{path} is")
    except W2VError:
        return None
    if Path(path).name == CONFIG and "request" in values:
        return describe_run(Path(path).parent)
    settings, record = values.get("settings"), values.get("record")
    if not isinstance(settings, dict) or not isinstance(record, dict):
        return None
    vectors = str(path).removesuffix(".json")
    described = {"path": str(path), "kind": "record of a run", "vectors": vectors, "epochs": settings.get("epochs")}
    folder, command = f"{vectors}.run", values.get("command")
    began = command.split() if isinstance(command, str) else []
    if is_run_folder(folder):
        described |= {"run": folder, "command": resume_command(folder)}
    elif "--documents" not in began:  # which cannot be trained further
        graph = " --graph" * ("--graph" in began)
        described["command"] = f"w2vtrain fit CORPUS{graph} -o FILE --init-from {shlex.quote(vectors)}"
    if began:
        described["repeat"] = command
    return described | {"settings": settings, "record": record}
