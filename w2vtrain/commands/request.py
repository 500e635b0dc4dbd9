"""The arguments of a `fit` command, and the files that follow from them: results, lock files, folders.

Nothing is opened or created here.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from w2vtrain.formats.vector_formats import MODELS
from w2vtrain.parsers import MAX_SECONDS, MAX_WORDS, Number, Real, Whole
from w2vtrain.system.files import STDOUT

if TYPE_CHECKING:
    from w2vtrain.formats.vectors import Output

Export = Literal["auto", "in", "out", "in+out", "blend"]
"""Which vectors of a model to write: see formats.transforms.exported."""
MAX_LOCK_NAME_BYTES = 200
"""Maximum bytes of an output's name that its lock file's name repeats, since file names are limited to 255 bytes."""

RANGES: dict[str, Number] = {
    "progress_every": Real(0.0, MAX_SECONDS),
    "checkpoint_every": Real(0.0, 1e7),
    "sync_words": Whole(1, MAX_WORDS),
    "sync_timeout": Real(1.0, MAX_SECONDS),
}
"""The ranges of the numbers in a request, on the command line and in a run folder."""


@dataclass(frozen=True)
class FitRequest:
    """The arguments of a `fit` command.

    flags: settings as text; output: may be empty only with print_config. `plan_fit` fills in the last two fields unless
    the request comes from a run folder. origins: of each setting, as `fit_plan.stated_origins` returns them; command:
    repeats the run in the same working directory.
    """

    sources: Sequence[str]
    flags: dict[str, Any]
    output: str
    format_: str | None = None
    dtype: str = "float32"
    export: Export = "auto"
    save_output_vectors: str | None = None
    save_model: str | None = None
    save_vocab: str | None = None
    read_vocab: str | None = None
    init_from: str | None = None
    grow_vocabulary: bool | None = None
    freeze: bool = False
    heldout: Sequence[str] = ()
    log_json: str | None = None
    config: str | None = None
    cache_dir: str | None = None
    force: bool = False
    print_config: bool = False
    quiet: bool = False
    progress_every: float = 30
    run: str | None = None
    checkpoint_every: float = 10
    allow_changed: bool = False
    distributed: str | None = None
    sync_words: int | None = None
    sync_timeout: float = 300
    origins: dict[str, Any] = field(default_factory=dict)
    command: str = ""

    @property
    def record(self) -> str | None:
        """The JSON file of settings and record, beside the vectors; None if these go to a stream."""
        return None if is_stream(self.output) else f"{self.output}.json"

    @cached_property
    def vectors(self) -> "list[Output]":
        """The output of the vectors, and that of the output vectors if they are to be saved.

        The latter have the format of their suffix if --format names one of models. Raise the errors of `format_of`.
        """
        from w2vtrain.formats.vectors import Output, format_of

        outputs = [Output(self.output, format_of(self.output, self.format_, models=True), self.dtype)]
        if file := self.save_output_vectors:
            form = format_of(file, None if self.format_ in MODELS else self.format_)
            outputs.append(Output(file, form, self.dtype))
        return outputs

    @property
    def others(self) -> list[str]:
        """The names of all results but the vectors, ending with the JSON record beside the vectors."""
        return [*filter(None, [self.save_model, self.save_vocab, self.record])]

    @property
    def results(self) -> list[str]:
        """The names of all results: the files of the vectors, then the others."""
        return [*(name for output in self.vectors for name in output.names), *self.others]

    @property
    def files(self) -> list[str]:
        """The names of the results, and of the log if there is one."""
        return [*self.results, *filter(None, [self.log_json])]

    @property
    def locks(self) -> dict[str, Path]:
        """The lock file beside each of `files` that can have one."""
        return {file: lock_path(file) for file in self.files if not is_stream(file)}

    @property
    def run_folder(self) -> Path | None:
        """The folder for checkpoints: the requested one, else beside the vectors; None if they go to a stream."""
        if self.run:
            return Path(self.run)
        return None if is_stream(self.output) else Path(f"{self.output}.run")


def encoding_folder(cache_dir: str | None, output: str) -> Path | None:
    """Return the folder of the encoded corpus, by default the output's, whose disk must hold the results anyway.

    None is the system's folder for temporary files.
    """
    if cache_dir:
        return Path(cache_dir)
    return None if is_stream(output) else Path(output).resolve().parent


def is_stream(output: str) -> bool:
    """Return whether an output is standard output, a pipe or a device, which can have no files beside it."""
    path = Path(output)
    try:
        return output == STDOUT or (path.exists() and not path.is_file() and not path.is_dir())
    except OSError:  # the name is too long, which `check_writable` reports
        return False


def lock_path(output: str) -> Path:
    """Return the path of the lock file beside an output, with symbolic links resolved."""
    target = Path(os.path.realpath(output))
    name = os.fsencode(target.name)
    if len(name) > MAX_LOCK_NAME_BYTES:  # drop a partial character: some file systems reject it
        start = name[:MAX_LOCK_NAME_BYTES].decode("utf-8", "ignore")
        return target.parent / f".{start}{hashlib.sha256(name).hexdigest()[:16]}.lock"
    return target.parent / f".{target.name}.lock"
