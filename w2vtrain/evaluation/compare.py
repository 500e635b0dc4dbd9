"""Compare objectives, each trained by the same program on the same text within the same budget.

Every job runs in its own process: see trial.py. Its result is kept in a file, so that an interrupted comparison can
resume. report.py turns the results into tables and plots.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from w2vtrain.aliases import overlaid, translated
from w2vtrain.config import ROWS, Settings, validated
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.evaluation import report
from w2vtrain.evaluation.curves import curves, picture, title
from w2vtrain.evaluation.trial import Job
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

    heldout: text scored after each epoch, or at fractions of a time limit; test: text scored at the end, by default
    heldout; rates: learning rates to try for each contender that sets none, such as "0.05" or, as a multiple of the
    contender's default, "2x"; tune_seconds: duration of each try.
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
    rates: Sequence[str] = ()
    tune_seconds: float = 20.0


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
    for pair in filter(str.strip, re.split(r",(?=[^,]*=|\s*$)", inside)):  # a value may be a list: cutoffs=2000,20000
        key, equals, value = (part.strip() for part in pair.partition("="))
        key = key.replace("-", "_")
        if not equals or (key not in known and key not in ROWS) or key == "options":
            raise ConfigError(
                f"objectives: {pair.strip()!r} is not KEY=VALUE, where KEY is an option of {objective} or a setting"
            )
        (options if key in known else settings)[key] = value
    checked_options(objective, options)
    name = f"{objective}({', '.join(part.strip() for part in inside.split(','))})" if inside.strip() else objective
    return Contender(name, {**settings, "options": options} if options else settings)


def jobs(comparison: Comparison, rates: dict[str, float]) -> Iterator[Job]:
    """Yield every job of a comparison; for each seed, contenders take turns, because machine speed drifts."""
    for seed in range(1, comparison.seeds + 1):
        for contender in comparison.contenders:
            more = {"alpha": rates[contender.name]} if contender.name in rates else {}
            yield _job(comparison, contender, f"{contender.name} seed {seed}", {"seed": seed, **more})


def _job(comparison: Comparison, contender: Contender, name: str, more: dict[str, Any]) -> Job:
    base, own = asdict(comparison.settings), {**contender.settings, **more}
    shared = base.pop("options") if own["objective"] == base["objective"] else {}
    own["options"] = {**shared, **own.get("options", {})}
    settings, _ = effective(validated(overlaid(base, own)))
    if settings.seconds is not None:  # no epoch is scored: see trial.Curve
        settings = replace(settings, patience=None)
    c = comparison
    return Job(name, list(c.sources), c.heldout, asdict(settings), c.test, c.questions, list(c.pairs))


def tuning(comparison: Comparison) -> Iterator[tuple[list[str], list[Job]]]:
    """Yield the names of contenders that need a learning rate, with one short job per rate to try.

    Contenders that differ only in their budget share their rate.
    """
    groups: dict[str, list[Contender]] = {}
    for contender in comparison.contenders:
        if comparison.rates and "alpha" not in contender.settings:
            groups.setdefault(without_budget(contender.name), []).append(contender)
    for name, group in groups.items():
        tries = []
        for rate in rates_of(comparison, group[0]):
            more = {"alpha": rate, "seconds": comparison.tune_seconds, "epochs": 1_000_000, "patience": None}
            job = _job(comparison, group[0], f"{name} alpha {rate:g}", more)
            tries.append(replace(job, questions=None, pairs=[], test=None, brief=True))
        yield [contender.name for contender in group], tries


def without_budget(name: str) -> str:
    """Return a contender's name without its epochs and seconds, as in `nce` for `nce(epochs=2)`."""
    objective, _, inside = name.partition("(")
    kept = [part for part in inside.removesuffix(")").split(", ") if not re.match(r"(epochs|seconds)\s*=", part)]
    return f"{objective}({', '.join(kept)})" if any(kept) else objective


def rates_of(comparison: Comparison, contender: Contender) -> list[float]:
    """Return the learning rates to try for a contender."""
    default = _job(comparison, contender, contender.name, {}).settings["alpha"]
    return [default * float(rate[:-1]) if rate.endswith("x") else float(rate) for rate in comparison.rates]


