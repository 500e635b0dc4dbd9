"""The arguments of a `fit` command, with their options, and the files that follow from them: results, locks, folders.

A field of FitRequest, or of the `Arguments` of a leaf, is the only place in which an argument is declared: its option,
and what it affects. Nothing is opened or created here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from w2vtrain.commands.click_classes import INPUT, MESSAGES, OUTPUTS, RANKS, RUN
from w2vtrain.commands.options import (
    OUTPUT,
    Declared,
    Export,
    Role,
    Within,
    all_of,
    allow_changed_option,
    argument,
    cache_option,
    config_option,
    dtype_option,
    export_option,
    force_option,
    format_option,
    quiet_option,
    shared_argument,
)
from w2vtrain.doors import corpora
from w2vtrain.formats.vector_formats import MODELS
from w2vtrain.parsers import MAX_SECONDS, MAX_WORDS, Real, Whole
from w2vtrain.system.files import is_stream, resolved
from w2vtrain.system.locks import lock_path

if TYPE_CHECKING:
    from w2vtrain.formats.vectors import Output


Request = TypeVar("Request")


def with_corpora(cls: type[Request]) -> type[Request]:
    """Return a dataclass with the arguments of the leaves, too, that make a corpus of files: see doors.CORPORA."""
    bases = (*(module.Arguments for module in reversed(corpora().values())), cls)
    return dataclass(frozen=True)(type(cls.__name__, bases, {"__doc__": cls.__doc__, "__module__": cls.__module__}))


@with_corpora
@dataclass(frozen=True)
class FitRequest:
    """The arguments of a `fit` command.

    flags: settings as text; output: may be empty only with print_config. `plan_fit` fills in the last two fields unless
    the request comes from a run folder. origins: of each setting, as `fit_plan.stated_origins` returns them; command:
    repeats the run in the same working directory.
    """

    sources: Sequence[str] = field(metadata={"affects": Role.LEARNED})
    flags: dict[str, Any]
    output: str = argument(
        OUTPUTS, "-o", "--output", default="", metavar="FILE", affects=Role.FILE,
        help=f"{OUTPUT}  [required, except by --dry-run]",
    )  # fmt: skip
    format_: str | None = shared_argument(format_option, Role.FORM)
    dtype: str = shared_argument(dtype_option, Role.FORM)
    export: Export = shared_argument(export_option, Role.FORM)  # noqa: RUF009 - it is a field
    save_output_vectors: str | None = argument(
        OUTPUTS, "--save-output-vectors", metavar="FILE", affects=Role.FILE,
        help="Also write the output vectors to FILE.",
    )  # fmt: skip
    save_model: str | None = argument(
        OUTPUTS, "--save-model", metavar="FILE", affects=Role.FILE,
        help="Also write the model: vectors, counts, settings, record, tree or noise.",
    )  # fmt: skip
    save_vocab: str | None = argument(
        OUTPUTS, "--save-vocab", metavar="FILE", affects=Role.FILE,
        help="Also write the vocabulary, one `word count` per line.",
    )  # fmt: skip
    read_vocab: str | None = argument(
        INPUT, "--read-vocab", metavar="FILE", affects=Role.LEARNED,
        help="Read the vocabulary from a file of `word count` lines instead of counting the corpus; --min-count and"
        " --max-vocab reduce it only if given.",
    )  # fmt: skip
    init_from: str | None = argument(
        INPUT, "--init-from", metavar="FILE", affects=Role.LEARNED,
        help="Start from a model that --save-model wrote: train its words further, with its settings unless others"
        " are given. From vectors in any format, take only the input vectors.",
    )  # fmt: skip
    grow_vocabulary: bool | None = argument(
        INPUT, "--grow-vocabulary/--no-grow-vocabulary", affects=Role.LEARNED,
        help="With --init-from: keep all its words, and train new words that occur --min-count times in the"
        " corpus. A model's counts grow by those of the corpus. Vectors have no counts: those whose words the"
        " corpus lacks are written unchanged, after the others.  [default: off]",
    )  # fmt: skip
    freeze: bool = argument(
        INPUT, "--freeze", is_flag=True, affects=Role.LEARNED,
        help="With --init-from: keep the vectors of its words unchanged, and train only those of new words.",
    )  # fmt: skip
    heldout: Sequence[str] = argument(
        INPUT, "--heldout", multiple=True, metavar="FILE", affects=Role.LEARNED,
        help="Score this text after each epoch and keep the vectors of the best epoch; repeatable.",
    )  # fmt: skip
    save_word_vectors: str | None = argument(
        OUTPUTS, "--save-word-vectors", metavar="FILE", affects=Role.FILE,
        help="With --documents: also write the vectors of words, if they are trained.",
    )  # fmt: skip
    log_json: str | None = argument(
        MESSAGES, "--log-json", metavar="FILE", affects=Role.FILE,
        help="Also write a log, one JSON object per line: progress, epochs, warnings and the result; - is stdout.",
    )  # fmt: skip
    config: str | None = shared_argument(config_option)
    cache_dir: str | None = shared_argument(cache_option)
    force: bool = shared_argument(force_option)
    print_config: bool = argument(
        MESSAGES, "--print-config", is_flag=True,
        help="Print all settings and their origins as TOML, and exit.",
    )  # fmt: skip
    quiet: bool = shared_argument(quiet_option)
    progress_every: float = argument(
        MESSAGES, "--progress-every", type=Within(Real(0.0, MAX_SECONDS)), metavar="SECONDS", default=30,
        help="Time between progress lines on stderr and in --log-json.",
    )  # fmt: skip
    run: str | None = argument(
        RUN, "--run", metavar="DIR",
        help="Folder for checkpoints.  [default: output name + .run; none for stdout]",
    )  # fmt: skip
    checkpoint_every: float = argument(
        RUN, "--checkpoint-every", type=Within(Real(0.0, 1e7)), metavar="MINUTES", default=10,
        help="Time between checkpoints. SIGUSR1 saves one at once; SIGTERM, SIGHUP, Ctrl-C or, on Windows,"
        " Ctrl-Break saves one and stops.",
    )  # fmt: skip
    allow_changed: bool = shared_argument(allow_changed_option)
    distributed: str | None = argument(
        RANKS, "--distributed", type=click.Choice(["mpi"]),
        help="Train on all ranks of an MPI job, such as `mpiexec -n 4 w2vtrain fit ...`; needs w2vtrain[mpich] or"
        " [mpi].",
    )  # fmt: skip
    sync_words: int | None = argument(
        RANKS, "--sync-words", type=Within(Whole(1, MAX_WORDS)), metavar="N",
        help="With --distributed: words per rank between two synchronizations.  [default: adapted to the network]",
    )  # fmt: skip
    sync_timeout: float = argument(
        RANKS, "--sync-timeout", type=Within(Real(1.0, MAX_SECONDS)), metavar="SECONDS", default=300,
        help="With --distributed: end the run if a rank does not answer; the same command continues it.",
    )  # fmt: skip
    origins: dict[str, Any] = field(default_factory=dict)
    command: str = ""

    @property
    def record(self) -> str | None:
        """The JSON file of settings and record, beside the vectors; None if these go to a stream."""
        return None if is_stream(self.output) else f"{self.output}.json"

    @cached_property
    def vectors(self) -> "list[Output]":
        """The output of the vectors, and those of output vectors and of words beside documents, if these are saved.

        These have the format of their suffix if --format names one of models. Raise the errors of `format_of`.
        """
        from w2vtrain.formats.vectors import Output, format_of

        outputs = [Output(self.output, format_of(self.output, self.format_, models=True), self.dtype)]
        for file in filter(None, (self.save_output_vectors, self.save_word_vectors)):
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


OPTIONS: dict[str, Declared] = {
    row.name: row.metadata["option"] for row in fields(FitRequest) if "option" in row.metadata
}
"""The options of the fields of a request."""
request_options = all_of(*OPTIONS.values())


def _affecting(*what: Role) -> tuple[str, ...]:
    return tuple(row.name for row in fields(FitRequest) if row.metadata.get("affects") in what)


DECIDING, FILES, STATED = _affecting(Role.LEARNED), _affecting(Role.FILE), _affecting(*Role)
"""Names of fields: those that affect what is learned, those that name files to write, and those with any effect, which
must be equal on all ranks.
"""


def encoding_folder(cache_dir: str | None, output: str) -> Path | None:
    """Return the folder of the encoded corpus, by default the output's, whose disk must hold the results anyway.

    None is the system's folder for temporary files.
    """
    if cache_dir:
        return Path(cache_dir)
    return None if is_stream(output) else resolved(output).parent
