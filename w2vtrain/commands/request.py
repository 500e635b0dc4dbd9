"""What the command line of `fit` asks for, and which files that means: results, lock files, folders.

It opens and creates none of them.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from w2vtrain.system.files import STDOUT

LONGEST_NAME = 200
"""Bytes of an output's name that its lock file's name repeats: names may have 255."""


@dataclass(frozen=True)
class FitRequest:
    """The command line of `fit`. flags: settings as text; output: "" only with print_config."""

    sources: Sequence[str]
    flags: dict[str, Any]
    output: str
    format_: str | None = None
    save_output_vectors: str | None = None
    save_model: str | None = None
    save_vocab: str | None = None
    read_vocab: str | None = None
    heldout: Sequence[str] = ()
    log_json: str | None = None
    config: str | None = None
    cache_dir: str | None = None
    force: bool = False
    print_config: bool = False
    quiet: bool = False
    progress_every: float = 30.0
    run: str | None = None
    checkpoint_every: float = 10.0
    on_full: str = "stop"
    allow_changed: bool = False


def outputs(request: FitRequest) -> list[str]:
    """Return all results that the run will write; the record beside the vectors comes last."""
    named = [request.output, request.save_output_vectors, request.save_model, request.save_vocab, record_file(request)]
    return [file for file in named if file]


def record_file(request: FitRequest) -> str | None:
    """Return the file of the settings and the record: beside the vectors, if these are a file."""
    return None if is_stream(request.output) else f"{request.output}.json"


def is_stream(output: str) -> bool:
    """Return whether an output is a pipe or a device, beside which nothing can lie."""
    path = Path(output)
    try:
        return output == STDOUT or (path.exists() and not path.is_file() and not path.is_dir())
    except OSError:  # a name that is too long: `check_writable` says so
        return False


def all_outputs(request: FitRequest) -> list[str]:
    """Return the results, and the log if there is one."""
    return [*outputs(request), *filter(None, [request.log_json])]


def regular(files: Sequence[str]) -> list[str]:
    """Return the outputs that are files, or will be; not standard output, pipes and devices."""
    return [file for file in files if not is_stream(file)]


def lock_path(output: str) -> Path:
    """Return the lock file beside an output, symbolic links followed."""
    target = Path(os.path.realpath(output))
    name = os.fsencode(target.name)
    if len(name) > LONGEST_NAME:  # a character that is cut in two is left out: some systems refuse half a one
        start = name[:LONGEST_NAME].decode("utf-8", "ignore")
        return target.parent / f".{start}{hashlib.sha256(name).hexdigest()[:16]}.lock"
    return target.parent / f".{target.name}.lock"


def run_folder(request: FitRequest) -> Path | None:
    """Return the folder of checkpoints: as requested, or beside the vectors; None if these go to a pipe or device."""
    if request.run:
        return Path(request.run)
    return None if is_stream(request.output) else Path(f"{request.output}.run")


def cache_folder(output: str) -> Path | None:
    """Return the output's folder, which has room for results; None, the system's folder, for a pipe or a device."""
    return None if is_stream(output) else Path(output).resolve().parent
