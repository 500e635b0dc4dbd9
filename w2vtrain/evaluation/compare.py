"""Compare objectives, each trained by the same program on the same text within the same budget.

Every job runs in its own process, so that its peak memory can be measured. Its result is kept in a file, so that an
interrupted comparison can resume. report.py turns the results into tables and plots.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from w2vtrain.aliases import overlaid, translated
from w2vtrain.config import ROWS, Settings, validated
from w2vtrain.errors import ConfigError, DataError, W2VError
from w2vtrain.evaluation import report
from w2vtrain.objectives import checked_options, objectives, option_defaults
from w2vtrain.system.files import atomic_write
from w2vtrain.system.json_text import json_object, json_text
from w2vtrain.system.reading import read_small
from w2vtrain.training.fit import effective

TAKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,="
"""Characters of a job's name that its file name keeps; every other one becomes a hyphen."""

LARGEST = 16 << 20
"""Maximum size of a result file in bytes."""
REMEDY = "; remove it to train again"


@dataclass(frozen=True)
class Contender:
    """One row of the table: the name that the user gave, and the settings that differ from those of the comparison."""

    name: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The contenders, the texts and the settings of a comparison.

    heldout: text scored after each epoch; test: text scored at the end, by default heldout; rates: learning rates to
    try for each contender that sets none; tune_seconds: duration of each try.
    """

    sources: Sequence[str]
    heldout: str
    folder: Path
    settings: Settings
    contenders: list[Contender]
    seeds: int = 1
    test: str | None = None
    questions: str | None = None
    pairs: Sequence[str] = ()
    rates: Sequence[float] = ()
    tune_seconds: float = 20.0


@dataclass(frozen=True)
class Job:
    """One training run, as passed to its process. settings: every setting, not only those that differ."""

    name: str
    sources: list[str]
    heldout: str
    settings: dict[str, Any]
    test: str | None = None
    questions: str | None = None
    pairs: list[str] = field(default_factory=list)


def contenders(text: str) -> list[Contender]:
    """Parse objectives with optional options and settings, such as `softmax, nce(negative=25, alpha=0.1)`.

    `all` means every objective. Raise ConfigError, naming the objective and the mistake.
    """
    if text.strip() == "all":
        return [Contender(name, {"objective": name}) for name in objectives()]
    found = []
    for part in re.findall(r"[^,()]+(?:\([^()]*\))?", text):
        if not part.strip():
            continue
        match = re.fullmatch(r"\s*([\w-]+)\s*(?:\(([^()]*)\))?\s*", part)
        if not match:
            raise ConfigError(f"objectives: {part.strip()!r} is not NAME or NAME(KEY=VALUE, ...)")
        found.append(_contender(match[1], match[2] or ""))
    if not found:
        raise ConfigError("objectives: the list is empty")
    if twice := [c.name for c in found if [d.name for d in found].count(c.name) > 1]:
        raise ConfigError(f"objectives: {twice[0]} is listed twice")
    return found


def _contender(objective: str, inside: str) -> Contender:
    known = option_defaults(objective)
    settings: dict[str, Any] = {"objective": objective}
    options: dict[str, Any] = {}
    for pair in filter(str.strip, inside.split(",")):
        key, equals, value = (part.strip() for part in pair.partition("="))
        key = key.replace("-", "_")
        if not equals or (key not in known and key not in ROWS) or key == "options":
            raise ConfigError(
                f"objectives: {pair.strip()!r} is not KEY=VALUE, where KEY is an option of {objective} or a setting"
            )
        (options if key in known else settings)[key] = value
    checked_options(objective, options)
    name = f"{objective}({', '.join(pair.strip() for pair in inside.split(','))})" if inside.strip() else objective
    return Contender(name, {**settings, "options": options} if options else settings)


def jobs(comparison: Comparison, rates: dict[str, float]) -> Iterator[Job]:
    """Yield every job of a comparison; for each seed, contenders take turns, because machine speed drifts."""
    for seed in range(1, comparison.seeds + 1):
        for contender in comparison.contenders:
            more = {"alpha": rates[contender.name]} if contender.name in rates else {}
            yield _job(comparison, contender, f"{contender.name} seed {seed}", {"seed": seed, **more})


def _job(comparison: Comparison, contender: Contender, name: str, more: dict[str, Any]) -> Job:
    base = {key: value for key, value in asdict(comparison.settings).items() if key != "options"}
    settings, _ = effective(validated(overlaid(base, {**contender.settings, **more})))
    if settings.seconds is not None:  # no held-out text is scored during training, see `train`
        settings = replace(settings, patience=None)
    c = comparison
    return Job(name, list(c.sources), c.heldout, asdict(settings), c.test, c.questions, list(c.pairs))


def tuning(comparison: Comparison) -> Iterator[tuple[Contender, list[Job]]]:
    """Yield each contender that sets no learning rate, with one short job per rate to try."""
    for contender in comparison.contenders:
        if comparison.rates and "alpha" not in contender.settings:
            more = {"seconds": comparison.tune_seconds, "epochs": 1_000_000, "patience": None}
            yield (
                contender,
                [
                    replace(
                        _job(comparison, contender, f"{contender.name} alpha {rate:g}", {"alpha": rate, **more}),
                        questions=None, pairs=[], test=None,
                    )
                    for rate in comparison.rates
                ],
            )  # fmt: skip


def train_all(comparison: Comparison, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Tune learning rates, train and score; return the results of all jobs. Results found in the folder are reused."""
    for job in jobs(comparison, {}):  # find every wrong setting before training starts
        del job
    rates: dict[str, float] = {}
    for contender, tries in tuning(comparison):
        found = [result(comparison.folder / "tuning", job, say) for job in tries]
        best = min(range(len(tries)), key=lambda i: _perplexity(found[i]))
        rates[contender.name] = tries[best].settings["alpha"]
        say(
            f"{contender.name}: alpha {rates[contender.name]:g} is the best of "
            f"{', '.join(f'{r:g}' for r in comparison.rates)}"
        )
    return [result(comparison.folder / "runs", job, say) for job in jobs(comparison, rates)]