def train_all(comparison: Comparison, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Tune learning rates, train and score; return the results of all jobs. Results found in the folder are reused.

    A run that diverges at the best of the rates that were tried is trained again at the next lower one.
    """
    total = len(list(jobs(comparison, {})))  # finds every wrong setting before training starts
    rates, lower = tuned(comparison, say)
    results = []
    for number, job in enumerate(jobs(comparison, rates), 1):
        found = result(comparison.folder / "runs", job, say, f"{number} of {total}, ")
        for rate in lower.get(job.name.partition(" seed ")[0], []):
            if "failed" not in found:
                break
            low = rate * job.settings["min_alpha"] / job.settings["alpha"]
            again = replace(
                job, name=f"{job.name} alpha {rate:g}", settings=job.settings | {"alpha": rate, "min_alpha": low}
            )
            found = result(comparison.folder / "runs", again, say, f"{number} of {total}, ")
        results.append(found)
    return results


def tuned(comparison: Comparison, say: Callable[[str], None]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Try learning rates; return the best one of each contender, and the lower ones that were tried, highest first."""
    rates: dict[str, float] = {}
    lower: dict[str, list[float]] = {}
    for names, tries in tuning(comparison):
        found = [result(comparison.folder / "tuning", job, say) for job in tries]
        tried = [float(job.settings["alpha"]) for job in tries]
        best = tried[min(range(len(tries)), key=lambda i: _perplexity(found[i]))]
        rates |= dict.fromkeys(names, best)
        lower |= dict.fromkeys(names, sorted((rate for rate in tried if rate < best), reverse=True))
        say(f"{without_budget(names[0])}: alpha {best:g} is the best of {', '.join(f'{rate:g}' for rate in tried)}")
    return rates, lower


def _perplexity(found: dict[str, Any]) -> float:
    """Return the perplexity of a result; infinity if the training failed or JSON could not store the value."""
    value = found["test"]["perplexity"] if "test" in found else None
    return float("inf") if value is None else float(value)


def result(folder: Path, job: Job, say: Callable[[str], None], number: str = "") -> dict[str, Any]:
    """Return the result of a job: from its file if that exists, otherwise by training now.

    number: the beginning of what is said about a result.

    Raise ConfigError if the file belongs to another job, and DataError if it is damaged or incomplete.
    """
    path = folder / f"{''.join(c if c in TAKEN else '-' for c in job.name)}.json"
    if path.exists():
        kept = json_object(read_small(path, LARGEST, remedy=REMEDY), f"{path} is", REMEDY)
        if _job_of(kept) != asdict(job):
            raise ConfigError(f"{path}: belongs to another comparison; choose another folder, or remove the file")
        if not complete(kept):
            raise DataError(f"{path}: some figures are missing or are not numbers{REMEDY}")
        return kept
    found = {"job": asdict(job), **_train_apart(job)}
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(json_text(found, indent=True).encode() + b"\n")
    say(f"{number}{job.name}: {_described(found) if 'test' in found else found['failed']}")
    return found


def complete(found: dict[str, Any]) -> bool:
    """Return whether a result has every figure that the tables and the plot need."""
    try:
        report.table([found]), report.plain([found]), report.comma_separated([found]), report.unreliable([found])
        curves([found]), title([found])
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False
    return True


def _described(found: dict[str, Any]) -> str:
    """Return the perplexity of a result and the seconds of each phase: only training is under the budget."""
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in found["seconds"].items())
    return f"perplexity {_perplexity(found):,.2f}; {phases}"


def _job_of(kept: dict[str, Any]) -> Any:
    """Return the job of a result read from a file as this version writes it."""
    job = kept.get("job")
    if not isinstance(job, dict) or not isinstance(job.get("settings"), dict):
        return job
    return {"brief": False, **job, "settings": translated(job["settings"])}


def _train_apart(job: Job) -> dict[str, Any]:
    command = [sys.executable, "-c", "from w2vtrain.evaluation.trial import child; child()"]
    done = subprocess.run(command, input=json_text(asdict(job)).encode(), stdout=subprocess.PIPE, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise ConfigError(f"{job.name}: the process exited with code {done.returncode} and no result") from None
    if found.get("exit_code", 76) != 76:  # a run that diverges is a result; any other error ends the comparison
        raise ConfigError(f"{job.name}: {found['failed']}")
    return found


def write_reports(folder: Path, results: list[dict[str, Any]]) -> None:
    """Write compare.json, table.md, table.csv and curves.png to `folder`."""
    texts = {
        "compare.json": json_text(results, indent=True),
        "table.md": report.markdown(report.table(results)),
        "table.csv": report.comma_separated(results),
    }
    for name, text in texts.items():
        with atomic_write(folder / name, force=True) as file:
            file.write(text.encode())
    picture(results, folder / "curves.png")
