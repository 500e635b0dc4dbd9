"""What a `fit` command will do, decided before it reads the corpus: `plan_fit` refuses all that cannot work.

Nothing is written here. fit_outputs.py checks the outputs once the run folder is locked.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w2vtrain.architectures import architecture_class
from w2vtrain.commands.fit_outputs import results_bytes
from w2vtrain.commands.fit_request import STATED, FitRequest, encoding_folder
from w2vtrain.commands.input_files import check_different, check_outside, refuse_stdin_twice, warn_repeated
from w2vtrain.commands.options import Export
from w2vtrain.config import INIT_FROM, Settings, option, resolve
from w2vtrain.doors import corpora
from w2vtrain.errors import ConfigError, CorpusChanged, OutputError, UsageError, check_all, reason, shown
from w2vtrain.formats.fasttext_file import NAME as FASTTEXT
from w2vtrain.formats.vectors import check_words
from w2vtrain.objectives import check_options, objective_class
from w2vtrain.objectives.contract import has_word_rows
from w2vtrain.registry import is_code
from w2vtrain.system.compression import check_suffix
from w2vtrain.system.files import STDOUT, among, is_stream, operand, resolved
from w2vtrain.system.machine import threads_of
from w2vtrain.system.reading import regular_size
from w2vtrain.system.stopping import NAME
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.engine_parts import parts_of
from w2vtrain.training.inputs import Generator, Inputs, Sources, corpus_of
from w2vtrain.training.one_process import Alone
from w2vtrain.training.plan import Plan, check_origins, without_effect
from w2vtrain.training.run import Run

if TYPE_CHECKING:
    from w2vtrain.training.warm_start import WarmStart


@dataclass(frozen=True)
class FitPlan(Plan):
    """What a `fit` command will do.

    request: with the origins of its settings, and with `export` as its export; reason: for the number of threads.
    """

    request: FitRequest
    reason: str

    @property
    def kept(self) -> "WarmStart | None":
        """The vectors whose words are all written, or None: those of a model are all trained."""
        start = self.inputs.start
        return start if start and not start.model and self.inputs.grow else None

    @property
    def export(self) -> Export:
        """The vectors to write: input vectors if words keep theirs or the format has no others, or as requested."""
        is_input = self.request.freeze or self.kept or self.request.vectors[0].form == FASTTEXT
        return "in" if is_input else self.request.export

    def run(self) -> Run:
        """Return the run, with its folder unless the vectors go to a stream."""
        request, folder = self.request, self.request.run_folder
        buckets = self.settings.bucket if self.settings.subwords else 0
        results = partial(results_bytes, request, self.kept, buckets)
        if folder is None:
            return Run(results)
        cache = Path(request.cache_dir) if request.cache_dir else None
        return CheckpointedRun(folder, request.checkpoint_every * 60, cache, request.allow_changed, results=results)


def plan_fit(request: FitRequest, environment: Mapping[str, str], ranks: Alone) -> FitPlan:
    """Return what a request asks for, the same on all ranks.

    Raise ConfigError, UsageError, OutputError, InputMissing or DataError, which names the first mistake of each kind in
    settings; if there are none, in results; and if there are none, in files. With --print-config, only settings are
    checked.
    """
    start = None
    if request.init_from:
        from w2vtrain.training.warm_start import WarmStart

        regular_size(request.init_from, stdin=False)
        start = WarmStart.load(request.init_from)
    asked, origins = (start.resolve if start else resolve)(request.flags, environment, request.config)
    if request.read_vocab and origins["min_count"] == "default":
        asked = replace(asked, min_count=1)
        origins["min_count"] = "--read-vocab"
    sources = sources_of(request)
    if isinstance(sources, Generator) and sources.architecture and origins["architecture"] == "default":
        asked = replace(asked, architecture=sources.architecture)
        origins["architecture"] = "chosen automatically"
    known = request.origins or origins  # a run folder has those of its command
    grow, is_raw = bool(request.grow_vocabulary), known["tokenizer"] == "default"
    inputs = Inputs(sources, request.heldout, start=start, grow=grow, freeze=request.freeze, raw=is_raw)
    if start and request.origins:
        check_same_start(start, asked, inputs)
    check_origins(asked, origins, str(request.init_from))  # its errors are raised alone, not by each of these checks
    _, planned, *_ = check_all(
        partial(check_effect, asked, known, inputs),
        partial(Plan.of, inputs, asked),
        partial(check_start, request, inputs),
        partial(check_frozen, request, inputs, asked.min_count, 0 if inputs.has_words_of_model else None),
    )
    settings, threads_reason = planned.settings, threads_of(asked.threads)[1]
    if not request.print_config:
        if ranks.leads:
            check_results(request, settings)
            check_files(request, planned)
        if ranks.size > 1:
            check_ranks(request, planned)
        folder = encoding_folder(request.cache_dir, request.output)
        inputs = replace(inputs, vocabulary=vocabulary_to_use(request, settings), folder=folder)
        shared = {name.rstrip("_").replace("_", "-"): getattr(request, name) for name in STATED}
        settings, threads_reason = ranks.agree(settings, threads_reason, shared, asked.threads == "auto")
    stated = request.origins or stated_origins(asked, settings, origins)
    command = request.command or repeated(request, settings, stated)
    plan = FitPlan(inputs, settings, replace(request, origins=stated, command=command), threads_reason)
    return plan if request.print_config else replace(plan, request=replace(plan.request, export=plan.export))


def sources_of(request: FitRequest) -> Sources:
    """Return what is read: text, or what a leaf makes of it. Raise UsageError for options that have no effect."""
    known = corpora()
    asked = [name for name in known if getattr(request, name)]
    for name, module in known.items():
        for row in fields(module.Arguments):
            if name not in asked and getattr(request, row.name) != row.default:
                raise UsageError(f"{option(row.name)}: has no effect without --{name}")
    if len(asked) > 1:
        raise UsageError(f"{asked[0]}: does not go with --{asked[1]}; leave out one of them")
    return known[asked[0]].source_of(request) if asked else request.sources


def vocabulary_to_use(request: FitRequest, settings: Settings) -> Vocabulary | None:
    """Return the vocabulary of --read-vocab, or None. Raise InputMissing or DataError."""
    if not request.read_vocab:
        return None
    return Vocabulary.load(request.read_vocab).cut(settings.min_count, settings.max_vocab)


def stated_origins(asked: Settings, settings: Settings, origins: Mapping[str, Any]) -> dict[str, Any]:
    """Return the origin of each setting, and under "options" that of each option of the objective.

    asked: the settings before automatic values are filled in; settings: with them; origins: of those asked for.
    """
    before = asdict(asked)
    stated = {
        name: "chosen automatically" if before[name] != value else origins[name]
        for name, value in asdict(settings).items()
    }
    options = {name: origins["options"].get(name, "default") for name in settings.options}
    return {**stated, "options": options}


def repeated(request: FitRequest, settings: Settings, origins: Mapping[str, Any]) -> str:
    """Return the `fit` command that repeats a run, whatever the environment and --config say then.

    It names the settings that are not defaults, and the files that decide what is learned and written.
    """
    words = [NAME, "fit", *map(operand, request.sources), "-o", request.output]
    for name in STATED:
        if name in ("sources", "output"):
            continue
        value, flag = getattr(request, name), f"--{option(name.rstrip('_'))}"
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each not in (None, False) and (name, each) != ("export", "auto"):
                words += [flag] if each is True else [flag, str(each)]
    unsaid = {"options", *without_effect(settings)}
    if origins["min_count"] == INIT_FROM and not request.grow_vocabulary:
        unsaid.add("min_count")  # it has no effect on the words of the model
    for name, value in asdict(settings).items():
        if name not in unsaid and value is not None and origins[name] != "default":
            flag = option(name)
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                words += [f"--{flag}", str(value)]
    for name, value in settings.options.items():
        if origins["options"][name] != "default":
            words += ["-O", f"{name}={json.dumps(value) if isinstance(value, bool) else value}"]
    return shlex.join(words)


def check_effect(settings: Settings, origins: Mapping[str, Any], inputs: Inputs) -> None:
    """Raise ConfigError for settings of the command line that have no effect."""
    reasons = without_effect(settings) | inputs.without_effect(settings)
    if mistakes := [why for name, why in reasons.items() if origins[name] == "command line"]:
        raise ConfigError("; ".join(mistakes))


def check_same_start(start: "WarmStart", settings: Settings, inputs: Inputs) -> None:
    """Raise CorpusChanged if a run that resumes could not have started from this: no other settings are the remedy."""
    try:
        start.check(settings, inputs.grow, inputs.freeze)
    except ConfigError as error:
        raise CorpusChanged(
            f"{start.name}, which the run started from, changed since the run began: restore it, or repeat the `fit`"
            " command with --force"
        ) from error


def check_start(request: FitRequest, inputs: Inputs) -> None:
    """Raise UsageError for options without --distributed or --init-from, for --read-vocab with a model, for results
    that cannot have all words of vectors, and for --freeze if other vectors are written; DataError if no results can.
    """
    start = inputs.start
    for name in ("sync_words", "sync_timeout") if request.distributed is None else ():
        if getattr(request, name) != getattr(FitRequest, name):
            raise UsageError(f"{option(name)}: has no effect without --distributed mpi")
    for name, value in (("grow-vocabulary", request.grow_vocabulary), ("freeze", request.freeze or None)):
        if start is None and value is not None:
            raise UsageError(f"{name}: has no effect without --init-from")
    if request.freeze and request.export not in ("auto", "in"):
        raise UsageError("export: --freeze keeps input vectors unchanged, and others change; use --export in")
    if start and not start.model and request.grow_vocabulary:
        if request.export not in ("auto", "in"):
            raise UsageError(f"export: the other words of {start.name} have input vectors alone; use --export in")
        if request.vectors[0].is_model:
            raise UsageError(
                f"{request.output}: a model has only words that were trained; write vectors, and the model with"
                " --save-model"
            )
        check_words(start.words, start.name)  # now, not after training
    if start and start.model and request.read_vocab:
        raise UsageError("read-vocab: with --init-from, the model has the vocabulary; leave out --read-vocab")


def check_frozen(request: FitRequest, inputs: Inputs, min_count: int, new_words: int | None) -> None:
    """Raise ConfigError if --freeze keeps all vectors, and nothing else that is learned would be written.

    new_words: the number of words that the model or vectors lack, or None if the text is not read yet.
    """
    if not request.freeze or new_words != 0:
        return
    if request.save_model or request.save_output_vectors or request.vectors[0].is_model:
        return
    more = inputs.has_words_of_model or (min_count > 1 and not isinstance(inputs.sources, Generator))
    raise ConfigError(
        "freeze: all words keep their vectors, so none would change: leave out --freeze"
        + (f"; {inputs.more_words()}" if more else "")
    )


def check_ranks(request: FitRequest, planned: Plan) -> None:
    """Raise UsageError or ConfigError for what several ranks cannot do: read or write a stream, or add words to a
    model.
    """
    start = planned.inputs.start
    if request.grow_vocabulary and start and start.model:
        raise ConfigError("distributed: several ranks cannot add words to a model or read lists of words")
    unread = [text.name for text in corpus_of(planned.inputs.sources, planned.settings).files if text.size is None]
    for name in [*unread, *filter(is_stream, filter(None, [request.read_vocab]))]:
        raise UsageError(
            f"{name} is not a regular file, so several processes cannot read it: save it in a file on storage that all"
            " hosts share"
        )
    for file in filter(is_stream, request.results):
        raise UsageError(
            "distributed: the ranks need a run folder: name an output file with -o;"
            f" {file} is a stream or a device, so name a file in its place"
        )


def check_files(request: FitRequest, planned: Plan) -> None:
    """Check every input and output that can be checked before the run folder is locked."""
    files, *_ = check_all(
        planned.files, partial(check_folders, request), partial(check_apart, request.files, request.run_folder)
    )
    paths = [file.path for file in files]
    refuse_stdin_twice(*paths)
    settings = planned.settings
    named = [request.read_vocab, request.init_from, request.config, settings.phrases, *settings.options.values()]
    named += filter(is_code, (settings.objective, settings.architecture))
    check_different(request.files, [*paths, *(name for name in named if name and isinstance(name, str))])
    warn_repeated([file.path for file in corpus_of(planned.inputs.sources, settings).files])
    folders = [str(request.run_folder)] if request.run_folder else []
    check_outside([*request.locks, *folders], [*request.sources, *request.heldout])


def check_folders(request: FitRequest) -> None:
    """Raise OutputError for the first output whose folder does not exist, before the run folder is created."""
    for file in request.files:
        try:
            missing = file != STDOUT and not resolved(file).parent.is_dir()
        except OSError as error:
            raise OutputError(f"{shown(file)} cannot be created: {reason(error)}") from error
        if missing:
            named = Path(file).parent
            folder = resolved(file).parent if named.is_dir() else named  # a link may lead to a folder that is missing
            raise OutputError(f"{file} cannot be created: there is no folder {folder}")


def check_apart(files: Sequence[str], folder: Path | None) -> None:
    """Raise UsageError for an output that is in the run folder, which is deleted at the end."""
    for file in files:
        path = resolved(file)
        if folder is not None and file != STDOUT and among(folder, [path, *path.parents]):
            raise UsageError(f"{file}: is inside {folder}, the run folder; choose another folder")


def check_export(export: Export, settings: Settings) -> None:
    """Raise ConfigError if output vectors are requested and the objective does not have one per word.

    With subwords, vectors must be input vectors, because words that are not in the vocabulary have no others.
    """
    if export not in ("auto", "in") and not has_word_rows(objective_class(settings.objective)):
        raise ConfigError(f"export: objective {settings.objective} has no output vector per word; use --export in")
    if export not in ("auto", "in") and parts_of(settings) > 1:
        raise ConfigError(f"export: {settings.architecture} has wider output vectors; use --export in")
    if export not in ("auto", "in") and settings.subwords:
        raise ConfigError(
            "export: with --subwords, only input vectors are composed of n-grams; use --export in, and"
            " --save-output-vectors FILE for the others"
        )


def check_document_files(request: FitRequest, settings: Settings) -> None:
    """Raise UsageError if a file cannot have the vectors of documents, vectors of words are not trained, or an option
    has no effect.
    """
    architecture, has_words = architecture_class(settings.architecture), request.save_word_vectors is not None
    if has_words and not architecture.uses_tags():
        raise UsageError("save-word-vectors: has no effect without --documents")
    if architecture.uses_tags() and request.export != "auto" and not has_words:
        raise UsageError("export: has no effect on vectors of documents; leave it out, or use --save-word-vectors")
    if architecture.uses_tags() and request.vectors[0].form == FASTTEXT:
        raise UsageError(f"{request.output}: fastText's format has no vectors of documents; choose another")
    if has_words and not architecture.uses_words():
        raise UsageError(
            f"save-word-vectors: {settings.architecture} trains no vectors of words: use pv-dbow-words or pv-dm, or"
            " --save-output-vectors"
        )


def check_results(request: FitRequest, settings: Settings) -> None:
    """Raise ConfigError or UsageError for results that the objective does not have, and for unknown suffixes.

    Raise the errors of `check_options` for the options of the objective.
    """

    def check_rows() -> None:
        if not check_options(settings) and request.save_output_vectors:
            raise ConfigError(f"save-output-vectors: objective {settings.objective} has no output vectors to save")

    others = ((request.save_vocab, True), (request.save_model, False), (request.log_json, False))
    check_all(
        check_rows, partial(check_export, request.export, settings), partial(check_formats, request),
        partial(check_document_files, request, settings),
        *(partial(check_suffix, file, compressible) for file, compressible in others if file),
    )  # fmt: skip


def check_formats(request: FitRequest) -> None:
    """Raise ConfigError or UsageError for vectors that cannot be written in the format of their file."""
    for output in request.vectors:
        output.check()
        if output.form == FASTTEXT and request.export not in ("auto", "in"):
            raise ConfigError(f"export: {output.path} has input vectors in fastText's format; use --export in")