def _perplexity(found: dict[str, Any]) -> float:
    """Return the perplexity of a result; infinity if the training failed or JSON could not store the value."""
    value = found["test"]["perplexity"] if "test" in found else None
    return float("inf") if value is None else float(value)


def result(folder: Path, job: Job, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the result of a job: from its file if that exists, otherwise by training now.

    Raise ConfigError if the file belongs to another job, and DataError if it is damaged or incomplete.
    """
    path = folder / f"{''.join(c if c in TAKEN else '-' for c in job.name)}.json"
    if path.exists():
        kept = json_object(read_small(path, LARGEST, remedy=REMEDY), f"{path} is", REMEDY)
        if _job_of(kept) != asdict(job):
            raise ConfigError(f"{path}: belongs to another comparison; choose another folder, or remove the file")
        if not report.complete(kept):
            raise DataError(f"{path}: some figures are missing or are not numbers{REMEDY}")
        return kept
    started = time.monotonic()
    found = {"job": asdict(job), **_train_apart(job)}
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(json_text(found, indent=True).encode() + b"\n")
    about = f"perplexity {_perplexity(found):,.2f}" if "test" in found else found["failed"]
    say(f"{job.name}: {about}, {time.monotonic() - started:.0f} s in total")
    return found


def _job_of(kept: dict[str, Any]) -> Any:
    """Return the job of a result read from a file, with the settings that are aliases of `architecture` translated."""
    job = kept.get("job")
    if not isinstance(job, dict) or not isinstance(job.get("settings"), dict):
        return job
    return {**job, "settings": translated(job["settings"])}


def _train_apart(job: Job) -> dict[str, Any]:
    command = [sys.executable, "-c", "import w2vtrain.evaluation.compare as c; c.child()"]
    done = subprocess.run(command, input=json_text(asdict(job)).encode(), stdout=subprocess.PIPE, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise ConfigError(f"{job.name}: the process exited with code {done.returncode} and no result") from None
    if found.get("exit_code", 76) != 76:  # a run that diverges is a result; any other error ends the comparison
        raise ConfigError(f"{job.name}: {found['failed']}")
    return found


def write_reports(folder: Path, results: list[dict[str, Any]]) -> str:
    """Write compare.json, table.md, table.csv and curves.png to `folder`; return the Markdown table."""
    table = report.markdown(report.table(results))
    texts = {"compare.json": json_text(results, indent=True), "table.md": table}
    texts["table.csv"] = report.comma_separated(results)
    for name, text in texts.items():
        with atomic_write(folder / name, force=True) as file:
            file.write(text.encode())
    report.picture(results, folder / "curves.png")
    return table


def child() -> None:
    """Train and score one job, read from standard input; write the result to standard output as one line of JSON."""
    job = Job(**json.load(sys.stdin.buffer))
    try:
        found = train(job)
    except W2VError as error:
        found = {"failed": str(error), "exit_code": error.exit_code}
    sys.stdout.buffer.write(json_text(found).encode() + b"\n")  # UTF-8 in every locale


def train(job: Job) -> dict[str, Any]:
    """Train one job in this process; return its measurements and scores."""
    from w2vtrain.training.fit import fit
    from w2vtrain.training.fit import perplexity as measure
    from w2vtrain.training.inputs import Inputs, heldout_text
    from w2vtrain.training.perplexity import speed
    from w2vtrain.training.predictor import model_predictor

    # Held-out text is scored after each epoch, but not under a time limit: even the first epoch may not end within it.
    timed = job.settings["seconds"] is not None
    model = fit(Inputs(job.sources, [] if timed else [job.heldout]), Settings(**job.settings))
    found, coverage = measure(model, [job.test or job.heldout], int(job.settings["threads"]))
    settings, vocabulary, predictor = model_predictor(model)
    text, _ = heldout_text([job.heldout], settings, vocabulary)
    names = ("epochs", "seconds", "words_per_second", "output_parameters", "peak_memory_bytes", "versions")
    return {
        **{name: model.record[name] for name in names},
        "vocabulary": len(vocabulary),
        "width": settings.vector_size + settings.bias,
        "test": {**asdict(found), "coverage": coverage},
        "scored_per_second": speed(predictor.scorer, predictor.layer, predictor.windows, text),
        "scores": _evaluate(model, job) if job.questions or job.pairs else {},
    }


def _evaluate(model: Any, job: Job) -> dict[str, float]:
    from w2vtrain.evaluation.measure import evaluate
    from w2vtrain.formats.vectors import write_vectors

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "vectors.bin")
        write_vectors(path, model.words, model.input)
        return evaluate(path, job.questions, tuple(job.pairs))
